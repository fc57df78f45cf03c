"""Label features of the user's own: columns of numbers by worker and document, such as the seconds spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Floats
from crowdrank.data.io.columns import OPTIONAL, parse_mapping
from crowdrank.data.io.text_tables import read_text_table
from crowdrank.errors import InputError, Note
from crowdrank.rankers.remap.samples import KEY

IDS = ("query", "item", "worker")
NO_FEATURES = ("label", "weight", "timestamp")
"""Columns of judgments that are no label features."""


@dataclass(frozen=True)
class LabelColumns:
    """A table of label features, and the names of the columns of judgments, which may be those of its ids."""

    table: Any
    names: Any = None

    def read(self, samples: pl.DataFrame) -> tuple[dict[str, Floats], list[Note]]:
        """The columns for each of these samples, and notes."""
        return read_label_columns(self.table, samples, self.names)


def read_label_columns(
    given: Any, samples: pl.DataFrame, names: Any = None
) -> tuple[dict[str, Floats], list[Note]]:
    """The further columns of a table with worker, item (and query), for each of these samples.

    It may be the file of the judgments itself; ``names``: of its columns. Columns of words are left out with a
    note. A label that has several rows takes their mean. A label that the table does not have, or whose cell is
    empty, takes the mean of the column.
    """
    frame, name, columns = read_text_table(given)
    columns = _roles(frame, columns, names, name)
    roles = [role for role in IDS if role in columns]
    taken = {columns[role] for role in (*roles, *NO_FEATURES) if role in columns}
    others = [column for column in frame.columns if column not in taken and not column.startswith("#")]
    own = [column for column in others if _has_numbers(frame[column])]
    if not own:
        raise InputError("has no column of numbers besides ids and labels.", source=name)
    table = frame.select(
        *[pl.col(columns[role]).cast(pl.String).alias(role) for role in roles],
        *[_numbers(frame, column, name) for column in own],
    )
    join = [role for role in roles if role != "query" or samples["query"].null_count() < samples.height]
    table = table.group_by(join).agg(pl.col(own).mean())
    found = samples.select(*KEY, "worker").join(
        table, on=join, how="left", nulls_equal=True, maintain_order="left"
    )
    known = {column: found.height - found[column].null_count() for column in own}
    if not any(known.values()):
        raise InputError(
            "has none of the labels of the source.", source=name, hint="Ids are text: '01' is not '1'."
        )
    notes = [_coverage_note(name, known, found.height)]
    if len(others) > len(own):
        words = ", ".join(repr(column) for column in others if column not in own)
        notes.append(Note("label-features", f"{name}: columns without numbers are left out: {words}."))
    return {column: _filled(found[column]) for column in own}, notes


def _coverage_note(name: str, known: dict[str, int], count: int) -> Note:
    each = ", ".join(
        column if have == count else f"{column} (for {have} of {count} labels; the others take its mean)"
        for column, have in known.items()
    )
    return Note("label-features", f"{name}: label features {each}.")


def _roles(frame: pl.DataFrame, columns: dict[str, str], names: Any, source: str) -> dict[str, str]:
    """The columns of worker, item and query: those that are named, or that have one of the usual names."""
    mapping = parse_mapping(names) if isinstance(names, str) else dict(names or {})
    found = dict(columns)
    for role, aliases in (("worker", OPTIONAL["worker"]), ("query", (*OPTIONAL["query"], "query_id"))):
        alias = next((own for own in aliases if own in columns), None)
        if alias is not None:
            found.setdefault(role, columns[alias])
    found |= {role: column for role, column in mapping.items() if column in frame.columns}
    for role in ("worker", "item"):
        if role not in found:
            hint = f"The columns are {', '.join(map(repr, sorted(frame.columns)))}."
            raise InputError(f"there is no column {role!r}.", source=source, hint=hint)
    return found


def _has_numbers(column: pl.Series) -> bool:
    """Whether at least half of the cells that are not empty are numbers."""
    text = column.cast(pl.String).str.strip_chars()
    given = text.filter(text.is_not_null() & (text != ""))
    return bool(len(given)) and 2 * given.cast(pl.Float64, strict=False).is_not_null().sum() >= len(given)


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
