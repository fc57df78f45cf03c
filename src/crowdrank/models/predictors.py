"""Probabilities of future votes, from a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.kernels import Link


def values_at(values: Floats, codes: NDArray[Any], missing: float | Floats) -> Floats:
    """The value (or row of values) of each code; ``missing`` if the code is -1."""
    if not len(values):
        return np.broadcast_to(missing, (len(codes), *values.shape[1:]))
    known = (codes >= 0).reshape(-1, *[1] * (values.ndim - 1))
    return np.where(known, values[codes], missing)


def with_ties(left: Floats, tie: float | Floats) -> Floats:
    """Probabilities of left, tie and right (rows, 3); ``left``: that of left if the vote is not a tie."""
    left = np.asarray(left, float)
    return np.stack([(1.0 - tie) * left, np.broadcast_to(tie, left.shape), (1.0 - tie) * (1.0 - left)], axis=1)


@dataclass(frozen=True, eq=False)
class ScorePredictor:
    """P(i above j) = F(a (s_i - s_j)) with the ``link`` F and the worker's slope a, 1 if unknown."""

    link: Link
    scores: Floats
    slopes: Floats
    tie: float

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        d = values_at(self.scores, left, 0.0) - values_at(self.scores, right, 0.0)
        if len(self.slopes) and worker is not None:
            d = d * values_at(self.slopes, worker, 1.0)
        return with_ties(self.link.values(d).win, self.tie)
