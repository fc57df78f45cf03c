"""Labels that are text without an order, and the error if one is needed."""

from __future__ import annotations

from collections.abc import Sequence

from crowdrank.errors import Hint, InputError, parameter

MOST_SHOWN = 8
"""How many labels a message shows."""

ORDER = parameter("order", "WORST,...,BEST")
"""The remedy if labels are text."""


def missing_order(who: str, names: Sequence[str], hint: Hint) -> InputError:
    """The error if ``who`` needs an order of labels that are names without one."""
    shown = ", ".join(map(repr, names[:MOST_SHOWN]))
    shown += ", ..." if len(names) > MOST_SHOWN else ""
    return InputError(
        f"{who} needs labels that are numbers, or have an order. The labels are {shown}.",
        hint=hint,
    )
