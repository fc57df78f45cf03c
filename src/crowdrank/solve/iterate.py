"""The loop of EM and of every other fixed-point method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crowdrank.engine import Session, Stats

Update = Callable[[dict[str, Any], Stats], tuple[dict[str, Any], float]]


def iterate(
    session: Session, params: dict[str, Any], update: Update, *, tol: float, limit: int
) -> tuple[dict[str, Any], int, bool]:
    """Repeat ``params, change = update(params, sums at params)`` until ``change <= tol``.

    Returns the parameters, the number of rounds, and whether the tolerance was met within ``limit``.
    """
    for done in range(1, limit + 1):
        params, change = update(params, session.advance(params))
        if change <= tol:
            return params, done, True
    return params, limit, False
