"""Pairs whose outcome is asked for: two items in each row, with or without an outcome, which does not count."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data.ids import UNKNOWN_WORKER, Backend
from crowdrank.data.index import Index, translate_ids
from crowdrank.data.io.cells import first_row
from crowdrank.data.io.census import OpenTable
from crowdrank.data.io.columns import Layout, MissingColumnError
from crowdrank.data.io.frames import each_table
from crowdrank.data.io.letor import LetorRole
from crowdrank.data.io.read import AnyJudgments, open_tables, require_same_layout
from crowdrank.data.spool.folder import Spool
from crowdrank.data.spool.memory import budget
from crowdrank.data.tables import LEFT, Pairs
from crowdrank.errors import InputError, UsageError

SIDES = (("left", "right"), ("model_a", "model_b"), ("winner", "loser"), ("top_item", "bottom_item"))
"""The columns that may hold the two items; the last two say who won, not which side an item was on."""
LAYOUTS = tuple(Layout("pairs", sides) for sides in SIDES)


def read_asked(given: Any) -> Pairs:
    """Pairs to predict, in the order given: a row for each row, with LEFT as the outcome of all.

    ``given``: whatever ``read`` takes. The columns are two items, and worker and query if there are any.
    """
    if isinstance(given, AnyJudgments):
        if isinstance(given, Pairs):
            return given
        got = "votes that are kept on disk" if given.kind == "pairs" else given.kind
        raise UsageError(f"Predictions need pairs in memory. Got {got}.")
    letor, place, limit = LetorRole("ranks"), Spool(None), budget(None)
    try:
        tables = [own for one in each_table(given) for own in open_tables(one, None, letor, place, limit, LAYOUTS)]
    except MissingColumnError as error:
        raise InputError(
            "there are no two columns of items, such as left and right.",
            source=error.source,
            hint='Name the columns left and right, or give them one by one: predict_proba(frame["a"], frame["b"])',
        ) from None
    require_same_layout(tables)
    return _code(pl.concat([_texts(table) for table in tables]), tables)


def _texts(table: OpenTable) -> pl.DataFrame:
    """The ids of a table as text. A missing worker is the unknown one, any other missing id is an error."""
    sides = [role for role in table.found.columns if role in {name for names in SIDES for name in names}]
    roles = dict(zip(("left", "right"), sides, strict=True)) | {role: role for role in ("worker", "query")}
    names = {own: table.found.columns[role] for own, role in roles.items() if role in table.found.columns}
    frame = table.source.read(dict.fromkeys(names.values(), pl.String()))
    frame = frame.select(pl.col(column).alias(own) for own, column in names.items())
    if frame.is_empty():
        raise InputError("there are no rows.", source=table.source.name)
    for role in (own for own in frame.columns if own != "worker"):
        missing = frame[role].fill_null("") == ""
        if missing.any():
            row = first_row(missing) + 1
            raise InputError("the value is missing.", source=table.source.name, row=row, column=names[role])
    return frame.with_columns(pl.col("^worker$").fill_null(UNKNOWN_WORKER))


def _code(frame: pl.DataFrame, tables: list[OpenTable]) -> Pairs:
    def codes(ids: pl.Series, *columns: str) -> list[Any]:
        return [translate_ids(frame[column], ids) for column in columns]

    items = pl.concat([frame["left"], frame["right"]]).unique().sort().rename("id")
    sorts = {name: frame[name].unique().sort().rename("id") for name in ("worker", "query") if name in frame}
    left, right = codes(items, "left", "right")
    return Pairs(
        index=Index(items, sorts.get("worker"), sorts.get("query")),
        left=left,
        right=right,
        outcome=np.full(frame.height, LEFT, np.int8),
        sided=all({"left", "model_a"} & set(table.found.columns) for table in tables),
        backend=reduce(Backend.joined, (table.backend for table in tables)),
        **{name: codes(ids, name)[0] for name, ids in sorts.items()},
    )
