"""The workers' lists as distributions of ranks, and how well a ranking fits them: L of Niu et al. 2015."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, Ints, summed
from crowdrank.kernels.rank_distribution import (
    expected_decided,
    expected_fair,
    expected_power,
    expected_spectrum,
    fair_tables,
)
from crowdrank.models.lists.judge_contests import ContestCells, DecidedCells, JudgeContests
from crowdrank.prepared.votes import EQUAL, Votes

BLOCK = 1 << 15
"""Rows of votes that are compared with a ranking at a time."""


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

    @abstractmethod
    def expected_decided(self, cells: DecidedCells, eta: Floats) -> Floats:
        """The same for cells whose contests were all won or lost; ``eta`` (lines,)."""


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

    def expected_decided(self, cells: DecidedCells, eta: Floats) -> Floats:
        """By the tables, for all numbers of wins together."""
        sizes, place = np.unique(cells.size, return_inverse=True)
        base = np.array([self.level(int(n)) for n in sizes])[place]
        tables = np.stack([self.tables[int(n)][cells.contests] for n in sizes])[place]
        found = expected_decided(cells.won, cells.line, eta, tables)
        return np.asarray(found / base[cells.line] - 1.0)


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

    def expected_decided(self, cells: DecidedCells, eta: Floats) -> Floats:
        """By the product."""
        fair = (1.0 + self.p) / 2.0
        lost, won = (np.log1p(-(1.0 - self.p) * chance) - np.log(fair) for chance in (eta, 1.0 - eta))
        logs = cells.won * won[cells.line] + (cells.contests - cells.won) * lost[cells.line]
        return np.asarray(np.exp(logs) - 1.0)


@dataclass(frozen=True, eq=False)
class ListValues:
    """The lists at some eta. ``cells``: a of each cell; ``total`` (N,): their sums; ``alone`` (judges,):
    E D / E_0 D - 1 of an item that the judge left alone; ``level`` (N,): from 0 for the best, shared by ties."""

    cells: Floats
    total: Floats
    alone: Floats
    level: Integers


class CountedVotes(NamedTuple):
    """Votes that count: wins minus losses of each row, and how many each judge cast."""

    net: Floats
    total: Floats


class ExpectedLists:
    """The workers' lists as distributions of ranks, and how well a ranking fits them."""

    contests: JudgeContests
    measure: ExpectedMeasure
    query: Ints
    workers: int
    sizes: NDArray[Any]
    start: NDArray[Any]
    judges: NDArray[Any]
    decided: NDArray[Any]

    def __init__(self, contests: JudgeContests, measure: ExpectedMeasure, votes: Votes) -> None:
        self.contests, self.measure = contests, measure
        self.query, self.workers = votes.nodes.query, votes.n_workers
        self.sizes = np.bincount(self.query)
        self.start = np.cumsum(self.sizes) - self.sizes
        self.judges = np.bincount(contests.query, minlength=len(self.sizes))
        self.decided = np.zeros(len(contests.cell_node), bool)
        for cells in contests.groups:
            self.decided[cells.cell] = True

    def values(self, eta: Floats) -> ListValues:
        """The values of all lists at these qualities of the judges (eq. 9 and 13)."""
        contests = self.contests
        alone, found = np.zeros(len(contests.worker)), np.zeros(len(contests.cell_node))
        for cells in contests.alone:
            alone[cells.cell] = self._expected(cells, eta)[cells.row]
        for group in contests.groups:
            found[group.cell] = self._expected(group, eta)[group.row]
        found -= self.decided * alone[contests.cell_judge]
        total, level = self._levels(summed(contests.cell_node, found, len(self.query)))
        return ListValues(found, total, alone, level)

    def _expected(self, cells: ContestCells | DecidedCells, eta: Floats) -> Floats:
        """E D / E_0 D - 1 of each row."""
        own = eta[cells.voice]
        if isinstance(cells, DecidedCells):
            return self.measure.expected_decided(cells, own)
        lost = cells.chance + own[:, None] * (1.0 - 2.0 * cells.chance)
        rest = cells.rest + own * (1.0 - 2.0 * cells.rest)
        return self.measure.expected(cells, lost, rest, fair=self.contests.fair)

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
        right = self._agreement(np.float64(-2.0) * level[self.contests.cell_node], self.all_votes)
        return summed(of, right, size), summed(of, self.all_votes.total, size)

    def agreement_with_others(self, values: ListValues, of: Integers, size: int) -> tuple[Floats, Floats]:
        """As ``agreeing_votes``, but by the order of the other workers, in independent votes.

        The others' F of an item is F_j - f_ij. A vote counts if anybody else judged one of its items. All votes of
        a judge together count as ``independent_votes``.
        """
        node = self.contests.cell_node
        rounding = EQUAL * np.maximum.reduceat(np.abs(values.total), self.start)
        others = (values.total[node] - values.cells) / np.maximum(rounding, 1e-300)[self.query[node]]
        right = self._agreement(others, self.votes_about_known)
        part = self.independent_votes / np.maximum(self.all_votes.total, 1e-300)
        return summed(of, part * right, size), summed(of, part * self.votes_about_known.total, size)

    def _agreement(self, score: Floats, votes: CountedVotes) -> Floats:
        """The agreeing votes of each judge, by the scores of the cells (cells,). Two items tie if their scores
        differ by no more than 1."""
        first, second = self.contests.first, self.contests.second
        net = np.zeros(len(votes.total))
        for block in self._blocks():
            ahead = score[first[block]] - score[second[block]]
            order = (ahead > 1.0).view(np.int8) - (ahead < -1.0).view(np.int8)
            self._add_by_judge(net, block, votes.net[block] * order)
        return 0.5 * (votes.total + net)

    @cached_property
    def all_votes(self) -> CountedVotes:
        """All votes except ties."""
        return self._count_votes(np.ones(len(self.decided), bool))

    @cached_property
    def votes_about_known(self) -> CountedVotes:
        """The votes with an item about which anybody else decided."""
        node = self.contests.cell_node
        judges = np.bincount(node[self.decided], minlength=len(self.query))
        known = judges[node] > self.decided
        return self.all_votes if known.all() else self._count_votes(known)

    def _count_votes(self, known: NDArray[np.bool_]) -> CountedVotes:
        """The votes that have one of the ``known`` (cells,)."""
        contests = self.contests
        counted = known[contests.first] | known[contests.second]
        total = np.zeros(len(contests.worker))
        for block in self._blocks():
            self._add_by_judge(total, block, counted[block] * (contests.wins[block] + contests.losses[block]))
        return CountedVotes(counted * (contests.wins - contests.losses), total)

    def _blocks(self) -> Iterator[slice]:
        """Rows of votes that stay in the cache together."""
        return (slice(start, start + BLOCK) for start in range(0, len(self.contests.first), BLOCK))

    def _add_by_judge(self, total: Floats, block: slice, values: Floats) -> None:
        """Add the values of a block to those of their judges, by whom the rows are sorted."""
        judge = self.contests.cell_judge[self.contests.first[block]]
        low, high = int(judge[0]), int(judge[-1]) + 1
        total[low:high] += summed(judge - low, values, high - low)

    @cached_property
    def independent_votes(self) -> Floats:
        """For each judge, min(V, 3 V^2 / (V + sum over items of (wins - losses)^2)), V being the number of votes.

        The votes of a list or of labels depend on each other. The share of V votes that agree with an unrelated
        order varies as that of V tosses if no two votes share an item, as Kendall's tau if they are a list, and as
        the statistic of Mann and Whitney if they are labels of two kinds. This is the number of tosses with the
        same variance, at most V: about 9/4 m for a list of m items.
        """
        contests, (net, votes), cells = self.contests, self.all_votes, len(self.decided)
        squares = (summed(contests.first, net, cells) - summed(contests.second, net, cells)) ** 2
        spread = votes + summed(contests.cell_judge, squares * self.decided, len(votes))
        return np.minimum(votes, 3.0 * votes**2 / np.maximum(spread, 1e-300))
