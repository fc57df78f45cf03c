"""The maximum of a penalised likelihood of scores and worker parameters, by damped Newton steps.

Newton from the start, not only at the end: one pass over the data brings the value, the gradient and
the curvature, steps are solved through the arrow structure, and the path does not amplify the
rounding of other shards as a quasi-Newton method does. Damping (Levenberg-Marquardt) takes over
wherever the curvature is not that of a maximum; bounded parameters are projected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.solve.arrow import Arrow, Border
from crowdrank.solve.matrices import NotPositiveError, add_diagonal
from crowdrank.solve.sums import At, Curvature

TOLERANCE = 1e-8
"""Converged: no slope is steeper than this times the total weight of the judgments."""
LAST_STEP = 1e-7
"""A full Newton step this small is the last one: its error is of the order of its square."""
MOST_DAMPING = 1e12
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


@dataclass(frozen=True, eq=False)
class PenaltyTerms:
    """A penalty's value, gradient and (diagonal) curvature, minus its second derivatives."""

    value: float
    scores: Floats
    scores_curvature: Floats
    workers: Floats
    workers_curvature: Floats
    common: Floats = field(default_factory=_no_common)
    common_curvature: Floats = field(default_factory=_no_common)


Penalty = Callable[[Point], PenaltyTerms]
Progress = Callable[[int, float, float], None]


@dataclass(frozen=True, eq=False)
class Bounds:
    """Where the worker parameters (K, b) may go.

    ``barriers``: whether the penalty is infinite at the low, and at the high bound, which is then approached
    but never reached. ``fixed``: parameters that stay at their start. ``common``: the columns that have a
    common parameter, the mean from which the first ``members`` workers deviate.
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
        """(K, b, G): 1 where a worker's value includes the common parameter."""
        carried = np.zeros((*self.fixed.shape, len(self.common)))
        for place, column in enumerate(self.common):
            carried[: self.members, column, place] = 1.0
        return carried

    def values(self, point: Point) -> Floats:
        """Each worker's own values (K, b): deviations and what is common."""
        return point.workers + self.carried @ point.common if self.common else point.workers

    def move(self, point: Point, scores: Floats, workers: Floats, common: Floats) -> Point:
        """The point after a step, brought back between the bounds."""
        low, high = (
            point.workers + 0.99 * (bound - point.workers) if barrier else bound
            for bound, barrier in zip((self.low, self.high), self.barriers, strict=True)
        )
        moved = np.clip(point.workers + workers, low, high)
        return Point(point.scores + scores, moved, point.common + common)

    def held(self, point: Point, gradient: Floats) -> NDArray[np.bool_]:
        """Parameters that cannot move: fixed, or at a bound with the slope leading outwards."""
        at_low = (point.workers <= self.low) & (gradient <= 0)
        at_high = (point.workers >= self.high) & (gradient >= 0)
        return self.fixed | at_low | at_high


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the climb ended. ``held`` marks worker parameters at a bound; ``slope`` is the steepest left."""

    point: Point
    value: float
    log_likelihood: float
    gradient: Floats  # of the worker parameters
    curvature: Arrow
    held: NDArray[np.bool_]
    slope: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class _Here:
    """Everything known at a point."""

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
        free = np.where(self.held, 0.0, self.workers)
        return float(max(np.abs(part).max(initial=0.0) for part in (self.scores, free, self.common)))


def maximise(
    look_at: Callable[[At], Curvature],
    start: Point,
    penalty: Penalty,
    bounds: Bounds,
    *,
    part: NDArray[np.int32],
    total_weight: float,
    gauge: bool = False,
    limit: int = 200,
    steps: int | None = None,
    progress: Progress | None = None,
) -> Maximum:
    """Climb from ``start`` to the maximum of the likelihood, which ``look_at`` sums, plus ``penalty``.

    It takes at most ``limit`` looks, and ends after ``steps`` steps uphill where that is asked for.
    """

    def look(point: Point) -> _Here:
        return _combined(
            point, look_at(At(point.scores, bounds.values(point))), penalty(point), bounds, part, gauge
        )

    here = look(start)
    goal = TOLERANCE * max(total_weight, 1.0)
    damping, done, climbed, last = 0.0, 0, 0, False
    while done < limit and climbed != steps and not last:
        step = _newton(here, damping)
        if step is None:
            damping = max(4 * damping, 1e-2)
            if damping > MOST_DAMPING:
                break
            continue
        moved = bounds.move(here.point, *step)
        size = _distance(here.point, moved)
        done += 1
        there = look(moved)
        if not _better(here, there, moved):
            if damping > MOST_DAMPING or size <= 1e-13:
                break
            damping = max(4 * damping, 1e-2)
            continue
        last = damping == 0 and size <= LAST_STEP and here.slope <= goal
        damping = damping / 4 if damping > 1e-4 else 0.0
        here, climbed = there, climbed + 1
        if progress:
            progress(done, here.value, here.slope / max(total_weight, 1.0))
    return Maximum(
        point=here.point,
        value=here.value,
        log_likelihood=here.log_likelihood,
        gradient=here.workers,
        curvature=here.arrow,
        held=here.held,
        slope=here.slope,
        iterations=done,
        converged=here.slope <= goal,
    )


def information(
    sums: Curvature, terms: PenaltyTerms, bounds: Bounds, part: NDArray[np.int32], gauge: bool = False
) -> Arrow:
    """The arrow matrix of a likelihood's curvature and a penalty's."""
    workers = sums.workers_curvature + np.eye(terms.workers.shape[1]) * terms.workers_curvature[:, :, None]
    items = add_diagonal(sums.items, terms.scores_curvature)
    return Arrow(items, sums.coupling, workers, part, gauge, _border(sums, terms, bounds))


def _border(sums: Curvature, terms: PenaltyTerms, bounds: Bounds) -> Border | None:
    """A common parameter moves its column of every member at once: sums of the workers' rows."""
    if not bounds.common:
        return None
    carried = bounds.carried
    workers = np.einsum("kbc,kcg->kbg", sums.workers_curvature, carried)
    own = np.einsum("kbg,kbh->gh", carried, workers) + np.diag(terms.common_curvature)
    scores = sums.coupling @ carried.reshape(-1, carried.shape[2])
    return Border(np.asarray(scores), workers, own, carried)


def _combined(
    point: Point, sums: Curvature, terms: PenaltyTerms, bounds: Bounds, part: NDArray[np.int32], gauge: bool
) -> _Here:
    workers = sums.workers + terms.workers
    return _Here(
        point=point,
        value=float(sums.value + terms.value),
        log_likelihood=float(sums.value),
        scores=sums.scores + terms.scores,
        workers=workers,
        common=np.einsum("kb,kbg->g", sums.workers, bounds.carried) + terms.common,
        arrow=information(sums, terms, bounds, part, gauge),
        held=bounds.held(point, workers),
    )


def _newton(here: _Here, damping: float) -> tuple[Floats, Floats, Floats] | None:
    """The damped Newton step over what can move; None where the matrix is not positive definite."""
    if not np.isfinite(here.value):
        return None
    held = here.held | (np.einsum("kbb->kb", here.arrow.workers) == 0)
    try:
        arrow = here.arrow.fixed(held).damped(damping)
        scores, workers, common = arrow.solve(here.scores, np.where(held, 0.0, here.workers), here.common)
    except NotPositiveError:
        return None
    return scores, np.where(held, 0.0, workers), common


def _better(here: _Here, there: _Here, moved: Point) -> bool:
    """Armijo's rule; where the gain drowns in rounding, the slope must not grow."""
    if not np.isfinite(there.value):
        return False
    expected = float(here.scores @ (moved.scores - here.point.scores))
    expected += float(np.sum(here.workers * (moved.workers - here.point.workers)))
    expected += float(here.common @ (moved.common - here.point.common))
    if expected <= 1e-12 * max(1.0, abs(here.value)):
        return there.slope <= max(here.slope, 1e-11 * max(1.0, abs(here.value)))
    return there.value - here.value >= 1e-4 * expected


def _distance(a: Point, b: Point) -> float:
    names = ("scores", "workers", "common")
    return float(max(np.abs(getattr(a, name) - getattr(b, name)).max(initial=0.0) for name in names))


def frozen_workers(bounds: Bounds) -> Bounds:
    """The same bounds with every worker parameter held at its start."""
    return replace(bounds, fixed=np.ones_like(bounds.fixed))
