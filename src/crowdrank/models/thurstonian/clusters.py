"""Queries gathered into domains: those are merged that the same workers judge alike.

Every query starts as a domain of its own; the two domains are merged, and again, whose union explains the
votes best,

    gain(a, b) = sum_k ln sum_tau G(tau) exp(L_{a,k}(tau) + L_{b,k}(tau))  -  the same of a and of b alone,

each in its better direction, for the sign of a query's scores and of its workers' tau is free. Nothing is
random, so nothing depends on a start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.models.thurstonian.types import Types, logsumexp, mirrored

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """The domain of each query, and 1 or -1 where its scores are turned to agree with the domain."""

    domain: Integers
    sign: Integers


def gathered(profile: Floats, types: Types, most: int) -> dict[int, Cut]:
    """The domains of queries (Q, K, T) for every number of domains from ``most`` down to 1."""
    count = len(profile)
    like, sign, domain = profile.copy(), np.ones(count, np.int64), np.arange(count)
    alive = np.ones(count, bool)
    score = _better(like, types)
    gain, turn = np.full((count, count), -np.inf), np.zeros((count, count), bool)
    for place in range(count):
        gain[place], turn[place] = _gains(like, score, place, types)
    np.fill_diagonal(gain, -np.inf)
    found = {}
    for left in range(count, 0, -1):
        if left <= most:
            found[left] = _cut(like, domain, sign, types)
        if left == 1:
            break
        one, other = np.unravel_index(gain.argmax(), gain.shape)
        one, other = min(one, other), max(one, other)
        turned = turn[one, other]
        moved = domain == other
        like[one] += mirrored(like[other]) if turned else like[other]
        sign[moved] *= -1 if turned else 1
        domain[moved], alive[other] = one, False
        score[one] = _better(like[one], types)
        gain[one], turn[one] = _gains(like, score, one, types)
        gain[one, ~alive] = gain[one, one] = -np.inf
        gain[:, one], turn[:, one] = gain[one], turn[one]
        gain[other] = gain[:, other] = -np.inf
    return found


def _better(like: Floats, types: Types) -> Floats:
    """The evidence in the better direction."""
    return np.maximum(types.evidence(like), types.evidence(mirrored(like)))


def _gains(like: Floats, score: Floats, place: int, types: Types) -> tuple[Floats, NDArray[np.bool_]]:
    """What merging each with the one at ``place`` gains, and whether one of the two is turned for it."""
    same, opposite = (_better(like[place] + other, types) for other in (like, mirrored(like)))
    return np.maximum(same, opposite) - score - score[place], opposite > same


def _cut(like: Floats, domain: Integers, sign: Integers, types: Types) -> Cut:
    """Domains numbered from 0, each in its better direction."""
    names, numbered = np.unique(domain, return_inverse=True)
    own = like[names]
    wrong = types.evidence(mirrored(own)) > types.evidence(own)
    return Cut(numbered, np.where(wrong[numbered], -sign, sign))


def left_out(profile: Floats, cut: Cut, types: Types) -> float:
    """ln P of the votes of every worker on every query, predicted from all other votes.

    The domain of the query comes from its other workers, the worker's expertise from the other queries.
    """
    like = np.where(cut.sign[:, None, None] > 0, profile, mirrored(profile))
    domains = int(cut.domain.max()) + 1
    theta = np.bincount(cut.domain, minlength=domains)
    total = 0.0
    sums = np.stack([like[cut.domain == m].sum(axis=0) for m in range(domains)])
    for place, own in enumerate(like):
        others = sums + types.log
        others[cut.domain[place]] -= own
        predicted = logsumexp(others - logsumexp(others)[..., None] + own)  # (M, K)
        mixed = np.log(theta - (np.arange(domains) == cut.domain[place]) + 0.5)[:, None]
        rest = (mixed + predicted.sum(axis=1, keepdims=True) - predicted).T
        total += float(logsumexp(rest - logsumexp(rest)[:, None] + predicted.T).sum())
    return total
