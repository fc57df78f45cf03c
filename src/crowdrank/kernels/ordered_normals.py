"""The probability that independent normals come in a given order, with its derivatives.

The z_i = y_i - x_i are standard normal, and a list says that every y of a level is above every y of the next
level. The largest y of each level is a Markov chain, so its density is passed on from the last level to the first:

    f_k(u) = int_{-oo}^u f_{k+1}(m) K_k(m, u) dm        P(list) = int f_1

    K_k(m, u) = sum over i in level k of phi(u - x_i) product over the others j of [Phi(u - x_j) - Phi(m - x_j)]

All of level k is above m, and its largest y is at u. The last level has m = -oo. A first level with several items
does not need u: all of it is above m, and P(list) = int f_2(m) product of Phi(x_i - m) dm. Let B_k(u) be the
probability of all levels above, given that the largest y of level k is at u. Then f_k B_k / P is the density of
that largest y given the list. The gradient of ln P by x_i is E[z_i | list].

Functions are tabulated on one grid with equal steps. The integrals up to u use the trapezoid rule with the ends
corrected by central differences (Euler-Maclaurin), exact to order 14 of the step. The mirror image of the rule is
its transpose, so the gradients are those of the value as computed. The step depends on how steep f can be: it is
finer for longer lists, and for lists that the scores contradict more.

The second derivatives of ln P are Cov(z_i, z_j | list) off the diagonal, and their rows sum to 0. Those of
neighboring levels are exact. Those of levels far apart are approximated as in a normal chain, in which
correlations multiply. The covariances of a row sum to 1; within a level with several items, what remains of a row
is shared among the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data.arrays import Floats, summed
from crowdrank.kernels.normal_levels import TINY, Above, Between, GridTable, LevelMoments, integral, rest
from crowdrank.kernels.plackett_luce import Orders, SignsOfRows
from crowdrank.kernels.segments import Rows, pairs, prefix_sums, segment_of, totals

WIDEST = 0.25
"""The largest step of the grid."""
STEEP = 1.0
"""The largest change of ln f between neighboring points of the grid."""
CELLS = 1 << 20
"""How many function values are held at a time."""
LEAST = 1e-100
"""Correlations of neighbors below this count as this."""


@dataclass(frozen=True, eq=False)
class OrderedNormalsDerivatives:
    """The log likelihood of each list (L), and its derivatives by the x of each row (R).

    These are the gradient, minus the second derivative, and ``cross()`` between two rows of a list. ``up`` and
    ``down``: the covariance of the z of a row with the largest y of its own level and of the next level, over the
    standard deviation of that y. ``fade``: ln of the product of correlations along the list up to the level of the
    row, and up to the next level. ``inside``: what a row has left for its own level, over the root of the sum of
    the level. ``up`` is not needed in a first level, and is 0 there if the level has several items.
    """

    orders: Orders
    value: Floats
    gradient: Floats
    curvature: Floats
    up: Floats
    down: Floats
    fade: tuple[Floats, Floats]
    inside: Floats

    def noise(self, draw: SignsOfRows) -> Floats:
        """A random sign times the gradient, one for each list and draw (R, draws).

        On average over what might have been said, it has the covariance of the curvature.
        """
        start = self.orders.start
        return self.gradient[:, None] * draw(start[:-1], 0)[segment_of(start)]

    def cross(self, scale: Floats, weight: Floats) -> Iterator[tuple[Rows, Rows, Floats]]:
        """Pairs of rows of one list, the earlier one first, with minus their second derivative, some at a time.

        The derivative is by x / ``scale`` and times the ``weight`` of the list. Both are given per row.
        """
        group, (here, below) = self.orders.group, self.fade
        for one, other in pairs(self.orders.start):
            apart = self.down[one] * np.exp(here[other] - below[one]) * self.up[other]
            together = self.inside[one] * self.inside[other]
            value = np.where(group[one] == group[other], together, apart)
            yield one, other, -weight[one] * scale[one] * scale[other] * value


def derivatives(x: Floats, orders: Orders) -> OrderedNormalsDerivatives:
    """The log likelihood of every list at the x of its rows (score over noise), with its derivatives."""
    lists, rows, groups = len(orders.start) - 1, len(x), len(orders.begins) - 1
    found = LevelMoments(*(np.zeros(size) for size in (lists, rows, rows, rows, rows, groups)))
    found.variance[:] = 1.0  # if nothing is known about a row
    for alike, step in _steps(x, orders):
        table = GridTable(x, _ranges(orders.start[alike], orders.start[alike + 1]), step)
        for some in _batches(alike, orders, len(table.grid)):
            left = _Chain(table, orders, some).fill(found)
            if len(left):
                _Chain(table, orders, left, everywhere=True).fill(found)
    return _join_neighbors(found, orders)


def _steps(x: Floats, orders: Orders) -> Iterator[tuple[Rows, float]]:
    """Groups of lists with the same step.

    The step depends on how steep ln f is where it matters. The slope grows with the number of rows above or below
    a level, whichever is smaller, and slowly with the number of all rows. It also grows with how much the scores
    contradict the list, because the y must then be in order against the scores.
    """
    levels, of, size = np.diff(orders.list_start), segment_of(orders.start), np.diff(orders.start)
    said, agreed = x[np.lexsort((-x, orders.level, of))], x[np.lexsort((-x, of))]
    above = orders.begins[:-1] - orders.start[of[orders.begins[:-1]]]
    below = orders.start[of[orders.begins[:-1]] + 1] - orders.begins[1:]
    middle = np.maximum.reduceat(np.minimum(above, below), orders.list_start[:-1])
    slope = 0.7 * middle + 0.5 * np.log2(size) + 0.15 * totals(np.abs(said - agreed), orders.start)
    finer = np.ceil(2.0 * np.log2(np.maximum(slope * WIDEST / STEEP, 1.0)))
    for power in np.unique(finer[levels > 1]):
        yield np.flatnonzero((levels > 1) & (finer == power)), float(WIDEST * 2.0 ** (-power / 2))


def _batches(lists: Rows, orders: Orders, points: int) -> Iterator[Rows]:
    """Some lists at a time, those with the most levels first."""
    levels = np.diff(orders.list_start)[lists]
    order = np.argsort(-levels, kind="stable")
    held = np.cumsum(levels[order] * points)
    yield from np.split(lists[order], np.flatnonzero(np.diff(held // CELLS)) + 1)


class _Chain:
    """Lists sorted by their number of levels, most first.

    Levels are counted upward from the last one, 0, so the lists that have a level always come first. If
    ``everywhere``, levels with several items are computed on the whole grid.
    """

    def __init__(self, table: GridTable, orders: Orders, lists: Rows, *, everywhere: bool = False) -> None:
        self.table, self.orders, self.lists, self.grid = table, orders, lists, table.grid
        self.everywhere = everywhere
        self.levels = np.diff(orders.list_start)[lists]
        self.size = np.diff(orders.begins)
        self.several: dict[tuple[int, int], Between | Above] = {}

    def _groups(self, level: int) -> Rows:
        """The group of each list that has this level."""
        own = self.lists[: np.searchsorted(-self.levels, -level)]
        return np.asarray(self.orders.list_start[own + 1] - 1 - level)

    def fill(self, found: LevelMoments) -> Rows:
        """The forward pass, the backward pass, and the moments of each level.

        Returns the lists of which more of the grid is needed, in order.
        """
        found.value[self.lists] = 0.0
        f, top = self._forward(found)
        b = self._backward()
        mean, deviation = self._last(f[0] * b[0], found)
        for level in range(1, len(f)):
            groups = self._groups(level)
            p = f[level] * b[level]
            total = p.sum(axis=1)
            next_mean, next_deviation = mean[: len(groups)], deviation[: len(groups)]
            mean, deviation = self._moments(p, total)
            reached = integral(f[level - 1][: len(groups)] * self.grid, self.table.step)
            both = np.einsum("lg,lg,lg,g->l", self._density(level), b[level], reached, self.grid)
            covariance = both / np.maximum(total * top[level], TINY) - mean * next_mean
            rows = self.orders.begins[groups]
            found.gradient[rows] = mean - self.table.x[rows]  # the item is the largest of its level
            found.up[rows], found.down[rows] = deviation, covariance / next_deviation
            found.correlation[groups + 1] = covariance / (deviation * next_deviation)
            for own in self._tied_lists(level):
                self.several[level, own].fill(f[level - 1][own], b[level][own], groups[own], found)
        left = {own for (_, own), made in self.several.items() if not made.suffices}
        return self.lists[sorted(left)]

    def _moments(self, p: Floats, total: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of densities, one per row."""
        mean = (p @ self.grid) / np.maximum(total, TINY)
        square = (p @ self.grid**2) / np.maximum(total, TINY)
        return mean, np.sqrt(np.maximum(square - mean**2, TINY))

    def _forward(self, found: LevelMoments) -> tuple[list[Floats], list[Floats]]:
        """f of each level, divided by its maximum, and these maxima. ln P of each list goes into ``found``."""
        last = self._incidence()
        f: list[Floats] = []
        tops: list[Floats] = []
        self.hazards = last @ self.table.hazard
        for level in range(int(self.levels[0])):
            if level == 0:
                own = np.exp(last @ self.table.log_below) * self.hazards
            else:
                below = f[-1][: len(self._groups(level))]
                own = self._density(level) * integral(below, self.table.step)
                for tied in self._tied_lists(level):
                    self.several[level, tied] = self._make_level(level, tied, below[tied])
                    own[tied] = self.several[level, tied].forward(below[tied])
            tops.append(np.maximum(own.max(axis=1), TINY))
            own /= tops[-1][:, None]
            f.append(own)
            at = self.lists[: len(own)]
            found.value[at] += np.log(tops[-1])
            ends = self.levels[: len(own)] == level + 1
            found.value[at[ends]] += np.log(np.maximum(self.table.step * f[-1][ends].sum(axis=1), TINY))
        return f, tops

    def _backward(self) -> list[Floats]:
        """B of each level, divided by its maximum. It is 1 at the top of a list."""
        b: list[Floats] = []
        for level in range(int(self.levels[0]) - 1, -1, -1):
            own = np.ones((len(self._groups(level)), len(self.grid)))
            if b:
                above, passed = b[-1], own[: len(b[-1])]
                passed[:] = rest(self._density(level + 1) * above, self.table.step)
                for tied in self._tied_lists(level + 1):
                    passed[tied] = self.several[level + 1, tied].backward(above[tied])
                passed /= np.maximum(passed.max(axis=1, keepdims=True), TINY)
            b.append(own)
        return b[::-1]

    def _density(self, level: int) -> Floats:
        """phi(u - x) of the first item of a level, which is the only one unless there are ties."""
        return np.asarray(self.table.density[self.table.place[self.orders.begins[self._groups(level)]]])

    def _tied_lists(self, level: int) -> Rows:
        return np.flatnonzero(self.size[self._groups(level)] > 1)

    def _make_level(self, level: int, own: int, below: Floats) -> Between | Above:
        group = self._groups(level)[own]
        rows = np.arange(self.orders.begins[group], self.orders.begins[group + 1])
        if level + 1 == self.levels[own]:
            return Above(rows, self.table)
        first = self.orders.start[self.lists[own]]
        return Between(rows, self.table, below, None if self.everywhere else np.arange(first, rows[0]))

    def _last_rows(self) -> Rows:
        groups = self._groups(0)
        return _ranges(self.orders.begins[groups], self.orders.begins[groups + 1])

    def _incidence(self) -> Any:
        """Which distinct x are in the last level of which list."""
        from scipy.sparse import csr_array

        place, start = self.table.place[self._last_rows()], np.cumsum(self.size[self._groups(0)])
        shape = (len(self.lists), len(self.table.distinct))
        return csr_array((np.ones(len(place)), place, np.concatenate([[0], start])), shape=shape)

    def _last(self, p: Floats, found: LevelMoments) -> tuple[Floats, Floats]:
        """The moments of the last level.

        An item is the largest of the level, by its share of the hazards, or lies anywhere below the largest.
        """
        total = p.sum(axis=1)
        mean, deviation = self._moments(p, total)
        p = p / np.maximum(total, TINY)[:, None]
        share = p / np.maximum(self.hazards, TINY)
        rows, own = self._last_rows(), np.repeat(np.arange(len(self.lists)), self.size[self._groups(0)])
        most = max(1, CELLS // len(self.grid))
        for begin in range(0, len(rows), most):
            row, of = rows[begin : begin + most], own[begin : begin + most]
            rate, away = self.table.hazard[self.table.place[row]], self.grid - self.table.x[row, None]
            largest = rate * share[of]
            z = largest * away - (p[of] - largest) * rate
            own_mean = z.sum(axis=1)
            square = np.einsum("rg,rg->r", z, away) + 1.0 - largest.sum(axis=1)
            found.gradient[row], found.variance[row] = own_mean, square - own_mean**2
            found.up[row] = (z @ self.grid - own_mean * mean[of]) / deviation[of]
        return mean, deviation


def _ranges(begin: Rows, end: Rows) -> Rows:
    """The integers of all ranges, concatenated."""
    size = end - begin
    return np.repeat(begin - (np.cumsum(size) - size), size) + np.arange(size.sum())


def _join_neighbors(found: LevelMoments, orders: Orders) -> OrderedNormalsDerivatives:
    """The covariances of each row with all other rows of its list, from those of neighbors."""
    group, size = orders.group, np.diff(orders.begins)
    correlation = np.clip(found.correlation, LEAST, 1.0)
    correlation[orders.list_start[:-1]] = 1.0  # nothing is above
    correlation = np.append(correlation, 0.0)
    ups, downs = (np.append(summed(group, own, len(size)), 0.0) for own in (found.up, found.down))
    above, below = np.zeros(len(size) + 1), ups.copy()
    place = np.arange(len(size)) - np.repeat(orders.list_start[:-1], np.diff(orders.list_start))
    steps = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
    for at in steps[1:]:
        above[at] = downs[at - 1] + correlation[at] * above[at - 1]
    for at in steps[:0:-1]:
        below[at - 1] += correlation[at] * below[at]
    apart = found.up * above[group] + found.down * below[group + 1]
    left = np.where(size[group] > 1, np.maximum(1.0 - found.variance - apart, 0.0), 0.0)
    total = summed(group, left, len(size)) * (size - 1) / size
    inside = left / np.sqrt(np.maximum(total, TINY))[group]
    fade = prefix_sums(np.log(correlation[:-1]), orders.list_start)
    return OrderedNormalsDerivatives(
        orders=orders,
        value=found.value,
        gradient=found.gradient,
        curvature=apart + inside * (summed(group, inside, len(size))[group] - inside),
        up=found.up,
        down=found.down,
        fade=(fade[group], np.append(fade, 0.0)[group + 1]),
        inside=inside,
    )
