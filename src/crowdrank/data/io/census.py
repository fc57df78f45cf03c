"""All rows of the sources of a call: they are checked, and their ids are numbered in sorted order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.ids import Backend
from crowdrank.data.index import Index
from crowdrank.data.io.cells import ROW, WeightRange
from crowdrank.data.io.checks import (
    CheckedRows,
    check,
    losses_error,
    lost_too_many,
    no_rows_error,
    note_lost_queries,
    notes_on_counts,
)
from crowdrank.data.io.columns import RecognizedLayout, outcome_role
from crowdrank.data.io.files import Source
from crowdrank.data.io.guesses import other_reading
from crowdrank.data.io.outcomes import Outcomes
from crowdrank.data.suspicions.origins import Origin
from crowdrank.errors import InputError, Note
from crowdrank.progress import announce

NUMBERS = ("weight", "timestamp", "rank", "label")
"""Roles that are no ids; a label may be one, but then of an item in another column."""


@dataclass(frozen=True)
class Rules:
    """What the caller says about outcomes, unusable rows and columns."""

    outcomes: Outcomes
    order: tuple[str, ...]
    allow_dropped: bool
    columns: Mapping[str, str]


@dataclass(frozen=True)
class OpenTable:
    """A source with a recognized layout."""

    source: Source
    found: RecognizedLayout
    backend: Backend

    @property
    def outcome(self) -> str | None:
        """The column of the outcome of pairs, if there is one."""
        role = outcome_role(self.found.columns)
        return self.found.columns[role] if role else None

    def batches(self, names: IdDictionaries, rules: Rules, rows: int | None = None) -> Iterator[CheckedRows]:
        """Its checked rows, all at once or ``rows`` at a time."""
        done = 0
        for frame in self.frames(names, rows):
            part = check(self.found, frame, self.source.name, rules.outcomes, rules.order, done)
            done += part.rows
            yield part
        if not done:
            raise InputError(
                "there are no rows.", source=self.source.name, hint="Write a header line and at least one row."
            )

    def frames(self, names: IdDictionaries, rows: int | None = None) -> Iterator[pl.DataFrame]:
        """Its rows as they are, with their roles as names."""
        dtypes = {self.found.columns[role]: dtype for role, dtype in names.dtypes(self.found).items()}
        for frame in [self.source.read(dtypes)] if rows is None else self.source.batches(dtypes, rows):
            roles = [pl.col(column).alias(role) for role, column in self.found.columns.items()]
            yield frame.select(*roles, *([ROW] if self.source.numbered else []))

    def origin(self, rows: int, kept: int) -> Origin:
        """What notes can say about the source, of which ``kept`` of ``rows`` rows are in the table."""
        schema = self.source.table().collect_schema()
        ids = [column for role, column in self.found.columns.items() if role not in NUMBERS]
        decimals = tuple(column for column in ids if schema[column].is_float())
        table, data = self.source.form != "text", None if self.source.copied else self.source.data
        numbered = table and ROW not in schema
        return Origin(self.source.name, data, rows, kept, numbered, self.found.columns, decimals, table)


class IdDictionaries:
    """Dictionaries that turn ids into numbers while they are read.

    There is one dictionary for each sort of id, shared by all sources of a call, so that equal ids have equal
    numbers and no column of text is kept.
    """

    sorts: dict[str, pl.Categorical]

    def __init__(self) -> None:
        self.sorts = {sort: pl.Categorical(pl.Categories.random()) for sort in ("item", "worker", "query", "list")}

    def dtypes(self, found: RecognizedLayout) -> dict[str, pl.DataType]:
        """The type of each role's column: a dictionary of ids, or text that is still to be checked."""
        plain = {"weight", "timestamp", "rank"} | ({"label"} if found.kind == "ratings" else set())
        return {
            role: pl.String() if role in plain else self.sorts[role if role in self.sorts else "item"]
            for role in found.columns
        }


@dataclass(frozen=True)
class Census:
    """What is known about all rows after they have been read."""

    index: Index
    codes: dict[str, NDArray[np.int32]]  # for each sort of id: its number while reading -> its code
    sided: bool
    notes: tuple[Note, ...]
    backend: Backend
    origins: tuple[Origin, ...]
    list_ids: pl.Series | None = None

    def shared(self) -> dict[str, Any]:
        """The arguments that every table of judgments shares."""
        return {"index": self.index, "notes": self.notes, "backend": self.backend}


def check_all(
    tables: list[OpenTable], keep: Callable[[pl.DataFrame], None], rules: Rules, rows: int | None = None
) -> Census:
    """Check all rows, pass them to ``keep`` as they are read, and number the ids in sorted order."""
    names, ids, notes, sided = IdDictionaries(), dict[str, pl.Series](), tuple[Note, ...](), True
    origins, lost, queries = list[Origin](), None, list[pl.Series]()
    weights: WeightRange | None = None
    for table in tables:
        counts, done, kept = Counter[str](), 0, 0
        expected = table.source.rows() if rows else None
        announce(f"reading {table.source.name}", 0, expected)
        for part in table.batches(names, rules, rows):
            keep(part.frame)
            done, kept = done + part.rows, kept + part.frame.height
            announce(f"reading {table.source.name}", done, expected)
            counts += part.counts
            sided = sided and part.sided
            weights = part.weights.join(weights) if part.weights else weights
            queries += [] if part.queries is None else [part.queries]
            named = table.found.kind == "rankings" and "list" in part.frame.columns
            lists = {"list": part.frame["list"].unique()} if rows and named else {}
            for sort, own in {**part.ids, **lists}.items():
                ids[sort] = pl.concat([ids[sort], own]).unique() if sort in ids else own.unique()
        notes += table.found.notes + table.source.notes + notes_on_counts(table.source.name, counts)
        origins.append(table.origin(done, kept))
        if lost is None and not rules.allow_dropped and lost_too_many(done, counts):
            lost = (table, done, counts)
    if weights is not None:
        weights.check()
    if not any(origin.kept for origin in origins):
        raise no_rows_error(", ".join(table.source.name for table in tables), notes)
    if lost is not None:
        table, total, counts = lost
        other = other_reading(table.source, table.found, rules.columns)
        raise losses_error(table.source.name, total, counts, other)
    if queries:
        notes += note_lost_queries(pl.concat(queries), ids["query"])
    index, codes = {}, {}
    for sort, distinct in ids.items():
        order = distinct.cast(pl.String).arg_sort()
        index[sort] = distinct.gather(order).cast(pl.String).rename("id")
        numbers = distinct.gather(order).to_physical().to_numpy()
        codes[sort] = np.empty(int(numbers.max()) + 1, np.int32)
        codes[sort][numbers] = np.arange(len(numbers))
    rules.outcomes.require_no_items(index["item"])
    notes += rules.outcomes.notes()
    found = Index(index["item"], index.get("worker"), index.get("query"))
    backend = reduce(Backend.joined, (table.backend for table in tables))
    return Census(found, codes, sided, notes, backend, tuple(origins), index.get("list"))
