"""Merges queries into domains if the same workers judge them alike.

Every query starts as its own domain. Each step merges the two domains whose union explains the votes best,

    gain(a, b) = sum_k ln sum_tau G(tau) exp(L_{a,k}(tau) + L_{b,k}(tau))  -  the same for a and b alone,

each in its better direction, because the sign of a query's scores and of its workers' tau is free. Nothing is
random, so the result does not depend on a start. One run gives every number of domains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers
from crowdrank.models.thurstonian.types import evidence, favors_reversal, logsumexp, mirror


@dataclass(frozen=True)
class Cut:
    """The domain of each query, and its sign: -1 if its scores must be reversed to agree with the domain."""

    domain: Integers
    sign: Integers

    def orient(self, profile: Floats) -> Floats:
        """The likelihoods of the queries (Q, K, T), each in its direction."""
        return np.where(self.sign[:, None, None] > 0, profile, mirror(profile))

    def sums(self, profile: Floats) -> Floats:
        """L_{m,k}(tau) for each domain (M, K, T)."""
        own = self.orient(profile)
        return np.stack([own[self.domain == number].sum(axis=0) for number in range(self.domain.max() + 1)])


def merge_queries(profile: Floats, prior: Floats, most: int) -> dict[int, Cut]:
    """Merge queries with these likelihoods (Q, K, T); returns a cut for each number of domains up to ``most``."""
    count = len(profile)
    like, sign, domain = profile.copy(), np.ones(count, np.int64), np.arange(count)
    alone = _best_evidence(like, prior)
    gain, turn = np.full((count, count), -np.inf), np.zeros((count, count), bool)
    for place in range(count):
        gain[place], turn[place] = _gains(like, alone, place, prior)
    np.fill_diagonal(gain, -np.inf)
    found = {}
    for left in range(count, 0, -1):
        if left <= most:
            found[left] = _orient_domains(like, domain, sign, prior)
        if left == 1:
            break
        one, other = sorted(int(place) for place in np.unravel_index(gain.argmax(), gain.shape))
        moved, opposite = domain == other, turn[one, other]
        like[one] += mirror(like[other]) if opposite else like[other]
        sign[moved] *= -1 if opposite else 1
        domain[moved] = one
        alone[one] = _best_evidence(like[one], prior)
        gone = np.isneginf(gain).all(axis=0) | (np.arange(count) == other)
        gain[one], turn[one] = _gains(like, alone, one, prior)
        gain[one, gone] = gain[one, one] = -np.inf
        gain[:, one], turn[:, one] = gain[one], turn[one]
        gain[other] = gain[:, other] = -np.inf
    return found


def _best_evidence(like: Floats, prior: Floats) -> Floats:
    """The evidence in the better direction."""
    return np.maximum(evidence(like, prior), evidence(mirror(like), prior))


def _gains(like: Floats, alone: Floats, place: int, prior: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The gain of merging each domain with the one at ``place``, and whether one of the two must be reversed."""
    same, opposite = (_best_evidence(like[place] + other, prior) for other in (like, mirror(like)))
    return np.maximum(same, opposite) - alone - alone[place], opposite > same


def _orient_domains(like: Floats, domain: Integers, sign: Integers, prior: Floats) -> Cut:
    """Domains numbered from 0, each in its better direction."""
    names, numbered = np.unique(domain, return_inverse=True)
    return Cut(numbered, np.where(favors_reversal(like[names], prior)[numbered], -sign, sign))


def held_out_log_likelihoods(profile: Floats, cut: Cut, prior: Floats) -> Floats:
    """ln P of each worker's votes on each query (Q, K), predicted from all other votes.

    The query's domain is predicted from its other workers, the worker's expertise from the other queries.
    """
    like, sums = cut.orient(profile), cut.sums(profile)
    sizes = np.bincount(cut.domain)
    found = np.empty(profile.shape[:2])
    for place, own in enumerate(like):
        here = np.arange(len(sizes)) == cut.domain[place]
        others = sums - here[:, None, None] * own + prior
        predicted = logsumexp(others - logsumexp(others)[..., None] + own).T  # (K, M)
        rest = np.log(sizes - here + 0.5) + predicted.sum(axis=0) - predicted
        found[place] = logsumexp(rest - logsumexp(rest)[:, None] + predicted)
    return found
