"""Beta distributions of a worker's quality: what a vote teaches about it, and how much.

All functions take numbers or arrays. They use nothing but NumPy's functions of one number, so that they can also
be compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SHIFT = 8
HALF_LOG_TAU = 0.5 * np.log(2.0 * np.pi)


def update_beta(alpha: Any, beta: Any, repeats: Any, reverses: Any) -> tuple[Any, Any]:
    """The Beta distribution of a quality after one vote, by its first two moments (Crowd-BT eq. 17, 18).

    ``repeats``: the probability of the vote if the worker reported the outcome (C1); ``reverses``: if the worker
    reversed it (C2). With S = alpha + beta and w = C1 alpha / (C1 alpha + C2 beta), the posterior is the mixture
    w Beta(alpha + 1, beta) + (1 - w) Beta(alpha, beta + 1). Written without cancellation, its mean and its S are

        (alpha + w) / (S + 1),
        [alpha (beta + 1) + w (beta - alpha)] (S + 1) / [alpha (beta + 1) + 2 w (beta + 1) - w^2 (S + 2)].
    """
    more, above = alpha + beta + 1.0, beta + 1.0
    faithful = repeats * alpha
    share = faithful / (faithful + reverses * beta)
    spread = alpha * above
    ratio = (spread + share * (beta - alpha)) / (spread + share * (2.0 * above - share * (more + 1.0)))
    return (alpha + share) * ratio, (above - share) * ratio


def beta_divergence(alpha: Any, beta: Any, old_alpha: Any, old_beta: Any) -> Any:
    """KL(Beta(alpha, beta) || Beta(old_alpha, old_beta)).

    = ln B(old) - ln B(new) + (alpha - old_alpha) psi(alpha) + (beta - old_beta) psi(beta)
      - (alpha + beta - old_alpha - old_beta) psi(alpha + beta)
    """
    total, old = alpha + beta, old_alpha + old_beta
    found = log_gamma(old_alpha) - log_gamma(alpha) + log_gamma(old_beta) - log_gamma(beta)
    found = found + log_gamma(total) - log_gamma(old)
    found = found + (alpha - old_alpha) * digamma(alpha) + (beta - old_beta) * digamma(beta)
    return found - (total - old) * digamma(total)


def log_gamma(x: Any) -> Any:
    """ln Gamma(x) for x > 0, by Stirling's series at x + 8."""
    product = 1.0 * x
    for step in range(1, SHIFT):
        product = product * (x + step)
    y = x + SHIFT
    z = 1.0 / (y * y)
    series = z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * (1.0 / 1188.0 - z * (691.0 / 360360.0))))
    series = (1.0 / 12.0 - z * (1.0 / 360.0 - series)) / y
    return (y - 0.5) * np.log(y) - y + HALF_LOG_TAU + series - np.log(product)


def digamma(x: Any) -> Any:
    """psi(x) for x > 0, the derivative of ln Gamma, by its series at x + 8."""
    below = 1.0 / x
    for step in range(1, SHIFT):
        below = below + 1.0 / (x + step)
    y = x + SHIFT
    z = 1.0 / (y * y)
    series = z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z / 12.0))))
    return np.log(y) - 0.5 / y - z * (1.0 / 12.0 - z * (1.0 / 120.0 - series)) - below
