"""TPP without sampling: scores by Newton's method, workers by types on a grid, domains by merging queries.

First every query stands alone, and its workers are of the crowd's types. Then the queries whose workers behave
alike are merged into domains (``clusters``), and rounds by domains (``rounds``) follow until the scores rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdrank.data import Floats, Integers
from crowdrank.models.base import Run
from crowdrank.models.thurstonian.clusters import Cut, gathered, left_out
from crowdrank.models.thurstonian.panels import Panel
from crowdrank.models.thurstonian.rounds import GridSums
from crowdrank.models.thurstonian.types import Types, mirrored, turned_round

ALONE = 8
"""Rounds in which every query stands alone."""
TURNING = 12
"""Rounds by domains in which directions may still change, and the precision of the scores: with tau it sets the
unit of both, and votes hardly tell that."""
LIMIT = 300
TOL = 1e-5
"""The rounds end where the scores move by this share of their spread (root mean square)."""
CLOSEST = 4.0
"""The precision of the scores at most: items as close as that can hardly be told from equal ones."""
MOST = 20
"""Domains at most where their number is chosen."""
GATHERED, WORK = 300, 1e8
"""Queries that are merged at most, and numbers that are looked at; the other queries join the domains found."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What is fitted: ``worker`` numbers the expertises of the workers, ``learned`` of them are not known.

    ``by_query``: every query has a difficulty of its own. ``domains``: how many, None where the votes decide.
    ``known`` (Q): the domain of each query, -1 where it is not known; None where none is.
    """

    worker: Integers
    learned: int
    by_query: bool
    domains: int | None
    known: Integers | None = None

    @property
    def gold(self) -> bool:
        """Whether gold pairs are among the votes, as those of one more worker."""
        return int(self.worker.max()) + 1 > self.learned


@dataclass(frozen=True, eq=False)
class Grid:
    """What the rounds end with: the state of all queries, L_{m,k}(tau), the crowd's types."""

    score: Floats
    hard: Floats
    domain: Floats
    like: Floats
    types: Types
    theta: Floats
    precision: float
    rounds: int
    converged: bool
    held_out: dict[int, float]


class Climb:
    """The rounds of one fit."""

    def __init__(self, shards: list[Panel], run: Run, setting: Setting) -> None:
        rows = setting.learned + setting.gold
        own = [replace(shard, worker=setting.worker[shard.worker].astype(np.int32)) for shard in shards]
        self.session = run.engine.open(GridSums(rows, by_query=setting.by_query), own, seed=run.seed)
        self.setting, self.progress = setting, run.progress
        self.queries = sum(shard.queries for shard in shards)
        self.nodes = sum(len(shard.query) for shard in shards)
        self.free = self.nodes - sum(len(np.unique(shard.query)) for shard in shards)
        self.types, self.precision, self.rounds = Types.start(), 1.0, 0
        self.held_out: dict[int, float] = {}

    def run(self) -> Grid:
        """All of it."""
        told = self._alone()
        if self.setting.known is not None:
            start = self._given(self.setting.known)
        elif self.setting.domains == 1 or self.queries == 1:
            start = self._given(np.zeros(self.queries, np.int64))
        else:
            start = self._merged(told)
        like, theta, converged = self._together(*start)
        own = self.session.collect({})
        score, hard, domain = (
            np.concatenate([part[name] for part in own]) for name in ("score", "hard", "domain")
        )
        return Grid(
            score, hard, domain, like, self.types, theta, self.precision, self.rounds, converged, self.held_out
        )

    def number(self) -> tuple[int, dict[int, float]]:
        """The number of domains by held-out votes, and what these say of each number."""
        told = self._alone()
        return (1, {}) if self.queries == 1 else (self._merged(told)[0].shape[1], self.held_out)

    @property
    def prior(self) -> Floats:
        """ln of the prior of each expertise (K, T)."""
        return self.types.prior(self.setting.learned, self.setting.gold)

    def _params(self, mode: str, **more: Any) -> dict[str, Any]:
        return {"mode": mode, "prior": self.prior, "precision": self.precision, "turn": True, **more}

    def _advance(self, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        stats = self.session.advance(params)
        if params["turn"]:
            self.precision = min(self.free / float(stats.shared["spread"]), CLOSEST)
        self.rounds += 1
        if self.progress is not None:
            self.progress(self.rounds, float(stats.shared["evidence"]), self._moved(stats.shared))
        return stats.shared, stats.local

    def _moved(self, shared: dict[str, Any]) -> float:
        """How far the scores moved, in standard deviations of their prior."""
        return float(np.sqrt(shared["moved"] * self.precision / self.nodes))

    def _alone(self) -> Floats:
        """Scores and types where no query knows of another; returns what the votes of each tell."""
        for _ in range(ALONE):
            shared, local = self._advance(self._params("alone", learned=self.setting.learned))
            self.types = Types.learned(shared["types"])
        return np.asarray(local["told"])

    def _given(self, domain: Integers) -> tuple[Floats, Floats]:
        """The start from known domains; a query whose domain is not known belongs to none yet."""
        count = self.setting.domains or int(domain.max()) + 1
        return (domain[:, None] == np.arange(count)).astype(float), np.ones(self.queries)

    def _merged(self, told: Floats) -> tuple[Floats, Floats]:
        """The start from queries merged into domains: those whose votes tell most."""
        asked, prior = self.setting.domains, self.prior
        most = int(np.clip(np.sqrt(WORK / prior.size), 3 * (asked or MOST), GATHERED))
        chosen = np.zeros(self.queries, bool)
        chosen[np.argsort(-told, kind="stable")[:most]] = True
        chosen &= told != 0.0  # a query without votes belongs to no domain
        profile = self.session.evaluate(self._params("profile", chosen=chosen)).local["profile"]
        cuts = gathered(profile, prior, min(asked or MOST, len(profile)))
        count = min(asked, len(profile)) if asked else self._chosen(profile, cuts)
        cut = cuts[count]
        shares, sign = np.zeros((self.queries, asked or count)), np.ones(self.queries)
        shares[np.flatnonzero(chosen), cut.domain] = 1.0
        sign[chosen] = cut.sign
        return shares, sign

    def _chosen(self, profile: Floats, cuts: dict[int, Cut]) -> int:
        """The number of domains by held-out votes: the fewest within a standard error of the best."""
        told = {count: left_out(profile, cut, self.prior).sum(axis=1) for count, cut in cuts.items()}
        self.held_out = {count: float(own.sum()) for count, own in sorted(told.items())}
        best = max(self.held_out, key=lambda count: self.held_out[count])

        def close(count: int) -> bool:
            behind = told[best] - told[count]
            return bool(behind.sum() <= np.sqrt(len(behind)) * behind.std())

        return min(count for count in told if count == best or close(count))

    def _together(self, domain: Floats, sign: Floats) -> tuple[Floats, Floats, bool]:
        """Rounds by domains until the scores rest; L_{m,k}, the shares of the domains, and whether they rest."""
        theta = _shares(domain.sum(axis=0))
        like = self.session.advance({"mode": "placed", "domain": domain, "sign": sign}).shared["like"]
        decided: dict[str, Any] = {}
        known = {} if self.setting.known is None else {"known": self.setting.known}
        for turn in range(LIMIT):
            params = self._params("domains", like=like, theta=theta, **decided, **known)
            shared, _ = self._advance(params | {"turn": turn < TURNING})
            like, decided = shared["like"], {}
            flip = turned_round(like, self.prior) & (turn < TURNING)
            if flip.any():
                like, decided = np.where(flip[:, None, None], mirrored(like), like), {"flip": flip}
            self.types = self.types.again(like[:, : self.setting.learned])
            theta = _shares(shared["domains"])
            if turn >= TURNING and self._moved(shared) <= TOL:
                return like, theta, True
        return like, theta, False


def _shares(counts: Floats) -> Floats:
    """How common the domains are, each with one more query than it has."""
    return np.asarray((counts + 1.0) / (counts.sum() + len(counts)))
