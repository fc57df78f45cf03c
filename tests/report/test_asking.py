"""Where questions go, and where answers went, in every form of the report."""

import json
import math
import re

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.report import (
    build_answers,
    build_questions,
    questions_to_html,
    questions_to_markdown,
    to_json,
)
from crowdrank.report.asking import QUERIES, REASONS, ROWS, draw_query
from crowdrank.results import Z
from crowdrank.select.questions import Questions
from helpers import random_votes

HOSTILE = "<b>a|b</b>"
ITEMS = pl.DataFrame(
    {
        "query": [None] * 4,
        "item": ["low", "top", HOSTILE, "mid"],
        "score": [-1.0, 2.0, 0.5, 0.0],
        "stderr": [0.3, 1.0, 0.4, 0.0],
        "votes": [4, 1, 3, 0],
    },
    schema_overrides={"query": pl.String},
)
ASKED = pl.DataFrame(
    {
        "question": [5, 6, 7],
        "query": [None] * 3,
        "left": ["top", HOSTILE, "top"],
        "right": [HOSTILE, "mid", "low"],
        "worker": ["ann", "bob", "ann"],
        "gain": [0.0123456, 0.0, 0.001],
        "why": ["gain", "cold", "gain"],
    },
    schema_overrides={"query": pl.String},
)


@pytest.fixture(scope="module")
def report():
    return build_questions(Questions(ASKED, ITEMS, "gain", (cr.Note("fewer-questions", "There are only 3."),)))


class TestContent:
    def test_items_are_ranked_and_their_questions_counted(self, report):
        (query,) = report.queries
        assert [(own.rank, own.item, own.questions) for own in query.items] == [
            (1, "top", 2), (2, HOSTILE, 2), (3, "mid", 1), (4, "low", 1),
        ]  # fmt: skip
        assert query.items[0].low == round(2.0 - Z * 1.0, 3)
        assert query.questions == report.questions == 3
        assert [item.item for _, item in report.most] == ["top", HOSTILE, "mid", "low"]

    def test_the_chance_that_the_left_item_is_better(self, report):
        spread = math.sqrt(1.0**2 + 0.4**2)
        assert report.rows[0].chance == round(0.5 * math.erfc(-(2.0 - 0.5) / spread / math.sqrt(2)), 2)
        assert [row.reason for row in report.rows] == ["", REASONS["cold"], ""]
        assert report.rows[0].gain == 0.0123

    def test_what_is_said_first(self, report):
        assert report.title == "3 questions to ask next"
        assert report.facts == (
            "4 votes so far",
            "4 items",
            "chosen by gain: expected information gain, Crowd-BT eq. 10",
        )
        assert report.headline == (
            "3 questions about 4 of 4 items. 67 % are between neighbors: next to each other, or at most a tenth "
            "of the ranks apart. No item is in more than 2."
        )
        alone = build_questions(Questions(ASKED[:1], ITEMS, "gain"))
        assert alone.headline.startswith("1 question about 2 of 4 items. 100 % are")
        twice = build_questions(Questions(ASKED.filter(left="top"), ITEMS, "gain"))
        assert twice.headline.endswith("“top” is in the most: 2.")

    def test_judges_with_the_most_questions_come_first(self, report):
        assert report.judges == (("ann", 2), ("bob", 1))
        assert build_questions(Questions(ASKED.drop("worker"), ITEMS, "gain")).judges == ()

    def test_queries_with_the_most_questions_have_a_picture(self):
        found = cr.next_questions(random_votes(items=6, queries=9, votes=900), 60)
        report = build_questions(found)
        counts = found.polars()["query"].value_counts()
        assert [own[2] for own in report.counts] == sorted(counts["count"], reverse=True) + [0] * (9 - len(counts))
        assert len(report.queries) == QUERIES
        assert report.several
        asked = dict(counts.iter_rows())
        assert all(query.questions == asked[query.name] for query in report.queries)
        for query in report.queries:
            assert [item.score for item in query.items] == sorted(
                (item.score for item in query.items), reverse=True
            )

    def test_what_is_known_is_what_the_model_knew(self):
        """The questions that are chosen change nothing of it."""
        votes = random_votes()
        few, many = cr.next_questions(votes, 1), cr.next_questions(votes, 60)
        assert few.items.equals(many.items)
        ranking = cr.CrowdBT().fit(votes).ranking_.polars()
        known = ranking.join(many.items, on="item", how="left")
        assert known["score_right"].to_list() == pytest.approx(known["score"].to_list())
        sides = pl.concat([votes["left"], votes["right"]]).value_counts()
        assert dict(sides.iter_rows()) == dict(many.items.select("item", "votes").iter_rows())


class TestForms:
    def test_the_page(self, report):
        html = questions_to_html(report)
        assert HOSTILE not in html
        assert "<script" not in html
        assert html.count('class="c-hint"') == 4
        assert re.findall(r"<h2 [^>]*>([^<]+)", html) == [
            "Where the questions go", "Items with the most questions", "The first questions", "Questions by judge",
        ]  # fmt: skip
        assert "Fewer questions than asked for" in html
        rows = re.search(r'<table class="plain asked-pairs">.*?</table>', html, re.S)[0]
        assert rows.count("<tr>") == 1 + 3
        assert "gain 0.0123" in rows
        assert REASONS["cold"] in rows

    def test_markdown(self, report):
        text = questions_to_markdown(report)
        assert "| 5 | top | \\<b\\>a\\|b\\</b\\> | ann | 0.92 | gain 0.0123 |" in text
        assert "| mid | 3 | 0.00 | 0.00 to 0.00 | 0 | 1 |" in text
        assert "| ann | 2 |" in text

    def test_json(self, report):
        data = json.loads(to_json(report))
        assert data["rows"][0] == vars(report.rows[0])
        assert data["queries"][0]["items"][1]["item"] == HOSTILE

    def test_long_lists_are_cut_and_it_is_said(self):
        items = ITEMS.select("query", "score", "stderr", "votes").with_row_index("number")
        items = pl.concat([items] * 100).with_columns(item=pl.int_range(400).cast(pl.String))
        found = pl.DataFrame({"left": items["item"][:300], "right": items["item"][1:301]})
        found = found.with_columns(
            question=pl.int_range(300), query=pl.lit(None, pl.String), gain=0.1, why=pl.lit("gain")
        )
        report = build_questions(Questions(found, items.drop("number"), "gain"))
        assert len(report.rows) == ROWS
        assert f"The first {ROWS} of 300 questions." in questions_to_html(report)
        assert "The first 50 of 300 questions, the best first." in questions_to_markdown(report)
        hints = re.findall(r"<title>(.*?)</title>", draw_query(report.queries[0], "question").svg)
        assert len(hints) == 250
        assert hints[0].startswith("Rank 1: score 2.00")
        touched = sum(int(hint.rsplit(" ", 1)[1]) for hint in hints)
        assert touched == 2 * 300


class TestAnswers:
    def test_how_certain_the_ranking_became(self):
        curve = [(0, 0.5), (1, 0.62345678), (3, 0.7)]
        report = build_answers(ITEMS, ASKED.drop("gain", "why", "question"), curve)
        assert report.title == "3 answers of 2 judges"
        assert report.curve == ((0, 0.5), (1, 0.6235), (3, 0.7))
        html = questions_to_html(report)
        assert "Where the answers went" in html
        path = re.search(r'<path class="curve" d="M(.*?)"', html)[1]
        points = np.array([point.split() for point in path.split("L")], dtype=float)
        assert (points[2] - points[0])[0] == pytest.approx(3 * (points[1] - points[0])[0], abs=0.3)
        assert "0.500 after 0 answers, 0.700 after 3." in questions_to_markdown(report)
        assert "The first questions" not in html

    def test_one_look_is_no_curve(self):
        report = build_answers(ITEMS, ASKED, [(3, 0.7)])
        assert "certain the ranking became" not in questions_to_html(report)
        assert "certain the ranking became" not in questions_to_markdown(report)
