"""The contract of every registered model, whatever judgments it takes."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdrank as cr
from answers import fit, same
from crowdrank.models import entries
from crowdrank.models.registry import INVARIANCES
from helpers import random_frames

pytestmark = pytest.mark.parametrize("entry", entries().values(), ids=lambda entry: entry.name)
KINDS = {"pandas": pd.DataFrame, "pyarrow": pa.Table, "polars": pl.DataFrame}


@pytest.fixture(params=[0, 3], ids=["one query", "three queries"])
def frames(entry, request):
    return random_frames(entry, request.param)


def test_registration_is_complete(entry):
    model = entry.make()
    assert model.name == entry.name
    assert model.__doc__
    assert entry.varies <= set(INVARIANCES)


def test_parameters_are_cloned_and_set(entry):
    model = entry.make({"seed": 3})
    assert model.get_params()["seed"] == 3
    assert model.clone().get_params() == model.get_params()
    with pytest.raises(cr.UsageError, match="no parameter 'nonsense'"):
        model.set_params(nonsense=1)


def test_the_answer_is_the_same_twice(entry, frames):
    for frame in frames:
        same(fit(entry, frame), fit(entry, frame), tolerance=0)


def test_no_global_random_state(entry, frames):
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    fit(entry, frames[0])
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize("library", KINDS)
def test_results_come_out_as_the_kind_that_came_in(entry, frames, library):
    frame = frames[0]
    given = {"pandas": frame.to_pandas, "pyarrow": frame.to_arrow, "polars": frame.clone}[library]()
    model = fit(entry, given)
    assert isinstance(model.ranking_.frame(), KINDS[library])
    assert isinstance(model.workers_.frame(), KINDS[library])
    same(fit(entry, frame), model)
