"""Plackett-Luce: a list is filled from the top, each place by one of the remaining items (Plackett 1975).

    P(list) = product over places of  e^x_i / sum of e^x_j over the remaining items j, including i

Items arrive after exponential times of rate w = e^x, and the list is the order of arrival. This makes ties simple:
a tied group T leaves its order open, and all of T comes before the rest, of total rate W, with probability

    P(T first) = int_0^oo W e^(-W t)  product_{i in T} (1 - e^(-w_i t))  dt      (w / (w + W) for a single i)

which is exactly the sum over the orders of T, without listing them. Its log is concave in x, like the rest. The
last group of a list has probability 1, so the items that a top-k list leaves out are just one more tied group. The
integral uses the trapezoid rule in u = ln t. There the integrand is smooth, has one maximum and falls off on both
sides, so the error falls exponentially with the number of points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.kernels.segments import Rows, earlier_sums, pairs, reversed_rows, segment_of, suffix_sums, totals

POINTS = 64
DROP = 34.0
"""The integral ends where its integrand is e^-34 of its maximum."""
TINY = 1e-300
LEAST = 1e-100
"""The smallest rate, relative to the largest of its list. Its square does not underflow."""

SignsOfRows = Callable[[Rows, int], NDArray[np.int8]]
"""Random signs (rows, draws) of some rows; another number gives signs that are independent of the first."""


@dataclass(frozen=True, eq=False)
class Orders:
    """Lists as rows sorted by (list, level), 0 = best: ``start`` (L+1) and ``level`` (R)."""

    start: Rows
    level: NDArray[np.int64]

    @cached_property
    def backwards(self) -> tuple[Orders, Rows]:
        """The same lists in reverse, last level first, and the original row of each row."""
        rows = reversed_rows(self.start)
        last = np.zeros(len(self.start) - 1, np.int64)
        np.maximum.at(last, segment_of(self.start), self.level)
        return Orders(self.start, last[segment_of(self.start)] - self.level[rows]), rows

    @cached_property
    def both_ways(self) -> tuple[Orders, Rows]:
        """The lists, then the same lists in reverse, and the original row of each row."""
        turned, rows = self.backwards
        start = np.concatenate([self.start, self.start[-1] + turned.start[1:]])
        return Orders(start, np.concatenate([self.level, turned.level])), np.append(np.arange(len(rows)), rows)

    @cached_property
    def begins(self) -> Rows:
        """The first row of each group, and the number of rows."""
        of = segment_of(self.start)
        new = (np.diff(of, prepend=-1) != 0) | (np.diff(self.level, prepend=-1) != 0)
        return np.append(np.flatnonzero(new), len(self.level))

    @cached_property
    def group(self) -> Rows:
        """The group of each row: the items of one level of one list."""
        return segment_of(self.begins)

    @cached_property
    def list_start(self) -> Rows:
        """Where the groups of each list begin among the groups."""
        return np.searchsorted(self.begins, self.start)

    @cached_property
    def last(self) -> NDArray[np.bool_]:
        """Whether a group is the last of its list."""
        last = np.zeros(len(self.begins) - 1, bool)
        last[self.list_start[1:][np.diff(self.start) > 0] - 1] = True
        return last


@dataclass(frozen=True, eq=False)
class _Groups:
    """ln P(group before the rest) with its derivatives by the x of its rows and by ln W."""

    value: Floats  # per group
    slope: Floats  # by ln W
    bend: Floats  # by ln W, twice
    first: Floats  # per row: by its x
    second: Floats  # by its x, twice
    across: Floats  # by its x and ln W


@dataclass(frozen=True, eq=False)
class _Tied:
    """The quadrature of tied groups: weights (T, points) of the points, and d ln integrand / dx (rows, points)."""

    groups: Rows
    rows: Rows
    of: Rows  # the position of each row in groups
    weights: Floats
    pull: Floats


@dataclass(frozen=True, eq=False)
class PlackettLuceDerivatives:
    """The log likelihood of each list (L), and its derivatives by the x of each row (R).

    These are the gradient, minus the second derivative, and ``cross()`` between two rows of a list.
    """

    orders: Orders
    value: Floats
    gradient: Floats
    curvature: Floats
    _rate: Floats
    _across: Floats
    _before: Floats
    _left: Floats
    _first: Floats
    _pull: Floats
    _tied: _Tied | None

    def noise(self, draw: SignsOfRows) -> Floats:
        """Random x of each row (R, draws) whose covariance is the curvature of the lists.

        At stage k, one of the rows from k on is chosen, row j with the probability p_j = w_j / W_k; W_k is the sum
        of w from k on. The curvature of the stage is the covariance of this choice, diag(p) - p p'. The choice can
        be made row by row: j is reached with the probability W_j / W_k, and then chosen with the probability
        w_j / W_j, or left to the later rows l in shares of w_l / W_(j+1). So the curvature of stage k is

            sum over j >= k of  W_j / W_k  w_j W_(j+1) / W_j^2  c_j c_j'
            c_j = e_j - sum over l > j of  w_l / W_(j+1)  e_l

        c_j is the same at every stage, so one random sign per row has the covariance of all of them. The stage of
        a tied group adds its gradient times a sign of its own, which has the covariance of the stage on average
        over what might have been said.
        """
        orders, rate, left = self.orders, self._rate, self._left
        first_row, start = orders.begins[:-1], orders.start
        stage = np.where((np.diff(orders.begins) == 1) & ~orders.last, 1.0 / left[first_row], 0.0)
        stages = (earlier_sums(stage, orders.list_start) + stage)[orders.group]
        after = np.append(left[1:], 0.0)
        after[start[1:][np.diff(start) > 0] - 1] = 0.0
        root = np.sqrt(rate * after / left * stages)
        signs = draw(np.arange(len(rate)), 0)
        to_later = np.divide(root, after, out=np.zeros_like(root), where=after > 0)
        found = root[:, None] * signs - rate[:, None] * earlier_sums(to_later[:, None] * signs, start)
        if self._tied is not None:
            found += self._noise_of_ties(self._tied.groups, draw(first_row[self._tied.groups], 1))
        return found

    def _noise_of_ties(self, groups: Rows, signs: NDArray[np.int8]) -> Floats:
        """The gradient of the stage of each tied group, times its signs."""
        orders = self.orders
        drawn = np.zeros((len(orders.begins) - 1, signs.shape[1]))
        drawn[groups] = signs
        later = earlier_sums(self._pull[:, None] * drawn, orders.list_start)
        return self._first[:, None] * drawn[orders.group] - self._rate[:, None] * later[orders.group]

    def cross(self, scale: Floats, weight: Floats) -> Iterator[tuple[Rows, Rows, Floats]]:
        """Pairs of rows of one list, the earlier one first, with minus their second derivative, some at a time.

        The derivative is by x / ``scale`` and times the ``weight`` of the list. Both are given per row.

        For earlier groups, the row is one of the rest: -w_i w_j times their sum of (bend - slope) / W^2. For its
        own group, a later row is one of the rest, and a tied row enters by the covariance of their pulls.
        """
        rate, own = scale * self._rate, weight * scale
        seen = own * self._rate * self._before
        first = seen + own * self._across
        group = self.orders.group
        for one, other in pairs(self.orders.start):
            if self._tied is None:  # only last groups are tied, and there _across is 0
                yield one, other, -first[one] * rate[other]
            else:
                yield one, other, -np.where(group[one] != group[other], first[one], seen[one]) * rate[other]
        if self._tied is not None:
            yield from self._within(self._tied, scale, own)

    def factors(self, scale: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """u and v of each row: ``cross()`` gives -u_i v_j for rows i and j of two groups, i the earlier one."""
        own = weight * scale
        return own * (self._rate * self._before + self._across), scale * self._rate

    def cross_ties(self, scale: Floats, weight: Floats) -> Iterator[tuple[Rows, Rows, Floats]]:
        """Pairs of tied rows, with what ``cross()`` gives for them beyond -u_i v_j."""
        if self._tied is not None:
            own = weight * scale
            for one, other, value in self._within(self._tied, scale, own):
                yield one, other, value + own[one] * self._across[one] * scale[other] * self._rate[other]

    def _within(self, tied: _Tied, scale: Floats, own: Floats) -> Iterator[tuple[Rows, Rows, Floats]]:
        weights = tied.weights[tied.of]
        away = tied.pull - (weights * tied.pull).sum(axis=1, keepdims=True)
        start = np.searchsorted(tied.of, np.arange(len(tied.groups) + 1))
        for one, other in pairs(start, most=1 << 15):
            value = np.einsum("rp,rp->r", weights[one] * away[one], away[other])
            i, j = tied.rows[one], tied.rows[other]
            yield i, j, -own[i] * scale[j] * value


def derivatives(x: Floats, orders: Orders) -> PlackettLuceDerivatives:
    """The log likelihood of every list at the x of its rows (precision times score), with its derivatives."""
    start, group = orders.start, orders.group
    of = segment_of(start)
    top = np.full(len(start) - 1, -np.inf)
    np.maximum.at(top, of, x)
    rate = np.maximum(np.exp(np.maximum(x - top[of], -700.0)), LEAST)
    left = suffix_sums(rate, start)
    rest = np.append(left, 1.0)[orders.begins[1:]]  # of the rows after each group
    rest = np.where(orders.last, 1.0, rest)
    found, tied = _groups(rate, rest, orders)
    open_ = np.where(orders.last, 0.0, 1.0)
    slope, bend = open_ * found.slope, open_ * found.bend
    at = orders.list_start
    pull = -slope / rest
    passed = earlier_sums(pull, at)
    before = earlier_sums((bend - slope) / rest**2, at)
    share = rate * passed[group]
    own = open_[group]
    return PlackettLuceDerivatives(
        orders=orders,
        value=totals(open_ * found.value, at),
        gradient=own * found.first - share,
        curvature=share - rate**2 * before[group] - own * found.second,
        _rate=rate,
        _across=own * found.across / rest[group],
        _before=before[group],
        _left=left,
        _first=own * found.first,
        _pull=pull,
        _tied=tied,
    )


def _groups(rate: Floats, rest: Floats, orders: Orders) -> tuple[_Groups, _Tied | None]:
    """Each group before its rest: in closed form for a single item, otherwise by quadrature."""
    group, size = orders.group, np.diff(orders.begins)
    lone = orders.begins[:-1]
    out, own_out = rest / (rate[lone] + rest), rest[group] / (rate + rest[group])
    mixed, own_mixed = out * (1.0 - out), own_out * (1.0 - own_out)
    value = np.log(rate[lone] / (rate[lone] + rest))
    single = _Groups(value, -out, -mixed, own_out, -own_mixed, own_mixed)
    tied = np.flatnonzero((size > 1) & ~orders.last)
    if not len(tied):
        return single, None
    rows = np.flatnonzero((size[group] > 1) & ~orders.last[group])
    of = segment_of(np.concatenate([[0], np.cumsum(size[tied])]))
    share = rate[rows] / rest[group[rows]]
    weights, log_time, value = _quadrature(share, of)
    time = np.exp(log_time)
    z = np.minimum(share[:, None] * time[of], 700.0)
    pull = z / np.maximum(np.expm1(z), TINY)
    pull[z < TINY] = 1.0
    mean_time, own = (weights * time).sum(axis=1), weights[of]
    mean = (own * pull).sum(axis=1)
    away, late = pull - mean[:, None], time - mean_time[:, None]
    single.value[tied], single.slope[tied] = value, 1.0 - mean_time
    single.bend[tied] = (weights * late**2).sum(axis=1) - mean_time
    single.first[rows] = mean
    single.second[rows] = (own * (away**2 + pull * (1.0 - z - pull))).sum(axis=1)
    single.across[rows] = -(own * away * late[of]).sum(axis=1)
    return single, _Tied(tied, rows, of, weights, pull)


def _quadrature(share: Floats, of: Rows) -> tuple[Floats, Floats, Floats]:
    """Weights of the points (groups, points), the points (ln t in units of 1 / W), and the log of each integral.

    ``share``: w / W of each row. The maximum is where e^u = 1 + sum z / (e^z - 1), z = w e^u, so it lies between 0
    and ln (1 + size). On its left the slope is at least 1 - e^u, and on its right it falls as fast as -e^u.
    """
    begins = np.flatnonzero(np.diff(of, prepend=-1))

    def log_integrand(u: Floats) -> Floats:
        z = np.maximum(share[:, None] * np.exp(u)[of], TINY)
        return u - np.exp(u) + np.add.reduceat(np.log(-np.expm1(-z)), begins, axis=0)

    def is_rising(u: Floats) -> NDArray[np.bool_]:
        z = np.clip(share[:, None] * np.exp(u)[of], TINY, 700.0)
        return np.asarray(1.0 - np.exp(u) + np.add.reduceat(z / np.expm1(z), begins, axis=0) > 0)

    size = np.diff(begins, append=len(of))[:, None]
    top = _bisect(is_rising, np.zeros(size.shape), np.log1p(size))[0]
    goal = log_integrand(top) - DROP
    low = _bisect(lambda u: log_integrand(u) < goal, np.full(size.shape, -60.0), top)[0]
    high = _bisect(lambda u: log_integrand(u) > goal, top, top + 4.0)[1]
    points = low + (high - low) * np.linspace(0.0, 1.0, POINTS)
    logs = log_integrand(points)
    most = logs.max(axis=1, keepdims=True)
    density = np.exp(logs - most)
    total = density.sum(axis=1, keepdims=True)
    step = (high - low) / (POINTS - 1)
    return density / total, points, (np.log(total * step) + most)[:, 0]


def _bisect(left: Callable[[Floats], NDArray[np.bool_]], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Narrow the bracket of the point up to which ``left`` holds by a factor of 2^12."""
    for _ in range(12):
        middle = 0.5 * (low + high)
        holds = left(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low, high
