"""Features before a scorer sees them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import crowdrank as cr
from crowdrank.data import read_features
from crowdrank.errors import InputError, UsageError
from crowdrank.rankers import preparation
from crowdrank.rankers.preparation import Preparation, learn_preparation, standardize_within
from rankers.made import labeled_frame

START = np.array([0, 4, 5, 9])


def random_values(seed=0, gaps=True):
    values = np.random.default_rng(seed).normal(3.0, 2.0, size=(9, 3)).astype(np.float32)
    values[:, 2] = 7.0
    if gaps:
        values[[1, 6], 0] = np.nan
    return values


def features_of(values, query=None):
    columns = {f"f{column}": values[:, column] for column in range(values.shape[1])}
    query = query or [f"q{number}" for number in np.repeat([0, 1, 2], np.diff(START))]
    return read_features(pl.DataFrame({"query": query, "item": [f"d{row}" for row in range(9)], **columns}))


def learn(features, **settings):
    return learn_preparation(features, np.ones(features.rows), **settings)


def test_standardized_within_each_query():
    values = random_values().astype(float)
    found = standardize_within(values, START)
    for low, high in pairwise(START):
        for column in range(3):
            own = values[low:high, column]
            mean, spread = np.nanmean(own), np.nanstd(own)
            expected = (own - mean) / spread if spread > 0 else own - mean
            np.testing.assert_allclose(found[low:high, column], expected, atol=1e-12)


def test_standardized_over_all_with_missing_values_filled():
    values = random_values()
    prepared, notes = learn(features_of(values), standardize="all", impute="mean", takes_missing=False)
    filled = values.astype(float)
    filled[[1, 6], 0] = np.nanmean(filled[:, 0])
    scale = filled.std(axis=0)
    scale[2] = 1.0
    expected = (filled - filled.mean(axis=0)) / scale
    np.testing.assert_allclose(prepared.apply(values, START), expected, atol=1e-6)
    assert {note.code for note in notes} == {"missing-values", "constant-features"}


@pytest.mark.parametrize(("impute", "expected"), [("median", np.nanmedian), (-1, lambda own: -1.0)])
def test_imputed(impute, expected):
    values = random_values()
    prepared, _ = learn(features_of(values), standardize=None, impute=impute, takes_missing=False)
    found = prepared.apply(values, START)
    assert found[1, 0] == pytest.approx(expected(values[:, 0].astype(float)), rel=1e-6)
    assert not np.isnan(found).any()


def test_sparse_and_dense_values_are_prepared_alike(monkeypatch):
    values = random_values(gaps=False)
    values[values < 2.5] = 0.0
    dense = features_of(values)
    prepared, _ = learn(dense, standardize="scale", impute=None, takes_missing=False)
    np.testing.assert_allclose(prepared.scale, np.sqrt((values.astype(float) ** 2).mean(axis=0)), rtol=1e-6)
    sparse = prepared.apply(csr_array(values), START)
    np.testing.assert_allclose(sparse.toarray(), prepared.apply(values, START), rtol=1e-6)


def test_blocks_change_nothing(monkeypatch):
    values = random_values()
    features = features_of(values)
    settings = {"standardize": "all", "impute": "median", "takes_missing": False}
    one, _ = learn(features, **settings)
    monkeypatch.setattr(preparation, "BLOCK", 2)
    two, _ = learn(features, **settings)
    for name in ("fill", "mean", "scale"):
        np.testing.assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-12)
    assert (two.apply(values, START) == one.apply(values, START)).all()


def test_missing_values_need_a_rule():
    with pytest.raises(InputError, match="the feature 'f0' has missing values \\(2 in all\\)"):
        learn(features_of(random_values()), standardize="query", impute=None, takes_missing=False)


@pytest.mark.parametrize(("name", "value"), [("standardize", "columns"), ("impute", "mode"), ("impute", True)])
def test_unknown_rules_are_errors(name, value):
    settings = {"standardize": None, "impute": None, "takes_missing": True, name: value}
    with pytest.raises(UsageError, match=f"The parameter '{name}' must be"):
        learn(read_features(labeled_frame()), **settings)


def test_a_weight_counts_as_rows():
    values = random_values()
    weight = np.array([2.0, 1, 1, 3, 1, 1, 1, 2, 1])
    rows = np.repeat(np.arange(9), weight.astype(int))
    settings = {"standardize": "all", "impute": "mean", "takes_missing": False}
    features = features_of(values)
    weighted, _ = learn_preparation(features, weight, **settings)
    repeated, _ = learn(features.take(rows), **settings)
    for name in ("fill", "mean", "scale"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12)


def test_nothing_to_do_copies_nothing():
    values = random_values()
    assert Preparation(("a", "b", "c")).apply(values, START) is values


def test_huge_numbers_are_standardized():
    values = random_values(gaps=False)
    values[0, 0] = 1e30
    found = standardize_within(values.astype(float), START)
    assert np.isfinite(found).all()
    assert found[0, 0] == pytest.approx(np.sqrt(3), rel=1e-6)  # one of four stands out


def test_a_constant_has_the_scale_1_whatever_the_weights():
    """The rounding of a weighted mean must not become a scale."""
    values = np.full((9, 3), 0.3, np.float32)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, 9)
    settings = {"standardize": "all", "impute": None, "takes_missing": False}
    prepared, _ = learn_preparation(features_of(values), weight, **settings)
    np.testing.assert_array_equal(prepared.scale, 1.0)


def test_sparse_values_with_gaps_are_scaled_like_dense_ones():
    values = random_values()
    values[values < 2.5] = 0.0
    features = features_of(values)
    sparse = replace(features, values=csr_array(values))
    settings = {"standardize": "scale", "impute": 1.5, "takes_missing": False}
    one, two = (learn(own, **settings)[0] for own in (features, sparse))
    np.testing.assert_allclose(two.scale, one.scale, rtol=1e-12)


def test_features_that_describe_the_query_are_named():
    frame = labeled_frame().with_columns(length=pl.col("query").str.slice(1).cast(pl.Float32))
    codes = {note.code for note in cr.ListMLE().fit(frame).fit_.warnings}
    assert "flat-features" in codes
    assert "flat-features" not in {note.code for note in cr.ListMLE(standardize="all").fit(frame).fit_.warnings}
