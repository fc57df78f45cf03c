"""Means over draws with their standard errors, and paired t-tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NONE = "-"
"""What a table shows if there is no number."""

EQUAL = 1e-9
"""Smaller differences are rounding."""

FIRST_DRAW = 500
"""The seed of the first draw of a simulated corpus. Smaller ones were seen while the methods were built."""

Number = float | str


def draws(count: int) -> range:
    """The seeds of so many draws."""
    return range(FIRST_DRAW, FIRST_DRAW + count)


def mean_and_error(values: Sequence[float | None]) -> tuple[Number, Number]:
    """The mean over the draws for which there is a value, and its standard error."""
    known = np.array([value for value in values if value is not None and np.isfinite(value)], float)
    if not len(known):
        return NONE, NONE
    error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else NONE
    return float(known.mean()), error


def differences(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Ours less theirs, draw by draw."""
    return [one - other for one, other in zip(ours, theirs, strict=True)]


def paired_p(ours: Sequence[float], theirs: Sequence[float]) -> Number:
    """The p-value of a two-sided paired t-test; none if there are fewer than two draws or all are equal.

    Values that differ by rounding alone are equal.
    """
    from scipy.special import stdtr

    away = np.array(differences(ours, theirs))
    if len(away) < 2 or np.abs(away).max() < EQUAL or not away.std():
        return NONE
    t = away.mean() / (away.std(ddof=1) / np.sqrt(len(away)))
    return float(2 * stdtr(len(away) - 1, -abs(t)))
