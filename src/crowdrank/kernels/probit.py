"""Both tails of the standard normal at once, exact however far out.

With E(x) = erfcx(x / sqrt 2) / 2 for x >= 0 the small tail is Phi(-x) = E(x) exp(-x^2 / 2), so

    ln Phi(-x) = ln E(x) - x^2 / 2,     phi(x) / Phi(-x) = 1 / (sqrt(2 pi) E(x)),

and the large one follows from it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crowdrank.data.arrays import Floats


class Tails(NamedTuple):
    """ln Phi(x), ln Phi(-x), phi(x) / Phi(x) and phi(x) / Phi(-x)."""

    log_win: Floats
    log_lose: Floats
    pull: Floats
    push: Floats


def tails(x: Floats) -> Tails:
    """Both tails of every x >= 0, and their hazards."""
    from scipy.special import erfcx

    scaled = 0.5 * erfcx(x * math.sqrt(0.5))
    exponent = -0.5 * x * x
    bell = np.exp(exponent)
    small = scaled * bell
    root = 1.0 / math.sqrt(2.0 * math.pi)
    return Tails(np.log1p(-small), np.log(scaled) + exponent, root * bell / (1.0 - small), root / scaled)
