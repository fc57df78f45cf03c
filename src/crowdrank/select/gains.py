"""How much the answer to a question is expected to teach.

Items i and j have normal scores with difference d and variances v_i, v_j; the judge has slope a, which multiplies
d and sqrt(v), and quality eta ~ Beta(alpha, beta), q = 2 E[eta] - 1. With

    c^2 = 1 / (1 + pi (v_i + v_j) / 8),    t = tanh(c |d| / 2),    x = v_i c^2,    y = v_j c^2,

the judge names the better item with probability P+ = (1 + q t) / 2 and the other with P- = (1 - q t) / 2, and the
variances shrink by 1 - v h (see kernels.filtering), h = c^2 k:

    k+- = r (r +- t),    r = q (1 - t^2) / (2 (1 +- q t)).

The gains of the scores:

    gain         Crowd-BT eq. 10: -1/2 sum over outcomes o of P_o [ln(1 - x k_o) + ln(1 - y k_o)]
    joint        of both scores together: -1/2 ln(1 - (x + y) k), k = sum P_o k_o
                 = q^2 (1 - t^2)^2 / (4 (1 - q^2 t^2))
    information  the mutual information of the vote and the difference of the scores, by quadrature
    uncertainty  the entropy of the vote

and the gain of the judge, to which eq. 10 gives the weight gamma:

    B = P+ KL(Beta after a right answer || Beta) + P- KL(Beta after a wrong one || Beta).

Every gain of scores falls in t (or |d|) and does not fall in x and y, and B rises in t if alpha and beta are at
least 0.1 (``LEAST``). So over boxes of means and variances, the gain at the least t and the largest x and y, with
B at the largest t, is a bound, whatever the variances are.

All functions take numbers or arrays, and can be compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdrank.kernels.beta import beta_divergence, digamma, log_gamma, update_beta
from crowdrank.kernels.filtering import KAPPA_LOGISTIC

GAIN, JOINT, INFORMATION, UNCERTAINTY = range(4)
KINDS = {"gain": GAIN, "joint": JOINT, "information": INFORMATION, "uncertainty": UNCERTAINTY}
STEPS, STEPS_PER_DEVIATION, REACH = 96, 32, 8.0
"""The quadrature of the mutual information: the trapezoidal rule over +- REACH deviations, with 96 steps or, if
the deviation is above 3, with 32 times the deviation."""
KNOWN = 1e6
"""A quality with a larger alpha + beta is known: nothing can be learned about it."""
LEAST = 0.1
"""The same holds if alpha or beta is smaller: then B of the module does not rise in t, so there is no bound."""


def flatten(d: Any, v: Any, u: Any) -> tuple[Any, Any, Any]:
    """t, x and y of the module, from |d| and the two variances."""
    square = 1.0 / (1.0 + KAPPA_LOGISTIC * (v + u))
    return np.tanh(0.5 * np.sqrt(square) * d), v * square, u * square


def score_gain(kind: int, d: Any, v: Any, u: Any, t: Any, x: Any, y: Any, q: Any) -> Any:
    """The gain of the scores; ``d``, ``v`` and ``u`` matter only for the mutual information."""
    if kind == GAIN:
        return eq10_gain(t, x, y, q)
    if kind == JOINT:
        return joint_gain(t, x, y, q)
    if kind == INFORMATION:
        return information_gain(d, v + u, q)
    return entropy(0.5 * (1.0 + q * t))


def eq10_gain(t: Any, x: Any, y: Any, q: Any) -> Any:
    """Crowd-BT eq. 10 without the part of the judge, under assumed-density filtering."""
    rest, right, wrong = 0.5 * q * (1.0 - t * t), 1.0 + q * t, 1.0 - q * t
    # a judge who is always right about a certain pair leaves nothing to learn
    r, s = rest / right, rest / np.maximum(wrong, 1e-300)
    up, down = r * (r + t), s * (s - t)
    gain = right * np.log((1.0 - x * up) * (1.0 - y * up)) + wrong * np.log((1.0 - x * down) * (1.0 - y * down))
    return -0.25 * gain


def joint_gain(t: Any, x: Any, y: Any, q: Any) -> Any:
    """The gain of both scores as one vector."""
    left = 1.0 - t * t
    square = q * q
    return -0.5 * np.log1p(-(x + y) * square * left * left / (4.0 * np.maximum(1.0 - square * t * t, 1e-300)))


def information_gain(d: Any, variance: Any, q: Any) -> Any:
    """H(E p) - E H(p), p = (1 + q tanh(z / 2)) / 2, z normal with mean d and this variance."""
    deviation = np.sqrt(variance)
    steps = max(STEPS, int(STEPS_PER_DEVIATION * np.max(deviation)))
    step = 2.0 * REACH / steps
    mean, inside, total = 0.0 * d, 0.0 * d, 0.0
    for place in range(steps + 1):
        z = place * step - REACH
        weight = np.exp(-0.5 * z * z)
        p = 0.5 * (1.0 + q * np.tanh(0.5 * (d + deviation * z)))
        mean, inside, total = mean + weight * p, inside + weight * entropy(p), total + weight
    return entropy(mean / total) - inside / total


def entropy(p: Any) -> Any:
    """The entropy of a coin that shows heads with probability p."""
    rest = 1.0 - p
    return -p * np.log(np.maximum(p, 1e-300)) - rest * np.log(np.maximum(rest, 1e-300))


def judge_gain(t: Any, alpha: Any, beta: Any) -> Any:
    """What the answer is expected to teach about the judge: the part of eq. 10 that gamma multiplies."""
    q = (alpha - beta) / (alpha + beta)
    right, wrong = 0.5 * (1.0 + t), 0.5 * (1.0 - t)
    a, b = update_beta(alpha, beta, right, wrong)
    e, f = update_beta(alpha, beta, wrong, right)
    return 0.5 * (1.0 + q * t) * beta_divergence(a, b, alpha, beta) + 0.5 * (1.0 - q * t) * beta_divergence(
        e, f, alpha, beta
    )


def pair_gain(
    kind: int, d: Any, v: Any, u: Any, weight: Any, slope: Any, alpha: Any, beta: Any, gamma: float
) -> Any:
    """The whole gain of a question: ``weight`` times that of the scores, plus gamma times that of the judge."""
    d, v, u = slope * np.abs(d), slope * slope * v, slope * slope * u
    t, x, y = flatten(d, v, u)
    q = np.abs(alpha - beta) / (alpha + beta)
    found = weight * score_gain(kind, d, v, u, t, x, y, q)
    if gamma > 0.0:
        found = found + gamma * judge_gain(t, alpha, beta) * is_learnable(alpha, beta)
    return found


def is_learnable(alpha: Any, beta: Any) -> Any:
    """Whether anything can be learned about a judge of this quality."""
    return (alpha + beta < KNOWN) & (np.minimum(alpha, beta) >= LEAST)


COMPILED = (
    update_beta, log_gamma, digamma, beta_divergence, entropy, eq10_gain, joint_gain, information_gain, flatten,
    score_gain, judge_gain, is_learnable, pair_gain,
)  # fmt: skip
"""Everything that a compiled search needs to compute a gain."""
