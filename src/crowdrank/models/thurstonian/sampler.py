"""The sampler of TPP: blocked Gibbs sampling within EM (Wang et al., section IV and appendix A).

Hidden are the domain m of each query, the scores x that each worker perceives, and the noisy difference d of each
vote. A sweep draws one block after the other:

    m ~ theta_m  prod over votes of i over j  Phi(tau_km (x_i - x_j) / sqrt 2)                             (eq. 6)
    d ~ N(sgn(tau) (x_i - x_j), 2 / tau^2) above 0, for each vote of i over j                             (eq. 13)
    x_i ~ N(a1 / a2, 1 / a2),    a2 = 1 / delta^2 + (tau^2 / 2) (votes on i),                         (eq. 10, 11)
        a1 = s_i / delta^2 + (tau^2 / 2) [sum over wins (x_j + sgn(tau) d) + sum over losses (x_j - sgn(tau) d)]

Eq. 8 draws m given d and so stays where it is, because d was drawn in the last domain; with d integrated out
(eq. 6), m and d are one block. Eq. 11 prints the perceived score in its first term, where the true one belongs.

After its sweeps a round sets s = mean of x, delta^2 = mean of (x - s)^2, theta = mean of P(m) (eq. 18-20), and moves
tau by a Newton step (eq. 21, 22) with a normal prior of the crowd's own mean and mean square. Where a query is easy,
x and s hold each other back. So s moves once more, together with all that is perceived of it, to where the votes are
likelier: EM with x - s as the hidden variable in the place of x (alternating EM, Meng and van Dyk 1997).

A vote of weight w is w votes, each with a difference of its own. A fraction f of a vote is seen by a sweep with the
probability f, and of a tie each sweep sees one side or the other (the paper's footnote 2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from crowdrank.data import Floats, summed
from crowdrank.engine import Stats
from crowdrank.engine.base import Params
from crowdrank.kernels.truncated import hazard, truncated
from crowdrank.models.base import Run
from crowdrank.models.thurstonian.answer import Answer, domain_log_likelihoods, mixed
from crowdrank.models.thurstonian.panels import Integers, Panel
from crowdrank.models.thurstonian.slots import Layout, layout
from crowdrank.solve.iterate import iterate

ROUNDS, SWEEPS, BURN = 60, 4, 1
"""Rounds of EM, sweeps in each, and how many of them do not count."""
HELD = 4
"""Rounds in which the domains stay where chance put them, so that each gets a tau of its own."""
START_STEPS, STEPS = 100, 10
"""Steps that move the scores before the first round, and after each."""
DAMPING, MOMENTUM = 0.05, 0.8
STEP = 1.0
"""No tau moves farther in a round."""
LEAST = 1e-4
"""No delta^2 is smaller: nothing that is perceived could move any more."""
STEADY = 0.01
"""A log-likelihood that rises by no more than this share over the rounds that count has converged."""
ROOT = math.sqrt(0.5)


@dataclass(frozen=True, eq=False)
class Chain:
    """What a shard keeps between rounds: the scores perceived (one a slot) and the domains (one a query)."""

    layout: Layout
    perceived: Floats
    domain: Integers


class Chances(NamedTuple):
    """The random numbers of some sweeps: uniform, normal, uniform and uniform ones."""

    domain: Floats
    perceived: Floats
    difference: Floats
    coin: Floats

    def of(self, sweep: int) -> Chances:
        """Those of one sweep."""
        return Chances(*(part[sweep] for part in self))


@dataclass(frozen=True)
class GibbsSums:
    """One round of sweeps over a shard; the chains stay with it."""

    domains: int
    sweeps: int
    burn: int
    seed: int
    stateful = True

    def start(self, shard: Panel, seed: int) -> Chain:
        """Everyone perceives what the votes of all say, taking tau and delta for 1; domains by chance."""
        own = layout(shard)
        even = np.zeros(len(own.row))
        score = moves(own, len(shard.query), even + 0.5, even, START_STEPS)
        chance = [_generator(seed, 0, shard.first_query + query).random() for query in range(shard.queries)]
        return Chain(own, score[own.node], (np.array(chance) * self.domains).astype(np.int64))

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
        own, domain = state.layout, state.domain
        x = (state.perceived - params["shift"][queries][sweep.slot_query]) / params["scale"]
        chances = self._chances(shard, own, params["round"])
        seen = Seen(sweep)
        for turn in range(self.sweeps):
            odds = np.eye(self.domains)[domain] if params["round"] <= HELD else sweep.odds(x)
            domain = _picked(odds, chances.domain[turn])
            x = sweep.perceived(x, domain, chances.of(turn))
            if turn >= self.burn:
                seen.add(x, odds, domain)
        score, difficulty = seen.scores()
        move = moves(own, len(score), sweep.slopes(domain)[own.side_cell], x[own.winner] - x[own.loser], STEPS)
        fits = domain_log_likelihoods(shard, sweep.score, sweep.difficulty, sweep.tau)
        local = {
            "score": score + move,
            "lowest": np.minimum.reduceat(score + move, np.flatnonzero(np.diff(shard.query, prepend=-1))),
            "difficulty": difficulty,
            "domain": seen.odds / seen.count,
            "slope": seen.slope / seen.count,
            "bend": seen.bend / seen.count,
            "log_likelihood": mixed(fits, sweep.theta),
        }
        return Stats({}, local), Chain(own, x + move[own.node], domain)

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


@dataclass(frozen=True, eq=False)
class Sweep:
    """The draws of a sweep over a shard at given parameters."""

    shard: Panel
    own: Layout
    score: Floats
    difficulty: Floats
    tau: Floats
    theta: Floats

    @property
    def slot_query(self) -> Integers:
        """The query of each slot."""
        return self.shard.query[self.own.node]

    def slopes(self, domain: Integers) -> Floats:
        """tau / sqrt 2 of each cell's worker in the domain of its query."""
        return ROOT * self.tau[self.shard.cells.worker, domain[self.shard.cells.query]]

    def odds(self, x: Floats) -> Floats:
        """The probability of each domain for each query, given what is perceived (eq. 6)."""
        from scipy.special import log_ndtr, softmax

        own, cells, count = self.own, self.shard.cells, self.tau.shape[1]
        if count == 1:
            return np.ones((self.shard.queries, 1))
        ahead, slope = x[own.winner] - x[own.loser], ROOT * self.tau[cells.worker]
        logs = np.empty((self.shard.queries, count))
        for domain in range(count):
            terms = own.weight * log_ndtr(slope[own.side_cell, domain] * ahead)
            logs[:, domain] = summed(cells.query[own.side_cell], terms, self.shard.queries)
        with np.errstate(divide="ignore"):
            return softmax(logs + np.log(self.theta), axis=1)

    def perceived(self, x: Floats, domain: Integers, chances: Chances) -> Floats:
        """The noisy differences, and then the scores perceived, one of each cell at a time (eq. 10, 11)."""
        own, slope = self.own, self.slopes(domain)
        push, votes = self._differences(slope[own.side_cell] * (x[own.winner] - x[own.loser]), chances)
        firm = 1.0 / self.difficulty[self.shard.cells.query]
        fixed = firm[own.cell] * self.score[own.node] + slope[own.cell] * push
        x = x.copy()
        for slots, place, other, row in own.turns:
            cell, weight = own.cell[slots], votes[row]
            a1 = fixed[slots] + slope[cell] ** 2 * summed(place, weight * x[other], len(slots))
            a2 = firm[cell] + slope[cell] ** 2 * summed(place, weight, len(slots))
            x[slots] = a1 / a2 + chances.perceived[slots] / np.sqrt(a2)
        return x

    def _differences(self, mean: Floats, chances: Chances) -> tuple[Floats, Floats]:
        """The differences (eq. 13) in units of their deviation sqrt 2 / |tau|, added up for winners and subtracted
        for losers (one a slot); and the votes that took part (one a row)."""
        own, slots = self.own, len(self.own.cell)
        drawn = truncated(chances.difference, 0.0, np.inf, mean[own.side])
        many = np.flatnonzero(own.size > 1.0)
        drawn[many] = _many(own.size[many], mean[own.side[many]], chances.difference[many])
        size = own.size
        if not own.whole:
            coin = chances.coin[own.row[own.side]]
            here = (own.begin <= coin) & (coin < own.end)
            drawn, size = drawn * here, size * here
        total = summed(own.side, drawn, len(own.row))
        push = summed(own.winner, total, slots) - summed(own.loser, total, slots)
        return push, summed(own.row[own.side], size, len(self.shard))

    def derivatives(self, x: Floats, domain: Integers) -> tuple[Floats, Floats]:
        """Those of each cell's log-likelihood by tau: the first (eq. 21) and the second (eq. 22)."""
        own, count = self.own, len(self.shard.cells.worker)
        ahead = ROOT * (x[own.winner] - x[own.loser])
        z = (self.slopes(domain) / ROOT)[own.side_cell] * ahead
        f = hazard(-z)
        slope = summed(own.side_cell, own.weight * ahead * f, count)
        return slope, -summed(own.side_cell, own.weight * ahead**2 * f * (f + z), count)


class Seen:
    """Sums over the sweeps of a round that count."""

    def __init__(self, sweep: Sweep) -> None:
        nodes, (queries, domains) = len(sweep.score), (sweep.shard.queries, sweep.tau.shape[1])
        self.sweep, self.count = sweep, 0
        self.off, self.square = np.zeros(nodes), np.zeros(nodes)
        self.odds = np.zeros((queries, domains))
        self.slope, self.bend = np.zeros((2, len(sweep.shard.cells.worker), domains))

    def add(self, x: Floats, odds: Floats, domain: Integers) -> None:
        """One more sweep."""
        node, cells, nodes = self.sweep.own.node, self.sweep.shard.cells, len(self.off)
        off = x - self.sweep.score[node]
        self.count += 1
        self.off += summed(node, off, nodes)
        self.square += summed(node, off**2, nodes)
        self.odds += odds
        slope, bend = self.sweep.derivatives(x, domain)
        chosen = np.arange(len(cells.worker)), domain[cells.query]
        self.slope[chosen] += slope
        self.bend[chosen] += bend

    def scores(self) -> tuple[Floats, Floats]:
        """The next scores (eq. 18) and difficulties (eq. 19); where nobody judged, those there are."""
        sweep, query, queries = self.sweep, self.sweep.shard.query, self.sweep.shard.queries
        slots = summed(sweep.own.node, None, len(self.off))
        off = self.off / self.count / np.maximum(slots, 1.0)
        square = self.square / self.count - slots * off**2
        judged = summed(query, slots, queries)
        spread = summed(query, square, queries) / np.maximum(judged, 1.0)
        return sweep.score + off, np.where(judged > 0, np.maximum(spread, LEAST), sweep.difficulty)


def moves(own: Layout, count: int, slope: Floats, ahead: Floats, steps: int) -> Floats:
    """The moves c of the nodes that raise sum over sides of w ln Phi(slope (ahead + c_i - c_j)).

    Fixed steps of damped diagonal Newton with momentum, so that no query's answer depends on another's.
    """
    i, j = own.node[own.winner], own.node[own.loser]
    move, speed = np.zeros(count), np.zeros(count)
    for _ in range(steps):
        z = slope * (ahead + move[i] - move[j])
        f = hazard(-z)
        pull, bend = own.weight * slope * f, own.weight * slope**2 * f * (f + z)
        gradient = summed(i, pull, count) - summed(j, pull, count) - DAMPING * move
        speed = MOMENTUM * speed + gradient / (summed(i, bend, count) + summed(j, bend, count) + DAMPING)
        move = move + speed
    return move


def _many(size: Floats, mean: Floats, uniform: Floats) -> Floats:
    """The sum of so many differences, which is normal with their mean and variance."""
    from scipy.special import ndtri

    f = hazard(-mean)
    deviation = np.sqrt(size * np.maximum(1.0 - f * (f + mean), 0.0))
    return size * (mean + f) + deviation * ndtri(np.maximum(uniform, 2.0**-54))


def _generator(seed: int, turn: int, query: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[seed, turn], counter=[0, 0, 0, query]))


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
        }
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
        firm = 1.0 / np.mean(tau**2)
        step = (gradient - firm * (tau - tau.mean())) / (firm - curvature)
        return tau + np.clip(step, -STEP, STEP)

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
        lowest = np.minimum.reduceat(score, np.flatnonzero(np.diff(self.query, prepend=-1)))
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
        "scale": 1.0,
        "round": 1,
    }
    first = rounds - max(rounds // 3, 1)
    steps = Rounds(shards, run, workers, shared_expertise, shared_difficulty, first)
    iterate(session, start, steps.update, tol=0.0, limit=rounds)
    return steps.answer()
