"""Tables that do not fit in memory: their rows are written as files of numbers while they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from crowdrank.data.io.cells import TextCells
from crowdrank.data.io.census import Census, IdDictionaries, OpenTable, Rules, check_all
from crowdrank.data.io.checks import no_rows_error, repeat_error, rows_naming
from crowdrank.data.spool.folder import Spool, write_parquet
from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.spool.rows import SpooledRankings, SpooledRatings
from crowdrank.data.suspicions.origins import Origin

BATCH_ROWS = 1 << 22

SpooledTable = SpooledPairs | SpooledRatings | SpooledRankings


def spool_tables(tables: list[OpenTable], spool: Spool, rules: Rules) -> tuple[SpooledTable, tuple[Origin, ...]]:
    """Write the rows as files of numbers, one file per batch."""
    kind = tables[0].found.kind
    kept = _SpoolFiles(spool.folder(kind), tables)
    known = check_all(tables, kept.add, rules, BATCH_ROWS)
    shared: dict[str, Any] = {"files": tuple(kept.files), "codes": known.codes, "count": kept.rows, "spool": spool}
    shared |= known.shared()
    made: SpooledTable
    if kind == "pairs":
        made = SpooledPairs(sided=known.sided, **shared)
    elif kind == "ratings":
        if kept.names and kept.numbers:
            _refuse_text(tables)
        names = rules.order or tuple(sorted(kept.names))
        made = SpooledRatings(names=names, ordered=bool(rules.order) or not names, **shared)
    else:
        made = _rankings(tables, kept, known, shared)
    for table in tables:
        table.source.forget()
    return made, known.origins


def _rankings(
    tables: list[OpenTable], kept: _SpoolFiles, known: Census, shared: dict[str, Any]
) -> SpooledRankings:
    if not kept.ranked:
        raise no_rows_error(", ".join(table.source.name for table in tables), known.notes)
    below = any(table.source.cut for table in tables) or kept.ranked < kept.rows
    missing = "below" if below else "unknown"
    made = SpooledRankings(ranked=kept.ranked, missing=missing, list_ids=known.list_ids, **shared)
    _refuse_repeats(made, tables)
    return made


class _SpoolFiles:
    """Checked rows as files of numbers. All files have the same columns."""

    def __init__(self, folder: Path, tables: list[OpenTable]) -> None:
        self.folder, self.files, self.rows, self.ranked = folder, list[Path](), 0, 0
        self.names, self.numbers = set[str](), False  # labels that are text, and whether some are numbers
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
        if "name" in frame.columns:
            self.names.update(frame["name"].unique())
        self.numbers |= "label" in frame.columns
        if "rank" in frame.columns:
            self.ranked += int(frame["rank"].is_not_nan().sum())


def _refuse_repeats(rankings: SpooledRankings, tables: list[OpenTable]) -> None:
    """Raise an error if a list ranks an item twice. Within a batch, the checks have found it already."""
    repeat = rankings.find_repeat()
    if repeat is None:
        return
    names, seen = IdDictionaries(), 0
    for table in tables:
        done = 0
        for frame in table.frames(names, BATCH_ROWS):
            cells = TextCells(frame, table.found.columns, table.source.name, done)
            rows = rows_naming(cells, repeat)
            if seen + len(rows) > 1:
                raise repeat_error(cells, rows[1 - seen])
            seen, done = seen + len(rows), done + frame.height


def _refuse_text(tables: list[OpenTable]) -> None:
    """Raise an error for the first label that is text. Batches with nothing but text have passed the checks."""
    names = IdDictionaries()
    for table in tables:
        done = 0
        for frame in table.frames(names, BATCH_ROWS):
            TextCells(frame, table.found.columns, table.source.name, done).judged_number("label")
            done += frame.height
