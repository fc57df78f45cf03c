"""The consensus against all orders, with ties, in pieces and by search."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from crowdrank.kernels import kemeny
from crowdrank.kernels.kemeny import Squares, consensus
from crowdrank.kernels.majority import components


def agreed(weight, order):
    return sum(weight[order[a], order[b]] for a in range(len(order)) for b in range(a + 1, len(order)))


def drawn(rng, n, whole, lists=7):
    weight = rng.integers(0, lists, (n, n)).astype(float) if whole else rng.random((n, n))
    np.fill_diagonal(weight, 0)
    return weight


@pytest.mark.parametrize("exact", [12, 1])
@pytest.mark.parametrize("whole", [True, False])
def test_is_the_best_of_all_orders(monkeypatch, exact, whole):
    monkeypatch.setattr(kemeny, "EXACT", exact)
    rng = np.random.default_rng(0)
    sizes = [1, 2, 3, 5, 6, 6, 4]
    part = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int32)
    squares, cells = Squares(part), np.zeros(sum(n * n for n in sizes))
    weights = []
    for number, n in enumerate(sizes):
        own = drawn(rng, n, whole)
        nodes = np.flatnonzero(part == number)
        cells[squares.cell(*(side.ravel() for side in np.meshgrid(nodes, nodes, indexing="ij")))] = own.ravel()
        weights.append((nodes, own))
    found = consensus(cells, squares)
    for nodes, own in weights:
        best = max(agreed(own, order) for order in permutations(range(len(nodes))))
        have = agreed(own, np.argsort(found.place[nodes]))
        assert have == pytest.approx(best) if exact > 1 else best - have <= found.gap + 1e-9


def test_equally_good_orders_do_not_turn_on_names():
    rng = np.random.default_rng(1)
    part = np.zeros(9, np.int32)
    for _ in range(20):
        weight = drawn(rng, 9, True, lists=3)
        weight += 1e-3 * rng.random(9)[:, None] * (weight > 0)  # the sums of margins differ
        one = consensus(weight.ravel(), Squares(part)).place
        shuffle = rng.permutation(9)
        other = consensus(weight[np.ix_(shuffle, shuffle)].ravel(), Squares(part)).place
        assert (one[shuffle] == other).all()


def test_pieces_are_the_components_of_the_majority_graph():
    from scipy.sparse.csgraph import connected_components

    rng = np.random.default_rng(2)
    for n in (3, 5, 8):
        margin = drawn(rng, n, False)
        margin = margin - margin.T + 0.6 * np.sign(np.arange(n)[None] - np.arange(n)[:, None])
        piece = components(np.sign(margin).sum(axis=1).astype(np.int64), np.zeros(n, np.int32))
        count, label = connected_components(margin > 0, connection="strong")
        assert piece.max() + 1 == count
        assert len(set(zip(piece, label, strict=True))) == count


def test_no_gap_where_the_majorities_agree():
    rng = np.random.default_rng(3)
    n = 40
    true = rng.permutation(n)
    weight = np.where(true[:, None] < true[None], 2.0, 1.0) * (1 - np.eye(n))
    found = consensus(weight.ravel(), Squares(np.zeros(n, np.int32)))
    assert (found.place == true).all()
    assert found.gap == 0
    assert found.largest == 1


def test_a_large_piece_is_searched_and_its_gap_holds():
    rng = np.random.default_rng(4)
    weight = drawn(rng, 30, False)
    found = consensus(weight.ravel(), Squares(np.zeros(30, np.int32)))
    order = np.argsort(found.place)
    upper = np.maximum(weight, weight.T).sum() / 2
    assert found.largest > kemeny.EXACT
    assert found.gap == pytest.approx(upper - agreed(weight, order), rel=1e-6)
