"""Read judgments: files or frames in, coded tables out. Errors name the bad cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data.coded import code_columns, label_numbers
from crowdrank.data.convert import choose_pairs
from crowdrank.data.ids import TEXT_IDS, Backend
from crowdrank.data.io.census import Census, OpenTable, Rules, check_all
from crowdrank.data.io.checks import no_rows_error
from crowdrank.data.io.columns import (
    LAYOUTS,
    OPTIONAL,
    Layout,
    RecognizedLayout,
    item_roles,
    parse_mapping,
    split_names,
    wide_columns,
)
from crowdrank.data.io.files import Source, open_sources
from crowdrank.data.io.frames import each_table, frame_of_rows, from_native, is_rows
from crowdrank.data.io.guesses import recognize_source
from crowdrank.data.io.letor import LetorRole
from crowdrank.data.io.outcomes import Outcomes, parse_outcomes
from crowdrank.data.io.split_queries import split_queries_note
from crowdrank.data.io.spooled import spool_tables
from crowdrank.data.io.wide_tables import refuse_item_column
from crowdrank.data.spool.folder import Spool
from crowdrank.data.spool.memory import ROW_BYTES, TEXT_SHARE, budget
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.spool.rows import SpooledRankings, SpooledRatings
from crowdrank.data.suspicions import find_suspicions
from crowdrank.data.suspicions.origins import Origin
from crowdrank.data.tables import Pairs, Rankings, Ratings
from crowdrank.errors import InputError, UsageError

AnyJudgments = Pairs | SpooledPairs | Ratings | SpooledRatings | Rankings | SpooledRankings
Given = Any  # a path, "-", a frame of pandas, Polars or PyArrow, or a sequence of these

MISSING = ("below", "unknown")


def read(
    given: Given,
    *,
    columns: Mapping[str, str] | Sequence[str] | str | None = None,
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
    files, ``"-"`` for standard input, a frame of pandas, Polars or PyArrow, a dict of lists, or a sequence of
    these, read as one table. ``columns`` maps roles to the names in the file: ``{"worker": "judge", "left":
    "a", ...}``, or ``"worker=judge,left=a"``.

    A list of rows is a table too. Rows are dicts, or tuples: (winner, loser), (left, right, label), (worker,
    winner, loser) or (worker, left, right, label). For other tuples, ``columns`` is the list of their names.
    The ids of a frame come back from results with the type that they had.

    Judgments that would take more than ``memory`` (``"8GB"`` or bytes; by default half of the free memory) are
    kept as coded Parquet files in a folder within ``spool`` (by default the system's temporary folder), which
    is removed when they are no longer used. Models accept them in the same way and give the same results.
    Some models need all ratings or rankings at once: they read them back into memory, and a note says so.

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

    >>> import polars as pl
    >>> import crowdrank as cr
    >>> pl.DataFrame({"rater": ["ann"], "a": ["x"], "b": ["y"], "choice": ["tie"]}).write_csv("votes.csv")
    >>> cr.read("votes.csv", columns="worker=rater,left=a,right=b,label=choice")
    Pairs(rows=1, workers=1, items=2, queries=1)
    >>> cr.read({"worker": ["ann", "ann"], "item": ["x", "y"], "label": [5, 3]})
    Ratings(rows=2, workers=1, items=2, queries=1)
    """
    if missing not in (None, *MISSING):
        raise UsageError(f"missing must be 'below' or 'unknown'. Got {missing!r}.")
    if isinstance(given, AnyJudgments):
        if outcomes or order:
            raise UsageError(
                "Outcomes and order are given when a file or a frame is read; this table was read before."
            )
        return _as_meant(given, missing, pairs)
    if is_rows(given):
        names = columns if isinstance(columns, Sequence) and not isinstance(columns, str) else None
        given, columns = frame_of_rows(given, names), None if names else columns
    if isinstance(columns, str):
        columns = parse_mapping(columns)
    if columns is not None and not isinstance(columns, Mapping):
        raise UsageError("A list of names for 'columns' is for a list of tuples.", hint="Map each role to a name.")
    meant = parse_outcomes(outcomes)
    limit, place, letor = budget(memory), Spool(spool), LetorRole("ranks")
    tables = [table for one in each_table(given) for table in open_tables(one, columns, letor, place, limit)]
    if not tables:
        raise InputError("No files were given.", hint="Name at least one file, or - for standard input.")
    require_same_layout(tables)
    outcome_rules = Outcomes(meant, partial(_outcome_values, tables), {}, set())
    rules = Rules(outcome_rules, parse_order(order), allow_dropped, columns or {})
    if rules.order and tables[0].found.kind != "ratings":
        raise UsageError(f"'order' applies only to ratings. These judgments are {tables[0].found.kind}.")
    if meant:
        _require_outcomes(tables)
    large = sum(table.source.rows() for table in tables) * ROW_BYTES > limit
    found, origins = spool_tables(tables, place, rules) if large else _load_tables(tables, rules)
    found = replace(found, notes=(*found.notes, *find_suspicions(found, origins)))
    return _as_meant(_note_queries(found, tables[0]), missing, pairs)


def _note_queries(found: AnyJudgments, table: OpenTable) -> AnyJudgments:
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
    if not isinstance(table, Rankings | SpooledRankings):
        raise UsageError(f"'missing' applies only to rankings. These judgments are {table.kind}.")
    notes = tuple(note for note in table.notes if note.code != "top-lists")  # the user has answered it
    return replace(table, missing=missing, notes=notes)


def open_tables(
    given: Given,
    mapping: Mapping[str, str] | None,
    letor: LetorRole,
    spool: Spool,
    limit: int,
    layouts: Sequence[Layout] = LAYOUTS,
) -> Iterator[OpenTable]:
    """The tables of one path or frame, with the columns that were recognized."""
    if isinstance(given, str | Path):
        sources, library = open_sources(given, letor, spool, limit // TEXT_SHARE), None
    else:
        frame, library = from_native(given)
        sources = [Source("frame", frame.lazy())]
    for source in (source.with_exact_values().with_inner_columns() for source in sources):
        own, roles = source, mapping
        wide = wide_columns(source.columns(), mapping)
        if wide:
            refuse_item_column(source.name, wide, mapping or {})
            named = {role: wide.name_for(role) for role in (wide.role, "item")}
            own, roles = source.as_long(wide), {**(mapping or {}), **named}
        found = recognize_source(own, roles, layouts)
        if "items" in found.columns:
            columns = {"item" if role == "items" else role: name for role, name in found.columns.items()}
            own, found = own.split(columns["item"]), replace(found, columns=columns)
        yield OpenTable(own, found, TEXT_IDS if library is None else _backend(library, own, found))


def _backend(library: str, source: Source, found: RecognizedLayout) -> Backend:
    """The kind of a frame: what its columns of items, workers and queries are."""
    names = {sort: [name] for sort, name in found.columns.items() if sort in ("worker", "query")}
    names["item"] = [found.columns[role] for role in item_roles(found.columns)]
    return Backend.of(library, source.schema(), names)


def _require_outcomes(tables: list[OpenTable]) -> None:
    """Raise an error if a table has no column for the outcome."""
    for table in tables:
        if table.outcome is None:
            kind = "pairs of a winner and a loser" if table.found.kind == "pairs" else table.found.kind
            raise UsageError(f"'outcomes' applies only to pairs with an outcome. {table.source.name} has {kind}.")


def _outcome_values(tables: list[OpenTable]) -> set[str]:
    """The distinct values in the columns of outcomes."""
    return {
        value for table in tables if table.outcome is not None for value in table.source.distinct(table.outcome)
    }


def require_same_layout(tables: list[OpenTable]) -> None:
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


def _load_tables(tables: list[OpenTable], rules: Rules) -> tuple[AnyJudgments, tuple[Origin, ...]]:
    frames: list[pl.DataFrame] = []
    known = check_all(tables, frames.append, rules)
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


def _pairs(frame: pl.DataFrame, known: Census) -> Pairs:
    columns: dict[str, Any] = code_columns(frame, known.codes, "left", "right")
    return Pairs(outcome=frame["outcome"].to_numpy(), sided=known.sided, **columns, **known.shared())


def _ratings(frame: pl.DataFrame, known: Census, order: tuple[str, ...]) -> Ratings:
    columns: dict[str, Any] = code_columns(frame, known.codes, "item")
    names = order or (tuple(frame["name"].unique().sort()) if "name" in frame.columns else ())
    return Ratings(
        label=label_numbers(frame, names),
        names=names,
        ordered=bool(order) or not names,
        **columns,
        **known.shared(),
    )


def _rankings(frame: pl.DataFrame, known: Census, where: str, *, cut: bool) -> Rankings:
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
