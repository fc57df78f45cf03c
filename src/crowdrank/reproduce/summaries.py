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


def draws(count: int, first: int = FIRST_DRAW) -> range:
    """The seeds of so many draws."""
    return range(first, first + count)


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


def signed_rank_p(ours: Sequence[float], theirs: Sequence[float]) -> Number:
    """The exact p-value of Wilcoxon's two-sided signed-rank test, which a single wild draw cannot decide.

    Draws without a difference do not count. Equal differences share their ranks.
    """
    away = np.array(differences(ours, theirs))
    away = away[np.abs(away) >= EQUAL]
    if len(away) < 2:
        return NONE
    size = np.round(np.abs(away), 9)
    _, place, count = np.unique(size, return_inverse=True, return_counts=True)
    twice = (2 * np.cumsum(count) - count + 1)[place]  # twice the mean rank, a whole number
    chances = np.ones(1)  # of each sum of the ranks with one sign, if signs are coin tosses
    for rank in twice:
        chances = 0.5 * (np.append(chances, np.zeros(rank)) + np.append(np.zeros(rank), chances))
    above = int(twice[away > 0].sum())
    low = min(above, int(twice.sum()) - above)
    return float(min(1.0, 2.0 * chances[: low + 1].sum()))
