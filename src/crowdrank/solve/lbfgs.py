"""The maximum of a smooth function of one long vector of weights, by SciPy's L-BFGS-B.

For objectives whose curvature is too large to sum. The gradient is a sum over the shards of a session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data.arrays import Floats

Objective = Callable[[Floats], tuple[float, Floats]]
"""From weights to the value to maximize, and its gradient."""


@dataclass(frozen=True, eq=False)
class WeightsMaximum:
    """The ``weights`` at the maximum, their value, the steepest slope left, and the number of iterations."""

    weights: Floats
    value: float
    slope: float
    iterations: int
    converged: bool


def lbfgs(objective: Objective, start: Floats, *, tol: float, limit: int) -> WeightsMaximum:
    """Climb from ``start`` until no slope is steeper than ``tol``, for at most ``limit`` iterations."""
    from scipy.optimize import minimize

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, gradient = objective(weights)
        return -value, -gradient

    options: Any = {"gtol": tol, "ftol": 0.0, "maxiter": limit, "maxfun": 20 * limit, "maxcor": 20}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    slope = float(np.abs(found.jac).max(initial=0.0))
    return WeightsMaximum(np.asarray(found.x), -float(found.fun), slope, int(found.nit), slope <= tol)
