"""What a crowd says of each true label, how often workers agree, and how often a likelier side wins."""

import json

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import LEFT, RIGHT, TIE
from crowdrank.measures.votes import calibration
from crowdrank.report import build, build_contest, contest_to_html, contest_to_markdown, to_html, to_markdown
from crowdrank.report.agreement import crowd_confusion, explain_confusion
from crowdrank.report.content import Grid
from crowdrank.results import Confusion, Workers
from helpers import frame_of, random_labels, random_votes


class TestConfusion:
    def test_workers_count_by_their_judgments(self):
        table = Confusion(
            pl.Series(["a", "b"]),
            np.array([1.0, 2.0]),
            np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.2, 0.8], [0.5, 0.5]]]),
        )
        flat = np.array([0.5, 0.5])
        people = Workers(pl.Series(["b", "a"]), np.array([3.0, 1.0]), flat, flat, flat, pl.Series(["unsure"] * 2))
        grid = crowd_confusion(table, people)
        assert grid.names == ("1", "2")
        assert grid.rows == (((1 + 3 * 0.2) / 4, 0.6), (0.375, 0.625))
        assert crowd_confusion(None, people) is None

    def test_the_most_common_error_is_named(self):
        words = explain_confusion(Grid(("no", "yes"), ((0.9, 0.1), (0.35, 0.65))))
        assert "if the truth is no (90 %)" in words
        assert "The most common error: no instead of yes (35 %)." in words

    def test_every_form_has_it_in_place_of_the_long_table(self):
        found = build(cr.DawidSkene().fit(random_labels()).result_)
        page, text = to_html(found), to_markdown(found)
        assert 'id="confusion"' in page
        assert "True 1, said 2:" in page
        assert "## What the crowd says of each true label" in text
        assert "table-confusion" not in page


class TestAgreement:
    ORDERS = ("abcd", "abcd", "dcba", "bacd")

    def test_shares_are_those_of_pairs_that_both_order(self):
        """Two workers who say the same, one who says the reverse, one who differs in one of six pairs."""
        lists = frame_of([tuple(order) for order in self.ORDERS], workers=[0, 1, 2, 3])
        found = build(cr.PlackettLuce().fit(lists).result_).agreement
        share = {
            (one, other): value
            for one, row in zip(found.grid.names, found.grid.rows, strict=True)
            for other, value in zip(found.grid.names, row, strict=True)
        }
        assert share["w0", "w1"] == share["w1", "w0"] == 1.0
        assert share["w0", "w2"] == 0.0
        assert share["w0", "w3"] == pytest.approx(5 / 6, abs=5e-4)
        assert share["w2", "w3"] == pytest.approx(1 / 6, abs=5e-4)
        assert share["w0", "w0"] is None
        places = [found.grid.names.index(name) for name in ("w0", "w1")]
        assert abs(places[0] - places[1]) == 1  # who agrees stands beside each other
        assert found.alike == ()  # six pairs are too few to call them copies

    def test_ties_and_items_of_one_list_alone_are_left_out(self):
        lists = frame_of([(("a", "b"), "c"), ("a", "b", "d")], workers=[0, 1])
        found = cr.Borda().fit(lists).result_.evidence.agreement
        assert found is None  # pairs of items, not lists
        found = cr.ReciprocalRank().fit(lists).result_.evidence.agreement
        assert found.both[0, 1] == 0

    def test_copies_are_found_over_queries(self):
        rng = np.random.default_rng(0)
        orders, workers, queries = [], [], []
        for query in range(20):
            one = rng.permutation(list("abcdef")).tolist()
            for worker, order in enumerate((one, one, rng.permutation(list("abcdef")).tolist())):
                orders.append(order)
                workers.append(worker)
                queries.append(query)
        found = build(cr.PlackettLuce().fit(frame_of(orders, workers, queries)).result_)
        assert found.agreement.alike == (("w0", "w1", 1.0, 20 * 15),)
        words = "may be one person or system under two names: “w0” and “w1” (100 % of 300 pairs)."
        assert words in to_markdown(found)
        assert words in to_html(found)

    def test_without_workers_there_is_none(self):
        lists = frame_of([tuple("abc"), tuple("acb")]).drop("worker")
        assert cr.PlackettLuce().fit(lists).evidence_.agreement is None


class TestCalibration:
    def test_bins_by_hand(self):
        chances = np.array([[0.9, 0.0, 0.1], [0.2, 0.5, 0.3], [0.06, 0.0, 0.94], [0.5, 0.2, 0.3]])
        outcome = np.array([LEFT, RIGHT, LEFT, TIE], dtype=np.int8)
        low, high = calibration(chances, outcome, np.array([1.0, 2.0, 3.0, 1.0]))
        assert (low.start, low.end, low.votes, low.said, low.right) == (0.6, 0.7, 2.0, pytest.approx(0.6), 1.0)
        assert (high.start, high.votes) == (0.9, 4.0)
        assert high.said == pytest.approx((0.9 + 3 * 0.94) / 4)
        assert high.right == pytest.approx(1 / 4)
        assert high.low < high.right < high.high

    def test_a_comparison_shows_the_best_models_curve(self):
        found = cr.compare_models(random_votes(votes=300), ["bt", "win-rate"], folds=2)
        report = build_contest(found)
        assert sum(row.votes for row in report.contest.trust) == (random_votes(votes=300)["label"] != "tie").sum()
        assert found.rows[1].calibration == ()  # an order has no probabilities
        assert json.dumps(found.as_dict())
        assert "the side that bt called likelier won" in contest_to_html(report)
        assert "| Likelier side | Votes | Said | Won | 90 % interval |" in contest_to_markdown(report)
