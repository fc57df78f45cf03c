"""Checks of parameters, and the forms that several models share.

``None`` always means "none of it": no prior, no virtual votes. ``"estimated"`` leaves a number to the data, and
``"auto"`` leaves a choice to what the judgments hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdrank.errors import UsageError

ESTIMATED = "estimated"
AUTO = "auto"


def number(name: str, value: Any, *, low: float = -np.inf, high: float = np.inf) -> float:
    """A parameter that must be a number within [low, high]."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
    if not good or not low <= value <= high:
        wanted = f"between {low:g} and {high:g}" if np.isfinite(high) else f"of at least {low:g}"
        raise UsageError(f"The parameter {name!r} must be a number {wanted}. Got {value!r}.")
    return float(value)


def whole(name: str, value: Any, *, low: int = 0) -> int:
    """A parameter that must be a whole number of at least ``low``."""
    if number(name, value, low=low) != int(value):
        raise UsageError(f"The parameter {name!r} must be a whole number. Got {value!r}.")
    return int(value)


def estimable(name: str, value: Any, *, low: float, none: float) -> float | None:
    """A parameter that is a number of at least ``low``, or "estimated", which is None here.

    ``none``: the number that stands for the parameter's None.
    """
    if isinstance(value, str):
        if value != ESTIMATED:
            raise UsageError(f"The parameter {name!r} must be a number, {ESTIMATED!r} or None. Got {value!r}.")
        return None
    return none if value is None else number(name, value, low=low)


def virtual_votes(value: Any) -> float | None:
    """The parameter ``regularization``: virtual wins and losses of every item, None here if they are estimated."""
    return estimable("regularization", value, low=0.0, none=0.0)
