"""The samplers of TPP: blocked Gibbs sampling within EM (Wang et al., section IV and appendix A).

A round starts with some sweeps over the hidden variables (``sweeps``). It then sets s = mean of x,
delta^2 = mean of (x - s)^2, theta = mean of P(m) (eq. 18-20), and moves tau by a Newton step (eq. 21, 22).

This is all that the ``printed`` sampler does. It starts at random, and its answer is that of the last round.

The ``collapsed`` sampler draws domains with the noisy differences integrated out. It starts from the scores that
explain the votes best, and its answer is the mean over the last third of the rounds. tau has a normal prior with
the crowd's own mean and mean square, and moves by at most ``STEP``; delta^2 is at least ``LEAST``. What follows
also belongs only to the collapsed sampler.

In an easy query, x and s hold each other back. So s moves once more, together with all its perceived scores, to
make the votes likelier. This is EM with x - s as the hidden variable instead of x (alternating EM, Meng and
van Dyk 1997).

Domains are random at first. From there the sampler does not find them all: workers of one domain who oppose
each other soon perceive opposite scores, which no draw undoes. So the first rounds restart a few times, with
domains and signs of tau from ``find_classes``, and with all workers perceiving the true scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, summed
from crowdrank.engine import Stats, local_part
from crowdrank.models.base import Run
from crowdrank.models.thurstonian.answer import Answer, domain_log_likelihoods, log_mixture
from crowdrank.models.thurstonian.classes import find_classes
from crowdrank.models.thurstonian.sweeps import (
    LEAST,
    MANY,
    TINY,
    Chances,
    SlotLayout,
    Sweep,
    SweepTotals,
    layout,
    moves,
)
from crowdrank.prepared.panels import Panel
from crowdrank.random import generator
from crowdrank.solve import rounds

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


@dataclass(frozen=True)
class SamplerForm:
    """Which sampler: ``collapsed`` or printed, see the module. ``classes``: whether the first rounds restart from
    classes of queries. ``rounds`` of EM have so many ``sweeps``, and the first of them, ``burn``, do not count."""

    collapsed: bool = True
    classes: bool = True
    rounds: int = 60
    sweeps: int = 4
    burn: int = 1


SAMPLERS = {"collapsed": SamplerForm(), "printed": SamplerForm(False, False, rounds=30, sweeps=100, burn=50)}
"""The paper does not give its numbers of sweeps. The authors' programs run 50 that do not count and 50 that do."""


@dataclass(frozen=True, eq=False)
class GibbsChain:
    """What a shard keeps between rounds: the perceived score of each slot, and the noisy difference of each draw
    for the printed sampler."""

    layout: SlotLayout
    perceived: Floats
    difference: Floats


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

    form: SamplerForm
    domains: int
    seed: int

    def start(self, shard: Panel, seed: int) -> GibbsChain:
        """All workers perceive the scores that best explain all votes if tau and delta are 1. The printed sampler
        does not use them."""
        own = layout(shard, MANY if self.form.collapsed else math.inf)
        even, steps = np.zeros(len(own.row)), START_STEPS if self.form.collapsed else 0
        perceived = moves(own, len(shard.query), even + 0.5, even, steps)[own.node]
        return GibbsChain(own, perceived, np.empty(0))

    def sweep(self, shard: Panel, at: ChainParams, state: GibbsChain) -> tuple[SweepMeans, GibbsChain]:
        """Run the sweeps of a round."""
        queries = slice(shard.first_query, shard.first_query + shard.queries)
        own, held = state.layout, at.domain if self.form.collapsed else None
        sweep = Sweep(shard, own, at.score[shard.nodes], at.difficulty[queries], at.tau, at.theta)
        x, apart = sweep.score[own.node], state.difference / at.scale
        if at.fresh and at.domain is not None:
            apart = self._first_differences(sweep, x, at.domain[queries])
        if not at.fresh:
            x = (state.perceived - at.shift[queries][sweep.slot_query]) / at.scale
        chances = self._chances(shard, own, at.round)
        seen = SweepTotals(sweep)
        for turn in range(self.form.sweeps):
            now = chances.of_sweep(turn)
            odds = np.eye(self.domains)[held[queries]] if held is not None else self._odds(sweep, x, apart, now)
            domain = _pick(odds, now.domain)
            x, apart = self._draw(sweep, x, apart, domain, now)
            if turn >= self.form.burn:
                seen.add(x, odds, domain)
        score, difficulty = seen.scores(LEAST if self.form.collapsed else TINY)
        ahead, steps = x[own.winner] - x[own.loser], STEPS if self.form.collapsed else 0
        move = moves(own, len(score), sweep.slopes(domain)[own.side_cell], ahead, steps)
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
        return means, GibbsChain(own, x + move[own.node], apart)

    def _odds(self, sweep: Sweep, x: Floats, apart: Floats, now: Chances) -> Floats:
        """The probability of each domain for each query: eq. 6, or eq. 8 for the printed sampler."""
        return sweep.odds(x) if self.form.collapsed else sweep.odds_given_differences(x, apart, now)

    def _draw(
        self, sweep: Sweep, x: Floats, apart: Floats, domain: Integers, now: Chances
    ) -> tuple[Floats, Floats]:
        """Draw the noisy differences, then the perceived scores. The printed sampler draws the scores first, given
        the differences of the last sweep, ``apart``."""
        if self.form.collapsed:
            drawn = sweep.draw_differences(x, domain, now.difference)
            return sweep.draw_perceived(x, domain, drawn, now), apart
        steep = sweep.steepness(domain)
        x = sweep.draw_perceived(x, domain, apart * steep, now)
        return x, sweep.draw_differences(x, domain, now.difference) / steep

    def _first_differences(self, sweep: Sweep, x: Floats, domain: Integers) -> Floats:
        """The differences before the first sweep of the printed sampler: the medians of eq. 13."""
        if self.form.collapsed:
            return np.empty(0)
        steep = sweep.steepness(domain)
        return sweep.draw_differences(x, domain, np.full(len(steep), 0.5)) / steep

    def mean_perceived(self, shard: Panel, params: None, state: GibbsChain) -> Floats:
        """The mean perceived score of each node."""
        node, count = state.layout.node, len(shard.query)
        return summed(node, state.perceived, count) / np.maximum(summed(node, None, count), 1.0)

    def _chances(self, shard: Panel, own: SlotLayout, turn: int) -> Chances:
        """Random numbers by (seed, round, query), so that sharding does not change them."""
        parts: tuple[list[Floats], ...] = ([], [], [], [])
        sweeps = self.form.sweeps
        for query, (slots, draws, rows) in enumerate(own.counts):
            rng = generator(self.seed, turn, shard.first_query + query)
            parts[0].append(rng.random((sweeps, 1)))
            parts[1].append(rng.standard_normal((sweeps, slots)))
            parts[2].append(rng.random((sweeps, draws)))
            parts[3].append(rng.random((sweeps, 0 if own.whole else rows)))
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

    query: NDArray[Any]
    cell_query: NDArray[Any]
    cell_worker: NDArray[Any]
    cell_weight: NDArray[Any]
    form: SamplerForm
    run: Run
    workers: int
    first: int
    shared_expertise: bool
    shared_difficulty: bool

    def __init__(
        self,
        form: SamplerForm,
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
        self.form, self.run, self.workers, self.first = form, run, workers, first
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
            domain=at.domain if self.form.classes and at.round < LAST_FIXED else None,
            fresh=False,
        )
        if self.form.classes and at.round in CLASS_ROUNDS:
            after = self._classify(after, seen.agreed)
        value = float(seen.log_likelihood.sum())
        self.trace.append({"domain": seen.domain.argmax(axis=1), "log_likelihood": value})
        if at.round > self.first:
            self.kept.append(KeptRound(after.score, after.difficulty, seen.domain, after.tau, after.theta))
        if self.run.progress is not None:
            self.run.progress(at.round, value, float(np.abs(tau - at.tau).max()))
        return after

    def _step_tau(self, tau: Floats, slope: Floats, bend: Floats) -> Floats:
        """A Newton step of tau from the derivatives of the cells. Without votes the printed sampler keeps it."""
        gradient, curvature = (self._sum_by_worker(part) for part in (slope, bend))
        if self.shared_expertise:
            gradient, curvature = (part.sum(axis=0) for part in (gradient, curvature))
        if not self.form.collapsed:
            return tau - np.divide(gradient, curvature, out=np.zeros_like(tau), where=curvature < 0.0)
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
        """The means over the rounds that count; for the printed sampler, the last round. The sign of each domain
        makes most of its votes honest."""
        kept = self.kept if self.form.collapsed else self.kept[-1:]
        score, difficulty, domain, tau, theta = (np.mean(part, axis=0) for part in zip(*kept, strict=True))
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
    form: SamplerForm = SAMPLERS["collapsed"],
) -> Answer:
    """Fit TPP by a sampler. The last third of its rounds count."""
    sums = GibbsSums(form, domains, run.seed)
    session = run.engine.open(shards, start=sums.start, seed=run.seed)
    queries = sum(shard.queries for shard in shards)
    rng = generator(run.seed, 0, queries)
    start = ChainParams(
        score=np.concatenate(session.collect(sums.mean_perceived, None)),
        difficulty=np.ones(queries),
        tau=np.ones((workers, domains)),
        theta=np.full(domains, 1.0 / domains),
        shift=np.zeros(queries),
        scale=1.0,
        round=1,
        domain=rng.integers(domains, size=queries),
        fresh=True,
    )
    if not form.collapsed:
        start = _random_start(start, rng, shared_difficulty)
    first = form.rounds - max(form.rounds // 3, 1)
    steps = SamplerRounds(form, shards, run, workers, shared_expertise, shared_difficulty, first)
    rounds(lambda at: steps.update(at, session.advance(sums.sweep, at)), start, form.rounds)
    return steps.answer()


def _random_start(at: ChainParams, rng: np.random.Generator, shared_difficulty: bool) -> ChainParams:
    """The start of the authors' programs; the paper gives none. tau is 1 / M, the others are uniform."""
    difficulty = at.difficulty if shared_difficulty else 0.5 + rng.random(len(at.difficulty))
    score, tau = rng.random(len(at.score)), at.tau / len(at.theta)
    return replace(at, score=score, difficulty=difficulty / difficulty.mean(), tau=tau)
