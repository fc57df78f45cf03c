"""The penalized likelihood of scores and worker parameters as a problem for Newton's method.

A point has scores, worker parameters and a few parameters that are common to all workers. The curvature is an
arrow matrix, and steps are solved through that structure. Bounded parameters are projected. If the penalty is
infinite at a bound, parameters approach it but never reach it. The level of the scores is held if nothing fixes
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.progress import Progress
from crowdrank.solve.arrow import STEP_TOLERANCE, Arrow, Border
from crowdrank.solve.assembly import assembled
from crowdrank.solve.matrices import add_diagonal
from crowdrank.solve.newton import Step, newton
from crowdrank.solve.sums import At, Curvature

REACH = 5.0
"""No score moves farther than this in one step. Where the likelihood is flat, a full step would lead out of it."""
NO_WORKERS = np.zeros((0, 1))
"""The worker parameters of a model that has none."""


def _no_common() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Point:
    """``scores`` (N,), ``workers`` (K, b) and ``common`` (G,), which is added to the columns that share it."""

    scores: Floats
    workers: Floats
    common: Floats = field(default_factory=_no_common)

    def distance(self, other: Point) -> float:
        """The largest difference in any parameter."""
        parts = ((self.scores, other.scores), (self.workers, other.workers), (self.common, other.common))
        return float(max(np.abs(one - two).max(initial=0.0) for one, two in parts))


@dataclass(frozen=True, eq=False)
class PenaltyTerms:
    """The value, gradient and (diagonal) curvature of a penalty. The curvature is minus its second derivatives."""

    value: float
    scores: Floats
    scores_curvature: Floats
    workers: Floats
    workers_curvature: Floats
    common: Floats = field(default_factory=_no_common)
    common_curvature: Floats = field(default_factory=_no_common)


Penalty = Callable[[Point], PenaltyTerms]


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of the worker parameters (K, b).

    ``barriers``: whether the penalty is infinite at the low and at the high bound. Such a bound is approached but
    never reached. ``fixed``: parameters that stay at their start. ``common``: the columns that have a common
    parameter, the mean from which the first ``members`` workers deviate.
    """

    low: Floats
    high: Floats
    fixed: NDArray[np.bool_]
    barriers: tuple[bool, bool] = (False, False)
    common: tuple[int, ...] = ()
    members: int = 0

    @classmethod
    def none(cls) -> Bounds:
        """For models without worker parameters."""
        return cls(NO_WORKERS, NO_WORKERS, NO_WORKERS.astype(bool))

    @property
    def carried(self) -> Floats:
        """(K, b, G): 1 if the value of a worker includes the common parameter."""
        carried = np.zeros((*self.fixed.shape, len(self.common)))
        for place, column in enumerate(self.common):
            carried[: self.members, column, place] = 1.0
        return carried

    def values(self, point: Point) -> Floats:
        """The values of each worker (K, b): deviations plus common parameters."""
        return point.workers + self.carried @ point.common if self.common else point.workers

    def move(self, point: Point, scores: Floats, workers: Floats, common: Floats) -> Point:
        """The point after a step, brought back between the bounds."""
        low, high = (
            point.workers + 0.99 * (bound - point.workers) if barrier else bound
            for bound, barrier in zip((self.low, self.high), self.barriers, strict=True)
        )
        moved = np.clip(point.workers + workers, low, high)
        return Point(point.scores + scores, moved, point.common + common)

    def find_held(self, point: Point, gradient: Floats) -> NDArray[np.bool_]:
        """Parameters that cannot move: fixed, or at a bound with the slope pointing outward."""
        at_low = (point.workers <= self.low) & (gradient <= 0)
        at_high = (point.workers >= self.high) & (gradient >= 0)
        return self.fixed | at_low | at_high


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the climb ended. ``held`` marks worker parameters at a bound. ``slope`` is the steepest one left."""

    point: Point
    value: float
    log_likelihood: float
    gradient: Floats  # of the worker parameters
    curvature: Arrow
    held: NDArray[np.bool_]
    slope: float
    iterations: int
    converged: bool
    damping: float = 0.0


@dataclass(frozen=True, eq=False)
class ArrowLook:
    """Everything known at a point: value, gradient by scores, workers and common parameters, and curvature."""

    bounds: Bounds
    point: Point
    value: float
    log_likelihood: float
    scores: Floats
    workers: Floats
    common: Floats
    arrow: Arrow
    held: NDArray[np.bool_]

    @property
    def slope(self) -> float:
        """The steepest slope among parameters that can move."""
        free = np.where(self.held, 0.0, self.workers)
        return float(max(np.abs(part).max(initial=0.0) for part in (self.scores, free, self.common)))

    def step(self, damping: float, tolerance: float = STEP_TOLERANCE) -> Step[Point]:
        """The damped Newton step of the parameters that can move, brought back between the bounds.

        ``tolerance``: see ``Arrow.solve``.
        """
        held = self.held | (np.einsum("kbb->kb", self.arrow.workers) == 0)
        arrow = self.arrow.hold(held).damp(damping)
        right = self.scores, np.where(held, 0.0, self.workers), self.common
        scores, workers, common = arrow.solve(*right, tolerance)
        short = REACH / max(np.abs(scores).max(initial=0.0), REACH)
        moved = self.bounds.move(self.point, short * scores, short * np.where(held, 0.0, workers), short * common)
        return Step(moved, self.point.distance(moved), self._gain(moved))

    def _gain(self, moved: Point) -> float:
        gain = float(self.scores @ (moved.scores - self.point.scores))
        gain += float(np.sum(self.workers * (moved.workers - self.point.workers)))
        return gain + float(self.common @ (moved.common - self.point.common))


@dataclass(frozen=True, eq=False)
class ArrowProblem:
    """The likelihood that ``look_at`` sums, plus a ``penalty``, within ``bounds``.

    ``part`` numbers the connected part of each score. ``gauge``: nothing fixes the level of a part.
    """

    look_at: Callable[[At], Curvature]
    penalty: Penalty
    bounds: Bounds
    part: NDArray[np.int32]
    gauge: bool = False

    def look(self, point: Point) -> ArrowLook:
        """Value, gradient and curvature at a point."""
        bounds, terms = self.bounds, self.penalty(point)
        sums = self.look_at(At(point.scores, bounds.values(point)))
        workers = sums.workers + terms.workers
        return ArrowLook(
            bounds=bounds,
            point=point,
            value=float(sums.value + terms.value),
            log_likelihood=float(sums.value),
            scores=sums.scores + terms.scores,
            workers=workers,
            common=np.einsum("kb,kbg->g", sums.workers, bounds.carried) + terms.common,
            arrow=information(sums, terms, bounds, self.part, self.gauge),
            held=bounds.find_held(point, workers),
        )


def maximize(
    problem: ArrowProblem,
    start: Point,
    *,
    total_weight: float,
    limit: int = 200,
    steps: int | None = None,
    damping: float = 0.0,
    progress: Progress | None = None,
) -> Maximum:
    """Climb from ``start`` to the maximum. See ``newton``."""
    top = newton(
        problem,
        start,
        total_weight=total_weight,
        limit=limit,
        steps=steps,
        damping=damping,
        progress=progress,
    )
    return Maximum(
        point=top.look.point,
        value=top.look.value,
        log_likelihood=top.look.log_likelihood,
        gradient=top.look.workers,
        curvature=top.look.arrow,
        held=top.look.held,
        slope=top.look.slope,
        iterations=top.iterations,
        converged=top.converged,
        damping=top.damping,
    )


def information(
    sums: Curvature, terms: PenaltyTerms, bounds: Bounds, part: NDArray[np.int32], gauge: bool = False
) -> Arrow:
    """The arrow matrix from the curvature of a likelihood and of a penalty."""
    workers = sums.workers_curvature + np.eye(terms.workers.shape[1]) * terms.workers_curvature[:, :, None]
    items = add_diagonal(assembled(sums.items), terms.scores_curvature)
    return Arrow(items, assembled(sums.coupling), workers, part, gauge, _border(sums, terms, bounds))


def _border(sums: Curvature, terms: PenaltyTerms, bounds: Bounds) -> Border | None:
    """The rows of the common parameters. Each moves its column of all members, so it sums the rows of workers."""
    if not bounds.common:
        return None
    carried = bounds.carried
    workers = np.einsum("kbc,kcg->kbg", sums.workers_curvature, carried)
    own = np.einsum("kbg,kbh->gh", carried, workers) + np.diag(terms.common_curvature)
    scores = assembled(sums.coupling) @ carried.reshape(-1, carried.shape[2])
    return Border(np.asarray(scores), workers, own, carried)


def freeze_workers(bounds: Bounds) -> Bounds:
    """The same bounds with every worker parameter held at its start."""
    return replace(bounds, fixed=np.ones_like(bounds.fixed))
