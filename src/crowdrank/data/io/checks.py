"""The checks of each kind of judgments: text cells in, typed columns out, omitted rows counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.io.cells import MISSING_WORDS, TextCells, first_row
from crowdrank.data.io.columns import RecognizedLayout
from crowdrank.data.tables import LEFT, RIGHT, TIE, UNKNOWN_WORKER
from crowdrank.errors import InputError, Note, Remedy

LEFT_WORDS = ("left", "model_a", "a", "a1")
RIGHT_WORDS = ("right", "model_b", "b", "a2")
BOTH_BAD_WORDS = ("both_bad", "bothbad", "both bad", "tie (bothbad)", "tie (both_bad)")
INCONSISTENT_WORDS = ("inconsistent", "tie (inconsistent)")
TIE_WORDS = ("tie", "equal", "same", "s", *BOTH_BAD_WORDS, *INCONSISTENT_WORDS)

COUNTED = {
    "no-outcome": ("1 row has no outcome and is left out.", "{} rows have no outcome and are left out."),
    "self-pairs": (
        "1 row compares an item with itself and is left out.",
        "{} rows compare an item with itself and are left out.",
    ),
    "both-bad": (
        "1 row says that both were bad; it counts as a tie.",
        "{} rows say that both were bad; they count as ties.",
    ),
    "inconsistent": (
        "1 row says that the answer changed with the order; it counts as a tie.",
        "{} rows say that the answer changed with the order; they count as ties.",
    ),
    "unknown-workers": (
        f"1 row names no worker and is kept under one worker, {UNKNOWN_WORKER}.",
        f"{{}} rows name no worker and are kept under one worker, {UNKNOWN_WORKER}.",
    ),
}
"""What is counted while rows are checked, and the message for one row and for several."""


@dataclass
class CheckedRows:
    """Rows with checked cells, under the canonical column names."""

    frame: pl.DataFrame
    rows: int  # how many there were
    ids: dict[str, pl.Series]  # every item, worker and query named, including in omitted rows
    counts: Counter[str] = field(default_factory=Counter)
    sided: bool = True


def notes_on_counts(name: str, counts: Counter[str]) -> tuple[Note, ...]:
    """The counts as notes."""
    return tuple(
        Note(code, f"{name}: {one if counts[code] == 1 else many.format(counts[code])}")
        for code, (one, many) in COUNTED.items()
        if counts[code]
    )


def no_rows_error(name: str, notes: tuple[Note, ...]) -> InputError:
    """The error if no row passes the checks."""
    reasons = " ".join(note.message for note in notes)
    return InputError(
        f"there are no usable rows. {reasons or 'Every row is blank, or has a weight of 0 or no rank.'}",
        source=name,
    )


def check(found: RecognizedLayout, frame: pl.DataFrame, name: str, offset: int = 0) -> CheckedRows:
    """Check rows of text; the first one is row ``offset`` + 1 of its file."""
    rows, cells = frame.height, TextCells(frame, found.columns, name, offset)
    frame = cells.frame
    cells.refuse_header()
    checked = {"pairs": _check_pairs, "ratings": _check_ratings, "rankings": _check_rankings}[found.kind](cells)
    columns, keep, counts = dict(checked.columns), checked.keep, checked.counts
    for role in ("query", "list"):
        if role in frame.columns:
            columns[role] = cells.required(role)
    if "worker" in frame.columns:
        columns["worker"], counts["unknown-workers"] = cells.worker()
    if "weight" in frame.columns:
        columns["weight"] = cells.weight()
        keep = keep & (columns["weight"].to_numpy() > 0)
    if "timestamp" in frame.columns:
        columns["timestamp"] = cells.timestamp()
    table = pl.DataFrame(columns)
    if not keep.all():
        table = table.filter(pl.Series(keep))
    ids = {"item": pl.concat([cells.distinct(role) for role in checked.items])}
    if "query" in columns:
        ids["query"] = cells.distinct("query")
    if "worker" in columns:
        ids["worker"] = columns["worker"].unique() if counts["unknown-workers"] else cells.distinct("worker")
    return CheckedRows(table, rows, ids, counts, checked.sided)


@dataclass
class _CheckedColumns:
    columns: dict[str, pl.Series]
    items: tuple[str, ...]  # the roles whose cells are items
    keep: NDArray[np.bool_]
    counts: Counter[str] = field(default_factory=Counter)
    sided: bool = True


def _check_pairs(cells: TextCells) -> _CheckedColumns:
    frame = cells.frame
    if "left" in frame.columns or "model_a" in frame.columns:
        sides = ("left", "right") if "left" in frame.columns else ("model_a", "model_b")
        left, right = cells.required(sides[0]), cells.required(sides[1])
        outcome = _read_outcome(cells, left, right)
        sided, counts = True, _count_tie_kinds(cells)
    else:
        sides = ("winner", "loser") if "loser" in frame.columns else ("top_item", "bottom_item")
        left, right = cells.required(sides[0]), cells.required(sides[1])
        outcome = pl.repeat(LEFT, frame.height, dtype=pl.Int8, eager=True)
        sided, counts = False, Counter[str]()
    for role, column in zip(sides, (left, right), strict=True):
        if "tie" in cells.words(role):
            row = first_row(column.cast(pl.String) == "tie")
            raise cells.error(role, row, "'tie' is an outcome and cannot be an item's id.")
    answered, different = outcome.is_not_null().to_numpy(), (left != right).to_numpy()
    counts |= Counter({"no-outcome": int((~answered).sum()), "self-pairs": int((~different).sum())})
    columns = {"left": left, "right": right, "outcome": outcome.fill_null(TIE)}
    return _CheckedColumns(columns, sides, answered & different, counts, sided)


def _read_outcome(cells: TextCells, left: pl.Series, right: pl.Series) -> pl.Series:
    """LEFT, RIGHT or TIE from the winner's id (``label``), or also from words (``winner``); null if empty."""
    role = "label" if "label" in cells.frame.columns else "winner"
    said = cells.frame[role]
    outcome = pl.repeat(None, len(said), dtype=pl.Int8, eager=True)
    outcome = outcome.set((said == right).fill_null(False), RIGHT).set((said == left).fill_null(False), LEFT)
    meanings: dict[tuple[str, ...], int] = {TIE_WORDS: TIE, LEFT_WORDS: LEFT, RIGHT_WORDS: RIGHT}
    if role == "label":
        meanings = {("tie",): TIE}
    for words, code in meanings.items():
        matches = cells.rows_meaning(role, words)
        if matches is None:
            continue
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
            problem = f"the outcome must be one of left, right, tie, {offered}."
            raise cells.error(role, row, problem)
        hint = ("Write the winning item's id, or tie. For left and right: ", Remedy("columns", "winner=NAME"))
        raise cells.error(role, row, f"the outcome must be one of {offered} or 'tie'.", hint)
    return outcome


def _count_tie_kinds(cells: TextCells) -> Counter[str]:
    """The number of rows with a special kind of tie, such as "both bad"."""
    if "winner" not in cells.frame.columns:
        return Counter()
    said = {"both-bad": BOTH_BAD_WORDS, "inconsistent": INCONSISTENT_WORDS}
    rows = {code: cells.rows_meaning("winner", words) for code, words in said.items()}
    return Counter({code: int(matches.sum()) for code, matches in rows.items() if matches is not None})


def _check_ratings(cells: TextCells) -> _CheckedColumns:
    columns = {"item": cells.required("item"), "label": cells.number("label")}
    return _CheckedColumns(columns, ("item",), np.ones(cells.frame.height, bool))


def _check_rankings(cells: TextCells) -> _CheckedColumns:
    item, rank = cells.required("item"), cells.number("rank", gaps=True)
    negative = (rank < 0).fill_null(False)
    if negative.any():
        hint = "Leave the cell empty if the item was not ranked."
        raise cells.error("rank", first_row(negative), "a rank cannot be negative.", hint)
    keys = [key for key in ("query", "worker", "list") if key in cells.frame.columns]
    rows = cells.frame.select(*keys, "item").with_row_index("row")
    twice = rows.filter(pl.struct(*keys, "item").is_duplicated())
    if not twice.is_empty():
        twice = twice.filter(~pl.struct(*keys, "item").is_first_distinct())
        raise repeat_error(cells, int(twice["row"][0]))
    columns = {"item": item, "rank": rank.fill_null(float("nan"))}
    return _CheckedColumns(columns, ("item",), np.ones(cells.frame.height, bool))


def repeat_error(cells: TextCells, row: int) -> InputError:
    """The error if a list ranks an item twice; ``row`` is the second time."""
    hint = "A list is one (query, worker); if a worker gave several, name a column that distinguishes them: "
    return cells.error(
        "item", row, "the item is ranked twice in one list.", (hint, Remedy("columns", "list=NAME"))
    )


def rows_naming(cells: TextCells, ids: Mapping[str, str]) -> list[int]:
    """The rows with these ids; ``ids`` has one for each role that identifies a row."""
    own = {"worker": cells.worker()[0]} if "worker" in ids else {}
    columns = [own.get(role, cells.frame[role]).cast(pl.String) == value for role, value in ids.items()]
    return pl.DataFrame(columns).select(pl.all_horizontal(pl.all())).to_series().arg_true().to_list()
