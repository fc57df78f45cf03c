"""The pairs that rows of ratings or rankings expand to: all pairs of short lists, and a sample of long ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers, summed
from crowdrank.data.pair_sample import LONG, OPPONENTS, NodeKeys, PairSampler, RowPlaces, count_sampled
from crowdrank.data.tables import LEFT, RIGHT, TIE, NamedNodes, Pairs, Rankings, Ratings


def comparable_rows(judgments: Ratings | Rankings, named: NamedNodes | None = None) -> Ratings | Rankings:
    """The rows of which pairs are made: one row for each item of a worker, and all items of a list."""
    if isinstance(judgments, Rankings):
        return judgments.complete(named)
    return judgments if judgments.worker is None else average_repeats(judgments)


class Expansion(NamedTuple):
    """What comparable rows expand to. ``order`` and ``partners``: see ``_partners``, those of long lists are 0.

    ``every``: how many pairs there are, those of an item with itself included.
    """

    order: Integers
    partners: Integers
    every: int
    long: LongLists

    @property
    def whole(self) -> int:
        """How many pairs are in lists that are not sampled."""
        return int(self.partners.sum())


def find_expansion(rows: Ratings | Rankings) -> Expansion:
    """What comparable rows expand to."""
    groups = _find_groups(rows)
    order, partners = _partners(rows, groups)
    long = _long_lists(rows, groups)
    return Expansion(order, np.where(long.of_row[order], 0, partners), int(partners.sum()), long)


def count_whole(rows: Ratings | Rankings, expansion: Expansion) -> int:
    """How many pairs of two different items there are in lists that are not sampled."""
    if len(np.unique(label_codes(rows))) == len(rows.item):
        return expansion.whole
    return sum(piece.rows for piece in pieces_of_pairs(rows, 1 << 20))


def pieces_of_pairs(rows: Ratings | Rankings, most: int, *, ties: str = "keep") -> Iterator[Pairs]:
    """The pairs of lists that are not sampled, about ``most`` at a time, in the order of ``make_pairs``."""
    order, partners, _, _ = find_expansion(rows)
    value = _values(rows)
    for first, end in _cut(np.cumsum(partners), most):
        yield _compare(rows, value, *_pairs_of(order[first:], partners[first:end]), None, ties)


def _cut(ends: Integers, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of about ``most`` pairs; ``ends`` has the number of pairs up to each place."""
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        end = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield first, end
        first = end


class SampledPairs(NamedTuple):
    """Pairs of some long lists. ``exact``: see ``PairSample``."""

    pairs: Pairs
    exact: bool


def sampled_pairs(
    rows: Ratings | Rankings, node: Integers, keys: NodeKeys, most: int, *, ties: str = "keep"
) -> Iterator[SampledPairs]:
    """The pairs of long lists, about ``most`` at a time, in the order of ``make_pairs``.

    ``node`` of each row, and the ``keys`` of all nodes: see ``find_node_keys``.
    """
    long, value = _long_lists(rows, _find_groups(rows)), _values(rows)
    if not len(long.lists):
        return
    sampler = PairSampler(long.places(rows, node), keys, long.opponents)
    for first, end in _cut(np.cumsum(long.counts()), most):
        sample = sampler.sample(long.lists[first:end])
        pairs = _compare(rows, value, sample.first, sample.second, sample.weight, ties)
        yield SampledPairs(pairs, sample.exact)


def expand_rows(rows: Ratings | Rankings, order: Integers, partners: Integers, ties: str) -> Pairs:
    """The pairs of each of the first rows in this order with as many of the rows after it as ``partners`` says."""
    return _compare(rows, _values(rows), *_pairs_of(order, partners), None, ties)


def _compare(
    judgments: Ratings | Rankings,
    value: Floats,
    first: Integers,
    second: Integers,
    weight: Floats | None,
    ties: str,
) -> Pairs:
    """The pairs of these rows that compare two items of which one is ranked. ``weight``: of each pair."""
    left, right = judgments.item[first], judgments.item[second]
    keep = (left != right) & ((value[first] > -np.inf) | (value[second] > -np.inf))
    if ties == "drop":
        keep &= value[first] != value[second]
    if not keep.all():
        first, second, left, right = first[keep], second[keep], left[keep], right[keep]
        weight = None if weight is None else weight[keep]
    ahead, behind = value[first] > value[second], value[first] < value[second]
    if judgments.weight is not None:
        own = np.sqrt(judgments.weight[first] * judgments.weight[second])
        weight = own if weight is None else weight * own
    return Pairs(
        index=judgments.index,
        left=left,
        right=right,
        outcome=np.where(ahead, LEFT, np.where(behind, RIGHT, TIE)).astype(np.int8),
        sided=False,
        weight=weight,
        worker=_take_optional(judgments.worker, first),
        query=_take_optional(judgments.query, first),
        timestamp=None if judgments.timestamp is None else judgments.timestamp[second],
        backend=judgments.backend,
    )


@dataclass(frozen=True, eq=False)
class LongLists:
    """The ``group`` of each row, the groups that are sampled as ``lists`` by their first rows, and how
    many others each of their items meets."""

    group: Integers
    lists: Integers
    opponents: int

    @property
    def of_row(self) -> NDArray[np.bool_]:
        """Whether each row is in a long list."""
        return np.isin(self.group, self.lists)

    def counts(self) -> list[int]:
        """How many pairs of each list are taken."""
        sizes = np.bincount(self.group)[self.lists]
        return [count_sampled(int(size), self.opponents) for size in sizes]

    def places(self, rows: Ratings | Rankings, node: Integers) -> RowPlaces:
        """What the order of the rows is made of."""
        return RowPlaces(self.group, node, _values(rows), rows.weight)


def row_places(rows: Ratings | Rankings, node: Integers) -> RowPlaces:
    """What the order of comparable rows is made of; ``node`` of each row."""
    return _long_lists(rows, _find_groups(rows)).places(rows, node)


class _Groups(NamedTuple):
    """The list of each row, or its (query, worker) of ratings, as a number; and the first row of each."""

    first: Integers
    group: Integers


def _find_groups(rows: Ratings | Rankings) -> _Groups:
    _, first, group = np.unique(rows.groups(), return_index=True, return_inverse=True)
    return _Groups(first, group.astype(np.int64))


def _long_lists(judgments: Ratings | Rankings, groups: _Groups) -> LongLists:
    """The lists to sample from."""
    first, group = groups
    pairs = judgments.pairs
    if isinstance(pairs, int):
        least, opponents = pairs + 1, pairs
    else:
        least, opponents = (LONG if pairs == "auto" else len(group)), OPPONENTS
    lists = np.flatnonzero(np.bincount(group) > least)
    return LongLists(group, lists[np.argsort(first[lists])], opponents)


def label_codes(judgments: Ratings | Rankings) -> Integers:
    """A number for each combination of query, worker (or list) and item."""
    return np.asarray(judgments.groups().astype(np.int64) * len(judgments.index.items) + judgments.item)


def average_repeats(ratings: Ratings) -> Ratings:
    """Ratings in which no worker rates an item twice: repeats become their mean label, with their total weight.

    They stand where the first of them stood, so that the order of the rows does not depend on the ids.
    """
    _, first, place = np.unique(label_codes(ratings), return_index=True, return_inverse=True)
    if len(first) == ratings.rows:
        return ratings
    order = np.argsort(first)
    first, place = first[order], np.argsort(order)[place]
    weight = summed(place, ratings.weight, len(first))
    label = summed(place, ratings.label if ratings.weight is None else ratings.weight * ratings.label, len(first))
    return replace(ratings.take(first), label=label / weight, weight=weight)


def is_adjacent_only(judgments: Ratings | Rankings) -> bool:
    """Whether only neighbors in a list are compared."""
    return isinstance(judgments, Rankings) and judgments.pairs == "adjacent"


def _values(judgments: Ratings | Rankings) -> Floats:
    """How good each row is: larger is better, and an unranked item is worst."""
    if isinstance(judgments, Ratings):
        return judgments.label
    return np.where(judgments.ranked, -judgments.rank, -np.inf)


def _take_optional(column: NDArray[Any] | None, rows: Integers) -> NDArray[Any] | None:
    return None if column is None else column[rows]


def _partners(judgments: Ratings | Rankings, groups: _Groups) -> tuple[Integers, Integers]:
    """Row numbers in the order of their groups, and how many of the rows right after each one it is paired with.

    Groups are in order of first appearance. Ranked rows come first within their group, and pair with all rows
    after them, or with those of their own rank and of the next. Unranked rows come last and pair with none.
    """
    value = _values(judgments)
    leads = value > -np.inf
    group = np.argsort(np.argsort(groups.first))[groups.group]
    order = np.lexsort((-value if is_adjacent_only(judgments) else ~leads, group))
    ends = np.cumsum(np.bincount(group))
    end_of = np.repeat(ends, np.diff(ends, prepend=0))
    if is_adjacent_only(judgments):
        end_of = np.minimum(end_of, _ends_of_next(group[order], value[order]))
    return order, np.where(leads[order], end_of - np.arange(len(group)) - 1, 0)


def _ends_of_next(group: Integers, value: Floats) -> Integers:
    """For each row, the end of the rows that have the value after its own. Rows are sorted by group and value."""
    new = (np.diff(group, prepend=-1) != 0) | np.concatenate([[True], value[1:] != value[:-1]])[: len(value)]
    ends = np.append(np.flatnonzero(new), [len(value), len(value)])[2:]
    return np.asarray(ends[np.cumsum(new) - 1])


def _pairs_of(order: Integers, partners: Integers) -> tuple[Integers, Integers]:
    """Row numbers of the first and of the second row of every pair."""
    first = np.repeat(np.arange(len(partners)), partners)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    return order[first], order[second]
