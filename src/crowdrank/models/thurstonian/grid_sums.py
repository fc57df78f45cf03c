"""What a round of the fast inference sums over a shard of whole queries; see ``rounds`` for the equations."""

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
    sum_by_query,
    sum_by_worker,
)
from crowdrank.models.thurstonian.types import mirror
from crowdrank.prepared.panels import Panel


@dataclass(frozen=True, eq=False)
class GridRound:
    """What every round is told: ln of the ``prior`` of each worker (K, T), the ``precision`` of the scores, and
    whether queries may ``turn`` round."""

    prior: Floats
    precision: float
    may_reverse: bool


@dataclass(frozen=True, eq=False)
class AloneRound(GridRound):
    """A round in which every query stands alone; the types of the first ``learned`` workers are counted."""

    learned: int


@dataclass(frozen=True, eq=False)
class DomainRound(GridRound):
    """A round by domains: L_{m,k}(tau) (M, K, T), the shares ``theta`` of the domains, the domains to ``reverse``
    first if there are some, and the ``known`` domain of each query, -1 if it is not known."""

    like: Floats
    theta: Floats
    reverse: NDArray[np.bool_] | None = None
    known: Integers | None = None


@dataclass(frozen=True, eq=False)
class Placement:
    """Domains (Q, M) and directions (Q) that were decided for all queries."""

    domain: Floats
    sign: Floats


@dataclass(frozen=True, eq=False)
class ChosenQueries:
    """Which queries are asked for (Q)."""

    chosen: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RoundSums(Stats):
    """|s|^2 + tr V, how far the scores ``moved``, ln P of the votes, and how common the domains are."""

    spread: float
    moved: float
    evidence: float
    domains: Floats


@dataclass(frozen=True, eq=False)
class AloneSums(RoundSums):
    """With how many workers have each type, and how much the votes of each query tell."""

    types: Floats
    information: Floats = local_part()


@dataclass(frozen=True, eq=False)
class DomainSums(RoundSums):
    """With L_{m,k}(tau) at the state after the round."""

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
    """The rounds over a shard, whose state is ``ShardState``.

    ``workers`` have an expertise of their own; ``by_query``: every query has a difficulty of its own.
    """

    def __init__(self, workers: int, *, by_query: bool) -> None:
        self.workers, self.by_query = workers, by_query

    def start(self, shard: Panel, seed: int) -> ShardState:
        """All items alike, all queries as hard as the sharpest workers are blunt."""
        return ShardState.at(
            shard, np.zeros(len(shard.query)), np.zeros(shard.queries), np.ones((shard.queries, 1))
        )

    def fit_alone(self, shard: Panel, at: AloneRound, state: ShardState) -> tuple[AloneSums, ShardState]:
        """Every query for itself, and how informative each is."""
        prior = at.prior[shard.cells.worker]
        found, state = self._fit_better_direction(
            shard, at.may_reverse, state, lambda like: fit_alone(shard, like, prior)
        )
        sums, after = self._step(shard, at.precision, found, state)
        types = found.weight[shard.cells.worker < at.learned].sum(axis=0)
        guess = np.log(0.5) * sum_by_query(shard, shard.cells.weight)
        return AloneSums(*sums, types, found.evidence - guess), after

    def fit_by_domains(self, shard: Panel, at: DomainRound, state: ShardState) -> tuple[DomainSums, ShardState]:
        """A round by domains; the sums are those at the state after it."""
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
        sums, after = self._step(shard, at.precision, found, state)
        return DomainSums(*sums, sum_by_worker(shard, after.domain, after.like, self.workers)), after

    def place_queries(self, shard: Panel, at: Placement, state: ShardState) -> tuple[DomainLikes, ShardState]:
        """The state with the domains and directions given, and nothing but its sums."""
        own = slice(shard.first_query, shard.first_query + shard.queries)
        state = replace(reverse_queries(shard, at.sign[own] < 0, state), domain=at.domain[own])
        return DomainLikes(sum_by_worker(shard, state.domain, state.like, self.workers)), state

    def profiles(self, shard: Panel, at: ChosenQueries, state: ShardState) -> Profiles:
        """L_c(tau) of the chosen queries as they stand."""
        own = at.chosen[shard.first_query : shard.first_query + shard.queries]
        cells = np.flatnonzero(own[shard.cells.query])
        found = np.zeros((int(own.sum()), self.workers, state.like.shape[1]))
        found[(np.cumsum(own) - 1)[shard.cells.query[cells]], shard.cells.worker[cells]] = state.like[cells]
        return Profiles(found)

    def read(self, shard: Panel, params: None, state: ShardState) -> ShardState:
        """The state as it stands."""
        return state

    def _fit_better_direction(
        self, shard: Panel, may_reverse: bool, state: ShardState, fit: Callable[[Floats], CellFits]
    ) -> tuple[CellFits, ShardState]:
        """The fits of the cells, each query in its better direction if queries may turn."""
        found = fit(state.like)
        if not may_reverse:
            return found, state
        other = fit(mirror(state.like))
        reversal = other.evidence > found.evidence + 1e-9
        if not reversal.any():
            return found, state
        return merge_fits(shard, reversal, found, other), reverse_queries(shard, reversal, state)

    def _step(
        self, shard: Panel, precision: float, found: CellFits, state: ShardState
    ) -> tuple[tuple[float, float, float, Floats], ShardState]:
        """The sums of the round, and the state after a Newton step."""
        slope = slopes(shard, couple_terms(shard, state), found.weight)
        after = climb_scores(shard, replace(state, domain=found.domain), slope, precision)
        moved = float(np.square(after.score - state.score).sum())
        if self.by_query:
            after = adjust_difficulty(shard, after, slope.share, precision)
        after = after.with_likelihood(shard)
        judged = sum_by_query(shard, shard.cells.weight) > 0
        domains = found.domain[judged].sum(axis=0)
        return (float(after.spread.sum()), moved, float(found.evidence.sum()), domains), after
