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
    Local,
    adjust_difficulty,
    alone,
    by_query,
    by_worker,
    climb_scores,
    merge_fits,
    slopes,
    terms,
    together,
    turn_queries,
)
from crowdrank.models.thurstonian.types import mirrored
from crowdrank.prepared.panels import Panel


@dataclass(frozen=True, eq=False)
class GridRound:
    """What every round is told: ln of the ``prior`` of each worker (K, T), the ``precision`` of the scores, and
    whether queries may ``turn`` round."""

    prior: Floats
    precision: float
    turn: bool


@dataclass(frozen=True, eq=False)
class AloneRound(GridRound):
    """A round in which every query stands alone; the types of the first ``learned`` workers are counted."""

    learned: int


@dataclass(frozen=True, eq=False)
class DomainRound(GridRound):
    """A round by domains: L_{m,k}(tau) (M, K, T), the shares ``theta`` of the domains, the domains to ``flip``
    first if there are some, and the ``known`` domain of each query, -1 if it is not known."""

    like: Floats
    theta: Floats
    flip: NDArray[np.bool_] | None = None
    known: Integers | None = None


@dataclass(frozen=True, eq=False)
class Placement:
    """Domains (Q, M) and directions (Q) that were decided for all queries."""

    domain: Floats
    sign: Floats


@dataclass(frozen=True, eq=False)
class Chosen:
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
    """The rounds over a shard, whose state is ``Local``.

    ``workers`` have an expertise of their own; ``by_query``: every query has a difficulty of its own.
    """

    def __init__(self, workers: int, *, by_query: bool) -> None:
        self.workers, self.by_query = workers, by_query

    def start(self, shard: Panel, seed: int) -> Local:
        """All items alike, all queries as hard as the sharpest workers are blunt."""
        return Local.at(shard, np.zeros(len(shard.query)), np.zeros(shard.queries), np.ones((shard.queries, 1)))

    def alone(self, shard: Panel, at: AloneRound, state: Local) -> tuple[AloneSums, Local]:
        """Every query for itself, and how informative each is."""
        prior = at.prior[shard.cells.worker]
        found, state = self._best(shard, at.turn, state, lambda like: alone(shard, like, prior))
        sums, after = self._climb(shard, at.precision, found, state)
        types = found.weight[shard.cells.worker < at.learned].sum(axis=0)
        guess = np.log(0.5) * by_query(shard, shard.cells.weight)
        return AloneSums(*sums, types, found.evidence - guess), after

    def domains(self, shard: Panel, at: DomainRound, state: Local) -> tuple[DomainSums, Local]:
        """A round by domains; the sums are those at the state after it."""
        if at.flip is not None:
            state = turn_queries(shard, at.flip[state.domain.argmax(axis=1)], state)
        worker, before = shard.cells.worker, state
        prior, others = at.prior[worker], at.like[:, worker].transpose(1, 0, 2)
        found, state = self._best(
            shard,
            at.turn,
            state,
            lambda like: together(shard, like, prior, others, before, at.theta, at.known),
        )
        sums, after = self._climb(shard, at.precision, found, state)
        return DomainSums(*sums, by_worker(shard, after.domain, after.like, self.workers)), after

    def place(self, shard: Panel, at: Placement, state: Local) -> tuple[DomainLikes, Local]:
        """The state with the domains and directions given, and nothing but its sums."""
        own = slice(shard.first_query, shard.first_query + shard.queries)
        state = replace(turn_queries(shard, at.sign[own] < 0, state), domain=at.domain[own])
        return DomainLikes(by_worker(shard, state.domain, state.like, self.workers)), state

    def profiles(self, shard: Panel, at: Chosen, state: Local) -> Profiles:
        """L_c(tau) of the chosen queries as they stand."""
        own = at.chosen[shard.first_query : shard.first_query + shard.queries]
        cells = np.flatnonzero(own[shard.cells.query])
        found = np.zeros((int(own.sum()), self.workers, state.like.shape[1]))
        found[(np.cumsum(own) - 1)[shard.cells.query[cells]], shard.cells.worker[cells]] = state.like[cells]
        return Profiles(found)

    def read(self, shard: Panel, params: None, state: Local) -> Local:
        """The state as it stands."""
        return state

    def _best(
        self, shard: Panel, turn: bool, state: Local, fit: Callable[[Floats], CellFits]
    ) -> tuple[CellFits, Local]:
        """The fits of the cells, each query in its better direction if queries may turn."""
        found = fit(state.like)
        if not turn:
            return found, state
        other = fit(mirrored(state.like))
        upside = other.evidence > found.evidence + 1e-9
        if not upside.any():
            return found, state
        return merge_fits(shard, upside, found, other), turn_queries(shard, upside, state)

    def _climb(
        self, shard: Panel, precision: float, found: CellFits, state: Local
    ) -> tuple[tuple[float, float, float, Floats], Local]:
        """The sums of the round, and the state after a Newton step."""
        slope = slopes(shard, terms(shard, state), found.weight)
        after = climb_scores(shard, replace(state, domain=found.domain), slope, precision)
        moved = float(np.square(after.score - state.score).sum())
        if self.by_query:
            after = adjust_difficulty(shard, after, slope.share, precision)
        after = after.with_likelihood(shard)
        judged = by_query(shard, shard.cells.weight) > 0
        domains = found.domain[judged].sum(axis=0)
        return (float(after.spread.sum()), moved, float(found.evidence.sum()), domains), after
