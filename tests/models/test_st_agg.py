"""St.Agg: expectations by enumeration of all outcomes of the contests."""

from itertools import permutations, product

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from helpers import random_votes

ITEMS = "abcde"
DISCOUNTS = {
    "ndcg": lambda r, n: 1 / np.log2(2 + r),
    "rbp": lambda r, n: 0.95**r,
    "rank": lambda r, n: 1 - r / n,
}
GAINS = {
    "ndcg": lambda r, n: 2 ** ((n - r) / n) - 1,
    "rbp": lambda r, n: 0.05 * (n - r) / n,
    "rank": lambda r, n: 1 - r / n,
}


def some_votes(seed=0, votes=12, workers=3):
    rng = np.random.default_rng(seed)
    pairs = [rng.choice(5, 2, replace=False) for _ in range(votes)]
    named = [(f"w{rng.integers(workers)}", ITEMS[a], ITEMS[b]) for a, b in pairs]
    named += [("w0", "a", "b"), ("w0", "b", "c"), ("w0", "c", "d"), ("w0", "d", "e")]  # all are connected
    return pl.DataFrame(named, schema=["worker", "winner", "loser"], orient="row")


def chances(votes):
    """P(s above t) of one input, as ``direct`` has it."""
    p = np.full((5, 5), 0.5)
    for (winner, loser), own in votes.group_by("winner", "loser"):
        s, t = ITEMS.index(winner), ITEMS.index(loser)
        other = len(votes.filter(winner=loser, loser=winner))
        p[s, t] = len(own) / (len(own) + other)
        p[t, s] = 1 - p[s, t]
    return p


def centred(votes):
    p, q = chances(votes), np.full((5, 5), 0.5)
    won = np.array([sum(p[s, t] for t in range(5) if p[s, t] != 0.5) for s in range(5)])
    judged = p != 0.5
    q[judged] = (0.5 + (won[:, None] - won[None, :]) / 10)[judged]
    return q


def expected(p, discount):
    """E D(rank) of every item: the sum over all outcomes of its four contests."""
    found = np.zeros(5)
    for item in range(5):
        others = [other for other in range(5) if other != item]
        for lost in product([0, 1], repeat=4):
            chance = np.prod([1 - p[item, o] if x else p[item, o] for x, o in zip(lost, others, strict=True)])
            found[item] += chance * discount(sum(lost), 5)
    return found


def fitted(frame, **options):
    model = cr.StAgg(**options).fit(frame)
    return model, model.ranking_.polars().sort("item")


@pytest.mark.parametrize("measure", DISCOUNTS)
@pytest.mark.parametrize(("pair", "own"), [("direct", chances), ("centred", centred)])
@pytest.mark.parametrize("seed", range(3))
def test_scores_by_enumeration(measure, pair, own, seed):
    frame = some_votes(seed)
    inputs = [own(votes) for _, votes in frame.group_by("worker")]
    total = np.mean([expected(p, DISCOUNTS[measure]) for p in inputs], axis=0)
    level = expected(np.full((5, 5), 0.5), DISCOUNTS[measure])[0]
    _, found = fitted(frame, measure=measure, pair=pair)
    assert found["score"].to_numpy() == pytest.approx((total - total.mean()) / level)


@pytest.mark.parametrize("measure", DISCOUNTS)
def test_no_ranking_has_a_larger_expected_measure(measure):
    frame = some_votes(7)
    total = sum(expected(chances(votes), DISCOUNTS[measure]) for _, votes in frame.group_by("worker"))
    gain = np.array([GAINS[measure](r, 5) for r in range(5)])
    if measure != "rbp":
        gain = gain / sum(GAINS[measure](r, 5) * DISCOUNTS[measure](r, 5) for r in range(5))
    best = max(
        sum(gain[place] * total[item] for place, item in enumerate(order)) for order in permutations(range(5))
    )
    assert fitted(frame, measure=measure)[0].fit_.details["objective"] == pytest.approx(best)


@pytest.mark.parametrize("measure", DISCOUNTS)
def test_without_workers_the_votes_are_one_input(measure):
    frame = some_votes(1, votes=30).drop("worker")
    total = expected(chances(frame), DISCOUNTS[measure])
    level = expected(np.full((5, 5), 0.5), DISCOUNTS[measure])[0]
    model, found = fitted(frame, measure=measure)
    assert found["score"].to_numpy() == pytest.approx((total - total.mean()) / level)
    assert model.workers_ is None


def test_without_workers_an_item_varies_by_its_slope():
    frame = some_votes(2, votes=30).drop("worker")
    p = chances(frame)
    level = expected(np.full((5, 5), 0.5), DISCOUNTS["ndcg"])[0]
    slope = expected(p, lambda r, n: DISCOUNTS["ndcg"](r, n) - DISCOUNTS["ndcg"](r + 1, n)) / level
    variance = np.zeros(5)
    for s in range(5):
        for t in range(5):
            won, lost = (len(frame.filter(winner=ITEMS[a], loser=ITEMS[b])) for a, b in ((s, t), (t, s)))
            if won + lost:
                variance[s] += (won + 0.5) * (lost + 0.5) / ((won + lost + 1) ** 2 * (won + lost + 2))
    own = slope**2 * variance
    centre = own * (1 - 2 / 5) + own.sum() / 25
    assert fitted(frame)[1]["stderr"].to_numpy() == pytest.approx(np.sqrt(centre))


def test_the_mean_rank_on_complete_lists_is_bordas_count():
    lists = {"x": "abcde", "y": "bacde", "z": "abdec"}
    rows = [(worker, item, rank) for worker, order in lists.items() for rank, item in enumerate(order, 1)]
    frame = pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row")
    _, found = fitted(frame, measure="rank")
    rank = np.array([np.mean([order.index(item) for order in lists.values()]) for item in ITEMS])
    assert found["score"].to_numpy() == pytest.approx((2 - rank) / 5 / 0.6)


def test_it_is_crowdagg_with_equal_workers():
    frame = random_votes(votes=300)
    one = cr.StAgg().fit(frame).ranking_.polars().sort("item")["score"].to_numpy()
    other = cr.CrowdAggNDCG(quality="equal").fit(frame).ranking_.polars().sort("item")["score"].to_numpy()
    assert one == pytest.approx(other - other.mean(), abs=1e-12)


@pytest.mark.parametrize(("name", "value"), [("measure", "map"), ("pair", "guess")])
def test_choices_must_be_known(name, value):
    with pytest.raises(cr.UsageError, match=f"'{name}' must be .* Got '{value}'"):
        cr.StAgg(**{name: value}).fit(random_votes())
