"""GLAD: the ability of each worker and the difficulty of each item (Whitehill et al. 2009).

The label that worker w gives item i, whose true label is one of K, is right with probability

    sigma(x),   x = alpha_w beta_i,   sigma(x) = 1 / (1 + e^-x),        beta_i = e^{b_i} > 0        (eq. 1)

and is else any other label, all being as likely: (1 - sigma(x)) / (K - 1) each. An ability of 0 is
guessing between right and wrong, one below 0 is adversarial; a large beta is an easy item. As in the paper
alpha and b have the prior N(1, 1). With P_i the posterior of the true label of i (E), p the value that it
gives to a label, and n the label's weight, the slopes of the log likelihood of the labels plus the log prior
are those of the expected complete one (Fisher's identity),

    d/d alpha_w = sum n (p - sigma(x)) beta_i + 1 - alpha_w,   d/d b_i = sum n (p - sigma(x)) x + 1 - b_i.

A step divides them by bounds of the curvature, sum n beta^2 tanh(x / 2) / (2 x) + 1 (Jaakkola & Jordan 2000)
and sum n sigma(x) (1 - sigma(x)) x^2 + 1. Then alpha and beta are rescaled against each other, which only the
prior sees, and EM is accelerated until the slopes are nought.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.engine import Stateless, Stats
from crowdrank.errors import Note, UsageError
from crowdrank.models.base import LabelProbabilities, LabelsModel, Outcome, Run
from crowdrank.models.labelled import Labels
from crowdrank.models.labels.consensus import LEAST, Confused, Z, agreement, moments, placed, told, workers
from crowdrank.models.labels.rows import (
    LOST,
    ROUNDS,
    STOP,
    LabelRows,
    known_labels,
    normalised,
    plan_labels,
    require_classes,
    settled,
)
from crowdrank.solve import accelerate

TRIAL = 60
MEAN = 1.0
"""Mean of the priors of alpha and b; their variance is 1."""
FARTHEST = 1.0
"""How far b may go in one step."""
LEVELS = 33


class GLAD(LabelsModel):
    """GLAD: abilities of workers, difficulties of items, and the posterior of each item's label.

    ``shares``: the shares of the true labels, ``"uniform"`` as in the paper or ``"fitted"``. Items whose
    label is known (``anchors``) keep it. Equation (1) of Whitehill et al. 2009, with its priors.
    """

    name = "glad"
    needs_workers = True
    anchors = frozenset({"labels"})

    def __init__(self, *, shares: str = "fitted", seed: int = 0) -> None:
        self.shares = shares
        self.seed = seed

    def _fit(self, labels: Labels, run: Run) -> Outcome:
        require_classes(self.name, labels)
        if self.shares not in ("uniform", "fitted"):
            raise UsageError(f"The parameter 'shares' must be 'uniform' or 'fitted'. Got {self.shares!r}.")
        known, unused = known_labels(labels, run.anchors)
        em = _EM(labels, known, self.shares == "fitted", run)
        found, turned = em.run()
        posterior = found.posterior
        score, variance = moments(posterior, labels.values)
        converged, notes = settled(found.slope, em.total, em.rounds)
        right = _right(found.alpha, found.easiness)
        chances = _confusion(right, len(labels.values))
        typical = np.average(chances, axis=0, weights=labels.given)
        return Outcome(
            spread=placed(labels, score, variance),
            workers=_workers(labels, found, told(labels, known)),
            converged=converged,
            iterations=em.rounds,
            log_likelihood=found.log_likelihood,
            notes=(*labels.notes(), *unused, *_mirror_notes(turned), *notes),
            details={"mirror": {"by": "objective", "turned": turned}, "known": int((known >= 0).sum())},
            predictor=Confused(posterior, found.shares, chances, typical),
            labels=LabelProbabilities(labels.values, posterior),
        )


@dataclass(frozen=True, eq=False)
class AbilitySums(Stateless):
    """At ``alpha`` (W,), ``easiness`` (b, one a node) and ``shares``: the log likelihood, its slopes and bounds of
    its curvature."""

    def statistics(self, shard: LabelRows, params: Mapping[str, Any], state: None) -> tuple[Stats, None]:
        """The sums over one shard."""
        alpha, beta, x = self._products(shard, params)
        posterior, value = self._posterior(shard, params, x)
        sigma = 1.0 / (1.0 + np.exp(-np.abs(x)))  # of |x|
        bound = np.where(np.abs(x) > 1e-6, (sigma - 0.5) / np.maximum(np.abs(x), 1e-6), 0.25)
        chance = np.where(x >= 0, sigma, 1.0 - sigma)
        slope = shard.weight * (posterior[shard.node, shard.label] - chance)
        curved = shard.weight * sigma * (1.0 - sigma) * x * x
        count = len(shard.known)
        return Stats(
            shared={
                "value": value.sum(),
                "alpha": summed(shard.worker, slope * beta, shard.workers),
                "alpha_curvature": summed(shard.worker, shard.weight * bound * beta * beta, shard.workers),
                "shares": posterior.sum(axis=0),
            },
            local={
                "easiness": summed(shard.node, slope * x, count),
                "easiness_curvature": summed(shard.node, curved, count),
            },
        ), None

    def collect(self, shard: LabelRows, params: Mapping[str, Any], state: None) -> Mapping[str, Any]:
        """The posterior of each node, and the information of each worker's ability."""
        _, beta, x = self._products(shard, params)
        chance = 1.0 / (1.0 + np.exp(-np.abs(x)))
        known = shard.weight * chance * (1.0 - chance) * beta * beta
        return {
            "posterior": self._posterior(shard, params, x)[0],
            "information": summed(shard.worker, known, shard.workers),
        }

    def _products(self, shard: LabelRows, params: Mapping[str, Any]) -> tuple[Floats, Floats, Floats]:
        """alpha, beta and x of each row."""
        alpha = params["alpha"][shard.worker]
        beta = np.exp(params["easiness"][shard.nodes])[shard.node]
        return alpha, beta, alpha * beta

    def _posterior(self, shard: LabelRows, params: Mapping[str, Any], x: Floats) -> tuple[Floats, Floats]:
        """(E): a right label counts ln sigma(x), a wrong one ln sigma(-x) - ln(K - 1); they differ by x + ln(K - 1)."""
        count, others = len(shard.known), np.log(max(shard.classes - 1, 1))
        wrong = -(np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))) - others
        cells = shard.node * shard.classes + shard.label
        right = summed(cells, shard.weight * (x + others), count * shard.classes).reshape(count, -1)
        base = summed(shard.node, shard.weight * wrong, count)
        return shard.posterior(right + base[:, None] + np.log(np.maximum(params["shares"], LOST)))


@dataclass(frozen=True, eq=False)
class _Found:
    alpha: Floats
    easiness: Floats
    shares: Floats
    posterior: Floats
    information: Floats
    log_likelihood: float
    slope: float


class _EM:
    """The loop of EM, and the mirror of two classes: alpha and its negative."""

    def __init__(self, labels: Labels, known: NDArray[np.int64], fitted: bool, run: Run) -> None:
        self.people, self.count, self.size = labels.people, len(labels.nodes), len(labels.values)
        self.fitted, self.progress = fitted, run.progress
        self.session = run.engine.open(AbilitySums(), plan_labels(labels, known))
        self.total = float(labels.weight.sum())
        self.rounds = 0

    def run(self) -> tuple[_Found, bool]:
        """From equal abilities to the end; of two classes, from the mirror image too."""
        start = np.concatenate([np.ones(self.people + self.count), np.full(self.size, 1.0 / self.size)])
        point, value, slope = self._climb(start, ROUNDS)
        turned = False
        if self.size == 2:
            mirror = point * np.where(np.arange(len(point)) < self.people, -1.0, 1.0)
            other, there, _ = self._climb(mirror, TRIAL)
            turned = there > value + 1e-9 * abs(value)
            if turned:
                point, value, slope = self._climb(other, ROUNDS)
        params = self._params(point)
        parts = self.session.collect(params)
        found = _Found(
            **params,
            posterior=np.concatenate([part["posterior"] for part in parts]),
            information=np.sum([part["information"] for part in parts], axis=0),
            log_likelihood=value - self._penalty(point),
            slope=slope,
        )
        return found, turned

    def _climb(self, point: Floats, limit: int) -> tuple[Floats, float, float]:
        goal = STOP * max(self.total, 1.0)
        point, value, slope, rounds = accelerate(self._step, point, inside=self._inside, tol=goal, limit=limit)
        self.rounds += rounds
        return point, value, slope

    def _params(self, point: Floats) -> dict[str, Floats]:
        alpha, easiness, shares = np.split(point, [self.people, self.people + self.count])
        return {"alpha": alpha, "easiness": easiness, "shares": shares}

    def _step(self, point: Floats) -> tuple[Floats, float, float]:
        """One round, with the objective and its slope."""
        params = self._params(point)
        alpha, easiness, shares = params.values()
        sums = self.session.evaluate(params)
        shared, local = sums.shared, sums.local
        value = float(shared["value"]) + self._penalty(point)
        up = shared["alpha"] + MEAN - alpha
        easier = local["easiness"] + MEAN - easiness
        slope = max(float(np.abs(up).max()), float(np.abs(easier).max()))
        alpha = alpha + up / (shared["alpha_curvature"] + 1.0)
        step = easier / (local["easiness_curvature"] + 1.0)
        easiness = easiness + np.clip(step, -FARTHEST, FARTHEST)
        if self.fitted:
            slope = max(slope, float(np.abs(shared["shares"] - self.count * shares).max()))
            shares = shared["shares"] / self.count
        if self.progress is not None:
            self.progress(self.rounds, value, slope / max(self.total, 1.0))
        return np.concatenate([*_rescaled(alpha, easiness), shares]), value, slope

    def _penalty(self, point: Floats) -> float:
        """The log prior of alpha and b, but for a constant."""
        return -0.5 * float(((point[: self.people + self.count] - MEAN) ** 2).sum())

    def _inside(self, point: Floats) -> Floats:
        point = point.copy()
        point[-self.size :] = normalised(np.maximum(point[-self.size :], LEAST))
        return point


def _rescaled(alpha: Floats, easiness: Floats) -> tuple[Floats, Floats]:
    """e^t alpha and b - t, t being where the prior is largest: x does not change. One Newton step from t = 0,
    with a bound of the curvature, is enough."""
    slope = float((easiness - MEAN).sum() - ((alpha - MEAN) * alpha).sum())
    t = np.clip(slope / (len(easiness) + 2.0 * float((alpha**2).sum())), -0.2, 0.2)
    return alpha * np.exp(t), easiness - t


def _right(alpha: Floats, easiness: Floats) -> Floats:
    """How often each worker is right on an average item: over quantiles of beta."""
    beta = np.exp(np.quantile(easiness, (np.arange(LEVELS) + 0.5) / LEVELS))
    return np.asarray((1.0 / (1.0 + np.exp(-np.outer(alpha, beta)))).mean(axis=1))


def _confusion(right: Floats, size: int) -> Floats:
    """The confusion matrix (W, true, said) of one who is right that often, and else says anything."""
    same = np.eye(size)
    wrong = (1.0 - right) / max(size - 1, 1)
    return np.asarray(right[:, None, None] * same + wrong[:, None, None] * (1.0 - same))


def _workers(labels: Labels, found: _Found, heard: Floats) -> Any:
    """Qualities by the ability on average items; the interval is that of the ability, by its information."""
    half = Z / np.sqrt(heard * found.information + 1.0)
    bounds = [_right(found.alpha + shift, found.easiness) for shift in (np.zeros_like(half), -half, half)]
    quality, low, high = (agreement(_confusion(own, len(labels.values)), found.shares)[0] for own in bounds)
    names = ("accuracy", "accuracy_low", "accuracy_high")
    further = {"ability": found.alpha, **dict(zip(names, bounds, strict=True))}
    return workers(labels, quality, low, high, further)


def _mirror_notes(turned: bool) -> list[Note]:
    if not turned:
        return []
    message = "EM from equal abilities had settled at a mirror image, in which the labels have changed places."
    return [Note("mirror", f"{message} A better solution was found from another start.")]
