"""The loops of EM and other fixed-point methods: until convergence, for a number of rounds, and accelerated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from crowdrank.data.arrays import Floats

P = TypeVar("P")

Step = Callable[[Floats], tuple[Floats, float, float]]
"""From a point to the next one, with the objective and its steepest slope at the point."""

FARTHEST = 30.0
"""How many times its last change a path may still go; a change shrinks by a thirtieth in the slowest path."""
INDEPENDENT = 1e-3
"""Changes of residuals that are smaller than this share of the largest say nothing about their direction."""
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


def extrapolate(first: Floats, second: Floats, third: Floats) -> Floats:
    """Where a path of three points leads: along its two changes r and r + v by the length |r| / |v|."""
    change = second - first
    bend = (third - second) - change
    length = np.clip(np.linalg.norm(change) / max(float(np.linalg.norm(bend)), 1e-300), 1.0, 20.0)
    return np.asarray(first + 2 * length * change + length**2 * bend)


class Mixing:
    """The next point of a fixed-point method by Anderson's mixing (1965).

    A round leads from a point x to its image x + r. The combination of the last points whose residuals r would
    vanish if the method were linear,

        x' = x + r - (X + R) c          c = argmin |r - R c|

    (X, R: the changes of points and residuals between rounds) ends slow paths in about as many rounds as there are
    entries. A residual that grows is no sign of a linear method: what came before it is then forgotten.
    """

    def __init__(self, reach: float) -> None:
        """``reach``: no entry moves farther from the image than this, nor than ``FARTHEST`` times the residual."""
        self.reach = reach
        self.points: list[Floats] = []
        self.residuals: list[Floats] = []

    def forget(self) -> None:
        """Start anew, because the method has changed."""
        self.points, self.residuals = [], []

    def __call__(self, point: Floats, image: Floats) -> Floats:
        """The next point."""
        residual = image - point
        if self.residuals and np.abs(residual).max() > np.abs(self.residuals[-1]).max():
            self.forget()
        kept = slice(-len(point), None)
        self.points, self.residuals = [*self.points[kept], point], [*self.residuals[kept], residual]
        if len(self.points) == 1:
            return image
        moves, bends = (np.diff(path, axis=0).T for path in (self.points, self.residuals))
        weights = np.linalg.lstsq(bends, residual, rcond=INDEPENDENT)[0]
        reach = min(self.reach, FARTHEST * float(np.abs(residual).max()))
        return np.asarray(np.clip(image - (moves + bends) @ weights, image - reach, image + reach))

    @property
    def sees_rate(self) -> bool:
        """Whether the last step rests on more than one round."""
        return len(self.points) > 1


class Tempered:
    """The next point of a fixed-point method whose entries may go back and forth.

    Each entry goes a share of the way to its image. The share is halved if the entry has turned around since the
    last round. Otherwise it grows by half, up to the whole way.
    """

    def __init__(self) -> None:
        self.share: Floats | float = 1.0
        self.last: Floats | float = 0.0

    def __call__(self, point: Floats, image: Floats) -> Floats:
        """The next point."""
        way = image - point
        self.share = np.where(way * self.last < 0, 0.5 * self.share, np.minimum(1.5 * self.share, 1.0))
        self.last = way
        return np.asarray(point + self.share * way)
