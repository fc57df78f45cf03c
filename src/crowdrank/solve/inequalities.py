"""A Newton step that keeps linear inequalities: the maximum of a quadratic model on a polyhedron."""

from __future__ import annotations

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.data.constraints import Demands

MET = 1e-13
"""A demand counts as met if it lacks no more than this."""


def step_within(matrix: Floats, slope: Floats, demands: Demands, slack: Floats) -> Floats:
    """The step d that maximizes slope'd - d' matrix d / 2, such that slack + A d >= 0, A the demands' rows.

    With matrix = L L' and d = L'^-1 (L^-1 slope + y), |y|^2 is to be smallest. This is least-distance programming
    (Lawson & Hanson 1974, chapter 23), which non-negative least squares solves. Only demands that some step has
    violated enter.
    """
    from scipy.linalg import cholesky, solve_triangular

    factor = cholesky(matrix, lower=True, check_finite=False)
    free = solve_triangular(factor, slope, lower=True, check_finite=False)
    used, size = np.zeros(len(demands), bool), len(slope)
    best = free
    while True:
        step = solve_triangular(factor, best, lower=True, trans=1, check_finite=False)
        lacking = (slack + _differences(demands, step) < -MET) & ~used
        if not lacking.any():
            return step
        used |= lacking
        sides = solve_triangular(factor, demands.take(used).rows(size).T, lower=True, check_finite=False)
        best = free + _least_distance(sides, -slack[used] - free @ sides)


def _differences(demands: Demands, step: Floats) -> Floats:
    return demands.slack(step) + demands.offset


def _least_distance(sides: Floats, bounds: Floats) -> Floats:
    """The shortest y with sides' y >= bounds.

    Non-negative least squares say which sides it touches; in units of the distance to the farthest side, because
    what is far from 1 is lost there. The shortest y that touches these is then exact to rounding.
    """
    from scipy.optimize import nnls

    norms = np.linalg.norm(sides, axis=0)
    sides, bounds = sides / norms, bounds / norms
    stacked = np.vstack([sides, bounds / bounds.max()])
    target = np.zeros(len(stacked))
    target[-1] = 1.0
    weights, _ = nnls(stacked, target, maxiter=30 * stacked.shape[1])
    touched = weights > 0
    return np.asarray(np.linalg.lstsq(sides[:, touched].T, bounds[touched])[0])
