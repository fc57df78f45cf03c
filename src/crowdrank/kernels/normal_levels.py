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

import numpy as np

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

    def __init__(self, x: Floats, rows: Rows, step: float) -> None:
        self.x, self.step = x, step
        self.place = np.zeros(len(x), np.int64)
        self.distinct, self.place[rows] = np.unique(x[rows], return_inverse=True)
        low, high = self.distinct[0] - REACH, self.distinct[-1] + REACH
        self.grid = np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step
        away = self.grid - self.distinct[:, None]
        log_density = -0.5 * away**2 - 0.5 * math.log(2 * math.pi)
        self.density, self.hazard = np.exp(log_density), hazard(-away)
        seen = self.hazard > 0  # far above x the hazard vanishes, and Phi is 1
        self.log_below = np.where(seen, log_density - np.log(np.where(seen, self.hazard, 1.0)), 0.0)

    @cached_property
    def rule(self) -> Floats:
        """The weight of the value at m (row) in the integral up to u."""
        return integral(np.eye(len(self.grid)), self.step)


class Above:
    """A first level with several items: all are above m, the largest of the next level, and independent given m.

    Its f is the density of m with this level above it, so its integral is P(list).
    """

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
    """

    def __init__(self, rows: Rows, table: GridTable, f: Floats) -> None:
        from scipy.special import ndtr

        self.rows, self.table = rows, table
        self.density = table.density[table.place[rows]]
        self.away = table.grid - table.x[rows, None]
        self.tails = ndtr(self.away), ndtr(-self.away)
        self.weights = np.zeros_like(table.rule)
        for begin in range(0, span_of(f).stop, BLOCK):
            part = slice(begin, begin + BLOCK), slice(max(0, begin - len(ENDS) // 2), len(table.grid))
            self.weights[part] = self._kernel(*part) * table.rule[part]

    def forward(self, f: Floats) -> Floats:
        """f of this level from f of the next level."""
        return f @ self.weights

    def backward(self, b: Floats) -> Floats:
        """B of the next level from B of this level."""
        return self.weights @ b

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
        m, u = span_of(f * self.backward(b)), span_of(self.forward(f) * b)
        around = f[m, None] * b[u]
        p = self.weights[m, u] * around
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
        low, away, density = self.table.grid[m], self.away[:, u], self.density[:, u]
        inside = self._inside(m, u)
        around = around * self.table.rule[m, u] * inside.prod(axis=0)
        # Nothing is inside at m = u; the item adds 0 there, as phi(m - x) = phi(u - x).
        inside[np.abs(inside) <= TINY] = np.inf
        over = np.divide(1.0, inside, out=inside)
        largest = over * around
        over *= density[:, None]
        between = over.sum(axis=0) - over
        between *= largest
        by_m = np.stack([np.ones_like(low), low])
        top, top_m = np.moveaxis(by_m @ largest, 1, 0) * density
        at_u, at_u_m = np.moveaxis(by_m @ between, 1, 0) * density
        at_m, at_m_m = np.moveaxis((by_m * self.density[:, None, m]) @ between, 1, 0)
        z, x = top * away + at_m - at_u, self.table.x[self.rows, None]
        square = top * away**2 + at_m_m - x * at_m - at_u * away
        yield z.sum(axis=1)
        yield 1.0 - top.sum(axis=1) + square.sum(axis=1)
        yield (top_m * away + at_m_m - at_u_m).sum(axis=1)
        yield z @ self.table.grid[u]


def span_of(p: Floats) -> slice:
    """The part of the grid that holds a density, with the points that the ends of its integrals need."""
    reach = len(ENDS) // 2
    held = np.flatnonzero(np.abs(p) >= NEGLIGIBLE * np.abs(p).max())
    return slice(max(0, int(held[0]) - reach), min(len(p), int(held[-1]) + 1 + reach))


def _moments(p: Floats, low: Floats, high: Floats) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Means and standard deviations of the two variables of a joint density, and the mean of their product."""
    sides = (p.sum(axis=1), low), (p.sum(axis=0), high)
    first, second = (float(side @ grid) for side, grid in sides)
    one, other = (
        math.sqrt(max(float(side @ grid**2) - mean**2, TINY))
        for (side, grid), mean in zip(sides, (first, second), strict=True)
    )
    return (first, second), (one, other), float(low @ p @ high)
