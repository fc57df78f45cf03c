"""Label features of the user's own: columns of numbers by worker and document, such as the seconds spent."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Floats
from crowdrank.data.io.columns import OPTIONAL
from crowdrank.data.io.text_tables import read_text_table
from crowdrank.errors import InputError
from crowdrank.rankers.remap.samples import KEY

IDS = ("query", "item", "worker")
NO_FEATURES = ("label", "weight", "timestamp")
"""Columns of judgments that are no label features."""


def read_label_columns(given: Any, samples: pl.DataFrame) -> dict[str, Floats]:
    """The further columns of a table with worker, item (and query), for each of these samples.

    It may be the file of the judgments itself. Columns must be numbers. A label that has several rows takes their
    mean. A label that the table does not have, or whose cell is empty, takes the mean of the column.
    """
    frame, name, columns = read_text_table(given)
    for role, names in (("worker", OPTIONAL["worker"]), ("query", (*OPTIONAL["query"], "query_id"))):
        alias = next((own for own in names if own in columns), None)
        if alias is not None:
            columns.setdefault(role, columns[alias])
    for role in ("worker", "item"):
        if role not in columns:
            hint = f"The columns are {', '.join(map(repr, frame.columns))}."
            raise InputError(f"there is no column {role!r}.", source=name, hint=hint)
    roles = [role for role in IDS if role in columns]
    known = {columns[role] for role in roles} | {columns[own] for own in NO_FEATURES if own in columns}
    own = [column for column in frame.columns if column not in known and not column.startswith("#")]
    if not own:
        raise InputError("has no column besides ids and labels.", source=name)
    table = frame.select(
        *[pl.col(columns[role]).cast(pl.String).alias(role) for role in roles],
        *[_numbers(frame, column, name) for column in own],
    )
    join = [role for role in roles if role != "query" or samples["query"].null_count() < samples.height]
    table = table.group_by(join).agg(pl.col(own).mean())
    found = samples.select(*KEY, "worker").join(
        table, on=join, how="left", nulls_equal=True, maintain_order="left"
    )
    if all(found[column].null_count() == found.height for column in own):
        raise InputError(
            "has none of the labels of the source.", source=name, hint="Ids are text: '01' is not '1'."
        )
    return {column: _filled(found[column]) for column in own}


def _numbers(frame: pl.DataFrame, column: str, name: str) -> pl.Series:
    text = frame[column].cast(pl.String).str.strip_chars()
    text = text.set(text == "", None)
    found = text.cast(pl.Float64, strict=False)
    bad = np.flatnonzero((text.is_not_null() & (found.is_null() | ~found.is_finite())).to_numpy())
    if len(bad):
        raise InputError(
            "a number is needed.", source=name, row=int(bad[0]) + 1, column=column, value=text[int(bad[0])],
            hint="Give only columns of numbers, or leave this one out.",
        )  # fmt: skip
    return found.alias(column)


def _filled(column: pl.Series) -> Floats:
    mean = column.mean()
    return np.asarray(column.fill_null(0.0 if mean is None else float(mean)).to_numpy())  # type: ignore[arg-type]
