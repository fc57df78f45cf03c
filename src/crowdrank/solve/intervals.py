"""Standard errors, intervals, ranks and tiers from scores and their covariance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Integers
from crowdrank.data.arrays import Floats
from crowdrank.results import Covariance, Z, center

CLOSE, LEAST = 1e-12, 1e-13
"""Scores that differ by less than this share of the largest one, or by less than this, differ by rounding."""
SOLVED = 1e-9
"""The same for scores that a solver finds, if the judgments of an item weigh 1 or more."""
PAIRWISE = 2000
"""In larger parts, resampled items are distinguished by their standard errors, not pair by pair."""
FEW = 32
"""How many nodes the search for the end of a tier looks at first."""


@dataclass(frozen=True, eq=False)
class Spread:
    """For each node, the score with its uncertainty, the rank within its query, and the tier within its part."""

    score: Floats
    stderr: Floats
    low: Floats
    high: Floats
    rank: Integers
    rank_low: Integers
    rank_high: Integers
    tier: Integers

    def times(self, unit: float) -> Spread:
        """The same spread with scores in another unit."""
        names = ("score", "stderr", "low", "high")
        return replace(self, **{name: unit * getattr(self, name) for name in names})

    def reaching(self, shift: Floats) -> Spread:
        """The same with intervals that reach farther on one side: above if the score may be larger by ``shift``,
        below if that is negative. Ranks, tiers and standard errors stay."""
        return replace(
            self,
            low=self.score - np.hypot(self.score - self.low, np.minimum(shift, 0.0)),
            high=self.score + np.hypot(self.high - self.score, np.maximum(shift, 0.0)),
        )

    def with_scores(
        self, score: Floats, stderr: Floats, low: Floats | None = None, high: Floats | None = None
    ) -> Spread:
        """The same ranks and tiers with these scores, not centered. Intervals are normal unless they are given."""
        half, score = Z * stderr, merge_close(score, np.zeros(len(score), np.int32))
        return replace(
            self,
            score=score,
            stderr=stderr,
            low=score - half if low is None else low,
            high=score + half if high is None else high,
        )


def spread(
    scores: Floats,
    covariance: Covariance | None,
    query: NDArray[np.int32],
    parts: Sequence[Integers],
    *,
    level: float = 0.9,
    tie_break: Floats | None = None,
    close: float = LEAST,
    centered: bool = True,
) -> Spread:
    """Center the scores within each part, and compute the uncertainty of scores and ranks.

    If they are not ``centered``, scores stay as they are, such as shares of wins.

    Scores that differ by less than ``close`` are equal. It should be as small as the judgments weigh: against a
    prior, judgments of the weight 1e-12 lead to scores of about that size.

    Two items of a part can be told apart if their difference exceeds ``z(level)`` times its standard error. Items
    of different parts cannot be told apart, nor can an item that is alone in its part, nor any items if the
    covariance is not known (None). ``rank_low`` to ``rank_high`` leaves open the order of all items that cannot be
    told apart. A tier holds the items of a part that cannot be told apart from its best item.
    """
    count = len(scores)
    score, variance = np.zeros(count), np.zeros(count)
    better, worse = np.zeros(count, np.int64), np.zeros(count, np.int64)
    apart: dict[int, Floats] = {}
    for number, nodes in enumerate(parts):
        score[nodes] = scores[nodes] - (scores[nodes].mean() if centered else 0.0)
        if covariance is None or len(nodes) == 1:
            variance[nodes] = np.inf  # nothing is known about it
            continue
        if len(nodes) > covariance.pairwise_limit:
            variance[nodes] = covariance.variance(nodes)
            better[nodes], worse[nodes] = _count_by_intervals(score[nodes], np.sqrt(variance[nodes]), level)
            continue
        block = center(covariance.block(nodes))
        variance[nodes] = block.diagonal()
        deviation = differences(block)
        apart[number] = deviation
        better[nodes], worse[nodes] = _count_by_differences(score[nodes], deviation, level)
    stderr = np.sqrt(np.maximum(variance, 0.0))
    z = _z(level)
    score = merge_close(score, query, close)
    rank, size = ranks(score, query, tie_break, stderr)
    tier = _tiers(score, stderr, rank, parts, apart, z)
    return Spread(score, stderr, score - z * stderr, score + z * stderr, rank, 1 + better, size - worse, tier)


def spread_resamples(
    scores: Floats,
    samples: Floats | None,
    query: NDArray[np.int32],
    parts: Sequence[Integers],
    *,
    level: float = 0.9,
    tie_break: Floats | None = None,
) -> Spread:
    """The same from scores fitted to resamples (S, N), which carry more information than their covariance.

    The standard error is the standard deviation of the centered scores, and low and high are their quantiles.
    ``rank_low`` is 1 plus a quantile of the number of better items, and ``rank_high`` is the same from below. Only
    the items of the part count, because the others may be anywhere. Two items can be told apart if one is ahead in
    more than (1 + level) / 2 of the resamples. So an item that can be told apart from the best item of a tier has
    a rank interval that begins below that item.
    """
    if samples is None:
        return spread(scores, None, query, parts, level=level, tie_break=tie_break)
    count, tail = len(scores), (1 - level) / 2
    score, stderr, low, high = np.zeros((4, count))
    stderr[:] = np.inf
    better, worse = np.zeros((2, count), np.int64)
    apart: dict[int, Floats] = {}
    for number, nodes in enumerate(parts):
        score[nodes] = scores[nodes] - scores[nodes].mean()
        if len(nodes) == 1:
            continue
        own = samples[:, nodes] - samples[:, nodes].mean(axis=1, keepdims=True)
        stderr[nodes] = own.std(axis=0)
        low[nodes], high[nodes] = np.quantile(own, [tail, 1 - tail], axis=0)
        ahead = np.argsort(np.argsort(-own, axis=1, kind="stable"), axis=1)
        better[nodes] = np.quantile(ahead, tail, axis=0, method="lower")
        worse[nodes] = len(nodes) - 1 - np.quantile(ahead, 1 - tail, axis=0, method="higher")
        if len(nodes) <= PAIRWISE:
            apart[number] = np.where(_share_ahead(own) > 1 - tail, 0.0, np.inf)
    score = merge_close(score, query)
    rank, size = ranks(score, query, tie_break, stderr)
    alone = np.isinf(stderr)
    low, high = np.where(alone, -np.inf, np.minimum(low, score)), np.where(alone, np.inf, np.maximum(high, score))
    tier = _tiers(score, stderr, rank, parts, apart, _z(level))
    rank_low, rank_high = np.minimum(1 + better, rank), np.maximum(size - worse, rank)
    return Spread(score, stderr, low, high, rank, rank_low, rank_high, tier)


def spread_probabilities(
    scores: Floats,
    ahead: Sequence[Floats],
    query: NDArray[np.int32],
    parts: Sequence[Integers],
    *,
    level: float = 0.9,
    tie_break: Floats | None = None,
) -> Spread:
    """The same if the probability that i is above j is known, ``ahead`` (n, n) for each part.

    Two items can be told apart if one is ahead with a probability above (1 + level) / 2. The standard error is
    that of the rank: the root of the sum of p (1 - p) over the other items, as if these contests were independent.
    """
    count, sure = len(scores), (1 + level) / 2
    score, stderr = np.zeros((2, count))
    better, worse = np.zeros((2, count), np.int64)
    apart: dict[int, Floats] = {}
    for number, (nodes, own) in enumerate(zip(parts, ahead, strict=True)):
        score[nodes] = scores[nodes] - scores[nodes].mean()
        if len(nodes) == 1:
            stderr[nodes] = np.inf
            continue
        certain = (own > sure) & ~np.eye(len(nodes), dtype=bool)
        better[nodes], worse[nodes] = certain.sum(axis=0), certain.sum(axis=1)
        spread_ = own * (1.0 - own)
        stderr[nodes] = np.sqrt(np.maximum(spread_.sum(axis=1) - spread_.diagonal(), 0.0))
        apart[number] = np.where(certain, 0.0, np.inf)
    score = merge_close(score, query)
    rank, size = ranks(score, query, tie_break)
    z = _z(level)
    tier = _tiers(score, stderr, rank, parts, apart, z)
    rank_low, rank_high = np.minimum(1 + better, rank), np.maximum(size - worse, rank)
    return Spread(score, stderr, score - z * stderr, score + z * stderr, rank, rank_low, rank_high, tier)


def _share_ahead(samples: Floats) -> Floats:
    """The share of samples (S, n) in which i is ahead of j, for every pair (n, n)."""
    return np.stack([(own[:, None] > samples).mean(axis=0) for own in samples.T])


def differences(block: Floats) -> Floats:
    """Standard deviation of x_i - x_j for every pair."""
    own = block.diagonal()
    return np.sqrt(np.maximum(own[:, None] + own[None, :] - 2.0 * block, 0.0))


def ranks(
    score: Floats, query: NDArray[np.int32], tie_break: Floats | None = None, stderr: Floats | None = None
) -> tuple[Integers, Integers]:
    """Strict ranks from 1 within each query, and the size of the query of each node.

    Equal scores are ordered by ``tie_break`` (larger first), then by ``stderr`` (smaller first), and finally by
    the order of the ids. Numbers that differ by rounding alone are equal.
    """
    second, third = (
        np.zeros_like(score) if key is None else merge_close(key, query) for key in (tie_break, stderr)
    )
    order = np.lexsort((third, -second, -score, query))
    sizes = np.bincount(query)
    starts = np.cumsum(sizes) - sizes
    rank = np.empty(len(score), np.int64)
    rank[order] = np.arange(len(score)) - np.repeat(starts, sizes) + 1
    return rank, sizes[query]


def largest_up_to_one(values: Floats) -> float:
    """The largest of the values, or 1 if that is larger than 1."""
    return float(min(values.max(initial=0.0), 1.0))


def merge_close(values: Floats, query: NDArray[np.int32], least: float = LEAST) -> Floats:
    """The values, with those made equal that differ by less than ``CLOSE`` of the largest of their query or by
    less than ``least``.

    A solver ends within its tolerance of the maximum, and sums depend on the order of their terms. So items about
    which the judgments say the same would otherwise be ordered by dust.
    """
    order = np.lexsort((-values, query))
    ordered, own = values[order], query[order]
    largest = np.zeros(int(query.max(initial=-1)) + 1)
    np.maximum.at(largest, query, np.where(np.isfinite(values), np.abs(values), 0.0))
    reach = CLOSE * largest[own] + least
    fresh = np.ones(len(values), bool)
    fresh[1:] = (np.diff(own) != 0) | ~(ordered[:-1] <= ordered[1:] + reach[1:])
    _split_runs(ordered, reach, fresh)
    merged = np.empty_like(values)
    merged[order] = ordered[np.flatnonzero(fresh)][np.cumsum(fresh) - 1]
    return merged


def _split_runs(ordered: Floats, reach: Floats, fresh: NDArray[np.bool_]) -> None:
    """Begin a new run wherever a value is farther than its reach from the first of its run."""
    starts = np.flatnonzero(fresh)
    ends = np.append(starts[1:], len(ordered))
    with np.errstate(invalid="ignore"):
        wide = ordered[starts] - ordered[ends - 1] > reach[starts]
    for start, end in zip(starts[wide].tolist(), ends[wide].tolist(), strict=True):
        first = start
        for place in range(start + 1, end):
            if ordered[first] - ordered[place] > reach[place]:
                fresh[place], first = True, place


def _z(level: float) -> float:
    return NormalDist().inv_cdf(0.5 + level / 2)


def _count_by_differences(score: Floats, deviation: Floats, level: float) -> tuple[Integers, Integers]:
    """For each item, how many items of the part are certainly better, and how many are certainly worse."""
    ahead = score[:, None] - score[None, :] > _z(level) * deviation
    np.fill_diagonal(ahead, False)
    return ahead.sum(axis=0), ahead.sum(axis=1)


def _count_by_intervals(score: Floats, stderr: Floats, level: float) -> tuple[Integers, Integers]:
    """The same from individual standard errors, by intervals that do not overlap: n log n, not n^2."""
    half = _z(level) / 2**0.5 * stderr
    low, high = score - half, score + half
    better = len(score) - np.searchsorted(np.sort(low), high, side="right")
    worse = np.searchsorted(np.sort(high), low, side="left")
    return better, worse


def _tiers(
    score: Floats, stderr: Floats, rank: Integers, parts: Sequence[Integers], apart: dict[int, Floats], z: float
) -> Integers:
    """The tier of each node, counted from 1 within its part: nothing orders the tiers of different parts."""
    tier = np.empty(len(score), np.int64)
    for number, nodes in enumerate(parts):
        order = np.argsort(rank[nodes])
        tier[nodes] = _part_tiers(score[nodes], stderr[nodes], order, apart.get(number), z)
    return tier


def _part_tiers(score: Floats, stderr: Floats, order: Integers, apart: Floats | None, z: float) -> Integers:
    """The tier of each node of a part. Down the ``order``, a tier ends before the first item certainly below its
    leader."""
    tier = np.empty(len(order), np.int64)

    def first_below(leader: int, others: Integers) -> int | None:
        deviation = np.hypot(stderr[leader], stderr[others]) if apart is None else apart[leader, others]
        below = np.flatnonzero(score[leader] - score[others] > z * deviation)
        return int(below[0]) if len(below) else None

    start, number = 0, 1
    while start < len(order):
        end = _end_of_tier(order, start, first_below)
        tier[order[start:end]] = number
        start, number = end, number + 1
    return tier


def _end_of_tier(nodes: Integers, start: int, first_below: Callable[[int, Integers], int | None]) -> int:
    """Where the tier that begins at ``start`` ends. Ever more nodes are looked at, so that the time for all
    tiers grows with the number of nodes, not with its square."""
    begin, most = start + 1, FEW
    while begin < len(nodes):
        found = first_below(nodes[start], nodes[begin : begin + most])
        if found is not None:
            return begin + found
        begin, most = begin + most, 2 * most
    return len(nodes)


@dataclass(frozen=True, eq=False)
class Density:
    """For each density: mean, variance, and the ends of the highest-density interval."""

    mean: Floats
    variance: Floats
    low: Floats
    high: Floats


def highest_density(log_density: Floats, low: Floats, high: Floats, level: float) -> Density:
    """Moments and highest-density intervals of densities given by their logs (rows, points).

    The points of a row are equally spaced from its ``low`` to its ``high``. Between them, the logs are
    interpolated linearly. They must be concave.
    """
    points = log_density.shape[1]
    fine = np.linspace(0.0, 1.0, 8 * (points - 1) + 1)
    place = np.minimum((fine * (points - 1)).astype(int), points - 2)
    share = fine * (points - 1) - place
    logs = log_density[:, place] * (1 - share) + log_density[:, place + 1] * share
    density = np.exp(logs - logs.max(axis=1, keepdims=True))
    density[:, [0, -1]] *= 0.5  # trapezoid
    density /= density.sum(axis=1, keepdims=True)
    order = np.argsort(-logs, axis=1, kind="stable")
    mass = np.take_along_axis(density, order, axis=1)
    inside = np.cumsum(mass, axis=1) - mass < level
    mean, width = density @ fine, high - low
    return Density(
        mean=low + width * mean,
        variance=width**2 * (density @ fine**2 - mean**2),
        low=low + width * np.where(inside, fine[order], np.inf).min(axis=1),
        high=low + width * np.where(inside, fine[order], -np.inf).max(axis=1),
    )
