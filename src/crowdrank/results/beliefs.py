"""What a posterior says of every item and every judge on its own, and of those that it has not seen.

Items are independent normals. A judge repeats the outcome of a contest at a times the difference of the scores
with probability eta, a Beta variable, and reverses it otherwise. This is all that choosing the next question
needs, and every posterior has it: online or batch, with or without qualities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.results.posterior import Posterior

VARIANCE = 1.0
"""The variance of a score if nothing is known."""
QUALITY = (10.0, 1.0)
"""The Beta distribution of a quality if nothing is known: people mostly mean well (Crowd-BT section 5.1.2)."""
STRONGEST = 1e6
"""alpha + beta of a quality that counts as known."""
WEAKEST = 1.0
"""The least alpha + beta of a judge who has answered."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """``mean`` and ``variance`` of the scores (N), and ``slope``, ``alpha`` and ``beta`` of the judges (K).

    The ``new_`` values are those of an item or judge that the posterior has not seen: the mean of a new item is 0,
    and its variance is the mean square of the scores. The quality of a new judge varies as among the judges seen.
    """

    mean: Floats
    variance: Floats
    slope: Floats
    alpha: Floats
    beta: Floats
    new_variance: float = VARIANCE
    new_quality: tuple[float, float] = QUALITY

    @classmethod
    def of(cls, posterior: Posterior) -> Beliefs:
        """From a posterior; its covariances are left out.

        Nothing links the levels of unconnected parts, so each item of a part of n items also has the variance of
        the mean of n new items. An item that was never judged is new.
        """
        mean, variance = posterior.score, posterior.stderr**2
        known = np.isfinite(variance)
        new = float(np.mean(mean[known] ** 2 + variance[known])) if known.any() else VARIANCE
        new = max(new, 1e-6)
        size = np.bincount(posterior.part)[posterior.part] if len(mean) else np.zeros(0)
        level = 0.0 if len(posterior.parts) < 2 else new / size
        variance = np.where(known, np.where(known, variance, 0.0) + level, new)
        slope, eta, spread = _judges(posterior)
        alpha, beta = beta_of_moments(eta, spread)
        quality = QUALITY
        if len(eta) > 1:
            total = float(np.mean(spread) + np.var(eta))
            a, b = beta_of_moments(np.array([eta.mean()]), np.array([total]))
            quality = (float(a[0]), float(b[0]))
        return cls(mean, variance, slope, alpha, beta, new, quality)


def beta_of_moments(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """alpha and beta of Beta distributions with these moments.

    A mean at 0 or 1 is moved inside by the share of a vote; a variance that is too large for its mean is cut.
    """
    mean = np.clip(mean, 1e-3, 1.0 - 1e-3)
    strength = mean * (1.0 - mean) / np.maximum(variance, 1e-12) - 1.0
    strength = np.clip(strength, WEAKEST, STRONGEST)
    return mean * strength, (1.0 - mean) * strength


def _judges(posterior: Posterior) -> tuple[Floats, Floats, Floats]:
    """The slope of each judge, and mean and variance of eta.

    A judge with a negative slope answers in reverse: the slope counts by its size, and eta is 1 - eta. If the
    model has slopes, their relative error is that of 2 eta - 1.
    """
    names, values = posterior.parameters, posterior.worker_mean
    if not len(values):
        count = 0 if posterior.worker is None else len(posterior.worker)
        mean, total = QUALITY[0] / sum(QUALITY), sum(QUALITY)
        return np.ones(count), np.full(count, mean), np.full(count, mean * (1.0 - mean) / (total + 1.0))
    error = posterior.worker_stderr

    def column(name: str) -> tuple[Floats, Floats] | None:
        return (values[:, names.index(name)], error[:, names.index(name)]) if name in names else None

    slope, slope_error = np.ones(len(values)), np.zeros(len(values))
    eta, eta_error = np.full(len(values), 1.0 - 1e-3), np.zeros(len(values))
    if (found := column("slope")) is not None:
        slope, slope_error = found
    elif (found := column("log-slope")) is not None:
        slope = np.exp(found[0])
        slope_error = slope * found[1]
    if (found := column("eta")) is not None:
        eta, eta_error = found
    elif (found := column("lapse")) is not None:
        lapse = 0.5 / (1.0 + np.exp(-found[0]))
        eta, eta_error = 1.0 - lapse, lapse * (1.0 - 2.0 * lapse) * found[1]
    size = np.maximum(np.abs(slope), 0.05)
    relative = np.minimum(slope_error / size, 1.0)
    variance = eta_error**2 + ((eta - 0.5) * relative) ** 2
    return size, np.where(slope < 0, 1.0 - eta, eta), variance
