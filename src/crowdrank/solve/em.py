"""The loops of EM and other fixed-point methods: until convergence, for a number of rounds, and accelerated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from crowdrank.data.arrays import Floats

P = TypeVar("P")

Step = Callable[[Floats], tuple[Floats, float, float]]
"""From a point to the next one, with the objective and its steepest slope at the point."""

FLAT = 1e-13
"""Objectives that differ by less than this share are equal up to rounding."""


def until(step: Callable[[P], tuple[P, float]], start: P, *, tol: float, limit: int) -> tuple[P, int, bool]:
    """Repeat ``params, change = step(params)`` until ``change <= tol``.

    Returns the parameters, the number of rounds, and whether the tolerance was met within ``limit``.
    """
    params = start
    for done in range(1, limit + 1):
        params, change = step(params)
        if change <= tol:
            return params, done, True
    return params, limit, False


def rounds(step: Callable[[P], P], start: P, count: int) -> P:
    """Repeat ``params = step(params)`` ``count`` times, for random steps that never converge."""
    params = start
    for _ in range(count):
        params = step(params)
    return params


def accelerate(
    step: Step,
    start: Floats,
    *,
    inside: Callable[[Floats], Floats],
    tol: float,
    enough: float,
    patience: int,
    limit: int,
) -> tuple[Floats, float, float, int]:
    """The fixed point of ``step`` by squared extrapolation (SQUAREM, Varadhan and Roland 2008).

    Two steps are taken, then the path is extrapolated and brought back ``inside``. The step from there is kept if
    the objective there is not below that of the last point. The loop ends when the slope is at most ``tol``. After
    ``patience`` steps a slope of at most ``enough`` suffices, and after ``limit`` steps the loop ends in any case.
    Returns the point, its objective and slope, and the number of steps.
    """
    point, done = start, 0

    def over(slope: float) -> bool:
        return slope <= tol or (done >= patience and slope <= enough) or done >= limit

    while True:
        first, value, slope = step(point)
        done += 1
        if over(slope):
            return point, value, slope, done
        second, value, slope = step(first)
        done += 1
        if over(slope):
            return first, value, slope, done
        following, there, _ = step(inside(extrapolate(point, first, second)))
        done += 1
        point = following if there >= value - FLAT * abs(value) else second


def extrapolate(first: Floats, second: Floats, third: Floats, reach: float = np.inf) -> Floats:
    """Where a path of three points leads: along its two changes r and r + v by the length |r| / |v|.

    No entry ends farther than ``reach`` from the third point.
    """
    change = second - first
    bend = (third - second) - change
    length = np.clip(np.linalg.norm(change) / max(float(np.linalg.norm(bend)), 1e-300), 1.0, 20.0)
    found = first + 2 * length * change + length**2 * bend
    return np.asarray(np.clip(found, third - reach, third + reach))
