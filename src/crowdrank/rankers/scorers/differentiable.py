"""Scorers with weights: the objective is differentiated through the scores, and L-BFGS climbs.

With s = f(X; w), the gradient by w is the sum over the rows of (dL/ds) (ds/dw) less that of the penalty. The
sums run on the engine. An objective that fixes the places of documents is climbed in rounds: each round starts
by fixing the places at the scores of the last one.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.engine import Stats
from crowdrank.errors import Note
from crowdrank.models.parameters import number, whole
from crowdrank.rankers.objectives import Objective
from crowdrank.rankers.scorers.base import (
    Function,
    Scorer,
    Task,
    Trained,
    Watch,
    as_float,
    plan_of,
    rows_at_a_time,
)
from crowdrank.solve.lbfgs import lbfgs

TOLERANCE = 1e-8
"""Converged: no slope is steeper than this times the total weight of the documents."""
ROUNDS = 30
"""The most rounds of an objective that fixes places."""
ROUND_LIMIT = 20
"""The most iterations of such a round: after it the places have changed anyway."""
SETTLED = 1e-3
"""Such rounds end once no weight changes by more than this part of the largest one."""


class Formula:
    """A scoring function as a formula of values and one vector of weights. It can be pickled."""

    @abstractmethod
    def scores(self, values: Any, weights: Floats) -> Floats:
        """The scores of rows in double precision."""

    @abstractmethod
    def back(self, values: Any, weights: Floats, by_score: Floats) -> Floats:
        """The gradient by the weights of the sum of ``by_score`` times the scores."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights, and those at which the places of documents are fixed."""

    weights: Floats
    reference: Floats


@dataclass(frozen=True, eq=False)
class WeightSums(Stats):
    """The objective and its gradient by the weights."""

    value: float
    gradient: Floats


@dataclass(frozen=True, eq=False)
class WeightCurvature(Stats):
    """Minus the second derivatives of the objective by the weights."""

    curvature: Floats


@dataclass(frozen=True)
class FormulaSums:
    """The sums of an objective through a formula."""

    formula: Formula
    objective: Objective[Any]

    def gradient(self, shard: Any, at: Weights, *state: Any) -> WeightSums:
        """Value and gradient."""
        values = as_float(shard.values)
        scores, reference = self._scores(values, at)
        found = self.objective.derivatives(scores, plan_of(shard, state), reference)
        return WeightSums(float(found.value.sum()), self.formula.back(values, at.weights, found.gradient))

    def curvature(self, shard: Any, at: Weights, *state: Any) -> WeightCurvature:
        """The curvature of a linear formula, X'HX. Sparse values are filled: HX is not sparse."""
        values = as_float(shard.values)
        values = values if isinstance(values, np.ndarray) else values.toarray()
        scores, reference = self._scores(values, at)
        bent = self.objective.curvature_times(scores, plan_of(shard, state), reference, values)
        return WeightCurvature(values.T @ bent)

    def _scores(self, values: Any, at: Weights) -> tuple[Floats, Floats]:
        scores = self.formula.scores(values, at.weights)
        if not self.objective.positions:
            return scores, scores
        return scores, self.formula.scores(values, at.reference)


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a climb ended."""

    weights: Floats
    value: float
    iterations: int
    converged: bool


class _StopClimbingError(Exception):
    """Raised by a look at validation: no better value for a while."""


class DifferentiableScorer(Scorer):
    """A scorer whose function is a Formula of weights, with an L2 penalty on them."""

    penalty: float
    limit: int

    @abstractmethod
    def _formula(self, task: Task) -> Formula:
        """The formula for this number of features."""

    @abstractmethod
    def _start(self, task: Task, formula: Formula, start: Function | None) -> Floats:
        """The first weights."""

    @abstractmethod
    def _function(self, weights: Floats, task: Task) -> Function:
        """The function with these weights."""

    def _penalties(self, task: Task) -> Floats | float:
        """The penalty of each weight: L loses 1/2 penalty w^2 of it."""
        return self.penalty

    def improve(self, task: Task, start: Function | None = None, watch: Watch | None = None) -> Trained:
        """Climb by L-BFGS from ``start``, in rounds if the objective fixes places."""
        number("penalty", self.penalty, low=0.0)
        whole("limit", self.limit, low=1)
        formula = self._formula(task)
        weights = self._start(task, formula, start)
        best = Best(watch, formula, stop=self.stops_early)
        climb = (self._rounds if task.objective.positions else self._climb)(task, formula, weights, best)
        converged = climb.converged or best.over
        notes = () if converged else (_unconverged(climb.iterations, task.objective.positions),)
        function = self._function(best.chosen(climb.weights), task)
        return Trained(function, climb.iterations, converged, climb.value, notes)

    def _rounds(self, task: Task, formula: Formula, weights: Floats, best: Best) -> Climb:
        """Climb with fixed places, fix them anew, and so on until the weights hardly change."""
        done, value, settled = 0, -np.inf, False
        for _ in range(ROUNDS):
            climb = self._ascend(task, formula, weights, best, min(self.limit - done, ROUND_LIMIT))
            change = float(np.abs(climb.weights - weights).max(initial=0.0))
            settled = change <= SETTLED * float(np.abs(climb.weights).max(initial=0.0))
            done, value, weights = done + climb.iterations, climb.value, climb.weights
            if best.over or settled or done >= self.limit:
                break
        return Climb(weights, value, done, settled)

    def _climb(self, task: Task, formula: Formula, start: Floats, best: Best) -> Climb:
        """Climb to the maximum."""
        return self._ascend(task, formula, start, best, task.at_most(self.limit))

    def _ascend(
        self, task: Task, formula: Formula, start: Floats, best: Best, limit: int, tolerance: float = TOLERANCE
    ) -> Climb:
        """Climb by L-BFGS with the places fixed at the start."""
        sums, penalty, steps = FormulaSums(formula, task.objective), self._penalties(task), 0

        def objective(weights: Floats) -> tuple[float, Floats]:
            found = task.session.evaluate(sums.gradient, Weights(weights, start))
            return (
                found.value - 0.5 * float(np.sum(penalty * weights**2)),
                found.gradient - penalty * weights,
            )

        def look(weights: Floats, value: float, slope: float) -> None:
            nonlocal steps
            steps += 1
            if task.progress is not None:
                task.progress(steps, value, slope / max(task.weight, 1e-300))
            best.look(weights)

        try:
            found = lbfgs(objective, start, tol=tolerance * task.weight, limit=limit, look=look)
        except _StopClimbingError:
            return Climb(best.weights, best.value, steps, converged=True)
        return Climb(found.weights, found.value, found.iterations, found.converged)


class Best:
    """The weights with the best value on validation queries."""

    watch: Watch | None
    formula: Formula
    stop: bool
    step: int
    weights: Floats
    value: float
    best: int
    over: bool

    def __init__(self, watch: Watch | None, formula: Formula, *, stop: bool) -> None:
        self.watch, self.formula, self.stop = watch, formula, stop
        self.weights, self.value = np.empty(0), -np.inf
        self.step, self.best, self.over = 0, 0, False

    def look(self, weights: Floats) -> None:
        """Measure these weights; stop climbing if there was no better value for a while."""
        if self.watch is None:
            return
        value = self.watch.measure(
            rows_at_a_time(self.watch.values, lambda rows: self.formula.scores(as_float(rows), weights))
        )
        self.step += 1
        self.watch.report(self.step, value)
        if value > self.value:
            self.weights, self.value, self.best = weights.copy(), value, self.step
        elif self.stop and self.step - self.best >= self.watch.patience:
            self.over = True
            raise _StopClimbingError

    def chosen(self, last: Floats) -> Floats:
        """The best weights seen, or the last ones if validation only watches."""
        return self.weights if self.stop and len(self.weights) else last


def _unconverged(done: int, positions: bool) -> Note:
    why = "the places of the documents still change" if positions else "the objective still rises"
    return Note("not-converged", f"Training stopped after {done} iterations, and {why}.")
