"""CrowdAgg falls back to equal workers if qualities would overturn the ranking."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowd_agg_by_hand import both, lists_of
from crowdrank.models.lists import equality
from crowdrank.simulate import bt_crowd
from helpers import random_votes

VOTES = ["query", "worker", "left", "right", "label"]


def contradicted(seed, liars, queries=8):
    """Votes of 6 honest workers in all queries, right in two of three votes, and of liars with 5 votes each in one
    query, who are always wrong. Of two items, the one that comes first in the alphabet is the better one."""
    rng, rows = np.random.default_rng(seed), []
    names = [f"i{item}" for item in range(8)]
    for query in range(queries):
        for worker, count in [
            *((f"w{k}", 15) for k in range(6)),
            *((f"liar {query} {k}", 5) for k in range(liars)),
        ]:
            for _ in range(count):
                better, worse = np.sort(rng.choice(8, 2, replace=False))
                right = rng.random() < 2 / 3 and worker.startswith("w")
                label = names[better if right else worse]
                rows.append((f"q{query}", worker, names[better], names[worse], label))
    return pl.DataFrame(rows, schema=VOTES, orient="row")


class TestEquality:
    """Qualities may refine the ranking of equal workers, but not overturn it."""

    def right(self, model):
        """The share of pairs in the right order."""
        parts = model.ranking_.polars().partition_by("query")
        orders = [[int(item[1:]) for item in part["item"]] for part in parts]
        return np.mean([one < other for order in orders for one, other in combinations(order, 2)])

    def codes(self, model):
        return {note.code for note in model.fit_.warnings}

    @both
    def test_liars_with_few_votes_do_not_turn_the_ranking(self, model):
        for seed in (61, 62, 63):
            frame = contradicted(seed, liars=6)
            equal, fitted = model(quality="equal").fit(frame), model().fit(frame)
            assert self.right(fitted) == self.right(equal)
            assert fitted.ranking_.polars().equals(equal.ranking_.polars())
            assert fitted.workers_.polars().equals(equal.workers_.polars())
            assert "equal-weights" in self.codes(fitted)
            assert fitted.fit_.details["objective"] == equal.fit_.details["objective"]

    @both
    def test_without_the_rule_they_would(self, model, monkeypatch):
        monkeypatch.setattr(equality, "OVERTURNED", -2.0)
        gains = []
        for seed in (61, 62, 63):
            frame = contradicted(seed, liars=6)
            gains.append(self.right(model().fit(frame)) - self.right(model(quality="equal").fit(frame)))
        assert max(gains) < -0.1

    @both
    def test_qualities_stay_if_they_refine_the_ranking(self, model):
        fitted = model().fit(bt_crowd(seed=68, items=15, workers=12, votes=900, spammers=0.3).judgments)
        assert "equal-weights" not in self.codes(fitted)
        assert np.ptp(fitted.workers_.quality) > 0.1

    def test_which_queries_are_overturned(self):
        """Qualities of 0 reverse a query. If all share them, more than one of ten queries must be reversed."""
        frame = contradicted(67, liars=0, queries=10)
        lists = lists_of(cr.CrowdAggNDCG, frame, pool=False)
        for count, all_of_them in ((0, False), (1, False), (2, True)):
            eta = np.where(lists.contests.query < count, 0.0, 1.0)
            found = equality.overturned_queries(lists, eta, pool=False)
            assert found.tolist() == [query < count for query in range(10)]
            assert equality.overturned_queries(lists, eta, pool=True).tolist() == [all_of_them] * 10

    def test_a_small_query_does_not_decide_for_all(self):
        """Reversing the last one of five queries, in which one worker judged one pair, changes next to nothing."""
        small = pl.DataFrame([["small", "w0", "i0", "i1", "i0"]], schema=VOTES, orient="row")
        lists = lists_of(cr.CrowdAggNDCG, pl.concat([contradicted(67, liars=0, queries=4), small]), pool=False)
        eta = np.where(lists.contests.query == 4, 0.0, 1.0)
        assert equality.overturned_queries(lists, eta, pool=False).tolist() == [False] * 4 + [True]
        assert not equality.overturned_queries(lists, eta, pool=True).any()

    def test_correlations_of_queries(self):
        lists = lists_of(cr.CrowdAggNDCG, random_votes(seed=4, items=5, votes=40, queries=2))
        one = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 7.0, 7.0, 7.0, 7.0])
        other = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0])
        assert lists.sizes.tolist() == [5, 5]
        assert equality.correlations(lists, one, other) == pytest.approx([-1.0, np.nan], nan_ok=True)
