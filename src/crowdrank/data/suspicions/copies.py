"""The same judgments twice, in several files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from crowdrank.data.suspicions.origins import Origin
from crowdrank.data.tables import Judgments, Pairs, Rankings, Ratings
from crowdrank.errors import Note, count_noun

SAME, LEAST = 0.9, 10
"""Files share their rows if this share of the smaller one is in the other, and it has so many different rows."""
MOST = 50
"""Rows of more files are not compared."""


def note_copies(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on files with the same content, or with the same rows."""
    if len(origins) < 2:
        return None
    hint = "Give each judgment once, or the ranking looks more certain than it is."
    for one, other in _equal_files(origins):
        same = isinstance(one.data, Path) and isinstance(other.data, Path) and one.data.samefile(other.data)
        message = f"{other.name} was given twice" if same else f"{other.name} has the same content as {one.name}"
        return Note("same-file", f"{message}, so its rows count twice.", hint)
    for one, other, count in _equal_rows(table, origins):
        of = f"of {count_noun(other.kept, 'row')} of {other.name}"
        words = count_noun(
            count, f"{of} is also in {one.name}, and counts", f"{of} are also in {one.name}, and count"
        )
        message = f"{words} twice."
        return Note("same-file", message, hint)
    return None


def _equal_files(origins: Sequence[Origin]) -> Iterator[tuple[Origin, Origin]]:
    """Pairs of files with the same bytes. Only files of the same size are read."""
    sizes: dict[int, list[Origin]] = {}
    for origin in origins:
        if origin.data is not None:
            size = origin.data.stat().st_size if isinstance(origin.data, Path) else len(origin.data)
            sizes.setdefault(size, []).append(origin)
    for group in sizes.values():
        seen: dict[bytes, Origin] = {}
        for origin in group if len(group) > 1 else ():
            key = _digest(origin.data)
            if key in seen:
                yield seen[key], origin
            seen.setdefault(key, origin)


def _digest(data: Path | bytes | None) -> bytes:
    if isinstance(data, Path):
        with data.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    return hashlib.sha256(data or b"").digest()


def _equal_rows(table: Judgments, origins: Sequence[Origin]) -> Iterator[tuple[Origin, Origin, int]]:
    """Pairs of files that share rows, the larger one first, and how many.

    Rows without a worker may well repeat. Then files are suspected only if they have all rows equally often.
    """
    if not isinstance(table, Pairs | Ratings | Rankings) or len(origins) > MOST:
        return
    rows = row_values(table)
    starts = np.cumsum([0, *(origin.kept for origin in origins)])
    if len(rows) != starts[-1]:
        return
    parts = [
        rows.slice(int(start), origin.kept).group_by(rows.columns).agg(count=pl.len())
        for start, origin in zip(starts, origins, strict=False)
    ]
    keys, share = (rows.columns, SAME) if table.worker is not None else ([*rows.columns, "count"], 1.0)
    for one, other in combinations(range(len(origins)), 2):
        if origins[one].kept < origins[other].kept:
            one, other = other, one
        common = int(parts[other].join(parts[one], on=keys, how="semi", nulls_equal=True)["count"].sum())
        alike = table.worker is not None or origins[one].kept == origins[other].kept
        if alike and parts[other].height >= LEAST and common >= share * origins[other].kept:
            yield origins[one], origins[other], common


def row_values(table: Pairs | Ratings | Rankings) -> pl.DataFrame:
    """What the rows say: who judged what, and how."""
    names = {
        "pairs": ("left", "right", "outcome"),
        "ratings": ("item", "label"),
        "rankings": ("item", "rank", "list"),
    }
    columns = {name: getattr(table, name) for name in ("worker", "query", "timestamp", *names[table.kind])}
    return pl.DataFrame({name: column for name, column in columns.items() if column is not None})
