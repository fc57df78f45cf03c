"""Read judgments: files or frames in, coded tables out. Errors name the bad cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.convert import choose_pairs
from crowdrank.data.index import Index
from crowdrank.data.io.cells import ROW, WeightRange, from_native
from crowdrank.data.io.checks import (
    CheckedRows,
    check,
    losses_error,
    lost_too_many,
    no_rows_error,
    notes_on_counts,
)
from crowdrank.data.io.columns import (
    OPTIONAL,
    RecognizedLayout,
    outcome_role,
    parse_mapping,
    split_names,
    wide_columns,
)
from crowdrank.data.io.files import Source, open_sources
from crowdrank.data.io.guesses import other_reading, recognize_source
from crowdrank.data.io.letor import LetorRole
from crowdrank.data.io.outcomes import Outcomes, parse_outcomes
from crowdrank.data.io.split_queries import split_queries_note
from crowdrank.data.spool.folder import Spool, write_parquet
from crowdrank.data.spool.memory import ROW_BYTES, TEXT_SHARE, budget
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.suspicions import find_suspicions
from crowdrank.data.suspicions.origins import Origin
from crowdrank.data.tables import Pairs, Rankings, Ratings, code_columns
from crowdrank.errors import InputError, Note, UsageError

AnyJudgments = Pairs | SpooledPairs | Ratings | Rankings
Given = Any  # a path, "-", a frame of pandas, Polars or PyArrow, or a sequence of these

BATCH_ROWS = 1 << 22
MISSING = ("below", "unknown")
NUMBERS = ("weight", "timestamp", "rank", "label")
"""Roles that are no ids; a label may be one, but then of an item in another column."""


def read(
    given: Given,
    *,
    columns: Mapping[str, str] | str | None = None,
    memory: str | int | None = None,
    spool: str | Path | None = None,
    missing: str | None = None,
    pairs: str | int | None = None,
    outcomes: Mapping[str, str] | str | None = None,
    order: Sequence[str] | str | None = None,
    allow_dropped: bool = False,
) -> AnyJudgments:
    """Judgments from files or frames; the columns determine the kind.

    ``given`` is a path (CSV, TSV, JSONL, Parquet, TREC text, each also gzipped), a folder of Parquet
    files, ``"-"`` for standard input, a frame of pandas, Polars or PyArrow, or a sequence of these,
    read as one table. ``columns`` maps roles to the names in the file: ``{"worker": "judge", "left":
    "a", ...}``, or ``"worker=judge,left=a"``.

    Pairs that would take more than ``memory`` (``"8GB"`` or bytes; by default half of the free memory) are
    kept as coded Parquet files in a folder within ``spool`` (by default the system's temporary folder), which
    is removed when they are no longer used. Models accept them in the same way and give the same results.

    ``missing`` applies only to rankings. It says what it means if a list does not rank an item of its query:
    ``"below"``, the item is below all ranked items; ``"unknown"``, nothing. The default is "below" for TREC
    runs and if lists name items without a rank (LETOR's NULL, an empty cell), otherwise "unknown".

    ``pairs`` applies to ratings and rankings. It says which pairs of a list a model of pairs sees: ``"auto"``, the
    default, all of them, but a sample of long lists; ``"all"``; a number of opponents for each item; or, for
    rankings, only the ``"adjacent"`` ones; see ``to_pairs``.

    ``outcomes`` applies only to pairs with a column for the outcome. It says what the values in it mean:
    ``{"1": "left", "2": "right", "0": "tie"}``, or ``"1=left,2=right,0=tie"``. A value that means nothing
    (``""``) leaves its rows out.

    ``order`` applies only to ratings whose labels are text. It gives the labels from worst to best:
    ``["bad", "good", "best"]``, or ``"bad,good,best"``. Without it such labels are names, which only the models
    of labels take.

    A pair of an item with itself, or without an outcome, is left out, with a note. If these are more than a tenth
    of the rows of a file, that is an error unless ``allow_dropped``.

    Raises InputError naming the file, row (the first data row is 1), column and value.
    """
    if missing not in (None, *MISSING):
        raise UsageError(f"missing must be 'below' or 'unknown'. Got {missing!r}.")
    if isinstance(given, Pairs | SpooledPairs | Ratings | Rankings):
        if outcomes or order:
            raise UsageError(
                "Outcomes and order are given when a file or a frame is read; this table was read before."
            )
        return _as_meant(given, missing, pairs)
    if isinstance(columns, str):
        columns = parse_mapping(columns)
    meant = parse_outcomes(outcomes)
    many = isinstance(given, Sequence) and not isinstance(given, str)
    limit, place, letor = budget(memory), Spool(spool), LetorRole("ranks")
    tables = [
        table for one in (given if many else [given]) for table in _open_tables(one, columns, letor, place, limit)
    ]
    if not tables:
        raise InputError("No files were given.", hint="Name at least one file, or - for standard input.")
    _require_same_layout(tables)
    outcome_rules = Outcomes(meant, partial(_outcome_values, tables), {}, set())
    rules = _Rules(outcome_rules, parse_order(order), allow_dropped, columns or {})
    if rules.order and tables[0].found.kind != "ratings":
        raise UsageError(f"'order' applies only to ratings. These judgments are {tables[0].found.kind}.")
    if meant:
        _require_outcomes(tables)
    large = sum(table.source.rows() for table in tables) * ROW_BYTES > limit
    spooled = tables[0].found.kind == "pairs" and large
    found, origins = _spool_pairs(tables, place, rules) if spooled else _load_tables(tables, rules)
    found = replace(found, notes=(*found.notes, *find_suspicions(found, origins)))
    return _as_meant(_note_queries(found, tables[0]), missing, pairs)


def _note_queries(found: AnyJudgments, table: _OpenTable) -> AnyJudgments:
    """The table with a note if queries that the user did not name split one ranking into many."""
    column = table.found.columns.get("query")
    if column is None or "query" in table.found.named or table.source.form == "text":
        return found
    more = split_queries_note(found, table.source.name, column)
    return replace(found, notes=(*found.notes, *more)) if more else found


def parse_order(given: Sequence[str] | str | None) -> tuple[str, ...]:
    """Labels from worst to best, from a sequence or from ``bad,good,best``."""
    if given is None:
        return ()
    order = tuple(split_names(given) if isinstance(given, str) else (str(label).strip() for label in given))
    if len(set(order)) != len(order) or not order:
        raise UsageError(f"The order names each label once, from worst to best. Got {', '.join(order)!r}.")
    return order


def _as_meant(table: AnyJudgments, missing: str | None, pairs: str | int | None) -> AnyJudgments:
    """The table with the caller's choice of what a missing item means, and of the pairs that count."""
    if pairs is not None:
        table = choose_pairs(table, pairs)
    if missing is None:
        return table
    if not isinstance(table, Rankings):
        raise UsageError(f"'missing' applies only to rankings. These judgments are {table.kind}.")
    return replace(table, missing=missing)


@dataclass(frozen=True)
class _Rules:
    """What the caller says about outcomes, unusable rows and columns."""

    outcomes: Outcomes
    order: tuple[str, ...]
    allow_dropped: bool
    columns: Mapping[str, str]


@dataclass(frozen=True)
class _OpenTable:
    """A source with a recognized layout."""

    source: Source
    found: RecognizedLayout
    backend: str

    @property
    def outcome(self) -> str | None:
        """The column of the outcome of pairs, if there is one."""
        role = outcome_role(self.found.columns)
        return self.found.columns[role] if role else None

    def batches(self, names: _IdDictionaries, rules: _Rules, rows: int | None = None) -> Iterator[CheckedRows]:
        """Its checked rows, all at once or ``rows`` at a time."""
        dtypes = {self.found.columns[role]: dtype for role, dtype in names.dtypes(self.found).items()}
        done = 0
        for frame in [self.source.read(dtypes)] if rows is None else self.source.batches(dtypes, rows):
            roles = [pl.col(column).alias(role) for role, column in self.found.columns.items()]
            renamed = frame.select(*roles, *([ROW] if self.source.numbered else []))
            part = check(self.found, renamed, self.source.name, rules.outcomes, rules.order, done)
            done += part.rows
            yield part
        if not done:
            raise InputError(
                "there are no rows.", source=self.source.name, hint="Write a header line and at least one row."
            )

    def origin(self, rows: int, kept: int) -> Origin:
        """What notes can say about the source, of which ``kept`` of ``rows`` rows are in the table."""
        schema = self.source.table().collect_schema()
        ids = [column for role, column in self.found.columns.items() if role not in NUMBERS]
        decimals = tuple(column for column in ids if schema[column].is_float())
        numbered = self.source.form != "text" and ROW not in schema
        data = None if self.source.copied else self.source.data
        return Origin(self.source.name, data, rows, kept, numbered, self.found.columns, decimals)


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
    for source in (source.with_exact_values() for source in sources):
        own, roles = source, mapping
        wide = wide_columns(source.columns(), mapping)
        if wide:
            own, roles = source.as_long(wide), {**(mapping or {}), wide.role: wide.role, "item": "item"}
        found = recognize_source(own, roles)
        if "items" in found.columns:
            columns = {"item" if role == "items" else role: name for role, name in found.columns.items()}
            own, found = own.split(columns["item"]), replace(found, columns=columns)
        yield _OpenTable(own, found, backend)


def _require_outcomes(tables: list[_OpenTable]) -> None:
    """Raise an error if a table has no column for the outcome."""
    for table in tables:
        if table.outcome is None:
            kind = "pairs of a winner and a loser" if table.found.kind == "pairs" else table.found.kind
            raise UsageError(f"'outcomes' applies only to pairs with an outcome. {table.source.name} has {kind}.")


def _outcome_values(tables: list[_OpenTable]) -> set[str]:
    """The distinct values in the columns of outcomes."""
    return {
        value for table in tables if table.outcome is not None for value in table.source.distinct(table.outcome)
    }


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
    origins: tuple[Origin, ...]

    def shared(self) -> dict[str, Any]:
        """The arguments that every table of judgments shares."""
        return {"index": self.index, "notes": self.notes, "backend": self.backend}


def _check_all(
    tables: list[_OpenTable], keep: Callable[[pl.DataFrame], None], rules: _Rules, rows: int | None = None
) -> _Census:
    """Check all rows, pass them to ``keep`` as they are read, and number the ids in sorted order."""
    names, ids, notes, sided = _IdDictionaries(), dict[str, pl.Series](), tuple[Note, ...](), True
    origins, lost = list[Origin](), None
    weights: WeightRange | None = None
    for table in tables:
        counts, done, kept = Counter[str](), 0, 0
        for part in table.batches(names, rules, rows):
            keep(part.frame)
            done, kept = done + part.rows, kept + part.frame.height
            counts += part.counts
            sided = sided and part.sided
            weights = part.weights.join(weights) if part.weights else weights
            for sort, own in part.ids.items():
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
    return _Census(found, codes, sided, notes, tables[0].backend, tuple(origins))


def _load_tables(tables: list[_OpenTable], rules: _Rules) -> tuple[AnyJudgments, tuple[Origin, ...]]:
    frames: list[pl.DataFrame] = []
    known = _check_all(tables, frames.append, rules)
    if len({"name" in frame.columns for frame in frames}) > 1:
        texts = [table.source.name for table, own in zip(tables, frames, strict=True) if "name" in own.columns]
        raise InputError(
            "has labels that are text, but other files have numbers.", source=texts[0], column="label"
        )
    frame = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal")
    if "weight" in frame.columns:
        frame = frame.with_columns(pl.col("weight").fill_null(1.0))
    if tables[0].found.kind == "pairs":
        return _pairs(frame, known), known.origins
    if tables[0].found.kind == "ratings":
        return _ratings(frame, known, rules.order), known.origins
    names = ", ".join(table.source.name for table in tables)
    return _rankings(frame, known, names, cut=any(table.source.cut for table in tables)), known.origins


def _pairs(frame: pl.DataFrame, known: _Census) -> Pairs:
    columns: dict[str, Any] = code_columns(frame, known.codes, "left", "right")
    return Pairs(outcome=frame["outcome"].to_numpy(), sided=known.sided, **columns, **known.shared())


def _ratings(frame: pl.DataFrame, known: _Census, order: tuple[str, ...]) -> Ratings:
    columns: dict[str, Any] = code_columns(frame, known.codes, "item")
    names = order or (tuple(frame["name"].unique().sort()) if "name" in frame.columns else ())
    if "name" in frame.columns:
        places = pl.Series(range(len(names)), dtype=pl.Float64)
        frame = frame.with_columns(label=pl.col("name").replace_strict(list(names), places))
    return Ratings(
        label=frame["label"].to_numpy(), names=names, ordered=bool(order) or not names, **columns, **known.shared()
    )


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


def _spool_pairs(tables: list[_OpenTable], spool: Spool, rules: _Rules) -> tuple[SpooledPairs, tuple[Origin, ...]]:
    """Write the pairs as files of numbers, one file per batch."""
    folder, files, rows = spool.folder("pairs"), list[Path](), 0
    weighted, timed = (any(role in table.found.columns for table in tables) for role in ("weight", "timestamp"))

    def keep(frame: pl.DataFrame) -> None:
        nonlocal rows
        more = [] if not weighted or "weight" in frame.columns else [pl.lit(1.0).alias("weight")]
        if timed and "timestamp" not in frame.columns:
            more.append(pl.lit(None, pl.Float64).alias("timestamp"))
        files.append(folder / f"{len(files):06d}.parquet")
        numbers = frame.with_columns(pl.col(pl.Categorical).to_physical(), *more)
        write_parquet(numbers, files[-1])
        rows += frame.height

    known = _check_all(tables, keep, rules, BATCH_ROWS)
    for table in tables:
        table.source.forget()
    pairs = SpooledPairs(
        files=tuple(files), codes=known.codes, count=rows, spool=spool, sided=known.sided, **known.shared()
    )
    return pairs, known.origins
