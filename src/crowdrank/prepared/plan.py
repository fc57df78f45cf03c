"""The one planner of shards. Shards are runs of whole units and depend only on the data, not on the machine."""

from __future__ import annotations

import numpy as np

from crowdrank.data.arrays import Integers

SHARD_ROWS = 50_000
"""Rows per shard. A shard ends with the unit (a row, a list, an item, a query) that reaches this number."""


def cut(ends: Integers, *, width: int = 1) -> list[tuple[int, int]]:
    """Cut units into shards, and return (first, end) of each.

    ``ends``: the number of rows up to the end of each unit. ``width``: how many numbers a model keeps per row. A
    shard has fewer rows by this factor.
    """
    rows, shards, first = max(SHARD_ROWS // width, 1), [], 0
    while first < len(ends):
        before = ends[first - 1] if first else 0
        end = min(int(np.searchsorted(ends, before + rows)) + 1, len(ends))
        shards.append((first, end))
        first = end
    return shards
