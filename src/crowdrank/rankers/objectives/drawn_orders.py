"""The mean log likelihood of several orders of each list under Plackett-Luce: ListMLE on drawn orders.

With K orders y_1 .. y_K drawn for a list (Wu et al. 2016, eq. 19, as a mean over draws)

    L = 1/K sum_k sum over the first places t of (s_{y_k(t)} - ln D_kt),   D_kt = sum of e^s from place t on

which is ``objectives.list_mle`` without ties, K times, on arrays with a row per list and draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers, Ints, summed
from crowdrank.rankers.objectives.base import Derivatives, Objective
from crowdrank.rankers.objectives.list_mle import LEAST

CURVED = 2
"""The curvature by columns is that of the first draws only, up to this many: all draws have nearly the same."""


@dataclass(frozen=True, eq=False)
class DrawnBlock:
    """Orders of some lists of at most n documents: ``rows`` (L, K, n), the row at each place.

    ``real`` (L, n): which places are no padding. Padding repeats a row.
    """

    rows: Ints
    real: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Draws:
    """The orders of all lists of a shard, in blocks."""

    blocks: tuple[DrawnBlock, ...]

    def after(self, earlier: Draws, pool: int) -> Draws:
        """These draws with earlier ones, of which as many are kept as ``pool`` draws leave room for."""
        blocks = []
        for own, old in zip(self.blocks, earlier.blocks, strict=True):
            room = min(max(pool - own.rows.shape[1], 0), old.rows.shape[1])
            blocks.append(DrawnBlock(np.concatenate([own.rows, old.rows[:, :room]], axis=1), own.real))
        return Draws(tuple(blocks))

    def at_most(self, draws: int) -> Draws:
        """The first draws of each list."""
        return Draws(tuple(DrawnBlock(own.rows[:, :draws], own.real) for own in self.blocks))


@dataclass(frozen=True, eq=False)
class _Stages:
    """By draw and place: e^s (0 for padding), the sum 1/D up to the place, that of 1/D^2, and the term of L."""

    rate: Floats
    first: Floats
    second: Floats
    value: Floats
    inverse: Floats  # 1/D, 0 after the last place that counts


@dataclass(frozen=True)
class DrawnOrders(Objective[Draws]):
    """The mean log likelihood of drawn orders, or of their first ``k`` places."""

    k: int | None = None

    def derivatives(self, scores: Floats, plan: Draws, reference: Floats) -> Derivatives:
        """Value, gradient and diagonal of the curvature."""
        gradient, curvature, values = np.zeros(len(scores)), np.zeros(len(scores)), []
        for block in plan.blocks:
            found = self._stages(scores[block.rows], block)
            share = found.rate * found.first
            draws = block.rows.shape[1]
            counted = found.inverse > 0
            rows = block.rows.ravel()
            gradient += summed(rows, (counted - share).ravel() / draws, len(scores))
            curvature += summed(rows, (share - found.rate**2 * found.second).ravel() / draws, len(scores))
            values.append(found.value.sum(axis=(1, 2)) / draws)
        return Derivatives(np.concatenate(values), gradient, curvature)

    def slopes(self, scores: Floats, block: DrawnBlock) -> Floats:
        """The gradient of each draw by the score of the document at each place (L, K, n); 0 for padding."""
        found = self._stages(scores[block.rows], block)
        return (found.inverse > 0) - found.rate * found.first

    def curvature_times(self, scores: Floats, plan: Draws, reference: Floats, columns: Floats) -> Floats:
        """Row i: e^s_i (V_i sum 1/D - sum 1/D^2 sum_j e^s_j V_j), a mean over the first draws."""
        product = np.zeros_like(columns)
        for block in plan.at_most(CURVED).blocks:
            found, draws = self._stages(scores[block.rows], block), block.rows.shape[1]
            for draw in range(draws):
                rows, rate = block.rows[:, draw], found.rate[:, draw, :, None]
                own = columns[rows]
                ahead = np.cumsum((rate * own)[:, ::-1], axis=1)[:, ::-1]
                passed = np.cumsum(found.inverse[:, draw, :, None] ** 2 * ahead, axis=1)
                bent = rate * (found.first[:, draw, :, None] * own - passed) / draws
                product[rows[block.real]] += bent[block.real]
        return product

    def _stages(self, scores: Floats, block: DrawnBlock) -> _Stages:
        real = block.real[:, None, :]
        above = scores - np.where(real, scores, -np.inf).max(axis=2, keepdims=True)
        rate = np.where(real, np.maximum(np.exp(np.maximum(above, -700.0)), LEAST), 0.0)
        left = np.cumsum(rate[:, :, ::-1], axis=2)[:, :, ::-1]
        counted = np.broadcast_to(self._counted(block.real)[:, None, :], rate.shape)
        inverse = np.divide(1.0, left, out=np.zeros_like(left), where=counted)
        logs = np.log(left, out=np.zeros_like(left), where=counted)
        value = np.where(counted, above - logs, 0.0)
        return _Stages(rate, np.cumsum(inverse, axis=2), np.cumsum(inverse**2, axis=2), value, inverse)

    def _counted(self, real: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The places that count: the first k, and never the last one of a list, which is certain."""
        counted = np.zeros_like(real)
        counted[:, :-1] = real[:, 1:]
        if self.k is not None:
            counted[:, self.k :] = False
        return counted


def draws_of(blocks: Iterator[tuple[Integers, Integers, NDArray[np.bool_]]]) -> Draws:
    """Draws from the rows of the documents (L, n), orders of documents (L, K, n) and the real places (L, n)."""
    return Draws(
        tuple(
            DrawnBlock(np.take_along_axis(rows[:, None, :], orders, axis=2).astype(np.int32), real)
            for rows, orders, real in blocks
        )
    )
