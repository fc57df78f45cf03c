"""Points that stand for a normal distribution."""

from __future__ import annotations

from functools import cache

import numpy as np

from crowdrank.data.arrays import Floats


def normal_points(count: int, width: int) -> Floats:
    """Evenly spread standard normal points, by an additive recurrence on generalized golden ratios."""
    from scipy.special import ndtri

    root = 1.0
    for _ in range(64):  # the root of x^(width + 1) = x + 1
        root = (1.0 + root) ** (1.0 / (width + 1))
    steps = root ** -np.arange(1.0, width + 1)
    return np.asarray(ndtri((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0))


@cache
def normal_cubature(width: int) -> tuple[Floats, Floats]:
    """Points (m, width) and weights (m) that integrate polynomials up to the fifth degree under a standard normal
    distribution of at most 4 dimensions (McNamee & Stenger 1967).

    The center, points on the axes, and points between two axes. A sign or two axes may change places: the points
    stay the same.
    """
    n, axes = width, np.eye(width)
    between = [
        np.sqrt((n + 2) / 2) * (one * axes[i] + other * axes[j])
        for i in range(n)
        for j in range(i)
        for one in (-1.0, 1.0)
        for other in (-1.0, 1.0)
    ]
    on = [sign * np.sqrt(n + 2.0) * axis for axis in axes for sign in (-1.0, 1.0)]
    points = np.array([np.zeros(n), *on, *between])
    weights = np.array([2 / (n + 2), *[(4 - n) / (2 * (n + 2) ** 2)] * len(on), *[(n + 2) ** -2.0] * len(between)])
    kept = weights > 0
    return points[kept], weights[kept]
