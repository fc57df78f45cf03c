import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import LEFT, RIGHT, TIE


def outcomes(pairs):
    items = pairs.index.items
    words = {LEFT: ">", RIGHT: "<", TIE: "="}
    return sorted(
        items[int(i)] + words[int(o)] + items[int(j)]
        for i, j, o in zip(pairs.left, pairs.right, pairs.outcome, strict=True)
    )


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
