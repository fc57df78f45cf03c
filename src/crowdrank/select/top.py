"""How much an item matters if only the first places do."""

from __future__ import annotations

import numpy as np

from crowdrank.data.arrays import Floats, Integers

STEPS = 60
"""Bisections in the search for the cut."""


def top_cut(mean: Floats, variance: Floats, top: int, group: Integers) -> Floats:
    """The score above which ``top`` items of each group are expected, by bisection."""
    groups = int(group.max(initial=-1)) + 1
    if not len(mean):
        return np.zeros(groups)
    deviation = np.sqrt(np.maximum(variance, 1e-300))
    reach = float(np.max(np.abs(mean) + 8.0 * deviation))
    low, high = np.full(groups, -reach), np.full(groups, reach)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        above = np.bincount(group, chance_above(mean, variance, middle[group]), groups)
        low, high = np.where(above > top, middle, low), np.where(above > top, high, middle)
    return 0.5 * (low + high)


def chance_above(mean: Floats, variance: Floats, cut: Floats) -> Floats:
    """The probability that each score is above a cut."""
    from scipy.special import ndtr

    return np.asarray(ndtr((mean - cut) / np.sqrt(np.maximum(variance, 1e-300))))
