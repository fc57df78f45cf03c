"""TPP without sampling: scores by Newton's method, workers by types on a grid, domains by merging queries.

First each query is fitted alone, and the prior of its workers is the crowd's types. Then queries whose workers
behave alike are merged into domains (``clusters``). Rounds by domains (``rounds``) follow until the scores settle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers
from crowdrank.models.base import Run
from crowdrank.models.thurstonian.clusters import Cut, held_out_log_likelihoods, merge_queries
from crowdrank.models.thurstonian.grid_sums import (
    AloneRound,
    ChosenQueries,
    DomainRound,
    GridSums,
    Placement,
    RoundSums,
)
from crowdrank.models.thurstonian.rounds import WIDEST, widths
from crowdrank.models.thurstonian.types import Types, favors_reversal, mirror
from crowdrank.prepared.panels import Panel

if TYPE_CHECKING:
    from crowdrank.engine.base import StateSession
    from crowdrank.models.thurstonian.rounds import ShardState
    from crowdrank.progress import Progress

ALONE_ROUNDS = 8
"""Rounds that fit each query alone."""
REVERSING_ROUNDS = 12
"""Rounds by domains in which directions and the priors of scores and difficulties may still change. The precision
and tau together set the unit of the scores, which the votes hardly determine."""
MAX_ROUNDS = 300
TOL = 1e-5
"""The rounds end when the scores move by at most this share of their spread (root mean square)."""
CLOSEST = 4.0
"""The largest precision of the scores. Votes hardly distinguish items that close from equal ones."""
MOST_DOMAINS = 20
"""The most domains considered when their number is estimated."""
MOST_MERGED, WORK = 300, 1e8
"""The most queries that are merged, and a bound on the work. The other queries join the domains found."""


@dataclass(frozen=True, eq=False)
class TPPSetting:
    """What to fit. ``worker`` is the number of each worker's expertise; the first ``learned`` are learned.

    ``by_query``: every query has its own difficulty. ``domains``: how many, or None if the votes decide.
    ``known`` (Q): the domain of each query, or -1 if it is unknown; None if no domain is known.
    """

    worker: Integers
    learned: int
    by_query: bool
    domains: int | None
    known: Integers | None = None

    @property
    def gold(self) -> bool:
        """Whether the votes include gold pairs, as votes of one more worker."""
        return int(self.worker.max()) + 1 > self.learned


@dataclass(frozen=True, eq=False)
class GridSolution:
    """The result of the rounds: the state of all queries, L_{m,k}(tau), and the crowd's types."""

    score: Floats
    hard: Floats
    domain: Floats
    like: Floats
    types: Types
    theta: Floats
    precision: float
    widths: tuple[float, float]
    """The variance of ln delta^2 over the queries, and the largest one within the error of it."""
    rounds: int
    converged: bool
    held_out: dict[int, float]


class GridClimb:
    """The rounds of one fit."""

    sums: GridSums
    session: StateSession[ShardState]
    setting: TPPSetting
    progress: Progress | None
    queries: int
    nodes: int
    free: int
    precision: float
    widths: tuple[float, float]
    rounds: int
    types: Types

    def __init__(self, shards: list[Panel], run: Run, setting: TPPSetting) -> None:
        rows = setting.learned + setting.gold
        own = [replace(shard, worker=setting.worker[shard.worker].astype(np.int32)) for shard in shards]
        self.sums = GridSums(rows, by_query=setting.by_query)
        self.session = run.engine.open(own, start=self.sums.start, seed=run.seed)
        self.setting, self.progress = setting, run.progress
        self.queries = sum(shard.queries for shard in shards)
        self.nodes = sum(len(shard.query) for shard in shards)
        self.free = self.nodes - sum(len(np.unique(shard.query)) for shard in shards)
        self.types, self.precision, self.rounds = Types.start(), 1.0, 0
        self.widths = (0.0, WIDEST)
        self.held_out: dict[int, float] = {}

    def run(self) -> GridSolution:
        """Run all rounds."""
        information = self._fit_alone()
        if self.setting.known is not None:
            start = self._start_from(self.setting.known)
        elif self.setting.domains == 1 or self.queries == 1:
            start = self._start_from(np.zeros(self.queries, np.int64))
        else:
            start = self._start_from_merges(information)
        like, theta, converged = self._fit_by_domains(*start)
        own = self.session.collect(self.sums.read, None)
        return GridSolution(
            score=np.concatenate([part.score for part in own]),
            hard=np.concatenate([part.hard for part in own]),
            domain=np.concatenate([part.domain for part in own]),
            like=like,
            types=self.types,
            theta=theta,
            precision=self.precision,
            widths=self.widths,
            rounds=self.rounds,
            converged=converged,
            held_out=self.held_out,
        )

    def choose_number(self) -> tuple[int, dict[int, float]]:
        """The number of domains by held-out votes, and the held-out log-likelihood of each number."""
        information = self._fit_alone()
        return (1, {}) if self.queries == 1 else (self._start_from_merges(information)[0].shape[1], self.held_out)

    @property
    def prior(self) -> Floats:
        """ln of the prior of each expertise (K, T)."""
        return self.types.prior(self.setting.learned, self.setting.gold)

    def _count_round(self, sums: RoundSums, may_reverse: bool) -> None:
        """Update the precision and the width of the priors if they may still change, and report progress."""
        if may_reverse:
            self.precision = min(self.free / sums.spread, CLOSEST)
            self.widths = widths(sums.width)
        self.rounds += 1
        if self.progress is not None:
            self.progress(self.rounds, sums.evidence, self._movement(sums))

    def _movement(self, sums: RoundSums) -> float:
        """How far the scores moved, in standard deviations of their prior."""
        return float(np.sqrt(sums.moved * self.precision / self.nodes))

    def _fit_alone(self) -> Floats:
        """Fit scores and types without domains; returns how informative the votes of each query are."""
        for _ in range(ALONE_ROUNDS):
            at = AloneRound(self.prior, self.precision, self.widths[0], True, self.setting.learned)
            sums = self.session.advance(self.sums.fit_alone, at)
            self._count_round(sums, True)
            self.types = Types.from_counts(sums.types)
        return sums.information

    def _start_from(self, domain: Integers) -> tuple[Floats, Floats]:
        """The start from known domains. A query of unknown domain belongs to none yet."""
        count = self.setting.domains or int(domain.max()) + 1
        return (domain[:, None] == np.arange(count)).astype(float), np.ones(self.queries)

    def _start_from_merges(self, information: Floats) -> tuple[Floats, Floats]:
        """The start from merging queries into domains: all, or some from the most to the least informative."""
        asked, prior = self.setting.domains, self.prior
        most = int(np.clip(np.sqrt(WORK / prior.size), 3 * (asked or MOST_DOMAINS), MOST_MERGED))
        chosen = _choose_evenly(information, most)
        profile = self.session.evaluate(self.sums.profiles, ChosenQueries(chosen)).profile
        cuts = merge_queries(profile, prior, min(asked or MOST_DOMAINS, len(profile)))
        count = min(asked, len(profile)) if asked else self._fewest_domains(profile, cuts)
        cut = cuts[count]
        shares, sign = np.zeros((self.queries, asked or count)), np.ones(self.queries)
        shares[np.flatnonzero(chosen), cut.domain] = 1.0
        sign[chosen] = cut.sign
        return shares, sign

    def _fewest_domains(self, profile: Floats, cuts: dict[int, Cut]) -> int:
        """The fewest domains whose held-out log-likelihood is within a standard error of the best."""
        logs = {
            count: held_out_log_likelihoods(profile, cut, self.prior).sum(axis=1) for count, cut in cuts.items()
        }
        self.held_out = {count: float(own.sum()) for count, own in sorted(logs.items())}
        best = max(self.held_out, key=lambda count: self.held_out[count])

        def close(count: int) -> bool:
            behind = logs[best] - logs[count]
            rounding = 1e-9 * abs(self.held_out[best])
            return bool(behind.sum() <= np.sqrt(len(behind)) * behind.std() + rounding)

        return min(count for count in logs if count == best or close(count))

    def _fit_by_domains(self, domain: Floats, sign: Floats) -> tuple[Floats, Floats, bool]:
        """Run rounds by domains until the scores settle; returns L_{m,k}, the domain shares, and if they did."""
        theta = _domain_shares(domain.sum(axis=0))
        like = self.session.advance(self.sums.place_queries, Placement(domain, sign)).like
        reverse = None
        for number in range(MAX_ROUNDS):
            may_reverse = number < REVERSING_ROUNDS
            shared = (self.prior, self.precision, self.widths[0], may_reverse)
            at = DomainRound(*shared, like, theta, reverse, self.setting.known)
            sums = self.session.advance(self.sums.fit_by_domains, at)
            self._count_round(sums, may_reverse)
            like, reverse = sums.like, None
            reversal = favors_reversal(like, self.prior) & may_reverse
            if reversal.any():
                like, reverse = np.where(reversal[:, None, None], mirror(like), like), reversal
            self.types = self.types.relearn(like[:, : self.setting.learned])
            theta = _domain_shares(sums.domains)
            if not may_reverse and self._movement(sums) <= TOL:
                return like, theta, True
        return like, theta, False


def _choose_evenly(information: Floats, most: int) -> NDArray[np.bool_]:
    """Choose up to ``most`` queries at even steps through their order by information.

    The most informative ones alone would be those of the domains that experts judged, and the others would have no
    domain to join. A query without votes belongs to no domain.
    """
    ranked = np.argsort(-information, kind="stable")
    ranked = ranked[information[ranked] != 0.0]
    chosen = np.zeros(len(information), bool)
    chosen[ranked[np.linspace(0, len(ranked) - 1, min(most, len(ranked))).round().astype(np.int64)]] = True
    return chosen


def _domain_shares(counts: Floats) -> Floats:
    """The share of each domain, after adding one query to each."""
    return np.asarray((counts + 1.0) / (counts.sum() + len(counts)))
