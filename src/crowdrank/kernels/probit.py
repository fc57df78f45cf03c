"""Both tails of the standard normal at once, exact even far from 0.

With the hazard f(x) = phi(x) / Q(x), the small tail at |x| is

    Q(x) = phi(x) / f(x),     ln Q(x) = -x^2 / 2 - ln(sqrt(2 pi) f(x)),

and the large tail follows from it. The hazard grows like x and is not bounded.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from crowdrank.data.arrays import Floats

ROOT = math.sqrt(2.0 * math.pi)


def hazard(x: Any) -> Floats:
    """f(x) = phi(x) / Q(x), the mean of a standard normal above x (TPP eq. 23).

    With erfcx(z) = e^(z^2) erfc(z) it is sqrt(2/pi) / erfcx(x / sqrt 2), which neither overflows nor underflows.
    The TPP paper prints the limit 12 / sqrt(2 pi) for large x, which is wrong.
    """
    from scipy.special import erfcx

    return math.sqrt(2.0 / math.pi) / erfcx(np.asarray(x) / math.sqrt(2.0))


class Tails(NamedTuple):
    """ln Phi(x), ln Phi(-x), phi(x) / Phi(x) and phi(x) / Phi(-x)."""

    log_win: Floats
    log_lose: Floats
    pull: Floats
    push: Floats


def tails(x: Floats) -> Tails:
    """Both tails of every x, and their hazards."""
    half_square = 0.5 * x * x
    of_small = hazard(np.abs(x))
    density = np.exp(-half_square) / ROOT
    small = density / of_small
    log_small, log_large = -half_square - np.log(ROOT * of_small), np.log1p(-small)
    of_large = density / (1.0 - small)
    above = x >= 0
    return Tails(
        np.where(above, log_large, log_small),
        np.where(above, log_small, log_large),
        np.where(above, of_large, of_small),
        np.where(above, of_small, of_large),
    )
