"""What each worker says about each item, as contests with the other items of its query.

A *judge* is a worker in a query, and a *cell* is an item that a judge decided about. tau(s, t) is the judge's
verdict on s and t: 1 or 0, the share of the votes if there are several, Null if there is none. N(s) is the number
of contests that s won, and n the number of items. The option ``pair`` sets P(s above t):

    direct     tau(s, t)                              1/2 if Null
    centred    1/2 + (N(s) - N(t)) / 2n               1/2 if Null
    printed    equation 6 of Niu et al. 2015:
               (N(s) - N(t)) / n      if N(s) > N(t)
               1 - (N(t) - N(s)) / n  if N(s) < N(t)  1/2 if equal or Null
    logistic   1 / (1 + exp(M(t) - M(s))), M the wins minus the losses, for every pair, Null or not

As printed, equation 6 ranks backwards: an item with one more win than another is above it with a probability of
only 1/n. A tied vote, like every chance of 1/2, says no more than no vote at all, and is left out.

With ``direct``, nearly all verdicts are 1 or 0. Such a cell is two numbers, its won and its lost contests, and the
cells of workers with the same quality are few: a list of n items has at most n different ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, Ints, Nodes, summed
from crowdrank.prepared.comparisons import Comparisons, join_rows
from crowdrank.prepared.votes import Votes

DENSE = 4
"""Cells are numbered through a table of all items of all judges if it has at most this many entries per vote."""


@dataclass(frozen=True, eq=False)
class ContestCells:
    """Cells of c contests each; equal cells are stored once.

    Before the worker's quality enters, ``chance`` (rows, c) is the chance to win each contest, and ``rest``
    (rows,) that of each further contest. ``voice`` is a judge whose quality a row has, and ``size`` the number of
    items of its query. The cell ``cell[k]`` of all cells has the chances of row ``row[k]``.
    """

    chance: Floats
    rest: Floats
    voice: Integers
    size: Integers
    cell: Integers
    row: Integers

    @property
    def contests(self) -> int:
        """The number c of contests of each cell."""
        return self.chance.shape[1]


@dataclass(frozen=True, eq=False)
class DecidedCells:
    """Cells of c contests each that were all won or lost for certain; the others are fair coins.

    ``won`` (rows,): how many were won. ``line`` (rows,): the quality and the number of items, which are those of
    the judge ``voice`` (lines,), and ``size`` (lines,). The cell ``cell[k]`` of all cells is row ``row[k]``.
    """

    contests: int
    won: Integers
    line: Integers
    voice: Integers
    size: Integers
    cell: Integers
    row: Integers


@dataclass(frozen=True, eq=False)
class JudgeContests:
    """All cells, in groups of one number of contests, and who the judges are.

    ``alone``: in these groups, a "cell" is a judge and stands for all items that the judge left alone. ``fair``:
    contests beyond those of a cell are fair coins, whatever the quality of the worker. ``worker`` and ``query``
    are those of each judge. All cells, also those with nothing but tied votes, are sorted by ``cell_judge``, then
    ``cell_node``. Each row of votes for either item (``wins``, ``losses``) has the cells ``first`` and ``second``.
    """

    groups: list[ContestCells | DecidedCells]
    alone: list[ContestCells]
    fair: bool
    worker: Integers
    query: Integers
    cell_judge: Integers
    cell_node: Integers
    first: Ints
    second: Ints
    wins: Floats
    losses: Floats

    @classmethod
    def of(cls, votes: Votes, pair: str, *, pool: bool = False) -> JudgeContests:
        """The contests of these votes, by the option ``pair``. Unknown workers count as one judge per query.

        ``pool``: whether a worker has the same quality in all queries, so that equal cells of several queries are
        stored once.
        """
        rows = join_rows(list(votes.count_votes("worker" if votes.n_workers else "crowd", ties=True)))
        assert rows.worker is not None
        queries = int(votes.nodes.query.max()) + 1
        names, judge = _number_runs(rows.worker.astype(np.int64) * queries + votes.nodes.query[rows.i])
        worker, query = np.divmod(names, queries)
        cells, first, second = _number_cells(judge, query, rows, votes.nodes)
        cell_judge, cell_node = np.divmod(cells, len(votes.nodes))
        same = np.unique(worker, return_index=True)[1][np.unique(worker, return_inverse=True)[1]]
        judged = _JudgedPairs(
            rows, first, second, cell_judge, cell_node, same if pool else np.arange(len(worker)), votes.nodes
        )
        groups, alone = PAIRS[pair](judged)
        voted = rows.wins + rows.losses > 0
        kept = slice(None) if voted.all() else voted
        return cls(
            groups=groups,
            alone=alone,
            fair=pair != "logistic",
            worker=worker,
            query=query,
            cell_judge=cell_judge,
            cell_node=cell_node,
            first=first[kept],
            second=second[kept],
            wins=rows.wins[kept],
            losses=rows.losses[kept],
        )


def _number_runs(keys: Integers) -> tuple[Integers, Integers]:
    """The distinct keys of sorted ones, and the number of each among them."""
    new = np.diff(keys, prepend=-1) > 0
    return keys[new], np.cumsum(new) - 1


def _number_cells(
    judge: Integers, query: Integers, rows: Comparisons, nodes: Nodes
) -> tuple[Integers, Ints, Ints]:
    """The keys of all cells, sorted by judge, then node; and the number of the two cells of each row."""
    sizes = np.bincount(nodes.query)
    size = sizes[query]
    if size.sum() > DENSE * len(rows):
        keys = np.concatenate([judge * len(nodes) + rows.i, judge * len(nodes) + rows.j])
        cells, place = np.unique(keys, return_inverse=True)
        first, second = place.astype(np.int32).reshape(2, -1)
        return cells, first, second
    # the key of slot k of a judge is that of the first item of the query plus k
    shift = (np.cumsum(size) - size) - (np.cumsum(sizes) - sizes)[query]
    i, j = shift[judge] + rows.i, shift[judge] + rows.j
    used = np.zeros(int(size.sum()), bool)
    used[i] = used[j] = True
    number = (np.cumsum(used) - 1).astype(np.int32)
    owner = np.repeat(np.arange(len(size)), size)
    node = np.arange(len(used)) - shift[owner]
    return (owner * len(nodes) + node)[used], number[i], number[j]


class _JudgedPairs:
    """The votes of a judge on two items with the shares of the first, and the cells that they belong to."""

    def __init__(
        self,
        rows: Comparisons,
        first: Ints,
        second: Ints,
        cell_judge: Integers,
        cell_node: Integers,
        voice: Integers,
        nodes: Nodes,
    ) -> None:
        informative = rows.wins != rows.losses
        kept = slice(None) if informative.all() else informative
        half = 0.0 if rows.ties is None else 0.5 * rows.ties[kept]
        self.share = (rows.wins[kept] + half) / rows.weight[kept]
        self.first, self.second = first[kept], second[kept]
        self.cell_judge = cell_judge
        self.voice, self.size = voice[cell_judge], np.bincount(nodes.query)[nodes.query[cell_node]]

    def both_sides(self, kept: slice | NDArray[np.bool_] = slice(None)) -> tuple[Ints, Ints, Floats]:
        """These rows seen from either item: its cell, its opponent's cell, and its share of the votes."""
        first, second, share = self.first[kept], self.second[kept], self.share[kept]
        return (
            np.concatenate([first, second]),
            np.concatenate([second, first]),
            np.concatenate([share, 1.0 - share]),
        )

    def total(self, place: Ints, values: Floats) -> Floats:
        """The sum of values over the rows of each cell, without rounding errors."""
        return np.round(summed(place, values, len(self.cell_judge)), 12)

    def ahead(self) -> tuple[Ints, Floats]:
        """The cell of each row, and N(s) - N(t): the contests that the item won, minus those of its opponent."""
        place, opponent, share = self.both_sides()
        won = self.total(place, share)
        return place, np.round(won[place] - won[opponent], 11)


Groups = tuple[list[ContestCells | DecidedCells], list[ContestCells]]
"""The groups of cells, and those of the items that judges left alone."""


def _direct(rows: _JudgedPairs) -> Groups:
    """Cells with nothing but won and lost contests by their counts, the others by their chances."""
    cells, clear = len(rows.cell_judge), (rows.share == 0.0) | (rows.share == 1.0)
    won = np.bincount(rows.first[rows.share == 1.0], minlength=cells)
    won += np.bincount(rows.second[rows.share == 0.0], minlength=cells)
    lost = np.bincount(rows.second[rows.share == 1.0], minlength=cells)
    lost += np.bincount(rows.first[rows.share == 0.0], minlength=cells)
    mixed = np.zeros(cells, bool)
    mixed[rows.first[~clear]] = mixed[rows.second[~clear]] = True
    decided = np.flatnonzero(~mixed & (won + lost > 0))
    groups = _decided_cells(rows, decided, won[decided], (won + lost)[decided])
    if mixed.any():
        place, _, share = rows.both_sides(mixed[rows.first] | mixed[rows.second])
        own = mixed[place]
        groups += _cells_of_judged_pairs(rows, place[own], share[own])
    return groups, []


def _decided_cells(
    rows: _JudgedPairs, cells: Integers, won: Integers, count: Integers
) -> list[ContestCells | DecidedCells]:
    """A group for each number of contests."""
    groups: list[ContestCells | DecidedCells] = []
    for contests in np.unique(count):
        of = count == contests
        own = cells[of]
        key = rows.voice[own] * (int(rows.size.max()) + 1) + rows.size[own]
        _, first, line = np.unique(key, return_index=True, return_inverse=True)
        distinct, row = np.unique(line * (contests + 1) + won[of], return_inverse=True)
        of_line, decided = np.divmod(distinct, contests + 1)
        judges, sizes = rows.voice[own[first]], rows.size[own[first]]
        groups.append(DecidedCells(int(contests), decided, of_line, judges, sizes, own, row))
    return groups


def _centered(rows: _JudgedPairs) -> Groups:
    place, ahead = rows.ahead()
    return _cells_of_judged_pairs(rows, place, 0.5 + ahead / (2.0 * rows.size[place])), []


def _printed(rows: _JudgedPairs) -> Groups:
    """Equation 6 as printed."""
    place, ahead = rows.ahead()
    part = ahead / rows.size[place]
    chance = np.where(part > 0, part, np.where(part < 0, 1.0 + part, 0.5))
    return _cells_of_judged_pairs(rows, place, chance), []


def _cells_of_judged_pairs(rows: _JudgedPairs, place: Ints, chance: Floats) -> list[ContestCells | DecidedCells]:
    """Cells whose contests are the judged pairs; all others are fair coins."""
    informative = chance != 0.5
    place, chance = place[informative], chance[informative]
    order = np.lexsort((chance, place))
    chance = chance[order]
    count = np.bincount(place, minlength=len(rows.cell_judge))
    start = np.cumsum(count) - count
    groups: list[ContestCells | DecidedCells] = []
    for contests in np.unique(count[count > 0]):
        cells = np.flatnonzero(count == contests)
        table = chance[start[cells, None] + np.arange(contests)]
        rest = np.full(len(cells), 0.5)
        groups.append(_distinct_cells(table, rest, rows.voice[cells], rows.size[cells], cells))
    return groups


def _logistic(rows: _JudgedPairs) -> Groups:
    """Cells with a contest against every item that the judge decided about, by net wins."""
    place, _, share = rows.both_sides()
    net, decided = rows.total(place, 2.0 * share - 1.0), np.unique(place)
    count = np.bincount(rows.cell_judge[decided])
    start = np.cumsum(count) - count
    groups: list[ContestCells | DecidedCells] = []
    left_alone = []
    for items in np.unique(count[count > 0]):
        judges = np.flatnonzero(count == items)
        cells = decided[start[judges, None] + np.arange(items)]
        own, voice, size = net[cells], rows.voice[cells], rows.size[cells]
        chance = 1.0 / (1.0 + np.exp(own[:, None, :] - own[:, :, None]))
        others = chance[:, ~np.eye(items, dtype=bool)].reshape(len(judges) * items, items - 1)
        rest = 1.0 / (1.0 + np.exp(-own.ravel()))
        groups.append(_distinct_cells(np.sort(others, axis=1), rest, voice.ravel(), size.ravel(), cells.ravel()))
        some = size[:, 0] > items  # the items that the judge left alone have net wins of 0
        alone = np.sort(1.0 / (1.0 + np.exp(own[some])), axis=1)
        half = np.full(int(some.sum()), 0.5)
        left_alone.append(_distinct_cells(alone, half, voice[some, 0], size[some, 0], judges[some]))
    return groups, left_alone


def _distinct_cells(chance: Floats, rest: Floats, voice: Integers, size: Integers, cell: Integers) -> ContestCells:
    """The cells; equal ones (same quality, size and chances) are stored once."""
    codes = np.unique(np.column_stack([chance, rest]), return_inverse=True)[1]
    table = np.column_stack([voice, size, codes.reshape(len(rest), chance.shape[1] + 1)])
    _, first, row = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return ContestCells(chance[first], rest[first], voice[first], size[first], cell, row.ravel())


PAIRS: dict[str, Callable[[_JudgedPairs], Groups]] = {
    "direct": _direct,
    "logistic": _logistic,
    "centred": _centered,
    "printed": _printed,
}
