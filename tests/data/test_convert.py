import polars as pl
import pytest

import crowdrank as cr
from crowdrank.compare.split import split
from crowdrank.data import LEFT, RIGHT, TIE, count_pairs


def in_order(pairs):
    items = pairs.index.items
    words = {LEFT: ">", RIGHT: "<", TIE: "="}
    return [
        items[int(i)] + words[int(o)] + items[int(j)]
        for i, j, o in zip(pairs.left, pairs.right, pairs.outcome, strict=True)
    ]


def outcomes(pairs):
    return sorted(in_order(pairs))


def test_pairs_come_list_by_list_as_the_rows_first_name_the_lists():
    """Rows of the two lists take turns; c and b, which the list of x does not name, are named in this order."""
    frame = pl.DataFrame({"worker": list("yxyx"), "item": list("cdba"), "rank": [1, 2, 3, 1]})
    pairs = cr.to_pairs(cr.read(frame, missing="below"))
    assert in_order(pairs) == ["c>b", "c>d", "c>a", "b>d", "b>a", "d<a", "d>c", "d>b", "a>c", "a>b"]


def test_ratings_of_one_worker_become_pairs():
    frame = pl.DataFrame({"worker": list("xxxy"), "item": list("abcd"), "label": [3, 1, 1, 9]})
    pairs = cr.to_pairs(cr.read(frame))
    assert outcomes(pairs) == ["a>b", "a>c", "b=c"]  # d stands alone
    assert pairs.notes[-1].code == "conversion"
    assert not pairs.sided


def test_ties_may_be_dropped():
    frame = pl.DataFrame({"worker": list("xxx"), "item": list("abc"), "label": [3, 1, 1]})
    assert outcomes(cr.to_pairs(cr.read(frame), ties="drop")) == ["a>b", "a>c"]
    with pytest.raises(cr.UsageError, match="ties must be"):
        cr.to_pairs(cr.read(frame), ties="maybe")


def test_the_smaller_rank_wins_and_values_are_only_compared():
    frame = pl.DataFrame({"worker": list("xxxyy"), "item": list("abcab"), "rank": [1, 100, 7, 2, 2]})
    assert outcomes(cr.to_pairs(cr.read(frame))) == ["a=b", "a>b", "a>c", "b<c"]


def test_lists_of_one_worker_are_kept_apart():
    frame = pl.DataFrame(
        {"worker": list("xxxx"), "list": list("1122"), "item": list("abcd"), "rank": [1, 2, 1, 2]}
    )
    assert outcomes(cr.to_pairs(cr.read(frame))) == ["a>b", "c>d"]


def test_queries_are_kept_apart():
    frame = pl.DataFrame(
        {"worker": list("xxxx"), "query": list("ppqq"), "item": list("abab"), "label": [1, 2, 2, 1]}
    )
    pairs = cr.to_pairs(cr.read(frame))
    assert outcomes(pairs) == ["a<b", "a>b"]
    assert sorted(pairs.query.tolist()) == [0, 1]


def test_weights_are_carried_along():
    frame = pl.DataFrame({"worker": list("xx"), "item": list("ab"), "label": [1, 2], "weight": [2.0, 8.0]})
    assert cr.to_pairs(cr.read(frame)).weight.tolist() == [4.0]


def test_pairs_come_back_as_they_are():
    pairs = cr.Pairs.from_votes(winner=["a"], loser=["b"])
    assert cr.to_pairs(pairs) is pairs


def test_nothing_to_compare_is_an_error():
    frame = pl.DataFrame({"worker": list("xy"), "item": list("ab"), "label": [1, 2]})
    with pytest.raises(cr.InputError, match="give no pair"):
        cr.to_pairs(cr.read(frame))


def test_too_many_pairs_are_refused(monkeypatch):
    from crowdrank.data import convert

    monkeypatch.setattr(convert, "MOST_PAIRS", 2)
    frame = pl.DataFrame({"worker": list("xxx"), "item": list("abc"), "label": [3, 1, 1]})
    with pytest.raises(cr.InputError, match="3 pairs, more than 2"):
        cr.to_pairs(cr.read(frame))


class TestAdjacentPairs:
    """Crowd-BT section 3: X > Y > Z is X > Y and Y > Z."""

    @pytest.mark.parametrize(
        ("rank", "wanted"),
        [
            ([1, 2, 3, 4], ["a>b", "b>c", "c>d"]),
            ([4, 30, 2, 1], ["a>b", "c>a", "d>c"]),
            ([1, 2, 2, 3], ["a>b", "a>c", "b=c", "b>d", "c>d"]),
            ([1, 2, 2, 2], ["a>b", "a>c", "a>d", "b=c", "b=d", "c=d"]),
        ],
    )
    def test_only_neighbors_of_a_list_are_compared(self, rank, wanted):
        frame = pl.DataFrame({"worker": list("xxxx"), "item": list("abcd"), "rank": rank})
        table = cr.read(frame, pairs="adjacent")
        found = cr.to_pairs(table)
        assert outcomes(found) == wanted
        assert f"{len(wanted)} adjacent pairs" in found.notes[-1].message
        assert count_pairs(table) == len(wanted)
        assert outcomes(cr.to_pairs(cr.read(frame), pairs="adjacent")) == wanted
        assert outcomes(cr.to_pairs(table, pairs="all")) == outcomes(cr.to_pairs(cr.read(frame)))

    def test_lists_are_kept_apart_and_unranked_items_come_last(self):
        frame = pl.DataFrame(
            {"worker": list("yyyyxxxx"), "item": list("abcdabcd"), "rank": [3, 1, None, None, 1, 2, 3, 4]}
        )
        found = cr.to_pairs(cr.read(frame, pairs="adjacent"))
        assert outcomes(found) == sorted(["b>a", "a>c", "a>d", "a>b", "b>c", "c>d"])
        assert (found.worker == [1, 1, 1, 0, 0, 0]).all()

    def test_a_model_of_pairs_sees_them(self):
        frame = pl.DataFrame({"worker": list("xxxyyy"), "item": list("abcabc"), "rank": [1, 2, 3, 1, 2, 3]})
        model = cr.BradleyTerry().fit(cr.read(frame, pairs="adjacent"))
        votes = cr.Pairs.from_votes(winner=list("abab"), loser=list("bcbc"))
        assert (model.ranking_.score == cr.BradleyTerry().fit(votes).ranking_.score).all()
        assert model.fit_.judgments["pairs"] == "adjacent"
        assert model.fit_.warnings[0].message.startswith("2 rankings with 6 entries were read as 4 adjacent pairs")

    def test_held_out_lists_are_all_pairs(self):
        frame = pl.DataFrame(
            {"worker": [f"w{k // 4}" for k in range(40)], "item": list("abcd") * 10, "rank": [1, 2, 3, 4] * 10}
        )
        dealt = split(cr.read(frame, pairs="adjacent"), 2, 0, "keep", 1000)
        assert (dealt.asked.rows, dealt.judgments.pairs) == (60, "adjacent")

    def test_other_words_and_other_judgments_are_errors(self):
        ratings = cr.read(pl.DataFrame({"worker": list("xx"), "item": list("ab"), "label": [3, 1]}))
        with pytest.raises(cr.UsageError, match="pairs=adjacent applies only to rankings"):
            cr.to_pairs(ratings, pairs="adjacent")
        with pytest.raises(cr.UsageError, match="'pairs' applies only to ratings and rankings"):
            cr.read(cr.Pairs.from_votes(winner=["a"], loser=["b"]), pairs="all")
        lists = pl.DataFrame({"worker": list("xx"), "item": list("ab"), "rank": [3, 1]})
        for word in ("next", 1, "0", True):
            with pytest.raises(cr.UsageError, match="pairs must be 'auto', 'all', 'adjacent' or a number"):
                cr.read(lists, pairs=word)
