"""The likelihood of lists, summed over shards: value, gradient and curvature.

A row of list l has x = a_l s, with s the score of its node and a_l = e^alpha the precision of the list's worker (1
if workers have none). With g = dL/dx and H = -d2L/dx2 from the kernel, both times the weight of the list:

    by s: a g      by alpha: x g      by s, s: a a H      by s, alpha: a (H x - g)      by alpha twice: x (H x - g)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.kernels import ordered_normals, plackett_luce
from crowdrank.kernels.plackett_luce import Orders
from crowdrank.kernels.segments import Rows
from crowdrank.prepared.list_shards import ListShard
from crowdrank.random import signs
from crowdrank.results import EXACT_LIMIT
from crowdrank.solve import At, Curvature, Draw, Gradient, Information, accumulate
from crowdrank.solve.draws import DRAWS
from crowdrank.solve.list_matrix import ListFactors, ListMatrix
from crowdrank.solve.matrices import DENSE_CELLS, Matrix

LONG = 64
"""Lists are long if the mean row has more partners than this."""

Derivatives = plackett_luce.PlackettLuceDerivatives | ordered_normals.OrderedNormalsDerivatives


@dataclass(frozen=True, eq=False)
class _ListTerms:
    """A shard at given parameters, one entry per row: slope a, x, weight, and weight times dL/dx."""

    found: Derivatives
    slope: Floats
    x: Floats
    weight: Floats
    gradient: Floats


@dataclass(frozen=True)
class ListSums:
    """The sums of lists; ``by_worker``: whether workers have a precision, alpha (K, 1).

    ``derivatives``: the kernel of the model, which gives the derivatives of the lists by x.
    """

    by_worker: bool = False
    derivatives: Callable[[Floats, Orders], Derivatives] = plackett_luce.derivatives

    def gradient(self, shard: ListShard, at: At) -> Gradient:
        """Value and gradient."""
        return Gradient(*self._gradient(shard, self._terms(shard, at)))

    def curvature(self, shard: ListShard, at: At) -> Curvature:
        """Value, gradient and observed curvature."""
        terms = self._terms(shard, at)
        return Curvature(*self._gradient(shard, terms), *self._curvature(shard, terms))

    def information(self, shard: ListShard, draw: Draw) -> Information:
        """Gradient and observed curvature, with noise that has the covariance of the information."""
        terms = self._terms(shard, draw)
        sums = (*self._gradient(shard, terms), *self._curvature(shard, terms))
        return Information(*sums, self._noise(shard, terms, draw.seed))

    def _terms(self, shard: ListShard, at: At) -> _ListTerms:
        slope = np.ones(len(shard.weight))
        if self.by_worker:
            slope = np.exp(at.workers[shard.worker, 0])
        slope, weight = slope[shard.list], shard.weight[shard.list]
        x = slope * at.scores[shard.node]
        found = self.derivatives(x, shard.orders)
        return _ListTerms(found, slope, x, weight, weight * found.gradient)

    def _gradient(self, shard: ListShard, terms: _ListTerms) -> tuple[float, Floats, Floats]:
        """Value, and gradient by scores and workers."""
        value = float(shard.weight @ terms.found.value)
        scores = summed(shard.node, terms.slope * terms.gradient, len(shard.part))
        return value, scores, self._by_worker(shard, terms.x * terms.gradient)

    def _by_worker(self, shard: ListShard, values: Floats) -> Floats:
        if not self.by_worker:
            return np.zeros((0, 1))
        assert shard.worker is not None
        return summed(shard.worker[shard.list], values, shard.workers)[:, None]

    def _curvature(self, shard: ListShard, terms: _ListTerms) -> tuple[Matrix, Matrix, Floats]:
        """Minus the second derivatives: by scores, by scores and workers, by workers."""
        slope, x = terms.slope, terms.x
        own = terms.weight * slope**2 * terms.found.curvature
        score = x / slope
        if isinstance(terms.found, plackett_luce.PlackettLuceDerivatives) and has_long_lists(shard):
            items, product = long_lists_matrix(shard, terms.found, slope, terms.weight, own)
            return self._join(shard, terms, items, product(score) if self.by_worker else score)
        cells, times_s = NodePairs(shard), own * score
        for one, other, value in terms.found.cross(slope, terms.weight):
            cells.add(one, other, value)
            if self.by_worker:
                times_s += summed(one, value * score[other], len(x)) + summed(other, value * score[one], len(x))
        return self._join(shard, terms, cells.matrix(own), times_s)

    def _join(
        self, shard: ListShard, terms: _ListTerms, items: Matrix, times_s: Floats
    ) -> tuple[Matrix, Matrix, Floats]:
        """The curvature from that of the scores; ``times_s``: H s of each row."""
        if not self.by_worker:
            return items, np.zeros((len(shard.part), 0)), np.zeros((0, 1, 1))
        assert shard.worker is not None
        worker = shard.worker[shard.list].astype(np.int64)
        bend = times_s - terms.slope * terms.gradient
        coupling = accumulate(worker, shard.node, bend, (shard.workers, len(shard.part))).T
        return items, coupling, self._by_worker(shard, terms.x / terms.slope * bend)[:, :, None]

    def _noise(self, shard: ListShard, terms: _ListTerms, seed: int) -> Floats:
        """Noise (N + K, draws) that has the covariance of the information, from random signs.

        A sign is keyed by the number of the list and the place in it.
        """
        first_row = shard.orders.start[:-1][shard.list]

        def draw(rows: Rows, number: int) -> NDArray[np.int8]:
            keys = shard.first + shard.list[rows], rows - first_row[rows], np.full(len(rows), number)
            return signs(keys, DRAWS, seed)

        drawn = np.sqrt(terms.weight)[:, None] * terms.found.noise(draw)
        nodes, width = len(shard.part), shard.workers if self.by_worker else 0
        noise = np.zeros((nodes + width, DRAWS))
        for place, own in enumerate(drawn.T):
            noise[:nodes, place] = summed(shard.node, terms.slope * own, nodes)
            if self.by_worker:
                noise[nodes:, place] = self._by_worker(shard, terms.x * own)[:, 0]
        return noise


def has_long_lists(shard: ListShard) -> bool:
    """Whether the matrix of these lists is not stored: lists are long, and nothing is solved by factorization."""
    return len(shard.part) > EXACT_LIMIT and float((shard.size**2).sum()) > LONG * len(shard.node)


def long_lists_matrix(
    shard: ListShard, found: plackett_luce.PlackettLuceDerivatives, slope: Floats, weight: Floats, own: Floats
) -> tuple[ListMatrix, Callable[[Floats], Floats]]:
    """The matrix of the nodes, and its product with values of the rows. ``own``: its diagonal by row."""
    ties = list(found.cross_ties(slope, weight))
    empty = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    one, other, value = (np.concatenate(part) for part in zip(empty, *ties, strict=True))
    rows, nodes = np.arange(len(own)), len(shard.part)
    at = np.concatenate([rows, one, other]), np.concatenate([rows, other, one])
    values = np.concatenate([own, value, value])
    lists = ListFactors(shard.orders.start, shard.node, *found.factors(slope, weight))

    def product(given: Floats) -> Floats:
        return summed(at[0], values * given[at[1]], len(own)) + lists.times_rows(given[:, None])[:, 0]

    sparse = accumulate(shard.node[at[0]], shard.node[at[1]], values, (nodes, nodes))
    return ListMatrix(sparse, (lists,)), product


class NodePairs:
    """The matrix of pairs of nodes that a shard fills. If the squares of its parts are well filled, it counts
    into these; otherwise it collects entry by entry."""

    shard: ListShard
    count: int
    sparse: bool
    cells: Floats

    def __init__(self, shard: ListShard) -> None:
        self.shard, self.count = shard, len(shard.part)
        size = np.diff(shard.orders.start).astype(float)
        self.sparse = shard.squares.cells > 4 * float((size**2).sum()) + DENSE_CELLS
        self.cells = np.zeros(0 if self.sparse else shard.squares.cells)
        self.entries: list[tuple[Any, Any, Floats]] = []

    def add(self, one: Any, other: Any, values: Floats) -> None:
        """Add to the entries of the nodes of two rows, and to the transposed entries."""
        if self.sparse:
            self.entries.append((self.shard.local[one], self.shard.local[other], values))
        else:
            row, place = self.shard.corner
            self.cells += summed(row[one] + place[other], values, len(self.cells))

    def matrix(self, diagonal: Floats) -> Matrix:
        """The matrix over all nodes; ``diagonal`` (one value per row) is added to its diagonal."""
        squares, touched, local = self.shard.squares, self.shard.touched, self.shard.local
        shape = (self.count, self.count)
        if self.sparse:
            i, j, values = (np.concatenate(part) for part in zip(*self.entries, strict=True))
            rows, columns = np.concatenate([i, j, local]), np.concatenate([j, i, local])
            return accumulate(touched[rows], touched[columns], np.concatenate([values, values, diagonal]), shape)
        i, j = squares.ends
        both = self.cells + self.cells[squares.cell(j, i)]
        both += summed(squares.cell(local, local), diagonal, len(both))
        return accumulate(touched[i], touched[j], both, shape)
