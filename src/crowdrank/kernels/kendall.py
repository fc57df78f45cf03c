"""Kendall's distance between two rankings of the same items, for many lists at once.

A ranking gives each item a level, 0 = best. Items of one level are tied (the items that a top-k list leaves out
share its last level). Over the pairs of items of a list (Fagin et al. 2004, K with penalty p):

    d(a, b) = number of pairs that a and b order differently + p x pairs that are tied in just one of them

With p = 1/2, a tie is half an error. With p = 0, a tie leaves the order open and every order is right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, summed
from crowdrank.kernels.segments import Rows, segment_of


def distances(one: NDArray[Any], other: NDArray[Any], start: Rows, penalty: float = 0.5) -> Floats:
    """The distance between two rankings, given as levels per row, for each list. O(n log n).

    ``start`` (L+1): where the lists begin in the rows.
    """
    of = segment_of(start)
    order = np.lexsort((other, one, of))  # rows tied in one add no inversion: they are sorted by other
    one, other = one[order], other[order]
    discordant = inversions(_dense_levels(other, of, start), start)
    if penalty == 0:
        return discordant
    in_one, in_other, in_both = (
        _tied_pairs(of, levels, len(discordant)) for levels in ([one], [other], [one, other])
    )
    return discordant + penalty * (in_one + in_other - 2.0 * in_both)


def agreements(one: NDArray[Any], other: NDArray[Any], start: Rows) -> tuple[Floats, Floats]:
    """For each list, how many pairs ``one`` orders, and how many of these ``other`` orders the same way.

    A pair that is tied in ``other`` counts as half. O(n log n).
    """
    of, size = segment_of(start), np.diff(start)
    in_one, in_other, in_both = (_tied_pairs(of, levels, len(size)) for levels in ([one], [other], [one, other]))
    ordered = size * (size - 1) / 2.0 - in_one
    return ordered, ordered - distances(one, other, start, penalty=0.0) - 0.5 * (in_other - in_both)


def inversions(values: NDArray[np.int64], start: Rows) -> Floats:
    """The number of pairs of rows of each list whose values are in the wrong order, the larger one first.

    This is a radix sort from the highest bit down. Two values separate at the highest bit in which they differ,
    and are inverted if the one with the bit set comes first. The values are integers and not negative.
    """
    group = segment_of(start)
    lists, found = group.copy(), np.zeros(len(start) - 1)
    for bit in range(int(values.max(initial=0)).bit_length() - 1, -1, -1):
        high = (values >> bit) & 1
        before = np.cumsum(high) - high
        begins = np.flatnonzero(np.diff(group, prepend=-1))
        counts = np.diff(begins, append=len(group))
        before = before - np.repeat(before[begins], counts)
        found += np.bincount(lists, np.where(high == 0, before, 0), len(found))
        order = np.argsort(2 * group + high, kind="stable")
        group, values, lists = (2 * group + high)[order], values[order], lists[order]
    return found


def _dense_levels(levels: NDArray[Any], of: Rows, start: Rows) -> NDArray[np.int64]:
    """The levels as consecutive integers from 0 within each list."""
    order = np.lexsort((levels, of))
    rises = (np.diff(levels[order], prepend=np.nan) != 0) | (np.diff(of[order], prepend=-1) != 0)
    rank = np.cumsum(rises)
    dense = np.empty(len(levels), np.int64)
    dense[order] = rank - np.repeat(rank[np.minimum(start[:-1], len(rank) - 1)], np.diff(start))
    return dense


def _tied_pairs(of: Rows, levels: list[NDArray[Any]], lists: int) -> Floats:
    """The number of pairs of rows of each list that share all these levels."""
    order = np.lexsort((*levels, of))
    new = np.diff(of[order], prepend=-1) != 0
    for level in levels:
        new |= np.diff(level[order].astype(float), prepend=np.nan) != 0
    begins = np.flatnonzero(new)
    size = np.diff(begins, append=len(of))
    return summed(of[order][begins], size * (size - 1) / 2, lists)
