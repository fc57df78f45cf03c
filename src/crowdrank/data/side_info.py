"""Side information: what is known about the expertise theta of workers before the fit.

A row says one of three things about a worker. theta is larger for a better worker, 0 for one who guesses, and
negative for one who misleads (the paper's theta is the negative).

    known    theta = value
    range    low <= theta <= high; an empty end is open
    order    theta is at least that of the worker ``than``, or of all other workers if that is ``*`` (eq. 42)

Without a confidence a row holds exactly. With a confidence eta >= 0 it enters the likelihood as a factor (Wu et
al. 2016), with sigma(x) = 1 / (1 + e^-x):

    range    sigma(eta (theta - low)) - sigma(eta (theta - high))        (35), epsilon = 0
             = sigma(eta (theta - low)) sigma(eta (high - theta)) times a constant
    order    sigma(eta (theta - theta_than)), a product over all others for ``*``        (44)
    known    sigma(eta (theta - value)) sigma(eta (value - theta))

The last is the density of a logistic distribution with scale 1 / eta around the value, up to a constant. A range
without width has no probability: the density is the limit of (35), divided by the width, as the range narrows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.data.constraints import MOST_EXPERTISE, Constraints, Demands, merge_demands
from crowdrank.data.contradictions import EVERYBODY, refuse_contradictions
from crowdrank.data.io.cells import TextCells, first_row
from crowdrank.data.io.text_tables import read_text_table
from crowdrank.errors import Hint, InputError, Note, name_hint, nearest

NEEDS: dict[str, tuple[str, ...]] = {"known": ("value",), "range": ("low", "high"), "order": ("than",)}
"""The kinds of side information, and the columns that each uses."""
NUMBERS = ("value", "low", "high")
COLUMNS = ("worker", "kind", *NUMBERS, "than", "confidence")
MOST_CONFIDENCE = 1e6


@dataclass(frozen=True, eq=False)
class SideInfo:
    """What is known about workers; see ``read``.

    ``frame`` has worker, kind, low, high (null if open; equal if the kind is known), than, confidence (null if the
    row is certain) and row, its number in the file.
    """

    frame: pl.DataFrame
    source: str
    notes: tuple[Note, ...] = ()

    @classmethod
    def read(cls, given: Any) -> SideInfo:
        """Side information from a path, ``"-"``, or a frame with the columns worker, kind, value, low, high, than,
        confidence. Columns that no row needs may be absent.

        Raises InputError if a cell is wrong, or if rows that are certain contradict each other.
        """
        if isinstance(given, SideInfo):
            return given
        frame, name, columns = read_text_table(given, "Rows of side information")
        cells, notes = _recognize(frame, name, columns)
        checked = _check(cells)
        refuse_contradictions(checked.filter(pl.col("confidence").is_null()), name)
        return cls(checked, name, notes)

    def bind(self, workers: pl.Series) -> Constraints:
        """The constraints on these workers, whose codes are their places.

        Workers who are only named here are left out, with a note. What is certain about them still bounds the
        others: a >= x >= b implies a >= b, and b is at most x's high.
        """
        bound = workers.to_list()
        named = self.frame.filter(pl.col("kind") == "order")["than"].to_list()
        unknown = list(dict.fromkeys([*self.frame["worker"], *named]))
        code = {worker: place for place, worker in enumerate(bound)}
        strangers = [worker for worker in unknown if worker not in code and worker != EVERYBODY]
        code |= {worker: place for place, worker in enumerate([*strangers, EVERYBODY], len(bound))}
        coded = self.frame.with_columns(
            pl.col(role).replace_strict(code, return_dtype=pl.Int64, default=-1).alias(role)
            for role in ("worker", "than")
        )
        certain = pl.col("confidence").is_null()
        low, high, orders = _hard_demands(coded.filter(certain), len(code))
        soft, confidence = _soft_demands(
            coded.filter(~certain & (pl.col("confidence") > 0)), len(bound), len(code)
        )
        found = merge_demands(len(bound), low, high, orders, soft, confidence)
        named_count = len({*unknown} - {EVERYBODY})
        return replace(found, notes=(*self.notes, *_notes_on_strangers(strangers, named_count)))


def _recognize(frame: pl.DataFrame, name: str, columns: Mapping[str, str]) -> tuple[TextCells, tuple[Note, ...]]:
    """The cells of the columns that count, and a note on the other columns."""
    shown = ", ".join(map(repr, columns.values()))
    for role in ("worker", "kind"):
        if role not in columns:
            problem = f"missing: side information needs it. The columns are {shown}."
            raise InputError(problem, source=name, column=role)
    absent = [role for role in COLUMNS if role not in columns]
    others = [column for role, column in columns.items() if role not in COLUMNS]
    for column in others:
        plain = re.sub(r"_duplicated_\d+$", "", column)
        if nearest(plain, absent, 0.75):
            hint = name_hint(plain, COLUMNS, "The columns are")
            raise InputError("side information has no such column.", source=name, column=column, hint=hint)
    roles = {role: columns[role] for role in COLUMNS if role in columns}
    cells = TextCells(frame.select(pl.col(column).alias(role) for role, column in roles.items()), roles, name)
    if not others:
        return cells, ()
    names, verb = ", ".join(map(repr, others)), "s are" if len(others) > 1 else " is"
    return cells, (Note("side-info", f"{name}: the column{verb} not used: {names}."),)


def _check(cells: TextCells) -> pl.DataFrame:
    """The rows with typed columns. Raises InputError for the first wrong cell."""
    worker, kind = cells.required("worker"), _kinds(cells)
    _refuse(cells, "worker", worker == EVERYBODY, "'*' stands for all other workers.")
    for own, needs in NEEDS.items():
        _check_columns(cells, kind == own, own, needs)
    number = {role: _numbers(cells, role) for role in (*NUMBERS, "confidence")}
    size = f"a number from -{MOST_EXPERTISE:g} to {MOST_EXPERTISE:g} is needed here."
    for role in NUMBERS:
        _refuse(cells, role, number[role].abs() > MOST_EXPERTISE, size)
    low, high, eta = number["low"], number["high"], number["confidence"]
    _refuse(cells, "value", (kind == "known") & number["value"].is_null(), "a known expertise needs its value.")
    empty = (kind == "range") & low.is_null() & high.is_null()
    _refuse(cells, "low" if "low" in cells.columns else "high", empty, "a range needs low, high or both.")
    _refuse(cells, "low", low > high, "the low end is above the high end.")
    hint = "Leave the cell empty if the row is certain."
    wrong = (eta < 0) | (eta > MOST_CONFIDENCE)
    _refuse(cells, "confidence", wrong, f"a number from 0 to {MOST_CONFIDENCE:g} is needed here.", hint)
    known = kind == "known"
    return pl.DataFrame(
        {
            "worker": worker,
            "kind": kind,
            "low": number["value"].zip_with(known, low),
            "high": number["value"].zip_with(known, high),
            "than": _others(cells, worker, kind),
            "confidence": eta,
            "row": [cells.row_number(row) for row in range(len(worker))],
        }
    )


def _refuse(cells: TextCells, role: str, wrong: pl.Series, problem: str, hint: Hint | None = None) -> None:
    """Raise the error for the first wrong cell, if there is one."""
    if wrong.fill_null(False).any():
        raise cells.error(role, first_row(wrong.fill_null(False)), problem, hint)


def _kinds(cells: TextCells) -> pl.Series:
    """The kind of each row."""
    kind = cells.required("kind").str.strip_chars().str.to_lowercase()
    wrong = ~kind.is_in(list(NEEDS))
    if wrong.any():
        row = first_row(wrong)
        hint = name_hint(kind[row], NEEDS, "The kinds are")
        raise cells.error("kind", row, "the kind is known, range or order.", hint)
    return kind


def _check_columns(cells: TextCells, own: pl.Series, kind: str, needs: tuple[str, ...]) -> None:
    """Raise an error if rows of a kind lack its column, or fill a column that says nothing about this kind."""
    if own.any() and not any(role in cells.columns for role in needs):
        problem = f"missing: the kind {kind!r} needs it, as in row {cells.row_number(first_row(own))}."
        raise InputError(problem, source=cells.name, column=needs[0])
    for role in (*NUMBERS, "than"):
        if role in cells.columns and role not in needs:
            filled = own & (cells.frame[role].fill_null("") != "")
            _refuse(cells, role, filled, f"the kind {kind!r} does not use this column.", "Leave the cell empty.")


def _numbers(cells: TextCells, role: str) -> pl.Series:
    """A column of numbers, null if it is empty or absent."""
    if role in cells.columns:
        return cells.number(role, gaps=True)
    return pl.repeat(None, len(cells.frame), dtype=pl.Float64, eager=True)


def _others(cells: TextCells, worker: pl.Series, kind: pl.Series) -> pl.Series:
    """The other worker of each order; null for the other kinds."""
    if "than" not in cells.columns:
        return pl.repeat(None, len(worker), dtype=pl.String, eager=True)
    than, order = cells.frame["than"], kind == "order"
    _refuse(cells, "than", order & (than.fill_null("") == ""), "an order needs the other worker, or '*'.")
    _refuse(cells, "than", order & (than == worker), "a worker is not compared with itself.")
    return than.set(~order, None)


def _codes(frame: pl.DataFrame, role: str) -> NDArray[np.int64]:
    return frame[role].to_numpy().astype(np.int64)


def _hard_demands(frame: pl.DataFrame, nodes: int) -> tuple[Floats, Floats, Demands]:
    """Low and high of each node, and the orders between nodes.

    The last node stands between the workers who are at least as expert as all others, and these others.
    """
    low, high = np.full(nodes, -np.inf), np.full(nodes, np.inf)
    np.maximum.at(low, _codes(frame, "worker"), frame["low"].fill_null(-np.inf).to_numpy())
    np.minimum.at(high, _codes(frame, "worker"), frame["high"].fill_null(np.inf).to_numpy())
    orders = frame.filter(pl.col("kind") == "order")
    above, below = _codes(orders, "worker"), _codes(orders, "than")
    best = np.unique(above[below == nodes - 1])
    others = np.arange(nodes - 1)
    others = others[others != best[0]] if len(best) == 1 else others[: len(others) * (len(best) > 0)]
    above = np.concatenate([above, np.full(len(others), nodes - 1)])
    return low, high, Demands(above, np.concatenate([below, others]), np.zeros(len(above)))


def _soft_demands(frame: pl.DataFrame, workers: int, nodes: int) -> tuple[Demands, Floats]:
    """The soft rows as demands on nodes, and their confidences. ``*`` is one demand for each other worker."""
    bounded = frame.filter(pl.col("kind") != "order")
    low, high = (bounded.filter(pl.col(end).is_not_null()) for end in ("low", "high"))
    orders = frame.filter(pl.col("kind") == "order")
    every = orders.filter(pl.col("than") == nodes - 1).drop("than")
    others = pl.DataFrame({"than": np.arange(workers)})
    pairs = pl.concat(
        [
            orders.filter(pl.col("than") != nodes - 1).select("worker", "than", "confidence"),
            every.join(others, how="cross")
            .filter(pl.col("worker") != pl.col("than"))
            .select("worker", "than", "confidence"),
        ]
    )
    above = [_codes(low, "worker"), np.full(len(high), -1), _codes(pairs, "worker")]
    below = [np.full(len(low), -1), _codes(high, "worker"), _codes(pairs, "than")]
    offset = [low["low"].to_numpy(), -high["high"].to_numpy(), np.zeros(len(pairs))]
    eta = pl.concat([low["confidence"], high["confidence"], pairs["confidence"]]).to_numpy()
    return Demands(np.concatenate(above), np.concatenate(below), np.concatenate(offset)), eta


def _notes_on_strangers(strangers: list[str], named: int) -> list[Note]:
    """A note on workers who are in the side information and judged nothing."""
    if not strangers:
        return []
    shown = ", ".join(map(repr, strangers[:3])) + (f" and {len(strangers) - 3} more" if len(strangers) > 3 else "")
    message = f"{len(strangers)} of {named} workers in the side information judged nothing: {shown}."
    return [Note("side-info", message)]
