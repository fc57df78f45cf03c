"""The multinomial likelihood of the Multinomial Preference Model.

With u_i = theta_k v_i, A = sum_i e^u_i, B = sum_j e^-u_j over the m items of a query, a_i = e^u_i / A,
b_i = e^-u_i / B and r = m / (A B) <= 1 / m,

    ln Z       = ln A + ln B + ln(1 - r)
    d ln Z/du  = (a - b) / (1 - r)                                     =: g
    d2 ln Z/du = [diag(a + b) - a b' - b a'] / (1 - r) - g g'          =: H

so a worker with n votes on the query and net wins w (wins minus losses of each item) adds

    value          theta w'v - n ln Z
    by v           theta (w - n g)                   by theta       v'(w - n g)
    -d2 by v       n theta^2 H                       -d2 by theta   n v'H v
    -d2 by both    n theta H v - (w - n g)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.engine import Stats
from crowdrank.prepared.comparisons import Comparisons
from crowdrank.solve import accumulate
from crowdrank.solve.matrices import Matrix

Nodes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NetWins(Stats):
    """For each worker, wins minus losses of each node, ``net`` (K, N), and the weight of the votes on each query,
    ``count`` (K, Q). The likelihood needs nothing else from the votes."""

    net: Matrix
    count: Matrix


@dataclass(frozen=True, eq=False)
class NetSums:
    """The sums of the votes; ``query`` is the query of each node."""

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


def split_by_query(net: Any, count: Any, query: NDArray[np.int32], judged: NDArray[np.bool_]) -> list[Ballot]:
    """The votes on each query, from the sums over the votes."""
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
    """Precisions of the normal priors: scores around 0, adherences around 1."""

    scores: float
    workers: float


@dataclass(frozen=True, eq=False)
class MultinomialPoint:
    """A point with the votes: ``scores`` (N,), and the adherence of each worker, ``theta`` (K,)."""

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
