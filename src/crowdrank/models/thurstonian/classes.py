"""Groups queries by which workers agree with their scores: a start for the sampler of TPP.

In a query l of class m, worker k agrees with the order of the scores with probability p_km, or with 1 - p_km if
the scores came out reversed. Both signs of a class are equally likely, and theta is the share of each class.
With a_kl votes that agree and b_kl that do not,

    ln P(l | m, +) = sum_k a_kl ln p_km + b_kl ln(1 - p_km),        ln P(l | m, -) with a and b exchanged.

EM runs from several starts, each with some queries as the classes. The likeliest result is kept.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np

from crowdrank.data import Floats, Integers

CLASS_STARTS, CLASS_STEPS = 20, 30
"""Starts of the EM for the classes, and EM steps from each."""


def find_classes(
    agreed: Any, against: Any, count: int, generator: np.random.Generator
) -> tuple[Integers, Floats, Floats]:
    """The class of each query, its sign (1 or -1), and the agreement probabilities p (workers, classes).

    ``agreed`` and ``against`` are sparse matrices of votes (queries, workers); there are ``count`` classes. The
    sign of a class is chosen so that most of its votes agree with the scores.
    """
    _, odds, p = max(
        (_fit_classes(agreed, against, count, generator) for _ in range(CLASS_STARTS)), key=itemgetter(0)
    )
    option = odds.argmax(axis=1)
    own = option % count
    votes = (agreed + against).T @ np.eye(count)[own]
    side = np.where((np.sign(p - 0.5) * votes).sum(axis=0) < 0, -1.0, 1.0)
    return own, np.where(option < count, 1.0, -1.0) * side[own], np.where(side < 0, 1.0 - p, p)


def _fit_classes(
    agreed: Any, against: Any, count: int, generator: np.random.Generator
) -> tuple[float, Floats, Floats]:
    """EM that starts with some queries as the classes: the log-likelihood, the odds (queries, 2 count), and p."""
    queries = agreed.shape[0]
    chosen = generator.choice(queries, count, replace=queries < count)
    p, theta = (
        _agreement_rate(agreed[chosen].toarray().T, against[chosen].toarray().T),
        np.full(count, 1.0 / count),
    )
    for _ in range(CLASS_STEPS):
        odds, value = _odds(agreed, against, p, theta)
        ahead, behind = np.split(odds, 2, axis=1)
        p = _agreement_rate(agreed.T @ ahead + against.T @ behind, against.T @ ahead + agreed.T @ behind)
        theta = (1.0 + (ahead + behind).sum(axis=0)) / (count + queries)
    return value, odds, p


def _agreement_rate(agreed: Floats, against: Floats) -> Floats:
    return (1.0 + agreed) / (2.0 + agreed + against)


def _odds(agreed: Any, against: Any, p: Floats, theta: Floats) -> tuple[Floats, float]:
    """The probability of each class with either sign (queries, 2 count), and the log-likelihood."""
    yes, no = np.log(p), np.log1p(-p)
    logs = np.hstack([agreed @ yes + against @ no, agreed @ no + against @ yes]) + np.log(0.5 * np.tile(theta, 2))
    total = np.logaddexp.reduce(logs, axis=1)
    return np.exp(logs - total[:, None]), float(total.sum())
