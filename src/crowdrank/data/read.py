"""Read and check judgments: files or frames in, coded tables out. Bad input is named to the cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.cells import MISSING_WORDS, Cells, first_row, from_native
from crowdrank.data.columns import Recognised, parse_mapping, recognise, wide_columns
from crowdrank.data.files import Source, open_source
from crowdrank.data.tables import LEFT, RIGHT, TIE, UNKNOWN_WORKER, Index, Pairs, Rankings, Ratings
from crowdrank.errors import InputError, Note

AnyJudgments = Pairs | Ratings | Rankings
Given = Any  # a path, "-", a frame of pandas, Polars or PyArrow, or a sequence of these

LEFT_WORDS = ("left", "model_a", "a", "a1")
RIGHT_WORDS = ("right", "model_b", "b", "a2")
TIE_WORDS = ("tie", "equal", "same", "s", "both_bad", "bothbad", "tie (bothbad)", "tie (both_bad)")


def read(given: Given, *, columns: Mapping[str, str] | str | None = None) -> AnyJudgments:
    """Judgments from files or frames; the kind is told by the columns.

    ``given`` is a path (CSV, TSV, JSONL, Parquet, TREC text, each also gzipped), ``"-"`` for standard
    input, a frame of pandas, Polars or PyArrow, or a sequence of these that are read as one table.
    ``columns`` maps roles to the names in the file: ``{"worker": "judge", "left": "a", ...}``, or
    ``"worker=judge,left=a"``.

    Raises InputError naming the file, row (the first data row is 1), column and value.
    """
    if isinstance(given, Pairs | Ratings | Rankings):
        return given
    if isinstance(columns, str):
        columns = parse_mapping(columns)
    many = isinstance(given, Sequence) and not isinstance(given, str)
    names = _Names()
    parts = [_load(one, columns, names) for one in (given if many else [given])]
    if not parts:
        raise InputError("No files were given.", hint="Name at least one file, or - for standard input.")
    _same(parts)
    table = parts[0] if len(parts) == 1 else _joined(parts)
    if table.kind == "pairs":
        return _pairs(table)
    return _ratings(table) if table.kind == "ratings" else _rankings(table)


@dataclass
class _Checked:
    """One source after its cells were checked, under the canonical column names."""

    kind: str
    name: str
    frame: pl.DataFrame
    ids: dict[str, pl.Series]  # every item, worker and query that is named, rows left out included
    backend: str
    sided: bool = True
    notes: tuple[Note, ...] = ()


class _Names:
    """Where ids become numbers while they are read: one dictionary for each sort of id, shared by all
    sources of one call, so that equal ids have equal numbers and no column of text is kept."""

    def __init__(self) -> None:
        self.sorts = {sort: pl.Categorical(pl.Categories.random()) for sort in ("item", "worker", "query", "list")}

    def dtypes(self, found: Recognised) -> dict[str, pl.DataType]:
        """The type of each role's column: a dictionary of ids, or text that is yet to be checked."""
        plain = {"weight", "timestamp", "rank"} | ({"label"} if found.kind == "ratings" else set())
        return {
            role: pl.String() if role in plain else self.sorts[role if role in self.sorts else "item"]
            for role in found.columns
        }


def _load(given: Given, mapping: Mapping[str, str] | None, names: _Names) -> _Checked:
    if isinstance(given, str | Path):
        source, backend = open_source(given), "polars"
    else:
        frame, backend = from_native(given)
        source = Source("frame", frame.lazy())
    wide = wide_columns(source.columns(), mapping)
    if wide:
        source, mapping = source.long(wide), {**(mapping or {}), wide.role: wide.role, "item": "item"}
    found = recognise(source.columns(), mapping, source.name)
    dtypes = {found.columns[role]: dtype for role, dtype in names.dtypes(found).items()}
    frame = source.read(dtypes)
    renamed = frame.select(pl.col(column).alias(role) for role, column in found.columns.items())
    return _check(found, renamed, source.name, backend)


def _same(parts: list[_Checked]) -> None:
    """Several sources must be of one kind and agree about the optional columns."""
    first = parts[0]
    for other in parts[1:]:
        if other.kind != first.kind:
            raise InputError(
                f"holds {other.kind}, but {first.name} holds {first.kind}.", source=other.name,
                hint="Rank one kind at a time, or convert them first.",
            )  # fmt: skip
        differ = sorted((set(first.frame.columns) ^ set(other.frame.columns)) - {"weight", "timestamp"})
        if differ:
            column = differ[0]
            lacks, has = (other, first) if column in first.frame.columns else (first, other)
            raise InputError(f"is missing, but {has.name} has it.", source=lacks.name, column=column)


def _joined(parts: list[_Checked]) -> _Checked:
    frame = pl.concat([part.frame for part in parts], how="diagonal")
    if "weight" in frame.columns:
        frame = frame.with_columns(pl.col("weight").fill_null(1.0))
    notes = tuple(note for part in parts for note in part.notes)
    sided = all(part.sided for part in parts)
    ids = {role: pl.concat([part.ids[role] for part in parts]) for role in parts[0].ids}
    return _Checked(parts[0].kind, parts[0].name, frame, ids, parts[0].backend, sided, notes)


# ---------------------------------------------------------------- checks: text in, typed columns out


def _check(found: Recognised, frame: pl.DataFrame, name: str, backend: str) -> _Checked:
    cells = Cells(frame, found.columns, name)
    frame = cells.frame
    if frame.is_empty():
        raise InputError("there are no rows.", source=name, hint="A header line and at least one row.")
    checked = {"pairs": _check_pairs, "ratings": _check_ratings, "rankings": _check_rankings}[found.kind](cells)
    columns, keep, notes = dict(checked.columns), checked.keep, list(checked.notes)
    unknown = 0
    for role in ("query", "list"):
        if role in frame.columns:
            columns[role] = cells.required(role)
    if "worker" in frame.columns:
        columns["worker"], unknown = cells.worker()
        if unknown:
            notes.append(Note("unknown-workers", _unknown_message(unknown, name)))
    if "weight" in frame.columns:
        columns["weight"] = cells.weight()
        keep = keep & (columns["weight"].to_numpy() > 0)
    if "timestamp" in frame.columns:
        columns["timestamp"] = cells.timestamp()
    table = pl.DataFrame(columns)
    if not keep.all():
        table = table.filter(pl.Series(keep))
    if table.is_empty():
        reasons = " ".join(note.message for note in notes) or "Every row has a weight of 0 or no rank."
        raise InputError(f"no row is left that can be used. {reasons}", source=name)
    ids = {"item": pl.concat([cells.distinct(role) for role in checked.items])}
    if "query" in columns:
        ids["query"] = cells.distinct("query")
    if "worker" in columns:
        ids["worker"] = columns["worker"].unique() if unknown else cells.distinct("worker")
    return _Checked(found.kind, name, table, ids, backend, checked.sided, tuple(notes))


def _unknown_message(count: int, name: str) -> str:
    rows = "1 row names no worker and is" if count == 1 else f"{count} rows name no worker and are"
    return f"{name}: {rows} kept as those of one worker, {UNKNOWN_WORKER}."


@dataclass
class _Kept:
    columns: dict[str, pl.Series]
    items: tuple[str, ...]  # the roles whose cells are items
    keep: NDArray[np.bool_]
    notes: tuple[Note, ...] = ()
    sided: bool = True


def _check_pairs(cells: Cells) -> _Kept:
    frame = cells.frame
    if "left" in frame.columns or "model_a" in frame.columns:
        sides = ("left", "right") if "left" in frame.columns else ("model_a", "model_b")
        left, right = cells.required(sides[0]), cells.required(sides[1])
        outcome = _outcome(cells, left, right)
        sided = True
    else:
        sides = ("winner", "loser") if "loser" in frame.columns else ("top_item", "bottom_item")
        left, right = cells.required(sides[0]), cells.required(sides[1])
        outcome = pl.repeat(LEFT, frame.height, dtype=pl.Int8, eager=True)
        sided = False
    for role, column in zip(sides, (left, right), strict=True):
        if "tie" in cells.words(role):
            row = first_row(column.cast(pl.String) == "tie")
            raise cells.error(role, row, "'tie' is an outcome and cannot be an item's id.")
    notes = []
    answered = outcome.is_not_null().to_numpy()
    if not answered.all():
        count = int((~answered).sum())
        rows = "1 row has no outcome and is" if count == 1 else f"{count} rows have no outcome and are"
        notes.append(Note("no-outcome", f"{cells.name}: {rows} left out."))
    different = (left != right).to_numpy()
    if not different.all():
        count = int((~different).sum())
        rows = "1 row compares" if count == 1 else f"{count} rows compare"
        left_out = "is left out" if count == 1 else "are left out"
        notes.append(Note("self-pairs", f"{cells.name}: {rows} an item with itself and {left_out}."))
    columns = {"left": left, "right": right, "outcome": outcome.fill_null(TIE)}
    return _Kept(columns, sides, answered & different, tuple(notes), sided)


def _outcome(cells: Cells, left: pl.Series, right: pl.Series) -> pl.Series:
    """LEFT, RIGHT or TIE from the winner's id (``label``), or also from words (``winner``); null where the
    cell is empty."""
    role = "label" if "label" in cells.frame.columns else "winner"
    said = cells.frame[role]
    outcome = pl.repeat(None, len(said), dtype=pl.Int8, eager=True)
    outcome = outcome.set((said == right).fill_null(False), RIGHT).set((said == left).fill_null(False), LEFT)
    meanings: dict[tuple[str, ...], int] = {TIE_WORDS: TIE, LEFT_WORDS: LEFT, RIGHT_WORDS: RIGHT}
    if role == "label":
        meanings = {("tie",): TIE}
    for words, code in meanings.items():
        meant = [value for value in cells.words(role) if value and value.strip().lower() in words]
        if not meant:
            continue
        matches = said.cast(pl.String).is_in(meant).fill_null(False)
        doubtful = matches & outcome.is_not_null() & (outcome != code)
        if role == "winner" and doubtful.any():
            raise cells.error(
                role, first_row(doubtful), "the outcome is the id of one item and a word for the other.",
                "Write the winning item's id in a column named label.",
            )  # fmt: skip
        outcome = outcome.set(matches & outcome.is_null(), code)
    asked = outcome.is_null() & ~said.cast(pl.String).fill_null("").str.strip_chars().is_in(MISSING_WORDS)
    if asked.any():
        row = first_row(asked)
        offered = f"{left[row]!r}, {right[row]!r}"
        if role == "winner":
            problem = f"the outcome is not understood: it is none of left, right, tie, {offered}."
            raise cells.error(role, row, problem)
        hint = "Write the winning item's id, or tie. For left and right: --columns winner=NAME"
        raise cells.error(role, row, f"the outcome is none of {offered} or 'tie'.", hint)
    return outcome


def _check_ratings(cells: Cells) -> _Kept:
    columns = {"item": cells.required("item"), "label": cells.number("label")}
    return _Kept(columns, ("item",), np.ones(cells.frame.height, bool))


def _check_rankings(cells: Cells) -> _Kept:
    item, rank = cells.required("item"), cells.number("rank", gaps=True)
    ranked = rank.is_not_null()
    keys = [key for key in ("query", "worker", "list") if key in cells.frame.columns]
    rows = cells.frame.select(*keys, "item").with_row_index("row").filter(ranked)
    twice = rows.filter(pl.struct(*keys, "item").is_duplicated())
    if not twice.is_empty():
        twice = twice.filter(~pl.struct(*keys, "item").is_first_distinct())
        raise cells.error(
            "item", int(twice["row"][0]), "the item is ranked twice in one list.",
            "A list is one (query, worker); if a worker gave several, name a column that tells them apart: "
            "--columns list=NAME",
        )  # fmt: skip
    return _Kept({"item": item, "rank": rank}, ("item",), ranked.to_numpy())


# ------------------------------------------------------------------ coding: typed columns in, tables out


def _shared(table: _Checked, *items: str) -> tuple[dict[str, NDArray[np.int32]], dict[str, Any]]:
    """The codes of the item columns; the optional columns, coded, with the index."""
    frame = table.frame
    ids, ranks = {}, {}
    for role, own in table.ids.items():
        distinct = own.unique()
        order = distinct.cast(pl.String).arg_sort()
        ids[role] = distinct.gather(order).cast(pl.String).rename("id")
        numbers = distinct.gather(order).to_physical().to_numpy()
        ranks[role] = np.empty(int(numbers.max()) + 1, np.int32)
        ranks[role][numbers] = np.arange(len(numbers))
    roles = {**dict.fromkeys(items, "item"), **{role: role for role in ids if role != "item"}}
    codes = {column: ranks[role][frame[column].to_physical().to_numpy()] for column, role in roles.items()}
    floats = {
        role: frame[role].cast(pl.Float64).to_numpy() if role in frame.columns else None
        for role in ("weight", "timestamp")
    }
    index = Index(ids["item"], ids.get("worker"), ids.get("query"))
    optional = {role: codes.get(role) for role in ("worker", "query")}
    return codes, {"index": index, **optional, **floats, "notes": table.notes, "backend": table.backend}


def _pairs(table: _Checked) -> Pairs:
    codes, shared = _shared(table, "left", "right")
    outcome = table.frame["outcome"].to_numpy()
    return Pairs(left=codes["left"], right=codes["right"], outcome=outcome, sided=table.sided, **shared)


def _ratings(table: _Checked) -> Ratings:
    codes, shared = _shared(table, "item")
    return Ratings(item=codes["item"], label=table.frame["label"].to_numpy(), **shared)


def _rankings(table: _Checked) -> Rankings:
    codes, shared = _shared(table, "item")
    keys = [key for key in ("query", "worker", "list") if key in table.frame.columns]
    lists = np.zeros(table.frame.height, np.int32)
    if keys:
        key = pl.struct(pl.col(keys).to_physical())
        dense = table.frame.select(key.rank("dense").cast(pl.Int32) - 1).to_series()
        lists = dense.to_numpy()
    rank = table.frame["rank"].to_numpy()
    return Rankings(item=codes["item"], rank=rank, list=lists, lists=int(lists.max()) + 1, **shared)
