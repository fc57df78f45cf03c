"""Frames of any library, and plain Python values, as Polars frames: dicts of columns, and lists of rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data.ids import id_text
from crowdrank.data.io.outcomes import TIE_WORDS
from crowdrank.errors import InputError

SIDES = ("left", "right")
SHARED = 0.5
"""Winners and losers have at least this share of their ids in common."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
_EXAMPLES = {3: '"worker", "winner", "loser"', 4: '"query", "worker", "item", "label"'}
"""What the values of tuples may be, for hints."""


def from_native(frame: Any, what: str = "Judgments") -> tuple[pl.DataFrame, str]:
    """A frame of any library, or plain values, as Polars with NaN as missing, and the name of the library."""
    import narwhals as nw

    if isinstance(frame, Mapping) or is_rows(frame):
        frame = frame_of_columns(frame) if isinstance(frame, Mapping) else frame_of_rows(frame)
    try:
        native = nw.from_native(frame)
    except nw.exceptions.DuplicateError as error:
        raise InputError(f"The frame has two columns with the same name: {error}") from error
    except TypeError:
        raise InputError(
            f"{what} are read from a path or a frame of pandas, Polars or PyArrow, or from plain lists or dicts.",
            value=type(frame).__name__,
        ) from None
    try:
        if isinstance(native, nw.LazyFrame):
            native = native.collect()
        backend = str(native.implementation.value)
        polars = _to_polars(native)
    except InputError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        raise InputError(f"The frame cannot be read: {error}", hint="Give every column a single type.") from error
    return polars.with_columns(pl.selectors.float().fill_nan(None)), backend


def _to_polars(native: Any) -> pl.DataFrame:
    """A frame of narwhals as Polars; a column of ids and words, such as 7 and "tie", is text."""
    try:
        return native.to_polars()
    except (Exception, pl.exceptions.PanicException):
        return frame_of_columns({name: native[name].to_list() for name in native.columns})


def each_table(given: Any) -> list[Any]:
    """The tables of a sequence of files or frames, or the one table that is given."""
    many = isinstance(given, Sequence) and not isinstance(given, str) and not is_rows(given)
    return list(given) if many else [given]


def is_rows(given: Any) -> bool:
    """Whether this is a list of rows, not of files or frames."""
    if isinstance(given, np.ndarray):
        return given.ndim == 2
    if not _is_sequence(given) or not len(given):
        return False
    first = given[0]
    if isinstance(first, Mapping):  # a dict of lists is a table of its own
        return not all(map(_is_sequence, first.values()))
    return _is_sequence(first)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def frame_of_rows(rows: Any, names: Sequence[str] | None = None) -> pl.DataFrame:
    """A frame of rows. ``names`` are the columns of tuples; without them, the content says what tuples are.

    Pairs of values are (winner, loser). Of three values, the last is the winner's id, ``left``, ``right`` or
    ``tie``: (left, right, label); otherwise they are (worker, winner, loser). Four are (worker, left, right,
    label). Tuples that could be something else are an error, as are rows of several lengths.
    """
    if isinstance(rows[0], Mapping):
        return frame_of_columns({name: [row.get(name) for row in rows] for row in rows for name in row})
    rows = rows.tolist() if isinstance(rows, np.ndarray) else rows
    width = len(rows[0])
    for place, row in enumerate(rows):
        if not _is_sequence(row) or len(row) != width:
            problem = f"a tuple of {width} values is needed, as in the first row."
            raise InputError(problem, source="rows", row=place + 1, value=row)
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = names or getattr(rows[0], "_fields", None) or _names_of(columns)
    if len(names) != width:
        raise InputError(
            f"Each row has {width} values, but {len(names)} columns are named: {', '.join(map(str, names))}."
        )
    return frame_of_columns(dict(zip(names, columns, strict=True)))


def frame_of_columns(columns: Mapping[str, Any]) -> pl.DataFrame:
    """A dict of columns as a frame. Columns of several lengths, or of values that are not plain, are an error."""
    found = {str(name): _column(str(name), values) for name, values in columns.items()}
    lengths = {name: len(column) for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise InputError(f"The columns need one length, but {shown} values.")
    return pl.DataFrame(found)


def _column(name: str, values: Any) -> pl.Series:
    """A column; values of several types, such as 7 and "tie", become text."""
    if not _is_sequence(values) and not hasattr(values, "__array__"):
        raise InputError("a list of values is needed.", source="dict", column=name, value=values)
    try:
        return pl.Series(name, values)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        texts = [None if value is None or value != value else value for value in values]
        if not all(isinstance(value, str | int | float | None) for value in texts):
            problem = f"holds values that are not plain: {str(error).splitlines()[0]}"
            raise InputError(problem, source="dict", column=name) from error
        return pl.Series(name, [None if value is None else id_text(value) for value in texts], pl.String)


def _names_of(columns: Sequence[list[Any]]) -> tuple[str, ...]:
    """What the values of tuples are."""
    texts = [[str(value) for value in column] for column in columns]
    if len(columns) == 2:
        return ("winner", "loser")
    if len(columns) in (3, 4) and (outcome := _outcome_role(*texts[-3:])):
        return (*("worker",) * (len(columns) - 3), *SIDES, outcome)
    if len(columns) == 3 and _share_ids(texts[1], texts[2]):
        return ("worker", "winner", "loser")
    first, names = tuple(column[0] for column in columns), _EXAMPLES.get(len(columns), '"worker", "left", ...')
    raise InputError(
        f"It is not clear what these tuples of {len(columns)} values are. The first one is {first!r}.",
        hint=f"Name the values: read(rows, columns=[{names}]), or give a dict of lists.",
    )


def _outcome_role(left: list[str], right: list[str], said: list[str]) -> str | None:
    """The role of the last value: a label if each is an id of its row or a tie, a winner if each names a side."""
    words = [word.strip().lower() for word in said]
    own = [word in TIE_WORDS or text in sides for text, word, *sides in zip(said, words, left, right, strict=True)]
    if all(own):
        return "label"
    return "winner" if all(word in SIDES or word in TIE_WORDS for word in words) else None


def _share_ids(one: list[str], other: list[str]) -> bool:
    """Whether two columns seem to hold ids of the same items. Numbers may be grades, so they do not count."""
    first, second = set(one), set(other)
    if all(map(_NUMBER.fullmatch, first | second)):
        return False
    return len(first & second) >= max(1.0, SHARED * min(len(first), len(second)))
