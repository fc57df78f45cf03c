"""Pointwise regression: the score of a document is to equal its label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.kernels.segments import totals
from crowdrank.rankers.objectives.base import Derivatives, LabelObjective, Targets


@dataclass(frozen=True)
class SquaredError(LabelObjective[Targets]):
    """Minus half of the squared error, -1/2 sum_i w_i e_i^2 with e = y - s less a mean.

    ``center``: "query" subtracts the weighted mean of y - s of each query: the order within a query depends
    neither on how many of its documents are relevant nor on what all its documents have in common. "all" subtracts
    ``mean``, the mean label of all rows.
    """

    center: str = "query"
    mean: float = 0.0

    def plan(self, targets: Targets) -> Targets:
        """The targets as they are."""
        return targets

    def derivatives(self, scores: Floats, plan: Targets, reference: Floats) -> Derivatives:
        """w e, and w, or w (1 - w / sum of w in the query) if the mean of the query moves too."""
        error, weight = self._centered(plan.label - scores, plan), plan.weight
        value = -0.5 * totals(weight * error**2, plan.start)
        curvature = weight
        if self.center == "query":
            curvature = weight * (1.0 - weight / np.repeat(totals(weight, plan.start), np.diff(plan.start)))
        return Derivatives(value, weight * error, curvature)

    def curvature_times(self, scores: Floats, plan: Targets, reference: Floats, columns: Floats) -> Floats:
        """w times the columns, less their means in each query."""
        if self.center != "query":
            return plan.weight[:, None] * columns
        return plan.weight[:, None] * np.stack([self._centered(own, plan) for own in columns.T], axis=1)

    def _centered(self, values: Floats, plan: Targets) -> Floats:
        if self.center != "query":
            return values - self.mean
        middle = totals(plan.weight * values, plan.start) / totals(plan.weight, plan.start)
        return values - np.repeat(middle, np.diff(plan.start))
