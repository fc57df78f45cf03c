"""What a report says, against small cases worked out by hand."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.errors import Note
from crowdrank.report import build
from crowdrank.report.next_votes import NextPair, next_pairs
from crowdrank.report.notes import cautions
from crowdrank.report.suggestions import suggestions
from crowdrank.report.units import UNITS
from crowdrank.report.words import connection_sentences, explain_quality, split_sentence
from crowdrank.select.questions import next_questions
from helpers import random_labels, random_lists, random_votes


def report(frame, model=None, gold=None):
    fitted = (model or cr.CrowdBT()).fit(frame)
    return build(fitted.result_, gold)


def votes(*rows, query=None):
    frame = pl.DataFrame(rows, schema=["winner", "loser"], orient="row")
    return frame if query is None else frame.with_columns(query=pl.lit(query))


TWO_GROUPS = votes(("a", "b"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("x", "y"), ("y", "x"))


class TestEvidence:
    def test_votes_opponents_and_parts(self):
        fitted = cr.BradleyTerry().fit(TWO_GROUPS)
        evidence = fitted.evidence_
        assert fitted.ranking_.item.to_list() == ["a", "b", "c", "x", "y"]
        assert evidence.comparisons.tolist() == [3, 5, 2, 2, 2]
        assert evidence.opponents.tolist() == [1, 2, 1, 1, 1]
        assert len(set(evidence.part[:3])) == 1
        assert len(set(evidence.part)) == 2

    def test_the_matrix_is_in_the_order_of_ranks(self):
        fitted = cr.BradleyTerry().fit(votes(("c", "a"), ("c", "a"), ("c", "b"), ("b", "a"), ("b", "c")))
        matrix = fitted.evidence_.matrix(0)  # c, b, a
        assert matrix.tolist() == [[0, 2, 2], [0, 0, 1], [0, 0, 0]]

    def test_many_items_are_binned_and_no_vote_is_lost(self):
        frame = random_votes(items=100, votes=3000)
        matrix = cr.BradleyTerry().fit(frame).evidence_.matrix(0)
        assert matrix.shape == (24, 24)
        assert matrix.sum() == 3000

    def test_only_the_first_queries_have_a_matrix(self, monkeypatch):
        monkeypatch.setattr("crowdrank.prepared.subjects.MATRIX_CELLS", 200)
        evidence = cr.BradleyTerry().fit(random_votes(queries=3)).evidence_
        assert evidence.matrix(0).shape == (12, 12)
        assert evidence.matrix(1) is None


class TestContent:
    def test_counts(self):
        found = report(TWO_GROUPS, cr.BradleyTerry())
        assert found.title == "Ranking of 5 items by bt"
        assert found.facts == ("7 pairs", "5 items", "model bt")
        links = found.connections
        assert (links.groups, links.pairs, links.possible) == (2, 3, 10)
        assert vars(links.comparisons) == {"least": 2, "median": 2, "most": 5}
        assert links.share == 0.3
        assert found.crowd is None
        assert found.cut == ""

    def test_rows_are_the_ranking(self):
        fitted = cr.CrowdBT().fit(random_votes(queries=3))
        found = build(fitted.result_)
        rows = [(query.name, row.item, row.rank, row.tier) for query in found.queries for row in query.rows]
        assert rows == fitted.ranking_.polars().select("query", "item", "rank", "tier").rows()

    def test_what_is_not_bounded_is_none(self):
        lonely = pl.DataFrame({"left": ["a", "a", "b"], "right": ["b", "b", "z"], "label": ["a", "b", "b"]})
        lonely = pl.concat([lonely, pl.DataFrame({"left": ["u"], "right": ["u"], "label": ["tie"]})])
        rows = report(cr.read(lonely, allow_dropped=True), cr.BradleyTerry()).queries[0].rows
        alone = next(row for row in rows if row.item == "u")
        assert (alone.low, alone.high) == (None, None)

    def test_the_axis_holds_every_interval_and_its_ticks(self):
        query = report(random_votes()).queries[0]
        assert all(query.axis.low <= row.low <= row.score <= row.high <= query.axis.high for row in query.rows)
        assert 2 <= len(query.axis.ticks) <= 7
        assert all(query.axis.low <= tick <= query.axis.high for tick in query.axis.ticks)

    def test_the_crowd(self):
        crowd = report(random_votes()).crowd
        assert crowd.workers == 8
        assert sum(crowd.verdicts.values()) == 8
        assert sum(map(sum, crowd.bins.values())) == 8
        assert [row.quality for row in crowd.rows] == sorted(row.quality for row in crowd.rows)
        assert "eta" in crowd.rows[0].further

    def test_many_rows_are_cut_and_that_is_said(self, monkeypatch):
        monkeypatch.setattr("crowdrank.report.assemble.ROWS", 24)
        found = report(random_votes(queries=3))
        assert [len(query.rows) for query in found.queries] == [8, 8, 8]
        assert [query.items for query in found.queries] == [12, 12, 12]
        assert "only the first 8 items of each query" in found.cut

    def test_many_queries_are_cut_and_that_is_said(self, monkeypatch):
        monkeypatch.setattr("crowdrank.report.assemble.ROWS", 10)
        found = report(random_votes(queries=3))
        assert [len(query.rows) for query in found.queries] == [5, 5]
        assert "the first 2 of 3 queries, with their first 5 items each" in found.cut


def lists(*orders):
    """Ranked lists, each a word of items, the best first."""
    rows = [(f"l{at}", item, rank) for at, order in enumerate(orders) for rank, item in enumerate(order, 1)]
    return pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row")


def graded(**labels):
    """Labels of items by workers w0, w1 and so on, each a string of digits."""
    rows = [(f"w{at}", item, int(label)) for item, all in labels.items() for at, label in enumerate(all)]
    return pl.DataFrame(rows, schema=["worker", "item", "label"], orient="row")


class TestLists:
    def test_they_are_counted_as_lists(self):
        found = report(lists("abc", "acb", "xy"), cr.PlackettLuce())
        assert found.unit == "lists"
        assert found.facts == ("3 lists of 8 ranked items", "3 workers", "5 items", "model plackett-luce")
        assert {row.item: row.comparisons for row in found.queries[0].rows} == dict.fromkeys("abc", 2) | {
            "x": 1,
            "y": 1,
        }
        assert not found.has_labels

    def test_pairs_made_of_them_are_votes(self):
        found = report(lists("abc", "acb"), cr.BradleyTerry())
        assert (found.unit, found.facts[0]) == ("votes", "2 lists of 6 ranked items")

    def test_how_they_connect(self):
        found = report(lists("abc", "acb", "xy"), cr.PlackettLuce())
        assert list(connection_sentences(found.connections, UNITS["lists"])) == [
            "The items fall into 2 groups that share no list.",
            "For 4 of 10 possible pairs some list holds both items (40 %).",
            "An item is in 1 to 2 (median 2) lists.",
            "An item shares a list with 1 to 2 (median 2) other items.",
        ]

    def test_how_those_of_several_queries_connect(self):
        found = report(random_lists(queries=2), cr.PlackettLuce())
        assert split_sentence(found) == "In every query the lists link all items."

    def test_of_one_pair(self):
        found = report(lists("ab"), cr.PlackettLuce())
        assert list(connection_sentences(found.connections, UNITS["lists"]))[1:] == [
            "For 1 of 1 possible pair some list holds both items (100 %).",
            "An item is in 1 list.",
            "An item shares a list with 1 other item.",
        ]


class TestLabels:
    FRAME = graded(a="5555", b="1115", c="33", d="3")

    def test_each_item_has_its_label(self):
        found = report(self.FRAME, cr.Average())
        labels = {row.item: (row.label, row.probability) for row in found.queries[0].rows}
        assert labels == {"a": (5, 1.0), "b": (1, 0.75), "c": (3, 1.0), "d": (3, 1.0)}
        assert found.has_labels
        assert (found.unit, found.facts[0]) == ("labels", "11 ratings")

    def test_labels_follow_their_items_in_every_query(self):
        fitted = cr.DawidSkene().fit(random_labels(queries=3))
        found = build(fitted.result_).queries
        shown = {(query.name, row.item): (row.label, row.probability) for query in found for row in query.rows}
        rows = fitted.labels_.polars().select("query", "item", "label", "probability").rows()
        assert shown == {(query, item): (label, round(chance, 2)) for query, item, label, chance in rows}

    def test_nothing_needs_to_connect(self):
        found = report(random_labels(queries=2), cr.DawidSkene())
        assert found.connections is None
        assert [query.connections for query in found.queries] == [None, None]

    def test_quality_is_told_of_labels_that_differ(self):
        found = report(self.FRAME, cr.DawidSkene())
        assert "on a pair of items whose labels differ: 1 means always agreeing" in explain_quality(found)
        assert "on an average pair" in explain_quality(report(random_votes()))


class TestCautions:
    def test_warnings_of_a_kind_stand_together(self):
        notes = [Note("one-sided", "first"), Note("mirror", "turned"), Note("one-sided", "second")]
        found = cautions(notes)
        assert [caution.code for caution in found] == ["mirror", "one-sided"]
        assert found[1].messages == ("first", "second")

    def test_a_code_that_is_not_known_is_shown_as_it_is(self):
        assert cautions([Note("new-kind", "something")])[0].title == "New kind"


def ranked(**columns):
    """Rows of a ranking with evidence: five items of one query unless told otherwise."""
    count = len(columns.get("item", "abcde"))
    rows = {
        "query": pl.Series([None] * count, dtype=pl.String), "item": list("abcde")[:count],
        "rank": range(1, count + 1), "tier": range(1, count + 1), "score": np.linspace(2, -2, count),
        "rank_low": range(1, count + 1), "rank_high": range(1, count + 1), "comparisons": [10.0] * count,
        "opponents": [4] * count, "part": [0] * count,
    }  # fmt: skip
    return pl.DataFrame({**rows, **columns})


def crowd(*rows):
    return pl.DataFrame(rows, schema=["worker", "judgments", "low", "high", "verdict"], orient="row")


class TestSuggestions:
    def test_nothing_where_nothing_is_open(self):
        assert suggestions(ranked(), crowd(("w", 9.0, 0.7, 0.9, "reliable"))) == ()

    def test_votes_are_asked_for_by_the_search_for_the_next_pair(self):
        rows = ranked(rank_low=[1, 1, 3, 3, 3], rank_high=[2, 2, 5, 5, 5]).to_dicts()
        pairs = [
            (rows[0], rows[1], NextPair(0, 1, 0.57, True)),
            (rows[2], rows[4], NextPair(2, 4, None, True)),
            (rows[1], rows[3], NextPair(1, 3, 0.5, False)),
        ]
        found = suggestions(ranked(), None, "votes", pairs)
        assert [(entry.kind, entry.sentence) for entry in found] == [
            ("pair", "The first place is open. Ask about “a” and “b”: “a” is ahead with a probability of only "
             "57 %; it may rank from 1 to 2, and “b” from 1 to 2."),
            ("pair", "Ask about “c” and “e”: they have fewer votes than most, 10 votes and 10 votes."),
            ("bridge", "Ask about “b” and “d”: no chain of votes links them, so nothing says which one is "
             "better."),
        ]  # fmt: skip

    def test_the_pairs_of_a_fit_are_those_of_the_next_questions(self):
        frame = random_votes(np.random.default_rng(3), items=12, workers=4, votes=80)
        model = cr.BradleyTerry().fit(frame)
        asked = next_questions(frame, 3, model="bt", settings={"cold": 1}).frame()
        pairs = [{*own} for own in asked.select("left", "right").iter_rows()]
        found = [entry for entry in build(model.result_).suggestions if entry.kind in ("pair", "bridge")]
        assert found
        assert all({*entry.items} in pairs for entry in found)

    def test_pairs_that_can_be_told_apart_are_not_suggested(self):
        rows = [("w", one, other, one) for one, other in ("ab", "bc", "ac") for _ in range(400)]
        rows += [("w", other, one, other) for one, other in ("ab", "bc", "ac") for _ in range(100)]
        frame = pl.DataFrame(rows, schema=["worker", "left", "right", "label"], orient="row")
        assert next_pairs(cr.BradleyTerry().fit(frame).result_, 3) == []

    def test_a_pair_has_the_probability_of_the_matrix(self):
        # b and c share the fortune of a, so their difference is known better than each of them
        rows = (
            [("a", "z")] * 3 + [("z", "a")] + [("b", "a"), ("a", "b")] * 9 + [("b", "c")] * 12 + [("c", "b")] * 7
        )
        found = report(votes(*rows), cr.BradleyTerry())
        (query,) = found.queries
        chance = dict(zip(zip(*np.triu_indices(query.ahead.side), strict=True), query.ahead.cells, strict=True))
        rank = {row.item: row.rank - 1 for row in query.rows}
        said = [entry for entry in found.suggestions if entry.kind == "pair"]
        assert said
        for entry in said:
            ahead = chance[tuple(rank[item] for item in entry.items)]
            assert f"a probability of only {100 * ahead:.0f} %" in entry.sentence

    def test_without_a_posterior_the_least_asked_items_are_suggested(self):
        rows = [("w", one, other, one) for one, other in ("ab", "bc", "ac") for _ in range(9)]
        rows += [("w", "d", "a", "a"), ("w", "e", "a", "a"), ("w", "d", "b", "d")]
        frame = pl.DataFrame(rows, schema=["worker", "left", "right", "label"], orient="row")
        result = cr.WinRate().fit(frame).result_
        names = result.ranking.item
        (found,) = next_pairs(result, 1)
        assert {names[found.one], names[found.other]} == {"d", "e"}
        assert found.ahead is None

    def test_lists_are_asked_for(self):
        rows = ranked(
            tier=[1, 1, 2, 3, 4], rank_low=[1, 1, 3, 4, 5], rank_high=[2, 4, 3, 4, 5], part=[0, 0, 0, 0, 1],
            comparisons=[8.0, 8.0, 8.0, 8.0, 1.0],
        )  # fmt: skip
        assert [(entry.kind, entry.sentence) for entry in suggestions(rows, None, "lists")] == [
            ("bridge", "Ask for lists that hold both “a” and “e”: this would join a group of 1 item to the "
             "largest group of 4 items."),
            ("pair", "The first place is open: ask for lists that hold both “a” and “b”: they are neighbors at "
             "ranks 1 and 2, and these lists cannot tell them apart."),
            ("item", "“b” may rank anywhere from 1 to 4: it has 8 lists with 4 other items; the median item has "
             "8 lists."),
            ("few-lists", "1 item has less than half the lists of the median item (8 lists); ask for lists that "
             "hold “e” (1 list) first."),
        ]  # fmt: skip

    def test_labels_are_asked_for_item_by_item(self):
        rows = ranked(
            tier=[1, 1, 1, 1, 2], rank_low=[1, 1, 1, 1, 5], rank_high=[4, 4, 4, 4, 5],
            low=[5.0, 3.25, 2.0, -np.inf, 1.0], high=[5.0, 5.0, 4.0, np.inf, 1.3],
            part=[0, 0, 0, 1, 1], comparisons=[10.0, 4.0, 10.0, 10.0, 10.0],
        )  # fmt: skip
        assert [(entry.kind, entry.sentence) for entry in suggestions(rows, None, "labels")] == [
            ("item", "Ask for more labels for “c”: its score may be anywhere from 2 to 4; it has 10 labels, the "
             "median item has 10 labels."),
            ("item", "Ask for more labels for “b”: its score may be anywhere from 3.25 to 5; it has 4 labels, the "
             "median item has 10 labels."),
            ("few-labels", "1 item has less than half the labels of the median item (10 labels); ask for more "
             "labels for “b” (4 labels) first."),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("verdict", "start"),
        [
            ("malicious", "Check 2 malicious workers, “v” (15 judgments) and “w” (5 judgments): they mostly"),
            ("spammer", "Check 2 spammers, “v” (15 judgments) and “w” (5 judgments), or leave them out: "),
            ("unsure", "Ask 2 unsure workers, “w” (5 judgments) and “v” (15 judgments) for more judgments: "),
        ],
    )
    def test_workers_by_verdict(self, verdict, start):
        rows = (("u", 20.0, 0.7, 0.9, "reliable"), ("v", 15.0, 0.45, 0.55, verdict), ("w", 5.0, 0.4, 0.6, verdict))
        (found,) = suggestions(ranked(), crowd(*rows))
        assert found.sentence.startswith(start)
        assert "50 % of all" in found.sentence
        assert set(found.workers) == {"v", "w"}

    def test_one_sided_workers_are_not_asked_again(self):
        rows = (
            ("u", 20.0, 0.7, 0.9, "reliable"),
            ("v", 15.0, 0.45, 0.55, "unsure"),
            ("w", 5.0, 0.4, 0.6, "unsure"),
        )
        (found,) = suggestions(ranked(), crowd(*rows), one_sided={"v"})
        assert found.workers == ("w",)
        assert suggestions(ranked(), crowd(*rows), one_sided={"v", "w"}) == ()

    def test_a_fit_says_who_is_one_sided(self):
        rows = [("w", "ab"[row % 2], "ba"[row % 2], "left") for row in range(30)]
        rows += [(f"v{row}", "a", "b", "ab"[row % 3 == 0]) for row in range(12)]
        frame = pl.DataFrame(rows, schema=["worker", "left", "right", "label"], orient="row")
        result = cr.BradleyTerry().fit(frame).result_
        assert [note.workers for note in result.fit.warnings if note.code == "one-sided"] == [("w",)]
        assert "w" not in {name for entry in build(result).suggestions for name in entry.workers}


def test_a_pair_that_is_asked_about_twice_is_one_suggestion():
    rows = [("a", "b")] * 6 + [("b", "a")] * 5 + [("a", "c")] * 9 + [("b", "c")] * 9 + [("c", "b")]
    said = report(votes(*rows), cr.BradleyTerry()).suggestions
    assert [own.items for own in said] == [("a", "b")]
