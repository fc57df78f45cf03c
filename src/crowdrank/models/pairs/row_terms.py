"""The log likelihood of each row and its derivatives, in blocks of rows that stay in the cache.

A row says that one item beat another, or that they tied, with the chance P. Scores and worker parameters act on P
through the *channels* x, theta and eta (see ``likelihood``):

    d ln P / du = P_u / P          minus d2 ln P / du dv = P_u P_v / P^2 - P_uv / P          u, v: channels

The chain rule leads from the channels to the difference d of the two scores and to the columns w of the worker.
What a column drives, and the derivatives of that by w, are the same in all rows of a worker. So they are computed
once for each worker and looked up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Literal

import numpy as np

from crowdrank.data import Floats
from crowdrank.data.arrays import Integers
from crowdrank.kernels import Chance, Link, LinkValues, decided_chances, flip, reported_win, tie_chance
from crowdrank.kernels.links import TINY
from crowdrank.kernels.ties import ordered
from crowdrank.models.worker_parameters import WorkerParameter
from crowdrank.prepared.directed import DirectedRows

BLOCK = 16384
"""Rows per block: some tens of arrays of this length fit into a cache."""

Second = Literal["none", "outer", "observed"]
"""Which second derivatives are wanted.

``outer``: in their place the products of first derivatives, whose sum is never negative and which agree with
them on average if the model holds. Steps with these lead uphill from anywhere.
"""

_thread = threading.local()


def blocks(rows: int) -> Iterator[slice]:
    """The rows in blocks."""
    return (slice(begin, min(begin + BLOCK, rows)) for begin in range(0, rows, BLOCK))


@dataclass(frozen=True, eq=False)
class Column:
    """A column w: what it drives, and the derivatives of that by w, for each worker or row.

    ``first`` is None if it is 1, ``second`` is None if it is 0.
    """

    parameter: WorkerParameter
    value: Floats
    first: Floats | None
    second: Floats | None

    @classmethod
    def of(cls, parameter: WorkerParameter, w: Floats) -> Column:
        """The column of these workers."""
        if parameter.is_identity:
            return cls(parameter, np.ascontiguousarray(w), None, None)
        return cls(parameter, parameter.value(w), *parameter.derivatives(w))

    def take(self, workers: Integers) -> Column:
        """The column in each row."""
        first, second = (None if own is None else own[workers] for own in (self.first, self.second))
        return Column(self.parameter, self.value[workers], first, second)

    def reach(self, d: Floats, side: Floats) -> Floats | None:
        """The derivative of the channel by w. None if it is 1."""
        if self.parameter.drives == "slope":
            return d if self.first is None else self.first * d
        return side if self.parameter.drives == "position" else self.first

    def bend(self, d: Floats) -> Floats | None:
        """The second derivative of the channel by w. None if it is 0."""
        if self.second is None:
            return None
        return self.second * d if self.parameter.drives == "slope" else self.second


@dataclass(frozen=True, eq=False)
class Outcome:
    """What rows say: a win of the first item, or a tie. ``link``, ``ties``, ``columns``: see ``PairedSums``."""

    link: Link
    ties: str
    columns: tuple[WorkerParameter, ...]
    tied: bool = False

    def contest(self, x: Floats, theta: Floats | None) -> Contest:
        """What the worker perceives at an advantage x of the first item."""
        if self.tied:
            assert theta is not None
            return tie_chance(self.link, self.ties, x, theta)
        if self.ties == "half" or theta is None:
            return self.link.values(x)
        return decided_chances(self.link, self.ties, x, theta)


Contest = LinkValues | tuple[Chance, Chance] | Chance
"""Without ties the values of the link; with ties the chances of a win and a loss; for tied rows that of a tie."""


def report(contest: Contest, eta: Floats | None) -> Chance:
    """The chance of what the worker says. A tie stays a tie."""
    if isinstance(contest, LinkValues):
        return reported_win(contest, eta)
    if isinstance(contest, Chance):
        return contest
    return contest[0] if eta is None else flip(*contest, eta)


@dataclass(frozen=True, eq=False)
class RowTerms:
    """The log likelihood of all rows and its derivatives, times the counts: ``values`` (terms, rows).

    ``width``: the number of columns.
    """

    values: Floats
    width: int

    @property
    def by_difference(self) -> Floats:
        """The derivative by d."""
        return self.values[1]

    @property
    def by_column(self) -> Floats:
        """The derivatives by the columns."""
        return self.values[2 : 2 + self.width]

    @property
    def curvature(self) -> Floats:
        """Minus the second derivative by d."""
        return self.values[2 + self.width]

    @property
    def cross(self) -> Floats:
        """Minus the second derivatives by d and the columns."""
        return self.values[3 + self.width : 3 + 2 * self.width]

    @property
    def blocks(self) -> Floats:
        """Minus the second derivatives by two columns, in the order of ``combinations_with_replacement``."""
        return self.values[3 + 2 * self.width :]


def row_terms(
    outcome: Outcome, rows: DirectedRows, scores: Floats, nodes: list[Floats], second: Second
) -> RowTerms:
    """The terms of all rows, averaged over ``nodes``: values (workers, columns) of the columns.

    The result is valid until the next call in this thread.
    """
    width = len(outcome.columns)
    terms = _room(2 + width + (second != "none") * (1 + width) * (2 + width) // 2, len(rows))
    at = [[Column.of(own, node[:, place]) for place, own in enumerate(outcome.columns)] for node in nodes]
    only_eta = all(
        own.drives == "eta" or np.array_equal(node[:, place], nodes[0][:, place])
        for node in nodes
        for place, own in enumerate(outcome.columns)
    )
    for some in blocks(len(rows)):
        block = _Block(rows, some, scores)
        found, contest = [], None
        for columns in at:
            own = block.take(columns)
            contest = contest if only_eta and contest else block.contest(outcome, own)
            found.append(block.terms(contest, own, second))
        weight = block.count / len(nodes)
        for place, parts in enumerate(zip(*found, strict=True)):
            np.multiply(sum(parts[1:], parts[0]), weight, out=terms[place, block.rows])
    return RowTerms(terms, width)


def _room(terms: int, rows: int) -> Floats:
    """Memory for the terms of a shard. Each thread keeps its own, because new memory takes long to get."""
    room = getattr(_thread, "room", None)
    if room is None or room.size < terms * rows:
        room = _thread.room = np.empty(terms * rows)
    return np.asarray(room[: terms * rows].reshape(terms, rows))


class _Block:
    """A block of rows at given scores."""

    def __init__(self, table: DirectedRows, rows: slice, scores: Floats) -> None:
        self.rows = rows
        self.d = scores[table.first[rows]] - scores[table.second[rows]]
        self.count, self.side = table.count[rows], table.side[rows]
        self.worker = None if table.worker is None else table.worker[rows]

    def take(self, columns: list[Column]) -> list[Column]:
        """The columns in each row."""
        return [] if self.worker is None else [own.take(self.worker) for own in columns]

    def contest(self, outcome: Outcome, columns: list[Column]) -> Contest:
        """What the workers perceive."""
        driven = {own.parameter.drives: own.value for own in columns}
        x = _times(self.d, driven.get("slope"))
        if "position" in driven:
            x = x + self.side * driven["position"]
        return outcome.contest(x, driven.get("theta"))

    def terms(self, contest: Contest, columns: list[Column], second: Second) -> list[Floats]:
        """The terms, in the order of ``RowTerms``."""
        driven = {own.parameter.drives: own.value for own in columns}
        slope, found = driven.get("slope"), _Derivatives(report(contest, driven.get("eta")))
        reach = [own.reach(self.d, self.side) for own in columns]
        channel = [own.parameter.channel for own in columns]
        terms = [found.value, _times(found.first["x"], slope)]
        terms += [_times(found.by(own), far) for own, far in zip(channel, reach, strict=True)]
        if second == "none":
            return terms
        if second == "outer":
            return [*terms, *(one * other for one, other in combinations_with_replacement(terms[1:], 2))]
        by_x = {own: _times(found.minus_second("x", own), slope) for own in {"x", *channel}}
        terms.append(_times(by_x["x"], slope))
        for column, own, far in zip(columns, channel, reach, strict=True):
            cross = _times(by_x[own], far)
            drives_slope = column.parameter.drives == "slope"
            terms.append(cross - _times(found.first["x"], column.first) if drives_slope else cross)
        for one, other in combinations_with_replacement(range(len(columns)), 2):
            both = _times(_times(found.minus_second(channel[one], channel[other]), reach[one]), reach[other])
            bend = columns[one].bend(self.d) if one == other else None
            terms.append(both if bend is None else both - found.by(channel[one]) * bend)
        return terms


class _Derivatives:
    """ln P and its derivatives by the channels. What P does not depend on has the derivative 0."""

    def __init__(self, chance: Chance) -> None:
        p = np.maximum(chance.p, TINY)
        self.value, self.inverse, self.chance = np.log(p), 1.0 / p, chance
        self.first = {channel: own * self.inverse for channel, own in chance.first.items()}
        self._second: dict[tuple[str, str], Floats] = {}

    def by(self, channel: str) -> Floats:
        """The derivative by a channel."""
        return self.first[channel] if channel in self.first else np.zeros_like(self.value)

    def minus_second(self, one: str, other: str) -> Floats:
        """Minus the second derivative by two channels."""
        key = ordered(one, other)
        if key not in self._second:
            self._second[key] = self.by(one) * self.by(other)
            if key in self.chance.second:
                self._second[key] -= self.chance.second[key] * self.inverse
        return self._second[key]


def _times(value: Floats, factor: Floats | None) -> Floats:
    """The product; None is the factor 1."""
    return value if factor is None else value * factor
