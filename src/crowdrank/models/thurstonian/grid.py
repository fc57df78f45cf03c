"""TPP without sampling: scores by Newton, worker types on a grid, domains by merging queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data import Floats
from crowdrank.engine import Session
from crowdrank.models.base import Run
from crowdrank.models.thurstonian.clusters import gathered, left_out
from crowdrank.models.thurstonian.panels import Integers, Panel
from crowdrank.models.thurstonian.rounds import HARD, Rounds
from crowdrank.models.thurstonian.types import GRID, Types, mirrored, normalised

ALONE = 8
"""Rounds in which every query stands alone."""
TURNING = 12
"""Rounds in which directions may still change."""
LIMIT = 300
TOL = 1e-6
"""The root mean square move of the scores at which the climb ends; their variance is 1."""
MOST = 20
"""Domains at most, where their number is chosen."""
GATHERED = 300
"""Queries that are merged into domains at most; the others join them afterwards."""
WORK = 1e8
TYPICAL = 8.0


@dataclass(frozen=True)
class GridAnswer:
    score: Floats
    difficulty: Floats
    domain: Floats
    like: Floats  # (M, K, T)
    types: Types
    theta: Floats
    rounds: int
    converged: bool
    held_out: dict[int, float]


class Climb:
    """The rounds of one fit."""

    def __init__(self, shards: list[Panel], run: Run, *, workers: int, by_query: bool, shared: bool) -> None:
        self.session: Session = run.engine.open(Rounds(), shards)
        self.shards, self.run = shards, run
        self.workers = 1 if shared else workers
        self.by_query = by_query
        self.queries = sum(shard.queries for shard in shards)
        self.nodes = sum(len(shard.query) for shard in shards)
        self.types = Types.start()
        self.hard = (float(HARD), 1.0)
        self.done = 0
        self.precision = 1.0
        free = sum(len(shard.query) - len(np.unique(shard.query)) for shard in shards)
        self.free = free

    def params(self, mode: str, **more: Any) -> dict[str, Any]:
        return {
            "mode": mode,
            "types": self.types.log,
            "hard": self.hard,
            "by query": self.by_query,
            "turn": True,
            "precision": self.precision,
            "unit": 1.0,
            "workers": self.workers,
            **more,
        }

    def learn_hard(self, shared: dict[str, Any]) -> None:
        self.precision = float(self.free / shared["square"])

    def alone(self) -> Floats:
        for _ in range(ALONE):
            stats = self.session.advance(self.params("alone"))
            self.types = Types.learned(stats.shared["types"])
            self.learn_hard(stats.shared)
            self.done += 1
        return stats.local["evidence"]

    def cut(self, evidence: Floats, domains: int | None) -> tuple[Floats, Integers, Floats, dict[int, float]]:
        """Start of domains: (domain (Q, M), sign (Q), like (M, K, T))."""
        size = len(GRID)
        most = int(np.clip(np.sqrt(WORK / (self.workers * size)), 3 * (domains or MOST), GATHERED))
        chosen = np.zeros(self.queries, bool)
        chosen[np.argsort(-evidence, kind="stable")[:most]] = True
        found = self.session.evaluate(self.params("profile", chosen=chosen)).local["profile"]
        cuts = gathered(found, self.types, domains or min(MOST, len(found)))
        held = {}
        if domains is None:
            held = {number: left_out(found, cut, self.types) for number, cut in cuts.items()}
            domains = max(held, key=lambda number: (held[number], -number))
        cut = cuts[min(domains, len(found))]
        domain = np.zeros((self.queries, domains))
        domain[np.flatnonzero(chosen), cut.domain] = 1.0
        sign = np.ones(self.queries)
        sign[chosen] = cut.sign
        like = np.where(cut.sign[:, None, None] > 0, found, mirrored(found))
        sums = np.stack([like[cut.domain == m].sum(axis=0) for m in range(domains)])
        return domain, sign, sums, held

    def together(self, domain: Floats, sign: Floats, like: Floats, known: Integers | None = None):
        count = domain.shape[1]
        theta = (domain.sum(axis=0) + 1.0) / (domain.sum() + count)
        first: dict[str, Any] = {"domain": domain, "sign": sign}
        more: dict[str, Any] = {} if known is None else {"known": known}
        for turn in range(LIMIT):
            stats = self.session.advance(
                self.params("domains", like=like, theta=theta, **first, **more)
                | {"turn": turn < TURNING and known is None}
            )
            shared = stats.shared
            like = shared["like"]
            first = {}
            if turn < TURNING:
                flip = self.types.evidence(mirrored(like)) > self.types.evidence(like) + 1e-9
                if flip.any():
                    like = np.where(flip[:, None, None], mirrored(like), like)
                    first = {"flip": flip}
            judged = like[:, :, 0] != 0
            self.types = Types.learned(normalised(self.types.log + like)[judged].sum(axis=0))
            theta = (shared["domains"] + 1.0) / (shared["domains"].sum() + count)
            self.learn_hard(shared)
            self.done += 1
            if turn >= TURNING and shared["moved"] <= self.nodes * TOL**2 / self.precision:
                return like, theta, True
        return like, theta, False


def climbed(shards, run, *, workers, domains, by_query=True, shared=False, known=None) -> GridAnswer:
    climb = Climb(shards, run, workers=workers, by_query=by_query, shared=shared)
    evidence = climb.alone()
    held: dict[int, float] = {}
    if known is not None:
        M = int(known.max()) + 1
        domain = np.eye(M)[known]
        sign = np.ones(climb.queries)
        like = np.zeros((M, climb.workers, len(GRID)))
    elif domains == 1 or climb.queries == 1:
        domain, sign = np.ones((climb.queries, 1)), np.ones(climb.queries)
        like = np.zeros((1, climb.workers, len(GRID)))
    else:
        domain, sign, like, held = climb.cut(evidence, domains)
    like, theta, converged = climb.together(domain, sign, like, known)
    own = climb.session.collect({})
    score, hard, domain = (np.concatenate([part[name] for part in own]) for name in ("score", "hard", "domain"))
    return GridAnswer(score, np.exp(hard), domain, like, climb.types, theta, climb.done, converged, held)
