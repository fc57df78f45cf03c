"""Cells of a table, checked column by column: text in, typed columns out, errors that name the cell."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

import polars as pl

from crowdrank.data.ids import UNKNOWN_WORKER
from crowdrank.errors import Hint, InputError, Remedy

LEAST_WEIGHT, MOST_WEIGHT = 1e-12, 1e12
MOST_TIME = 1e19
"""Nanoseconds since 1970 are less than this."""
MOST_WEIGHT_RATIO = 1e15
"""Double precision holds nearly 16 digits: a weight has no effect beside one that is this many times larger."""
MOST_NUMBER = 1e50
"""Products of squares of larger labels and ranks would overflow; those of 1 / this would vanish."""
ROW = "#row"
"""A column with each row's number in its file, if one row of the file became several."""

MISSING_WORDS = ("", "#N/A", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")

UNANSWERED = (*MISSING_WORDS, *"-?.", "--", "n/a", "na", "none", "None", "skip", "skipped", "unsure", "don't know")
"""What stands in the place of a label that was not given."""
NO_QUERY = ("If all rows belong together, do without queries: ", Remedy("columns", "query="))
"""What to do about a column of queries that is empty."""
TOTALS = ("total", "totals", "grand total", "sum", "all", "overall", "average", "avg", "mean")
"""What an item is called that sums up the others."""
ISO_DATE = r"^\s*\d{4}-?\d{2}-?\d{2}"


@dataclass(frozen=True)
class WeightRange:
    """The smallest and the largest weight, each with its source and row."""

    low: tuple[float, str, int]
    high: tuple[float, str, int]

    def join(self, other: WeightRange | None) -> WeightRange:
        """The range of both."""
        return self if other is None else WeightRange(min(self.low, other.low), max(self.high, other.high))

    def check(self) -> None:
        """Raise an error if the smallest weight has no effect beside the largest."""
        if self.high[0] > MOST_WEIGHT_RATIO * self.low[0]:
            low, source, row = self.low
            high, other, place = self.high
            where = f"row {place}" if source == other else f"{other}, row {place}"
            raise InputError(
                f"the weight has no effect beside that of {where}, {high:g}: "
                f"it is over {MOST_WEIGHT_RATIO:g} times smaller.",
                source=source,
                row=row,
                column="weight",
                value=low,
                hint="Write 0 to leave the row out.",
            )


class TextCells:
    """The text cells of one source; each method checks a column and returns it typed."""

    columns: Mapping[str, str]
    name: str
    offset: int
    frame: pl.DataFrame

    def __init__(self, frame: pl.DataFrame, columns: Mapping[str, str], name: str, offset: int = 0) -> None:
        self.columns, self.name = columns, name
        self.numbers = frame[ROW] if ROW in frame.columns else None  # row in the file, if it is not the position
        self.offset = offset if self.numbers is None else 0
        self.frame = frame.drop(ROW, strict=False)
        if sum(not column.null_count() for column in self.frame) <= 1:  # blank lines are skipped, but counted
            filled = self._filled_rows()
            if not filled.all():
                self.numbers = filled.arg_true() if self.numbers is None else self.numbers.filter(filled)
                self.frame = self.frame.filter(filled)
        self._distinct: dict[str, pl.Series] = {}
        self._words: dict[str, set[str | None]] = {}

    def _filled_rows(self) -> pl.Series:
        """The rows that are not blank: a line of spaces has them in one cell, and the others are empty."""
        empty = pl.sum_horizontal(pl.all().is_null()) >= self.frame.width - 1
        blank = self.frame.select(empty).to_series()
        if blank.any():
            texts = self.frame.filter(blank).select(pl.all().cast(pl.String).str.strip_chars().fill_null(""))
            spaces = texts.select(pl.all_horizontal(pl.all() == "")).to_series()
            blank = blank.scatter(blank.arg_true(), spaces)
        return ~blank

    def error(self, role: str, row: int, problem: str, hint: Hint | None = None) -> InputError:
        """The error for one cell."""
        value = self.frame[role][row]
        if value is None:
            problem += " The cell is empty."
        return InputError(
            problem,
            source=self.name,
            row=self.row_number(row),
            column=self.columns[role],
            value=value,
            hint=hint,
        )

    def row_number(self, row: int) -> int:
        """The number of a row in its file; the first row after the header is 1."""
        return self.offset + (row if self.numbers is None else int(self.numbers[row])) + 1

    def refuse_header(self) -> None:
        """Raise an error if the header is repeated among the rows, as in concatenated files."""
        again = [pl.col(role).cast(pl.String) == column for role, column in self.columns.items()]
        if all(column in self.words(role) for role, column in self.columns.items() if self._is_id(role)):
            repeated = self.frame.select(pl.all_horizontal(again)).to_series().fill_null(False)
            if repeated.any():
                role = next(iter(self.columns))
                raise self.error(role, first_row(repeated), "the header is repeated here.", "Remove this line.")

    def _is_id(self, role: str) -> bool:
        return isinstance(self.frame.schema[role], pl.Categorical)

    def required(self, role: str) -> pl.Series:
        """A column of ids without gaps."""
        column = self.frame[role]
        if column.null_count() or "" in self.words(role):
            empty = column.cast(pl.String).fill_null("") == ""
            hint: Hint | None = NO_QUERY if role == "query" and empty.all() else self._total_hint(first_row(empty))
            raise self.error(role, first_row(empty), "the value is missing.", hint)
        return column

    def _total_hint(self, row: int) -> str | None:
        """What to do about a row that sums up the others, if a cell says that it does."""
        total = any(isinstance(cell, str) and is_total(cell) for cell in self.frame.row(row))
        return f"Row {self.row_number(row)} looks like a total; remove it." if total else None

    def distinct(self, role: str) -> pl.Series:
        """The distinct ids of a column: cheaper to search than the column."""
        if role not in self._distinct:  # all columns at once, so that Polars works in parallel
            ids = [name for name in self.frame.columns if self._is_id(name)]
            found = self.frame.select(pl.col(name).unique().implode() for name in {*ids, role})
            self._distinct |= {name: found[name].explode(empty_as_null=False) for name in found.columns}
        return self._distinct[role]

    def words(self, role: str) -> set[str | None]:
        """The distinct ids as text."""
        if role not in self._words:
            self._words[role] = set(self.distinct(role).cast(pl.String))
        return self._words[role]

    def rows_meaning(self, role: str, words: Collection[str]) -> pl.Series | None:
        """The rows whose cell is one of these words, ignoring case; None if there are no such rows."""
        found = [value for value in self.words(role) if value and value.strip().lower() in words]
        return self.frame[role].cast(pl.String).is_in(found).fill_null(False) if found else None

    def worker(self) -> tuple[pl.Series, int]:
        """Worker ids, and how many rows have none; those go to the unknown worker."""
        column = self.frame["worker"]
        missing = self.words("worker") & {None, *MISSING_WORDS}
        if not missing:
            return column, 0
        text = column.cast(pl.String)
        gaps = text.is_null() | text.is_in(list(missing - {None}))
        return text.set(gaps, UNKNOWN_WORKER).cast(column.dtype), int(gaps.sum())

    def number(self, role: str, *, gaps: bool = False) -> pl.Series:
        """A column of finite numbers; with ``gaps`` a missing cell is null."""
        column = self.frame[role]
        missing = column.is_null() | column.is_in(MISSING_WORDS)
        values = column.str.strip_chars().cast(pl.Float64, strict=False)
        bad = (values.is_null() | ~values.is_finite()) & (~missing if gaps else True)
        if bad.any():
            raise self._number_error(role, first_row(bad), "a number is needed here.")
        return values.set(missing, None) if gaps else values

    def judged_number(self, role: str, *, gaps: bool = False) -> pl.Series:
        """A column of numbers that are squared and weighted: each is 0, or within the range for that."""
        values = self.number(role, gaps=gaps)
        size = values.abs()
        beyond = ((size > MOST_NUMBER) | ((size > 0) & (size < 1 / MOST_NUMBER))).fill_null(False)
        if beyond.any():
            problem = f"a {role} must be 0, or from {1 / MOST_NUMBER:g} to {MOST_NUMBER:g} in size."
            raise self.error(role, first_row(beyond), problem)
        return values

    def _number_error(self, role: str, row: int, problem: str) -> InputError:
        hint = None
        if (self.frame[role][row] or "").strip() == self.columns[role]:
            return self.error(role, row, "the header is repeated here.", "Remove this line.")
        if re.fullmatch(r"\s*-?\d+,\d+\s*", self.frame[role][row] or ""):
            hint = "Write a decimal point, not a comma."
        elif role == "label" and (self.frame[role][row] or "").strip() in UNANSWERED:
            hint = "If the item was not rated, remove this row and others like it."
        elif role == "rank":
            hint = (
                "A rank is a number, 1 for the best item. If the cells are ids of items, write a row for each "
                "item of a list, with the columns list, item and rank."
            )
        elif role == "label":
            hint = self._scale_hint(role) or (
                "Write labels as numbers, larger ones for better items: for example 1 for yes and 0 for no."
            )
        return self.error(role, row, problem, hint)

    def _scale_hint(self, role: str) -> str | None:
        """What the other cells of a column are, if most of them are numbers."""
        values = self.frame[role].str.strip_chars().cast(pl.Float64, strict=False).drop_nulls()
        numbers = values.filter(values.is_finite()).sort()
        if len(numbers) <= self.frame.height / 2:
            return None
        scale = f"{numbers[0]:g} to {numbers[-1]:g}"
        return f"Most other {role}s are numbers, {scale}. Correct this one, or remove its row."

    def weight(self) -> pl.Series:
        """Weights: 0, which leaves a row out, or within the range that sums can hold."""
        column = self.frame["weight"].str.strip_chars()
        values = column.cast(pl.Float64, strict=False)
        bad = values.is_null() | ~values.is_finite() | (values < 0) | (values > MOST_WEIGHT)
        if bad.any():
            problem, row = f"a weight must be a number from 0 to {MOST_WEIGHT:g}.", first_row(bad)
            if (values[row] or 0.0) > MOST_WEIGHT:
                remedy = Remedy("columns", f"weight=,timestamp={self.columns['weight']}")
                time = ("If it is a time: ", remedy) if values[row] <= MOST_TIME else None
                raise self.error("weight", row, problem, time)
            raise self._number_error("weight", row, problem)
        tiny = (values > 0) & (values < LEAST_WEIGHT)
        if tiny.any():
            hint = "Multiply all weights by one factor, or write 0 to leave the row out."
            problem = f"a weight must be 0, or at least {LEAST_WEIGHT:g}."
            raise self.error("weight", first_row(tiny), problem, hint)
        return values

    def weight_range(self, values: pl.Series) -> WeightRange | None:
        """The smallest and the largest weight that is not 0, with their rows; None if there is none."""
        used = values.set(values == 0, None)
        low, high = used.arg_min(), used.arg_max()
        if low is None or high is None:
            return None
        ends = ((float(values[row]), self.name, self.row_number(row)) for row in (low, high))
        return WeightRange(*ends)

    def timestamp(self) -> pl.Series:
        """Seconds since 1970, from numbers or from ISO dates."""
        column = self.frame["timestamp"]
        values = column.str.strip_chars().cast(pl.Float64, strict=False)
        if values.null_count():
            iso = column.set(~column.str.contains(ISO_DATE).fill_null(False), None)  # Polars reads 01/05/2024 too
            dates = iso.str.to_datetime(strict=False, time_zone="UTC").dt.epoch("ms").cast(pl.Float64) / 1000
            values = values.fill_null(dates)
        bad = ~values.is_finite().fill_null(False)
        if bad.any():
            problem = "a number of seconds or an ISO date is needed."
            hint = (
                "Write 2024-05-31 or 2024-05-31T18:30:00. To leave the times out: ",
                Remedy("columns", "timestamp="),
            )
            raise self.error("timestamp", first_row(bad), problem, hint)
        return values


def is_total(text: str) -> bool:
    """Whether a cell says that its row sums up the others."""
    return text.strip().lower() in TOTALS


def first_row(mask: pl.Series) -> int:
    """The first row at which the mask is true."""
    return cast(int, mask.arg_max())
