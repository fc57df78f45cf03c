"""GLAD: the ability of each worker and the difficulty of each item (Whitehill et al. 2009).

The label that worker w gives item i, whose true label is one of K, is right with probability

    sigma(x),   x = alpha_w beta_i,   sigma(x) = 1 / (1 + e^-x),        beta_i = e^{b_i} > 0        (eq. 1)

Otherwise it is any other label, each with probability (1 - sigma(x)) / (K - 1). An ability of 0 means guessing
between right and wrong, and one below 0 is adversarial; a large beta is an easy item. As in the paper, alpha and b
have the prior N(1, 1). With P_i the posterior of the true label of i (E), p the probability that it gives to a
label, and n the label's weight, the slopes of the log likelihood of the labels plus the log prior are those of the
expected complete log likelihood plus the log prior (Fisher's identity),

    d/d alpha_w = sum n (p - sigma(x)) beta_i + 1 - alpha_w,   d/d b_i = sum n (p - sigma(x)) x + 1 - b_i.

A round takes one Newton step in b, for each item on its own, and then one in alpha at the new b (M). Then alpha
and beta are rescaled against each other, which changes only the prior. EM is accelerated until the slopes are
zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.engine import Stats, local_part
from crowdrank.errors import InputError, Note, Remedy, UsageError
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
    LEAST,
    ConfusionPredictor,
    agreement,
    expected_labels,
    informative_share,
    worker_table,
)
from crowdrank.models.parameters import flag
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
from crowdrank.results import Z
from crowdrank.solve import accelerate

MEAN = 1.0
"""Mean of the priors of alpha and b; their variance is 1."""
FARTHEST = 1.0
"""The largest change of alpha and b in one step."""
FAR = 30.0
"""alpha and b stay within this distance of 0."""
LEVELS = 33
"""How many quantiles of the easiness represent an average item."""
MOST_WEIGHT = 1e4
"""Beside heavier labels the priors vanish, and EM goes back and forth instead of converging."""
BETTER = 1e-6
"""The mirror image must be better by this share to replace the first fit."""


class GLAD(LabelsModel):
    """GLAD: abilities of workers, difficulties of items, and the posterior of each item's label.

        P(label of worker w on item i is right) = 1 / (1 + e^(-alpha_w beta_i)),    beta_i > 0

    Whitehill et al. 2009, eq. 1, with its priors.

    ``shares``: the shares of the true labels, ``"uniform"`` as in the paper or ``"fitted"``. Items whose
    label is known (``anchors``) keep it. ``calibrate``: whether held-out and known labels correct the
    probabilities, as ``calibration`` says. ``ability`` in ``workers_`` is alpha, and ``easiness_`` is
    beta.

    >>> import crowdrank as cr
    >>> labels = {"worker": [*"uuuuvvvvwwww"], "item": [*"abcd"] * 3}
    >>> labels["label"] = [1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0]
    >>> model = cr.GLAD().fit(labels)  # w contradicts the others about b and c
    >>> model.labels_.label
    array([1., 1., 0., 1.])
    >>> model.workers_.frame()["ability"].round(1).to_list()
    [0.9, 1.0, -0.2]
    """

    name = "glad"
    needs_workers = True
    needs_order = False
    anchors: ClassVar[frozenset[str]] = frozenset({"labels"})

    def __init__(self, *, shares: str = "uniform", calibrate: bool = True, seed: int = 0) -> None:
        self.shares = shares
        self.calibrate = calibrate
        self.seed = seed

    def _fit(self, labels: Labels, run: Run) -> Outcome:
        require_classes(self.name, labels)
        _refuse_heavy(labels)
        if self.shares not in ("uniform", "fitted"):
            raise UsageError(f"The parameter 'shares' must be 'uniform' or 'fitted'. Got {self.shares!r}.")
        known, unused = known_labels(labels, run.anchors)
        em = _AbilityEM(labels, known, self.shares == "fitted", run)
        found, turned = em.run()
        answer = uncalibrated(found.posterior)
        if flag("calibrate", self.calibrate):
            answer = _calibrate(labels, em, found, known, replace(run, progress=None))
        converged, notes = check_convergence(found.slope, em.total, em.rounds)
        right = _accuracy(found.alpha, found.easiness)
        chances = _confusion(right, len(labels.values))
        typical = np.average(chances, axis=0, weights=labels.judgments_of_workers)
        return Outcome(
            spread=expected_labels(labels, found.posterior, answer.probability),
            workers=_workers(labels, found, informative_share(labels, known)),
            converged=converged,
            iterations=em.rounds,
            log_likelihood=found.log_likelihood,
            notes=(*labels.notes(), *unused, *_mirror_notes(turned), *notes, *answer.notes),
            details={
                "mirror": {"by": "objective", "turned": turned},
                "known": int((known >= 0).sum()),
                "log_posterior": found.objective,
                "calibration": answer.details,
            },
            predictor=ConfusionPredictor(answer.tempered, found.shares, chances, typical),
            tables={
                "labels": labels.posterior(answer.probability),
                "easiness": labels.easiness(np.exp(found.easiness)),
                **answer.tables,
            },
        )


def _refuse_heavy(labels: Labels) -> None:
    """Raise an error if a label weighs so much that EM would not converge."""
    heaviest = max(float(part.weight.max(initial=0.0)) for part in labels.pieces())
    if heaviest > MOST_WEIGHT:
        raise InputError(
            f"glad takes labels of a weight up to {MOST_WEIGHT:g}: beside a heavier one its priors vanish. The "
            f"labels of one worker for one item have a weight of {heaviest:g}.",
            hint=("Divide all weights by one factor, or use ", Remedy("model", "dawid-skene")),
        )


def _calibrate(
    labels: Labels, em: _AbilityEM, found: _AbilityFit, known: NDArray[np.int64], run: Run
) -> Calibrated:
    held = labels.map_pieces(lambda part: HeldOut.of(part, _chances(part, found), found.shares))

    def refit(rest: NDArray[np.int64]) -> Refit:
        return _AbilityEM(labels, rest, em.fitted, run).refit()

    return calibrate(
        found.posterior, held_out_temperature(held), known, predict_known(known, node_logs(held, known), refit)
    )


def _chances(part: LabelRows, found: _AbilityFit) -> Floats:
    """The chance of each label by true label (R, K)."""
    right = _logistic(found.alpha[part.worker] * np.exp(part.by_node(found.easiness)))[0]
    chance = np.repeat((1.0 - right)[:, None] / max(part.classes - 1, 1), part.classes, axis=1)
    chance[np.arange(len(right)), part.label] = right
    return chance


@dataclass(frozen=True, eq=False)
class AbilityAt:
    """The current point of EM: ``alpha`` (W,), ``easiness`` (b of each node) and ``shares``."""

    alpha: Floats
    easiness: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class AbilitySlopes(Stats):
    """The log likelihood, its slope by alpha at the next b, a bound on the curvature there, and the shares of the
    true labels; the next b of each node, and the slope by b."""

    value: float
    alpha: Floats
    alpha_curvature: Floats
    shares: Floats
    easiness: Floats = local_part()
    slope: Floats = local_part()


class NodePosteriors(NamedTuple):
    """The posterior of each node of a shard, and the information of each worker's ability."""

    posterior: Floats
    information: Floats


class AbilitySums:
    """The sums of EM over labels."""

    def slopes(self, shard: LabelRows, at: AbilityAt) -> AbilitySlopes:
        """The sums over one shard: first the step in b, then the slopes by alpha at the new b."""
        b = at.easiness[shard.nodes]
        ability, beta = at.alpha[shard.worker], np.exp(b)
        x = ability * beta[shard.node]
        chance, curved, larger = _logistic(x)
        posterior, value = self._posterior(shard, at, x, larger)
        right = posterior[shard.node, shard.label]
        count, weight = len(b), shard.weight
        lack = weight * (chance - right) * x
        slope = MEAN - b - summed(shard.node, lack, count)
        bend = weight * curved * x * x
        own = 1.0 + summed(shard.node, bend + lack, count)
        most = 1.0 + summed(shard.node, bend + np.maximum(lack, 0.0), count)
        b = b + np.clip(slope / np.maximum(own, 0.5 * most), -FARTHEST, FARTHEST)
        beta = np.exp(b)[shard.node]
        chance, curved, _ = _logistic(ability * beta)
        return AbilitySlopes(
            value=float(value.sum()),
            alpha=summed(shard.worker, weight * (right - chance) * beta, shard.workers),
            alpha_curvature=summed(shard.worker, weight * curved * beta * beta, shard.workers),
            shares=posterior.sum(axis=0),
            easiness=b,
            slope=slope,
        )

    def posteriors(self, shard: LabelRows, at: AbilityAt) -> NodePosteriors:
        """What is known about the nodes and workers of one shard."""
        beta = np.exp(at.easiness[shard.nodes])[shard.node]
        x = at.alpha[shard.worker] * beta
        _, curved, larger = _logistic(x)
        information = summed(shard.worker, shard.weight * curved * beta * beta, shard.workers)
        return NodePosteriors(self._posterior(shard, at, x, larger)[0], information)

    def _posterior(self, shard: LabelRows, at: AbilityAt, x: Floats, larger: Floats) -> tuple[Floats, Floats]:
        """(E): a right label counts ln sigma(x); a wrong one ln sigma(-x) - ln(K - 1), so x + ln(K - 1) less."""
        count, others = len(shard.known), np.log(max(shard.classes - 1, 1))
        right = summed(shard.cells, shard.weight * (x + others), count * shard.classes).reshape(count, -1)
        logs = np.log(larger) - np.maximum(x, 0.0) - others  # of sigma(-x) / (K - 1)
        wrong = summed(shard.node, shard.weight * logs, count)
        return shard.posterior(right + wrong[:, None] + np.log(np.maximum(at.shares, LOST)))


def _logistic(x: Floats) -> tuple[Floats, Floats, Floats]:
    """sigma(x), its derivative, and sigma(|x|)."""
    small = np.exp(-np.abs(x))
    large = 1.0 / (1.0 + small)
    curved = small * large
    return np.where(x >= 0, large, curved), curved * large, large


@dataclass(frozen=True, eq=False)
class _AbilityFit:
    alpha: Floats
    easiness: Floats
    shares: Floats
    posterior: Floats
    information: Floats
    log_likelihood: float
    objective: float
    slope: float


class _AbilityEM:
    """The loop of EM, and the mirror of two classes: alpha and its negative."""

    def __init__(self, labels: Labels, known: NDArray[np.int64], fitted: bool, run: Run) -> None:
        self.people, self.count, self.size = labels.people, len(labels.nodes), len(labels.values)
        self.fitted, self.progress = fitted, run.progress
        self.session, self.sums = run.engine.open(plan_labels(labels, known)), AbilitySums()
        self.total = labels.total
        self.rounds = 0

    def run(self) -> tuple[_AbilityFit, bool]:
        """Climb from equal abilities to the end; with two classes, also from the mirror image."""
        start = np.concatenate([np.ones(self.people + self.count), np.full(self.size, 1.0 / self.size)])
        point, value, slope = self._climb(start)
        turned = False
        if self.size == 2:
            mirror = point * np.where(np.arange(len(point)) < self.people, -1.0, 1.0)
            other, there, _ = self._climb(mirror, TRIAL)
            turned = there > value + BETTER * abs(value)
            if turned:
                point, value, slope = self._climb(other)
        at = self._at(point)
        parts = self.session.collect(self.sums.posteriors, at)
        found = _AbilityFit(
            alpha=at.alpha,
            easiness=at.easiness,
            shares=at.shares,
            posterior=np.concatenate([part.posterior for part in parts]),
            information=np.sum([part.information for part in parts], axis=0),
            log_likelihood=value - self._penalty(point),
            objective=value,
            slope=slope,
        )
        return found, turned

    def refit(self) -> Refit:
        """The posterior of a fit from the start: one that knew more labels would lead to what they say."""
        found, _ = self.run()
        converged, _ = check_convergence(found.slope, self.total, self.rounds)
        return Refit(found.posterior, converged)

    def _climb(self, point: Floats, limit: int = ROUNDS) -> tuple[Floats, float, float]:
        ends = stopping_rule(self.total, limit)
        point, value, slope, rounds = accelerate(self._step, point, inside=self._inside, **ends)
        self.rounds += rounds
        return point, value, slope

    def _at(self, point: Floats) -> AbilityAt:
        alpha, easiness, shares = np.split(point, [self.people, self.people + self.count])
        return AbilityAt(alpha, easiness, shares)

    def _step(self, point: Floats) -> tuple[Floats, float, float]:
        """One round, with the objective and its slope."""
        at = self._at(point)
        alpha, shares = at.alpha, at.shares
        sums = self.session.evaluate(self.sums.slopes, at)
        value = sums.value + self._penalty(point)
        up = sums.alpha + MEAN - alpha
        slope = max(float(np.abs(up).max()), float(np.abs(sums.slope).max()))
        alpha = alpha + np.clip(up / (sums.alpha_curvature + 1.0), -FARTHEST, FARTHEST)
        if self.fitted:
            slope = max(slope, float(np.abs(sums.shares - self.count * shares).max()))
            shares = sums.shares / self.count
        if self.progress is not None:
            self.progress(self.rounds, value, slope / max(self.total, 1.0))
        return np.concatenate([*_rescale(alpha, sums.easiness), shares]), value, slope

    def _penalty(self, point: Floats) -> float:
        """The log prior of alpha and b, up to a constant."""
        return -0.5 * float(((point[: self.people + self.count] - MEAN) ** 2).sum())

    def _inside(self, point: Floats) -> Floats:
        point = np.clip(point, -FAR, FAR)
        point[-self.size :] = normalize_counts(np.maximum(point[-self.size :], LEAST))
        return point


def _rescale(alpha: Floats, easiness: Floats) -> tuple[Floats, Floats]:
    """e^t alpha and b - t, with the t at which the prior is largest: x does not change. One Newton step from
    t = 0, with a bound on the curvature, is enough."""
    slope = float((easiness - MEAN).sum() - ((alpha - MEAN) * alpha).sum())
    t = np.clip(slope / (len(easiness) + 2.0 * float((alpha**2).sum())), -0.2, 0.2)
    return alpha * np.exp(t), easiness - t


def _accuracy(alpha: Floats, easiness: Floats) -> Floats:
    """How often each worker is right on an average item: the mean over quantiles of beta."""
    from scipy.special import expit

    beta = np.exp(np.quantile(easiness, (np.arange(LEVELS) + 0.5) / LEVELS))
    return np.asarray(expit(np.outer(alpha, beta)).mean(axis=1))


def _confusion(right: Floats, size: int) -> Floats:
    """The confusion matrix (W, true, said) of a worker who is right that often, and otherwise says anything."""
    same = np.eye(size)
    wrong = (1.0 - right) / max(size - 1, 1)
    return np.asarray(right[:, None, None] * same + wrong[:, None, None] * (1.0 - same))


def _workers(labels: Labels, found: _AbilityFit, heard: Floats) -> Any:
    """Qualities by the ability on average items; the interval comes from the information of the ability."""
    half = Z / np.sqrt(heard * found.information + 1.0)
    bounds = [_accuracy(found.alpha + shift, found.easiness) for shift in (np.zeros_like(half), -half, half)]
    quality, low, high = (
        agreement(_confusion(own, len(labels.values)), found.shares, nominal=labels.nominal)[0] for own in bounds
    )
    names = ("accuracy", "accuracy_low", "accuracy_high")
    further = {"ability": found.alpha, **dict(zip(names, bounds, strict=True))}
    return worker_table(labels, quality, low, high, further)


def _mirror_notes(turned: bool) -> list[Note]:
    if not turned:
        return []
    message = "EM from equal abilities ended at a mirror image, in which labels had changed places. "
    return [Note("mirror", f"{message}The fit has put them back.")]
