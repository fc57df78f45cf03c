"""The linear scorer: s = x'w, with an L2 penalty on w."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.rankers.scorers.base import Function, Task, Values, as_float, rows_at_a_time
from crowdrank.rankers.scorers.differentiable import (
    Best,
    Climb,
    DifferentiableScorer,
    Formula,
    FormulaSums,
    Weights,
    WeightSums,
)
from crowdrank.solve.matrices import NotPositiveError
from crowdrank.solve.newton import Step, newton

NARROW = 1000
"""Up to this many features the climb ends with Newton steps, which need a matrix of features by features."""
NEAR = 1e-4
"""L-BFGS hands over to Newton's method once no slope is steeper than this times the total weight."""


@dataclass(frozen=True)
class LinearFormula(Formula):
    """s = Xw."""

    def scores(self, values: Any, weights: Floats) -> Floats:
        """Xw."""
        return np.asarray(values @ weights)

    def back(self, values: Any, weights: Floats, by_score: Floats) -> Floats:
        """X' (dL/ds)."""
        return np.asarray(values.T @ by_score)


@dataclass(frozen=True, eq=False)
class LinearFunction(Function):
    """s = x'w."""

    weights: Floats
    part: ClassVar[str] = "weights.npz"

    def scores(self, values: Values) -> Floats:
        """Xw. Each row is summed by itself, so that other rows do not change its rounding."""
        if hasattr(values, "tocsr"):
            return np.asarray(as_float(values) @ self.weights)
        return rows_at_a_time(values, lambda rows: np.einsum("ij,j->i", as_float(rows), self.weights))

    def importance(self) -> Floats:
        """|w|, which is the effect of one standard deviation if features are standardized."""
        return np.abs(self.weights)

    def signed_weights(self) -> Floats:
        """w."""
        return self.weights

    def to_bytes(self) -> bytes:
        """An npz file with the array ``weights``."""
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, weights=self.weights)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, width: int) -> Self:
        """The weights of such a file."""
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            weights = np.asarray(file["weights"], np.float64)
        if weights.shape != (width,):
            raise ValueError(f"{weights.shape} weights for {width} features")
        return cls(weights)


class Linear(DifferentiableScorer):
    """s = x'w. L-BFGS climbs over the engine's sums, and Newton steps finish if the features are not too many.

    ``penalty``: the objective loses 1/2 penalty |w|^2. ``limit``: the most iterations of L-BFGS.

    >>> import crowdrank as cr
    >>> docs = {"query": [1, 1, 1], "item": [*"abc"], "label": [2, 1, 0], "length": [9, 5, 1]}
    >>> for penalty in (1, 10):
    ...     cr.ListMLE(scorer=cr.Linear(penalty=penalty)).fit(docs).importance_.weight.round(2)
    array([0.83])
    array([0.16])
    """

    penalty: float
    limit: int

    name = "linear"
    tuned: ClassVar[dict[str, tuple[Any, ...]]] = {"penalty": (1.0, 10.0, 100.0, 1000.0)}

    def __init__(self, *, penalty: float = 10.0, limit: int = 500) -> None:
        self.penalty, self.limit = penalty, limit

    def _formula(self, task: Task) -> LinearFormula:
        return LinearFormula()

    def _start(self, task: Task, formula: Formula, start: Function | None) -> Floats:
        if start is None:
            return np.zeros(task.width)
        assert isinstance(start, LinearFunction)
        return start.weights.copy()

    def _function(self, weights: Floats, task: Task) -> LinearFunction:
        return LinearFunction(weights)

    def _climb(self, task: Task, formula: Formula, start: Floats, best: Best) -> Climb:
        if task.width > NARROW:
            return super()._climb(task, formula, start, best)
        problem = _PenalizedSums(task, FormulaSums(formula, task.objective), start, self.penalty)
        if task.steps is not None:
            top = newton(problem, start, total_weight=task.weight, steps=task.steps, limit=30)
            return Climb(top.look.weights, top.look.value, top.iterations, top.converged)
        found = self._ascend(task, formula, start, best, self.limit, NEAR)
        top = newton(problem, found.weights, total_weight=task.weight, limit=30)
        best.look(top.look.weights)
        return Climb(top.look.weights, top.look.value, found.iterations + top.iterations, top.converged)


@dataclass(frozen=True, eq=False)
class _PenalizedSums:
    """The penalized objective as a Problem for Newton's method, with places fixed at ``reference``."""

    task: Task
    sums: FormulaSums
    reference: Floats
    penalty: float

    def look(self, weights: Floats) -> _Look:
        """Value and gradient at these weights; the curvature follows if a step is taken from there."""
        found = self.task.session.evaluate(self.sums.gradient, Weights(weights, self.reference))
        return _Look(self, weights, found)

    def matrix(self, weights: Floats) -> Floats:
        """Minus the second derivatives of the penalized objective."""
        found = self.task.session.evaluate(self.sums.curvature, Weights(weights, self.reference))
        return found.curvature + self.penalty * np.eye(len(weights))


class _Look:
    """What is known at some weights."""

    def __init__(self, problem: _PenalizedSums, weights: Floats, found: WeightSums) -> None:
        self.problem, self.weights = problem, weights
        self.value = found.value - 0.5 * problem.penalty * float(weights @ weights)
        self.gradient = found.gradient - problem.penalty * weights
        self.slope = float(np.abs(self.gradient).max(initial=0.0))

    @cached_property
    def matrix(self) -> Floats:
        """Minus the second derivatives, computed when a step first needs them."""
        return self.problem.matrix(self.weights)

    def step(self, damping: float) -> Step[Floats]:
        """The damped Newton step."""
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        scale = np.diag(self.matrix)
        try:
            factor = cho_factor(self.matrix + damping * np.diag(scale))
        except LinAlgError as error:
            raise NotPositiveError from error
        move = np.asarray(cho_solve(factor, self.gradient))
        return Step(self.weights + move, float(np.abs(move).max(initial=0.0)), float(self.gradient @ move))
