"""Crowd-BT: Bradley-Terry with a quality for each worker (Chen et al. 2013).

A worker k repeats the outcome of a Bradley-Terry contest with probability eta_k and reverses it
otherwise (eq. 4, 5):

    P(i beats j, said by k) = eta_k F(s_i - s_j) + (1 - eta_k) F(s_j - s_i)

eta = 1 is a perfect worker, 1/2 a spammer whose votes carry nothing, 0 one whose votes count reversed.
Scores and qualities together maximize (eq. 8, with a Beta(a, b) prior on each eta; Beta(1, 1) is flat)

    sum over votes ln P + lambda sum_i [ln F(s_i) + ln F(-s_i)] + sum_k [(a-1) ln eta_k + (b-1) ln(1-eta_k)]

(s, eta) and (-s, 1 - eta) are equally likely. If there are anchors, they decide which of the two is reported;
otherwise it is the one with the larger mean quality.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.errors import Note, UsageError
from crowdrank.kernels import LOGISTIC
from crowdrank.kernels.links import TINY
from crowdrank.models.agreement import GOLD_PAIRS
from crowdrank.models.base import Outcome, Run
from crowdrank.models.eta import (
    EM_ROUNDS,
    EtaPosteriors,
    below_half,
    linked_groups,
    mirror_note,
    mirrored,
    update_qualities,
)
from crowdrank.models.pairs.climb import PairedClimb
from crowdrank.models.pairs.estimator import PairedModel, require_finite
from crowdrank.models.pairs.likelihood import QualitySums
from crowdrank.models.pairs.quality import FittedWorkers
from crowdrank.models.priors import BetaPrior
from crowdrank.models.widening import widen
from crowdrank.models.worker_parameters import ETA, WorkerParameter
from crowdrank.prepared.comparisons import Comparisons, Tally
from crowdrank.prepared.graph import graph
from crowdrank.prepared.votes import Votes
from crowdrank.solve import At, Maximum, Point, freeze_workers, until

STARTS = ("one", "agreed")


class CrowdBT(PairedModel):
    """Crowd-BT: scores of items and qualities of workers together (eq. 8).

        P(i beats j, said by k) = eta_k F(s_i - s_j) + (1 - eta_k) F(s_j - s_i)

    F is the logistic function. The paper uses the prior (1, 1) and the regularization 0.5. Chen et al. 2013.

    ``prior``: (a, b) of a Beta prior on each quality, both at least 1, ``"estimated"`` or None for a flat prior;
    the default is ``"estimated"``.
    ``regularization``: lambda, the virtual wins and losses of every item. A number, ``"estimated"``, ``"gold"``
    (the one of several that orders most gold pairs correctly) or None for none; the default is ``"estimated"``.
    ``ties``: ``"rao-kupper"`` or ``"davidson"``, either also with ``-by-worker``, or ``"half"`` (half a win for
    each item). The default ``"auto"`` is Rao-Kupper if there are ties, with a threshold for each worker if the
    model has worker parameters.
    ``position``: a bias towards the left item, ``"none"``, ``"shared"`` or ``"by-worker"``. The default ``"auto"``
    is ``"none"``.
    ``anchor_weight``: how many votes each gold pair counts as.
    ``intervals``: ``"information"``, or from refits ``"bootstrap"`` (votes are resampled) or
    ``"bootstrap-workers"`` (workers are resampled with all their votes).
    ``resamples``: how many refits a bootstrap takes.
    ``start``: where the qualities start, ``"one"`` (all workers are perfect) or ``"agreed"`` (by pairs that more
    than ten workers judged and nine tenths agree on, footnote 4). Gold pairs given as anchors take precedence over
    both: a quality starts at the share of right answers to them (kept within .05 and .95, so that a few answers
    settle nothing). Each counts as ``anchor_weight`` votes of a perfect worker. Workers of known quality keep it.

    >>> import crowdrank as cr
    >>> pairs = ["ab", "ac", "ad", "bc", "bd", "cd"]
    >>> votes = [(w, i, j) for w in ("ann", "bob") for i, j in pairs] + [("eve", j, i) for i, j in pairs]
    >>> model = cr.CrowdBT().fit(votes)  # eve votes in reverse
    >>> model.ranking_.frame()["item"].to_list()
    ['a', 'b', 'c', 'd']
    >>> model.workers_.frame()["worker", "verdict"].rows()
    [('ann', 'reliable'), ('bob', 'reliable'), ('eve', 'malicious')]
    """

    name = "crowd-bt"
    needs_workers = True
    anchors: ClassVar[frozenset[str]] = frozenset({"pairs", "workers"})
    link = LOGISTIC

    def __init__(
        self,
        *,
        prior: tuple[float, float] | str | None = "estimated",
        regularization: float | str | None = "estimated",
        ties: str = "auto",
        position: str = "auto",
        start: str = "one",
        anchor_weight: float = 1.0,
        intervals: str = "information",
        resamples: int = 1000,
        seed: int = 0,
    ) -> None:
        self.prior = prior
        self.regularization = regularization
        self.ties = ties
        self.position = position
        self.start = start
        self.anchor_weight = anchor_weight
        self.intervals = intervals
        self.resamples = resamples
        self.seed = seed

    @property
    def columns(self) -> tuple[WorkerParameter, ...]:
        """The quality."""
        return (ETA,)

    def _fit_votes(self, votes: Votes, run: Run) -> Outcome:
        climb = _Qualities(self, votes, run)
        top, mirror, notes = climb.choose_direction(climb.fit())
        if climb.gauge:
            climb.require_finite(top)
        sums = QualitySums(climb.link, climb.design.ties, climb.design.columns, climb.compiled)
        people = EtaPosteriors(climb, votes, sums.table, top, climb.prior.log_density)
        found, more, details = climb.uncertainty(top, people.variance())
        covariance = widen(climb, climb.design.varying, found, top.point.scores, votes.gold_total)
        scores, said, details = self._score_intervals(climb, top, covariance, details)
        details = {**details, "mirror": mirror, "perfect_quality": people.perfect}
        notes = [*notes, *more, *said, *people.notes()]
        further = FittedWorkers(climb, top, covariance, top.point.scores).further()
        workers = people.workers(covariance, votes.judgments_of_workers, further)
        return self._outcome(climb, top, scores, workers, covariance, notes, details)


class _Qualities(PairedClimb):
    """One fit of Crowd-BT: the start, the prior on qualities, the mirror."""

    def __init__(self, model: CrowdBT, votes: Votes, run: Run) -> None:
        if model.start not in STARTS:
            raise UsageError(f"The parameter 'start' must be one of {', '.join(STARTS)}. Got {model.start!r}.")
        self.known = run.anchors.known(votes.pairs.index)
        eta = BetaPrior.parse(model.prior, estimable=True)
        super().__init__(
            model.link, model._design(votes), votes, run, strength=model._strength(votes), columns={ETA: eta}
        )
        self.gold = votes.gold
        by_agreement = model.start == "agreed" and not len(self.gold)
        gold = agreed_pairs(votes.comparisons, self.plain) if by_agreement else self.gold
        if len(gold):
            self.start[:, 0] = self._first_qualities(gold)
        self.bounds.fixed[self.known[0], 0] = True
        self.start[self.known[0], 0] = self.known[1]

    @cached_property
    def plain(self) -> Tally:
        """Counts by worker. Sides are ignored, and a tie is half a win for each item."""
        return self.votes.count_votes("worker")

    @property
    def prior(self) -> BetaPrior:
        """The current prior on qualities."""
        found = self.priors.columns[0]
        assert isinstance(found, BetaPrior)
        return found

    def _first_qualities(self, gold: NDArray[np.int64]) -> Floats:
        """Each quality at the share of right answers on gold pairs (section 3.3); the mean share without any."""
        right, total = _accuracy(self.plain, gold)
        seen = total[: self.votes.n_workers] > 0
        own = right / np.maximum(total, TINY)
        eta = np.where(total > 0, own, own[: self.votes.n_workers][seen].mean() if seen.any() else 1.0)
        eta[self.votes.n_workers :] = 1.0
        return eta

    def fit(self, start: Point | None = None) -> Maximum:
        """Scores under the starting qualities; then qualities by a few rounds of EM; then both."""
        scores, common = self._first_scores(), self._common()
        workers = self.start.copy()
        workers[:, 0] = np.where(self.bounds.fixed[:, 0], workers[:, 0], np.clip(workers[:, 0], 0.05, 0.95))
        shift = self.bounds.carried @ common if self.bounds.common else 0.0
        start_at = At(scores, workers + shift)
        at, rounds, _ = until(
            lambda at: update_qualities(self, self.prior, self.rows.weights, at),
            start_at,
            tol=0.01,
            limit=EM_ROUNDS,
        )
        self.iterations += rounds
        return self.fit_priors(Point(at.scores, at.workers - shift, common))

    def _first_scores(self) -> Floats:
        """Scores with the qualities at their start. If all start at 1, this is Bradley-Terry."""
        if (self.start[:, 0] == 1.0).all():
            return self.equal_worker_scores()
        workers = self.start.copy()
        if any(self.bounds_with_barriers().barriers):
            workers[:, 0] = np.where(self.bounds.fixed[:, 0], workers[:, 0], np.clip(workers[:, 0], 0.05, 0.95))
        start = Point(np.zeros(self.rows.nodes), workers, self._common())
        return self.maximize(start, freeze_workers(self.bounds)).point.scores

    def choose_direction(self, top: Maximum) -> tuple[Maximum, dict[str, Any], list[Note]]:
        """Reverse every group of votes whose scores are reversed, and climb again from there.

        Votes that share workers form a group. Nothing relates the signs of different groups.
        """
        node_group, worker_group = self._groups()
        flips, by = self._flips(top, node_group, worker_group)
        report: dict[str, Any] = {"by": by, "turned": int(flips.sum())}
        if not flips.any():
            return top, report, self._doubt_notes(top, by)
        top = self.refit_from(mirrored(top, self.bounds, flips[node_group], flips[worker_group]), top)
        reason = "gold pairs" if by == "anchors" else "the mean quality of the workers"
        return top, report, [mirror_note(flips, reason), *self._doubt_notes(top, by)]

    def require_finite(self, top: Maximum) -> None:
        """Raise an error if there is no finite maximum once the votes of liars are reversed."""
        pairs = self.votes.comparisons
        keys, (won, lost) = pairs.pair, np.zeros((2, len(pairs)))
        for shard in self.plain:
            eta = top.point.workers[shard.worker, 0]
            counts = np.where(eta < 0.5, [shard.losses, shard.wins], [shard.wins, shard.losses]) * (eta != 0.5)
            place = np.searchsorted(keys, shard.pair)
            won += summed(place, counts[0], len(keys))
            lost += summed(place, counts[1], len(keys))
        require_finite(self.votes, graph(replace(pairs, wins=won, losses=lost)))

    def _doubt_notes(self, top: Maximum, by: str) -> list[Note]:
        """A note if the workers are so poor that the direction of the ranking is uncertain."""
        mean = float(
            np.average(top.point.workers[: self.votes.n_workers, 0], weights=self.votes.judgments_of_workers)
        )
        if by != "mean quality" or mean >= 0.6:
            return []
        message = f"The mean quality of the workers is {mean:.2f}: the ranking may be reversed."
        return [Note("mirror", message, hint=GOLD_PAIRS)]

    def _groups(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Groups of connected parts that share workers: the group number of each node and of each worker."""
        part, workers = self.votes.graph.part, self.rows.workers

        def met(shard: Comparisons) -> NDArray[np.int64]:
            assert shard.worker is not None
            people = shard.worker < self.votes.n_workers  # gold pairs do not link parts
            return np.unique(part[shard.i[people]].astype(np.int64) * workers + shard.worker[people])

        edges = np.divmod(np.unique(np.concatenate([met(shard) for shard in self.rows])), workers)
        return linked_groups(part, workers, edges)

    def _flips(
        self, top: Maximum, node_group: NDArray[np.int32], worker_group: NDArray[np.int32]
    ) -> tuple[NDArray[np.bool_], str]:
        """Which groups to reverse, and what decided that."""
        groups = int(max(node_group.max(initial=0), worker_group.max(initial=0))) + 1
        own = slice(0, self.votes.n_workers)
        eta, weight = top.point.workers[own, 0], self.votes.judgments_of_workers
        flips = below_half(eta, weight, worker_group[own], groups)
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
    """For each worker, the weight of right answers on gold pairs and of all answers on them."""
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


def agreed_pairs(
    pairs: Comparisons, by_worker: Tally, *, workers: int = 10, share: float = 0.9
) -> NDArray[np.int64]:
    """Gold pairs made from the votes themselves (Crowd-BT, footnote 4), as (better, worse) nodes.

    A pair counts when more than ``workers`` workers judged it and at least ``share`` of them agree.
    ``pairs``: the same votes, without regard to the worker.
    """
    keys = pairs.pair
    voters, ahead, behind = np.zeros((3, len(keys)))
    for shard in by_worker:
        place = np.searchsorted(keys, shard.pair)
        says = np.sign(shard.wins - shard.losses)
        for counts, kind in ((voters, None), (ahead, says > 0), (behind, says < 0)):
            counts += np.bincount(place, kind, len(keys))
    enough = (voters > workers) & (np.maximum(ahead, behind) >= share * voters)
    low, high = pairs.i[enough].astype(np.int64), pairs.j[enough].astype(np.int64)
    first = ahead[enough] > behind[enough]
    return np.stack([np.where(first, low, high), np.where(first, high, low)], axis=1)
