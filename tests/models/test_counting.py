import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.prepared.votes import Votes


def fitted(model, winner, loser):
    return model.fit(cr.Pairs.from_votes(winner=list(winner), loser=list(loser))).ranking_.polars()


def test_win_rate_is_the_share_won():
    found = fitted(cr.WinRate(), "aaab", "bbca")
    assert dict(zip(found["item"], found["score"], strict=True)) == {"a": 3 / 4, "b": 1 / 3, "c": 0.0}


def test_win_rate_counts_a_tie_as_half():
    frame = pl.DataFrame({"left": ["a", "a"], "right": ["b", "b"], "label": ["a", "tie"]})
    found = cr.WinRate().fit(frame).ranking_.polars()
    assert found["score"].to_list() == [0.75, 0.25]


def test_wilsons_interval_by_hand():
    found = fitted(cr.WinRate(), "aaab", "bbba").filter(pl.col("item") == "a").to_dicts()[0]
    z, n, p = 1.6448536269514722, 4, 0.75
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert found["low"] == pytest.approx(centre - half)
    assert found["high"] == pytest.approx(centre + half)


def test_borda_weighs_every_opponent_alike():
    # a beats b nine times and loses to c once: mean of 1 and 0, where the win rate is .9
    found = fitted(cr.Borda(), "aaaaaaaaac", "bbbbbbbbba")
    assert dict(zip(found["item"], found["score"], strict=True))["a"] == pytest.approx((1 + 0) / 2)


def test_borda_on_complete_lists_is_bordas_count():
    lists = {"x": "abcd", "y": "bacd", "z": "abdc"}
    rows = [(worker, item, rank) for worker, order in lists.items() for rank, item in enumerate(order, 1)]
    frame = pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row")
    model = cr.Borda().fit(frame)
    points = {item: np.mean([3 - order.index(item) for order in lists.values()]) / 3 for item in "abcd"}
    found = model.ranking_.polars()
    assert dict(zip(found["item"], found["score"], strict=True)) == pytest.approx(points)
    assert "conversion" in {note.code for note in model.fit_.warnings}


def test_agreement_of_workers():
    frame = pl.DataFrame(
        {"worker": ["x", "x", "x", "y"], "winner": ["a", "a", "b", "b"], "loser": ["b", "b", "a", "a"]}
    )
    model = cr.WinRate().fit(pl.concat([frame, frame.head(2)]))  # a wins
    found = model.workers_.polars()
    assert found["quality"].to_list() == [4 / 5, 0.0]
    assert (found["low"] <= found["quality"]).all()
    assert (found["quality"] <= found["high"]).all()


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["left"] * 16, "8 times a worker judged the same two items twice, once in each order. 8 times (100%)"),
        (["left"] * 14 + ["left", "right"], None),  # seven or eight of eight: 9 / 256 by coin tosses
        (["left", "right"] * 8, None),
        (["left"] * 8 + ["left", "right"] * 4, None),  # coin tosses do that
    ],
)
def test_the_same_side_in_both_orders_is_said(labels, said):
    items = zip("abcdefgh", "ijklmnop", strict=True)
    pairs = [pair for one, other in items for pair in ((one, other), (other, one))]
    chosen = [pair[side == "right"] for pair, side in zip(pairs, labels, strict=True)]
    left, right = zip(*pairs, strict=True)
    frame = pl.DataFrame({"worker": ["w"] * 16, "left": left, "right": right, "label": chosen})
    notes = [note.message for note in cr.WinRate().fit(frame).fit_.warnings if note.code == "both-orders"]
    assert [said in note for note in notes] == ([] if said is None else [True])


@pytest.mark.parametrize("pairs", [25, *(pytest.param(pairs, marks=pytest.mark.long) for pairs in (9, 60))])
def test_coin_tosses_seldom_look_like_the_same_side_in_both_orders(pairs):
    """At most one crowd in a hundred is suspected, by the binomial tail; here plus 3 standard errors."""
    rng = np.random.default_rng(0)
    one, other = ([f"{side}{pair}" for pair in range(pairs)] for side in "xy")
    left, right = np.array(one + other), np.array(other + one)
    suspected = 0
    for _ in range(100):
        label = np.where(rng.random(2 * pairs) < 0.5, left, right)
        votes = Votes(cr.read(pl.DataFrame({"worker": "w", "left": left, "right": right, "label": label})))
        suspected += any(note.code == "both-orders" for note in votes.notes())
    assert suspected / 100 < 0.01 + 3 * (0.01 * 0.99 / 100) ** 0.5
