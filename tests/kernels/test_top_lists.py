"""Definition 1 of the paper by its own words, by enumeration of all top lists, and the drawn lists against it."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from crowdrank.kernels import top_lists
from crowdrank.kernels.chains import OrderModel, places_of
from crowdrank.kernels.mallows import log_normalizers
from crowdrank.random import stream_starts

N, K = 5, 3


def definition_1(a, b):
    """Equations 52 to 54: common documents out of order, documents only in one list, and r (r + 1) / 2."""
    common, only_a, only_b = set(a) & set(b), set(a) - set(b), set(b) - set(a)
    r = len(only_a)
    inverted = sum((a.index(x) < a.index(y)) != (b.index(x) < b.index(y)) for x in common for y in common if x < y)
    from_a = sum(a.index(x) < a.index(y) for x in only_a for y in common)
    from_b = sum(b.index(x) < b.index(y) for x in only_b for y in common)
    return inverted + from_a + from_b + r * (r + 1) // 2


def pair_form(a, b):
    """Pairs in a different order, each list above everything else, less r (r - 1) / 2."""
    place = [{x: own.index(x) if x in own else K for x in range(N)} for own in (a, b)]
    wrong = sum(
        place[0][x] < place[0][y] and place[1][x] > place[1][y] for x in range(N) for y in range(N) if x != y
    )
    r = len(set(a) - set(b))
    return wrong - r * (r - 1) // 2


def test_the_pair_form_is_definition_1():
    lists = list(permutations(range(N), K))
    assert all(definition_1(a, b) == pair_form(a, b) for a in lists[:12] for b in lists)


@pytest.mark.parametrize("theta", [0.7, -0.4])
@pytest.mark.parametrize("r", [0, 1, 2])
def test_expected_distance_for_each_r(theta, r):
    """E_r by enumeration, where equation 55 of the paper is wrong for r = 2 (k = 3)."""
    first = (0, 1, 2)
    distances = np.array(
        [definition_1(first, own) for own in permutations(range(N), K) if len(set(first) - set(own)) == r], float
    )
    weight = np.exp(-theta * distances)
    slope = -log_normalizers(np.array([theta]), K)[1][0]
    wanted = r * (r + 1) / 2 + 2 * slope[K] - 2 * slope[r] - slope[K - r]
    assert weight @ distances / weight.sum() == pytest.approx(wanted, abs=1e-12)
    if r == 2 and theta == 0.7:
        assert wanted == pytest.approx(4.1356, abs=1e-4)


def test_drawn_top_lists_have_the_distribution_of_enumeration():
    """Two statements, one by a malicious worker; six documents, of which one was never ranked."""
    rng = np.random.default_rng(0)
    scores, statements, thetas = rng.normal(size=N), [(0, 1, 2), (3, 0, 1)], np.array([0.8, -0.3])
    judged, copies = 4, 4000
    level = np.full((2, judged + 1), K, np.float32)
    for row, own in enumerate(statements):
        level[row, list(own)] = np.arange(K)
    said = (thetas[:, None, None] * (level[:, :, None] < level[:, None, :])).sum(axis=0)
    rate = np.exp(scores - scores.max())
    whole = OrderModel(
        np.broadcast_to(rate, (copies, N)),
        np.broadcast_to(said - said.T, (copies, judged + 1, judged + 1)),
        np.full(copies, judged),
    )
    model = top_lists.TopModel(
        whole,
        np.broadcast_to(said, (copies, judged + 1, judged + 1)),
        np.tile(level < K, (copies, 1)),
        np.repeat(np.arange(copies), 2),
        np.tile(thetas, copies),
        np.full(copies, K),
        np.full(copies, N),
    )
    weights = {}
    for own in permutations(range(N), K):
        rest, total = set(range(N)), 0.0
        for x in own:
            total += scores[x] - np.log(sum(np.exp(scores[y]) for y in rest))
            rest.remove(x)
        weights[own] = np.exp(
            total - sum(t * definition_1(own, s) for t, s in zip(thetas, statements, strict=True))
        )
    norm = sum(weights.values())
    start = np.broadcast_to(np.arange(N), (copies, N))
    streams = stream_starts(np.arange(copies, dtype=np.uint64), 5, 2)
    _, drawn = top_lists.draw_top_lists(model, start, streams, 24, 4)
    seen = {}
    for own in map(tuple, drawn[:, 2:, :K].reshape(-1, K).tolist()):
        seen[own] = seen.get(own, 0) + 1
    count = sum(seen.values())
    for own, weight in weights.items():
        assert seen.get(own, 0) / count == pytest.approx(weight / norm, abs=0.008)
    last = drawn[:2, -1]
    small = top_lists.TopModel(
        OrderModel(rate[None].repeat(2, 0), whole.log_odds[:2], whole.judged[:2]),
        model.said[:2], model.members[:4], model.of[:4], model.theta[:4], model.length[:2], model.size[:2],
    )  # fmt: skip
    wrong = top_lists.discordant_pairs(places_of(last), np.tile(level, (2, 1)), small)
    outside = top_lists.count_outside(small, small.whole.slots(last))
    found = top_lists.top_distances(wrong, outside)
    wanted = [definition_1(tuple(last[own, :K]), statement) for own in range(2) for statement in statements]
    assert found.tolist() == wanted
