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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crowdrank.data import Floats, Integers, Nodes, summed
from crowdrank.prepared.comparisons import Comparisons, join_rows
from crowdrank.prepared.votes import Votes


@dataclass(frozen=True, eq=False)
class ContestCells:
    """Cells of c contests each; equal cells are stored once.

    Before the worker's quality enters, ``chance`` (rows, c) is the chance to win each contest, and ``rest``
    (rows,) that of each further contest. ``judge`` and ``size`` (the number of items of its query) are those of
    each row. Cell k belongs to node ``node[k]`` and has the chances of row ``row[k]``. Node -1 stands for all
    items that the judge left alone.
    """

    chance: Floats
    rest: Floats
    judge: Integers
    size: Integers
    node: Integers
    row: Integers

    @property
    def contests(self) -> int:
        """The number c of contests of each cell."""
        return self.chance.shape[1]


@dataclass(frozen=True, eq=False)
class JudgeContests:
    """All cells, grouped by their number of contests, and who the judges are.

    ``fair``: contests beyond those of a cell are fair coins, whatever the quality of the worker.
    ``worker`` and ``query`` are those of each judge; ``rows`` are the votes for either item, ``row_judge`` their
    judges.
    """

    groups: list[ContestCells]
    fair: bool
    worker: Integers
    query: Integers
    rows: Comparisons
    row_judge: Integers

    @classmethod
    def of(cls, votes: Votes, pair: str) -> JudgeContests:
        """The contests of these votes, by the option ``pair``. Unknown workers count as one judge per query."""
        rows = join_rows(list(votes.count_votes("worker" if votes.n_workers else "crowd", ties=True)))
        assert rows.worker is not None
        queries = int(votes.nodes.query.max()) + 1
        names, judge = np.unique(
            rows.worker.astype(np.int64) * queries + votes.nodes.query[rows.i], return_inverse=True
        )
        voted, even = rows.wins + rows.losses > 0, rows.wins == rows.losses
        return cls(
            groups=PAIRS[pair](_JudgedPairs(rows.take(~even), judge[~even], votes.nodes)),
            fair=pair != "logistic",
            worker=names // queries,
            query=names % queries,
            rows=rows.take(voted),
            row_judge=judge[voted],
        )


class _JudgedPairs:
    """The votes of a judge on two items, seen from either item: who, whom, and the share of the votes."""

    def __init__(self, rows: Comparisons, judge: Integers, nodes: Nodes) -> None:
        half = 0.0 if rows.ties is None else 0.5 * rows.ties
        share = (rows.wins + half) / rows.weight
        self.who = np.concatenate([rows.i, rows.j]).astype(np.int64)
        self.whom = np.concatenate([rows.j, rows.i]).astype(np.int64)
        self.share = np.concatenate([share, 1.0 - share])
        self.judge = np.concatenate([judge, judge])
        self.size = np.bincount(nodes.query)[nodes.query]
        # cells are numbered by judge, then node; place is the cell that a row belongs to
        key = self.judge * len(nodes) + self.who
        self.cells, self.place = np.unique(key, return_inverse=True)
        self.opponent = np.searchsorted(self.cells, self.judge * len(nodes) + self.whom)
        self.cell_judge, self.cell_node = np.divmod(self.cells, len(nodes))

    def total(self, values: Floats) -> Floats:
        """The sum of values over the rows of each cell, without rounding errors."""
        return np.round(summed(self.place, values, len(self.cells)), 12)

    def ahead(self) -> Floats:
        """N(s) - N(t) of each row: the contests that the item won, minus those that its opponent won."""
        won = self.total(self.share)
        return np.round(won[self.place] - won[self.opponent], 11)


def _direct(rows: _JudgedPairs) -> list[ContestCells]:
    return _cells_of_judged_pairs(rows, rows.share)


def _centered(rows: _JudgedPairs) -> list[ContestCells]:
    return _cells_of_judged_pairs(rows, 0.5 + rows.ahead() / (2.0 * rows.size[rows.who]))


def _printed(rows: _JudgedPairs) -> list[ContestCells]:
    """Equation 6 as printed."""
    ahead = rows.ahead() / rows.size[rows.who]
    return _cells_of_judged_pairs(rows, np.where(ahead > 0, ahead, np.where(ahead < 0, 1.0 + ahead, 0.5)))


def _cells_of_judged_pairs(rows: _JudgedPairs, chance: Floats) -> list[ContestCells]:
    """Cells whose contests are the judged pairs; all others are fair coins."""
    informative = chance != 0.5
    place, chance = rows.place[informative], chance[informative]
    order = np.lexsort((chance, place))
    chance = chance[order]
    count = np.bincount(place, minlength=len(rows.cells))
    start = np.cumsum(count) - count
    groups = []
    for contests in np.unique(count[count > 0]):
        cells = np.flatnonzero(count == contests)
        table = chance[start[cells, None] + np.arange(contests)]
        rest = np.full(len(cells), 0.5)
        node = rows.cell_node[cells]
        groups.append(_distinct_cells(table, rest, rows.cell_judge[cells], rows.size[node], node))
    return groups


def _logistic(rows: _JudgedPairs) -> list[ContestCells]:
    """Cells with a contest against every item that the judge decided about, by net wins."""
    net = rows.total(2.0 * rows.share - 1.0)
    count = np.bincount(rows.cell_judge)
    start = np.cumsum(count) - count
    groups = []
    for items in np.unique(count[count > 0]):
        judges = np.flatnonzero(count == items)
        cells = start[judges, None] + np.arange(items)
        own, node = net[cells], rows.cell_node[cells]
        size = rows.size[node]
        chance = 1.0 / (1.0 + np.exp(own[:, None, :] - own[:, :, None]))
        others = chance[:, ~np.eye(items, dtype=bool)].reshape(len(judges) * items, items - 1)
        judge = np.repeat(judges, items)
        rest = 1.0 / (1.0 + np.exp(-own.ravel()))
        groups.append(_distinct_cells(np.sort(others, axis=1), rest, judge, size.ravel(), node.ravel()))
        some = size[:, 0] > items  # the items that the judge left alone have net wins of 0
        alone = np.sort(1.0 / (1.0 + np.exp(own[some])), axis=1)
        nobody = np.full(int(some.sum()), -1)
        groups.append(_distinct_cells(alone, np.full(len(nobody), 0.5), judges[some], size[some, 0], nobody))
    return groups


def _distinct_cells(chance: Floats, rest: Floats, judge: Integers, size: Integers, node: Integers) -> ContestCells:
    """The cells; equal ones (same judge, same chances) are stored once."""
    codes = np.unique(np.column_stack([chance, rest]), return_inverse=True)[1]
    table = np.column_stack([judge, codes.reshape(len(rest), chance.shape[1] + 1)])
    _, first, row = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return ContestCells(chance[first], rest[first], judge[first], size[first], node, row.ravel())


PAIRS: dict[str, Callable[[_JudgedPairs], list[ContestCells]]] = {
    "direct": _direct,
    "logistic": _logistic,
    "centred": _centered,
    "printed": _printed,
}
