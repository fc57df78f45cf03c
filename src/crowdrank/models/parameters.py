"""Forms that parameters of several models share.

``None`` always means "none of it": no prior, no virtual votes. ``"estimated"`` leaves a number to the data, and
``"auto"`` leaves a choice to what the judgments hold.
"""

from __future__ import annotations

from typing import Any

from crowdrank.errors import UsageError
from crowdrank.models.base import number

ESTIMATED = "estimated"
AUTO = "auto"


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
