"""What every ranker that learns from labels does with every scorer.

The same answer for the same content, and a clear one for odd data.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import read_features
from crowdrank.engine import LocalEngine
from crowdrank.errors import InputError
from crowdrank.rankers.registry import INVARIANCES, make_ranker, ranker_entries
from crowdrank.rankers.saved import load
from crowdrank.rankers.scorers import SCORERS
from rankers.made import labeled_frame, scores_by_id
from shards import small_shards

QUICK = {"linear": {}, "trees": {"rounds": 12, "min_rows": 5}, "net": {"hidden": [4, 2], "limit": 15}}
"""Parameters of the scorers that keep the suite quick."""
PAIRS = [
    (entry.name, scorer)
    for entry in ranker_entries().values()
    if entry.learns_from == "labels"
    for scorer in SCORERS
]
IDS = [f"{name}, {scorer}" for name, scorer in PAIRS]
TOLERANCE = 1e-9

each = pytest.mark.parametrize(("name", "scorer"), PAIRS, ids=IDS)


@cache
def frame():
    return labeled_frame(seed=3)


def make(name, scorer, **settings):
    return make_ranker(name, scorer, {**QUICK[scorer], **settings})


@cache
def trained(name, scorer):
    """The ranker on the usual data; nobody may change it."""
    return make(name, scorer).fit(frame(), engine=LocalEngine(1))


@cache
def usual_scores(name, scorer):
    return scores_by_id(trained(name, scorer), frame())


def holds(name, scorer, change):
    """Whether the entry promises that this change leaves the scores the same."""
    assert change in INVARIANCES
    return change not in ranker_entries()[name].varies[scorer]


def same(name, scorer, change, scores):
    if holds(name, scorer, change):
        np.testing.assert_allclose(scores, usual_scores(name, scorer), atol=TOLERANCE, rtol=0)
    else:
        assert np.isfinite(scores).all()


@each
def test_names(name, scorer):
    renamed = frame().with_columns(
        query=pl.col("query").str.replace("q", "z").str.reverse(),
        item=pl.col("item").str.replace("d", "").str.reverse(),
    )
    again = make(name, scorer).fit(renamed)
    found = again.score(frame()).polars().sort("query", "item")["score"].to_numpy()
    same(name, scorer, "names", found)


@each
def test_rows_in_another_order(name, scorer):
    shuffled = frame().sample(fraction=1.0, shuffle=True, seed=5)
    same(name, scorer, "rows", scores_by_id(make(name, scorer).fit(shuffled), frame()))


@each
def test_a_query_twice_is_a_query_of_weight_2(name, scorer):
    chosen = pl.col("query").is_in(["q001", "q004"])
    weighted = frame().with_columns(weight=pl.when(chosen).then(2.0).otherwise(1.0))
    twice = pl.concat([frame(), frame().filter(chosen).with_columns(query=pl.col("query") + "-again")])
    one, two = (scores_by_id(make(name, scorer).fit(own), frame()) for own in (weighted, twice))
    if holds(name, scorer, "weights"):
        np.testing.assert_allclose(two, one, atol=TOLERANCE, rtol=0)
    assert np.isfinite(one).all()


@each
def test_shards_and_threads(name, scorer):
    with small_shards(30):
        one, two = (make(name, scorer).fit(frame(), engine=LocalEngine(threads)) for threads in (1, 2))
    assert (scores_by_id(one, frame()) == scores_by_id(two, frame())).all(), "threads"
    same(name, scorer, "shards", scores_by_id(one, frame()))


@each
def test_saved_loaded_and_scored(name, scorer, tmp_path):
    trained(name, scorer).save(tmp_path / "ranker")
    again = load(tmp_path / "ranker")
    assert (scores_by_id(again, frame()) == usual_scores(name, scorer)).all()
    assert again.fit_.as_dict() == trained(name, scorer).fit_.as_dict()
    assert again.importance_.polars().equals(trained(name, scorer).importance_.polars())


@each
def test_the_truth_is_learned(name, scorer):
    measured = trained(name, scorer).fit_.details["measured"]
    assert measured["ranker"]["nDCG@10"] > measured["mean_feature"]["nDCG@10"]
    assert trained(name, scorer).importance_.polars()["feature"][0] == "f0"


@each
def test_scores_keep_the_order_of_the_rows(name, scorer):
    shuffled = frame().sample(fraction=1.0, shuffle=True, seed=9)
    found = trained(name, scorer).score(shuffled).polars()
    assert found["query"].to_list() == shuffled["query"].to_list()
    assert found["item"].to_list() == shuffled["item"].to_list()
    assert (found.sort("query", "item")["score"].to_numpy() == usual_scores(name, scorer)).all()


@each
def test_validation_and_tuning(name, scorer):
    ranker = make(name, scorer, patience=3, tune=True).fit(frame(), validation=0.3)
    curve = ranker.validation_.polars()
    assert ranker.fit_.details["measured"]["queries_of"] == "validation"
    assert len(ranker.fit_.details["tuned"]) > 1
    if scorer == "linear":  # it goes to its maximum
        best = curve["value"].to_list()[-1]
    else:
        best = max(row["value"] for row in ranker.fit_.details["tuned"])
        assert best == pytest.approx(curve["value"].max())
    assert ranker.fit_.details["measured"]["ranker"]["nDCG@10"] == pytest.approx(best)


ODD = {
    "a query with one document": lambda own: own.filter((pl.col("query") != "q000") | (pl.col("item") == "d000")),
    "one query": lambda own: own.filter(pl.col("query") == "q002"),
    "no query column": lambda own: own.filter(pl.col("query") == "q002").drop("query"),
    "one feature": lambda own: own.drop("f1", "f2", "f3"),
    "constant features": lambda own: own.with_columns(f1=pl.lit(2.0), f2=pl.lit(0.0)),
    "1e30": lambda own: own.with_columns(f1=pl.when(pl.col("item") == "d001").then(1e30).otherwise("f1")),
    "a query whose labels are equal": lambda own: own.with_columns(
        label=pl.when(pl.col("query") == "q000").then(1).otherwise("label")
    ),
    "fractional labels": lambda own: own.with_columns(label=pl.col("label") * 0.37 + 0.05),
    "labels above 10": lambda own: own.with_columns(label=pl.col("label") * 400),
    "the same document twice under two names": lambda own: pl.concat(
        [own, own.filter(pl.col("item") == "d001").with_columns(item=pl.lit("other"))]
    ),
    "two documents": lambda own: own.filter(pl.col("query") == "q002").sort("label").gather([0, -1]),
}


@pytest.mark.parametrize("odd", ODD)
@each
def test_odd_data(name, scorer, odd):
    given = ODD[odd](frame())
    ranker = make(name, scorer).fit(given)
    scores = ranker.score(given).polars()["score"].to_numpy()
    assert np.isfinite(scores).all()
    codes = {note.code for note in ranker.fit_.warnings}
    if odd == "constant features":
        assert "constant-features" in codes
    if odd in ("a query with one document", "a query whose labels are equal"):
        assert "equal-labels" in codes


@each
def test_missing_values(name, scorer):
    given = frame().with_columns(f3=pl.when(pl.col("item") == "d003").then(None).otherwise("f3"))
    if scorer != "trees":
        with pytest.raises(InputError, match="the feature 'f3' has missing values"):
            make(name, scorer).fit(given)
        with pytest.raises(InputError, match="row 4, column 'f3': the value is missing"):
            trained(name, scorer).score(given)
    settings = {} if scorer == "trees" else {"impute": "mean"}
    ranker = make(name, scorer, **settings).fit(given)
    assert np.isfinite(scores_by_id(ranker, given)).all()
    assert "missing-values" in {note.code for note in ranker.fit_.warnings}


@each
def test_labels_that_are_all_equal_are_an_error(name, scorer):
    with pytest.raises(InputError, match="all labels are equal"):
        make(name, scorer).fit(frame().with_columns(label=pl.lit(1)))


def test_infinite_values_and_empty_files_are_errors(tmp_path):
    given = frame().with_columns(f1=pl.when(pl.col("item") == "d001").then(np.inf).otherwise("f1"))
    with pytest.raises(InputError, match="row 2, column 'f1'"):
        read_features(given)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match=r"empty\.csv"):
        read_features(tmp_path / "empty.csv")


@pytest.mark.parametrize("name", [entry.name for entry in ranker_entries().values()])
def test_plain_arrays_get_an_error_that_says_what_fit_takes(name):
    """A row of X has no query and no item, so nobody knows which documents are ranked against each other."""
    x, y = np.arange(12.0).reshape(6, 2), np.arange(6)
    for given in ((x, y), (x.tolist(), y.tolist()), (x, pl.DataFrame({"item": ["a"], "label": [1]}))):
        with pytest.raises(cr.UsageError, match=r"(?s)cannot be fitted to arrays X and y.*query, item") as caught:
            make_ranker(name).fit(*given)
        assert caught.value.exit_code == 2


def test_labels_are_no_second_table():
    docs = {"query": [1, 1], "item": [*"ab"], "length": [9, 5]}
    with pytest.raises(cr.UsageError, match=r"(?s)listmle takes one table. Got a second one.*gold=labels"):
        cr.ListMLE().fit(docs, {"query": [1, 1], "item": [*"ab"], "label": [1, 0]})
    with pytest.raises(cr.NotFittedError, match=r"Call fit\(features\) first"):
        cr.ListMLE().score(docs)
