"""Probabilities of votes to come, the likelier outcome, and the score of votes that were held out."""

import doctest
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.compare.split import split
from crowdrank.models import predictions
from crowdrank.models.registry import make
from helpers import random_lists, random_votes

VOTES = random_votes(seed=3, votes=300, ties=0.2)


@pytest.fixture(scope="module")
def model():
    return cr.CrowdBT().fit(VOTES)


def test_the_example_is_real():
    assert doctest.testmod(predictions) == (0, 6)


class TestProbabilities:
    def test_ids_columns_and_tables_say_the_same(self, model):
        asked = VOTES.select("left", "right", "worker").head(20)
        whole = model.predict_proba(asked)
        assert whole.shape == (20, 3)
        for given in (asked.to_pandas(), asked.to_arrow(), asked.to_dict(as_series=False), asked.to_dicts()):
            np.testing.assert_array_equal(model.predict_proba(given), whole)
        columns = (asked["left"].to_list(), asked["right"].to_numpy(), asked["worker"])
        np.testing.assert_array_equal(model.predict_proba(*columns), whole)
        np.testing.assert_array_equal(model.predict_proba(*asked.row(0)), whole[0])
        np.testing.assert_array_equal(model.predict_proba(VOTES.head(20)), whole)  # outcomes do not count

    def test_one_id_stands_for_all_rows(self, model):
        worker = VOTES["worker"][0]
        one = model.predict_proba("i0", ["i1", "i2"], worker)
        assert one.shape == (2, 3)
        np.testing.assert_array_equal(one[1], model.predict_proba("i0", "i2", worker))

    def test_every_row_is_kept(self, model):
        """Also a pair of an item with itself, which no fit uses, and a worker who is not named."""
        frame = pl.DataFrame({"left": ["i0", "i1"], "right": ["i0", "i0"], "worker": [None, "w1"]})
        found = model.predict_proba(frame)
        assert found[0, 0] == pytest.approx(found[0, 2])

    @pytest.mark.parametrize("names", [("model_a", "model_b"), ("winner", "loser"), ("top_item", "bottom_item")])
    def test_columns_of_other_layouts(self, model, names):
        frame = pl.DataFrame({names[0]: ["i0"], names[1]: ["i1"], "judge": ["w1"]})
        np.testing.assert_allclose(model.predict_proba(frame)[0], model.predict_proba("i0", "i1", "w1"))

    def test_files_and_several_tables(self, model, tmp_path):
        VOTES.select("left", "right").head(3).write_csv(tmp_path / "asked.csv")
        both = model.predict_proba([tmp_path / "asked.csv", VOTES.select("left", "right")[3:5]])
        np.testing.assert_array_equal(both, model.predict_proba(VOTES["left"][:5], VOTES["right"][:5]))

    def test_queries(self):
        frame = random_votes(seed=1, votes=200, queries=2)
        fitted = cr.BradleyTerry().fit(frame)
        query = frame["query"][0]
        assert fitted.predict_proba("i0", "i1", query=query).sum() == pytest.approx(1)
        with pytest.raises(cr.InputError, match=r"no query.\nHint: Give the query of each pair"):
            fitted.predict_proba("i0", "i1")

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (("i0",), "there is no such file"),
            ((["i0", "i1"], ["i1", "i2", "i3"]), "Got left: 2, right: 3"),
            (("i0", None, "w1"), "Predictions need two items. Got only one"),
            ((VOTES, None, "w1"), "are columns of it"),
            ((pl.DataFrame({"item": ["a"], "label": [1]}),), "no two columns of items"),
            (
                (pl.DataFrame({"left": ["a", None], "right": ["b", "b"]}),),
                "row 2, column 'left': the value ",
            ),
            ((pl.DataFrame({"left": [], "right": []}),), "no rows"),
            ((cr.read(pl.DataFrame({"item": ["a", "b"], "label": [1, 2]})),), "Got ratings"),
        ],
    )
    def test_mistakes(self, model, given, said):
        with pytest.raises(cr.CrowdrankError, match=said):
            model.predict_proba(*given)


class TestOutcomes:
    def test_the_likelier_one(self, model):
        asked = VOTES.select("left", "right", "worker")
        chance, said = model.predict_proba(asked), model.predict(asked)
        best = chance.argmax(axis=1)
        for row, (left, right, _) in enumerate(asked.iter_rows()):
            assert said[row] == (left, "tie", right)[best[row]]
        assert model.predict(*asked.row(0)) == said[0]

    def test_neither_is_likelier(self, model):
        assert model.predict("i0", "i0") == "tie"

    def test_ids_have_their_type(self):
        frame = pd.DataFrame({"winner": [1, 1, 2], "loser": [2, 2, 1]})
        fitted = cr.BradleyTerry().fit(frame)
        assert fitted.predict(1, 2) == 1
        assert fitted.predict(frame[["winner", "loser"]]).tolist() == [1, 1, 1]

    @pytest.mark.parametrize("name", ["win-rate", "borda", "condorcet", "root-rank", "crowd-lists", "st-agg"])
    def test_a_model_without_probabilities_goes_by_its_scores(self, name):
        fitted = make(name, {}).fit(random_lists(seed=2))
        assert not fitted.predicts
        scores = dict(fitted.ranking_.polars().select("item", "score").iter_rows())
        best, worst = max(scores, key=scores.get), min(scores, key=scores.get)
        assert fitted.predict([best, worst, best, best], [worst, best, best, "new"]).tolist() == [
            best,
            best,
            "tie",
            "tie",
        ]

    def test_equal_scores_are_a_tie(self):
        fitted = cr.WinRate().fit([("a", "b"), ("b", "a")])
        assert fitted.predict("a", "b") == "tie"
        with pytest.raises(cr.UsageError, match="win-rate gives an order, but no probabilities"):
            fitted.predict_proba("a", "b")


@pytest.mark.parametrize("ask", ["score", "predict", "predict_proba", "list_log_likelihood"])
@pytest.mark.parametrize("given", ["nowhere.csv", [], {"item": ["a"], "label": [1]}])
def test_a_model_without_a_fit_says_so_first(ask, given):
    with pytest.raises(cr.NotFittedError, match="bt is not fitted yet"):
        getattr(cr.BradleyTerry(), ask)(given)


class TestScores:
    def test_the_mean_log_probability(self, model):
        votes = cr.read(VOTES)
        chance = model.predict_proba(votes)[np.arange(votes.rows), np.array([0, 2, 1])[votes.outcome]]
        assert model.score(VOTES) == pytest.approx(np.log(chance).mean())

    def test_weights_count(self):
        fitted = cr.BradleyTerry().fit([("a", "b"), ("a", "b"), ("b", "a")])
        left, _, right = fitted.predict_proba("a", "b")
        win = left / (left + right)  # no vote is a tie
        held = pl.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], "weight": [3.0, 1.0]})
        assert fitted.score(held) == pytest.approx((3 * math.log(win) + math.log(1 - win)) / 4)

    @pytest.mark.parametrize(("name", "frame"), [("bt", VOTES), ("plackett-luce", random_lists(seed=2))])
    def test_it_is_minus_the_log_loss_of_a_comparison(self, name, frame):
        dealt = split(cr.read(frame), 2, 0, "keep", 10**6)
        scores = [
            make(name, {}).fit(dealt.given(fold)).score(dealt.judgments.take(dealt.row_fold == fold))
            for fold in dealt.numbers
        ]
        mean = np.average(scores, weights=np.bincount(dealt.fold))
        assert -mean == pytest.approx(cr.compare_models(frame, [name], folds=2).rows[0].log_loss)

    def test_a_model_that_only_counts_says_so(self):
        with pytest.raises(cr.UsageError, match="win-rate gives an order, but no probabilities"):
            cr.WinRate().fit(VOTES).score(VOTES)
