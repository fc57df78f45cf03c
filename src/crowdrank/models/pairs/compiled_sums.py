"""The sums of a likelihood of votes over a shard as compiled loops, several times as fast as ``row_terms``.

They serve votes without a tie model under the logistic link: the worker reports a win with the chance

    P = eta F(x) + (1 - eta) F(-x)          x = a d + side b          d = s_i - s_j

(Crowd-BT eq. 5; ``likelihood`` has the general form). A loop goes through the rows once, computes ln P and its
derivatives by d and by the columns of the worker, and adds them up where they belong, so nothing is written row by
row. The loops release the interpreter, so shards run on all threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from crowdrank.data import Floats
from crowdrank.kernels.compiled import compile_together
from crowdrank.kernels.links import TINY
from crowdrank.models.pairs.row_terms import Column, Second
from crowdrank.models.worker_parameters import WorkerParameter
from crowdrank.prepared.directed import DirectedRows

FROM_ROWS = 1 << 16
"""With fewer rows, loading the compiled loops takes as long as they save."""

FLUSH = 1e-140
"""Probabilities are multiplied down to here before a logarithm is taken."""
SLOTS = ("slope", "position", "eta")
"""What the columns drive, in the order in which the loops take them."""
POSITION, FIRST_OF = 1, (0, 3, 4)
"""The slot without derivatives of its own, and where each slot begins among the seven numbers of a node."""


# ----------------------------------------------------------------------------------------- loops


def describe_row(
    d: float, side: float, worker: int, columns: Any, observed: float, has: Any, curved: bool
) -> tuple[float, ...]:
    """The product of P over the nodes, and sums over the nodes: the derivatives of ln P by d, slope, position and
    eta, and minus the second derivatives, in the order of ``combinations_with_replacement``.

    ``columns`` (workers, nodes, 7): slope and its two derivatives by the column, position, eta and its two
    derivatives. ``observed``: 1, or 0 for products of first derivatives in place of the second ones. ``has``:
    which of slope, position and eta the workers have. ``curved``: whether second derivatives are wanted. What is
    not wanted is 0.
    """
    sloped, sided, mixed = has
    product, x, win, lose = 1.0, 0.0, 0.5, 0.5
    by_d = by_s = by_b = by_e = 0.0
    dd = ds = db = de = ss = sb = se = bb = be = ee = 0.0
    for node in range(columns.shape[1]):
        a, e = columns[worker, node, 0], columns[worker, node, 4]
        here = a * d + side * columns[worker, node, 3]
        if here != x:  # nodes that differ only in eta share x
            x, small = here, math.exp(-abs(here))
            large = 1.0 / (1.0 + small)
            small *= large
            win, lose = (large if x >= 0 else small), (small if x >= 0 else large)
        p = max(e * win + (1.0 - e) * lose, TINY)
        density, ahead, inverse = win * lose, win - lose, 1.0 / p
        by_x = (2.0 * e - 1.0) * density * inverse
        x_x = by_x * by_x + observed * by_x * ahead
        product *= p
        by_d += by_x * a
        dd += x_x * a * a
        reach = first_e = by_eta = x_e = 0.0
        if mixed:
            first_e, by_eta = columns[worker, node, 5], ahead * inverse
            by_e += by_eta * first_e
            if curved:
                x_e = by_x * by_eta - observed * 2.0 * density * inverse
                de += x_e * a * first_e
                ee += by_eta * by_eta * first_e * first_e - observed * by_eta * columns[worker, node, 6]
        if sided:
            by_b += by_x * side
            if curved:
                db += x_x * a * side
                bb += x_x * side * side
                be += x_e * side * first_e
        if sloped:
            first_a = columns[worker, node, 1]
            reach = first_a * d
            by_s += by_x * reach
            if curved:
                ds += x_x * a * reach - observed * by_x * first_a
                ss += x_x * reach * reach - observed * by_x * columns[worker, node, 2] * d
                sb += x_x * reach * side
                se += x_e * reach * first_e
    return product, by_d, by_s, by_b, by_e, dd, ds, db, de, ss, sb, se, bb, be, ee


def fill_terms(
    first: Any, second_item: Any, count: Any, side: Any, worker: Any, scores: Any, columns: Any,
    observed: float, has: Any, found: Any,
) -> None:  # fmt: skip
    """Write what ``describe_row`` says of every row (15, rows), times its count; the first one as a logarithm."""
    share, curved = 1.0 / columns.shape[1], len(found) > 5
    for row in range(len(first)):
        d, weight = scores[first[row]] - scores[second_item[row]], share * count[row]
        terms = describe_row(d, side[row], worker[row], columns, observed, has, curved)
        found[0, row] = weight * math.log(terms[0])
        for place in range(1, len(found)):
            found[place, row] = weight * terms[place]


def add_terms(
    first: Any, second_item: Any, count: Any, side: Any, worker: Any, scores: Any, columns: Any,
    observed: float, has: Any, curved: bool, begin: int, by_score: Any, by_worker: Any, pairs: Any, coupling: Any,
    own: Any,
) -> float:  # fmt: skip
    """Add up the terms of all rows: by score, worker, pair of items, (worker, item), and block of a worker.

    Returns the log likelihood. ``has``: which of slope, position and eta the workers have. ``curved``: whether
    second derivatives are wanted. ``by_worker`` (workers, 3), ``coupling`` (3, workers from ``begin`` on, items),
    ``own`` (workers, 6).
    """
    share, value, single = 1.0 / columns.shape[1], 0.0, 1.0
    for row in range(len(first)):
        i, j, k, weight = first[row], second_item[row], worker[row], share * count[row]
        product, by_d, by_s, by_b, by_e, dd, ds, db, de, ss, sb, se, bb, be, ee = describe_row(
            scores[i] - scores[j], side[row], k, columns, observed, has, curved
        )
        if count[row] == 1.0 and product > FLUSH:
            single *= product
            if single < FLUSH:
                value += share * math.log(single)
                single = 1.0
        else:
            value += weight * math.log(product)
        by_score[i] += weight * by_d
        by_score[j] -= weight * by_d
        if has[0]:
            by_worker[k, 0] += weight * by_s
        if has[1]:
            by_worker[k, 1] += weight * by_b
        if has[2]:
            by_worker[k, 2] += weight * by_e
        if curved:
            pairs[i, j] += weight * dd
            place = k - begin
            if has[0]:
                coupling[0, place, i] += weight * ds
                coupling[0, place, j] -= weight * ds
                own[k, 0] += weight * ss
                own[k, 1] += weight * sb
                own[k, 2] += weight * se
            if has[1]:
                coupling[1, place, i] += weight * db
                coupling[1, place, j] -= weight * db
                own[k, 3] += weight * bb
                own[k, 4] += weight * be
            if has[2]:
                coupling[2, place, i] += weight * de
                coupling[2, place, j] -= weight * de
                own[k, 5] += weight * ee
    return value + share * math.log(single)


def add_quality_logs(
    first: Any, second_item: Any, count: Any, side: Any, worker: Any, scores: Any, position: Any, grid: Any,
    table: Any,
) -> tuple[float, float]:  # fmt: skip
    """Add the log likelihood of each worker's votes at each eta of the grid (workers, points) to ``table``.

    Rows of workers beyond the grid do not count. Returns in how many votes a perfect worker would agree with the
    scores, and how many votes there are.
    """
    points = grid.shape[1]
    product, agree, votes = np.ones(points), 0.0, 0.0
    for row in range(len(first)):
        k = worker[row]
        if k >= len(grid):
            break
        d = scores[first[row]] - scores[second_item[row]]
        votes += count[row]
        agree += count[row] / (1.0 + math.exp(-abs(d)))
        x = d + side[row] * position[k]
        small = math.exp(-abs(x))
        win = (1.0 if x >= 0 else small) / (1.0 + small)
        lose = (small if x >= 0 else 1.0) / (1.0 + small)
        least = max(min(win, lose), TINY)
        ends = row + 1 == len(first) or worker[row + 1] != k
        if count[row] == 1.0 and least > FLUSH:
            smallest = 1.0
            for place in range(points):
                product[place] *= grid[k, place] * win + (1.0 - grid[k, place]) * lose
                smallest = min(smallest, product[place])
            ends = ends or smallest < FLUSH
        else:
            for place in range(points):
                p = max(grid[k, place] * win + (1.0 - grid[k, place]) * lose, TINY)
                table[k, place] += count[row] * math.log(p)
        if ends:
            for place in range(points):
                table[k, place] += math.log(product[place])
                product[place] = 1.0
    return agree, votes


@cache
def _compiled() -> dict[str, Any]:
    return compile_together(describe_row, fill_terms, add_terms, add_quality_logs)


# ------------------------------------------------------------------------------------------ calls

CompiledSums = tuple[float, Floats, Floats, Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Coded:
    """Columns as the loops take them. ``places``: the slot of each column."""

    values: Floats
    places: list[int]

    @classmethod
    def of(cls, columns: tuple[WorkerParameter, ...], nodes: list[Floats]) -> Coded:
        """The columns at these nodes (workers, columns)."""
        values = np.zeros((len(nodes[0]), len(nodes), 7))
        values[:, :, [0, 4]] = 1.0  # a slope of 1, and every outcome reported as it is
        places = [SLOTS.index(column.drives) for column in columns]
        for number, node in enumerate(nodes):
            for place, (slot, parameter) in enumerate(zip(places, columns, strict=True)):
                own = Column.of(parameter, node[:, place])
                values[:, number, FIRST_OF[slot]] = own.value
                if slot != POSITION:
                    values[:, number, FIRST_OF[slot] + 1] = 1.0 if own.first is None else own.first
                    values[:, number, FIRST_OF[slot] + 2] = 0.0 if own.second is None else own.second
        return cls(values, places)

    @property
    def has(self) -> tuple[bool, ...]:
        """Which slots are taken."""
        return tuple(slot in self.places for slot in range(3))

    @property
    def blocks(self) -> list[int]:
        """Where the second derivatives by two columns stand among those of all slots."""
        numbers = {pair: place for place, pair in enumerate(combinations_with_replacement(range(3), 2))}
        return [numbers[min(pair), max(pair)] for pair in combinations_with_replacement(self.places, 2)]


def _arrays(rows: DirectedRows) -> tuple[Any, ...]:
    return rows.first, rows.second, rows.count, rows.side, rows.worker


def compiled_terms(
    columns: tuple[WorkerParameter, ...], rows: DirectedRows, scores: Floats, nodes: list[Floats], second: Second
) -> Floats:
    """The values of ``RowTerms``."""
    coded = Coded.of(columns, nodes)
    found = np.empty((5 if second == "none" else 15, len(rows)))
    _compiled()["fill_terms"](*_arrays(rows), scores, coded.values, float(second == "observed"), coded.has, found)
    chosen = [0, 1, *(2 + own for own in coded.places)]
    if second != "none":
        chosen += [5, *(6 + own for own in coded.places), *(9 + own for own in coded.blocks)]
    return found[chosen]


def compiled_sums(
    columns: tuple[WorkerParameter, ...], rows: DirectedRows, scores: Floats, nodes: list[Floats], second: Second
) -> CompiledSums:
    """The log likelihood, its gradient by scores and workers (workers, columns), and the second derivatives:

    by pairs of items (items, items), by (workers of the rows, columns, items), and by pairs of columns of each
    worker (workers, pairs). The second derivatives are empty if they are not wanted.
    """
    n, (begin, height), wanted = rows.nodes, rows.worker_range, second != "none"
    by_score, by_worker = np.zeros(n), np.zeros((rows.workers, 3))
    pairs = np.zeros((n, n) if wanted else (0, 0))
    strips = np.zeros((3, height, n) if wanted else (3, 0, 0))
    own = np.zeros((rows.workers, 6) if wanted else (0, 6))
    coded = Coded.of(columns, nodes)
    sums = by_score, by_worker, pairs, strips, own
    how = float(second == "observed"), coded.has, wanted, begin
    value = _compiled()["add_terms"](*_arrays(rows), scores, coded.values, *how, *sums)
    strip = strips[coded.places].transpose(1, 0, 2)
    return float(value), by_score, by_worker[:, coded.places], pairs, strip, own[:, coded.blocks]


def compiled_quality_logs(
    rows: DirectedRows, scores: Floats, position: Floats, grid: Floats, table: Floats
) -> tuple[float, float]:
    """Add the log likelihood at each eta of the grid to the table.

    Returns in how many votes a perfect worker would agree with the scores, and how many votes there are.
    """
    agree, votes = _compiled()["add_quality_logs"](*_arrays(rows), scores, position, grid, table)
    return float(agree), float(votes)
