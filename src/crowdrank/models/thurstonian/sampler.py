"""The sampler of TPP: blocked Gibbs sampling within EM (Wang et al., section IV and appendix A).

A round is some sweeps over the hidden variables (``sweeps``). After them it sets s = mean of x,
delta^2 = mean of (x - s)^2, theta = mean of P(m) (eq. 18-20), and moves tau by a Newton step (eq. 21, 22) with a
normal prior of the crowd's own mean and mean square.

Where a query is easy, x and s hold each other back. So s moves once more, together with all that is perceived of
it, to where the votes are likelier: EM with x - s as the hidden variable in the place of x (alternating EM, Meng
and van Dyk 1997).

Domains are by chance at first. From there the sampler does not find them all: workers of one domain who oppose
each other soon perceive opposite scores, which no draw undoes. So the first rounds begin anew a few times, with
domains and signs of tau from ``classes`` and everyone perceiving the true scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data import Floats, Integers, summed
from crowdrank.engine import Stats
from crowdrank.engine.base import Params
from crowdrank.models.base import Run
from crowdrank.models.thurstonian.answer import Answer, domain_log_likelihoods, mixed
from crowdrank.models.thurstonian.classes import classes
from crowdrank.models.thurstonian.panels import Panel
from crowdrank.models.thurstonian.slots import Layout, layout
from crowdrank.models.thurstonian.sweeps import Chances, Seen, Sweep, moves
from crowdrank.solve.iterate import iterate

ROUNDS, SWEEPS, BURN = 60, 4, 1
"""Rounds of EM, sweeps in each, and how many of them do not count."""
CLASSED, HELD = (1, 5, 9), 12
"""The rounds after which the domains are set by ``classes``, chance having set them before; and the last in which
they stay so. They are drawn from then on."""
START_STEPS, STEPS = 100, 10
"""Steps that move the scores before the first round, and after each."""
STEP = 1.0
"""No tau moves farther in a round."""
FLOOR = 0.01
"""The prior of tau has no smaller variance."""
STEADY = 0.01
"""A log-likelihood that rises by no more than this share over the rounds that count has converged."""


@dataclass(frozen=True, eq=False)
class Chain:
    """What a shard keeps between rounds: the scores perceived, one a slot."""

    layout: Layout
    perceived: Floats


@dataclass(frozen=True)
class GibbsSums:
    """One round of sweeps over a shard; the chains stay with it."""

    domains: int
    sweeps: int
    burn: int
    seed: int
    stateful = True

    def start(self, shard: Panel, seed: int) -> Chain:
        """Everyone perceives what the votes of all say, taking tau and delta for 1."""
        own = layout(shard)
        even = np.zeros(len(own.row))
        return Chain(own, moves(own, len(shard.query), even + 0.5, even, START_STEPS)[own.node])

    def statistics(self, shard: Panel, params: Params, state: Chain | None) -> tuple[Stats, Chain]:
        """What the sweeps of a round saw: of each node, query and cell."""
        assert state is not None
        queries = slice(shard.first_query, shard.first_query + shard.queries)
        sweep = Sweep(
            shard,
            state.layout,
            params["score"][shard.nodes],
            params["difficulty"][queries],
            params["tau"],
            params["theta"],
        )
        own, held = state.layout, params["domain"]
        x = sweep.score[own.node]
        if not params["fresh"]:
            x = (state.perceived - params["shift"][queries][sweep.slot_query]) / params["scale"]
        chances = self._chances(shard, own, params["round"])
        seen = Seen(sweep)
        for turn in range(self.sweeps):
            odds = sweep.odds(x) if held is None else np.eye(self.domains)[held[queries]]
            domain = _picked(odds, chances.domain[turn])
            x = sweep.perceived(x, domain, chances.of(turn))
            if turn >= self.burn:
                seen.add(x, odds, domain)
        score, difficulty = seen.scores()
        move = moves(own, len(score), sweep.slopes(domain)[own.side_cell], x[own.winner] - x[own.loser], STEPS)
        fits = domain_log_likelihoods(shard, sweep.score, sweep.difficulty, sweep.tau)
        local = {
            "score": score + move,
            "lowest": _lowest(score + move, shard.query, shard.queries),
            "difficulty": difficulty,
            "domain": seen.odds / seen.count,
            "slope": seen.slope / seen.count,
            "bend": seen.bend / seen.count,
            "agreed": sweep.agreed(),
            "log_likelihood": mixed(fits, sweep.theta),
        }
        return Stats({}, local), Chain(own, x + move[own.node])

    def collect(self, shard: Panel, params: Params, state: Chain | None) -> Mapping[str, Any]:
        """The mean of what is perceived of each node."""
        assert state is not None
        node, count = state.layout.node, len(shard.query)
        return {"score": summed(node, state.perceived, count) / np.maximum(summed(node, None, count), 1.0)}

    def _chances(self, shard: Panel, own: Layout, turn: int) -> Chances:
        """Random numbers by (seed, round, query), so that other shards bring the same."""
        parts: tuple[list[Floats], ...] = ([], [], [], [])
        for query, (slots, draws, rows) in enumerate(own.counts):
            generator = _generator(self.seed, turn, shard.first_query + query)
            parts[0].append(generator.random((self.sweeps, 1)))
            parts[1].append(generator.standard_normal((self.sweeps, slots)))
            parts[2].append(generator.random((self.sweeps, draws)))
            parts[3].append(generator.random((self.sweeps, 0 if own.whole else rows)))
        return Chances(*(np.concatenate(part, axis=1) for part in parts))


def _generator(seed: int, turn: int, query: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[seed, turn], counter=[0, 0, 0, query]))


def _lowest(score: Floats, query: Integers, queries: int) -> Floats:
    """The lowest score of each query, 0 of one that has no items."""
    found = np.full(queries, np.inf)
    np.minimum.at(found, query, score)
    return np.where(np.isfinite(found), found, 0.0)


def _picked(odds: Floats, uniform: Floats) -> Integers:
    """An option of each row, by its odds."""
    return np.minimum((np.cumsum(odds, axis=1) <= uniform[:, None]).sum(axis=1), odds.shape[1] - 1)


class Rounds:
    """The M-steps of what is not a query's own, and the rounds that count: those after the ``first``."""

    def __init__(
        self,
        shards: list[Panel],
        run: Run,
        workers: int,
        shared_expertise: bool,
        shared_difficulty: bool,
        first: int,
    ) -> None:
        self.query = np.concatenate([shard.first_query + shard.query for shard in shards])
        cells = [(shard.first_query + shard.cells.query, *shard.cells[1:]) for shard in shards]
        self.cell_query, self.cell_worker, self.cell_weight = map(np.concatenate, zip(*cells, strict=True))
        self.run, self.workers, self.first = run, workers, first
        self.shared_expertise, self.shared_difficulty = shared_expertise, shared_difficulty
        self.kept: list[dict[str, Any]] = []
        self.trace: list[dict[str, Any]] = []

    def update(self, params: dict[str, Any], stats: Stats) -> tuple[dict[str, Any], float]:
        """The next parameters, rescaled to a mean delta^2 of 1 and a lowest score of 0 (eq. 16, 17)."""
        seen, fixed = stats.local, self.shared_difficulty
        scale = 1.0 if fixed else math.sqrt(seen["difficulty"].mean())
        tau = self._tau(params["tau"], seen["slope"], seen["bend"])
        after = {
            "score": (seen["score"] - seen["lowest"][self.query]) / scale,
            "difficulty": params["difficulty"] if fixed else seen["difficulty"] / scale**2,
            "tau": tau * scale,
            "theta": seen["domain"].mean(axis=0),  # eq. 20
            "shift": seen["lowest"],
            "scale": scale,
            "round": params["round"] + 1,
            "domain": params["domain"] if params["round"] < HELD else None,
            "fresh": False,
        }
        if params["round"] in CLASSED:
            self._classify(after, seen["agreed"])
        value = float(seen["log_likelihood"].sum())
        self.trace.append({"domain": seen["domain"].argmax(axis=1), "log_likelihood": value})
        if params["round"] > self.first:
            self.kept.append(after | {"domain": seen["domain"]})
        if self.run.progress is not None:
            self.run.progress(params["round"], value, float(np.abs(tau - params["tau"]).max()))
        return after, math.inf

    def _tau(self, tau: Floats, slope: Floats, bend: Floats) -> Floats:
        """A Newton step from the derivatives of the cells."""
        gradient, curvature = (self._by_worker(part) for part in (slope, bend))
        if self.shared_expertise:
            gradient, curvature = (part.sum(axis=0) for part in (gradient, curvature))
        firm = 1.0 / max(float(np.mean(tau**2)), FLOOR)
        step = (gradient - firm * (tau - tau.mean())) / (firm - curvature)
        return tau + np.clip(step, -STEP, STEP)

    def _classify(self, after: dict[str, Any], agreed: Floats) -> None:
        """Start again from domains of queries with the same friends; those that are upside down are turned."""
        from scipy.sparse import csr_array
        from scipy.special import ndtri

        queries, place = len(after["shift"]), (self.cell_query, self.cell_worker)
        yes, no = (
            csr_array((part, place), (queries, self.workers)) for part in (agreed, self.cell_weight - agreed)
        )
        generator = _generator(self.run.seed, after["round"], queries)
        after["domain"], sign, chance = classes(yes, no, len(after["theta"]), generator)
        tau = ndtri(chance)
        after["tau"] = np.broadcast_to(tau.mean(axis=0), tau.shape) if self.shared_expertise else tau
        after["score"], after["fresh"] = after["score"] * sign[self.query], True

    def _by_worker(self, of_cells: Floats) -> Floats:
        return np.stack([summed(self.cell_worker, part, self.workers) for part in of_cells.T], axis=1)

    def answer(self) -> Answer:
        """The means over the rounds that count, each domain with the sign that most of its votes have."""
        names = ("score", "difficulty", "domain", "tau", "theta")
        score, difficulty, domain, tau, theta = (
            np.mean([part[name] for part in self.kept], axis=0) for name in names
        )
        votes = self._by_worker(self.cell_weight[:, None] * domain[self.cell_query])
        sign = np.where((np.sign(tau) * votes).sum(axis=0) < 0, -1.0, 1.0)
        score = score * sign[domain.argmax(axis=1)][self.query]
        lowest = _lowest(score, self.query, len(domain))
        values = np.array([part["log_likelihood"] for part in self.trace[self.first :]])
        early, late = (half.mean() for half in (values[: (len(values) + 1) // 2], values[len(values) // 2 :]))
        return Answer(
            score=score - lowest[self.query],
            difficulty=difficulty,
            domain=domain,
            tau=tau * sign,
            theta=theta,
            converged=bool(late - early <= STEADY * abs(late)),
            rounds=len(self.trace),
            trace=self.trace,
        )


def sampled(
    shards: list[Panel],
    run: Run,
    *,
    workers: int,
    domains: int,
    shared_expertise: bool,
    shared_difficulty: bool,
    rounds: int = ROUNDS,
    sweeps: int = SWEEPS,
    burn: int = BURN,
) -> Answer:
    """TPP by the sampler; the answer is the mean over the last third of the rounds."""
    session = run.engine.open(GibbsSums(domains, sweeps, burn, run.seed), shards, seed=run.seed)
    queries = sum(shard.queries for shard in shards)
    start: dict[str, Any] = {
        "score": np.concatenate([part["score"] for part in session.collect({})]),
        "difficulty": np.ones(queries),
        "tau": np.ones((workers, domains)),
        "theta": np.full(domains, 1.0 / domains),
        "shift": np.zeros(queries),
        "scale": np.ones(queries),
        "round": 1,
        "domain": _generator(run.seed, 0, queries).integers(domains, size=queries),
        "fresh": True,
    }
    first = rounds - max(rounds // 3, 1)
    steps = Rounds(shards, run, workers, shared_expertise, shared_difficulty, first)
    iterate(session, start, steps.update, tol=0.0, limit=rounds)
    return steps.answer()
