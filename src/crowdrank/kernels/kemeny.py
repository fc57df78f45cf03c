"""Kemeny's consensus: the order that agrees with as much weight of pairs as an order can.

The margin a_ij = -a_ji is the weight that says i above j minus the weight that says j above i. The goal is the
order with the largest sum of a_ij over the pairs with i above j. It is found

1. exactly in pieces: if every item of a set beats every item outside, the set comes first (the extended Condorcet
   criterion, Truchon 1998). The pieces that cannot be cut further are the strongly connected components of the
   majority graph (``majority``), one after the other;
2. exactly within a piece of up to ``EXACT`` items, by dynamic programming over its subsets:
   best(S) = max over i in S of best(S - i) + sum of a_ji over j in S - i, with item i last;
3. by local search within a larger piece: starting from the given order, or from the orders by margin and by wins,
   items move to the position where they gain most until no move gains. No order agrees with more than the larger
   side of every pair. So the best order is better than the order found by at most the distance to this bound (the
   *gap*).

Equally good orders are distinguished by the sums of the items' margins, so names do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, summed
from crowdrank.kernels.majority import components
from crowdrank.kernels.segments import Rows

EXACT = 12
"""The largest piece that is ordered exactly."""
BREAK = 1e-9
"""The weight of the sum of margins, relative to the margins themselves, to choose among equally good orders."""
_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Squares:
    """One square of cells per part of the nodes, one after the other. Cell (i, j) is for two nodes of a part."""

    part: NDArray[np.int32]

    @cached_property
    def size(self) -> Rows:
        """The number of nodes of each part."""
        return np.bincount(self.part)

    @cached_property
    def order(self) -> Rows:
        """The nodes sorted by part."""
        return np.argsort(self.part, kind="stable")

    @cached_property
    def place(self) -> Rows:
        """The position of each node within its part."""
        place = np.empty(len(self.part), np.int64)
        place[self.order] = np.arange(len(self.part)) - np.repeat(np.cumsum(self.size) - self.size, self.size)
        return place

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int((self.size.astype(np.int64) ** 2).sum())

    @cached_property
    def row(self) -> Rows:
        """The cell where the row of each node begins."""
        own = self.size.astype(np.int64)
        return (np.cumsum(own**2) - own**2)[self.part] + self.place * own[self.part]

    def cell(self, i: Rows, j: Rows) -> Rows:
        """The cell of two nodes of one part."""
        return self.row[i] + self.place[j]

    @cached_property
    def ends(self) -> tuple[Rows, Rows]:
        """The two nodes of every cell."""
        size = self.size[self.part[self.order]]
        rows = np.repeat(self.order, size)
        begins = np.repeat(np.cumsum(self.size) - self.size, self.size.astype(np.int64) ** 2)
        within = np.arange(self.cells) - np.repeat(np.cumsum(size) - size, size)
        return rows, self.order[begins + within]

    def square(self, values: Floats, nodes: Rows) -> Floats:
        """The cells between some nodes of a part (..., n), as (..., n, n)."""
        return values[self.row[nodes][..., :, None] + self.place[nodes][..., None, :]]


@dataclass(frozen=True, eq=False)
class Consensus:
    """The best order found: ``place`` of each node in the order of its part.

    ``gap``: how much more weight of pairs the best order could agree with, at most. ``largest``: the size of the
    largest piece that could not be cut.
    """

    place: Rows
    gap: float
    largest: int


def consensus(weight: Floats, squares: Squares, before: Rows | None = None) -> Consensus:
    """The best order of each part. ``weight`` (cells) is the weight that says i above j.

    ``before``: the positions from which a search starts.
    """
    i, j = squares.ends
    margin = weight - weight[squares.row[j] + squares.place[i]]
    total = summed(i, margin, len(squares.part)) / squares.size[squares.part]
    margin = margin + BREAK * (total[i] - total[j])
    net = summed(i, np.sign(margin), len(squares.part)).astype(np.int64)
    order = np.lexsort((-total, -net, squares.part))
    own, part = components(net, squares.part)[order], squares.part[order]
    piece = np.cumsum((np.diff(own, prepend=0) != 0) | (np.diff(part, prepend=0) != 0))
    place = np.arange(len(order)) - np.repeat(np.cumsum(squares.size) - squares.size, squares.size)
    gap, sizes = 0.0, np.bincount(piece)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 1]).tolist():
        own = starts[sizes == size]
        nodes = order[own[:, None] + np.arange(size)]
        chunk = max(_CELLS // (size << size), 1) if size <= EXACT else 1
        for some in range(0, len(own), chunk):
            square = squares.square(margin, nodes[some : some + chunk])
            if size <= EXACT:
                found = _order_by_subsets(square)
            else:
                given = None if before is None else np.argsort(before[nodes[some]], kind="stable")
                found, short = _order_by_search(square[0], given)
                gap += short
            place_found = np.take_along_axis(nodes[some : some + chunk], found, axis=1)
            order[own[some : some + chunk, None] + np.arange(size)] = place_found
    result = np.empty(len(order), np.int64)
    result[order] = place
    return Consensus(result, gap, int(sizes.max(initial=0)))


def _order_by_subsets(margin: Floats) -> Rows:
    """The best orders (B, n) of pieces of one size, from their margins (B, n, n)."""
    count, n, _ = margin.shape
    above = np.zeros((count, n, 1))  # sum of a_ji over j in S
    for j in range(n):
        above = np.concatenate([above, above + margin[:, j, :, None]], axis=2)
    subsets = np.arange(1 << n)
    bits = np.array([int(subset).bit_count() for subset in subsets])
    best, last = np.zeros((count, 1 << n)), np.zeros((count, 1 << n), np.int64)
    for filled in range(1, n + 1):
        own = subsets[bits == filled]
        value, chosen = np.full((count, len(own)), -np.inf), np.zeros((count, len(own)), np.int64)
        for i in range(n):
            inside = np.flatnonzero(own >> i & 1)
            rest = own[inside] ^ (1 << i)
            gain = best[:, rest] + above[:, i, rest]
            better = gain > value[:, inside]
            value[:, inside] = np.where(better, gain, value[:, inside])
            chosen[:, inside] = np.where(better, i, chosen[:, inside])
        best[:, own], last[:, own] = value, chosen
    order, left = np.empty((count, n), np.int64), np.full(count, (1 << n) - 1)
    for place in range(n - 1, -1, -1):
        order[:, place] = last[np.arange(count), left]
        left = left ^ (1 << order[:, place])
    return order


def _order_by_search(margin: Floats, given: Rows | None) -> tuple[Rows, float]:
    """A good order (1, n) of a piece with items sorted by wins, and how much better the best order may be."""
    starts = [given]
    if given is None:
        starts = [np.arange(len(margin)), np.argsort(-margin.sum(axis=1), kind="stable")]
    orders = [_insert_items(margin, start) for start in starts if start is not None]
    agreed = [float(np.triu(margin[np.ix_(order, order)]).sum()) for order in orders]
    upper = np.abs(margin).sum() / 2
    best = 0 if agreed[0] >= agreed[-1] - 1e-12 * upper else -1
    return orders[best][None], max(float(upper - agreed[best]) / 2, 0.0)


def _insert_items(margin: Floats, order: Rows) -> Rows:
    """Repeatedly move the item that gains most to the position where it gains most, until no move gains.

    Moving the item at a up to b gains its margins over the items at b to a - 1. Moving it down to b loses its
    margins over the items at a + 1 to b.
    """
    least = 1e-12 * np.abs(margin).sum()
    below = np.tri(len(margin), k=-1, dtype=bool)
    while True:
        ordered = margin[np.ix_(order, order)]
        along = np.cumsum(ordered, axis=1)
        gains = along.diagonal()[:, None] - along + np.where(below, ordered, 0.0)
        a, b = divmod(int(np.argmax(gains)), len(margin))
        if gains[a, b] <= least:
            return order
        order = np.insert(np.delete(order, a), b, order[a])
