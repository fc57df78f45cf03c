"""Links: the probability F(d) that an item wins if its score is larger by d.

Every link is symmetric, F(-d) = 1 - F(d), and computes together the four arrays that a likelihood, its gradient
and its Hessian need:

    win  = F(d),   lose = F(-d),   density = F'(d),   bend = F''(d) / F'(d)

``win`` and ``lose`` are computed separately, so neither loses digits when it is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from crowdrank.data.arrays import Floats

TINY = 1e-150
"""The smallest probability whose log is taken. Its square does not underflow."""


class LinkValues(NamedTuple):
    """F(d), F(-d), F'(d) and F''(d) / F'(d)."""

    win: Floats
    lose: Floats
    density: Floats
    bend: Floats


@dataclass(frozen=True)
class Link:
    """A symmetric link: its name and the function that evaluates it."""

    name: str
    values: Callable[[Floats], LinkValues]
    quantile: Callable[[float], float]
    """The d at which F(d) is a given probability."""

    def __reduce__(self) -> tuple[Callable[[str], Link], tuple[str]]:
        return _find_link, (self.name,)  # functions are sent to other processes by name


def _logistic(d: Floats) -> LinkValues:
    """F(d) = 1 / (1 + e^-d): Bradley-Terry, Crowd-BT eq. 1."""
    ahead, behind = np.exp(np.minimum(d, 0.0)), np.exp(-np.maximum(d, 0.0))  # one of them is 1
    total = ahead + behind
    win, lose = ahead / total, behind / total
    return LinkValues(win, lose, win * lose, lose - win)


def _probit(d: Floats) -> LinkValues:
    """F(d) = Phi(d / sqrt 2): Thurstone case V, Crowd-BT eq. 7."""
    from scipy.special import ndtr

    z = d / math.sqrt(2.0)
    density = np.exp(-0.5 * z * z) / (2.0 * math.sqrt(math.pi))
    return LinkValues(ndtr(z), ndtr(-z), density, -0.5 * d)


LOGISTIC = Link("logistic", _logistic, lambda p: math.log(p / (1.0 - p)))
PROBIT = Link("probit", _probit, lambda p: math.sqrt(2.0) * NormalDist().inv_cdf(p))


def _find_link(name: str) -> Link:
    return {"logistic": LOGISTIC, "probit": PROBIT}[name]
