"""Weights at the ends of their range: finite scores, or an error that gives the reason."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from answers import fit
from cases import every_model
from crowdrank.models import entries
from helpers import random_votes

KEYS = {"worker": list("uuuvvvw"), "query": list("pppppqq")}
GIVEN = {
    "pairs": pl.DataFrame({**KEYS, "left": list("abcabxy"), "right": list("bcabcyx"), "label": list("ababcxx")}),
    "ratings": pl.DataFrame({**KEYS, "item": list("abcabxy"), "label": [1, 2, 3, 1, 2, 2, 1]}),
    "rankings": pl.DataFrame(
        {**KEYS, "worker": list("uuuvvww"), "item": list("abcabxy"), "rank": [1, 2, 3, 1, 2, 1, 2]}
    ),
}
REFUSED = {
    "online-crowd-bt": "The weights sum to .* and it takes at most 1e.07",
    "glad": "takes labels of a weight up to 10000",
    "trm": "takes lists of a weight up to 100000",
    **dict.fromkeys(
        ("tpp", "tpp-unidom", "tpp-uniexp", "tpp-unidiff"), "tpp takes a weight of up to 1e.07 on a pair"
    ),
}
"""The models that take no very large weights, and their reason."""
WEIGHTS = {"large": [1e12] * 7, "small": [1e-12] * 7, "mixed": [1e12, 1e-2, 1e3, 1.0, 1e12, 5.5, 1e11]}


@every_model()
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_scores_are_finite(entry, weights):
    frame = GIVEN[entry.kinds[0]].with_columns(weight=pl.Series(weights))
    if entry.name in REFUSED and max(weights) > 1:
        with pytest.raises(cr.InputError, match=REFUSED[entry.name]):
            fit(entry, frame)
        return
    model = fit(entry, frame)
    table = model.ranking_.polars()
    assert table["score"].is_finite().all()
    assert not table.select(pl.col("stderr", "low", "high").is_nan().any()).row(0).count(True)
    assert model.fit_.log_likelihood is None or abs(model.fit_.log_likelihood) < float("inf")


def test_tiny_weights_alone_lead_to_the_same_maximum():
    """Without priors the maximum does not depend on the unit of the weights."""
    frame = random_votes(seed=2, items=6, votes=80, ties=0)
    one, tiny = (
        cr.BradleyTerry(regularization=0).fit(frame.with_columns(weight=pl.lit(unit))) for unit in (1.0, 1e-12)
    )
    np.testing.assert_allclose(one.ranking_.score, tiny.ranking_.score, atol=1e-8)
    assert tiny.fit_.converged


@pytest.mark.parametrize("name", ["bt", "thurstone", "crowd-bt", "plackett-luce", "trm"])
def test_tiny_weights_beside_priors_keep_the_order(name):
    """Scores are then about as small as the weights, and differences of that size are no rounding."""
    entry = entries()[name]
    frame = random_votes(seed=2, items=6, votes=80, ties=0)
    order = ["i4", "i5", "i0", "i1", "i3", "i2"]
    if "pairs" not in entry.kinds:
        other = pl.when(pl.col("label") == pl.col("left")).then("right").otherwise("left")
        lists = frame.select(list=pl.int_range(80), item=pl.concat_list("label", other), rank=[1, 2])
        frame = lists.explode("item", "rank")
    for unit in (1.0, 1e-6, 1e-12):
        model = fit(entry, frame.with_columns(weight=pl.lit(unit)))
        assert model.ranking_.polars()["item"].to_list() == order, unit


@pytest.mark.parametrize(
    "name", ["bt", "thurstone", "crowd-bt", "judge-bt", "variance-bt", "mpm", "plackett-luce"]
)
def test_tiny_weights_beside_priors_leave_what_the_priors_say(name):
    entry = entries()[name]
    frame = GIVEN[entry.kinds[0]].with_columns(weight=pl.lit(1e-12))
    model = fit(entry, frame)
    assert model.fit_.converged
    np.testing.assert_allclose(model.ranking_.score, 0.0, atol=1e-8)


@every_model()
def test_a_query_whose_rows_are_all_left_out(entry):
    """Whatever its id is, the others have the same answer as without it."""
    frame = GIVEN[entry.kinds[0]].with_columns(weight=pl.lit(1.0))
    extra = frame.head(1).with_columns(query=pl.lit("a"), weight=pl.lit(0.0))
    one, other = (fit(entry, given).ranking_.polars() for given in (frame, pl.concat([extra, frame])))
    assert one["query", "item"].equals(other["query", "item"])
    assert (one["score"] - other["score"]).abs().max() < 1e-9
