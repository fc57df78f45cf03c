"""Dawid-Skene: the true label of each item and a confusion matrix for each worker, by EM (Dawid & Skene 1979).

Worker w gives the label l to an item with the true label c with probability T_w[c, l]. A share pi_c of the items
has the true label c. With n_iwl the number of labels l that w gave item i,

    P_i(c) proportional to pi_c prod_{w, l} T_w[c, l]^{n_iwl}                                       (E)
    T_w[c, l] proportional to sum_i n_iwl P_i(c) + s m[c, l],    pi_c proportional to sum_i P_i(c) + s v_c  (M)

For s = 0 these are eq. 2.3 to 2.5 of the paper. m is the confusion of the crowd: that of all labels against the
shares of the votes, with one extra right label for each class and one extra label spread over all. v is the mean
share of the votes. So each worker gets s extra labels of an average worker, and there are s extra average items.
Neither step lowers

    sum_i ln sum_c pi_c prod T_w[c, l]^{n_iwl} + s sum_w sum_{c, l} m[c, l] ln T_w[c, l] + s sum_c v_c ln pi_c.

With T as a softmax, its slope is (n_wc + s) (new T - T). EM is accelerated until that is zero.

If classes change places, the likelihood stays the same: only m, or items with a known label, distinguish them.
EM may have ended at such a mirror image. So the reversed classes, and the order of classes in which most labels
are right, are tried too, and the largest objective is kept. With s = 0 and no known labels all have the same
objective. Then the order in which most labels are right is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.engine import Stats
from crowdrank.errors import Note
from crowdrank.models.base import LabelsModel, Outcome, Run
from crowdrank.models.labels.calibration import (
    Calibrated,
    HeldOut,
    Refit,
    calibrate,
    held_out_temperature,
    node_logs,
    predict_known,
    uncalibrated,
)
from crowdrank.models.labels.consensus import (
    ConfusionPredictor,
    expected_labels,
    informative_share,
    workers_by_confusion,
)
from crowdrank.models.parameters import flag, number
from crowdrank.prepared.label_rows import (
    LOST,
    ROUNDS,
    TRIAL,
    check_convergence,
    known_labels,
    normalize_counts,
    plan_labels,
    require_classes,
    stopping_rule,
)
from crowdrank.prepared.label_shards import LabelRows
from crowdrank.prepared.labels import Labels
from crowdrank.solve import accelerate

EDGE = 1e-12
BETTER = 1e-6
"""Another start must be better by this share to replace the first."""


class DawidSkene(LabelsModel):
    """Dawid-Skene: a confusion matrix for each worker, and the posterior of each item's label.

        P_i(c) proportional to pi_c prod_{w, l} T_w[c, l]^{n_iwl}                                       (E)
        T_w[c, l] proportional to sum_i n_iwl P_i(c) + s m[c, l]                                        (M)

    T_w[c, l] is the probability that worker w says l if c is true, and n_iwl how often w said l of item i. m is
    the confusion of the whole crowd. For s = 0 these are eq. 2.3 to 2.5 of Dawid & Skene 1979.

    ``shrinkage``: s, the number of extra labels, of an average worker, that each worker gets for each true label,
    and the number of extra average items; 0 is the classic model. Items whose label is known (``anchors``) keep
    it. ``calibrate``: whether held-out and known labels correct the probabilities, as ``calibration`` says; if
    not, they are those of (E). ``confusion_`` is T.

    >>> import crowdrank as cr
    >>> labels = {"worker": [*"uuuuvvvvwwww"], "item": [*"abcd"] * 3, "label": [1, 1, 0, 0] * 2 + [1] * 4}
    >>> model = cr.DawidSkene().fit(labels)  # w is careless and always says 1
    >>> model.labels_.label
    array([1., 1., 0., 0.])
    >>> model.workers_.frame()["quality"].round(2).to_list()
    [0.87, 0.87, 0.63]
    """

    name = "dawid-skene"
    needs_workers = True
    needs_order = False
    anchors: ClassVar[frozenset[str]] = frozenset({"labels"})

    def __init__(self, *, shrinkage: float = 2.0, calibrate: bool = True, seed: int = 0) -> None:
        self.shrinkage = shrinkage
        self.calibrate = calibrate
        self.seed = seed

    def _fit(self, labels: Labels, run: Run) -> Outcome:
        require_classes(self.name, labels)
        known, unused = known_labels(labels, run.anchors)
        em = _ConfusionEM(labels, known, number("shrinkage", self.shrinkage, low=0), run)
        found, mirror, notes = em.run()
        answer = uncalibrated(found.posterior)
        if flag("calibrate", self.calibrate):
            answer = _calibrate(labels, em, found, known, replace(run, progress=None))
        converged, more = check_convergence(found.slope, em.total, em.rounds)
        people = workers_by_confusion(
            labels, found.confusion, found.counts, found.shares, informative_share(labels, known), {}
        )
        return Outcome(
            spread=expected_labels(labels, found.posterior, answer.probability),
            workers=people,
            converged=converged,
            iterations=em.rounds,
            log_likelihood=found.log_likelihood,
            notes=(*labels.notes(), *unused, *notes, *more, *answer.notes),
            details={
                "mirror": mirror,
                "shares": found.shares.tolist(),
                "known": int((known >= 0).sum()),
                "calibration": answer.details,
            },
            predictor=ConfusionPredictor(
                answer.tempered,
                found.shares,
                found.confusion,
                normalize_counts(found.counts.sum(axis=0) + em.center),
            ),
            tables={
                "labels": labels.posterior(answer.probability),
                "confusion": labels.confusion(found.confusion),
                **answer.tables,
            },
        )


# ------------------------------------------------------------------------------------------- calibration


def _chance_without_item(part: LabelRows, found: _ConfusionFit, extra: Floats) -> Floats:
    """The chance of each label by true label (R, K), with the worker's confusion estimated without the label's
    item. ``extra`` is s m."""
    start = (np.diff(part.node, prepend=-1) != 0) | (np.diff(part.worker, prepend=-1) != 0)
    pair = np.cumsum(start) - 1  # rows are sorted by node, worker and label
    both = summed(pair, part.weight, int(start.sum()))[pair][:, None]
    own, size = part.by_node(found.posterior), len(extra)
    said = found.counts[part.worker, :, part.label] - part.weight[:, None] * own + extra[:, part.label].T
    total = found.counts.sum(axis=2)[part.worker] - both * own + extra.sum(axis=1)
    return np.asarray((np.maximum(said, 0.0) + EDGE / size) / (np.maximum(total, 0.0) + EDGE))


def _calibrate(
    labels: Labels, em: _ConfusionEM, found: _ConfusionFit, known: NDArray[np.int64], run: Run
) -> Calibrated:
    extra = em.shrinkage * em.center
    held = labels.map_pieces(lambda part: HeldOut.of(part, _chance_without_item(part, found, extra), found.shares))

    def refit(rest: NDArray[np.int64]) -> Refit:
        return _ConfusionEM(labels, rest, em.shrinkage, run).refit()

    return calibrate(
        found.posterior, held_out_temperature(held), known, predict_known(known, node_logs(held, known), refit)
    )


# ------------------------------------------------------------------------------------------------- the sums


def said_by_class(shard: LabelRows, posterior: Floats) -> Floats:
    """sum_i n_iwl P_i(c) for each worker, class c and label l (W, true, said)."""
    counts = (shard.transpose @ posterior).reshape(shard.workers, shard.classes, -1)
    return np.ascontiguousarray(counts.transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class ConfusionAt:
    """The current point of EM: ``confusion`` (W, true, said), and the ``shares`` of the true labels."""

    confusion: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class ConfusionCounts(Stats):
    """The log likelihood, and what (M) counts."""

    value: float
    counts: Floats
    shares: Floats


class ConfusionSums:
    """The sums of EM over labels."""

    def counts(self, shard: LabelRows, at: ConfusionAt) -> ConfusionCounts:
        """What (M) counts in one shard."""
        posterior, value = self._posterior(shard, at)
        return ConfusionCounts(float(value.sum()), said_by_class(shard, posterior), posterior.sum(axis=0))

    def posterior(self, shard: LabelRows, at: ConfusionAt) -> Floats:
        """The posterior of each node."""
        return self._posterior(shard, at)[0]

    def _posterior(self, shard: LabelRows, at: ConfusionAt) -> tuple[Floats, Floats]:
        """(E), and the log likelihood of each node's labels."""
        table = np.log(np.maximum(at.confusion, LOST)).transpose(0, 2, 1).reshape(-1, shard.classes)
        return shard.posterior(shard.matrix @ table + np.log(np.maximum(at.shares, LOST)))


@dataclass(frozen=True, eq=False)
class _ConfusionFit:
    confusion: Floats
    shares: Floats
    counts: Floats
    posterior: Floats
    value: float
    log_likelihood: float
    slope: float


class _ConfusionEM:
    """The loop of EM, and the mirror."""

    def __init__(self, labels: Labels, known: NDArray[np.int64], shrinkage: float, run: Run) -> None:
        self.shrinkage, self.progress = shrinkage, run.progress
        self.size, self.people = len(labels.values), labels.people
        self.session, self.sums = run.engine.open(plan_labels(labels, known)), ConfusionSums()
        self.total = labels.total
        self.rounds = 0
        votes = normalize_counts(labels.counts)
        known_nodes = np.flatnonzero(known >= 0)
        self.symmetric = shrinkage == 0 and not len(known_nodes)
        votes[known_nodes] = np.eye(self.size)[known[known_nodes]]
        self.votes, self.typical = votes, votes.mean(axis=0)
        pooled = votes.T @ labels.counts
        self.center = normalize_counts(pooled + np.eye(self.size) + 1.0 / self.size)
        self.counts = reduce(np.add, (said_by_class(part, votes[part.nodes]) for part in labels.pieces()))

    def run(self) -> tuple[_ConfusionFit, dict[str, Any], list[Note]]:
        """Climb from the votes to the end; then from other orders of the classes, if that is better."""
        point, value, slope = self._climb(self._point(self.counts, self.votes.sum(axis=0)))
        best, turned = self._most_right(point), False
        same = np.arange(self.size)
        if self.symmetric:  # all orders have the same objective
            turned = bool((best != same).any())
            point = self._permute(point, best)
        else:
            for order in [order for order in np.unique([same[::-1], best], axis=0) if (order != same).any()]:
                other, there, _ = self._climb(self._permute(point, order), TRIAL)
                if there > value + BETTER * abs(value):
                    (point, value, slope), turned = self._climb(other), True
        found = self._fit_at(point, value, slope)
        by = "labels that are right" if self.symmetric else "objective"
        return found, {"by": by, "turned": turned}, self._notes(found, turned)

    def refit(self) -> Refit:
        """The posterior of a fit from the start: one that knew more labels would lead to what they say."""
        found, _, _ = self.run()
        converged, _ = check_convergence(found.slope, self.total, self.rounds)
        return Refit(found.posterior, converged)

    def _climb(self, point: Floats, limit: int = ROUNDS) -> tuple[Floats, float, float]:
        ends = stopping_rule(self.total, limit)
        point, value, slope, rounds = accelerate(self._step, point, inside=self._inside, **ends)
        self.rounds += rounds
        return point, value, slope

    def _step(self, point: Floats) -> tuple[Floats, float, float]:
        """One round of (E) and (M), with the objective and its slope."""
        confusion, shares = self._parts(point)
        sums = self.session.evaluate(self.sums.counts, ConfusionAt(confusion, shares))
        value = sums.value + self._penalty(confusion, shares)
        items = sums.shares + self.shrinkage * self.typical
        following = self._point(sums.counts, sums.shares)
        new, _ = self._parts(following)
        rows = sums.counts.sum(axis=2, keepdims=True) + self.shrinkage
        steep = np.abs(rows * (new - confusion)).max(initial=0.0)
        slope = max(float(steep), float(np.abs(items - items.sum() * shares).max()))
        if self.progress is not None:
            self.progress(self.rounds, value, slope / max(self.total, 1.0))
        return following, value, slope

    def _penalty(self, confusion: Floats, shares: Floats) -> float:
        if not self.shrinkage:
            return 0.0
        logs, own = np.log(np.maximum(confusion, LOST)), np.log(np.maximum(shares, LOST))
        return self.shrinkage * float((self.center * logs.sum(axis=0)).sum() + self.typical @ own)

    def _point(self, counts: Floats, items: Floats) -> Floats:
        """(M), as one vector."""
        confusion = normalize_counts(counts + self.shrinkage * self.center)
        return np.concatenate([confusion.ravel(), normalize_counts(items + self.shrinkage * self.typical)])

    def _parts(self, point: Floats) -> tuple[Floats, Floats]:
        return point[: -self.size].reshape(self.people, self.size, self.size), point[-self.size :]

    def _inside(self, point: Floats) -> Floats:
        confusion, shares = self._parts(np.maximum(point, EDGE))
        return np.concatenate([normalize_counts(confusion).ravel(), normalize_counts(shares)])

    def _permute(self, point: Floats, order: NDArray[np.int64]) -> Floats:
        confusion, shares = self._parts(point)
        return np.concatenate([confusion[:, order].ravel(), shares[order]])

    def _most_right(self, point: Floats) -> NDArray[np.int64]:
        """The order of the classes in which most labels are right; the current one if it is about as good."""
        from scipy.optimize import linear_sum_assignment

        confusion, shares = self._parts(point)
        counts = self.session.evaluate(self.sums.counts, ConfusionAt(confusion, shares)).counts.sum(axis=0)
        same, order = np.arange(self.size), linear_sum_assignment(counts.T, maximize=True)[1]
        gain = counts[order, same].sum() - np.trace(counts)
        return np.asarray(order if gain > BETTER * self.total else same)

    def _fit_at(self, point: Floats, value: float, slope: float) -> _ConfusionFit:
        confusion, shares = self._parts(point)
        at = ConfusionAt(confusion, shares)
        counts = self.session.evaluate(self.sums.counts, at).counts
        posterior = np.concatenate(self.session.collect(self.sums.posterior, at))
        return _ConfusionFit(
            confusion, shares, counts, posterior, value, value - self._penalty(confusion, shares), slope
        )

    def _notes(self, found: _ConfusionFit, turned: bool) -> list[Note]:
        if turned:
            message = "EM from the votes ended at a mirror image, in which labels had changed places. "
            return [Note("mirror", f"{message}The fit has put them back.")]
        right = float(np.einsum("wcc->", found.counts)) / max(self.total, EDGE)
        if self.size == 1 or right >= 0.5:
            return []
        message = (
            f"Only {right:.0%} of the labels are right according to this fit: labels may have changed places."
        )
        return [Note("mirror", message)]
