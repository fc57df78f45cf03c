"""The climb of P: alpha and beta by the gradient of a ranking measure on the target.

Algorithm 1 of Ustinovskiy et al. 2016.

Each step solves the ridge ranker of the source at the current weights and values, takes the derivatives of the
measure by the scores of the target (LambdaRank or SoftRank), and sends them back through the ranker (``ridge``).
Steps are Adam's (Kingma & Ba 2015), which do not depend on the scale of the label features. The start is the
paper's: alpha = 0, so that all weights are 1/2, and beta = (1, 0, ...), which distinguishes the crowd label alone.
After each step the measure is taken on validation queries, and the best step is kept; the start is one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from crowdrank.data import Floats, Integers
from crowdrank.errors import FitError
from crowdrank.kernels.segments import totals
from crowdrank.rankers.objectives import LabelObjective
from crowdrank.rankers.remap.ridge import Adjoint, Point, RidgeSums, Spread

METHODS = ("rw+rm", "rw", "rm")
"""What is learned: weights and values, weights alone, values alone."""
DECAY = (0.9, 0.999)
"""How long Adam remembers the slopes, and their squares."""
SHARPNESS = 2.0
"""The root mean square of the scores that a smooth measure sees."""
GUARD = 3.0
"""Beyond how many standard errors of chance a slope counts."""
SMALL = 1e-3
"""Slopes that are smaller than the largest one by this factor count less: rounding must not become a step."""


@dataclass(frozen=True, eq=False)
class TargetSide:
    """The target: prepared features of its documents, the objective with its plan, and where its queries begin.

    A measure depends neither on the scale of the scores nor on what all documents of a query have in common. Its
    smooth forms do: if scores are small, they would rather grow than change the order. So the objective sees
    scores z = ``sharpness`` s~ / rms(s~), with s~ the scores less the mean of their query, and

        dM/ds = sharpness / rms(s~) (g - s~ (g s~) / (s~ s~)),     g = dM/dz less the mean of its query.
    """

    values: Floats
    objective: LabelObjective[Any]
    plan: Any
    start: Integers
    sharpness: float = SHARPNESS

    def slopes(self, scores: Floats) -> Floats:
        """The derivatives of the mean measure by the score of each document."""
        away = self._center(scores)
        rms = np.sqrt(np.mean(away**2))
        if rms == 0:
            return self._center(self._by_score(away))
        by_score = self._center(self._by_score(self.sharpness * away / rms))
        return np.asarray(self.sharpness / rms * (by_score - away * (by_score @ away) / (away @ away)))

    def _by_score(self, scores: Floats) -> Floats:
        found = self.objective.derivatives(scores, self.plan, scores).gradient
        return np.asarray(found / (len(self.start) - 1))

    def _center(self, values: Floats) -> Floats:
        sizes = np.diff(self.start)
        return np.asarray(values - np.repeat(totals(values, self.start) / sizes, sizes))


@dataclass(frozen=True, eq=False)
class Climbed:
    """alpha and beta after each step of a climb (J + 1, 2 M), and the measure by validation query (J + 1, Q)."""

    points: Floats
    measured: Floats
    width: int

    @property
    def values(self) -> Floats:
        """The mean over the queries for which the measure is defined, after each step."""
        return np.asarray(np.nanmean(self.measured, axis=1))

    @property
    def step(self) -> int:
        """The first of the best steps."""
        return int(np.argmax(self.values))

    @property
    def value(self) -> float:
        """The measure of the best step."""
        return float(self.values[self.step])

    @property
    def curve(self) -> tuple[tuple[int, float], ...]:
        """(step, value)."""
        return tuple(enumerate(self.values.tolist()))

    def at(self, step: int) -> tuple[Floats, Floats]:
        """alpha and beta after a step."""
        return self.points[step, : self.width], self.points[step, self.width :]


@dataclass(eq=False)
class Climb:
    """A climb over the samples of a session.

    ``penalty``: mu. ``measure`` of the ranker b on each validation query; larger is better. ``step``: epsilon, the
    length of a step. ``rounds``: J, the most steps. ``patience``: after so many steps without a better value the
    climb ends. ``guard``: slopes count only beyond so many standard errors of chance; 0: as they are.
    """

    session: Any
    target: TargetSide
    penalty: float
    measure: Callable[[Floats], Floats]
    step: float = 0.05
    rounds: int = 60
    patience: int = 20
    method: str = "rw+rm"
    guard: float = GUARD
    report: Callable[[int, float, float], None] | None = None
    sums: RidgeSums = field(default_factory=RidgeSums)
    _factor: Any = None

    def run(self, alpha: Floats, beta: Floats) -> Climbed:
        """Climb from these parameters."""
        adam = _Adam(self.step, len(alpha) + len(beta))
        point, width = np.concatenate([alpha, beta]), len(alpha)
        points, measured = list[Floats](), list[Floats]()
        best, since = -np.inf, 0
        for number in range(self.rounds + 1):
            alpha, beta = point[:width], point[width:]
            ranker = self.solve(alpha, beta)
            points.append(point)
            measured.append(self.measure(ranker))
            value = float(np.nanmean(measured[-1]))
            best, since = (value, 0) if value > best else (best, since + 1)
            if number == self.rounds or since >= self.patience:
                break
            slopes = self._slopes(alpha, beta, ranker)
            if self.report is not None:
                self.report(number, value, float(np.abs(slopes).max(initial=0.0)))
            point = point + adam.step(slopes)
        return Climbed(np.stack(points), np.stack(measured), width)

    def solve(self, alpha: Floats, beta: Floats) -> Floats:
        """b, and the factor of Z, which ``rm`` alone never changes."""
        from scipy.linalg import cho_solve

        fixed = self.method == "rm" and self._factor is not None
        found = self.session.evaluate(self.sums.system, Point(alpha, beta, gram=not fixed))
        if not fixed:
            self._factor = factor(found.gram, self.penalty)
        return np.asarray(cho_solve(self._factor, found.right))

    def _slopes(self, alpha: Floats, beta: Floats, ranker: Floats) -> Floats:
        """dM/dalpha and dM/dbeta; 0 for what is not learned."""
        from scipy.linalg import cho_solve

        by_score = self.target.slopes(self.target.values @ ranker)
        back = cho_solve(self._factor, self.target.values.T @ by_score)
        found = self.session.evaluate(self.sums.slopes, Adjoint(alpha, beta, ranker, back))
        by_alpha, by_beta = found.alpha, found.beta
        if self.guard:
            by_alpha, by_beta = found.beyond_chance(self._spread, self.guard)
        by_alpha = by_alpha if "rw" in self.method else np.zeros_like(alpha)
        by_beta = by_beta if "rm" in self.method else np.zeros_like(beta)
        return np.concatenate([by_alpha, by_beta])

    @cached_property
    def _spread(self) -> tuple[Spread, Spread]:
        """How the label features of weights and of values vary."""
        each = (self.sums.spread_of_weights, self.sums.spread_of_values)
        weights, values = (self.session.evaluate(own, None) for own in each)
        return weights, values


def factor(gram: Floats, penalty: float) -> Any:
    """The Cholesky factor of Z = gram + mu I."""
    from scipy.linalg import cho_factor

    try:
        return cho_factor(gram + penalty * np.eye(len(gram)))
    except np.linalg.LinAlgError as error:
        raise FitError(
            "The ridge ranker has no unique solution: features depend on each other.",
            hint="Give mu a value above 0.",
        ) from error


class _Adam:
    """Adam's steps uphill."""

    def __init__(self, length: float, size: int) -> None:
        self.length, self.count = length, 0
        self.mean, self.square = np.zeros(size), np.zeros(size)

    def step(self, slopes: Floats) -> Floats:
        """The next step."""
        first, second = DECAY
        self.count += 1
        self.mean = first * self.mean + (1.0 - first) * slopes
        self.square = second * self.square + (1.0 - second) * slopes**2
        mean = self.mean / (1.0 - first**self.count)
        square = self.square / (1.0 - second**self.count)
        size = np.sqrt(square)
        return np.asarray(self.length * mean / (size + SMALL * size.max(initial=0.0) + 1e-300))
