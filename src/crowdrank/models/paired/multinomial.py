"""The multinomial likelihood of the Multinomial Preference Model, and its maximum under a fixed mean adherence.

With u_i = theta_k v_i, A = sum_i e^u_i, B = sum_j e^-u_j over the m items of a query, a_i = e^u_i / A,
b_i = e^-u_i / B and r = m / (A B) <= 1 / m,

    ln Z       = ln A + ln B + ln(1 - r)
    d ln Z/du  = (a - b) / (1 - r)                                     =: g
    d2 ln Z/du = [diag(a + b) - a b' - b a'] / (1 - r) - g g'          =: H

so a worker with n votes of the query and net wins w (wins less losses of each item) adds

    value          theta w'v - n ln Z
    by v           theta (w - n g)                   by theta       v'(w - n g)
    -d2 by v       n theta^2 H                       -d2 by theta   n v'H v
    -d2 by both    n theta H v - (w - n g)

H is a covariance, so the blocks of the scores and of the adherences are positive definite under any prior; only
what is left of one when the other is eliminated need not be. (v, theta) and (c v, theta / c) are the same
votes: the sum of the adherences is held at their number, in every step and in the inverse information.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Comparisons, Floats
from crowdrank.engine import Stats
from crowdrank.solve import Covariance, Step, accumulate
from crowdrank.solve.matrices import Matrix, cholesky_of, inverse_from

Nodes = NDArray[np.int64]
FEW_SCORES = 4000
"""With more scores than this the scores are eliminated, query by query, and not the workers."""


@dataclass(frozen=True, eq=False)
class NetWins(Stats):
    """For each worker the wins less the losses of each node, ``net`` (K, N), and the weight of the votes
    of each query, ``count`` (K, Q): all that the likelihood asks of the votes."""

    net: Matrix
    count: Matrix


@dataclass(frozen=True, eq=False)
class NetSums:
    """The sums of the votes; ``query`` is that of each node."""

    query: NDArray[np.int32]
    queries: int

    def wins(self, shard: Comparisons, params: None) -> NetWins:
        """The sums over one shard."""
        assert shard.worker is not None
        net = shard.wins - shard.losses
        worker = np.concatenate([shard.worker, shard.worker])
        node, both = np.concatenate([shard.i, shard.j]), np.concatenate([net, -net])
        return NetWins(
            accumulate(worker, node, both, (shard.workers, shard.nodes)),
            accumulate(shard.worker, self.query[shard.i], shard.weight, (shard.workers, self.queries)),
        )


@dataclass(frozen=True, eq=False)
class Ballot:
    """One query: its ``nodes`` (m,), the ``workers`` (k,) who judged it, their net wins (k, m) and votes (k,)."""

    nodes: Nodes
    workers: Nodes
    net: Floats
    count: Floats

    def log_partition(self, scores: Floats, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """ln Z (k,), a and b (k, m), and 1 - r (k, 1) for each worker."""
        u = theta[self.workers, None] * scores[self.nodes]
        up, down = u.max(axis=1, keepdims=True), u.min(axis=1, keepdims=True)
        a, b = np.exp(u - up), np.exp(down - u)
        total_a, total_b = a.sum(axis=1, keepdims=True), b.sum(axis=1, keepdims=True)
        rest = 1.0 - len(self.nodes) * np.exp(down - up) / (total_a * total_b)
        logs = up - down + np.log(total_a) + np.log(total_b) + np.log(rest)
        return logs[:, 0], a / total_a, b / total_b, rest

    def terms(self, scores: Floats, theta: Floats) -> QueryTerms:
        """Value, gradient and curvature of the log likelihood of this query."""
        own, v = theta[self.workers], scores[self.nodes]
        logs, a, b, rest = self.log_partition(scores, theta)
        g = (a - b) / rest
        left = self.net - self.count[:, None] * g
        along, beside = a @ v, b @ v
        bent = ((a + b) * v - a * beside[:, None] - b * along[:, None]) / rest - g * (g @ v)[:, None]
        pull = self.count * own**2
        weighted = pull[:, None] / rest * a
        both = weighted.T @ b
        items = -(both + both.T) - (pull[:, None] * g).T @ g
        items[np.diag_indices(len(v))] += (pull[:, None] / rest * (a + b)).sum(axis=0)
        return QueryTerms(
            value=float(own @ (self.net @ v) - self.count @ logs),
            scores=own @ left,
            workers=left @ v,
            items=items,
            coupling=((self.count * own)[:, None] * bent - left).T,
            workers_curvature=self.count * (bent @ v),
        )


@dataclass(frozen=True, eq=False)
class QueryTerms:
    """Value and gradient of one query, and minus the second derivatives: ``items`` (m, m), ``coupling``
    (m, k), ``workers_curvature`` (k,)."""

    value: float
    scores: Floats
    workers: Floats
    items: Floats
    coupling: Floats
    workers_curvature: Floats


def ballots(net: Any, count: Any, query: NDArray[np.int32], judged: NDArray[np.bool_]) -> list[Ballot]:
    """The queries, from the sums over the votes."""
    by_query, by_node = count.T, net.T
    if not isinstance(count, np.ndarray):
        by_query = by_query.tocsr()
    if not isinstance(net, np.ndarray):
        by_node = by_node.tocsr()
    found = []
    ends = np.searchsorted(query, np.arange(by_query.shape[0] + 1))
    for place in range(by_query.shape[0]):
        nodes = np.arange(ends[place], ends[place + 1])
        nodes = nodes[judged[nodes]]
        votes = _dense(by_query[[place]])[0]
        workers = np.flatnonzero(votes)
        if len(workers):
            found.append(Ballot(nodes, workers, _dense(by_node[nodes])[:, workers].T, votes[workers]))
    return found


def _dense(matrix: Any) -> Floats:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


@dataclass(frozen=True)
class Strengths:
    """Precisions of the normal priors: of the scores around 0, of the adherences around 1."""

    scores: float
    workers: float


@dataclass(frozen=True, eq=False)
class Adherences:
    """A point: ``scores`` (N,), and the adherence of each worker, ``theta`` (K,), with the votes at it."""

    ballots: Sequence[Ballot]
    scores: Floats
    theta: Floats

    @cached_property
    def parts(self) -> list[QueryTerms]:
        """The terms of each query."""
        return [ballot.terms(self.scores, self.theta) for ballot in self.ballots]

    @cached_property
    def log_likelihood(self) -> float:
        """The log likelihood of the votes."""
        return float(sum(part.value for part in self.parts))


@dataclass(frozen=True, eq=False)
class MultinomialProblem:
    """The likelihood under these priors; the sum of the adherences is held."""

    strengths: Strengths

    def look(self, point: Adherences) -> MultinomialLook:
        """Value, gradient and curvature at a point."""
        return MultinomialLook(point, self.strengths)


@dataclass(frozen=True, eq=False)
class MultinomialLook:
    """Everything known at a point: the penalized value, its gradient and curvature."""

    point: Adherences
    strengths: Strengths

    @property
    def ballots(self) -> Sequence[Ballot]:
        """The queries."""
        return self.point.ballots

    @property
    def scores(self) -> Floats:
        """The scores of the point."""
        return self.point.scores

    @property
    def theta(self) -> Floats:
        """The adherences of the point."""
        return self.point.theta

    @property
    def parts(self) -> list[QueryTerms]:
        """The terms of each query."""
        return self.point.parts

    @property
    def log_likelihood(self) -> float:
        """The log likelihood of the votes."""
        return self.point.log_likelihood

    @cached_property
    def value(self) -> float:
        """With the log priors."""
        away = self.strengths.workers * ((self.theta - 1.0) ** 2).sum()
        return float(self.log_likelihood - 0.5 * (away + self.strengths.scores * (self.scores**2).sum()))

    @cached_property
    def by_score(self) -> Floats:
        """The gradient by the scores."""
        total = -self.strengths.scores * self.scores
        for ballot, part in zip(self.ballots, self.parts, strict=True):
            total[ballot.nodes] += part.scores
        return total

    @cached_property
    def by_worker(self) -> Floats:
        """The gradient by the adherences."""
        total = -self.strengths.workers * (self.theta - 1.0)
        for ballot, part in zip(self.ballots, self.parts, strict=True):
            total[ballot.workers] += part.workers
        return total

    @cached_property
    def own(self) -> Floats:
        """The curvature of each adherence."""
        total = np.full(len(self.theta), self.strengths.workers)
        for ballot, part in zip(self.ballots, self.parts, strict=True):
            total[ballot.workers] += part.workers_curvature
        return total

    @property
    def slope(self) -> float:
        """The steepest slope along which the sum of the adherences stays."""
        free = self.by_worker - self.by_worker.mean()
        return float(max(np.abs(self.by_score).max(), np.abs(free).max()))

    def step(self, damping: float) -> Step[Adherences]:
        """The damped Newton step."""
        scores, theta = HeldInverse.of(self, damping).solve(self.by_score, self.by_worker)
        return Step(
            Adherences(self.ballots, self.scores + scores, self.theta + theta),
            size=float(max(np.abs(scores).max(), np.abs(theta).max())),
            gain=float(self.by_score @ scores + self.by_worker @ theta),
        )


class HeldInverse(Covariance):
    """The inverse information, the sum of the adherences being held."""

    @abstractmethod
    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """The Newton step for this gradient (N,), (K,)."""

    @abstractmethod
    def score_variance(self) -> Floats:
        """Variance of each score."""

    @staticmethod
    def of(here: MultinomialLook, damping: float = 0.0) -> HeldInverse:
        """By the smaller of two eliminations; NotPositiveError where this is not near a maximum."""
        few = len(here.theta) >= len(here.scores) and len(here.scores) <= FEW_SCORES
        return WorkersOut(here, damping) if few else ScoresOut(here, damping)


class WorkersOut(HeldInverse):
    """S = items - coupling P coupling', P being the inverse of the workers' diagonal with the sum held."""

    def __init__(self, here: MultinomialLook, damping: float) -> None:
        count, self.inverse = len(here.scores), 1.0 / (here.own * (1.0 + damping))
        self.coupling = np.zeros((count, len(here.theta)))
        items = np.zeros((count, count))
        items[np.diag_indices(count)] = here.strengths.scores * (1.0 + damping)
        for ballot, part in zip(here.ballots, here.parts, strict=True):
            items[np.ix_(ballot.nodes, ballot.nodes)] += part.items + damping * np.diag(part.items.diagonal())
            self.coupling[np.ix_(ballot.nodes, ballot.workers)] += part.coupling
        self.weighted = self._project(self.coupling)
        self.cholesky = cholesky_of(items - self.weighted @ self.coupling.T)

    def _project(self, rows: Floats) -> Floats:
        """Rows times P = D^-1 - D^-1 e e' D^-1 / e' D^-1 e."""
        scaled = rows * self.inverse
        share = self.inverse / self.inverse.sum()
        return np.asarray(scaled - np.multiply.outer(scaled.sum(axis=-1), share))

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """The Newton step for this gradient."""
        from scipy.linalg import cho_solve

        step = cho_solve(self.cholesky, scores - self.weighted @ workers)
        return step, self._project(workers - step @ self.coupling)

    @cached_property
    def _scores(self) -> Floats:
        return inverse_from(self.cholesky)

    def block(self, nodes: Nodes) -> Floats:
        """Covariance of the scores of these nodes."""
        return self._scores[np.ix_(nodes, nodes)]

    def score_variance(self) -> Floats:
        """Variance of each score."""
        return self._scores.diagonal()

    def worker_variance(self) -> Floats:
        """Variance of each adherence (K, 1)."""
        own = self.inverse * (1.0 - self.inverse / self.inverse.sum())
        return (own + np.einsum("nk,nk->k", self.weighted, self._scores @ self.weighted))[:, None]


class ScoresOut(HeldInverse):
    """T = workers - coupling' items^-1 coupling, query by query; rho e e' is added, which no step sees."""

    def __init__(self, here: MultinomialLook, damping: float) -> None:
        from scipy.linalg import cho_solve

        self.ballots, self.prior = here.ballots, here.strengths.scores * (1.0 + damping)
        own = here.own * (1.0 + damping)
        schur, taken = np.diag(own), 0.0
        self.factors, self.weighted = [], []
        for ballot, part in zip(here.ballots, here.parts, strict=True):
            items = part.items + np.diag(damping * part.items.diagonal() + self.prior)
            factor = cholesky_of(items)
            weighted = cho_solve(factor, part.coupling)
            away = part.coupling.T @ weighted
            schur[np.ix_(ballot.workers, ballot.workers)] -= away
            taken += float(away.trace())
            self.factors.append(factor)
            self.weighted.append(weighted)
        schur += (own.sum() + taken) / len(own)
        whole = inverse_from(cholesky_of(schur))
        held = whole.sum(axis=1)
        self.workers = whole - np.outer(held, held) / held.sum()

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """The Newton step for this gradient."""
        from scipy.linalg import cho_solve

        rest, step = workers.copy(), scores / self.prior
        for ballot, weighted in zip(self.ballots, self.weighted, strict=True):
            rest[ballot.workers] -= weighted.T @ scores[ballot.nodes]
        own = self.workers @ rest
        for ballot, factor, weighted in zip(self.ballots, self.factors, self.weighted, strict=True):
            step[ballot.nodes] = cho_solve(factor, scores[ballot.nodes]) - weighted @ own[ballot.workers]
        return step, own

    @cached_property
    def _home(self) -> dict[int, tuple[int, int]]:
        return {
            int(node): (number, place)
            for number, ballot in enumerate(self.ballots)
            for place, node in enumerate(ballot.nodes)
        }

    def _query(self, number: int) -> Floats:
        workers = self.ballots[number].workers
        weighted = self.weighted[number]
        own = inverse_from(self.factors[number])
        return own + weighted @ self.workers[np.ix_(workers, workers)] @ weighted.T

    def block(self, nodes: Nodes) -> Floats:
        """Covariance of the scores of these nodes, which are of one query."""
        homes = [self._home.get(int(node)) for node in nodes]
        if homes[0] is None:  # judged by nobody, so alone
            return np.full((1, 1), 1.0 / self.prior)
        number, place = homes[0][0], [home[1] for home in homes if home is not None]
        return self._query(number)[np.ix_(place, place)]

    def score_variance(self) -> Floats:
        """Variance of each judged score, in the order of the queries."""
        return np.concatenate([self._query(number).diagonal() for number in range(len(self.ballots))])

    def worker_variance(self) -> Floats:
        """Variance of each adherence (K, 1)."""
        return self.workers.diagonal()[:, None]
