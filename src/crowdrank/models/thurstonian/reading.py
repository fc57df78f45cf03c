"""Uncertainty of the scores of a TPP answer, and the quality of each worker in each domain.

Votes of one worker on one query share perceived scores, so they are not independent, and the inverse of the
curvature H of the composite likelihood would be too narrow. In the model, two votes r, r' of a worker that share
an item have latent errors with covariance delta^2 (its sign depends on the sides of the item). To first order,
their scores u = d ln P / d(s_i - s_j) have

    Cov(u_r, u_r') = +- delta^2 I_r I_r',     I_r the information of a vote (Price's theorem).

Let H_k be the information of worker k's votes, a Laplacian weighted by I. The gradient of the scores has the
covariance

    J = sum_k [ H_k + delta^2 (H_k H_k - 2 sum_r I_r^2 (e_i - e_j)(e_i - e_j)') ] + precision 1,

and the scores have H^-1 J H^-1 (the sandwich). Expertise is averaged over w_c(tau) as if that distribution were
known. What the votes of one query could still add to it changed the errors by less than one in fifty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, summed
from crowdrank.models.thurstonian.grid_sums import DomainLikes
from crowdrank.models.thurstonian.rounds import (
    CoupleTerms,
    ShardState,
    couple_terms,
    invert,
    slopes,
    sum_by_worker,
)
from crowdrank.models.thurstonian.types import GRID, HALF, halves
from crowdrank.prepared.blocks import QueryBlock
from crowdrank.prepared.panels import Panel
from crowdrank.solve import Covariance


@dataclass(frozen=True, eq=False)
class AnswerAt:
    """An answer: ``score`` of each node, ``hard`` (ln delta^2) and ``domain`` (Q, M) of each query."""

    score: Floats
    hard: Floats
    domain: Floats

    def of_shard(self, shard: Panel) -> ShardState:
        """The state of the queries of a shard."""
        own = slice(shard.first_query, shard.first_query + shard.queries)
        return ShardState.at(shard, self.score[shard.nodes], self.hard[own], self.domain[own])


@dataclass(frozen=True, eq=False)
class TypesAt(AnswerAt):
    """Also the posterior ``types`` of workers in each domain (M, K, T), the ``precision`` of the scores, and the
    prior variance ``width`` of ln delta^2."""

    types: Floats
    precision: float
    width: float


class ShardReading(TypedDict):
    """The covariance of each query's scores, the variance of its ln delta^2, how often each tau agrees with
    the order in each domain, and the votes per domain and per worker and domain."""

    covariance: list[Floats]
    hard: Floats
    agreed: Floats
    votes: Floats
    judged: Floats


@dataclass(frozen=True, eq=False)
class Reading:
    """Reads an answer on a shard. ``worker`` is the number of each worker's expertise."""

    worker: Integers

    def likes(self, shard: Panel, at: AnswerAt) -> DomainLikes:
        """L_{m,k}(tau) at the given scores, difficulties and domains."""
        state = at.of_shard(shard)
        found = np.zeros((int(self.worker.max()) + 1, state.domain.shape[1], len(GRID)))
        likes = sum_by_worker(shard, state.domain, state.like, len(self.worker))
        np.add.at(found, self.worker, likes.transpose(1, 0, 2))
        return DomainLikes(found.transpose(1, 0, 2))

    def read(self, shard: Panel, at: TypesAt) -> ShardReading:
        """The reading of the queries and workers of a shard."""
        state = at.of_shard(shard)
        couples = couple_terms(shard, state)
        row, query = self.worker[shard.cells.worker], shard.cells.query
        types = at.types[:, row].transpose(1, 0, 2)  # (C, M, T)
        weight = (state.domain[query][:, :, None] * types).sum(axis=1)
        slope = slopes(shard, couples, weight)
        size = summed(shard.query, state.score**2, shard.queries)
        votes = shard.votes.sum(axis=0).reshape(2, -1).sum(axis=0)[:, None]
        share = state.domain[shard.couples.query]
        weights = shard.cells.weight[:, None]
        return {
            "covariance": _covariances(shard, couples, weight, slope.curvature, state, at.precision),
            "hard": at.width / (1.0 + at.width * 2.0 * slope.share**2 * at.precision * size),
            "agreed": share.T @ (votes * np.exp(np.maximum(couples.log_win, couples.log_lose))),
            "votes": share.T @ votes[:, 0],
            "judged": sum_by_worker(shard, state.domain, weights, len(self.worker))[..., 0],
        }


def _covariances(
    shard: Panel, at: CoupleTerms, weight: Floats, curvature: Floats, state: ShardState, precision: float
) -> list[Floats]:
    """H^-1 J H^-1 for each query that has nodes, in order."""
    pair, count = shard.couples.row, len(at.x)
    honest, false = halves(weight)
    each = ((honest + false)[shard.cell] * (at.slope**2 * at.pull * at.push)[pair]).sum(axis=1)  # I_r of one vote
    votes = shard.wins + shard.losses
    single, alike = (summed(pair, votes * power, count) for power in (each, each**2))
    delta = np.exp(state.hard)
    found: dict[int, Floats] = {}
    for block in shard.blocks:
        ridge = precision * np.eye(block.nodes.shape[1])
        own = delta[shard.query[block.nodes[:, 0]]][:, None, None]
        shared = _squares(block, shard, votes * each) - 2.0 * block.laplacian(alike)
        noise = block.laplacian(single) + own * shared + ridge
        bread = invert(block.laplacian(curvature) + ridge)
        for query, covariance in zip(shard.query[block.nodes[:, 0]], bread @ noise @ bread, strict=True):
            found[int(query)] = covariance
    return [found[query] for query in sorted(found)]


def _squares(block: QueryBlock, shard: Panel, weight: Floats) -> Floats:
    """sum_k H_k H_k for each query (c, D, D). H_k is the weighted Laplacian of the rows of one cell."""
    from scipy.sparse import coo_array

    count, size = block.nodes.shape
    place = np.full(len(shard.couples.i), -1)
    place[block.pairs] = np.arange(len(block.pairs))
    rows = np.flatnonzero(place[shard.couples.row] >= 0)
    own, pair = weight[rows], place[shard.couples.row[rows]]
    base = np.unique(shard.cell[rows], return_inverse=True)[1] * size
    left, right = block.i[pair], block.j[pair]
    i, j = base + left % size, base + right % size
    rows, columns = np.concatenate([i, j, i, j]), np.concatenate([left, right, right, left])
    values = np.concatenate([own, own, -own, -own])
    stacked = coo_array((values, (rows, columns)), shape=(int(base.max(initial=0)) + size, count * size)).tocsr()
    return _blocks((stacked.T @ stacked).tocoo(), count, size)


def _blocks(matrix: Any, count: int, size: int) -> Floats:
    """The diagonal blocks of a sparse matrix (c, D, D)."""
    row, column = matrix.coords
    flat = summed(row.astype(np.int64) * size + column % size, matrix.data, count * size * size)
    return flat.reshape(count, size, size)


@dataclass(frozen=True, eq=False)
class QueryCovariance(Covariance):
    """The covariance of the scores: a matrix for each query that has nodes."""

    query: NDArray[np.int32]
    blocks: list[Floats]
    unit: float

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        """The covariance of the nodes of one part."""
        present, number = np.unique(self.query, return_inverse=True)
        start = np.searchsorted(number, np.arange(len(present)))
        own = int(number[nodes[0]])
        place = nodes - start[own]
        return self.unit**2 * self.blocks[own][np.ix_(place, place)]


def quantiles(types: Floats, levels: tuple[float, ...]) -> Floats:
    """Where the distribution over the grid (..., T) reaches each level, interpolated between its points."""
    edges = np.concatenate([GRID[:1], (GRID[1:] + GRID[:-1]) / 2, GRID[-1:]])
    flat = types.reshape(-1, len(GRID))
    below = np.concatenate([np.zeros((len(flat), 1)), np.cumsum(flat, axis=1)], axis=1)
    found = np.array([np.interp(levels, np.maximum.accumulate(own), edges) for own in below])
    return found.reshape(*types.shape[:-1], len(levels))


def agreement(curve: Floats, tau: Floats) -> Floats:
    """How often workers with these tau (M, ...) agree with the order; ``curve`` (M, H): the same on the grid."""
    sizes = np.concatenate([[0.0], GRID[HALF + 1 :]])
    above = [
        np.interp(np.abs(own), sizes, np.concatenate([[0.5], line])) for own, line in zip(tau, curve, strict=True)
    ]
    return np.asarray(0.5 + np.sign(tau) * (np.stack(above) - 0.5))
