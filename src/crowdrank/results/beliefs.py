"""What a posterior says of every item and every judge on its own, and of those that it has not seen.

Items are independent normals. A judge repeats the outcome of a contest at a times the difference of the scores
with probability eta, a Beta variable, and reverses it otherwise. This is all that choosing the next question
needs, and every posterior has it: online or batch, with or without qualities.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.results.posterior import Posterior

VARIANCE = 1.0
"""The variance of a score if nothing is known."""
QUALITY = (10.0, 1.0)
"""The Beta distribution of a quality if nothing is known: people mostly mean well (Crowd-BT section 5.1.2)."""
STRONGEST = 1e6
"""alpha + beta of a quality that counts as known."""
WEAKEST = 0.5
"""The least alpha and beta of a judge who has answered. With less, a Beta distribution piles up at 0 and 1."""
DIFFERENCES = 64
"""How many differences of scores stand for all of them."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """``mean`` and ``variance`` of the scores (N), and ``slope``, ``alpha`` and ``beta`` of the judges (K).

    The ``new_`` values are those of an item or judge that the posterior has not seen: the mean of a new item is 0,
    and its variance is the mean square of the scores. The quality of a new judge varies as among the judges seen.

    >>> import crowdrank as cr
    >>> votes = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "a", "b")]
    >>> beliefs = cr.Beliefs.of(cr.CrowdBT().fit(votes).posterior_)
    >>> beliefs.mean.round(2)
    array([ 1.08, -0.21, -0.87])
    >>> (beliefs.alpha / (beliefs.alpha + beliefs.beta)).round(2)  # the qualities of ann and bob
    array([0.78, 0.79])
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

        The standard errors of a posterior are those of scores centered in their part; here the scores of a part
        are independent, with the variances that would give these errors. Nothing links the levels of unconnected
        parts of one query, so each item of such a part of n items also has the variance of the mean of n new
        items. An item that was never judged is new.
        """
        mean, centered = posterior.score, posterior.stderr**2
        known = np.isfinite(centered)
        new = float(np.mean(mean[known] ** 2 + centered[known])) if known.any() else VARIANCE
        new = max(new, 1e-6)
        variance = np.full(len(mean), new)
        query = posterior.query.fill_null("").to_list() if len(mean) else []
        parts_of_query = Counter(query[nodes[0]] for nodes in posterior.parts)
        for nodes in posterior.parts:
            if known[nodes].all():
                level = new / len(nodes) if parts_of_query[query[nodes[0]]] > 1 else 0.0
                variance[nodes] = independent_variances(centered[nodes]) + level
        slope, eta, spread = _judges(posterior)
        alpha, beta = beta_of_moments(eta, spread)
        quality = QUALITY
        if len(eta) > 1:
            flat = quality_without_slope(eta, slope, new)
            total = float(np.mean(spread) + np.var(flat))
            a, b = beta_of_moments(np.array([flat.mean()]), np.array([total]))
            quality = (float(a[0]), float(b[0]))
        return cls(mean, variance, slope, alpha, beta, new, quality)

    def without_slopes(self) -> Beliefs:
        """The same with slope 1 for every judge, whose quality makes up for it; as sure as before."""
        total = self.alpha + self.beta
        eta = quality_without_slope(self.alpha / total, self.slope, self.new_variance)
        eta = np.clip(eta, WEAKEST / total, 1.0 - WEAKEST / total)
        return replace(self, slope=np.ones(len(eta)), alpha=eta * total, beta=(1.0 - eta) * total)


def independent_variances(centered: Floats) -> Floats:
    """The variances u of independent scores that have these variances v after they are centered.

    v_i = u_i (1 - 2 / n) + sum(u) / n^2, so sum(u) = sum(v) n / (n - 1). No u is below its v.
    """
    count = len(centered)
    total = centered.sum() * count / max(count - 1, 1)
    if count <= 2:
        return np.full(count, total / max(count, 1))
    return np.maximum((centered - total / count**2) / (1.0 - 2.0 / count), centered)


def quality_without_slope(eta: Floats, slope: Floats, variance: Floats | float) -> Floats:
    """The quality at slope 1 that agrees as often with the order of two items, whose scores have this variance.

    At slope a the worker's advantage is (2 eta - 1) E tanh(a |d| / 2), with d normal of twice the variance.
    """
    from scipy.special import ndtri

    d = np.sqrt(2.0 * variance) * ndtri(0.5 + 0.5 * (np.arange(DIFFERENCES) + 0.5) / DIFFERENCES)
    share = np.tanh(0.5 * np.outer(slope, d)).mean(axis=1) / np.tanh(0.5 * d).mean()
    return 0.5 + 0.5 * np.clip((2.0 * eta - 1.0) * share, -1.0, 1.0)


def beta_of_moments(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """alpha and beta of Beta distributions with these moments.

    A mean at 0 or 1 is moved inside by the share of a vote. A variance is cut if it is so large that alpha or beta
    would fall below ``WEAKEST``.
    """
    mean = np.clip(mean, 1e-3, 1.0 - 1e-3)
    strength = mean * (1.0 - mean) / np.maximum(variance, 1e-12) - 1.0
    strength = np.clip(strength, WEAKEST / np.minimum(mean, 1.0 - mean), STRONGEST)
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
