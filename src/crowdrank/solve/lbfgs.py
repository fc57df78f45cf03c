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

Look = Callable[[Floats, float, float], None]
"""Called after each iteration with the weights, the value and the steepest slope."""


@dataclass(frozen=True, eq=False)
class WeightsMaximum:
    """The ``weights`` at the maximum, their value, the steepest slope left, and the number of iterations."""

    weights: Floats
    value: float
    slope: float
    iterations: int
    converged: bool


def lbfgs(
    objective: Objective, start: Floats, *, tol: float, limit: int, look: Look | None = None
) -> WeightsMaximum:
    """Climb from ``start`` until no slope is steeper than ``tol``, for at most ``limit`` iterations."""
    from scipy.optimize import minimize

    last = 0.0  # the steepest slope of the latest evaluation, which an iteration ends with

    def loss(weights: Floats) -> tuple[float, Floats]:
        nonlocal last
        value, gradient = objective(weights)
        last = float(np.abs(gradient).max(initial=0.0))
        return -value, -gradient

    def after(intermediate_result: Any) -> None:
        if look is not None:
            look(intermediate_result.x, -float(intermediate_result.fun), last)

    options: Any = {"gtol": tol, "ftol": 0.0, "maxiter": limit, "maxfun": 20 * limit, "maxcor": 20}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options, callback=after)
    slope = float(np.abs(found.jac).max(initial=0.0))
    return WeightsMaximum(np.asarray(found.x), -float(found.fun), slope, int(found.nit), slope <= tol)
