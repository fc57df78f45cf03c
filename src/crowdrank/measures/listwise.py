"""Measures of one ranked list: nDCG, DCG, RBP, AP, P, ERR, RR.

Each takes ``scores`` and ``grades`` of the same items, and returns the expected value over all
orders of items with equal scores (McSherry and Najork, ECIR 2008; ERR's closed form is our own). Grades may
be fractional. Gains are 2^grade - 1, or the grade itself with ``gain="linear"``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.errors import UsageError

MOST_GRADE = 500.0


def gains(grades: Floats, gain: str = "exp", scale: float = 0.0) -> Floats:
    """2^grade - 1 (``exp``) or the grade (``linear``), times 2^-scale; grades below 0 gain nothing.

    Ratios of gains use the largest grade as ``scale``, so that no grade is too large.
    """
    positive = np.maximum(np.asarray(grades, float), 0.0)
    if gain == "exp":
        if positive.max(initial=0.0) - scale > MOST_GRADE:
            raise UsageError("The grades are too large for gains of 2^grade.", hint="Use gain=linear.")
        return np.exp2(positive - scale) - 2.0**-scale
    if gain == "linear":
        return positive
    raise UsageError(f"The gain must be exponential or linear. Got {gain!r}.")


def _tie_groups(scores: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Items from the best score down, and the end of each group of equal scores."""
    order = np.argsort(-scores, kind="stable")
    own = scores[order]
    ends = np.append(np.flatnonzero(own[1:] != own[:-1]) + 1, len(own))  # a difference of infinities has no value
    return order, ends if len(own) else np.empty(0, np.int64)


def _expected_values(values: Floats, scores: Floats) -> Floats:
    """The expected value at each position: the mean within a group of ties."""
    order, ends = _tie_groups(scores)
    sizes = np.diff(ends, prepend=0)
    means = np.add.reduceat(values[order], ends - sizes) / sizes if len(order) else values
    return np.repeat(means, sizes)


def _discounted_sum(values: Floats, discounts: Floats, cut: int | None) -> float:
    top = len(values) if cut is None else min(cut, len(values))
    return float(values[:top] @ discounts[:top])


def dcg(scores: Floats, grades: Floats, *, cut: int | None = None, gain: str = "exp", scale: float = 0.0) -> float:
    """DCG@cut = sum over positions r from 1 of gain_r / log2(1 + r) (Järvelin and Kekäläinen 2002)."""
    discounts = 1.0 / np.log2(np.arange(2, len(grades) + 2))
    return _discounted_sum(_expected_values(gains(grades, gain, scale), scores), discounts, cut)


def ndcg(
    scores: Floats,
    grades: Floats,
    *,
    cut: int | None = None,
    gain: str = "exp",
    ideal: Floats | None = None,
) -> float:
    """nDCG@cut = DCG@cut / the DCG@cut of the best order; 0 if nothing is relevant.

    ``ideal``: all grades of the query, if some of its items are not in the list.
    """
    best = np.asarray(grades if ideal is None else ideal, float)
    scale = float(best.max(initial=0.0))
    top = dcg(best, best, cut=cut, gain=gain, scale=scale)
    return dcg(scores, grades, cut=cut, gain=gain, scale=scale) / top if top > 0 else 0.0


def rbp(
    scores: Floats,
    grades: Floats,
    *,
    p: float = 0.8,
    cut: int | None = None,
    gain: str = "exp",
    most: float = 1.0,
) -> float:
    """RBP = (1 - p) sum over positions r from 0 of p^r gain_r / gain(most) (Moffat and Zobel 2008).

    ``most`` is the largest possible grade; with 0/1 grades this is the plain RBP.
    """
    if not 0 < p < 1:
        raise UsageError(f"The persistence p of RBP must be between 0 and 1. Got {p!r}.")
    scale = float(gains(np.array([most]), gain, most)[0]) or 1.0
    discounts: Floats = (1 - p) * np.power(p, np.arange(len(grades), dtype=np.float64))
    return _discounted_sum(_expected_values(gains(grades, gain, most) / scale, scores), discounts, cut)


def precision(scores: Floats, grades: Floats, *, cut: int | None = None, rel: float = 1.0) -> float:
    """P@cut: the share of relevant items (grade >= rel) among the first ``cut``."""
    wanted = len(grades) if cut is None else cut
    relevant = _expected_values((np.asarray(grades) >= rel).astype(float), scores)
    return _discounted_sum(relevant, np.ones(len(relevant)), cut) / wanted if wanted else 0.0


def ap(
    scores: Floats, grades: Floats, *, cut: int | None = None, rel: float = 1.0, total: int | None = None
) -> float:
    """AP = mean over relevant items of the precision at their position.

    Consider a group of m ties, r of them relevant, after n items, R of them relevant. Position t of the
    group contributes r/m (R + 1 + (t-1)(r-1)/(m-1)) / (n + t). ``total``: the number of relevant items of
    the query, if some are not in the list.
    """
    relevant = (np.asarray(grades) >= rel).astype(float)
    known = relevant.sum() if total is None else total
    order, ends = _tie_groups(scores)
    value, before, start = 0.0, 0.0, 0
    for end in ends:
        m, r = int(end - start), float(relevant[order[start:end]].sum())
        t = np.arange(1, m + 1)
        inside = (t - 1) * (r - 1) / (m - 1) if m > 1 else np.zeros(1)
        terms = r / m * (before + 1 + inside) / (start + t)
        value += float(terms[: max(0, (cut or len(order)) - start)].sum())
        before, start = before + r, int(end)
    return value / known if known else 0.0


def rr(scores: Floats, grades: Floats, *, cut: int | None = None, rel: float = 1.0) -> float:
    """RR = 1 / the position of the first relevant item; 0 if there is none."""
    relevant = np.asarray(grades) >= rel
    order, ends = _tie_groups(scores)
    start = 0
    for end in ends:
        m, r = int(end - start), int(relevant[order[start:end]].sum())
        if r:
            # the first of r relevant items among m is at t with probability C(m-t, r-1) / C(m, r)
            positions = range(1, m - r + 2)
            within = [t for t in positions if cut is None or start + t <= cut]
            return sum(math.comb(m - t, r - 1) / math.comb(m, r) / (start + t) for t in within)
        start = int(end)
    return 0.0


def err(
    scores: Floats, grades: Floats, *, cut: int | None = None, gain: str = "exp", most: float | None = None
) -> float:
    """ERR = sum over positions r of 1/r P(the user stops at r) (Chapelle et al. 2009).

    An item stops the user with probability (2^grade - 1) / 2^most, or grade / (most + 1) with linear gains; both
    are 1/2 for the best of two grades. Within a group of ties, the
    chance to pass t of its m items is the mean of all products of t of their passing probabilities,
    e_t / C(m, t), with e_t the elementary symmetric polynomial. The chance to stop at t is the difference
    between passing t - 1 and passing t items.
    """
    top = float(np.max(grades, initial=0.0)) if most is None else most
    passing = 1.0 - gains(np.asarray(grades, float), gain, top) / (top + 1.0 if gain == "linear" else 1.0)
    order, ends = _tie_groups(scores)
    value, reach, start = 0.0, 1.0, 0
    for end in ends:
        means = _mean_products(passing[order[start:end]])
        stops = reach * (means[:-1] - means[1:])
        places = np.arange(start + 1, int(end) + 1)
        value += float((stops / places)[: max(0, (cut or len(order)) - start)].sum())
        reach, start = reach * means[-1], int(end)
    return value


def _mean_products(values: Floats) -> Floats:
    """Mean product over all subsets of size t, t = 0 .. m, by adding one value at a time."""
    means = np.array([1.0])
    for m, value in enumerate(values, 1):
        t = np.arange(m + 1) / m
        # a subset of size t holds the new value with probability t / m
        means = np.append(means, 0.0) * (1 - t) + np.insert(means, 0, 0.0) * value * t
    return means
