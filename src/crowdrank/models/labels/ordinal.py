"""Ordinal: a score for each item; a bias, a slope and a precision for each worker.

Labels count as numbers, standardized: z = (label - mean) / sd. Item i has the score s_i ~ N(0, 1), and

    z of w about i = b_w + a_w s_i + e,      e ~ N(0, 1 / tau_w),

so b is how generous w is, a is how well w distinguishes the items (below 0: labels are reversed), and tau is how
consistent w is. This is a factor analysis with one factor and the workers as variables, most of them missing.
Given the workers, an item's score is normal, with the precision and the mean

    1 / v_i = 1 + sum n tau_w a_w^2,      mu_i = v_i sum n tau_w a_w (z - b_w)                         (E)

With the sums over a worker's labels N = sum n, S1 = sum n mu, S2 = sum n (mu^2 + v), Y1 = sum n z,
YS = sum n z mu, Y2 = sum n z^2 the parameters are those of a regression (Rubin & Thayer 1982):

    a = (N YS - S1 Y1) / (N S2 - S1^2),   b = (Y1 - a S1) / N,   1 / tau = (Y2 - a YS - b Y1) / N.       (M)

Each worker gets kappa extra labels of an average worker, who has no bias and the slope rho. They add kappa, 0,
kappa, 0, kappa rho and kappa to the sums. rho^2 is the reliability of one label: the share of the variance of
the labels that lies between items. Neither step lowers

    sum_i ln p(z of i) + sum_w kappa / 2 [ln tau - tau (1 - 2 a rho + a^2 + b^2)].

The reported score is on the scale of the labels: what an average worker would say without noise,
mean + sd (bbar + abar s_i), with means over the labels. Cut-points of s give an item's label. They are set so that
the labels have the same shares as in the mean vote.

Held-out labels temper the posterior of s by T >= 1, which multiplies v_i by T (``calibration``, eq. 3).

The scale of the true labels is not known. If workers add noise, abar sd is their standard deviation, as in the
score. If workers pull labels toward the middle, as on a scale with ends, it is sd: mean + sd s_i, within the range
of the labels. The interval holds both readings, each with its own. Known labels say which scale it is
(``known_scale``).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Anchors, Floats, summed
from crowdrank.engine import Stats
from crowdrank.errors import Note
from crowdrank.models.base import LabelsModel, Outcome, Run
from crowdrank.models.labels.calibration import (
    NormalHeldOut,
    Refit,
    calibrate,
    held_out_temperature,
    uncalibrated,
)
from crowdrank.models.labels.consensus import (
    LEAST,
    PRIOR,
    compare_labels,
    informative_share,
    label_spread,
    workers_by_correlation,
)
from crowdrank.models.labels.known_scale import fit_known_scale
from crowdrank.models.parameters import flag, number
from crowdrank.models.predictors import values_at
from crowdrank.prepared.label_rows import (
    check_convergence,
    known_labels,
    normalize_counts,
    plan_labels,
    stopping_rule,
)
from crowdrank.prepared.label_shards import LabelRows
from crowdrank.prepared.labels import Labels
from crowdrank.results import Z
from crowdrank.solve import Spread, accelerate

FAR = 50.0


class OrdinalLabels(LabelsModel):
    """A score for each item, and a bias, a slope and a precision for each worker, for ordered labels.

        z of w about i = b_w + a_w s_i + e,    s_i ~ N(0, 1),  e ~ N(0, 1 / tau_w),  z the standardized label

    A factor analysis with one factor (Rubin & Thayer 1982), by equations (E) and (M) of the module.

    ``shrinkage``: kappa, the number of extra labels, of an average worker, that each worker gets. ``calibrate``:
    whether held-out and known labels (``anchors``) correct the probabilities, the scale and the intervals; the fit
    itself does not use known labels.

    >>> import crowdrank as cr
    >>> labels = {"worker": [*"uuuuvvvvwwww"], "item": [*"abcd"] * 3}
    >>> labels["label"] = [1, 2, 2, 3, 1, 2, 3, 3, 3, 4, 4, 5]
    >>> model = cr.OrdinalLabels().fit(labels)  # w is generous
    >>> model.workers_.frame()["bias"].round(2).to_list()
    [-0.21, -0.14, 0.36]
    >>> model.ranking_.frame()["item"].to_list()
    ['d', 'c', 'b', 'a']
    """

    name = "ordinal"
    needs_workers = True
    anchors: ClassVar[frozenset[str]] = frozenset({"labels"})

    def __init__(self, *, shrinkage: float = PRIOR, calibrate: bool = True, seed: int = 0) -> None:
        self.shrinkage = shrinkage
        self.calibrate = calibrate
        self.seed = seed

    def _fit(self, labels: Labels, run: Run) -> Outcome:
        em = _FactorEM(labels, number("shrinkage", self.shrinkage, low=1), run)
        found = em.run()
        weights = labels.judgments_of_workers / labels.judgments_of_workers.sum()
        slope, bias = float(weights @ found.slope), float(weights @ found.bias)
        posterior = _label_posterior(found, normalize_counts(labels.counts).mean(axis=0))
        answer = uncalibrated(posterior)
        unused: list[Note] = []
        if flag("calibrate", self.calibrate):
            temperature = held_out_temperature(labels.map_pieces(partial(_held_out, em=em, found=found)))
            known, unused = known_labels(labels, run.anchors, any_value=True)
            answer = calibrate(posterior, temperature, known, Refit(posterior[known >= 0], True), kept=False)
            found = replace(found, variance=temperature * found.variance)
        elif run.anchors.labels is not None:
            unused = [Note("anchors", "ordinal uses known labels only to calibrate; they are ignored.")]
        made, scale, odd = self._spread(labels, em, found, (slope, bias), run.anchors)
        converged, notes = check_convergence(found.steepness, em.total, em.rounds)
        return Outcome(
            spread=made,
            workers=_workers(labels, em, found, slope),
            converged=converged,
            iterations=em.rounds,
            log_likelihood=found.log_likelihood - em.total * float(np.log(em.deviation)),
            notes=(*labels.notes(), *unused, *_mirror_notes(slope), *odd, *notes, *answer.notes),
            details={
                "reliability": em.reliability**2,
                "mean_slope": slope,
                "calibration": {**answer.details, **scale},
            },
            predictor=FactorPredictor.of(found, em.values, weights),
            tables={"labels": labels.posterior(answer.probability), **answer.tables},
        )

    def _spread(
        self, labels: Labels, em: _FactorEM, found: _FactorFit, average: tuple[float, float], anchors: Anchors
    ) -> tuple[Spread, dict[str, Any], list[Note]]:
        """Scores and intervals on the scale of the average worker, or on that of the known labels."""
        slope, bias = average
        unit = em.deviation * slope
        score, stderr = em.mean + em.deviation * bias + unit * found.mean, abs(unit) * np.sqrt(found.variance)
        nodes, known = anchors.truths(labels.nodes, labels.index)
        if self.calibrate and len(nodes):
            scale, notes = fit_known_scale(score, stderr, nodes, known)
            wide = scale.stderr(stderr) ** 2
            return label_spread(labels, scale.scores(score), wide, bounded=False), {"scale": asdict(scale)}, notes
        own = label_spread(labels, score, stderr**2, bounded=False)
        if self.calibrate:
            low, high = _other_reading(labels, em, found, slope)
            own = own.with_scores(own.score, own.stderr, np.minimum(own.low, low), np.maximum(own.high, high))
        return own, {}, []


def _other_reading(labels: Labels, em: _FactorEM, found: _FactorFit, slope: float) -> tuple[Floats, Floats]:
    """The interval of mean + sd s_i, within the range of the labels; s is reversed if the slope is negative."""
    mean, half = np.copysign(1.0, slope) * found.mean, Z * np.sqrt(found.variance)
    low, high = (
        np.clip(em.mean + em.deviation * end, labels.values[0], labels.values[-1])
        for end in (mean - half, mean + half)
    )
    return low, high


def _held_out(part: LabelRows, em: _FactorEM, found: _FactorFit) -> NormalHeldOut:
    """The labels of items that others labeled too, with the score's mean and variance from the other labels."""
    others = summed(part.node, None, len(part.known))[part.node] > 1
    node, worker, weight = part.first + part.node[others], part.worker[others], part.weight[others]
    slope, bias, precision = found.slope[worker], found.bias[worker], found.precision[worker]
    rest = em.values[part.label[others]] - bias
    left = np.maximum(1.0 / found.variance[node] - weight * precision * slope**2, 1.0)
    mean = (found.mean[node] / found.variance[node] - weight * precision * slope * rest) / left
    return NormalHeldOut((rest - slope * mean) ** 2, 1.0 / precision, slope**2 / left, weight)


@dataclass(frozen=True, eq=False)
class FactorAt:
    """The current point of EM: ``slope``, ``bias`` and ``precision`` (W,)."""

    slope: Floats
    bias: Floats
    precision: Floats


@dataclass(frozen=True, eq=False)
class FactorMoments(Stats):
    """The log likelihood, and what (M) sums: N, S1, S2, Y1, YS, Y2 of each worker (6, W)."""

    value: float
    moments: Floats


class NodeScores(NamedTuple):
    """Mean and variance of the score of each node of a shard."""

    mean: Floats
    variance: Floats


@dataclass(frozen=True, eq=False)
class FactorSums:
    """The sums of EM over labels; ``values`` are the standardized labels."""

    values: Floats

    def moments(self, shard: LabelRows, at: FactorAt) -> FactorMoments:
        """What (M) sums over one shard."""
        mean, variance, value = self._scores(shard, at)
        powers = np.stack([np.ones_like(mean), mean, mean**2 + variance], axis=1)
        sums = (shard.transpose @ powers).reshape(shard.workers, shard.classes, 3)
        n, s1, s2 = sums.sum(axis=1).T
        y1, ys = (sums[:, :, place] @ self.values for place in (0, 1))
        y2 = sums[:, :, 0] @ self.values**2
        return FactorMoments(float(value.sum()), np.stack([n, s1, s2, y1, ys, y2]))

    def scores(self, shard: LabelRows, at: FactorAt) -> NodeScores:
        """The posterior of each node's score."""
        mean, variance, _ = self._scores(shard, at)
        return NodeScores(mean, variance)

    def _scores(self, shard: LabelRows, at: FactorAt) -> tuple[Floats, Floats, Floats]:
        """(E), and the log likelihood of each node's labels."""
        slope, bias, precision = (own[:, None] for own in (at.slope, at.bias, at.precision))
        rest = self.values - bias
        table = np.stack(
            [
                np.broadcast_to(precision * slope**2, rest.shape),
                precision * slope * rest,
                0.5 * np.log(precision / (2.0 * np.pi)) - 0.5 * precision * rest**2,
            ],
            axis=2,
        )
        known, toward, logs = (shard.matrix @ table.reshape(-1, 3)).T
        variance = 1.0 / (1.0 + known)
        mean = variance * toward
        return mean, variance, logs + 0.5 * np.log(variance) + 0.5 * mean * toward


@dataclass(frozen=True, eq=False)
class _FactorFit:
    slope: Floats
    bias: Floats
    precision: Floats
    mean: Floats
    variance: Floats
    log_likelihood: float
    steepness: float


class _FactorEM:
    """The loop of EM."""

    def __init__(self, labels: Labels, shrinkage: float, run: Run) -> None:
        self.people, self.progress = labels.people, run.progress
        self.total = labels.total
        shares = labels.counts.sum(axis=0) / self.total
        self.mean = float(shares @ labels.values)
        self.deviation = float(np.sqrt(shares @ (labels.values - self.mean) ** 2)) or 1.0
        self.values = (labels.values - self.mean) / self.deviation
        self.reliability = np.sqrt(_reliability(labels, self.values))
        rho = self.reliability
        self.virtual = shrinkage * np.array([1.0, 0.0, 1.0, 0.0, rho, 1.0])[:, None]
        self.shrinkage = shrinkage
        self.session, self.sums = run.engine.open(plan_labels(labels)), FactorSums(self.values)
        self.rounds = 0

    def run(self) -> _FactorFit:
        """Climb from average workers to the end."""
        ones = np.ones(self.people)
        start = np.concatenate([self.reliability * ones, 0.0 * ones, -np.log(1.0 - self.reliability**2) * ones])
        ends = stopping_rule(self.total)
        point, value, steepness, self.rounds = accelerate(self._step, start, inside=_near, **ends)
        at = self._at(point)
        parts = self.session.collect(self.sums.scores, at)
        return _FactorFit(
            slope=at.slope,
            bias=at.bias,
            precision=at.precision,
            mean=np.concatenate([part.mean for part in parts]),
            variance=np.concatenate([part.variance for part in parts]),
            log_likelihood=value - self._penalty(at),
            steepness=steepness,
        )

    def _at(self, point: Floats) -> FactorAt:
        slope, bias, logs = np.split(point, 3)
        return FactorAt(slope, bias, np.exp(logs))

    def _step(self, point: Floats) -> tuple[Floats, float, float]:
        """One round of (E) and (M), with the objective and its slope."""
        at = self._at(point)
        sums = self.session.evaluate(self.sums.moments, at)
        value = sums.value + self._penalty(at)
        n, s1, s2, y1, ys, y2 = sums.moments + self.virtual
        a, b, tau = at.slope, at.bias, at.precision
        steep = (
            tau * (ys - a * s2 - b * s1),
            tau * (y1 - a * s1 - b * n),
            0.5 * (n - tau * (y2 - 2 * a * ys - 2 * b * y1 + a * a * s2 + 2 * a * b * s1 + b * b * n)),
        )
        slope = float(np.abs(steep).max())
        a = (n * ys - s1 * y1) / (n * s2 - s1**2)
        b = (y1 - a * s1) / n
        spread = np.maximum((y2 - a * ys - b * y1) / n, LEAST)
        if self.progress is not None:
            self.progress(self.rounds, value, slope / max(self.total, 1.0))
        return np.concatenate([a, b, -np.log(spread)]), value, slope

    def _penalty(self, at: FactorAt) -> float:
        a, b, tau = at.slope, at.bias, at.precision
        lack = 1.0 - 2.0 * a * self.reliability + a**2 + b**2
        return 0.5 * self.shrinkage * float((np.log(tau) - tau * lack).sum())


def _near(point: Floats) -> Floats:
    """The point with all parameters kept within FAR of 0."""
    return np.clip(point, -FAR, FAR)


def _reliability(labels: Labels, values: Floats) -> float:
    """The share of the labels' variance that lies between items, from .05 to .95."""
    counts, judgments = labels.counts, labels.judgments_of_nodes
    means = counts @ values / np.maximum(judgments, LEAST)
    within = float((counts * (values - means[:, None]) ** 2).sum())
    free = float(judgments.sum()) - int((judgments > 0).sum())
    if free < 1.0:
        return 0.5
    return float(np.clip(1.0 - within / free, 0.05, 0.95))


def _label_posterior(found: _FactorFit, shares: Floats) -> Floats:
    """The chance that each score lies between the cut-points of each label."""
    from scipy.special import ndtr

    cuts = _cuts(found, np.cumsum(shares)[:-1])
    below = ndtr((cuts - found.mean[:, None]) / np.sqrt(found.variance)[:, None])
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def _cuts(found: _FactorFit, shares: Floats) -> Floats:
    """Quantiles of scores drawn from their posteriors: normal, with the variance between and within them."""
    from scipy.special import ndtri

    mean = float(found.mean.mean())
    deviation = float(np.sqrt(found.mean.var() + found.variance.mean()))
    return np.asarray(mean + deviation * ndtri(np.clip(shares, LEAST, 1.0 - LEAST)))


def _workers(labels: Labels, em: _FactorEM, found: _FactorFit, slope: float) -> Any:
    """Qualities by the correlation a / sqrt(a^2 + 1 / tau) of a worker's labels with the scores."""
    signal = found.slope * np.sqrt(found.precision)
    further = {
        "bias": em.deviation * found.bias,
        "slope": found.slope / slope if slope > LEAST else found.slope,
        "precision": found.precision / em.deviation**2,
    }
    return workers_by_correlation(
        labels, signal / np.sqrt(1.0 + signal**2), informative_share(labels) * labels.judgments_of_workers, further
    )


def _mirror_notes(slope: float) -> list[Note]:
    if slope > 0:
        return []
    return [Note("mirror", "Labels fall as the scores rise: the whole ranking may be reversed.")]


@dataclass(frozen=True, eq=False)
class FactorPredictor:
    """The labels that a worker would give two items: normal, and rounded to the nearest label.

    ``workers`` (W, 3): slope, bias and precision. An unseen worker has the ``typical`` ones; an unseen item
    has the prior N(0, 1).
    """

    mean: Floats
    variance: Floats
    workers: Floats
    typical: Floats
    borders: Floats

    @classmethod
    def of(cls, found: _FactorFit, values: Floats, weights: Floats) -> FactorPredictor:
        """From a fit; ``weights`` of the workers make the average worker."""
        people = np.stack([found.slope, found.bias, found.precision], axis=1)
        typical = np.array([*(weights @ people[:, :2]), 1.0 / float(weights @ (1.0 / found.precision))])
        return cls(found.mean, found.variance, people, typical, 0.5 * (values[1:] + values[:-1]))

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        who = np.full(len(left), -1) if worker is None else worker
        return compare_labels(self._labels(left, who), self._labels(right, who))

    def _labels(self, node: NDArray[Any], worker: NDArray[Any]) -> Floats:
        """The probability of each label (rows, K)."""
        from scipy.special import ndtr

        slope, bias, precision = values_at(self.workers, worker, self.typical).T
        mean, variance = values_at(self.mean, node, 0.0), values_at(self.variance, node, 1.0)
        deviation = np.sqrt(slope**2 * variance + 1.0 / precision)
        below = ndtr((self.borders - (bias + slope * mean)[:, None]) / deviation[:, None])
        return np.diff(below, axis=1, prepend=0.0, append=1.0)
