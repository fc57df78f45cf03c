"""The workers' lists as distributions of ranks, and how well a ranking fits them: L of Niu et al. 2015."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, Ints, summed
from crowdrank.kernels.rank_distribution import expected_fair, expected_power, expected_spectrum, fair_tables
from crowdrank.models.lists.judge_contests import ContestCells, JudgeContests
from crowdrank.prepared.votes import EQUAL, Votes


class ExpectedMeasure(ABC):
    """The parts of a measure that are used: the discount and the gain of a rank, and expected discounts."""

    @abstractmethod
    def discounts(self, n: int) -> Floats:
        """D(0 .. n - 1)."""

    @abstractmethod
    def gains(self, n: int) -> Floats:
        """h(0 .. n - 1)."""

    @abstractmethod
    def level(self, n: int) -> float:
        """E_0 D: the expected discount of one of n items if all its contests are fair coins."""

    @abstractmethod
    def toss(self, n: int) -> float:
        """How far one decided contest moves the expected discount, over E_0 D."""

    @abstractmethod
    def expected(self, cells: ContestCells, lost: Floats, rest: Floats, *, fair: bool) -> Floats:
        """E D / E_0 D - 1 of each row of cells, given its chances to lose; ``fair``: ``rest`` is all 1/2."""


class NDCG(ExpectedMeasure):
    """D(r) = 1 / log2(2 + r), gains 2^kappa - 1, normalized."""

    tables: dict[int, list[Floats]]

    def __init__(self, most: dict[int, int]) -> None:
        self.tables = {n: fair_tables(self.discounts(n), count) for n, count in most.items()}

    def discounts(self, n: int) -> Floats:
        """1 / log2(2 + r)."""
        return 1.0 / np.log2(2.0 + np.arange(n))

    def gains(self, n: int) -> Floats:
        """2^((n - r) / n) - 1, over the DCG of the best order."""
        gains = np.exp2(np.arange(n, 0, -1) / n) - 1.0
        return np.asarray(gains / (gains @ self.discounts(n)))

    def level(self, n: int) -> float:
        """From the tables of fair coins; a single item is the first."""
        return float(self.tables[n][0][0]) if n > 1 else float(self.discounts(1)[0])

    def toss(self, n: int) -> float:
        """From the tables of fair coins; a single item has no contests."""
        if n == 1:
            return 0.0
        won, lost = self.tables[n][1]
        return float(won - lost) / (2.0 * self.level(n))

    def expected(self, cells: ContestCells, lost: Floats, rest: Floats, *, fair: bool) -> Floats:
        """By the tables if the other contests are fair coins, otherwise by the spectrum."""
        sizes, place = np.unique(cells.size, return_inverse=True)
        base = np.array([self.level(int(n)) for n in sizes])[place]
        if fair:
            tables = np.stack([self.tables[int(n)][cells.contests] for n in sizes])
            return np.asarray(expected_fair(lost, tables, place) / base - 1.0)
        found = np.empty(len(lost))
        for code, n in enumerate(sizes):
            own = place == code
            found[own] = expected_spectrum(lost[own], rest[own], self.discounts(int(n)))
        return np.asarray(found / base - 1.0)


class RBP(ExpectedMeasure):
    """D(r) = p^r, gains kappa: E p^rank is a product, so no distribution is needed."""

    def __init__(self, p: float) -> None:
        self.p = p

    def discounts(self, n: int) -> Floats:
        """p^r."""
        return np.asarray(self.p ** np.arange(n))

    def gains(self, n: int) -> Floats:
        """(1 - p) (n - r) / n."""
        return (1.0 - self.p) * np.arange(n, 0, -1) / n

    def level(self, n: int) -> float:
        """((1 + p) / 2)^(n - 1)."""
        return float(((1.0 + self.p) / 2.0) ** (n - 1))

    def toss(self, n: int) -> float:
        """(1 - p) / (1 + p)."""
        return (1.0 - self.p) / (1.0 + self.p)

    def expected(self, cells: ContestCells, lost: Floats, rest: Floats, *, fair: bool) -> Floats:
        """By the product."""
        return expected_power(lost, rest, cells.size - 1 - cells.contests, self.p) - 1.0


@dataclass(frozen=True, eq=False)
class ListValues:
    """The lists at some eta. ``cells``: a of each cell, in the order of the groups; ``total`` (N,): their sums;
    ``alone`` (judges,): E D / E_0 D - 1 of an item that the judge left alone; ``level`` (N,): from 0 for the best,
    shared by ties."""

    cells: list[Floats]
    total: Floats
    alone: Floats
    level: Integers


class ExpectedLists:
    """The workers' lists as distributions of ranks, and how well a ranking fits them."""

    contests: JudgeContests
    measure: ExpectedMeasure
    query: Ints
    workers: int
    sizes: NDArray[Any]
    start: NDArray[Any]
    judges: NDArray[Any]

    def __init__(self, contests: JudgeContests, measure: ExpectedMeasure, votes: Votes) -> None:
        self.contests, self.measure = contests, measure
        self.query, self.workers = votes.nodes.query, votes.n_workers
        self.sizes = np.bincount(self.query)
        self.start = np.cumsum(self.sizes) - self.sizes
        self.judges = np.bincount(contests.query, minlength=len(self.sizes))

    def values(self, eta: Floats) -> ListValues:
        """The values of all lists at these qualities of the judges (eq. 9 and 13)."""
        alone = np.zeros(len(self.contests.worker))
        found = []
        for cells in self.contests.groups:
            own = eta[cells.judge]
            lost = cells.chance + own[:, None] * (1.0 - 2.0 * cells.chance)
            rest = cells.rest + own * (1.0 - 2.0 * cells.rest)
            value = self.measure.expected(cells, lost, rest, fair=self.contests.fair)
            if len(cells.node) and cells.node[0] < 0:
                alone[cells.judge] = value
            found.append(value)
        total = np.zeros(len(self.query))
        for place, cells in enumerate(self.contests.groups):
            found[place] = (found[place] - alone[cells.judge])[cells.row]
            items = cells.node >= 0
            total += summed(cells.node[items], found[place][items], len(total))
        total, level = self._levels(total)
        return ListValues(found, total, alone, level)

    def _levels(self, total: Floats) -> tuple[Floats, Integers]:
        """The totals, made equal if they differ by rounding alone, and their order (algorithm 3)."""
        order = np.lexsort((-total, self.query))
        own = self.query[order]
        rounding = EQUAL * np.maximum.reduceat(np.abs(total), self.start)
        first = np.diff(own, prepend=-1) > 0
        steps = first | (-np.diff(total[order], prepend=0.0) > rounding[own])
        group = np.empty(len(total), np.int64)
        group[order] = np.cumsum(steps) - 1
        level = group - group[order][first][self.query]
        return (summed(group, total, len(total)) / np.maximum(np.bincount(group, minlength=len(total)), 1))[
            group
        ], level

    def objective(self, values: ListValues, rank: Integers) -> Floats:
        """L of each query at these values, for the ranking ``rank`` (N,), from 0 (eq. 14)."""
        h = np.concatenate([self.measure.gains(int(n)) for n in self.sizes])[self.start[self.query] + rank]
        level = np.array([self.measure.level(int(n)) for n in self.sizes])
        same = self.judges + summed(self.contests.query, values.alone, len(self.sizes))
        return level * summed(self.query, h * (same[self.query] + values.total), len(self.sizes))

    def ranks(self, values: ListValues) -> Integers:
        """The ranking with the largest L at these values, from 0."""
        order = np.lexsort((values.level, self.query))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return rank - self.start[self.query]

    def agreeing_votes(self, level: Integers, of: Integers, size: int) -> tuple[Floats, Floats]:
        """For each of ``size`` judges or workers, the votes that agree with the order, and all votes except ties.

        ``of``: the judge or worker that each judge counts for. If the two items are tied, half a vote agrees
        (eq. 17).
        """
        rows, who = self.contests.rows, of[self.contests.row_judge]
        ahead = np.sign(level[rows.j] - level[rows.i])
        right = 0.5 * (rows.wins * (1 + ahead) + rows.losses * (1 - ahead))
        return summed(who, right, size), summed(who, rows.wins + rows.losses, size)

    def agreement_with_others(self, values: ListValues, of: Integers, size: int) -> tuple[Floats, Floats]:
        """As ``agreeing_votes``, but by the order of the other workers, in independent votes.

        The others' F of an item is F_j - f_ij. A vote counts if anybody else judged one of its items. All votes of
        a judge together count as ``independent_votes``.
        """
        rows, judge, judges = self.contests.rows, self.contests.row_judge, len(self.contests.worker)
        cells = np.concatenate([*values.cells, np.zeros(1)])
        first, second = self.row_cells
        none = len(cells) - 1
        own = (first < none).astype(np.int64) + (second < none)
        other = self.judged[rows.i] + self.judged[rows.j] > own
        ahead = (values.total[rows.i] - cells[first]) - (values.total[rows.j] - cells[second])
        rounding = EQUAL * np.maximum.reduceat(np.abs(values.total), self.start)
        ahead = np.where(np.abs(ahead) > rounding[self.query[rows.i]], np.sign(ahead), 0.0)
        right = summed(judge, other * 0.5 * (rows.wins * (1 + ahead) + rows.losses * (1 - ahead)), judges)
        every = summed(judge, rows.wins + rows.losses, judges)
        part = self.independent_votes / np.maximum(every, 1e-300)
        known = summed(judge, other * (rows.wins + rows.losses), judges)
        return summed(of, part * right, size), summed(of, part * known, size)

    @cached_property
    def row_cells(self) -> tuple[Integers, Integers]:
        """The places of the two items' cells of each row of votes in the cells of all groups; their number if an
        item has none."""
        groups, nodes = self.contests.groups, len(self.query)
        node = np.concatenate([np.zeros(0, np.int64), *(cells.node for cells in groups)])
        judge = np.concatenate([np.zeros(0, np.int64), *(cells.judge[cells.row] for cells in groups)])
        key = np.where(node >= 0, judge * nodes + node, -1)
        order = np.argsort(key, kind="stable")
        known = np.append(key[order], np.iinfo(np.int64).max)

        def place(item: Ints) -> Integers:
            wanted = self.contests.row_judge * nodes + item
            found = np.searchsorted(known, wanted)
            return np.where(known[found] == wanted, np.append(order, len(key))[found], len(key))

        return place(self.contests.rows.i), place(self.contests.rows.j)

    @cached_property
    def judged(self) -> Integers:
        """How many judges have a cell for each node."""
        node = np.concatenate([np.zeros(0, np.int64), *(cells.node for cells in self.contests.groups)])
        return np.bincount(node[node >= 0], minlength=len(self.query))

    @cached_property
    def independent_votes(self) -> Floats:
        """For each judge, min(V, 3 V^2 / (V + sum over items of (wins - losses)^2)), V being the number of votes.

        The votes of a list or of labels depend on each other. The share of V votes that agree with an unrelated
        order varies as that of V tosses if no two votes share an item, as Kendall's tau if they are a list, and as
        the statistic of Mann and Whitney if they are labels of two kinds. This is the number of tosses with the
        same variance, at most V: about 9/4 m for a list of m items.
        """
        rows, judge, judges = self.contests.rows, self.contests.row_judge, len(self.contests.worker)
        cell = np.concatenate(self.row_cells)
        size, net = sum(len(cells.node) for cells in self.contests.groups), rows.wins - rows.losses
        squares = summed(cell, np.concatenate([net, -net]), size + 1)[:size] ** 2
        whose = np.concatenate(
            [np.zeros(0, np.int64), *(cells.judge[cells.row] for cells in self.contests.groups)]
        )
        votes = summed(judge, rows.wins + rows.losses, judges)
        spread = votes + summed(whose, squares, judges)
        return np.minimum(votes, 3.0 * votes**2 / np.maximum(spread, 1e-300))
