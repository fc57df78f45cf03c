"""Read judgments: files or frames in, coded tables out. Errors name the bad cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.convert import choose_pairs
from crowdrank.data.index import Index
from crowdrank.data.io.cells import ROW, TextCells, from_native
from crowdrank.data.io.checks import (
    CheckedRows,
    check,
    no_rows_error,
    notes_on_counts,
    repeat_error,
    rows_naming,
)
from crowdrank.data.io.columns import OPTIONAL, RecognizedLayout, parse_mapping, recognize, wide_columns
from crowdrank.data.io.files import Source, open_sources
from crowdrank.data.io.letor import LetorRole
from crowdrank.data.spool.folder import Spool, write_parquet
from crowdrank.data.spool.memory import ROW_BYTES, TEXT_SHARE, budget
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.spool.rows import SpooledRankings, SpooledRatings
from crowdrank.data.tables import Pairs, Rankings, Ratings, code_columns
from crowdrank.errors import InputError, Note, UsageError

AnyJudgments = Pairs | SpooledPairs | Ratings | SpooledRatings | Rankings | SpooledRankings
Given = Any  # a path, "-", a frame of pandas, Polars or PyArrow, or a sequence of these

BATCH_ROWS = 1 << 22
MISSING = ("below", "unknown")


def read(
    given: Given,
    *,
    columns: Mapping[str, str] | str | None = None,
    memory: str | int | None = None,
    spool: str | Path | None = None,
    missing: str | None = None,
    pairs: str | None = None,
) -> AnyJudgments:
    """Judgments from files or frames; the columns determine the kind.

    ``given`` is a path (CSV, TSV, JSONL, Parquet, TREC text, each also gzipped), a folder of Parquet
    files, ``"-"`` for standard input, a frame of pandas, Polars or PyArrow, or a sequence of these,
    read as one table. ``columns`` maps roles to the names in the file: ``{"worker": "judge", "left":
    "a", ...}``, or ``"worker=judge,left=a"``.

    Judgments that would take more than ``memory`` (``"8GB"`` or bytes; by default half of the free memory) are
    kept as coded Parquet files in a folder within ``spool`` (by default the system's temporary folder), which
    is removed when they are no longer used. Models accept them in the same way and give the same results.
    Some models need all ratings or rankings at once: they read them back into memory, and a note says so.

    ``missing`` applies only to rankings. It says what it means if a list does not rank an item of its query:
    ``"below"``, the item is below all ranked items; ``"unknown"``, nothing. The default is "below" for TREC
    runs and if lists name items without a rank (LETOR's NULL, an empty cell), otherwise "unknown".

    ``pairs`` applies only to rankings. It says which pairs of a list a model of pairs sees: ``"all"``, the
    default, or only the ``"adjacent"`` ones; see ``to_pairs``.

    Raises InputError naming the file, row (the first data row is 1), column and value.
    """
    if missing not in (None, *MISSING):
        raise UsageError(f"missing must be 'below' or 'unknown'. Got {missing!r}.")
    if isinstance(given, AnyJudgments):
        return _as_meant(given, missing, pairs)
    if isinstance(columns, str):
        columns = parse_mapping(columns)
    many = isinstance(given, Sequence) and not isinstance(given, str)
    limit, place, letor = budget(memory), Spool(spool), LetorRole("ranks")
    tables = [
        table for one in (given if many else [given]) for table in _open_tables(one, columns, letor, place, limit)
    ]
    if not tables:
        raise InputError("No files were given.", hint="Name at least one file, or - for standard input.")
    _require_same_layout(tables)
    large = sum(table.source.rows() for table in tables) * ROW_BYTES > limit
    return _as_meant(_spool_tables(tables, place) if large else _load_tables(tables), missing, pairs)


def _as_meant(table: AnyJudgments, missing: str | None, pairs: str | None) -> AnyJudgments:
    """The table with the caller's choice of what a missing item means, and of the pairs that count."""
    if pairs is not None:
        table = choose_pairs(table, pairs)
    if missing is None:
        return table
    if not isinstance(table, Rankings | SpooledRankings):
        raise UsageError(f"'missing' applies only to rankings. These judgments are {table.kind}.")
    return replace(table, missing=missing)


@dataclass(frozen=True)
class _OpenTable:
    """A source with a recognized layout."""

    source: Source
    found: RecognizedLayout
    backend: str

    def batches(self, names: _IdDictionaries, rows: int | None = None) -> Iterator[CheckedRows]:
        """Its checked rows, all at once or ``rows`` at a time."""
        done = 0
        for frame in self.frames(names, rows):
            part = check(self.found, frame, self.source.name, done)
            done += part.rows
            yield part
        if not done:
            raise InputError(
                "there are no rows.", source=self.source.name, hint="Write a header line and at least one row."
            )

    def frames(self, names: _IdDictionaries, rows: int | None = None) -> Iterator[pl.DataFrame]:
        """Its rows as they are, with their roles as names."""
        dtypes = {self.found.columns[role]: dtype for role, dtype in names.dtypes(self.found).items()}
        for frame in [self.source.read(dtypes)] if rows is None else self.source.batches(dtypes, rows):
            roles = [pl.col(column).alias(role) for role, column in self.found.columns.items()]
            yield frame.select(*roles, *([ROW] if ROW in frame.columns else []))


class _IdDictionaries:
    """Dictionaries that turn ids into numbers while they are read.

    There is one dictionary for each sort of id, shared by all sources of a call, so that equal ids have equal
    numbers and no column of text is kept.
    """

    def __init__(self) -> None:
        self.sorts = {sort: pl.Categorical(pl.Categories.random()) for sort in ("item", "worker", "query", "list")}

    def dtypes(self, found: RecognizedLayout) -> dict[str, pl.DataType]:
        """The type of each role's column: a dictionary of ids, or text that is still to be checked."""
        plain = {"weight", "timestamp", "rank"} | ({"label"} if found.kind == "ratings" else set())
        return {
            role: pl.String() if role in plain else self.sorts[role if role in self.sorts else "item"]
            for role in found.columns
        }


def _open_tables(
    given: Given, mapping: Mapping[str, str] | None, letor: LetorRole, spool: Spool, limit: int
) -> Iterator[_OpenTable]:
    if isinstance(given, str | Path):
        sources, backend = open_sources(given, letor, spool, limit // TEXT_SHARE), "polars"
    else:
        frame, backend = from_native(given)
        sources = [Source("frame", frame.lazy())]
    for source in sources:
        own, roles = source, mapping
        wide = wide_columns(source.columns(), mapping)
        if wide:
            own, roles = source.as_long(wide), {**(mapping or {}), wide.role: wide.role, "item": "item"}
        found = recognize(own.columns(), roles, own.name)
        if "items" in found.columns:
            columns = {"item" if role == "items" else role: name for role, name in found.columns.items()}
            own, found = own.split(columns["item"]), replace(found, columns=columns)
        yield _OpenTable(own, found, backend)


def _require_same_layout(tables: list[_OpenTable]) -> None:
    """Raise an error unless all sources hold one kind of judgments and have the same optional columns."""
    first = tables[0]
    for other in tables[1:]:
        if other.found.kind != first.found.kind:
            raise InputError(
                f"holds {other.found.kind}, but {first.source.name} holds {first.found.kind}.",
                source=other.source.name,
                hint="Rank one kind at a time, or convert them first.",
            )
        for role in sorted(set(OPTIONAL) - {"weight", "timestamp"}):
            if (role in first.found.columns) != (role in other.found.columns):
                lacks, has = (other, first) if role in first.found.columns else (first, other)
                raise InputError(
                    f"is missing, but {has.source.name} has it.", source=lacks.source.name, column=role
                )


# ------------------------------------------------------------------------------ checked rows in, tables out


@dataclass(frozen=True)
class _Census:
    """What is known about all rows after they have been read."""

    index: Index
    codes: dict[str, NDArray[np.int32]]  # for each sort of id: its number while reading -> its code
    sided: bool
    notes: tuple[Note, ...]
    backend: str
    list_ids: pl.Series | None = None

    def shared(self) -> dict[str, Any]:
        """The arguments that every table of judgments shares."""
        return {"index": self.index, "notes": self.notes, "backend": self.backend}


def _check_all(tables: list[_OpenTable], keep: Callable[[pl.DataFrame], None], rows: int | None = None) -> _Census:
    """Check all rows, pass them to ``keep`` as they are read, and number the ids in sorted order."""
    names, ids, notes, sided, left = _IdDictionaries(), dict[str, pl.Series](), tuple[Note, ...](), True, 0
    for table in tables:
        counts = Counter[str]()
        for part in table.batches(names, rows):
            keep(part.frame)
            left += part.frame.height
            counts += part.counts
            sided = sided and part.sided
            named = table.found.kind == "rankings" and "list" in part.frame.columns
            lists = {"list": part.frame["list"].unique()} if rows and named else {}
            for sort, own in {**part.ids, **lists}.items():
                ids[sort] = pl.concat([ids[sort], own]).unique() if sort in ids else own.unique()
        notes += table.source.notes + notes_on_counts(table.source.name, counts)
    if not left:
        raise no_rows_error(", ".join(table.source.name for table in tables), notes)
    index, codes = {}, {}
    for sort, distinct in ids.items():
        order = distinct.cast(pl.String).arg_sort()
        index[sort] = distinct.gather(order).cast(pl.String).rename("id")
        numbers = distinct.gather(order).to_physical().to_numpy()
        codes[sort] = np.empty(int(numbers.max()) + 1, np.int32)
        codes[sort][numbers] = np.arange(len(numbers))
    found = Index(index["item"], index.get("worker"), index.get("query"))
    return _Census(found, codes, sided, notes, tables[0].backend, index.get("list"))


def _load_tables(tables: list[_OpenTable]) -> AnyJudgments:
    frames: list[pl.DataFrame] = []
    known = _check_all(tables, frames.append)
    frame = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal")
    if "weight" in frame.columns:
        frame = frame.with_columns(pl.col("weight").fill_null(1.0))
    if tables[0].found.kind == "pairs":
        return _pairs(frame, known)
    if tables[0].found.kind == "ratings":
        return _ratings(frame, known)
    names = ", ".join(table.source.name for table in tables)
    return _rankings(frame, known, names, cut=any(table.source.cut for table in tables))


def _pairs(frame: pl.DataFrame, known: _Census) -> Pairs:
    columns: dict[str, Any] = code_columns(frame, known.codes, "left", "right")
    return Pairs(outcome=frame["outcome"].to_numpy(), sided=known.sided, **columns, **known.shared())


def _ratings(frame: pl.DataFrame, known: _Census) -> Ratings:
    columns: dict[str, Any] = code_columns(frame, known.codes, "item")
    return Ratings(label=frame["label"].to_numpy(), **columns, **known.shared())


def _rankings(frame: pl.DataFrame, known: _Census, where: str, *, cut: bool) -> Rankings:
    columns: dict[str, Any] = code_columns(frame, known.codes, "item")
    keys: dict[str, Any] = {key: columns[key] for key in ("query", "worker") if key in columns}
    if "list" in frame.columns:
        keys["list"] = frame["list"].cast(pl.String)
    lists = np.zeros(frame.height, np.int32)
    if keys:  # lists in the order of their ids
        numbered = pl.DataFrame(keys).select(pl.struct(pl.all()).rank("dense").cast(pl.Int32) - 1)
        lists = numbered.to_series().to_numpy()
    rank = frame["rank"].to_numpy()
    if np.isnan(rank).all():
        raise no_rows_error(where, known.notes)
    missing = "below" if cut or np.isnan(rank).any() else "unknown"
    return Rankings(
        rank=rank, list=lists, lists=int(lists.max()) + 1, missing=missing, **columns, **known.shared()
    )


def _spool_tables(tables: list[_OpenTable], spool: Spool) -> SpooledPairs | SpooledRatings | SpooledRankings:
    """Write the rows as files of numbers, one file per batch."""
    kept = _SpoolFiles(spool.folder(tables[0].found.kind), tables)
    known = _check_all(tables, kept.add, BATCH_ROWS)
    shared: dict[str, Any] = {"files": tuple(kept.files), "codes": known.codes, "count": kept.rows, "spool": spool}
    made: SpooledPairs | SpooledRatings | SpooledRankings
    if tables[0].found.kind == "pairs":
        made = SpooledPairs(sided=known.sided, **shared, **known.shared())
    elif tables[0].found.kind == "ratings":
        made = SpooledRatings(**shared, **known.shared())
    else:
        if not kept.ranked:
            raise no_rows_error(", ".join(table.source.name for table in tables), known.notes)
        below = any(table.source.cut for table in tables) or kept.ranked < kept.rows
        missing = "below" if below else "unknown"
        made = SpooledRankings(
            ranked=kept.ranked, missing=missing, list_ids=known.list_ids, **shared, **known.shared()
        )
        _refuse_repeats(made, tables)
    for table in tables:
        table.source.forget()
    return made


class _SpoolFiles:
    """Checked rows as files of numbers. All files have the same columns."""

    def __init__(self, folder: Path, tables: list[_OpenTable]) -> None:
        self.folder, self.files, self.rows, self.ranked = folder, list[Path](), 0, 0
        found = {role for table in tables for role in table.found.columns}
        defaults: dict[str, float | None] = {"weight": 1.0, "timestamp": None}
        self.more = {
            role: pl.lit(value, pl.Float64).alias(role) for role, value in defaults.items() if role in found
        }

    def add(self, frame: pl.DataFrame) -> None:
        """Write one batch."""
        more = [column for role, column in self.more.items() if role not in frame.columns]
        self.files.append(self.folder / f"{len(self.files):06d}.parquet")
        write_parquet(frame.with_columns(pl.col(pl.Categorical).to_physical(), *more), self.files[-1])
        self.rows += frame.height
        if "rank" in frame.columns:
            self.ranked += int(frame["rank"].is_not_nan().sum())


def _refuse_repeats(rankings: SpooledRankings, tables: list[_OpenTable]) -> None:
    """Raise an error if a list ranks an item twice. Within a batch, the checks have found it already."""
    repeat = rankings.find_repeat()
    if repeat is None:
        return
    names, seen = _IdDictionaries(), 0
    for table in tables:
        done = 0
        for frame in table.frames(names, BATCH_ROWS):
            cells = TextCells(frame, table.found.columns, table.source.name, done)
            rows = rows_naming(cells, repeat)
            if seen + len(rows) > 1:
                raise repeat_error(cells, rows[1 - seen])
            seen, done = seen + len(rows), done + frame.height
