"""A part of a file that was pasted in twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.lib.stride_tricks import sliding_window_view

from crowdrank.data.arrays import Integers
from crowdrank.data.suspicions.copies import row_values
from crowdrank.data.suspicions.origins import Origin
from crowdrank.data.tables import Judgments, Pairs, Rankings, Ratings
from crowdrank.errors import Note

BLOCK, DISTINCT = 20, 15
"""A block is so many rows in a row, with so many different ones: chance does not repeat it in the same order."""
MOST = 1_000_000
"""Files with more rows are not looked at."""
FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, as in Fibonacci hashing."""


def note_repeats(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on a file in which a block of rows comes again, with all columns, also those that are not read.

    Without workers, people may well say the same.
    """
    if not isinstance(table, Pairs | Ratings | Rankings) or table.worker is None:
        return None
    rows, start = row_values(table), 0
    if len(rows) != sum(origin.kept for origin in origins):
        return None
    for origin in origins:
        if origin.data is not None and len(find_copies(rows.slice(start, origin.kept))):
            copies = find_copies(_lines(origin.data))
            if len(copies):
                message = (
                    f"{origin.name}: {len(copies):,} lines repeat earlier ones in the same order, the first of"
                )
                hint = "If a part was pasted twice, remove the copy: each row counts."
                return Note("repeated-rows", f"{message} them is line {copies[0] + 1:,}.", hint)
        start += origin.kept
    return None


def _lines(data: Path | bytes) -> pl.DataFrame:
    content = data.read_bytes() if isinstance(data, Path) else data
    return pl.DataFrame({"line": content.splitlines()}, schema={"line": pl.Binary})


def find_copies(rows: pl.DataFrame) -> Integers:
    """The places of rows that are in a block which came before, and does not overlap it."""
    none = np.zeros(0, np.int64)
    if not 2 * BLOCK <= len(rows) <= MOST:
        return none
    _, codes = np.unique(rows.hash_rows().to_numpy(), return_inverse=True)
    if codes.max() + 1 > len(codes) - BLOCK:
        return none  # too few rows occur twice
    blocks = sliding_window_view(codes, BLOCK)
    sums = np.zeros(len(blocks), np.uint64)
    for place in range(BLOCK):  # a hash of each block, modulo 2^64
        sums = sums * FACTOR + codes[place : place + len(blocks)].astype(np.uint64)
    _, first, own = np.unique(sums, return_index=True, return_inverse=True)
    again = np.flatnonzero(np.arange(len(blocks)) - first[own] >= BLOCK)
    ordered = np.sort(blocks[again], axis=1)
    again = again[(np.diff(ordered, axis=1) > 0).sum(axis=1) + 1 >= DISTINCT]
    copied = np.zeros(len(codes), bool)
    copied[(again[:, None] + np.arange(BLOCK)).ravel()] = True
    return np.flatnonzero(copied)
