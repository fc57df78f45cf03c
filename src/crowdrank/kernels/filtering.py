"""One vote under normal scores: its probability, and how it moves the scores.

The advantage x of the left item is normal with mean ``x`` and variance V (of the two scores, and of a position
bias if there is one). With the link F, its expected win is close to (exactly, for Thurstone's link)

    E F(x - t) = F(c (x - t)),      c^2 = 1 / (1 + kappa V),      kappa = pi / 8 (logistic), 1/2 (probit)

where t is the threshold of a tie (0 without ties). A worker of mean quality eta says left, right or tie with
probability Z, and assumed-density filtering moves the mean and the variance v of a score by the derivatives of
ln Z:

    left   Z = eta W + (1 - eta) L       W = F(c (x - t)),   L = F(c (-x - t))
    right  Z = eta L + (1 - eta) W
    tie    Z = 1 - W - L

    mean <- mean +- v g,     v <- v (1 - v h),       g = d ln Z / dx,   h = -d^2 ln Z / dx^2.

Crowd-BT's own rule (eq. 12 to 15) takes the derivatives of ln f at the means instead, f = eta F(x) + (1 - eta)
F(-x), and C1 of eq. 19 is a second-order expansion. It is kept here as printed, with eq. 19 read as e^mu and
clipped.

All functions take numbers or arrays, and can be compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import erfc

from crowdrank.kernels.beta import update_beta

KAPPA_LOGISTIC, KAPPA_PROBIT = np.pi / 8.0, 0.5
"""How fast the variance of the advantage flattens the expected win."""
LEAST = 1e-12
"""The smallest probability of a vote. A vote that is less likely still hardly moves the scores."""
FLOOR = 1e-4
"""kappa of Crowd-BT eq. 14, 15: one vote leaves at least this share of a variance."""
SAFE = 1e-6
"""C1 of eq. 19 is kept within [SAFE, 1 - SAFE]."""
LEAST_BETA = 1e-3
"""The parameters of a Beta distribution stay above this."""


def learn_vote(
    mean: Any, other_mean: Any, variance: Any, other_variance: Any, alpha: Any, beta: Any, side: Any,
    side_variance: Any, said: Any, weight: Any, biased: Any, threshold: Any, probit: Any, printed: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """What a vote between left (``mean``, ``variance``) and right (``other_mean``, ``other_variance``) teaches.

    ``said``: 1 for left, -1 for right, 0 for a tie. ``side`` and ``side_variance``: the position bias of the
    worker, 0 if there is none. ``weight``: at most 1; see ``move`` for a part of a vote. Returns the new values of
    the first eight, and ln Z. A tie teaches nothing about the quality.
    """
    x, spread = mean - other_mean, variance + other_variance
    if biased:
        x, spread = x + side, spread + side_variance
    if printed:
        g, h, chance, repeats, reverses = as_printed(x, spread, alpha, beta, said)
    else:
        g, h, chance, repeats, reverses = assumed_density(
            x, spread, alpha / (alpha + beta), said, threshold, probit
        )
    mean, variance = move(mean, variance, g, h, weight)
    other_mean, other_variance = move(other_mean, other_variance, -g, h, weight)
    if biased:
        side, side_variance = move(side, side_variance, g, h, weight)
    if said != 0:
        new_alpha, new_beta = update_beta(alpha, beta, repeats, reverses)
        if weight != 1.0:
            new_alpha, new_beta = alpha + weight * (new_alpha - alpha), beta + weight * (new_beta - beta)
        alpha, beta = np.maximum(new_alpha, LEAST_BETA), np.maximum(new_beta, LEAST_BETA)
    log_chance = weight * np.log(chance)
    return mean, other_mean, variance, other_variance, alpha, beta, side, side_variance, log_chance


def assumed_density(
    x: Any, variance: Any, quality: Any, said: Any, threshold: Any, probit: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """g, h and Z of a vote, and the probability of the vote if the worker repeats or reverses the outcome."""
    kappa = KAPPA_PROBIT if probit else KAPPA_LOGISTIC
    c = 1.0 / np.sqrt(1.0 + kappa * variance)
    win, win_slope, win_bend = expected_win(c * (x - threshold), c, probit)
    beyond, beyond_slope, beyond_bend = win, win_slope, win_bend  # 1 less the loss
    if threshold > 0.0:
        beyond, beyond_slope, beyond_bend = expected_win(c * (x + threshold), c, probit)
    if said == 0:
        chance = np.maximum(beyond - win, LEAST)
        slope, bend = (beyond_slope - win_slope) / chance, (beyond_bend - win_bend) / chance
        return slope, slope * slope - bend, chance, chance, chance
    loss, as_left = 1.0 - beyond, quality if said > 0 else 1.0 - quality
    chance = np.maximum(loss + as_left * (win - loss), LEAST)
    slope = (as_left * (win_slope + beyond_slope) - beyond_slope) / chance
    bend = (as_left * (win_bend + beyond_bend) - beyond_bend) / chance
    if said > 0:
        return slope, slope * slope - bend, chance, win, loss
    return slope, slope * slope - bend, chance, loss, win


def expected_win(y: Any, c: Any, probit: Any) -> tuple[Any, Any, Any]:
    """F(y), and its first and second derivative by x, y = c x + constant."""
    if probit:  # F(y) = Phi(y / sqrt 2)
        win = 0.5 * erfc(-0.5 * y)
        slope = c * np.exp(-0.25 * y * y) / (2.0 * np.sqrt(np.pi))
        return win, slope, -0.5 * c * y * slope
    t = np.tanh(0.5 * y)
    slope = 0.25 * c * (1.0 - t * t)
    return 0.5 + 0.5 * t, slope, -c * t * slope


def as_printed(x: Any, variance: Any, alpha: Any, beta: Any, said: Any) -> tuple[Any, Any, Any, Any, Any]:
    """The same by Crowd-BT eq. 12 to 16 and 19, for a vote for the left (1) or the right (-1).

    Of the item that won, with p = sigma(its advantage) and r = alpha p / (alpha p + beta (1 - p)):
    g = r - p and h = p (1 - p) - r (1 - r).
    """
    won = 0.5 + 0.5 * np.tanh(0.5 * said * x)
    lost = 1.0 - won
    right = alpha * won / (alpha * won + beta * lost)
    slope = (right - won) * said
    bend = won * lost - right * (1.0 - right)
    expected = np.minimum(np.maximum(won + 0.5 * variance * won * lost * (lost - won), SAFE), 1.0 - SAFE)
    chance = (alpha * expected + beta * (1.0 - expected)) / (alpha + beta)
    return slope, bend, chance, expected, 1.0 - expected


def move(mean: Any, variance: Any, slope: Any, bend: Any, weight: Any) -> tuple[Any, Any]:
    """The mean and variance of a score after a vote with derivatives g and h.

    Of a part m < 1 of a vote, the message to the score, the quotient of posterior and prior, is raised to the
    power of m. With a = v h:

        mean + m v g / (1 - a + m a),     v (1 - a) / (1 - a + m a).
    """
    kept = np.maximum(1.0 - variance * bend, FLOOR)
    if weight == 1.0:
        return mean + variance * slope, variance * kept
    share = kept + weight * (1.0 - kept)
    return mean + weight * variance * slope / share, variance * kept / share
