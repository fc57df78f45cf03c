"""How often a worker agrees with a fitted order, and whether that says anything about the worker."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.errors import Note, Remedy
from crowdrank.kernels import Link
from crowdrank.models.worker_parameters import WorkerParameter, drive
from crowdrank.prepared.subjects import Subjects

GOLD_PAIRS = (
    "Pairs of known order, in a file with the columns winner and loser, would decide it: ",
    Remedy("anchors", "FILE"),
)
"""The hint if the votes alone do not say which workers are right."""
CURVE = 65
HALVINGS = 100
TELLABLE = 0.6
"""If even a perfect worker agrees no more often than this, nobody is called a spammer."""


class Agreement:
    """How often a worker of slope a agrees with the fitted order on an average pair: mean of F(a |d|)."""

    slopes: Any
    share: NDArray[Any]
    perfect: float

    def __init__(self, link: Link, d: Floats, weight: Floats) -> None:
        """``d``: the differences |d| of pairs; ``weight``: how often each occurs."""
        self.slopes = np.sinh(np.linspace(0.0, np.arcsinh(60.0), CURVE))
        total = max(float(weight.sum()), 1e-300)
        self.share = np.array([float(weight @ link.values(a * d).win) / total for a in self.slopes])
        self.perfect = float(np.interp(1.0, self.slopes, self.share))

    def quality(self, columns: tuple[WorkerParameter, ...], values: Floats) -> Floats:
        """1/2 + (2 eta - 1) (mean F(a |d|) - 1/2) for values (..., columns)."""
        with np.errstate(over="ignore"):
            own = drive(columns, values)
        slope, eta = own.get("slope", np.ones(1)), own.get("eta", np.ones(1))
        above = np.interp(np.abs(slope), self.slopes, self.share) - 0.5
        return np.asarray(0.5 + (2.0 * eta - 1.0) * np.sign(slope) * above)


def quality_notes(votes: Subjects, perfect: float) -> list[Note]:
    """A note if the votes say little about how good the workers are; ``perfect``: how often the best
    possible worker would agree with the fitted order. A single worker has a note of its own."""
    if perfect > TELLABLE or votes.n_workers == 1:
        return []
    message = (
        f"The items are close: even the best worker would agree with the fitted order on only "
        f"{perfect:.0%} of average pairs, so good and bad workers look alike."
    )
    return [Note("close-items", message)]


def variance_between(values: Floats, variance: Floats) -> tuple[float, float]:
    """The tau^2 with sum of (x - mu)^2 / (tau^2 + s^2) = n - 1, mu being the mean by the same weights.

    ``values``: x of mean mu and variance tau^2 + s^2; ``variance``: s^2. 0 if the sum is smaller even at tau = 0
    (Paule and Mandel 1982). The sum falls with tau, so the interval that contains the solution is halved.
    """

    def excess(between: float) -> tuple[float, float]:
        weight = 1.0 / (between + variance)
        mean = float(weight @ values / weight.sum())
        return float(weight @ (values - mean) ** 2) - (len(values) - 1), mean

    low, high = 0.0, float(np.ptp(values)) ** 2
    if excess(0.0)[0] <= 0.0:
        return 0.0, excess(0.0)[1]
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if excess(middle)[0] > 0.0 else (low, middle)
    return high, excess(high)[1]
