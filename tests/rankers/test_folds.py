"""Cross-validation: every query is scored by a ranker that did not see it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from crowdrank.data import Scored, read_features
from crowdrank.errors import InputError, UsageError
from crowdrank.measures import evaluate
from crowdrank.rankers.folds import cross_validate, train_on_all
from crowdrank.rankers.registry import make_ranker
from rankers.made import labeled_frame

FRAME = labeled_frame(seed=1, queries=20)
QUERIES = FRAME["query"].unique(maintain_order=True).to_list()
PARTS = [QUERIES[number::4] for number in range(4)]


def rows_of(*parts):
    return FRAME.filter(pl.col("query").is_in([query for part in parts for query in part]))


def linear(**settings):
    return make_ranker("listmle", "linear", settings)


def by_id(frame):
    return frame.sort("query", "item")


def test_a_fold_is_a_ranker_that_is_trained_by_hand():
    """Part i is tested, the part before it validates, and the others train."""
    found = cross_validate(linear(), FRAME, PARTS)
    for number, part in enumerate(PARTS):
        before = PARTS[number - 1]
        rest = [own for own in PARTS if own not in (part, before)]
        own = linear().fit(rows_of(*rest), validation=rows_of(before))
        scores = own.score(rows_of(part)).polars()
        there = found.scores.polars().filter(pl.col("query").is_in(part))
        assert_frame_equal(by_id(there), by_id(scores), abs_tol=1e-12)
        fold = found.folds[number]
        assert (fold.training, fold.validation, fold.test) == (10, 5, 5)
    ids = read_features(FRAME).ids()
    assert_frame_equal(found.scores.polars().select("query", "item"), ids)  # every document, in the given order


def test_the_measures_are_those_of_the_scores_out_of_fold():
    found = cross_validate(linear(), FRAME, 5, validation=0.25)
    scores = Scored(found.scores.polars().rename({"score": "value"}))
    gold = Scored(FRAME.select("query", "item", value=pl.col("label").cast(pl.Float64)))
    values = evaluate(scores, gold, "nDCG@10 AP")
    summary = found.summary()
    assert {name: own["mean"] for name, own in summary.items()} == pytest.approx(values, abs=1e-12)
    for name, own in summary.items():
        one = found.queries.polars()[name].to_numpy()
        assert own["stderr"] == pytest.approx(np.std(one, ddof=1) / np.sqrt(20))
        folds = found.polars()[name].to_numpy()
        assert own["mean_of_folds"] == pytest.approx(folds.mean())
        assert own["stderr_of_folds"] == pytest.approx(np.std(folds, ddof=1) / np.sqrt(5))
    assert found.polars()["training_queries"].to_list() == [12] * 5
    assert found.polars()["validation_queries"].to_list() == [4] * 5


def test_parts_are_dealt_by_the_seed_and_the_content():
    one = cross_validate(linear(seed=1), FRAME, 4)
    again = cross_validate(linear(seed=1), FRAME.sample(fraction=1.0, shuffle=True, seed=3), 4)
    other = cross_validate(linear(seed=2), FRAME, 4)
    assert_frame_equal(by_id(one.scores.polars()), by_id(again.scores.polars()))
    assert not np.array_equal(one.scores.score, other.scores.score)
    assert [fold.test for fold in one.folds] == [5, 5, 5, 5]


def test_documents_without_a_label_are_scored_too():
    hidden = QUERIES[:2]
    label = pl.when(pl.col("query").is_in(hidden) | (pl.col("item") == "d003")).then(None).otherwise("label")
    found = cross_validate(linear(), FRAME.with_columns(label=label), 4)
    assert len(found.scores) == len(FRAME)
    assert not np.isnan(found.scores.score).any()
    assert sum(fold.test for fold in found.folds) == 18


def test_features_of_items_alone():
    """The gold has the queries, and an item is scored once for each query that grades it."""
    items = FRAME.filter(pl.col("query") == "q000").drop("query", "label")
    gold = FRAME.select("query", "item", grade="label")
    parts = [QUERIES[:5], QUERIES[5:10], QUERIES[10:]]
    found = cross_validate(linear(), items, parts, gold=gold)
    scores = found.scores.polars()
    assert_frame_equal(scores.select("query", "item"), gold.select("query", "item").sort("query", "item"))
    kept = gold.filter(pl.col("query").is_in(QUERIES[5:10]))
    direct = linear().fit(items, gold=kept)
    there = scores.filter(pl.col("query") == "q000")["score"].to_numpy()
    np.testing.assert_allclose(there, direct.score(items).score, atol=1e-12)


class TestAllQueries:
    def test_trees_take_the_median_of_the_folds(self):
        ranker = make_ranker("lambdamart", None, {"rounds": 40, "min_rows": 3, "patience": 5})
        found = cross_validate(ranker, FRAME, 3)
        steps = sorted(fold.step for fold in found.folds)
        assert found.settings == {"rounds": steps[1]}
        own = train_on_all(ranker, FRAME, found)
        assert own.trained_.scoring.function.booster.num_trees() == steps[1]
        assert ranker.make_scorer().get_params()["rounds"] == 40  # the given ranker does not change
        assert own.fit_.details["folds"]["settings"] == {"rounds": steps[1]}
        assert [note.message for note in own.fit_.warnings if note.code == "from-folds"] == [
            f"The ranker is trained on all queries with what the folds found best: rounds={steps[1]}."
        ]

    @pytest.mark.lightgbm
    def test_validation_queries_of_its_own_come_first(self):
        ranker = make_ranker("lambdamart", None, {"rounds": 30, "min_rows": 3, "patience": 5})
        found = cross_validate(ranker, FRAME, 4, validation=0.2)
        own = train_on_all(ranker, FRAME, found, validation=0.2)
        direct = ranker.clone().fit(FRAME, validation=0.2)
        assert own.trained_.scoring.function.text == direct.trained_.scoring.function.text

    def test_a_linear_ranker_takes_nothing(self):
        found = cross_validate(linear(), FRAME, 4)
        assert found.settings == {}
        assert [fold.step for fold in found.folds] == [None] * 4
        own = train_on_all(linear(), FRAME, found)
        np.testing.assert_array_equal(own.score(FRAME).score, linear().fit(FRAME).score(FRAME).score)

    @pytest.mark.parametrize("model", ["listmle", "lambdamart"])
    def test_a_net_stops_where_the_folds_stopped(self, model):
        ranker = make_ranker(model, "net", {"hidden": [4, 2], "limit": 30, "patience": 5})
        found = cross_validate(ranker, FRAME, 3)
        own = train_on_all(ranker, FRAME, found)
        assert 1 <= own.fit_.iterations <= found.settings["limit"]
        assert "not-converged" not in {note.code for note in own.fit_.warnings}

    def test_tuned_parameters_are_those_of_most_folds(self):
        ranker = linear(tune=True)
        found = cross_validate(ranker, FRAME, 5)
        chosen = [fold.chosen["penalty"] for fold in found.folds]
        most = max(chosen.count(value) for value in chosen)
        assert chosen.count(found.settings["penalty"]) == most
        assert found.settings["tune"] is False
        own = train_on_all(ranker, FRAME, found)
        assert own.fit_.details["scorer_parameters"]["penalty"] == found.settings["penalty"]


class TestMistakes:
    def test_too_few_parts(self):
        with pytest.raises(UsageError, match=r"Two parts are too few[^\n]*\n.*validation=0.2"):
            cross_validate(linear(), FRAME, 2)
        assert len(cross_validate(linear(), FRAME, 2, validation=0.2).folds) == 2  # the hint works
        with pytest.raises(UsageError, match=r"at least 2 parts\. Got 1"):
            cross_validate(linear(), FRAME, 1)
        with pytest.raises(UsageError, match="'parts' must be a whole number"):
            cross_validate(linear(), FRAME, 2.5)

    def test_too_few_queries(self):
        with pytest.raises(InputError, match="20 queries cannot be dealt into 21 parts"):
            cross_validate(linear(), FRAME, 21)
        with pytest.raises(InputError, match="1 query cannot be dealt into 5 parts"):
            cross_validate(linear(), FRAME.filter(pl.col("query") == "q000"), 5)

    def test_parts_that_are_none(self):
        with pytest.raises(InputError, match="the query 'q000' is in part 1 and in part 4"):
            cross_validate(linear(), FRAME, [*PARTS[:3], [*PARTS[3], "q000"]])
        with pytest.raises(InputError, match="5 queries are in no part: 'q0"):
            cross_validate(linear(), FRAME, PARTS[:3])
        with pytest.raises(InputError, match="part 5 has no query with a label"):
            cross_validate(linear(), FRAME, [*PARTS, ["other"]])

    def test_tuning_needs_validation(self):
        with pytest.raises(UsageError, match="Tuning needs validation queries"):
            cross_validate(linear(tune=True), FRAME, 4, validation=None)


def test_notes_of_folds_say_in_how_many():
    frame = FRAME.with_columns(f9=pl.lit(1.0))
    notes = {note.code: note.message for note in cross_validate(linear(), frame, 4).notes}
    assert notes["constant-features"].startswith("In each of 4 folds: The feature 'f9'")
