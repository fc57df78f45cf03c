"""A tree of boxes over the items, in which the best pair is found without looking at every pair.

The items are sorted by group (items of different groups are never compared), then into strips by mean, then by
variance within a strip. Blocks of ``BLOCK`` items are the leaves of a binary tree. A node knows the range of the
means, variances and groups of its items, so two nodes together give a bound on the gain of every pair between
them. The best pair is found best first: the two nodes with the largest bound are split, until a pair is at least
as good as every bound that is left.

The search is compiled, if Numba is installed. Otherwise, and for a few items, ``scan_rows`` looks at the items
one by one, each with all others at once, and stops when no item left can do better.
"""

from __future__ import annotations

import heapq
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.kernels.compiled import compile_together
from crowdrank.kernels.filtering import KAPPA_LOGISTIC
from crowdrank.kernels.pair_keys import KEY, pair_key
from crowdrank.select.gains import (
    COMPILED,
    GAIN,
    INFORMATION,
    flatten,
    is_learnable,
    judge_gain,
    pair_gain,
    score_gain,
)

FEW = 200
"""Of so few items, looking at all pairs is as fast as loading the compiled search."""
BLOCK = 4
WIDE = 2.0
"""How wide a strip is, counted in blocks, beside its height: a gain depends less on means than on variances."""
RESORT = 16
"""After one item in so many has moved, the items are sorted anew."""
CUTS = 32
"""Into how many pieces the range of t is cut for bounds on the gain of the judge."""
CONVEX = 0.5
"""If alpha and beta are at least this, the gain of the judge is convex in t."""
PARTS = 16
"""Into how many parts the range of t between two boxes is cut at most, if the judge's gain counts."""


class Judge(NamedTuple):
    """Who answers: slope, and alpha and beta of the quality."""

    slope: float = 1.0
    alpha: float = 1.0
    beta: float = 0.0


class Best(NamedTuple):
    """The best pair, its gain, and how many pairs were looked at. ``left`` is -1 if no pair is allowed."""

    left: int
    right: int
    gain: float
    looked: int


class Taken(NamedTuple):
    """Sorted keys (see ``pair_key``) of pairs that may not be asked: of nobody, and of this judge."""

    pairs: Integers = np.zeros(0, np.int64)
    own: Integers = np.zeros(0, np.int64)

    def holds(self, keys: Integers) -> NDArray[np.bool_]:
        """Which of these pairs may not be asked."""
        found = np.zeros(len(keys), bool)
        for known in self:
            if len(known):
                place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
                found |= known[place] == keys
        return found


class Boxes:
    """The tree. ``mean``, ``variance`` and ``weight`` (N) are its own copies; ``move`` changes them.

    ``group``: items of different groups are never compared. ``apart`` (N, m): items that share any of these values
    are never compared. ``floor``: pairs whose root mean square difference is below it are left out.
    ``by_variance``: whether the gain depends on the variances, so that boxes should be small in them too.
    """

    mean: Floats
    variance: Floats
    weight: Floats
    group: NDArray[Any]
    apart: NDArray[Any]
    floor: float
    by_variance: bool
    order: NDArray[Any]
    place: NDArray[Any]
    leaves: int
    ranges: Floats
    moved: int

    def __init__(
        self, mean: Floats, variance: Floats, *, weight: Floats | None = None, group: Integers | None = None,
        apart: Integers | None = None, floor: float = 0.0, by_variance: bool = True,
        generator: np.random.Generator | None = None,
    ) -> None:  # fmt: skip
        count = len(mean)
        self.mean, self.variance = mean.astype(np.float64), variance.astype(np.float64)
        self.weight = np.ones(count) if weight is None else weight.astype(np.float64)
        self.group = np.zeros(count, np.int64) if group is None else group.astype(np.int64)
        self.apart = np.zeros((count, 0), np.int64) if apart is None else apart.astype(np.int64)
        self.floor, self.by_variance = floor, by_variance
        self._random = np.random.default_rng(0) if generator is None else generator
        self.build()

    def __len__(self) -> int:
        return len(self.mean)

    def build(self) -> None:
        """Sort the items anew. Equal items come in random order, so that none is favored."""
        count = len(self)
        shuffled = self._random.permutation(count)
        by_mean = shuffled[np.lexsort((self.mean[shuffled], self.group[shuffled]))]
        width = max(int(WIDE * np.sqrt(BLOCK * count)), BLOCK) if self.by_variance else 1
        strip = np.arange(count) // width
        self.order = by_mean[np.lexsort((self.variance[by_mean], strip, self.group[by_mean]))]
        self.place = np.empty(count, np.int64)
        self.place[self.order] = np.arange(count)
        self.leaves = 1 << max(int(np.ceil(np.log2(max(-(-count // BLOCK), 1)))), 0)
        self.ranges = np.empty((2 * self.leaves, 7))
        self._fill(np.ones(count, bool))
        self.moved = 0

    def _fill(self, free: NDArray[np.bool_]) -> None:
        """The ranges of all nodes, counting only free items. An empty range is +inf to -inf."""
        count, room = len(self), self.leaves * BLOCK
        low, high = np.full((3, room), np.inf), np.full((3, room), -np.inf)
        most = np.full(room, -np.inf)
        order = self.order
        for row, values in enumerate((self.mean, self.variance, self.group)):
            low[row, :count] = np.where(free[order], values[order], np.inf)
            high[row, :count] = np.where(free[order], values[order], -np.inf)
        most[:count] = np.where(free[order], self.weight[order], -np.inf)
        ranges = self.ranges
        leaf = slice(self.leaves, 2 * self.leaves)
        for row in range(3):
            ranges[leaf, 2 * row] = low[row].reshape(-1, BLOCK).min(axis=1)
            ranges[leaf, 2 * row + 1] = high[row].reshape(-1, BLOCK).max(axis=1)
        ranges[leaf, 6] = most.reshape(-1, BLOCK).max(axis=1)
        level = self.leaves
        while level > 1:
            below, level = ranges[level : 2 * level], level // 2
            own = ranges[level : 2 * level]
            own[:, 0:6:2] = np.minimum(below[0::2, 0:6:2], below[1::2, 0:6:2])
            own[:, 1:6:2] = np.maximum(below[0::2, 1:6:2], below[1::2, 1:6:2])
            own[:, 6] = np.maximum(below[0::2, 6], below[1::2, 6])

    def move(self, item: int, mean: float, variance: float, weight: float) -> bool:
        """Change an item. The tree stays exact.

        After many moves it is sorted anew, which keeps it fast; returns whether it was.
        """
        self.mean[item], self.variance[item], self.weight[item] = mean, variance, weight
        node = self.leaves + int(self.place[item]) // BLOCK
        start = (node - self.leaves) * BLOCK
        own = self.order[start : start + BLOCK]
        self.ranges[node, 0], self.ranges[node, 1] = self.mean[own].min(), self.mean[own].max()
        self.ranges[node, 2], self.ranges[node, 3] = self.variance[own].min(), self.variance[own].max()
        self.ranges[node, 6] = self.weight[own].max()
        while node > 1:
            node //= 2
            one, two = self.ranges[2 * node], self.ranges[2 * node + 1]
            self.ranges[node, 0:4:2] = np.minimum(one[0:4:2], two[0:4:2])
            self.ranges[node, 1:4:2] = np.maximum(one[1:4:2], two[1:4:2])
            self.ranges[node, 6] = max(one[6], two[6])
        self.moved += 1
        is_due = self.moved > max(len(self) // RESORT, 64)
        if is_due:
            self.build()
        return is_due

    def best(
        self, kind: int, judge: Judge, gamma: float, taken: Taken, blocked: NDArray[np.bool_] | None = None,
        at_least: float = -np.inf,
    ) -> Best:  # fmt: skip
        """The best pair of a gain above ``at_least``, by the compiled search. ``blocked``: items to leave out."""
        gamma = gamma if counts(judge, gamma) else 0.0
        mask = np.zeros(len(self), np.bool_) if blocked is None else blocked
        many = int(mask.sum()) > max(len(self) // 50, 64)
        if many:  # bounds that count items that are left out would be loose
            self._fill(~mask)
        found = _compiled()(
            self.ranges, self.leaves, self.order, self.mean, self.variance, self.weight, self.group, self.apart,
            mask, *taken, self.floor, kind, *judge, gamma, at_least,
        )  # fmt: skip
        if many:
            self._fill(np.ones(len(self), bool))
        return Best(*found)

    def scan(
        self, kind: int, judge: Judge, gamma: float, taken: Taken, blocked: NDArray[np.bool_] | None = None,
        at_least: float = -np.inf,
    ) -> Best:  # fmt: skip
        """The same without compiling: items in order of their variance, each with all that come after it.

        A pair is no better than two items of the larger variance with equal means, and so is every pair after it.
        Of few items, all pairs are looked at at once.
        """
        gamma = gamma if counts(judge, gamma) else 0.0
        if len(self) <= FEW:
            return self._look_at_all(kind, judge, gamma, taken, blocked, at_least)
        free = np.ones(len(self), bool) if blocked is None else ~blocked
        order = np.flatnonzero(free)
        if len(order) < 2:
            return Best(-1, -1, at_least, 0)
        order = order[np.argsort(-self.variance[order], kind="stable")]
        limits = self._limits(kind, judge, gamma, order)
        best = Best(-1, -1, at_least, 0)
        for place, item in enumerate(order[:-1]):
            if limits[place] <= best.gain:
                break
            others = order[place + 1 :]
            others = others[self.may_meet(item, others)]
            if not len(others):
                continue
            gains = pair_gain(
                kind, self.mean[item] - self.mean[others], self.variance[item], self.variance[others],
                np.maximum(self.weight[item], self.weight[others]), *judge, gamma,
            )  # fmt: skip
            keys = pair_key(item, others)
            allowed = (gains > best.gain) & ~taken.holds(keys)
            best = best._replace(looked=best.looked + len(others))
            if allowed.any():
                chosen = int(np.argmax(np.where(allowed, gains, -np.inf)))
                best = best._replace(left=int(item), right=int(others[chosen]), gain=float(gains[chosen]))
        return best

    @cached_property
    def _pairs(self) -> tuple[Integers, Integers, Integers]:
        """All pairs that groups allow, and their keys."""
        i, j = np.triu_indices(len(self), 1)
        fine = (self.group[i] == self.group[j]) & ~(self.apart[i] == self.apart[j]).any(axis=1)
        i, j = i[fine], j[fine]
        return i, j, pair_key(i, j)

    def _look_at_all(
        self, kind: int, judge: Judge, gamma: float, taken: Taken, blocked: NDArray[np.bool_] | None,
        at_least: float,
    ) -> Best:  # fmt: skip
        i, j, keys = self._pairs
        if not len(i):
            return Best(-1, -1, at_least, 0)
        d, v, u = self.mean[i] - self.mean[j], self.variance[i], self.variance[j]
        gains = pair_gain(kind, d, v, u, np.maximum(self.weight[i], self.weight[j]), *judge, gamma)
        allowed = (gains > at_least) & ~taken.holds(keys) & (d * d + v + u >= self.floor * self.floor)
        if blocked is not None:
            allowed &= ~(blocked[i] | blocked[j])
        if not allowed.any():
            return Best(-1, -1, at_least, len(i))
        best = int(np.argmax(np.where(allowed, gains, -np.inf)))
        return Best(int(i[best]), int(j[best]), float(gains[best]), len(i))

    def may_meet(self, item: int, others: Integers) -> NDArray[np.bool_]:
        """Whether an item may be compared with others, by groups and the floor."""
        away = self.mean[item] - self.mean[others]
        fine = (self.group[others] == self.group[item]) & ~(self.apart[others] == self.apart[item]).any(axis=1)
        return fine & (away * away + self.variance[item] + self.variance[others] >= self.floor * self.floor)

    def _limits(self, kind: int, judge: Judge, gamma: float, order: Integers) -> Floats:
        """For each item, a bound on its pairs with items of at most its variance."""
        most = judge.slope**2 * self.variance[order]
        q = abs(judge.alpha - judge.beta) / (judge.alpha + judge.beta)
        both = 2.0 * most / (1.0 + KAPPA_LOGISTIC * 2.0 * most)
        x = np.minimum(most / (1.0 + KAPPA_LOGISTIC * most), both) if kind == GAIN else 0.5 * both
        weight = self.weight.max(initial=0.0)
        limits = weight * score_gain(kind, np.zeros(len(order)), most, most, np.zeros(len(order)), x, both - x, q)
        return np.asarray(limits + (gamma * judge_gain(1.0, judge.alpha, judge.beta) if gamma else 0.0))

    def bound(self, kind: int, judge: Judge, gamma: float) -> float:
        """A bound on the gain of every pair for this judge."""
        root, q = self.ranges[1], abs(judge.alpha - judge.beta) / (judge.alpha + judge.beta)
        table = judge_table(judge.alpha, judge.beta, gamma if counts(judge, gamma) else 0.0)
        return float(box_bound(root, root, kind, judge.slope, q, table))


def counts(judge: Judge, gamma: float) -> bool:
    """Whether anything can be learned about the judge, and should be."""
    return gamma > 0 and bool(is_learnable(judge.alpha, judge.beta))


# --------------------------------------------------------------------------------------- compiled


def box_bound(one: Floats, two: Floats, kind: int, slope: float, q: float, table: Floats) -> float:
    """A bound on the gain of every pair between two nodes."""
    near = slope * max(0.0, one[0] - two[1], two[0] - one[1])
    square = slope * slope
    most, other_most, least, other_least = square * one[3], square * two[3], square * one[2], square * two[2]
    weight = max(one[6], two[6])
    t = np.tanh(0.5 * near / np.sqrt(1.0 + KAPPA_LOGISTIC * (most + other_most)))
    x = most / (1.0 + KAPPA_LOGISTIC * (most + other_least))
    y = other_most / (1.0 + KAPPA_LOGISTIC * (other_most + least))
    both = (most + other_most) / (1.0 + KAPPA_LOGISTIC * (most + other_most))  # a bound on x + y
    if kind != GAIN:
        x, y = 0.5 * both, 0.5 * both
    elif x + y > both:  # of all x and y with this sum, the most unequal ones have the largest gain
        x = min(max(x, y), both)
        y = both - x
    if len(table) == 0:
        return weight * score_gain(kind, near, most, other_most, t, x, y, q)
    far = slope * max(one[1] - two[0], two[1] - one[0])
    end = np.tanh(0.5 * far / np.sqrt(1.0 + KAPPA_LOGISTIC * (least + other_least)))
    if kind == INFORMATION:
        return weight * score_gain(kind, near, most, other_most, t, x, y, q) + between(table, end)
    best = -np.inf
    parts = 1 + min(int((end - t) * 4.0 * PARTS), PARTS)
    for part in range(parts):
        start = t + (end - t) * part / parts
        stop = t + (end - t) * (part + 1) / parts
        value = weight * score_gain(kind, near, most, other_most, start, x, y, q)
        best = max(best, value + between(table, stop))
    return best


def judge_table(alpha: float, beta: float, gamma: float) -> Floats:
    """gamma times the judge's gain at t = 0, 1 / CUTS, ..., 1; empty if gamma is 0.

    The gain is convex in t unless alpha or beta is small, so its chords are above it. If one is small, each value
    is that of the next t: the gain rises in t.
    """
    table = np.zeros(CUTS + 1 if gamma > 0.0 else 0)
    ahead = 0 if min(alpha, beta) >= CONVEX else 1
    for place in range(len(table)):
        table[place] = gamma * judge_gain(min((place + ahead) / CUTS, 1.0), alpha, beta)
    return table


def between(table: Floats, t: float) -> float:
    """The chord of the table at t in [0, 1], which bounds the judge's gain from above."""
    cuts = len(table) - 1
    place = min(int(t * cuts), cuts - 1)
    return table[place] + (t * cuts - place) * (table[place + 1] - table[place])


def meets(one: Floats, two: Floats, floor: float) -> bool:
    """Whether two nodes may hold an allowed pair: a common group, and differences above the floor."""
    if one[0] > one[1] or two[0] > two[1] or one[4] > two[5] or two[4] > one[5]:
        return False
    far = max(one[1] - two[0], two[1] - one[0])
    return far * far + one[3] + two[3] >= floor * floor


def is_among(keys: Integers, key: int) -> bool:
    """Whether a key is among sorted keys."""
    place = np.searchsorted(keys, key)
    return bool(place < len(keys) and keys[place] == key)


def search_pairs(
    ranges: Floats, leaves: int, order: Integers, mean: Floats, variance: Floats, weight: Floats, group:
    Integers, apart: Integers, blocked: NDArray[np.bool_], taken: Integers, own: Integers, floor: float, kind:
    int, slope: float, alpha: float, beta: float, gamma: float, at_least: float,
) -> tuple[int, int, float, int]:  # fmt: skip
    """The best pair, best first. The largest bound is at the top of the heap."""
    count, looked = len(mean), 0
    best, left, right = at_least, -1, -1
    q, table = abs(alpha - beta) / (alpha + beta), judge_table(alpha, beta, gamma)
    square = slope * slope
    heap = [(-np.inf, 1, 1)]
    while len(heap) > 0:
        above, a, b = heapq.heappop(heap)
        if -above <= best:
            break
        if a < leaves:  # split the first, the larger one
            for child in (2 * a, 2 * a + 1):
                others = (b, b) if a != b else (2 * a, 2 * a + 1)
                for place in range(1 if a != b else 2):
                    other = others[place]
                    if a == b and other < child:
                        continue
                    one, two = ranges[child], ranges[other]
                    if not meets(one, two, floor):
                        continue
                    value = box_bound(one, two, kind, slope, q, table)
                    if value > best:
                        # the smaller number is that of the shallower node, which is split next
                        heapq.heappush(heap, (-value, min(child, other), max(child, other)))
            continue
        for m in range((a - leaves) * BLOCK, min((a - leaves + 1) * BLOCK, count)):
            i = order[m]
            if blocked[i]:
                continue
            for n in range((b - leaves) * BLOCK, min((b - leaves + 1) * BLOCK, count)):
                j = order[n]
                if (a == b and n <= m) or blocked[j] or group[i] != group[j]:
                    continue
                d = mean[i] - mean[j]
                if d * d + variance[i] + variance[j] < floor * floor:
                    continue
                looked += 1
                d, v, u = slope * abs(d), square * variance[i], square * variance[j]
                t, x, y = flatten(d, v, u)
                value = max(weight[i], weight[j]) * score_gain(kind, d, v, u, t, x, y, q)
                if gamma > 0.0:
                    if value + between(table, t) <= best:
                        continue
                    value += gamma * judge_gain(t, alpha, beta)
                if value <= best:
                    continue
                key = min(i, j) * KEY + max(i, j)
                if is_among(taken, key) or is_among(own, key):
                    continue
                shared = False
                for column in range(apart.shape[1]):
                    shared = shared or apart[i, column] == apart[j, column]
                if not shared:
                    best, left, right = value, i, j
    return left, right, best, looked


@cache
def _compiled() -> Any:
    own = (*COMPILED, judge_table, between, box_bound, meets, is_among, search_pairs)
    return compile_together(*own)["search_pairs"]
