"""Probabilities of votes to come, from what a fit found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.kernels import Link


def at(values: Floats, codes: NDArray[Any], missing: float) -> Floats:
    """The value of each code; ``missing`` where the code is -1."""
    return np.where(codes >= 0, values[codes], missing) if len(values) else np.full(len(codes), missing)


def with_ties(left: Floats, tie: float | Floats) -> Floats:
    """Probabilities of left, tie and right (rows, 3), ``left`` being that of left where it is no tie."""
    left = np.asarray(left, float)
    return np.stack([(1.0 - tie) * left, np.broadcast_to(tie, left.shape), (1.0 - tie) * (1.0 - left)], axis=1)


@dataclass(frozen=True, eq=False)
class LinkedScores:
    """F(s_left - s_right), repeated by the worker with probability eta where there are qualities.

    A tie has the same probability in every vote. What was not seen has score 0, a worker not seen the
    mean quality.
    """

    link: Link
    scores: Floats
    tie: float
    eta: Floats | None = None

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        win = self.link.values(at(self.scores, left, 0.0) - at(self.scores, right, 0.0)).win
        if self.eta is not None:
            mean = float(self.eta.mean()) if len(self.eta) else 1.0
            eta = np.full(len(win), mean) if worker is None else at(self.eta, worker, mean)
            win = eta * win + (1.0 - eta) * (1.0 - win)
        return with_ties(win, self.tie)
