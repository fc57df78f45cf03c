"""The checks of each kind of judgments: text cells in, typed columns out, omitted rows counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.ids import UNKNOWN_WORKER
from crowdrank.data.io.cells import MISSING_WORDS, TextCells, WeightRange, first_row
from crowdrank.data.io.columns import RecognizedLayout, join_names, outcome_role
from crowdrank.data.io.outcomes import BOTH_BAD_WORDS, INCONSISTENT_WORDS, Outcomes
from crowdrank.data.tables import LEFT, RIGHT, TIE
from crowdrank.errors import Hint, InputError, Note, Remedy, Retry, count_noun

MOST_DROPPED = 0.1
"""The share of a file's rows that may be unusable. More of them mean that the file is not what it seems to be."""


_SHOWN = 5
OTHER_SIDE = {LEFT: RIGHT, RIGHT: LEFT, TIE: TIE}

SAME_ID = "Write the id in the same way in both columns."

COUNTED = {
    "no-outcome": ("1 row has no outcome and is left out.", "{} rows have no outcome and are left out."),
    "self-pairs": (
        "1 row compares an item with itself and is left out.",
        "{} rows compare an item with itself and are left out.",
    ),
    "outcomes-left-out": (
        "1 row has an outcome without a meaning and is left out, as asked.",
        "{} rows have an outcome without a meaning and are left out, as asked.",
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

UNUSABLE = {
    "no-outcome": ("1 row has no outcome.", "{} rows have no outcome."),
    "self-pairs": ("1 row compares an item with itself.", "{} rows compare an item with itself."),
}
"""Why rows are left out, if there are too many of them."""


@dataclass
class CheckedRows:
    """Rows with checked cells, under the canonical column names."""

    frame: pl.DataFrame
    rows: int  # how many there were
    ids: dict[
        str, pl.Series
    ]  # every item and worker named, including in omitted rows, and the queries of the others
    counts: Counter[str] = field(default_factory=Counter)
    sided: bool = True
    weights: WeightRange | None = None
    queries: pl.Series | None = None  # all queries named, if rows were omitted


def notes_on_counts(
    name: str, counts: Counter[str], codes: Mapping[str, tuple[str, str]] = COUNTED
) -> tuple[Note, ...]:
    """The counts as notes."""
    return tuple(
        Note(code, f"{name}: {one if counts[code] == 1 else many.format(counts[code])}")
        for code, (one, many) in codes.items()
        if counts[code]
    )


def note_lost_queries(named: pl.Series, kept: pl.Series) -> tuple[Note, ...]:
    """A note on queries that are named, but of which no row is kept."""
    lost = named.filter(~named.is_in(kept.implode())).unique().cast(pl.String).sort().to_list()
    if not lost:
        return ()
    shown = ", ".join(map(repr, lost[:_SHOWN])) + (f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else "")
    have = count_noun(len(lost), "query has", "queries have")
    return (Note("lost-queries", f"{have} no ranking, because every row was left out: {shown}."),)


def no_rows_error(name: str, notes: tuple[Note, ...]) -> InputError:
    """The error if no row passes the checks."""
    reasons = " ".join(note.message for note in notes)
    return InputError(
        f"there are no usable rows. {reasons or 'Every row is blank, or has a weight of 0 or no rank.'}",
        source=name,
    )


def lost_too_many(rows: int, counts: Counter[str]) -> bool:
    """Whether more rows of a file are unusable than may be."""
    return counts["unusable"] > MOST_DROPPED * rows


def losses_error(name: str, rows: int, counts: Counter[str], other: Hint) -> InputError:
    """The error for too many unusable rows. ``other``: how else the file might be read."""
    reasons = " ".join(note.message.partition(": ")[2] for note in notes_on_counts(name, counts, UNUSABLE))
    allow = ("If the rows are right as they are, leave these out: ", Remedy("allow_dropped", "True"))
    return InputError(
        f"{counts['unusable']} of {rows} rows cannot be used, which is more than {MOST_DROPPED:.0%}. {reasons}",
        source=name,
        hint=(*other, "\n", *allow) if other else allow,
    )


def check(
    found: RecognizedLayout,
    frame: pl.DataFrame,
    name: str,
    outcomes: Outcomes,
    order: Sequence[str] = (),
    offset: int = 0,
) -> CheckedRows:
    """Check rows of text; the first one is row ``offset`` + 1 of its file. ``order``: of labels that are text."""
    rows, cells = frame.height, TextCells(frame, found.columns, name, offset)
    frame = cells.frame
    cells.refuse_header()
    if found.kind == "pairs":
        checked = _check_pairs(cells, outcomes)
    elif found.kind == "ratings":
        checked = _check_ratings(cells, order)
    else:
        checked = _check_rankings(cells)
    columns, keep, counts, weights = dict(checked.columns), checked.keep, checked.counts, None
    for role in ("query", "list"):
        if role in frame.columns:
            columns[role] = cells.required(role)
    if "worker" in frame.columns:
        columns["worker"], counts["unknown-workers"] = cells.worker()
    if "weight" in frame.columns:
        columns["weight"] = cells.weight()
        weights = cells.weight_range(columns["weight"])
        keep = keep & (columns["weight"].to_numpy() > 0)
    if "timestamp" in frame.columns:
        columns["timestamp"] = cells.timestamp()
    table = pl.DataFrame(columns)
    if not keep.all():
        table = table.filter(pl.Series(keep))
    ids = {"item": pl.concat([cells.distinct(role) for role in checked.items])}
    if "query" in columns:  # a query without a row would be one without items
        ids["query"] = cells.distinct("query") if keep.all() else table["query"].unique()
    if "worker" in columns:
        ids["worker"] = columns["worker"].unique() if counts["unknown-workers"] else cells.distinct("worker")
    named = cells.distinct("query") if "query" in columns and not keep.all() else None
    return CheckedRows(table, rows, ids, counts, checked.sided, weights, named)


@dataclass
class _CheckedColumns:
    columns: dict[str, pl.Series]
    items: tuple[str, ...]  # the roles whose cells are items
    keep: NDArray[np.bool_]
    counts: Counter[str] = field(default_factory=Counter)
    sided: bool = True


def _check_pairs(cells: TextCells, outcomes: Outcomes) -> _CheckedColumns:
    frame = cells.frame
    counts = Counter[str]()
    if "left" in frame.columns or "model_a" in frame.columns:
        sides = ("left", "right") if "left" in frame.columns else ("model_a", "model_b")
        left, right = cells.required(sides[0]), cells.required(sides[1])
        outcome, ignored = _read_outcome(cells, sides, outcomes)
        sided, counts = True, _count_tie_kinds(cells, outcomes)
        counts["outcomes-left-out"] = int(ignored.sum())
    else:
        sides = ("winner", "loser") if "loser" in frame.columns else ("top_item", "bottom_item")
        left, right = cells.required(sides[0]), cells.required(sides[1])
        outcome, ignored = pl.repeat(LEFT, frame.height, dtype=pl.Int8, eager=True), np.zeros(frame.height, bool)
        sided = False
    for role, column in zip(sides, (left, right), strict=True):
        if "tie" in cells.words(role):
            row = first_row(column.cast(pl.String) == "tie")
            raise cells.error(role, row, "'tie' is an outcome and cannot be an item's id.")
    answered, different = outcome.is_not_null().to_numpy(), (left != right).to_numpy()
    asked = answered | ignored
    counts["no-outcome"], counts["self-pairs"] = int((~asked).sum()), int((~different).sum())
    counts["unusable"] = int((~(asked & different)).sum())
    columns = {"left": left, "right": right, "outcome": outcome.fill_null(TIE)}
    return _CheckedColumns(columns, sides, answered & different, counts, sided)


def _read_outcome(
    cells: TextCells, sides: tuple[str, str], outcomes: Outcomes
) -> tuple[pl.Series, NDArray[np.bool_]]:
    """LEFT, RIGHT or TIE of each row, null if empty; and the rows that the user leaves out.

    What the user said comes first, then the winner's id, then words. A word that is the id of the other item is
    an error, unless the column is a ``label``: that holds ids before anything else. In a column of the ``loser``
    ids and words name the side that lost; what the user said is always who won.
    """
    role = _outcome_role(cells)
    losing = role == "loser"
    words, said = cells.words(role), cells.frame[role]
    given = outcomes.said(words)
    ignored = _code_words(cells, role, {word: 1 for word, code in given.items() if code is None}).is_not_null()
    outcome = _code_words(cells, role, {word: code for word, code in given.items() if code is not None})
    for side, code in zip(reversed(sides), (LEFT, RIGHT) if losing else (RIGHT, LEFT), strict=True):
        named = (said == cells.frame[side]).fill_null(False)
        outcome = outcome.set(named & outcome.is_null() & ~ignored, code) if given else outcome.set(named, code)
    columns = (cells.columns[sides[0]], cells.columns[sides[1]])
    meanings = outcomes.meanings(words - set(given), *columns)
    if losing:
        meanings = {word: OTHER_SIDE[code] for word, code in meanings.items()}
    meant = _code_words(cells, role, meanings)
    doubtful = (meant != outcome).fill_null(False)
    if role == "winner" and doubtful.any():
        neither = (outcome.is_null() & meant.is_not_null() & (meant != TIE)).any()
        as_ids = ("Say that it is an id: ", Retry((Remedy("columns", _as_label(cells.columns)),)))
        problem = "the outcome is the id of one item and a word for the other."
        raise cells.error(role, first_row(doubtful), problem, outcomes.sides_hint() if neither else as_ids)
    missing = _code_words(cells, role, {word: 1 for word in words if word and word.strip() in MISSING_WORDS})
    open_rows = outcome.is_null() & ~ignored & missing.is_null() & said.is_not_null()
    if open_rows.any():
        rest = set(said.filter(open_rows).unique().cast(pl.String))
        guessed = {} if losing else outcomes.guess(rest, *columns)
        meant = meant.fill_null(_code_words(cells, role, guessed))
        _note_words(cells, role, open_rows & meant.is_not_null(), outcomes)
        outcome = outcome.fill_null(meant)
        if (asked := open_rows & outcome.is_null()).any():
            raise _outcome_error(cells, role, sides, outcomes, asked)
    return outcome, ignored.to_numpy()


def _outcome_role(cells: TextCells) -> str:
    role = outcome_role(cells.frame.columns)
    assert role is not None
    return role


def _as_label(columns: Mapping[str, str]) -> str:
    return join_names(f"{'label' if role == 'winner' else role}={name}" for role, name in columns.items())


def _code_words(cells: TextCells, role: str, codes: Mapping[str, int]) -> pl.Series:
    """The code of each cell; null if its word has none. By the numbers of the words, which is fast."""
    column, distinct = cells.frame[role], cells.distinct(role).drop_nulls()
    if not codes or distinct.is_empty():
        return pl.repeat(None, len(column), dtype=pl.Int8, eager=True)
    numbers = distinct.to_physical().to_numpy()
    table = np.full(int(numbers.max()) + 2, -1, np.int8)
    table[numbers] = [codes.get(word, -1) for word in distinct.cast(pl.String)]
    found = pl.Series(table[column.to_physical().fill_null(len(table) - 1).to_numpy()])
    return found.set(found < 0, None)


def _note_words(cells: TextCells, role: str, rows: pl.Series, outcomes: Outcomes) -> None:
    """Keep the first place of each word that was read as an outcome."""
    first = cells.frame.lazy().select(word=pl.col(role).cast(pl.String), row=pl.int_range(pl.len())).filter(rows)
    for word, row in first.group_by("word").agg(pl.col("row").min()).collect().iter_rows():
        outcomes.used.setdefault(word, (cells.name, cells.row_number(row), cells.columns[role]))


def _outcome_error(
    cells: TextCells, role: str, sides: tuple[str, str], outcomes: Outcomes, asked: pl.Series
) -> InputError:
    """The error for the first outcome that is not understood."""
    row = first_row(asked)
    left, right = (cells.frame[side] for side in sides)
    said = cells.frame[role]
    for item in (left[row], right[row]):
        if difference := _small_difference(said[row], item):
            return cells.error(role, row, f"the outcome differs from {item!r} only by {difference}.", SAME_ID)
    problem = f"the outcome must be one of left, right, tie, {left[row]!r}, {right[row]!r}."
    ids = int(((said == left) | (said == right)).fill_null(False).sum())
    items = cells.words(sides[0]) | cells.words(sides[1])
    if ids < int(asked.sum()):
        return cells.error(role, row, problem, outcomes.hint([cells.columns[side] for side in sides], items))
    words = sorted(set(said.filter(asked).cast(pl.String)) - items)
    ties = outcomes.tie_hint(words) if words else ()
    verb = "lost" if role == "loser" else "won"
    return cells.error(role, row, problem, (f"Write the id of the item that {verb}, or tie.", *ties))


def _small_difference(said: str, item: str) -> str | None:
    """By what the two differ, if that is only case, spaces at the ends, or a final .0."""
    parts = [re.fullmatch(r"(\s*)(.*?)((?<=\d)\.0+)?(\s*)", text, re.DOTALL) for text in (said, item)]
    (left, one, zeros, right), (start, other, more, end) = (part.groups() if part else ("",) * 4 for part in parts)
    if one.casefold() != other.casefold():
        return None
    differ = {"spaces": (left, right) != (start, end), "a final .0": zeros != more, "case": one != other}
    return " and ".join(name for name, differs in differ.items() if differs)


def _count_tie_kinds(cells: TextCells, outcomes: Outcomes) -> Counter[str]:
    """The number of rows with a special kind of tie, such as "both bad", unless the user said what it means."""
    role = _outcome_role(cells)
    said = {"both-bad": BOTH_BAD_WORDS, "inconsistent": INCONSISTENT_WORDS}
    rows = {
        code: cells.rows_meaning(role, [word for word in words if word not in outcomes.given])
        for code, words in said.items()
    }
    return Counter({code: int(matches.sum()) for code, matches in rows.items() if matches is not None})


def _check_ratings(cells: TextCells, order: Sequence[str]) -> _CheckedColumns:
    """Labels are numbers, or places in the ``order``, or text that stands in a column ``name`` if no label is a
    number."""
    columns = {"item": cells.required("item")}
    label = cells.frame["label"].str.strip_chars()
    if order:
        columns["label"] = label.replace_strict(
            list(order), range(len(order)), default=None, return_dtype=pl.Float64
        )
        if columns["label"].null_count():
            row = first_row(columns["label"].is_null())
            hint = _order_hint(label.filter(columns["label"].is_null()), order)
            raise cells.error("label", row, "the label is not in the order that was given.", hint)
    elif are_words(label):
        missing = label.is_null() | label.is_in(MISSING_WORDS)
        if missing.any():
            hint = "If the item was not rated, remove this row and others like it."
            raise cells.error("label", first_row(missing), "the label is missing.", hint)
        columns["name"] = label
    else:
        columns["label"] = cells.judged_number("label")
    return _CheckedColumns(columns, ("item",), np.ones(cells.frame.height, bool))


def _order_hint(others: pl.Series, order: Sequence[str]) -> str:
    """What is in the order, and which of the other labels it lacks."""
    lacking = others.filter(~others.is_in(MISSING_WORDS)).drop_nulls().unique().sort()
    named = (
        f"It lacks {', '.join(map(repr, lacking))}. Name all labels, from worst to best. " if len(lacking) else ""
    )
    return f"{named}The order is {', '.join(map(repr, order))}."


def are_words(label: pl.Series) -> bool:
    """Whether every label is text, and none of them a number, whether or not that is written as it should be."""
    distinct = label.drop_nulls().unique()
    distinct = distinct.filter(~distinct.is_in(MISSING_WORDS))
    numbers = distinct.cast(pl.Float64, strict=False).is_not_null() | distinct.str.contains(r"^[+-]?[\d.,]+\s*%?$")
    return len(distinct) > 0 and not numbers.any()


def _check_rankings(cells: TextCells) -> _CheckedColumns:
    item, rank = cells.required("item"), cells.judged_number("rank", gaps=True)
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
