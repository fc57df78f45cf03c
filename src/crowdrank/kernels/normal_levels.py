"""Parts of ordered_normals: integrals on its grid, and levels with several items.

A level with one item is a step of one integral. The last level needs only Phi(u - x) of its items. Given m, the
largest of the next level, the items of the first level are independent, and each is above m: again one integral.
The items of a level between two others lie between m and u, and its kernel K(m, u) has two arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.kernels.probit import hazard
from crowdrank.kernels.segments import Rows

REACH = 7.0
"""How far the grid extends beyond the scores."""
TINY = 1e-300
BLOCK = 64
"""How many points of m are processed at a time for a level with several items."""
NEGLIGIBLE = 1e-16
"""Points with less than this share of the maximum of a density are ignored."""
DEEP = 70.0
"""How far below its maximum a bound on the log of a density may lie at the points that are looked at."""


def _ends() -> Floats:
    """The weights of f(u + r h) - f(u - r h) in an integral up to u, exact for e^(s u) to order 14 in z = s h.

    They solve (1/2) coth(z/2) - 1/z = 2 sum of weight_r sinh(r z), term by term.
    """
    series = [1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600]
    r, power = np.arange(1, 8), 2 * np.arange(1, 8)[:, None] - 1
    weights = np.linalg.solve(2.0 * r ** power.astype(float), series * np.vectorize(math.factorial)(power[:, 0]))
    return np.concatenate([-weights[::-1], [0.0], weights])


ENDS = _ends()


def integral(f: Floats, step: float) -> Floats:
    """int f up to each point of the last axis. f must vanish at both ends."""
    from scipy.ndimage import correlate1d

    total = correlate1d(f, ENDS, axis=-1, mode="constant")
    total += 0.5 * f
    np.subtract(np.cumsum(f, axis=-1), total, out=total)
    total *= step
    return np.asarray(total)


def rest(f: Floats, step: float) -> Floats:
    """int f from each point upward: the mirror image and the transpose of ``integral``."""
    return integral(f[..., ::-1], step)[..., ::-1]


@dataclass(eq=False)
class LevelMoments:
    """Arrays that are filled in list by list.

    ``correlation`` of a group: between its largest y and the largest y of the group above.
    """

    value: Floats  # per list
    gradient: Floats  # per row
    variance: Floats
    up: Floats
    down: Floats
    correlation: Floats  # per group


class GridTable:
    """The normal density, its hazard and ln Phi at u - x on the grid of u, with one row per distinct x."""

    x: Floats
    step: float
    place: NDArray[Any]
    distinct: Floats
    grid: Floats
    density: Floats
    hazard: Floats
    log_below: Floats

    def __init__(self, x: Floats, rows: Rows, step: float) -> None:
        self.x, self.step = x, step
        self.place = np.zeros(len(x), np.int64)
        self.distinct, self.place[rows] = np.unique(x[rows], return_inverse=True)
        low, high = self.distinct[0] - REACH, self.distinct[-1] + REACH
        self.grid = np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step
        away = self.grid - self.distinct[:, None]
        log_density = -0.5 * away**2 - 0.5 * math.log(2 * math.pi)
        self.density, self.hazard = np.exp(log_density), hazard(-away)
        self.log_below, self._log_density = _log_tail(log_density, self.hazard), log_density

    @cached_property
    def log_above(self) -> Floats:
        """ln Phi(x - u)."""
        return _log_tail(self._log_density, hazard(self.grid - self.distinct[:, None]))

    def all_above(self, rows: Rows) -> Floats:
        """ln of the probability that all these items are above u."""
        return np.asarray(self.log_above[self.place[rows]].sum(axis=0))

    @cached_property
    def rule(self) -> Floats:
        """The weight of the value at m (row) in the integral up to u."""
        return integral(np.eye(len(self.grid)), self.step)


class Above:
    """A first level with several items: all are above m, the largest of the next level, and independent given m.

    Its f is the density of m with this level above it, so its integral is P(list).
    """

    away: Floats
    rows: Rows
    table: GridTable
    rate: Floats
    above: Any

    suffices = True

    def __init__(self, rows: Rows, table: GridTable) -> None:
        from scipy.special import log_ndtr

        self.rows, self.table = rows, table
        self.away = table.grid - table.x[rows, None]
        self.rate = hazard(self.away)
        self.above = np.exp(log_ndtr(-self.away).sum(axis=0))

    def forward(self, f: Floats) -> Floats:
        """The density of m, from the density without this level."""
        return f * self.above

    def backward(self, b: Floats) -> Floats:
        """B of the next level. At the top there is nothing above, and b is 1."""
        return self.above * b

    def fill(self, f: Floats, b: Floats, group: int, found: LevelMoments) -> None:
        """The moments of each item, which lies anywhere above m, and its moments with m."""
        rows, grid, p = self.rows, self.table.grid, f * self.above * b
        p /= max(float(p.sum()), TINY)
        mean = float(p @ grid)
        deviation = math.sqrt(max(float(p @ grid**2) - mean**2, TINY))
        z = self.rate @ p
        found.gradient[rows], found.variance[rows] = z, 1.0 + (self.rate * self.away) @ p - z**2
        found.down[rows] = (self.rate @ (p * grid) - z * mean) / deviation
        found.up[rows], found.correlation[group + 1] = 0.0, 1.0  # there are no levels above


class Between:
    """A level with several items between m and u. ``weights`` (m, u) is the rule of the integral times K.

    K is the derivative by u of the product of all Phi(u - x) - Phi(m - x), built item by item by the product rule.
    It is computed for some m at a time, so the squares stay in the cache, and only for the u that the rule needs.
    As B falls with m, f alone bounds m from above. The moments of items are sums over the m and u that the list
    allows.

    Most m and u are far from all that the list allows, which is known only when f and B are. So K is computed for
    ``near`` (m, u): B(u) is about the probability that the rows ``higher`` in the list are above u, if one forgets
    their order, and no largest y is likelier than without a lower bound. ``suffices`` says if that was enough.
    """

    away: Floats
    rows: Rows
    table: GridTable
    density: Any
    tails: tuple[Any, Any]
    near: tuple[slice, slice]
    weights: Floats
    suffices: bool

    def __init__(self, rows: Rows, table: GridTable, f: Floats, higher: Rows | None) -> None:
        from scipy.special import ndtr

        self.rows, self.table = rows, table
        self.density = table.density[table.place[rows]]
        self.away = table.grid - table.x[rows, None]
        self.tails = ndtr(self.away), ndtr(-self.away)
        every = slice(0, len(table.grid))
        self.suffices = True
        self.near = m, u = (every, every) if higher is None else self._bounds(f, higher)
        self.weights = np.zeros_like(table.rule[m, u])
        for part in _blocks(slice(m.start, min(m.stop, span_of(f).stop)), u):
            self.weights[self._places(*part)] = self._kernel(*part) * table.rule[part]

    def _bounds(self, f: Floats, higher: Rows) -> tuple[slice, slice]:
        """The m and u at which neither may be ignored."""
        table, place = self.table, self.table.place[self.rows]
        above = table.all_above(higher)
        largest = np.log(np.maximum(table.hazard[place].sum(axis=0), TINY)) + table.log_below[place].sum(axis=0)
        reached = np.log(np.maximum(np.abs(integral(f, table.step)), TINY))
        at_m = np.log(np.maximum(np.abs(f), TINY)) + table.all_above(self.rows) + above
        return _span_of_log(at_m), _span_of_log(largest + reached + above)

    def forward(self, f: Floats) -> Floats:
        """f of this level from f of the next level."""
        m, u = self.near
        found = np.zeros_like(f)
        found[u] = f[m] @ self.weights
        return found

    def backward(self, b: Floats) -> Floats:
        """B of the next level from B of this level."""
        m, u = self.near
        found = np.zeros_like(b)
        found[m] = self.weights @ b[u]
        return found

    def _places(self, m: slice, u: slice) -> tuple[slice, slice]:
        """Where the weights of a part of the grid are."""
        first, second = (near.start for near in self.near)
        return slice(m.start - first, m.stop - first), slice(u.start - second, u.stop - second)

    def _inside(self, m: slice, u: slice) -> Floats:
        """Phi(u - x) - Phi(m - x) of each item at every m and u, from the small tails on the side of m."""
        result = np.empty((len(self.rows), *self.table.rule[m, u].shape))
        for own, away, below, above in zip(result, self.away[:, m], *self.tails, strict=True):
            left = int(away.searchsorted(0.0))
            np.subtract(below[u], below[m][:left, None], out=own[:left])
            np.subtract(above[m][left:, None], above[u], out=own[left:])
        return result

    def _kernel(self, m: slice, u: slice) -> Floats:
        """K on a part of the grid."""
        product, *others = self._inside(m, u)
        kernel = np.tile(self.density[0, u], (len(product), 1))
        for inside, density in zip(others, self.density[1:, u], strict=True):
            kernel *= inside
            kernel += product * density
            product *= inside
        return kernel

    def fill(self, f: Floats, b: Floats, group: int, found: LevelMoments) -> None:
        """The moments of m and u, and of each item with them."""
        grid, rows = self.table.grid, self.rows
        spans = span_of(f * self.backward(b)), span_of(self.forward(f) * b)
        self.suffices = all(_is_within(*both, len(grid)) for both in zip(spans, self.near, strict=True))
        m, u = (
            slice(max(own.start, near.start), min(own.stop, near.stop))
            for own, near in zip(spans, self.near, strict=True)
        )
        around = f[m, None] * b[u]
        p = self.weights[self._places(m, u)] * around
        total = max(float(p.sum()), TINY)
        (next_mean, mean), (next_deviation, deviation), both = _moments(p / total, grid[m], grid[u])
        z, square, with_m, with_u = self._items(around / total, m, u)
        found.gradient[rows], found.variance[rows] = z, square - z**2
        found.up[rows] = (with_u - z * mean) / deviation
        found.down[rows] = (with_m - z * next_mean) / next_deviation
        found.correlation[group + 1] = (both - mean * next_mean) / (deviation * next_deviation)

    def _items(self, around: Floats, m: slice, u: slice) -> Iterator[Floats]:
        """The means of z, z^2, m z and u z of each item.

        The item is at u, or lies anywhere between m and u. Then z has the mean
        [phi(m - x) - phi(u - x)] / [Phi(u - x) - Phi(m - x)].
        """
        away, density = self.away[:, u], self.density[:, u]
        top, top_m, at_u, at_u_m, at_m, at_m_m = np.zeros((6, *away.shape))
        for part, over in _blocks(m, u):
            own = slice(over.start - u.start, None)
            by_m = np.stack([np.ones(part.stop - part.start), self.table.grid[part]])
            nearby = around[part.start - m.start : part.stop - m.start, own]
            largest, between = self._shares(nearby, part, over)
            by_largest, by_between = by_m @ largest, by_m @ between
            below = (by_m * self.density[:, None, part]) @ between
            for total, values, moment in (
                (top, by_largest, 0),
                (top_m, by_largest, 1),
                (at_u, by_between, 0),
                (at_u_m, by_between, 1),
                (at_m, below, 0),
                (at_m_m, below, 1),
            ):
                total[:, own] += values[:, moment]
        for total in (top, top_m, at_u, at_u_m):
            total *= density
        z, x = top * away + at_m - at_u, self.table.x[self.rows, None]
        square = top * away**2 + at_m_m - x * at_m - at_u * away
        yield z.sum(axis=1)
        yield 1.0 - top.sum(axis=1) + square.sum(axis=1)
        yield (top_m * away + at_m_m - at_u_m).sum(axis=1)
        yield z @ self.table.grid[u]

    def _shares(self, around: Floats, m: slice, u: slice) -> tuple[Floats, Floats]:
        """The parts of K that belong to each item, over its density at u, and over what it has between m and u:
        those in which the item is the largest, and those in which another one is."""
        inside = self._inside(m, u)
        around = around * self.table.rule[m, u] * inside.prod(axis=0)
        # Nothing is inside at m = u; the item adds 0 there, as phi(m - x) = phi(u - x).
        inside[np.abs(inside) <= TINY] = np.inf
        over = np.divide(1.0, inside, out=inside)
        largest = over * around
        over *= self.density[:, None, u]
        between = over.sum(axis=0) - over
        between *= largest
        return largest, between


def _blocks(m: slice, u: slice) -> Iterator[tuple[slice, slice]]:
    """Parts of m with the u that the rule of the integral needs for them."""
    for begin in range(m.start, m.stop, BLOCK):
        above = slice(max(u.start, begin - len(ENDS) // 2), u.stop)
        if above.start < above.stop:
            yield slice(begin, min(begin + BLOCK, m.stop)), above


def span_of(p: Floats) -> slice:
    """The part of the grid that holds a density, with the points that the ends of its integrals need."""
    return _with_ends(np.abs(p) >= NEGLIGIBLE * np.abs(p).max())


def _span_of_log(bound: Floats) -> slice:
    """The part of the grid on which a bound on a density is not far below its maximum, given its log."""
    return _with_ends(bound >= bound.max() - DEEP)


def _with_ends(held: NDArray[np.bool_]) -> slice:
    places, reach = np.flatnonzero(held), len(ENDS) // 2
    return slice(max(0, int(places[0]) - reach), min(len(held), int(places[-1]) + 1 + reach))


def _is_within(inner: slice, outer: slice, size: int) -> bool:
    """Whether a part of the grid ends before another one does, or both reach the end of the grid."""
    return (outer.start == 0 or inner.start > outer.start) and (outer.stop == size or inner.stop < outer.stop)


def _moments(p: Floats, low: Floats, high: Floats) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Means and standard deviations of the two variables of a joint density, and the mean of their product."""
    sides = (p.sum(axis=1), low), (p.sum(axis=0), high)
    first, second = (float(side @ grid) for side, grid in sides)
    one, other = (
        math.sqrt(max(float(side @ grid**2) - mean**2, TINY))
        for (side, grid), mean in zip(sides, (first, second), strict=True)
    )
    return (first, second), (one, other), float(low @ p @ high)


def _log_tail(log_density: Floats, hazard: Floats) -> Floats:
    """ln Phi from the density and the hazard, density / Phi. Where the hazard vanishes, Phi is 1."""
    seen = hazard > 0
    return np.asarray(np.where(seen, log_density - np.log(np.where(seen, hazard, 1.0)), 0.0))
