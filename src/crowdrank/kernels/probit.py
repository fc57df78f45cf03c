"""The standard normal's tails, both at once and exact however far out.

With E(x) = erfcx(x / sqrt 2) / 2 for x >= 0 the small tail is Phi(-x) = E(x) exp(-x^2 / 2), so

    ln Phi(-x) = ln E(x) - x^2 / 2,     phi(x) / Phi(-x) = 1 / (sqrt(2 pi) E(x)),

and the large one follows from it. The hazard phi / Q grows like x; it is not bounded.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crowdrank.data.arrays import Floats


class Tails(NamedTuple):
    """ln Phi(x), ln Phi(-x), phi(x) / Phi(x) and phi(x) / Phi(-x), for x of either sign."""

    log_win: Floats
    log_lose: Floats
    pull: Floats
    push: Floats


def tails(x: Floats) -> Tails:
    """Both tails of every x and their hazards."""
    from scipy.special import erfcx

    ahead, size = x >= 0, np.abs(x)
    scaled = 0.5 * erfcx(size / math.sqrt(2.0))
    bell = np.exp(-0.5 * size * size)
    small = scaled * bell
    log_small, log_large = np.log(scaled) - 0.5 * size * size, np.log1p(-small)
    of_small, of_large = 1.0 / (math.sqrt(2 * math.pi) * scaled), bell / (math.sqrt(2 * math.pi) * (1.0 - small))
    return Tails(
        np.where(ahead, log_large, log_small),
        np.where(ahead, log_small, log_large),
        np.where(ahead, of_large, of_small),
        np.where(ahead, of_small, of_large),
    )
