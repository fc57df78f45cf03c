"""How well held-out votes were predicted.

A vote with outcome y and weight w, to which the model gave probability p(y), has the log loss l = -ln p(y). With
W = sum of w,

    mean = sum w l / W,      standard error = sqrt(sum w (l - mean)^2 / (W (W - 1))):

a weight of 2 counts as two votes. The error treats votes as independent and ignores that votes of one worker
resemble each other. If no vote is a tie, probabilities are renormalized over left and right:
p / (p_left + p_right).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import LEFT, RIGHT, TIE, Floats
from crowdrank.results import agreement_interval

LEAST = 1e-15
"""Smaller probabilities are raised to this, so that no loss is infinite."""
EVEN = 1e-12
"""Two sides are even if their probabilities differ by at most this."""


class Figure(NamedTuple):
    """A mean over votes and its standard error, which is NaN for a single vote."""

    mean: float
    error: float


def figure(values: Floats, weight: Floats | None) -> Figure:
    """The mean and its standard error."""
    weight = np.ones(len(values)) if weight is None else weight
    total = float(weight.sum())
    if not total > 0:
        return Figure(float("nan"), float("nan"))
    mean = float(weight @ values) / total
    squares = float(weight @ (values - mean) ** 2)
    return Figure(mean, float(np.sqrt(squares / (total * (total - 1)))) if total > 1 else float("nan"))


def log_losses(probabilities: Floats, outcome: NDArray[np.int8], *, ties: bool) -> Floats:
    """The loss of each vote; ``probabilities`` (rows, 3) are those of left, tie and right."""
    left, tie, right = probabilities.T
    said = np.select([outcome == LEFT, outcome == RIGHT, outcome == TIE], [left, right, tie])
    if not ties:
        both = left + right
        said = np.where(both > 0, said / np.where(both > 0, both, 1.0), 0.5)
    return -np.log(np.clip(said, LEAST, 1.0))


def likelier_side(probabilities: Floats) -> Floats:
    """1 if left is the likelier side, -1 if right is, 0 if neither."""
    ahead = probabilities[:, 0] - probabilities[:, 2]
    return np.where(np.abs(ahead) <= EVEN, 0.0, np.sign(ahead))


def hits(ahead: Floats, outcome: NDArray[np.int8]) -> Floats:
    """For each decided vote: 1 if the side ahead won, 0 if it lost, 1/2 if neither was ahead."""
    return (1.0 + np.where(outcome == LEFT, 1.0, -1.0) * ahead) / 2.0


BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The edges of the bins of a calibration curve: a likelier side has a probability of at least 1/2."""


@dataclass(frozen=True)
class CalibrationBin:
    """Decided votes whose likelier side has a probability from ``start`` to ``end``, with their total weight.

    ``said`` is its mean, and ``right`` the share of the votes that this side won, with its Jeffreys interval.
    """

    start: float
    end: float
    votes: float
    said: float
    right: float
    low: float
    high: float


def calibration(
    probabilities: Floats, outcome: NDArray[np.int8], weight: Floats | None
) -> tuple[CalibrationBin, ...]:
    """How often the likelier side of decided votes won, by its probability. Bins without votes are left out."""
    decided = outcome != TIE
    left, right = probabilities[decided, 0], probabilities[decided, 2]
    said = np.maximum(left, right) / np.maximum(left + right, LEAST)
    won = hits(likelier_side(probabilities[decided]), outcome[decided])
    counted = np.ones(len(said)) if weight is None else weight[decided]
    place = np.clip(np.searchsorted(BINS, said, "right") - 1, 0, len(BINS) - 2)
    found = []
    for number in np.unique(place[counted > 0]):
        own = place == number
        total = float(counted[own].sum())
        mean, hit = (float(counted[own] @ values[own]) / total for values in (said, won))
        _, low, high = agreement_interval(np.array([hit]), np.array([total]))
        found.append(
            CalibrationBin(BINS[number], BINS[number + 1], total, mean, hit, float(low[0]), float(high[0]))
        )
    return tuple(found)
