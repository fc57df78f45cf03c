"""Newton's method: one damped loop for every likelihood, and one for many small problems at once.

Newton's method is used from the start, not only at the end. One pass over the data gives the value, the gradient
and the curvature, and the path does not amplify rounding differences between shards as a quasi-Newton method does.
Damping (Levenberg-Marquardt) takes over wherever the curvature is not that of a maximum.

A Problem defines what a point is, how a step is solved and where it may lead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.progress import Progress
from crowdrank.solve.matrices import NotPositiveError

TOLERANCE = 1e-8
"""Converged: no slope is steeper than this times the total weight of the judgments."""
LAST_STEP = 1e-7
"""A full Newton step this small is the last one: its error is of the order of its square."""
MOST_DAMPING = 1e12
FIRST_DAMPING = 1e-2
NO_STEP = 1e-13
"""A step this small leads nowhere."""

BATCH_LAST_STEP = 1e-5
"""The last step of one of many problems: an error of 1e-10 is lost in their spread."""
BATCH_LIMIT = 40
BATCH_REACH = 3.0
"""No parameter of one of many problems moves farther than this in one step."""

WITHIN_LAST_STEP = 1e-12
"""The last step of a function of one number, by the size of that number."""
WITHIN_LIMIT = 100
NO_CURVATURE = 1e-300

P = TypeVar("P")
P_contra = TypeVar("P_contra", contravariant=True)


@dataclass(frozen=True, eq=False)
class Step(Generic[P]):
    """Where a damped Newton step leads, its ``size`` (the largest change), and the ``gain`` that it promises."""

    point: P
    size: float
    gain: float


class Look(Protocol[P]):
    """What is known at a point: the value, and the steepest slope among parameters that can move."""

    @property
    def value(self) -> float:
        """The value to maximize."""
        ...

    @property
    def slope(self) -> float:
        """The steepest slope among parameters that can move."""
        ...

    def step(self, damping: float) -> Step[P]:
        """The damped Newton step. Raises NotPositiveError if the curvature is not that of a maximum."""
        ...


L = TypeVar("L", bound=Look[Any])
L_co = TypeVar("L_co", bound=Look[Any], covariant=True)


class Problem(Protocol[P_contra, L_co]):
    """Something to maximize over points."""

    def look(self, point: P_contra) -> L_co:
        """Value, gradient and curvature at a point."""
        ...


@dataclass(frozen=True, eq=False)
class Top(Generic[L]):
    """Where the climb ended, after how many looks, and the damping for a next step."""

    look: L
    iterations: int
    converged: bool
    damping: float = 0.0


def slope_goal(total_weight: float, value: float) -> float:
    """The steepest slope of a fit that has converged.

    If the judgments weigh less than 1, what counts is the ``value`` that these and the priors have together: the
    goal is then as small as the problem itself.
    """
    return TOLERANCE * max(total_weight, min(abs(value), 1.0))


def newton(
    problem: Problem[P, L],
    start: P,
    *,
    total_weight: float,
    limit: int = 200,
    steps: int | None = None,
    damping: float = 0.0,
    progress: Progress | None = None,
) -> Top[L]:
    """Climb from ``start`` to the maximum.

    It takes at most ``limit`` looks, and ends after ``steps`` steps uphill if ``steps`` is given.
    ``damping``: that of the first step.
    """
    here = problem.look(start)
    goal = slope_goal(total_weight, here.value)
    done, climbed, last = 0, 0, False
    while done < limit and climbed != steps and not last:
        step = _try_step(here, damping)
        if step is None:
            damping = _raise_damping(damping)
            if damping > MOST_DAMPING:
                break
            continue
        done += 1
        there = problem.look(step.point)
        if not _is_better(here, there, step.gain):
            if damping > MOST_DAMPING or step.size <= NO_STEP:
                break
            damping = _raise_damping(damping)
            continue
        last = damping == 0 and step.size <= LAST_STEP and here.slope <= goal
        damping = damping / 4 if damping > 1e-4 else 0.0
        here, climbed = there, climbed + 1
        if progress:
            progress(done, here.value, here.slope / max(total_weight, 1.0))
    return Top(here, done, here.slope <= goal, damping)


def _raise_damping(damping: float) -> float:
    return max(4 * damping, FIRST_DAMPING)


def _try_step(here: Look[P], damping: float) -> Step[P] | None:
    """The damped step, or None if the matrix is not positive definite."""
    if not np.isfinite(here.value):
        return None
    try:
        return here.step(damping)
    except NotPositiveError:
        return None


def _is_better(here: Look[Any], there: Look[Any], gain: float) -> bool:
    """Armijo's rule. If the gain is lost in rounding, the slope must not grow."""
    if not np.isfinite(there.value):
        return False
    size = max(1.0, abs(here.value))
    if gain <= 1e-12 * size:
        return there.slope <= max(here.slope, 1e-11 * size)
    return there.value - here.value >= 1e-4 * gain


Chosen = slice | NDArray[np.int64]
"""All problems of a batch, or some of them by number."""


def newton_batch(
    look: Callable[[Floats, Chosen], tuple[Floats, Floats]], start: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """The maxima of many small dense problems at once, from ``start`` (P, problems), and whether each was found.

    ``look(points, chosen)`` gives the gradients (P, chosen) and the informations (chosen, P, P) of the chosen
    problems at their points (P, chosen). Steps are shortened, not damped. A problem whose step leads downhill is
    abandoned.
    """
    points, count = start.copy(), start.shape[1]
    found, active = np.zeros(count, bool), np.arange(count)
    for _ in range(BATCH_LIMIT):
        chosen: Chosen = slice(None) if len(active) == count else active
        gradient, matrix = look(points[:, chosen], chosen)
        try:
            step = np.linalg.solve(matrix, gradient.T[..., None])[..., 0].T
        except np.linalg.LinAlgError:
            break
        size = np.abs(step).max(axis=0)
        last = size <= BATCH_LAST_STEP
        points[:, chosen] += step * np.minimum(1.0, BATCH_REACH / np.maximum(size, BATCH_REACH))
        found[active[last]] = True
        active = active[~last & ((gradient * step).sum(axis=0) > 0)]
        if not len(active):
            break
    return points, found


def newton_within(
    look: Callable[[Floats, NDArray[np.int64]], tuple[Floats, Floats]], start: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """The maxima of many concave functions of one number within [low, high], and their curvatures there.

    ``look(points, chosen)`` gives the slopes and the curvatures (minus the second derivatives) of the chosen
    functions. A Newton step that leaves the bounds ends at the bound. Once the slope has had both signs, the
    maximum is between two known points, and a step that leaves them, or is longer than half of the last step, is
    replaced by one to their middle.
    """
    points, curvature = np.clip(start, low, high), np.zeros(len(start))
    left, right = low.copy(), high.copy()
    bracketed, last = np.zeros((2, len(start)), bool), np.full(len(start), np.inf)
    active = np.arange(len(start))
    for _ in range(WITHIN_LIMIT):
        here = points[active]
        slope, curvature[active] = look(here, active)
        rising = slope > 0
        left[active[rising]], right[active[~rising]] = here[rising], here[~rising]
        bracketed[0, active] |= rising
        bracketed[1, active] |= slope < 0
        step = np.divide(slope, np.maximum(curvature[active], NO_CURVATURE))
        there = np.clip(here + step, low[active], high[active])
        leaves = (there < left[active]) | (there > right[active]) | (np.abs(step) > 0.5 * last[active])
        halve = bracketed[:, active].all(axis=0) & leaves & (np.abs(step) > WITHIN_LAST_STEP)
        there = np.where(halve, 0.5 * (left[active] + right[active]), there)
        moved = np.abs(there - here)
        points[active], last[active] = there, moved
        active = active[moved > WITHIN_LAST_STEP * (1.0 + np.abs(there))]
        if not len(active):
            break
    return points, curvature
