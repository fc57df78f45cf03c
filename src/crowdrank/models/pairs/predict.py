"""What a pairwise likelihood predicts for future votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.kernels import Link
from crowdrank.kernels.points import normal_cubature
from crowdrank.models.pairs.design import PLAIN, Design
from crowdrank.models.pairs.likelihood import Judge
from crowdrank.models.predictors import values_at, with_ties
from crowdrank.models.worker_parameters import ETA, POSITION


@dataclass(frozen=True, eq=False)
class Judged:
    """The probabilities of the likelihood at the fitted scores, averaged over the posterior of the worker's
    parameters.

    ``values`` (workers, columns) are its means, ``root`` (workers, columns, columns) is a root of its covariance.
    Without it the means alone count. An unseen worker has the ``typical`` values and the spread of the workers,
    ``typical_root``; an unseen item has score 0. If the model has no ties, each vote is a tie with the same
    probability, ``tie``.
    """

    link: Link
    design: Design
    scores: Floats
    values: Floats
    typical: Floats
    tie: float
    root: Floats | None = None
    typical_root: Floats | None = None

    @classmethod
    def of_scores(cls, link: Link, scores: Floats, tie: float, eta: Floats | None = None) -> Judged:
        """From scores and a link, and the qualities of the workers if there are any."""
        if eta is None:
            return cls(link, PLAIN, scores, np.zeros((0, 0)), np.zeros(0), tie)
        design = Design("half", (ETA,), frozenset({ETA}), "worker")
        return cls(link, design, scores, eta[:, None], np.array([eta.mean()]), tie)

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        d = values_at(self.scores, left, 0.0) - values_at(self.scores, right, 0.0)
        columns = self.design.columns
        if worker is None or self.design.by != "worker":
            worker = np.full(len(d), -1)
        values = values_at(self.values, worker, self.typical).astype(float)
        if self.root is None or self.typical_root is None:
            return self._outcomes(d, values, sided)
        root = values_at(self.root, worker, self.typical_root)
        low, high = (np.array([column.low for column in columns]), np.array([column.high for column in columns]))
        found = np.zeros((len(d), 3))
        for node, weight in zip(*normal_cubature(len(columns)), strict=True):
            found += weight * self._outcomes(d, np.clip(values + root @ node, low, high), sided)
        return found

    def _outcomes(self, d: Floats, values: Floats, sided: bool) -> Floats:
        """The probabilities of left, tie and right at values of the worker parameters."""
        columns = self.design.columns
        if not sided and POSITION in columns:
            values = values.copy()
            values[:, columns.index(POSITION)] = 0.0
        outcomes = Judge.of(columns, values).outcomes(self.link, self.design.ties, d)
        if len(outcomes) == 2:
            return with_ties(outcomes[0].p, self.tie)
        win, loss, tie = (chance.p for chance in outcomes)
        return np.stack([win, tie, loss], axis=1)
