"""Crowd-BT: Bradley-Terry with a quality for each worker (Chen et al. 2013).

A worker k repeats the outcome of a Bradley-Terry contest with probability eta_k and reverses it
otherwise (eq. 4, 5):

    P(i beats j, said by k) = eta_k F(s_i - s_j) + (1 - eta_k) F(s_j - s_i)

eta = 1 is a perfect worker, 1/2 a spammer whose votes carry nothing, 0 one whose votes count reversed.
Scores and qualities together maximise (eq. 8, with a Beta(a, b) prior on each eta; Beta(1, 1) is flat)

    sum over votes ln P + lambda sum_i [ln F(s_i) + ln F(-s_i)] + sum_k [(a-1) ln eta_k + (b-1) ln(1-eta_k)]

(s, eta) and (-s, 1 - eta) are equally likely: which of the two is reported is decided by anchors
where there are some, else by the larger mean quality.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Comparisons, Floats, Tally, agreed_pairs, graph, plan, summed
from crowdrank.engine import Session, Stats
from crowdrank.errors import Note, UsageError
from crowdrank.kernels import LOGISTIC, Link
from crowdrank.models.base import Outcome, Run, number
from crowdrank.models.paired.estimator import (
    PairedModel,
    VirtualNode,
    convergence,
    gold_log_likelihood,
    placed,
    require_finite,
    uncertainty,
)
from crowdrank.models.paired.likelihood import PairedSums, QualitySums
from crowdrank.models.paired.quality import People
from crowdrank.models.predictors import LinkedScores
from crowdrank.models.votes import Votes
from crowdrank.solve import (
    NO_WORKERS,
    Bounds,
    Maximum,
    Point,
    Terms,
    frozen_workers,
    iterate,
    maximise,
)

STARTS = ("one", "agreed")
EM_ROUNDS = 6


class CrowdBT(PairedModel):
    """Crowd-BT: scores of items and qualities of workers together (eq. 8).

    ``prior``: the Beta(a, b) prior on each quality, a and b at least 1. ``regularization``: lambda of
    the virtual node. ``start``: where the qualities start, ``"one"`` (everybody perfect) or
    ``"agreed"`` (by pairs that more than ten workers judged and nine tenths agree on, footnote 4);
    gold pairs given as anchors go before both, and count as ``anchor_weight`` votes each of a perfect
    worker. Workers of known quality keep it.
    """

    name = "crowd-bt"
    needs_workers = True
    anchors = frozenset({"pairs", "workers"})
    link = LOGISTIC

    def __init__(
        self,
        *,
        prior: tuple[float, float] = (1.0, 1.0),
        regularization: float = 0.5,
        start: str = "one",
        anchor_weight: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.prior = prior
        self.regularization = regularization
        self.start = start
        self.anchor_weight = anchor_weight
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        climb = _Climb(self, votes, run)
        top, mirror, notes = climb.mirrored(climb.run())
        if climb.gauge:
            climb.require_finite(top)
        session = run.engine.open(QualitySums(self.link), climb.rows.shards)
        people = People(votes, top, session, climb.prior.log_density, climb.bounds)
        covariance, more, details = uncertainty(
            climb.session, top, climb.penalty, run.seed, people.variance(top.point.workers.shape)
        )
        result = placed(votes, top.point.scores, covariance)
        return Outcome(
            spread=result,
            workers=people.workers(covariance),
            converged=top.converged,
            iterations=climb.iterations,
            log_likelihood=top.log_likelihood - gold_log_likelihood(votes, self.link, top.point.scores),
            notes=(
                *votes.notes(regularised=not climb.gauge),
                *convergence(top),
                *notes,
                *more,
                *people.notes(),
            ),
            details={**details, "mirror": mirror, "perfect_quality": people.perfect},
            predictor=LinkedScores(
                self.link, result.score, votes.tie_share, top.point.workers[: votes.n_workers, 0]
            ),
        )


@dataclass(frozen=True)
class BetaPrior:
    """Beta(a, b) on a quality."""

    a: float
    b: float

    @classmethod
    def parsed(cls, given: Any) -> BetaPrior:
        """From the parameter ``prior``: two numbers of at least 1."""
        try:
            a, b = (number("prior", value, low=1.0) for value in given)
        except (TypeError, ValueError, UsageError):
            raise UsageError(
                f"The parameter 'prior' must be two numbers of at least 1. Got {given!r}.",
                hint="For example --set prior=[4,1.5]",
            ) from None
        return cls(a, b)

    def log_density(self, eta: Floats) -> Floats:
        """ln of the density, up to a constant."""
        safe = np.clip(eta, 1e-12, 1 - 1e-12)
        return (self.a - 1) * np.log(safe) + (self.b - 1) * np.log1p(-safe)


@dataclass(frozen=True)
class _Penalty:
    """The virtual node and the prior on qualities."""

    link: Link
    strength: float
    prior: BetaPrior

    def __call__(self, point: Point) -> Terms:
        terms = VirtualNode(self.link, self.strength)(point)
        a, b = self.prior.a - 1, self.prior.b - 1
        eta = np.clip(point.workers, 1e-300, 1.0)
        rest = np.clip(1.0 - point.workers, 1e-300, 1.0)
        return Terms(
            value=terms.value + float((a * np.log(eta) + b * np.log(rest)).sum()),
            scores=terms.scores,
            scores_curvature=terms.scores_curvature,
            workers=(a / eta if a else 0 * eta) - (b / rest if b else 0 * eta),
            workers_curvature=(a / eta**2 if a else 0 * eta) + (b / rest**2 if b else 0 * eta),
        )


class _Climb:
    """One fit of Crowd-BT: the start, the climb, the mirror."""

    def __init__(self, model: CrowdBT, votes: Votes, run: Run) -> None:
        self.votes, self.progress, self.engine, self.link = votes, run.progress, run.engine, model.link
        self.prior = BetaPrior.parsed(model.prior)
        if model.start not in STARTS:
            raise UsageError(f"The parameter 'start' must be one of {', '.join(STARTS)}. Got {model.start!r}.")
        strength = number("regularization", model.regularization, low=0)
        self.gold = votes.gold
        self.rows = votes.by_worker()
        self.known = run.anchors.known(votes.pairs.index)
        if strength == 0:
            require_finite(votes, votes.graph)
        self.gauge = strength == 0
        self.session: Session = run.engine.open(PairedSums(model.link), self.rows.shards)
        self.penalty = _Penalty(model.link, strength, self.prior)
        self.bounds = self._bounds()
        by_agreement = model.start == "agreed" and not len(self.gold)
        self.start = self._start(agreed_pairs(votes.comparisons, self.rows) if by_agreement else self.gold)
        self.total = float(self.rows.weights.sum())
        self.iterations = 0

    def _bounds(self) -> Bounds:
        shape = (self.rows.workers, 1)
        fixed = np.zeros(shape, bool)
        fixed[self.votes.n_workers :] = True  # the perfect worker of the gold pairs
        fixed[self.known[0]] = True
        return Bounds(np.zeros(shape), np.ones(shape), fixed, barriers=(self.prior.a > 1, self.prior.b > 1))

    def _start(self, gold: NDArray[np.int64]) -> Floats:
        """Each quality at 1, or at the worker's accuracy on gold pairs (section 3.3)."""
        eta = np.ones(self.rows.workers)
        if len(gold):
            right, total = _accuracy(self.rows, gold)
            seen = total[: self.votes.n_workers] > 0
            own = (right + 1.0) / (total + 2.0)
            eta = np.where(total > 0, own, own[: self.votes.n_workers][seen].mean() if seen.any() else 1.0)
            eta[self.votes.n_workers :] = 1.0
        eta[self.known[0]] = self.known[1]
        return eta[:, None]

    def _maximise(self, session: Session, start: Point, bounds: Bounds) -> Maximum:
        top = maximise(
            session,
            start,
            self.penalty,
            bounds,
            part=self.votes.graph.part,
            total_weight=self.total,
            gauge=self.gauge,
            progress=self.progress,
        )
        self.iterations += top.iterations
        return top

    def run(self) -> Maximum:
        """Scores under the starting qualities; then qualities by a few rounds of EM; then both."""
        scores = self._first_scores()
        eta = np.where(self.bounds.fixed, self.start, np.clip(self.start, 0.05, 0.95))
        params, rounds, _ = iterate(
            self.session, {"scores": scores, "workers": eta, "order": 1}, self._em, tol=0.01, limit=EM_ROUNDS
        )
        self.iterations += rounds
        return self._maximise(self.session, Point(params["scores"], params["workers"]), self.bounds)

    def _first_scores(self) -> Floats:
        """Scores with the qualities at their start; where all start at 1, that is Bradley-Terry."""
        zeros = np.zeros(self.rows.nodes)
        if (self.start == 1.0).all():
            session = self.engine.open(PairedSums(self.link), plan(self.votes.comparisons))
            return self._maximise(session, Point(zeros, NO_WORKERS), Bounds.none()).point.scores
        inside = np.clip(self.start, 0.05, 0.95) if any(self.bounds.barriers) else self.start
        start = Point(zeros, np.where(self.bounds.fixed, self.start, inside))
        return self._maximise(self.session, start, frozen_workers(self.bounds)).point.scores

    def _em(self, params: dict[str, Any], stats: Stats) -> tuple[dict[str, Any], float]:
        """eta = (expected faithful votes + a - 1) / (votes + a + b - 2), scores held.

        The expected number of faithful votes is n eta + eta (1 - eta) dL/d eta, so the gradient is enough.
        """
        eta, gradient = params["workers"], stats.shared["workers"]
        votes = self.rows.weights[:, None]
        faithful = votes * eta + eta * (1.0 - eta) * gradient
        new = (faithful + self.prior.a - 1) / np.maximum(votes + self.prior.a + self.prior.b - 2, 1e-300)
        new = np.where(self.bounds.fixed, eta, np.clip(new, 1e-3, 1 - 1e-3))
        return {**params, "workers": new}, float(np.abs(new - eta).max(initial=0.0))

    def mirrored(self, top: Maximum) -> tuple[Maximum, dict[str, Any], list[Note]]:
        """Turn round every group of votes whose scores stand on their head, and climb again from there.

        A group is what shares workers: between groups nothing relates the signs.
        """
        node_group, worker_group = self._groups()
        flips, by = self._flips(top, node_group, worker_group)
        report: dict[str, Any] = {"by": by, "turned": int(flips.sum())}
        if flips.any():
            sign = np.where(flips[node_group], -1.0, 1.0)
            turn = flips[worker_group][:, None] & ~self.bounds.fixed
            workers = np.where(turn, 1.0 - top.point.workers, top.point.workers)
            top = self._maximise(self.session, Point(sign * top.point.scores, workers), self.bounds)
            subject = (
                "The direction of the ranking" if len(flips) == 1 else f"The direction of {flips.sum()} groups"
            )
            reason = "gold pairs" if by == "anchors" else "the mean quality of the workers"
            message = f"{subject} was decided by {reason}; the votes alone do not tell it."
            return top, report, [Note("mirror", message)]
        return top, report, self._doubt(top, by)

    def require_finite(self, top: Maximum) -> None:
        """Without regularisation: with the votes of liars reversed, is there still a finite maximum?"""
        pairs = self.votes.comparisons
        keys, (won, lost) = pairs.pair, np.zeros((2, len(pairs)))
        for shard in self.rows:
            eta = top.point.workers[shard.worker, 0]
            counts = np.where(eta < 0.5, [shard.losses, shard.wins], [shard.wins, shard.losses]) * (eta != 0.5)
            place = np.searchsorted(keys, shard.pair)
            won += summed(place, counts[0], len(keys))
            lost += summed(place, counts[1], len(keys))
        require_finite(self.votes, graph(replace(pairs, wins=won, losses=lost)))

    def _doubt(self, top: Maximum, by: str) -> list[Note]:
        """A note where the workers are so poor that the direction of the ranking is uncertain."""
        mean = float(np.average(top.point.workers[: self.votes.n_workers, 0], weights=self.votes.judgments))
        if by != "mean quality" or mean >= 0.6:
            return []
        message = (
            f"The mean quality of the workers is {mean:.2f}: the whole ranking may stand on its head. "
            "Gold pairs (--anchors) would decide it."
        )
        return [Note("mirror", message)]

    def _groups(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Groups of connected parts that share workers: one number for each node and each worker."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        part, count = self.votes.graph.part, self.votes.graph.parts
        workers = self.rows.workers

        def met(shard: Comparisons) -> NDArray[np.int64]:
            assert shard.worker is not None
            people = shard.worker < self.votes.n_workers  # gold pairs relate nothing to each other
            return np.unique(part[shard.i[people]].astype(np.int64) * workers + shard.worker[people])

        edges = np.divmod(np.unique(np.concatenate([met(shard) for shard in self.rows])), workers)
        size = count + workers
        links = coo_array((np.ones(len(edges[0]), np.int8), (edges[0], count + edges[1])), shape=(size, size))
        group = connected_components(links, directed=False)[1]
        return group[:count][part], group[count:]

    def _flips(
        self, top: Maximum, node_group: NDArray[np.int32], worker_group: NDArray[np.int32]
    ) -> tuple[NDArray[np.bool_], str]:
        """Which groups to turn round, and by what that was decided."""
        groups = int(max(node_group.max(initial=0), worker_group.max(initial=0))) + 1
        own = slice(0, self.votes.n_workers)
        weight = self.votes.judgments
        total = summed(worker_group[own], weight, groups)
        mean = summed(worker_group[own], weight * top.point.workers[own, 0], groups) / np.maximum(total, 1e-300)
        flips = (total > 0) & (mean < 0.5)
        by = "mean quality"
        if len(self.known[0]):
            flips[worker_group[self.known[0]]] = False
            by = "known workers"
        if len(self.gold):
            scores = top.point.scores
            says = np.sign(scores[self.gold[:, 0]] - scores[self.gold[:, 1]])
            tally = summed(node_group[self.gold[:, 0]], says, groups)
            flips = np.where(tally != 0, tally < 0, flips)
            by = "anchors"
        return flips, by


def _accuracy(rows: Tally, gold: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """For each worker the weight of right answers on gold pairs, and of all answers on them."""
    keys = gold.min(axis=1) * rows.nodes + gold.max(axis=1)
    order = np.argsort(keys)
    keys, low_better = keys[order], (gold[:, 0] < gold[:, 1])[order]
    right, total = np.zeros((2, rows.workers))
    for shard in rows:
        place = np.minimum(np.searchsorted(keys, shard.pair), len(keys) - 1)
        hit = keys[place] == shard.pair
        assert shard.worker is not None
        worker, agreed = shard.worker[hit], np.where(low_better[place], shard.wins, shard.losses)[hit]
        right += summed(worker, agreed, rows.workers)
        total += summed(worker, (shard.wins + shard.losses)[hit], rows.workers)
    return right, total
