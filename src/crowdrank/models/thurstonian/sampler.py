"""The sampler of TPP: blocked Gibbs sampling within EM (Wang et al., section IV and appendix A).

A round starts with some sweeps over the hidden variables (``sweeps``). It then sets s = mean of x,
delta^2 = mean of (x - s)^2, theta = mean of P(m) (eq. 18-20), and moves tau by a Newton step (eq. 21, 22) with a
normal prior that has the crowd's own mean and mean square.

In an easy query, x and s hold each other back. So s moves once more, together with all its perceived scores, to
make the votes likelier. This is EM with x - s as the hidden variable instead of x (alternating EM, Meng and
van Dyk 1997).

Domains are random at first. From there the sampler does not find them all: workers of one domain who oppose
each other soon perceive opposite scores, which no draw undoes. So the first rounds restart a few times, with
domains and signs of tau from ``find_classes``, and with all workers perceiving the true scores.

The classes group queries by which workers agree with their scores.

In a query l of class m, worker k agrees with the order of the scores with probability p_km, or with 1 - p_km if
the scores came out reversed. Both signs of a class are equally likely, and theta is the share of each class.
With a_kl votes that agree and b_kl that do not,

    ln P(l | m, +) = sum_k a_kl ln p_km + b_kl ln(1 - p_km),        ln P(l | m, -) with a and b exchanged.

EM runs from several starts, each with some queries as the classes. The likeliest result is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from crowdrank.data import Floats, Integers, summed
from crowdrank.engine import Stats, local_part
from crowdrank.models.base import Run
from crowdrank.models.thurstonian.answer import Answer, domain_log_likelihoods, log_mixture
from crowdrank.models.thurstonian.sweeps import Chances, SlotLayout, Sweep, SweepTotals, layout, moves
from crowdrank.prepared.panels import Panel
from crowdrank.random import generator
from crowdrank.solve import rounds

CLASS_STARTS, CLASS_STEPS = 20, 30
"""Starts of the EM for the classes, and EM steps from each."""


def find_classes(
    agreed: Any, against: Any, count: int, generator: np.random.Generator
) -> tuple[Integers, Floats, Floats]:
    """The class of each query, its sign (1 or -1), and the agreement probabilities p (workers, classes).

    ``agreed`` and ``against`` are sparse matrices of votes (queries, workers); there are ``count`` classes. The
    sign of a class is chosen so that most of its votes agree with the scores.
    """
    _, odds, p = max(
        (_fit_classes(agreed, against, count, generator) for _ in range(CLASS_STARTS)), key=itemgetter(0)
    )
    option = odds.argmax(axis=1)
    own = option % count
    votes = (agreed + against).T @ np.eye(count)[own]
    side = np.where((np.sign(p - 0.5) * votes).sum(axis=0) < 0, -1.0, 1.0)
    return own, np.where(option < count, 1.0, -1.0) * side[own], np.where(side < 0, 1.0 - p, p)


def _fit_classes(
    agreed: Any, against: Any, count: int, generator: np.random.Generator
) -> tuple[float, Floats, Floats]:
    """EM that starts with some queries as the classes: the log-likelihood, the odds (queries, 2 count), and p."""
    queries = agreed.shape[0]
    chosen = generator.choice(queries, count, replace=queries < count)
    p, theta = (
        _agreement_rate(agreed[chosen].toarray().T, against[chosen].toarray().T),
        np.full(count, 1.0 / count),
    )
    for _ in range(CLASS_STEPS):
        odds, value = _odds(agreed, against, p, theta)
        ahead, behind = np.split(odds, 2, axis=1)
        p = _agreement_rate(agreed.T @ ahead + against.T @ behind, against.T @ ahead + agreed.T @ behind)
        theta = (1.0 + (ahead + behind).sum(axis=0)) / (count + queries)
    return value, odds, p


def _agreement_rate(agreed: Floats, against: Floats) -> Floats:
    return (1.0 + agreed) / (2.0 + agreed + against)


def _odds(agreed: Any, against: Any, p: Floats, theta: Floats) -> tuple[Floats, float]:
    """The probability of each class with either sign (queries, 2 count), and the log-likelihood."""
    yes, no = np.log(p), np.log1p(-p)
    logs = np.hstack([agreed @ yes + against @ no, agreed @ no + against @ yes]) + np.log(0.5 * np.tile(theta, 2))
    total = np.logaddexp.reduce(logs, axis=1)
    return np.exp(logs - total[:, None]), float(total.sum())


ROUNDS, SWEEPS, BURN = 60, 4, 1
"""Rounds of EM, sweeps per round, and how many of these sweeps do not count."""
CLASS_ROUNDS, LAST_FIXED = (1, 5, 9), 12
"""The rounds after which ``find_classes`` sets the domains (they are random before), and the last round that keeps
them. Later rounds draw them."""
START_STEPS, STEPS = 100, 10
"""Steps that move the scores before the first round, and after each round."""
STEP = 1.0
"""The farthest that a tau moves in a round."""
FLOOR = 0.01
"""The smallest variance of the prior of tau."""
STEADY = 0.01
"""The log-likelihood has converged if it rises by at most this share over the rounds that count."""


@dataclass(frozen=True, eq=False)
class GibbsChain:
    """What a shard keeps between rounds: the perceived score of each slot."""

    layout: SlotLayout
    perceived: Floats


@dataclass(frozen=True, eq=False)
class ChainParams:
    """What a round starts from: ``score`` of nodes, ``difficulty`` of queries, ``tau`` (K, M), ``theta`` (M).

    ``shift`` and ``scale`` bring the perceived scores back to the current unit. ``domain``: the domain of each
    query, or None if it is drawn. ``fresh``: all workers perceive the true scores at first.
    """

    score: Floats
    difficulty: Floats
    tau: Floats
    theta: Floats
    shift: Floats
    scale: float
    round: int
    domain: Integers | None
    fresh: bool


@dataclass(frozen=True, eq=False)
class SweepMeans(Stats):
    """The means over the sweeps of a round, for each node, query and cell."""

    score: Floats = local_part()
    lowest: Floats = local_part()
    difficulty: Floats = local_part()
    domain: Floats = local_part()
    slope: Floats = local_part()
    bend: Floats = local_part()
    agreed: Floats = local_part()
    log_likelihood: Floats = local_part()


class KeptRound(NamedTuple):
    """The values of a round that enter the answer."""

    score: Floats
    difficulty: Floats
    domain: Floats
    tau: Floats
    theta: Floats


@dataclass(frozen=True)
class GibbsSums:
    """One round of sweeps over a shard, which keeps the chains."""

    domains: int
    sweeps: int
    burn: int
    seed: int

    def start(self, shard: Panel, seed: int) -> GibbsChain:
        """All workers perceive the scores that best explain all votes if tau and delta are 1."""
        own = layout(shard)
        even = np.zeros(len(own.row))
        return GibbsChain(own, moves(own, len(shard.query), even + 0.5, even, START_STEPS)[own.node])

    def sweep(self, shard: Panel, at: ChainParams, state: GibbsChain) -> tuple[SweepMeans, GibbsChain]:
        """Run the sweeps of a round."""
        queries = slice(shard.first_query, shard.first_query + shard.queries)
        own, held = state.layout, at.domain
        sweep = Sweep(shard, own, at.score[shard.nodes], at.difficulty[queries], at.tau, at.theta)
        x = sweep.score[own.node]
        if not at.fresh:
            x = (state.perceived - at.shift[queries][sweep.slot_query]) / at.scale
        chances = self._chances(shard, own, at.round)
        seen = SweepTotals(sweep)
        for turn in range(self.sweeps):
            odds = sweep.odds(x) if held is None else np.eye(self.domains)[held[queries]]
            domain = _pick(odds, chances.domain[turn])
            x = sweep.draw_perceived(x, domain, chances.of_sweep(turn))
            if turn >= self.burn:
                seen.add(x, odds, domain)
        score, difficulty = seen.scores()
        move = moves(own, len(score), sweep.slopes(domain)[own.side_cell], x[own.winner] - x[own.loser], STEPS)
        fits = domain_log_likelihoods(shard, sweep.score, sweep.difficulty, sweep.tau)
        means = SweepMeans(
            score=score + move,
            lowest=_lowest(score + move, shard.query, shard.queries),
            difficulty=difficulty,
            domain=seen.odds / seen.count,
            slope=seen.slope / seen.count,
            bend=seen.bend / seen.count,
            agreed=sweep.agreeing_weight(),
            log_likelihood=log_mixture(fits, sweep.theta),
        )
        return means, GibbsChain(own, x + move[own.node])

    def mean_perceived(self, shard: Panel, params: None, state: GibbsChain) -> Floats:
        """The mean perceived score of each node."""
        node, count = state.layout.node, len(shard.query)
        return summed(node, state.perceived, count) / np.maximum(summed(node, None, count), 1.0)

    def _chances(self, shard: Panel, own: SlotLayout, turn: int) -> Chances:
        """Random numbers by (seed, round, query), so that sharding does not change them."""
        parts: tuple[list[Floats], ...] = ([], [], [], [])
        for query, (slots, draws, rows) in enumerate(own.counts):
            rng = generator(self.seed, turn, shard.first_query + query)
            parts[0].append(rng.random((self.sweeps, 1)))
            parts[1].append(rng.standard_normal((self.sweeps, slots)))
            parts[2].append(rng.random((self.sweeps, draws)))
            parts[3].append(rng.random((self.sweeps, 0 if own.whole else rows)))
        return Chances(*(np.concatenate(part, axis=1) for part in parts))


def _lowest(score: Floats, query: Integers, queries: int) -> Floats:
    """The lowest score of each query, or 0 if it has no items."""
    found = np.full(queries, np.inf)
    np.minimum.at(found, query, score)
    return np.where(np.isfinite(found), found, 0.0)


def _pick(odds: Floats, uniform: Floats) -> Integers:
    """Draw an option for each row by its odds."""
    return np.minimum((np.cumsum(odds, axis=1) <= uniform[:, None]).sum(axis=1), odds.shape[1] - 1)


class SamplerRounds:
    """The M-steps of the parameters that queries share, and the rounds that count: those after ``first``."""

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
        self.kept: list[KeptRound] = []
        self.trace: list[dict[str, Any]] = []

    def update(self, at: ChainParams, seen: SweepMeans) -> ChainParams:
        """The next parameters, rescaled so that the mean delta^2 is 1 and the lowest score is 0 (eq. 16, 17)."""
        fixed = self.shared_difficulty
        scale = 1.0 if fixed else math.sqrt(seen.difficulty.mean())
        tau = self._step_tau(at.tau, seen.slope, seen.bend)
        after = ChainParams(
            score=(seen.score - seen.lowest[self.query]) / scale,
            difficulty=at.difficulty if fixed else seen.difficulty / scale**2,
            tau=tau * scale,
            theta=seen.domain.mean(axis=0),  # eq. 20
            shift=seen.lowest,
            scale=scale,
            round=at.round + 1,
            domain=at.domain if at.round < LAST_FIXED else None,
            fresh=False,
        )
        if at.round in CLASS_ROUNDS:
            after = self._classify(after, seen.agreed)
        value = float(seen.log_likelihood.sum())
        self.trace.append({"domain": seen.domain.argmax(axis=1), "log_likelihood": value})
        if at.round > self.first:
            self.kept.append(KeptRound(after.score, after.difficulty, seen.domain, after.tau, after.theta))
        if self.run.progress is not None:
            self.run.progress(at.round, value, float(np.abs(tau - at.tau).max()))
        return after

    def _step_tau(self, tau: Floats, slope: Floats, bend: Floats) -> Floats:
        """A Newton step of tau from the derivatives of the cells."""
        gradient, curvature = (self._sum_by_worker(part) for part in (slope, bend))
        if self.shared_expertise:
            gradient, curvature = (part.sum(axis=0) for part in (gradient, curvature))
        firm = 1.0 / max(float(np.mean(tau**2)), FLOOR)
        step = (gradient - firm * (tau - tau.mean())) / (firm - curvature)
        return tau + np.clip(step, -STEP, STEP)

    def _classify(self, after: ChainParams, agreed: Floats) -> ChainParams:
        """Restart with the classes as domains, and reverse the queries of negative sign."""
        from scipy.sparse import csr_array
        from scipy.special import ndtri

        queries, place = len(after.shift), (self.cell_query, self.cell_worker)
        yes, no = (
            csr_array((part, place), (queries, self.workers)) for part in (agreed, self.cell_weight - agreed)
        )
        rng = generator(self.run.seed, after.round, queries)
        domain, sign, chance = find_classes(yes, no, len(after.theta), rng)
        tau = ndtri(chance)
        return replace(
            after,
            domain=domain,
            tau=np.broadcast_to(tau.mean(axis=0), tau.shape) if self.shared_expertise else tau,
            score=after.score * sign[self.query],
            fresh=True,
        )

    def _sum_by_worker(self, of_cells: Floats) -> Floats:
        return np.stack([summed(self.cell_worker, part, self.workers) for part in of_cells.T], axis=1)

    def answer(self) -> Answer:
        """The means over the rounds that count. The sign of each domain makes most of its votes honest."""
        score, difficulty, domain, tau, theta = (np.mean(part, axis=0) for part in zip(*self.kept, strict=True))
        votes = self._sum_by_worker(self.cell_weight[:, None] * domain[self.cell_query])
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


def draw_answer(
    shards: list[Panel],
    run: Run,
    *,
    workers: int,
    domains: int,
    shared_expertise: bool,
    shared_difficulty: bool,
    count: int = ROUNDS,
    sweeps: int = SWEEPS,
    burn: int = BURN,
) -> Answer:
    """Fit TPP by the sampler. The answer is the mean over the last third of ``count`` rounds."""
    sums = GibbsSums(domains, sweeps, burn, run.seed)
    session = run.engine.open(shards, start=sums.start, seed=run.seed)
    queries = sum(shard.queries for shard in shards)
    start = ChainParams(
        score=np.concatenate(session.collect(sums.mean_perceived, None)),
        difficulty=np.ones(queries),
        tau=np.ones((workers, domains)),
        theta=np.full(domains, 1.0 / domains),
        shift=np.zeros(queries),
        scale=1.0,
        round=1,
        domain=generator(run.seed, 0, queries).integers(domains, size=queries),
        fresh=True,
    )
    first = count - max(count // 3, 1)
    steps = SamplerRounds(shards, run, workers, shared_expertise, shared_difficulty, first)
    rounds(lambda at: steps.update(at, session.advance(sums.sweep, at)), start, count)
    return steps.answer()
