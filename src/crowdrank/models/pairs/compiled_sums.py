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
from crowdrank.kernels.exponentials import exponentials
from crowdrank.kernels.links import TINY
from crowdrank.models.pairs.row_terms import Column, Second
from crowdrank.models.worker_parameters import WorkerParameter
from crowdrank.prepared.directed import DirectedRows

FROM_ROWS = 1 << 16
"""With fewer rows, loading the compiled loops takes as long as they save."""

BLOCK = 256
"""How many rows are described at once. What is computed on the way stays in the fastest memory."""
FLUSH = 1e-140
"""Probabilities are multiplied down to here before a logarithm is taken."""
SLOTS = ("slope", "position", "eta")
"""What the columns drive, in the order in which the loops take them."""
POSITION, FIRST_OF = 1, (0, 3, 4)
"""The slot without derivatives of its own, and where each slot begins among the seven numbers of a node."""


# ----------------------------------------------------------------------------------------- loops


def describe_rows(
    rows: int, first_item: Any, second_item: Any, side: Any, worker: Any, scores: Any, columns: Any,
    observed: float, has: Any, space: Any, terms: Any,
) -> None:  # fmt: skip
    """Write into ``terms`` (15, rows) the product of P over the nodes, and sums over the nodes: the derivatives of
    ln P by d, slope, position and eta, and minus the second derivatives, in the order of
    ``combinations_with_replacement``.

    ``columns`` (nodes, 7, workers): slope and its two derivatives by the column, position, eta and its two
    derivatives. ``observed``: 1, or 0 for products of first derivatives in place of the second ones. ``has``:
    which of slope, position and eta the workers have; derivatives by the others are 0. ``space`` (13, rows): room
    for what is computed on the way. Each loop is arithmetic without a branch, so that one instruction serves
    several rows.
    """
    sloped, sided, mixed = has
    product, by_d, by_s, by_b, by_e, dd, ds, db, de, ss, sb, se, bb, be, ee = terms
    d, a, b, e, first, second, x, odds, bits, by_x, x_x, by_eta, x_e = space
    for row in range(rows):
        d[row] = scores[first_item[row]] - scores[second_item[row]]
    for place in range(1, 15):
        for row in range(rows):
            terms[place, row] = 0.0
    for row in range(rows):
        product[row], a[row], b[row], e[row] = 1.0, 1.0, 0.0, 1.0
    for node in range(len(columns)):
        own = columns[node]
        if sloped:
            for row in range(rows):
                a[row] = own[0, worker[row]]
        if sided:
            for row in range(rows):
                b[row] = side[row] * own[3, worker[row]]
        if mixed:
            for row in range(rows):
                e[row] = own[4, worker[row]]
        if node == 0 or sloped or sided:  # nodes that differ only in eta share x
            for row in range(rows):
                x[row] = -(a[row] * d[row] + b[row])
            exponentials(x, odds, bits)
        for row in range(rows):
            win = 1.0 / (1.0 + odds[row])
            lose = odds[row] * win
            p = max(e[row] * win + (1.0 - e[row]) * lose, TINY)
            density, ahead, inverse = win * lose, win - lose, 1.0 / p
            product[row] *= p
            slope = (2.0 * e[row] - 1.0) * density * inverse
            by_x[row], by_eta[row] = slope, ahead * inverse
            x_x[row] = slope * (slope + observed * ahead)
            x_e[row] = (slope * ahead - observed * 2.0 * density) * inverse
        for row in range(rows):
            by_d[row] += by_x[row] * a[row]
            dd[row] += x_x[row] * a[row] * a[row]
        if mixed:
            for row in range(rows):
                first[row], second[row] = own[5, worker[row]], own[6, worker[row]]
            for row in range(rows):
                by_e[row] += by_eta[row] * first[row]
                x_e[row] *= first[row]
                de[row] += x_e[row] * a[row]
                ee[row] += by_eta[row] * (by_eta[row] * first[row] * first[row] - observed * second[row])
        if sided:
            for row in range(rows):
                by_b[row] += by_x[row] * side[row]
                db[row] += x_x[row] * a[row] * side[row]
                bb[row] += x_x[row] * side[row] * side[row]
                be[row] += x_e[row] * side[row]
        if sloped:
            for row in range(rows):
                first[row], second[row] = own[1, worker[row]], own[2, worker[row]]
            for row in range(rows):
                reach = first[row] * d[row]
                by_s[row] += by_x[row] * reach
                ds[row] += x_x[row] * a[row] * reach - observed * by_x[row] * first[row]
                ss[row] += x_x[row] * reach * reach - observed * by_x[row] * second[row] * d[row]
            for row in range(rows):
                sb[row] += x_x[row] * first[row] * d[row] * side[row]
                se[row] += x_e[row] * first[row] * d[row]


def fill_terms(
    first: Any, second_item: Any, count: Any, side: Any, worker: Any, scores: Any, columns: Any,
    observed: float, has: Any, found: Any,
) -> None:  # fmt: skip
    """Write what ``describe_rows`` says of every row (15, rows), times its count; the first one as a logarithm."""
    share = 1.0 / len(columns)
    space, terms = np.empty((13, BLOCK)), np.empty((15, BLOCK))
    for begin in range(0, len(first), BLOCK):
        end = min(begin + BLOCK, len(first))
        rows = end - begin
        one, other, shown, who = first[begin:end], second_item[begin:end], side[begin:end], worker[begin:end]
        describe_rows(rows, one, other, shown, who, scores, columns, observed, has, space, terms)
        for row in range(rows):
            found[0, begin + row] = share * count[begin + row] * math.log(terms[0, row])
        for place in range(1, len(found)):
            for row in range(rows):
                found[place, begin + row] = share * count[begin + row] * terms[place, row]


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
    share, value, single = 1.0 / len(columns), 0.0, 1.0
    space, terms = np.empty((13, BLOCK)), np.empty((15, BLOCK))
    for start in range(0, len(first), BLOCK):
        end = min(start + BLOCK, len(first))
        rows = end - start
        one, other, shown, who = first[start:end], second_item[start:end], side[start:end], worker[start:end]
        describe_rows(rows, one, other, shown, who, scores, columns, observed, has, space, terms)
        for row in range(rows):
            at = start + row
            i, j, k, weight, product = first[at], second_item[at], worker[at], share * count[at], terms[0, row]
            if count[at] == 1.0 and product > FLUSH:
                single *= product
                if single < FLUSH:
                    value += share * math.log(single)
                    single = 1.0
            else:
                value += weight * math.log(product)
            by_score[i] += weight * terms[1, row]
            by_score[j] -= weight * terms[1, row]
            place = k - begin
            if has[0]:
                by_worker[k, 0] += weight * terms[2, row]
            if has[1]:
                by_worker[k, 1] += weight * terms[3, row]
            if has[2]:
                by_worker[k, 2] += weight * terms[4, row]
            if curved:
                pairs[i, j] += weight * terms[5, row]
                if has[0]:
                    coupling[0, place, i] += weight * terms[6, row]
                    coupling[0, place, j] -= weight * terms[6, row]
                    own[k, 0] += weight * terms[9, row]
                    own[k, 1] += weight * terms[10, row]
                    own[k, 2] += weight * terms[11, row]
                if has[1]:
                    coupling[1, place, i] += weight * terms[7, row]
                    coupling[1, place, j] -= weight * terms[7, row]
                    own[k, 3] += weight * terms[12, row]
                    own[k, 4] += weight * terms[13, row]
                if has[2]:
                    coupling[2, place, i] += weight * terms[8, row]
                    coupling[2, place, j] -= weight * terms[8, row]
                    own[k, 5] += weight * terms[14, row]
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
    return compile_together(
        exponentials, describe_rows, fill_terms, add_terms, add_quality_logs, inlined=(exponentials, describe_rows)
    )


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
        values = np.zeros((len(nodes), 7, len(nodes[0])))
        values[:, [0, 4]] = 1.0  # a slope of 1, and every outcome reported as it is
        places = [SLOTS.index(column.drives) for column in columns]
        for number, node in enumerate(nodes):
            for place, (slot, parameter) in enumerate(zip(places, columns, strict=True)):
                own = Column.of(parameter, node[:, place])
                values[number, FIRST_OF[slot]] = own.value
                if slot != POSITION:
                    values[number, FIRST_OF[slot] + 1] = 1.0 if own.first is None else own.first
                    values[number, FIRST_OF[slot] + 2] = 0.0 if own.second is None else own.second
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
