"""Ids in columns of decimal numbers, which hold about 16 digits."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from crowdrank.data.suspicions.origins import SHOWN, Origin, count_words
from crowdrank.data.tables import Judgments
from crowdrank.errors import Note

EXACT = 2**53
"""Whole numbers from here on may be rounded in a column of decimal numbers."""
SPREADSHEET = r"^\d([.,]\d+)?E\+\d{2}$"


def note_rounded_ids(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on ids that may have been rounded, so that different ids became one."""
    index = table.index
    every = [ids for ids in (index.items, index.workers, index.queries) if ids is not None]
    origin = next((origin for origin in origins if origin.decimals), None)
    if origin is None:
        return _note_spreadsheet(every)
    rounded = [own for ids in every for own in ids.filter(ids.cast(pl.Float64, strict=False).abs() >= EXACT)]
    if not rounded:
        return None
    shown = ", ".join(rounded[:SHOWN])
    return Note(
        "rounded-ids",
        f"{origin.name}: {count_words(len(rounded), 'id')} of more than 15 digits in columns of decimal numbers "
        f"({', '.join(origin.decimals)}), which round them: {shown}. Different ids may have become one.",
        "Keep ids as text or as whole numbers.",
    )


def _note_spreadsheet(every: Sequence[pl.Series]) -> Note | None:
    """A note on ids that a spreadsheet has shortened to the form 1.23E+15."""
    short = [own for ids in every for own in ids.filter(ids.str.contains(SPREADSHEET))]
    if not short:
        return None
    return Note(
        "rounded-ids",
        f"{count_words(len(short), 'id')} {'has' if len(short) == 1 else 'have'} the form in which a spreadsheet "
        f"writes long numbers: {', '.join(short[:SHOWN])}. Different ids may have become one.",
        "Export the column as text.",
    )
