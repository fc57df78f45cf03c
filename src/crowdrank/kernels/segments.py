"""Sums within segments: consecutive rows that belong together, such as the rows of one list.

``start`` (L+1) says where the segments begin; the rows of segment l are start[l] to start[l+1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, summed

Rows = NDArray[np.int64]

PAIRS = 1 << 21
"""How many pairs of rows are held at a time."""


def segment_of(start: Rows) -> Rows:
    """The segment number of each row."""
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def reversed_rows(start: Rows) -> Rows:
    """The row that takes the place of each row if every segment is reversed."""
    return (start[:-1] + start[1:] - 1)[segment_of(start)] - np.arange(start[-1])


def totals(values: NDArray[Any], start: Rows) -> Floats:
    """The sum of each segment, or 0 if it is empty."""
    return summed(segment_of(start), values, len(start) - 1)


def prefix_sums(values: Floats, start: Rows) -> Floats:
    """The sum of the rows up to and including each row, within its segment, for each column."""
    return _running(values, start, np.add)


def log_prefix_sums(values: Floats, start: Rows) -> Floats:
    """ln of the sum of e^value of the rows up to and including each row, within its segment."""
    return _running(values, start, np.logaddexp)


def _running(values: Floats, start: Rows, combine: Callable[[Floats, Floats], Floats]) -> Floats:
    """Rows combined with those before them in their segment.

    This takes log2 of the longest segment doubling steps. Nothing is ever subtracted, so sums of positive numbers
    keep all their digits, no matter how small they are.
    """
    sums, place = np.asarray(values, float).copy(), np.arange(len(values)) - np.repeat(start[:-1], np.diff(start))
    step, longest = 1, int(np.diff(start).max(initial=0))
    while step < longest:
        inside = np.flatnonzero(place >= step)
        sums[inside] = combine(sums[inside], sums[inside - step])
        step *= 2
    return sums


def log_suffix_sums(values: Floats, start: Rows) -> Floats:
    """ln of the sum of e^value of the rows from each row to the end of its segment."""
    return log_prefix_sums(values[::-1], (start[-1] - start)[::-1])[::-1]


def earlier_sums(values: Floats, start: Rows) -> Floats:
    """The sum of the rows before each row, within its segment, for each column."""
    shifted = np.concatenate([np.zeros_like(values[:1]), values[:-1]])
    shifted[start[:-1][np.diff(start) > 0]] = 0.0
    return prefix_sums(shifted, start)


def suffix_sums(values: Floats, start: Rows) -> Floats:
    """The sum of the rows from each row to the end of its segment, including the row."""
    return prefix_sums(values[::-1], (start[-1] - start)[::-1])[::-1]


def pairs(start: Rows, most: int = PAIRS) -> Iterator[tuple[Rows, Rows]]:
    """All pairs of rows within a segment, the earlier row first, about ``most`` pairs at a time."""
    partners = np.repeat(start[1:], np.diff(start)) - np.arange(start[-1]) - 1
    block = (np.cumsum(partners) - partners) // most
    for rows in np.split(np.arange(len(partners)), np.flatnonzero(np.diff(block)) + 1):
        own = partners[rows]
        first = np.repeat(rows, own)
        offset = np.arange(len(first)) - np.repeat(np.cumsum(own) - own, own)
        yield first, first + 1 + offset
