"""Headers that are none, or that name two columns alike: said before anything is guessed from the names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path

import polars as pl

from crowdrank.data.io.columns import plain_name
from crowdrank.data.io.files import Source
from crowdrank.errors import InputError

_SHOWN = 3


def refuse_other_headers(source: Source, sample: pl.DataFrame) -> None:
    """Raise an error if the first line is no header, is not closed, or holds all rows of a JSON file."""
    names = source.columns()
    if any("\n" in name for name in names) and source.form == "csv":
        raise InputError("the header has a quote that is not closed.", source=source.name)
    for name, dtype in source.schema().items():
        if "json" in source.form and isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
            where = shlex.quote(source.name) if Path(source.name).is_file() else "FILE"
            path = shlex.quote(f'."{name}"')
            raise InputError(
                f"the rows are inside {name!r}.",
                source=source.name,
                hint=f"Write an array of rows, [{{...}}, {{...}}]: jq {path} {where} > rows.json",
            )
    if source.form == "csv" and source.data is not None and _is_row(sample):
        example = (
            "worker,left,right,label for pairs, worker,item,label for ratings, or worker,item,rank for rankings"
        )
        raise _row_error(source, example)


def refuse_row_as_header(source: Source, table: pl.DataFrame) -> None:
    """Raise an error if the first line of a small table, such as gold, is a row: a name is a number."""
    numbers = [
        name for name in table.columns if _is_number(name) and all(map(_is_number, table[name].drop_nulls()))
    ]
    if source.form == "csv" and source.data is not None and (numbers or _is_row(table)):
        raise _row_error(source, "item,grade")


def _row_error(source: Source, example: str) -> InputError:
    names = [plain_name(name) for name in source.columns()]
    more = ", ..." if len(names) > _SHOWN else "."
    return InputError(
        "the first line seems to be a row, not the names of the columns: "
        f"{', '.join(map(repr, names[:_SHOWN]))}{more}",
        source=source.name,
        hint=f"Write a line with the names before it, for example {example}.",
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[+-]?\d+(\.\d+)?\s*", text) is not None


def _is_row(sample: pl.DataFrame) -> bool:
    """Whether the names of half of the columns, and of at least two, occur among their own values.

    If these are all numbers, no other name may be a word: items may be called 1, 2, 3, and be ranked by these.
    """
    values: Mapping[str, Collection[str]] = {
        name: set(sample[name].cast(pl.String).drop_nulls())
        for name in sample.columns
        if not sample[name].dtype.is_nested()
    }
    repeated = [plain_name(name) for name, own in values.items() if plain_name(name) in own]
    if len(repeated) < max(2, len(values) / 2):
        return False
    return any(map(_is_word, repeated)) or not any(map(_is_word, values))


def _is_word(name: str) -> bool:
    return re.search(r"[^\W\d]", name) is not None
