"""Small tables, such as gold and side information, as text with columns by lower-case name."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import polars as pl

from crowdrank.data.io.columns import OPTIONAL, ROLES, refuse_repeated_names
from crowdrank.data.io.files import Source, is_plain, open_source
from crowdrank.data.io.frames import from_native
from crowdrank.data.io.headers import refuse_row_as_header
from crowdrank.data.io.letor import LetorRole
from crowdrank.errors import InputError, Note

GRADES = ("grade", "gold", "label", "relevance")
"""What the column of a gold standard may be called."""
RANKS = ("true_rank", "rank")
"""The same if smaller is better."""

NAMED = frozenset(ROLES).union(
    *OPTIONAL.values(),
    GRADES,
    RANKS,
    ("query_id", "score", "eta", "quality", "kind", "value", "low", "high", "than", "confidence"),
)
"""The lower-case names of columns that some small table has a use for."""


def note_contradictions(given: str | Path) -> tuple[Note, ...]:
    """What contradicts itself in a text such as a TREC run; nothing for a stream, which can be read only once."""
    return open_source(given, LetorRole("labels")).notes if Path(given).is_file() else ()


def read_text_table(
    given: Any, what: str = "Judgments", letor: LetorRole | None = None, named: Collection[str] = ()
) -> tuple[pl.DataFrame, str, dict[str, str]]:
    """The table as text, its name in errors, and its columns by lower-case name.

    ``given`` is a path, ``"-"`` or a frame; ``what`` names it in errors. If names differ only in case, the first
    one counts; if they do not differ, it is an error if the name is used. A column whose type has no text, such as
    lists, is left out; it is an error if it is one of ``named``, or has a name that is used.
    """
    if isinstance(given, str | Path):
        source = open_source(given, letor or LetorRole("ranks")).with_exact_values()
    else:
        source = Source("frame", from_native(given, what)[0].lazy())
    name = source.name
    wanted = [
        column
        for column, dtype in source.schema().items()
        if is_plain(dtype) or column in named or column.strip().lower() in NAMED
    ]
    if not wanted:
        raise InputError("holds lists or objects, not plain values.", source=name)
    frame = source.read(dict.fromkeys(wanted, pl.String()))
    if frame.is_empty():
        raise InputError("there are no rows.", source=name, hint="Write a header line and at least one row.")
    columns: dict[str, str] = {}
    for column in frame.columns:
        columns.setdefault(column.strip().lower(), column)
    if not NAMED & set(columns) and not named:
        refuse_row_as_header(source, frame)
    refuse_repeated_names(frame.columns, name, NAMED)
    return frame.select(columns.values()), name, columns
