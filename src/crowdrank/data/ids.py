"""Ids are text. Here a frame's ids become text, and come back with the type that they had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

UNKNOWN_WORKER = "(unknown)"
"""The worker id of all rows that name no worker."""
SORTS = {"query": "query", "item": "item", "left": "item", "right": "item", "worker": "worker"}
"""The columns of results that hold ids, and the sort of their ids."""


def as_text(columns: Mapping[str, pl.DataType], schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Columns as text, then as the wanted type; whole numbers of a float column lose the decimal point."""

    def text(name: str) -> pl.Expr:
        column = pl.col(name)
        if not schema[name].is_float():
            return column.cast(pl.String)
        whole = column.is_finite() & (column == column.floor()) & (column.abs() < 2**53)
        number = pl.when(whole).then(column).otherwise(0).cast(pl.Int64).cast(pl.String)
        return pl.when(whole).then(number).otherwise(column.cast(pl.String)).alias(name)

    return [text(name).cast(dtype) for name, dtype in columns.items()]


def id_texts(values: pl.Series) -> pl.Series:
    """Ids as text: 7 and 7.0 are ``"7"``."""
    name = values.name
    return values.to_frame().select(*as_text({name: pl.String()}, {name: values.dtype})).to_series()


def id_text(value: Any) -> str:
    """One id as text."""
    return value if isinstance(value, str) else str(id_texts(pl.Series("id", [value]))[0])


def common_type(types: Iterable[pl.DataType | None]) -> pl.DataType | None:
    """The one type of ids that come from several columns; None, which is text, if they have several types."""
    found = set(types)
    if len(found) == 1:
        return found.pop()
    whole = all(dtype is not None and dtype.is_integer() for dtype in found)
    return pl.Int64() if whole and found else None


@dataclass(frozen=True, repr=False)
class Backend:
    """The kind of frame that judgments came in: its library, and the type of each sort of ids (None: text).

    Results come back as the same kind, so that they can be merged with the frame.
    """

    library: str = "polars"
    item: pl.DataType | None = None
    worker: pl.DataType | None = None
    query: pl.DataType | None = None

    def __repr__(self) -> str:
        types = {sort: getattr(self, sort) for sort in ("item", "worker", "query")}
        given = [f"{sort}={dtype}" for sort, dtype in types.items() if dtype is not None]
        return f"Backend({', '.join([repr(self.library), *given])})"

    @classmethod
    def of(cls, library: str, schema: Mapping[str, pl.DataType], columns: Mapping[str, Iterable[str]]) -> Backend:
        """The kind of a frame; ``columns`` are those that hold each sort of ids."""
        types = {sort: common_type(schema[name] for name in names) for sort, names in columns.items()}
        return cls(library, **{sort: None if dtype == pl.String else dtype for sort, dtype in types.items()})

    def joined(self, other: Backend) -> Backend:
        """The kind of results from both; the library is that of the first."""
        types = {sort: common_type([getattr(self, sort), getattr(other, sort)]) for sort in set(SORTS.values())}
        return Backend(self.library, **types)

    def with_workers(self, other: Backend) -> Backend:
        """The same with workers of the type that they have in another frame."""
        return Backend(self.library, self.item, other.worker, self.query)

    def ids(self, sort: str, texts: pl.Series) -> pl.Series:
        """Ids of a sort with the type that they had; the unknown worker is null.

        They stay text if one of them is not a value of that type.
        """
        dtype: pl.DataType | None = getattr(self, sort)
        if dtype is None or texts.dtype != pl.String:
            return texts
        known = texts.set(texts == UNKNOWN_WORKER, None) if sort == "worker" else texts
        found = _parse(known, dtype)
        return found if id_texts(found).equals(known, null_equal=True) else texts

    def native(self, table: pl.DataFrame) -> Any:
        """A table of results as a frame of the library, with the ids as they were given."""
        named = [self.ids(SORTS[name], table[name]).alias(name) for name in table.columns if name in SORTS]
        frame = table.with_columns(named)
        if self.library == "pandas":
            import pandas as pd

            return pd.DataFrame({name: column.to_numpy() for name, column in frame.to_dict().items()})
        return frame.to_arrow() if self.library == "pyarrow" else frame

    def storable(self) -> Backend:
        """What is written to a file: the library alone. Ids that are read back are text."""
        return Backend(self.library)


TEXT_IDS = Backend()
"""A Polars frame, or a file, whose ids are text."""


def _parse(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Text as values of a type; null if it is none."""
    if dtype == pl.Boolean:
        return texts.replace_strict(["true", "false"], [True, False], default=None, return_dtype=pl.Boolean)
    if dtype.is_temporal():
        return texts.str.strptime(dtype, strict=False)  # type: ignore[arg-type]
    return texts.cast(dtype, strict=False)
