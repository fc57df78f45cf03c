"""The answer of a TPP inference, and the likelihood that compares two answers.

With everything else integrated out, a worker's vote on one pair has the probability

    P(k prefers i to j in query l | domain m) = Phi( tau_km (s_i - s_j) / sqrt(2 + 2 delta_l^2 tau_km^2) ),

which is Phi(sgn(tau)(s_i - s_j) / sqrt(2/tau^2 + 2 delta^2)), written so that tau = 0 is a fair coin. Votes of one
worker within a query share perceived scores. Treating them as independent gives a composite likelihood,
sum_l ln sum_m theta_m prod over votes P^weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers
from crowdrank.models.predictors import values_at, with_ties
from crowdrank.models.thurstonian.types import GRID, Types
from crowdrank.prepared.panels import Panel


@dataclass(frozen=True, eq=False)
class Answer:
    """The parameters of TPP: N items, Q queries, K workers, M domains.

    ``trace`` has a dictionary per round: ``domain`` (the likeliest one of each query) and ``log_likelihood``.
    """

    score: Floats
    difficulty: Floats
    """delta^2 of each query (Q), 1 on average."""
    domain: Floats
    """The probability of each domain for each query (Q, M)."""
    tau: Floats
    """Expertise and truthfulness of each worker in each domain (K, M). Negative means malicious."""
    theta: Floats
    """The share of each domain (M)."""
    converged: bool
    rounds: int
    trace: list[dict[str, Any]]

    def rescale(self, sharpest: float) -> Answer:
        """The same answer, rescaled so that the largest |tau| is ``sharpest`` (eq. 15)."""
        unit = float(np.abs(self.tau).max()) / sharpest or 1.0
        return replace(self, score=self.score * unit, difficulty=self.difficulty * unit**2, tau=self.tau / unit)

    def keep_domains(self, kept: Integers) -> Answer:
        """The same answer with only these domains, in this order."""
        domain, theta = self.domain[:, kept], self.theta[kept]
        return replace(
            self,
            domain=domain / domain.sum(axis=1, keepdims=True),
            tau=self.tau[:, kept],
            theta=theta / theta.sum(),
        )


def domain_log_likelihoods(shard: Panel, score: Floats, difficulty: Floats, tau: Floats) -> Floats:
    """Composite log-likelihood of each query of the shard in each domain (queries, M).

    ``score`` and ``difficulty`` cover only the nodes and queries of the shard.
    """
    from scipy.special import log_ndtr

    own = tau[shard.cells.worker]
    slope = own / np.sqrt(2.0 + 2.0 * difficulty[shard.cells.query, None] * own**2)
    ahead = score[shard.i] - score[shard.j]
    totals = np.zeros((shard.queries, tau.shape[1]))
    for sign, weight in ((1.0, shard.wins), (-1.0, shard.losses)):
        some = np.flatnonzero(weight)
        place, cell = shard.query[shard.i[some]], shard.cell[some]
        for domain in range(tau.shape[1]):
            terms = weight[some] * log_ndtr(sign * ahead[some] * slope[cell, domain])
            totals[:, domain] += np.bincount(place, terms, shard.queries)
    return totals


def log_mixture(log_likelihoods: Floats, theta: Floats) -> Floats:
    """ln sum_m theta_m exp(log-likelihood_m) for each query."""
    with np.errstate(divide="ignore"):
        return cast(Floats, np.logaddexp.reduce(log_likelihoods + np.log(theta), axis=1))


def log_likelihood(shards: list[Panel], score: Floats, difficulty: Floats, tau: Floats, theta: Floats) -> float:
    """The composite log-likelihood of all votes."""
    parts = []
    for shard in shards:
        queries = slice(shard.first_query, shard.first_query + shard.queries)
        parts.append(
            log_mixture(domain_log_likelihoods(shard, score[shard.nodes], difficulty[queries], tau), theta)
        )
    return float(np.concatenate(parts).sum())


ROWS = 1 << 15
"""Votes predicted at a time."""


@dataclass(frozen=True, eq=False)
class TPPPredictor:
    """Predicts votes by averaging over the domains of the query and the types of the worker."""

    scores: Floats
    query: NDArray[np.int32]
    answer: Answer
    types: Floats
    crowd: Types
    tie: float

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        found = np.empty(len(left))
        for start in range(0, len(left), ROWS):
            rows = slice(start, start + ROWS)
            found[rows] = self._left(left[rows], right[rows], None if worker is None else worker[rows])
        return with_ties(found, self.tie)

    def _left(self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None) -> Floats:
        from scipy.special import ndtr

        ahead = values_at(self.scores, left, 0.0) - values_at(self.scores, right, 0.0)
        query = np.where(left >= 0, self.query[left], np.where(right >= 0, self.query[right], -1))
        domain = values_at(self.answer.domain, query, self.answer.theta)
        hard = values_at(self.answer.difficulty, query, float(self.answer.difficulty.mean()))
        crowd = np.exp(self.crowd.log)
        likely = np.zeros((len(left), len(GRID)))
        for place, types in enumerate(self.types):
            own = crowd if worker is None else values_at(types, worker, crowd)
            likely += domain[:, place, None] * own
        slope = GRID / np.sqrt(2.0 * (1.0 + GRID**2 * hard[:, None]))
        return np.asarray((likely * ndtr(slope * ahead[:, None])).sum(axis=1))
