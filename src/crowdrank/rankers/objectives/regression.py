"""Pointwise regression: the score of a document is to equal its label."""

from __future__ import annotations

from dataclasses import dataclass

from crowdrank.data.arrays import Floats
from crowdrank.kernels.segments import totals
from crowdrank.rankers.objectives.base import Derivatives, Objective, Targets


@dataclass(frozen=True)
class SquaredError(Objective[Targets]):
    """Minus half of the squared error, -1/2 sum_i w_i (y_i - s_i)^2, with y the labels less their mean.

    ``center``: "query" subtracts the mean label of each query, so that queries with many relevant documents do not
    ask for high scores, which the order within a query does not need. "all" subtracts one mean.
    """

    center: str = "query"
    mean: float = 0.0
    """The mean label of all rows, which "all" subtracts."""

    def plan(self, targets: Targets) -> Targets:
        """The targets with centered labels."""
        label, weight, start = targets.label, targets.weight, targets.start
        if self.center == "all":
            return Targets(start, label - self.mean, weight)
        from numpy import diff, repeat

        middle = totals(weight * label, start) / totals(weight, start)
        return Targets(start, label - repeat(middle, diff(start)), weight)

    def derivatives(self, scores: Floats, plan: Targets, reference: Floats) -> Derivatives:
        """w (y - s) and w."""
        error = plan.label - scores
        value = -0.5 * totals(plan.weight * error**2, plan.start)
        return Derivatives(value, plan.weight * error, plan.weight)

    def curvature_times(self, scores: Floats, plan: Targets, reference: Floats, columns: Floats) -> Floats:
        """The curvature is diagonal."""
        return plan.weight[:, None] * columns
