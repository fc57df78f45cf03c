"""Votes to come, from what a fit of TPP knows of queries and workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.models.predictors import values_at, with_ties
from crowdrank.models.thurstonian.answer import Answer
from crowdrank.models.thurstonian.types import GRID, Types

ROWS = 1 << 15
"""Votes that are looked at in one go."""


@dataclass(frozen=True, eq=False)
class Informed:
    """Probabilities of votes: over the domains of the query and the types of the worker."""

    scores: Floats
    query: NDArray[np.int32]
    answer: Answer
    types: Floats
    crowd: Types
    tie: float

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        found = np.empty(len(left))
        for start in range(0, len(left), ROWS):
            rows = slice(start, start + ROWS)
            found[rows] = self._left(left[rows], right[rows], None if worker is None else worker[rows])
        return with_ties(found, self.tie)

    def _left(self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None) -> Floats:
        from scipy.special import ndtr

        ahead = values_at(self.scores, left, 0.0) - values_at(self.scores, right, 0.0)
        query = np.where(left >= 0, self.query[left], np.where(right >= 0, self.query[right], -1))
        domain = values_at(self.answer.domain, query, self.answer.theta)
        hard = values_at(self.answer.difficulty, query, float(self.answer.difficulty.mean()))
        crowd = np.exp(self.crowd.log)
        likely = np.zeros((len(left), len(GRID)))
        for place, types in enumerate(self.types):
            own = crowd if worker is None else values_at(types, worker, crowd)
            likely += domain[:, place, None] * own
        slope = GRID / np.sqrt(2.0 * (1.0 + GRID**2 * hard[:, None]))
        return np.asarray((likely * ndtr(slope * ahead[:, None])).sum(axis=1))
