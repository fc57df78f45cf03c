"""Small tables, such as gold and side information, as text with columns by lower-case name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from crowdrank.data.io.cells import from_native
from crowdrank.data.io.files import as_text, open_source
from crowdrank.data.io.letor import LetorRole
from crowdrank.errors import InputError


def read_text_table(
    given: Any, what: str = "Judgments", letor: LetorRole | None = None
) -> tuple[pl.DataFrame, str, dict[str, str]]:
    """The table as text, its name in errors, and its columns by lower-case name.

    ``given`` is a path, ``"-"`` or a frame; ``what`` names it in errors. If names differ only in case, the first
    one counts.
    """
    if isinstance(given, str | Path):
        source = open_source(given, letor or LetorRole("ranks")).with_exact_values()
        frame, name = source.read_text(), source.name
    else:
        frame, _ = from_native(given, what)
        frame, name = frame.select(as_text(dict.fromkeys(frame.columns, pl.String()), frame.schema)), "frame"
    if frame.is_empty():
        raise InputError("there are no rows.", source=name)
    columns = {column.strip().lower(): column for column in reversed(frame.columns)}
    return frame.select(columns.values()), name, columns
