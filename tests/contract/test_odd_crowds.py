"""Rankers that learn from a crowd on odd data: an answer, a note if something is left out, or a clear error."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from crowdrank.errors import InputError
from crowdrank.rankers.scorers import SCORERS
from rankers.crowds import as_pairs, each, each_ranker, features, frames, make, tables
from rankers.made import scores_by_id


def full(*chosen):
    return frames()[1]["full"].filter(*chosen)


def first_query(frame):
    return frame.filter(pl.col("query") == full()["query"][0])


def reversed_lists(worker):
    own = full(pl.col("worker") == worker)
    return own.with_columns(worker=pl.lit("reversed"), rank=10 - pl.col("rank"))


def without_a_document(frame):
    return frame.filter((pl.col("query") != "q001") | (pl.col("item") != "d1"))


def as_ratings(lists):
    return lists.select("query", "worker", "item", label=10 - pl.col("rank"))


ANN = pl.col("worker") == "ann"
ONE_NAMED = (pl.col("query") != "q001") | (pl.col("item") == "d0")
ODD = {
    "one worker": lambda: (features(), full(ANN)),
    "one query": lambda: (first_query(features()), first_query(full())),
    "one list": lambda: (features(), first_query(full()).filter(pl.col("worker") == pl.col("worker").first())),
    "two documents": lambda: (
        features().filter(pl.col("query") == "q001").head(2),
        pl.DataFrame({"query": ["q001"] * 2, "worker": ["ann"] * 2, "item": ["d0", "d1"], "rank": [1, 2]}),
    ),
    "a worker with one list": lambda: (
        features(), pl.concat([full(~ANN), full(ANN).filter(pl.col("query") == pl.col("query").first())])
    ),
    "no worker column": lambda: (features(), full(ANN).drop("worker")),
    "no query column": lambda: (first_query(features()).drop("query"), first_query(full()).drop("query")),
    "a worker who reverses everything": lambda: (features(), pl.concat([full(), reversed_lists("ann")])),
    "a worker and the opposite": lambda: (features(), pl.concat([full(ANN), reversed_lists("ann")])),
    "pairs only": lambda: (features(), as_pairs(full())),
    "ratings only": lambda: (features(), as_ratings(full())),
    "lists, pairs and ratings": lambda: (
        features(), [frames()[1]["partial"], as_pairs(full()), as_ratings(full())]
    ),
    "a document twice under two names": lambda: (
        pl.concat([features(), features().filter(pl.col("item") == "d1").with_columns(item=pl.lit("other"))]),
        full(),
    ),
    "lists that name one document": lambda: (features(), full(ONE_NAMED)),
    "some tied pairs": lambda: (
        features(), pl.concat([as_pairs(full()), as_pairs(full()).head(3).with_columns(label=pl.lit("tie"))])
    ),
    "constant features": lambda: (features().with_columns(f1=pl.lit(2.0)), full()),
}  # fmt: skip
NOTES = {
    "lists that name one document": "empty-lists",
    "some tied pairs": "ties-dropped",
    "constant features": "constant-features",
    "ratings only": "conversion",
}


TINY = ("one query", "one list", "two documents")
"""Odd data that are tried with every scorer; the others with the linear one."""


@pytest.mark.parametrize(
    ("scorer", "odd"), [(scorer, odd) for odd in ODD for scorer in SCORERS if scorer == "linear" or odd in TINY]
)
@each_ranker
def test_odd_data(name, scorer, odd):
    given, judgments = ODD[odd]()
    ranker = make(name, scorer).fit(given, judgments)
    scores = ranker.score(given).polars()["score"].to_numpy()
    assert np.isfinite(scores).all()
    workers = ranker.workers_.polars().drop("theta_pairs", "precision_pairs", strict=False)
    assert np.isfinite(workers.select(pl.col(pl.Float64)).to_numpy()).all()
    assert workers["quality"].is_between(workers["low"], workers["high"]).all()
    codes = {note.code for note in ranker.fit_.warnings}
    assert ranker.fit_.converged or "not-converged" in codes
    assert odd not in NOTES or NOTES[odd] in codes
    assert ("tied-scores" in codes) == (ranker.importance_.polars()["importance"].max() == 0)


ERRORS = {
    "all lists tied": (lambda: full().with_columns(rank=pl.lit(1)), "no judgment orders two documents"),
    "all pairs tied": (
        lambda: as_pairs(full()).with_columns(label=pl.lit("tie")), "no judgment orders two documents"
    ),
    "lists of one document each": (lambda: full(pl.col("item") == "d0"), "no judgment orders two documents"),
    "no overlap with features": (
        lambda: full().with_columns(query="z" + pl.col("query")), "the features have no item in common"
    ),
    "no rows": (lambda: full().head(0), "there are no rows"),
    "no weight": (lambda: full().with_columns(weight=pl.lit(0.0)), "weight of 0"),
    "no tables": (list, "No judgments were given"),
    "workers who are not named": (lambda: full().drop("worker"), "ranked twice in one list"),
}  # fmt: skip


@pytest.mark.parametrize("odd", ERRORS)
@each_ranker
def test_what_says_nothing_is_an_error(name, odd):
    judgments, message = ERRORS[odd]
    with pytest.raises(InputError, match=message):
        make(name, "linear").fit(features(), judgments())


@each_ranker
def test_a_judged_item_without_features(name):
    fewer = without_a_document(features())
    with pytest.raises(InputError, match=r"1 judged item has no features: \('q001', 'd1'\)"):
        make(name, "linear").fit(fewer, tables())
    ranker = make(name, "linear").fit(fewer, tables(), missing="drop")
    assert "no-features" in {note.code for note in ranker.fit_.warnings}
    named = make(name, "linear").fit(fewer, tables(without_a_document))
    np.testing.assert_allclose(scores_by_id(ranker, fewer), scores_by_id(named, fewer), atol=1e-9)


@each
def test_missing_values(name, scorer):
    given = features().with_columns(f3=pl.when(pl.col("item") == "d3").then(None).otherwise("f3"))
    if scorer != "trees":
        with pytest.raises(InputError, match="the feature 'f3' has missing values"):
            make(name, scorer).fit(given, tables())
    settings = {} if scorer == "trees" else {"impute": "mean"}
    ranker = make(name, scorer, **settings).fit(given, tables())
    assert np.isfinite(scores_by_id(ranker, given)).all()
    assert "missing-values" in {note.code for note in ranker.fit_.warnings}
