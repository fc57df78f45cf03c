"""The sums of a round of the grid inference over a shard of whole queries; see ``rounds`` for the equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers
from crowdrank.engine import Stats, local_part
from crowdrank.models.thurstonian.rounds import (
    CellFits,
    ShardState,
    adjust_difficulty,
    climb_scores,
    couple_terms,
    fit_alone,
    fit_by_domains,
    merge_fits,
    reverse_queries,
    slopes,
    spread_terms,
    sum_by_query,
    sum_by_worker,
)
from crowdrank.models.thurstonian.types import mirror
from crowdrank.prepared.panels import Panel


@dataclass(frozen=True, eq=False)
class GridRound:
    """The input of every round: ln of the ``prior`` of each worker (K, T), the ``precision`` of the scores, the
    variance ``width`` of ln delta^2, and whether the round ``may_reverse`` queries."""

    prior: Floats
    precision: float
    width: float
    may_reverse: bool


@dataclass(frozen=True, eq=False)
class AloneRound(GridRound):
    """A round that fits each query alone and counts the types of the first ``learned`` workers."""

    learned: int


@dataclass(frozen=True, eq=False)
class DomainRound(GridRound):
    """A round by domains: L_{m,k}(tau) (M, K, T), the shares ``theta`` of the domains, the domains to ``reverse``
    first, if any, and the ``known`` domain of each query, or -1 if it is unknown."""

    like: Floats
    theta: Floats
    reverse: NDArray[np.bool_] | None = None
    known: Integers | None = None


@dataclass(frozen=True, eq=False)
class Placement:
    """Domains (Q, M) and directions (Q) to give to all queries."""

    domain: Floats
    sign: Floats


@dataclass(frozen=True, eq=False)
class ChosenQueries:
    """Which queries to return (Q)."""

    chosen: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RoundSums(Stats):
    """|s|^2 + tr V, how far the scores ``moved``, ln P of the votes, the queries of each domain, and what they
    show about the ``width`` (``spread_terms``)."""

    spread: float
    moved: float
    evidence: float
    domains: Floats
    width: Floats


@dataclass(frozen=True, eq=False)
class AloneSums(RoundSums):
    """Also how many workers have each type, and how informative the votes of each query are."""

    types: Floats
    information: Floats = local_part()


@dataclass(frozen=True, eq=False)
class DomainSums(RoundSums):
    """Also L_{m,k}(tau) at the state after the round."""

    like: Floats


@dataclass(frozen=True, eq=False)
class DomainLikes(Stats):
    """L_{m,k}(tau) (M, K, T)."""

    like: Floats


@dataclass(frozen=True, eq=False)
class Profiles(Stats):
    """L_c(tau) of the chosen queries (chosen, K, T)."""

    profile: Floats = local_part()


class GridSums:
    """The rounds over a shard, whose state is a ``ShardState``.

    ``workers``: how many have their own expertise. ``by_query``: every query has its own difficulty.
    """

    workers: int
    by_query: bool

    def __init__(self, workers: int, *, by_query: bool) -> None:
        self.workers, self.by_query = workers, by_query

    def start(self, shard: Panel, seed: int) -> ShardState:
        """All scores are 0, and delta^2 of every query is 1, the noise of the sharpest workers."""
        return ShardState.at(
            shard, np.zeros(len(shard.query)), np.zeros(shard.queries), np.ones((shard.queries, 1))
        )

    def fit_alone(self, shard: Panel, at: AloneRound, state: ShardState) -> tuple[AloneSums, ShardState]:
        """Fit each query alone, and measure how informative it is."""
        prior = at.prior[shard.cells.worker]
        found, state = self._fit_better_direction(
            shard, at.may_reverse, state, lambda like: fit_alone(shard, like, prior)
        )
        sums, after = self._step(shard, at, found, state)
        types = found.weight[shard.cells.worker < at.learned].sum(axis=0)
        guess = np.log(0.5) * sum_by_query(shard, shard.cells.weight)
        return AloneSums(*sums, types, found.evidence - guess), after

    def fit_by_domains(self, shard: Panel, at: DomainRound, state: ShardState) -> tuple[DomainSums, ShardState]:
        """A round by domains, with the sums at the state after it."""
        if at.reverse is not None:
            state = reverse_queries(shard, at.reverse[state.domain.argmax(axis=1)], state)
        worker, before = shard.cells.worker, state
        prior, others = at.prior[worker], at.like[:, worker].transpose(1, 0, 2)
        found, state = self._fit_better_direction(
            shard,
            at.may_reverse,
            state,
            lambda like: fit_by_domains(shard, like, prior, others, before, at.theta, at.known),
        )
        sums, after = self._step(shard, at, found, state)
        return DomainSums(*sums, sum_by_worker(shard, after.domain, after.like, self.workers)), after

    def place_queries(self, shard: Panel, at: Placement, state: ShardState) -> tuple[DomainLikes, ShardState]:
        """Give the queries these domains and directions; returns the sums at that state."""
        own = slice(shard.first_query, shard.first_query + shard.queries)
        state = replace(reverse_queries(shard, at.sign[own] < 0, state), domain=at.domain[own])
        return DomainLikes(sum_by_worker(shard, state.domain, state.like, self.workers)), state

    def profiles(self, shard: Panel, at: ChosenQueries, state: ShardState) -> Profiles:
        """L_c(tau) of the chosen queries at the current state."""
        own = at.chosen[shard.first_query : shard.first_query + shard.queries]
        cells = np.flatnonzero(own[shard.cells.query])
        found = np.zeros((int(own.sum()), self.workers, state.like.shape[1]))
        found[(np.cumsum(own) - 1)[shard.cells.query[cells]], shard.cells.worker[cells]] = state.like[cells]
        return Profiles(found)

    def read(self, shard: Panel, params: None, state: ShardState) -> ShardState:
        """The current state."""
        return state

    def _fit_better_direction(
        self, shard: Panel, may_reverse: bool, state: ShardState, fit: Callable[[Floats], CellFits]
    ) -> tuple[CellFits, ShardState]:
        """The fits of the cells. If reversal is allowed, each query takes its better direction."""
        found = fit(state.like)
        if not may_reverse:
            return found, state
        other = fit(mirror(state.like))
        reversal = other.evidence > found.evidence + 1e-9
        if not reversal.any():
            return found, state
        return merge_fits(shard, reversal, found, other), reverse_queries(shard, reversal, state)

    def _step(
        self, shard: Panel, at: GridRound, found: CellFits, state: ShardState
    ) -> tuple[tuple[float, float, float, Floats, Floats], ShardState]:
        """The sums of the round, and the state after a Newton step."""
        slope = slopes(shard, couple_terms(shard, state), found.weight)
        after = climb_scores(shard, replace(state, domain=found.domain), slope, at.precision)
        moved = float(np.square(after.score - state.score).sum())
        width = spread_terms(shard, after, slope.share, at.precision)
        if self.by_query:
            after = adjust_difficulty(shard, after, slope.share, at.precision, at.width)
        after = after.with_likelihood(shard)
        judged = sum_by_query(shard, shard.cells.weight) > 0
        domains = found.domain[judged].sum(axis=0)
        return (float(after.spread.sum()), moved, float(found.evidence.sum()), domains, width), after
