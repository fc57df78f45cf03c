"""Side information about workers as constraints on voices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Constraints, Floats, Integers


def constrain_voices(constraints: Constraints, worker: Integers) -> Constraints:
    """Constraints on workers as constraints on voices; ``worker``: of each voice.

    The first voice of a worker, which is that of lists if there are any, takes the worker's constraints. Further
    ones are free.
    """
    first = np.unique(worker, return_index=True)[1]
    groups = len(constraints.low)
    group = np.empty(len(worker), np.int64)
    others = np.setdiff1d(np.arange(len(worker)), first)
    group[first] = constraints.group[worker[first]]
    group[others] = groups + np.arange(len(others))
    open_ = np.full(len(others), np.inf)
    return replace(
        constraints,
        group=group,
        low=np.concatenate([constraints.low, -open_]),
        high=np.concatenate([constraints.high, open_]),
    )


def hold_bounds(theta: Floats, constraints: Constraints | None) -> Floats:
    """These thetas within their bounds."""
    return theta if constraints is None else np.clip(theta, *constraints.bounds)


def free_voices(constraints: Constraints | None, voices: int) -> NDArray[np.bool_]:
    """Which voices no constraint concerns; soft ones without any confidence do not count."""
    if constraints is None:
        return np.ones(voices, bool)
    bound = np.isfinite(constraints.low) | np.isfinite(constraints.high)
    sure = constraints.soft.take(constraints.confidence > 0)
    for code in (constraints.orders.above, constraints.orders.below, sure.above, sure.below):
        bound[code[code >= 0]] = True
    return np.asarray(~bound[constraints.group])


def favored_start(constraints: Constraints | None, voices: int, start: float) -> Floats:
    """The first expertise: ``start`` for all, or more for those whom side information favors, and less for others.

    A known expertise is taken as it is, up to 1 in size.
    """
    if constraints is None or free_voices(constraints, voices).all():
        return np.full(voices, start)
    group, soft = constraints.group, constraints.soft.take(constraints.confidence > 0)
    found = np.full(len(constraints.low), 0.25 * start)
    for above in (constraints.orders.above, soft.above):
        found[above[above >= 0]] = 3.0 * start
    found[constraints.low > 0] = 3.0 * start
    found[constraints.high <= 0] = -start
    fixed = constraints.low == constraints.high
    found[fixed] = np.clip(constraints.low[fixed], -1.0, 1.0)
    return np.asarray(found[group])
