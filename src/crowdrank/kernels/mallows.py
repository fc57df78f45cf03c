"""Mallows' model under Kendall's distance: P(list) = e^(-theta d(list, consensus)) / Z.

theta = 0 is chance, a large theta is certainty, and a negative theta is a reversal. For n items (Fligner &
Verducci 1986)

    ln Z_n = sum_{j <= n} ln [j],      [j] = (1 - q^j) / (1 - q) = 1 + q + ... + q^(j-1),      q = e^-theta

A list with ties, or a top-k list, leaves some orders open, and the sum over these is exact. Let d be the number of
pairs that the list and the consensus order differently, and let m_1, m_2, ... be the sizes of the tied groups (the
unranked items of a top-k list are the last such group). Then

    P = e^(-theta d) Z_{m_1} Z_{m_2} ... / Z_n

The item at position a of the consensus is above the item at position a + g with a probability that depends only on
g (Mallows 1957): h(g + 1) - h(g), h(g) = g / (1 - q^g). Near theta = 0 all of these are differences of large
numbers. Here they are written with

    b(x) = 1 / (e^x - 1) - 1 / x + 1 / 2        (x / 12 - x^3 / 720 + ...)        ln (sinh x / x)

which avoid this problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats

SMALL = 0.5
"""Below this, b is computed from its series. Six terms are exact to the last digit."""
_SERIES = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)


def _b(x: Floats) -> Floats:
    """1 / (e^x - 1) - 1 / x + 1 / 2."""
    near = np.abs(x) < SMALL
    far = np.where(near, 1.0, x)
    small = np.where(near, x, 0.0)  # the square of a very large x would overflow
    series = small * np.polynomial.polynomial.polyval(small * small, _SERIES)
    return np.where(near, series, 0.5 / np.tanh(0.5 * far) - 1.0 / far)


def _db(x: Floats) -> Floats:
    """The derivative of b."""
    near = np.abs(x) < SMALL
    far = np.minimum(np.abs(np.where(near, 1.0, x)), 700.0)
    odd = np.array(_SERIES) * (2 * np.arange(len(_SERIES)) + 1)
    series = np.polynomial.polynomial.polyval(np.where(near, x, 0.0) ** 2, odd)
    return np.where(near, series, (1.0 / np.where(near, 1.0, x)) ** 2 - 0.25 / np.sinh(0.5 * far) ** 2)


def _log_sinhc(x: Floats) -> Floats:
    """ln (sinh x / x)."""
    size = np.abs(x)
    near = size < 0.1
    square = np.where(near, x, 0.0) ** 2
    series = square * (1 / 6 - square * (1 / 180 - square * (1 / 2835 - square * (1 / 37800))))
    far = np.where(near, 1.0, size)
    return np.where(near, series, far + np.log1p(-np.exp(-2.0 * far)) - np.log(2.0 * far))


def log_normalizers(theta: Floats, n: int) -> tuple[Floats, Floats, Floats]:
    """ln Z_m for m = 0 to n and its first and second derivative by theta, each (len(theta), n + 1).

    Minus the first derivative is the expected distance. The second derivative is its variance.
    """
    j, own = np.arange(1.0, n + 1), np.asarray(theta, float)[:, None]
    log_stage = _log_sinhc(0.5 * j * own) - _log_sinhc(0.5 * own) + np.log(j) - 0.5 * (j - 1) * own
    return _sum_stages(log_stage), *normalizer_slopes(theta, n)


def normalizer_slopes(theta: Floats, n: int) -> tuple[Floats, Floats]:
    """The first and the second derivative of ln Z_m for m = 0 to n, each (len(theta), n + 1)."""
    j, theta = np.arange(1.0, n + 1), np.asarray(theta, float)[:, None]
    mean = _b(theta) - j * _b(j * theta) + 0.5 * (j - 1)
    variance = j * j * _db(j * theta) - _db(theta)
    return _sum_stages(-mean), _sum_stages(variance)


def _sum_stages(stage: Floats) -> Floats:
    """The sums over the first m stages, m = 0 to n."""
    return np.concatenate([np.zeros((len(stage), 1)), np.cumsum(stage, axis=1)], axis=1)


def chance_above(gap: NDArray[Any], theta: Floats | float) -> Floats:
    """The probability that an item is above the item ``gap`` > 0 positions below it in the consensus."""
    near = gap.astype(np.float64) * theta
    far = near + theta
    return 0.5 + (gap + 1.0) * _b(far) - gap * _b(near)


def sample(theta: Floats, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Orders (len(theta), n) drawn by repeated insertion: items 0 to n-1 of the consensus, best first.

    Item j goes above v of the items before it with a probability proportional to e^(-theta v).
    """
    theta = np.asarray(theta, float)
    place = np.zeros((len(theta), n), np.int64)
    for j in range(n):
        weights = np.exp(-(theta[:, None] * np.arange(j + 1) - np.minimum(theta, 0.0)[:, None] * j))
        chance = np.cumsum(weights, axis=1)
        drawn = rng.random(len(theta)) * chance[:, -1]
        own = j - (drawn[:, None] >= chance[:, :-1]).sum(axis=1)
        place[:, :j] += place[:, :j] >= own[:, None]
        place[:, j] = own
    return np.argsort(place, axis=1)
