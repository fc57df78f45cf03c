"""Numbers as a report holds them: rounded, and None if not finite."""

from __future__ import annotations

import math


def tidy(value: float) -> float:
    """A weight of judgments with at most one decimal; whole numbers become integers."""
    return int(value) if value == int(value) else round(value, 1)


def round_to(value: float, decimals: int) -> float:
    """A number with this many decimals, and no minus sign before a zero."""
    return round(value, decimals) + 0.0


def round_finite(value: float, decimals: int) -> float | None:
    """A number with this many decimals, or None if it is not finite."""
    return round_to(value, decimals) if math.isfinite(value) else None


def significant(value: float) -> float | None:
    """A number with three significant digits; None if it is not finite."""
    return float(f"{value:.3g}") if math.isfinite(value) else None
