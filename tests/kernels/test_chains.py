"""Drawn orders against all permutations: Plackett-Luce times pair weights, lists of unequal length."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from crowdrank.kernels import chains
from crowdrank.random import stream_starts, stream_uniforms

COPIES = 3000


def log_weight(order, scores, odds, judged):
    """ln P(order) up to a constant, by the formula."""
    places = sum(scores[x] - np.log(np.exp(scores[list(order[t:])]).sum()) for t, x in enumerate(order))
    slot = np.minimum(order, judged)
    return places + sum(0.5 * odds[slot[t], slot[u]] for t, u in combinations(range(len(order)), 2))


def exact_marginals(scores, odds, judged):
    """P(x above y) over all orders."""
    n = len(scores)
    orders = np.array(list(permutations(range(n))))
    logs = np.array([log_weight(order, scores, odds, judged) for order in orders])
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    place = np.argsort(orders, axis=1)
    return np.einsum("o,oxy->xy", weight, place[:, :, None] < place[:, None, :])


def antisymmetric(rng, side, size):
    half = size * rng.normal(size=(side, side))
    return half - half.T


def copies_of(scores, odds, judged, padding=0):
    """The same list many times, with padding at the end."""
    rate = np.zeros((COPIES, len(scores) + padding))
    rate[:, : len(scores)] = np.exp(scores - scores.max())
    return chains.OrderModel(rate, np.broadcast_to(odds, (COPIES, *odds.shape)), np.full(COPIES, judged))


def in_slots(marginals, judged, side):
    """Exact marginals with the documents that nobody judged in one slot."""
    found = np.zeros((side, side))
    for x, y in permutations(range(len(marginals)), 2):
        if min(x, judged) != min(y, judged):
            found[min(x, judged), min(y, judged)] += marginals[x, y]
    return found


@pytest.mark.parametrize(("n", "judged", "padding"), [(6, 6, 0), (6, 6, 3), (5, 3, 1), (2, 2, 0), (3, 3, 4)])
def test_pair_marginals_are_those_of_enumeration(n, judged, padding):
    """A malicious worker makes odds of both signs; a partial list leaves rows of zeros."""
    rng = np.random.default_rng(n + judged)
    scores, odds = rng.normal(size=n), antisymmetric(rng, judged + 1, 0.8)
    odds[0, 1] = odds[1, 0] = 0.0
    model = copies_of(scores, odds, judged, padding)
    start = np.broadcast_to(np.arange(n + padding), (COPIES, n + padding))
    streams = stream_starts(np.arange(COPIES, dtype=np.uint64), 3, 1)
    _, drawn = chains.draw_by_neighbors(model, start, streams, 160, 4)
    places = chains.places_of(drawn[:, 10:])
    assert (places[:, :, n:] == np.arange(n, n + padding)).all(), "padding stays at the end"
    found = chains.count_above(places, model.judged, np.full(COPIES, n), judged + 1).mean(axis=0)
    wanted = in_slots(exact_marginals(scores, odds, judged), judged, judged + 1)
    np.testing.assert_allclose(found, wanted, atol=0.005)


@pytest.mark.parametrize(("taken", "turns"), [(16, 1), (2, 1), (2, 9)])
@pytest.mark.parametrize(("n", "judged", "padding"), [(6, 6, 0), (6, 6, 3), (5, 3, 1), (2, 2, 0), (4, 2, 2)])
def test_insertions_have_the_same_marginals(n, judged, padding, taken, turns, monkeypatch):
    """Of all documents in a sweep, or of some in turn with exchanges of neighbors."""
    monkeypatch.setattr(chains, "TAKEN", taken)
    rng = np.random.default_rng(n + judged)
    scores, odds = rng.normal(size=n), antisymmetric(rng, judged + 1, 0.8)
    model = copies_of(scores, odds, judged, padding)
    start = np.broadcast_to(np.arange(n + padding), (COPIES, n + padding))
    streams = stream_starts(np.arange(COPIES, dtype=np.uint64), 3, 1)
    _, drawn = chains.draw_by_insertion(model, start, np.full(COPIES, n), streams, 24, 1, turns=turns)
    places = chains.places_of(drawn[:, 4:])
    assert (places[:, :, n:] == np.arange(n, n + padding)).all(), "padding stays at the end"
    found = chains.count_above(places, model.judged, np.full(COPIES, n), judged + 1).mean(axis=0)
    wanted = in_slots(exact_marginals(scores, odds, judged), judged, judged + 1)
    np.testing.assert_allclose(found, wanted, atol=0.01)


@pytest.mark.long
@pytest.mark.parametrize("judged", [6, 4])
def test_pair_marginals_of_many_draws(judged):
    """Within .002 of enumeration: six documents, judged or not, odds of both signs; both ways."""
    rng = np.random.default_rng(judged)
    scores, odds = rng.normal(size=6), antisymmetric(rng, judged + 1, 0.8)
    wanted = in_slots(exact_marginals(scores, odds, judged), judged, judged + 1)
    model, sizes = copies_of(scores, odds, judged, 0), np.full(COPIES, 6)
    start = np.broadcast_to(np.arange(6), (COPIES, 6))
    for number, draw in enumerate((
        lambda streams: chains.draw_by_insertion(model, start, sizes, streams, 54, 1)[1][:, 4:],
        lambda streams: chains.draw_by_neighbors(model, start, streams, 1600, 20)[1][:, 10:],
    )):  # fmt: skip
        found = [
            chains.count_above(
                chains.places_of(draw(stream_starts(keys, 3, number))), model.judged, sizes, judged + 1
            )
            for part in range(6)
            for keys in [np.arange(part * COPIES, (part + 1) * COPIES, dtype=np.uint64)]
        ]
        np.testing.assert_allclose(np.mean(found, axis=(0, 1)), wanted, atol=0.002)


def test_exchanges_of_random_places_have_the_same_marginals():
    rng = np.random.default_rng(0)
    scores, odds = rng.normal(size=5), antisymmetric(rng, 6, 0.8)
    model = copies_of(scores, odds, 5, padding=1)
    start = np.broadcast_to(np.arange(6), (COPIES, 6))
    streams = stream_starts(np.arange(COPIES, dtype=np.uint64), 3, 1)
    sizes = np.full(COPIES, 5)
    _, drawn = chains.draw_by_metropolis(model, start, sizes, streams, 200, 20)
    found = chains.count_above(chains.places_of(drawn[:, 3:]), model.judged, sizes, 6).mean(axis=0)
    np.testing.assert_allclose(found[:5, :5], exact_marginals(scores, odds, 5), atol=0.02)


def test_log_weights_of_whole_orders_and_of_exchanges():
    rng = np.random.default_rng(1)
    scores, odds = rng.normal(size=5), antisymmetric(rng, 4, 1.0)
    order = rng.permutation(5)
    model = chains.OrderModel(np.exp(scores - scores.max())[None], odds[None], np.array([3]))
    base = log_weight(order, scores, odds, 3) - chains.order_log_weight(model, order[None])[0]
    for p, q in combinations(range(5), 2):
        new = order.copy()
        new[[p, q]] = order[[q, p]]
        whole = chains.order_log_weight(model, new[None])[0]
        assert whole + base == pytest.approx(log_weight(new, scores, odds, 3), abs=1e-12)
        ends = np.array([p]), np.array([q])
        part = [chains.order_log_weight(model, own[None], *ends)[0] for own in (new, order)]
        assert part[0] - part[1] == pytest.approx(
            whole - chains.order_log_weight(model, order[None])[0], abs=1e-12
        )


def test_certain_judgments_and_far_scores():
    """Judgments that are certain give one order; scores a thousand apart do not overflow."""
    odds = np.full((4, 4), 2000.0)
    odds = np.triu(odds, 1) - np.triu(odds, 1).T
    model = chains.OrderModel(np.array([[0.0, 1e-300, 1e-150, 1.0]]), odds[None], np.array([4]))
    _, drawn = chains.draw_by_neighbors(model, np.array([[3, 2, 1, 0]]), np.array([1], np.uint64), 8, 8)
    assert drawn.tolist() == [[[1, 2, 3, 0]]], "the document of rate 0 is padding and stays last"


def test_numbers_do_not_depend_on_other_lists_or_on_padding():
    rng = np.random.default_rng(2)
    rate, half = rng.random((4, 5)), rng.normal(size=(4, 6, 6))
    odds = half - half.transpose(0, 2, 1)
    streams = stream_starts(np.arange(4, dtype=np.uint64), 0, 0)
    start = np.argsort(rng.random((4, 5)), axis=1)
    together, _ = chains.draw_by_neighbors(chains.OrderModel(rate, odds, np.full(4, 5)), start, streams, 20, 20)
    padded = np.concatenate([rate, np.zeros((4, 2))], axis=1)
    more = np.concatenate([start, np.broadcast_to([5, 6], (4, 2))], axis=1)
    for own in range(4):
        model = chains.OrderModel(padded[own : own + 1], odds[own : own + 1], np.array([5]))
        alone, _ = chains.draw_by_neighbors(model, more[own : own + 1], streams[own : own + 1], 20, 20)
        assert alone[0, :5].tolist() == together[own].tolist()


def test_streams_are_uniform_and_unrelated():
    starts = stream_starts(np.arange(2000, dtype=np.uint64), 1, 5)
    drawn = stream_uniforms(starts, 7, 50)
    assert drawn.mean() == pytest.approx(0.5, abs=0.005)
    assert drawn.var() == pytest.approx(1 / 12, abs=0.002)
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]) < 0.1
    assert abs(np.corrcoef(drawn[:, 0], stream_uniforms(starts, 7 + chains.STRIDE, 1)[:, 0])[0, 1]) < 0.1
    assert (stream_uniforms(starts, 9, 3) == drawn[:, 2:5]).all()
