"""A sample of the pairs of a long list: its size grows with the length of the list, not with the square.

The n rows of a list stand in a circle, in the order of the places that all lists give to their items. Every pair
is at a distance from 1 to n / 2, and n pairs share a distance. The distances are cut into strata, and one distance
of each stratum stands for all of it: its pairs have the number of its distances as their weight. So all weights
sum to the number of all pairs, and each row is in the same number of pairs. Its opponents are spread evenly over
the order, so that a pair is as likely to be taken whatever the worker said about it. Close neighbors are compared
as well, because the strata of short distances are short.

Rows are ordered by what was said, never by ids. Rows about which the same was said are alike: their pairs are
exchanged in all ways, each with its share of the weight, so that neither names nor the order of the rows matter.
Only if these would be too many, they stay in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers, summed
from crowdrank.data.spool.sort import RunRows, Runs
from crowdrank.random import Hashes, scramble

LONG = 400
"""Lists with more rows are sampled, unless a number of opponents is given."""
OPPONENTS = 100
"""How many others each row of a long list meets."""
SPREAD = 4
"""Pairs are exchanged among rows that are alike if this makes at most so many times as many."""


@dataclass(frozen=True, eq=False)
class PairSample:
    """Row numbers of both sides and the weight of each pair. ``exact``: nothing depends on the order of rows."""

    first: Integers
    second: Integers
    weight: Floats
    exact: bool


@dataclass(frozen=True, eq=False)
class RowPlaces:
    """What the order of rows is made of: their list, their node (query and item), how good they are, and their
    weight, if any."""

    group: Integers
    node: Integers
    value: Floats
    weight: Floats | None

    @cached_property
    def place(self) -> Floats:
        """The share of the rows of its list that a row is above, between 0 and 1. Tied rows share the mean."""
        order = np.lexsort((self.value, self.group))
        group, value = self.group[order], self.value[order]
        size = np.bincount(group)
        position = np.arange(len(order)) - (np.cumsum(size) - size)[group]
        new = (np.diff(group, prepend=-1) != 0) | np.append(True, value[1:] != value[:-1])
        tied = np.cumsum(new) - 1
        found = np.empty(len(order))
        found[order] = ((summed(tied, position, int(tied[-1]) + 1) / np.bincount(tied))[tied] + 0.5) / size[group]
        return found

    @cached_property
    def said(self) -> Hashes:
        """A number for each row that differs if its place or its weight does."""
        said = scramble(self.place.view(np.uint64))
        if self.weight is None:
            return said
        return scramble(said + scramble(np.asarray(self.weight, np.float64).view(np.uint64)))


class NodeKeys(NamedTuple):
    """For each node the mean place of its rows, and a number that differs if the judgments on it differ."""

    mean: Floats
    said: Hashes


def find_node_keys(parts: Callable[[], Iterable[RowPlaces]], nodes: int, folder: Path | None = None) -> NodeKeys:
    """The keys of all nodes. ``parts`` gives all rows, some whole lists at a time.

    ``folder``: where places are sorted if they come in more than one part.
    """
    said, runs = np.zeros(nodes, np.uint64), None if folder is None else Runs(folder)
    for part in parts():
        said += _sum_hashes(part.node, part.said, nodes)
        if runs is not None:
            runs.add(_records(part))
    sorted_rows = ((part.node, part.place) for part in parts())
    if runs is not None:
        sorted_rows = ((rows["key"], rows["place"]) for rows in runs.merge())
    mean = _mean_places(sorted_rows, nodes)
    for _ in range(2):  # what was said, in which lists; and what else those lists say
        known, said = said, np.zeros(nodes, np.uint64)
        for part in parts():
            of_list = _sum_hashes(part.group, scramble(known[part.node] + part.said))
            said += _sum_hashes(part.node, scramble(of_list[part.group] + part.said), nodes)
    return NodeKeys(mean, said)


def _records(part: RowPlaces) -> RunRows:
    records = np.empty(len(part.node), [("key", np.int64), ("place", np.float64)])
    records["key"], records["place"] = part.node, part.place
    return records


def _mean_places(parts: Iterable[tuple[Integers, Floats]], nodes: int) -> Floats:
    """The mean place of each node, from parts that have all rows of a node."""
    total, count = np.zeros(nodes), np.zeros(nodes)
    for node, place in parts:
        order = np.lexsort((place, node))  # the order of a sum decides its rounding
        total += summed(node[order], place[order], nodes)
        count += summed(node, None, nodes)
    return np.asarray(total / np.maximum(count, 1.0))


class PairSampler:
    """Draws pairs of the rows of lists, with about so many opponents for each row."""

    mean: Floats
    key: Hashes
    order: Any
    ends: NDArray[Any]

    def __init__(self, rows: RowPlaces, keys: NodeKeys, opponents: int) -> None:
        self.opponents = opponents
        self.mean, self.key = keys.mean[rows.node], scramble(keys.said[rows.node] + rows.said)
        self.order = np.lexsort((self.key, self.mean, rows.group))
        self.ends = np.cumsum(np.bincount(rows.group))

    def sample(self, lists: Integers) -> PairSample:
        """The pairs of these lists."""
        parts, exact = [], True
        for number in lists:
            own = self.order[self.ends[number - 1] if number else 0 : self.ends[number]]
            mean, key = self.mean[own], self.key[own]
            kind = np.cumsum(np.append(True, (np.diff(mean) != 0) | (key[1:] != key[:-1]))) - 1
            one, other, weight = _circle(len(own), self.opponents)
            found = _exchange(one, other, weight, kind)
            exact &= found is not None
            one, other, weight = found or (one, other, weight)
            parts.append((own[one], own[other], weight))
        first, second, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        return PairSample(first, second, weight, exact)


def count_sampled(rows: int, opponents: int) -> int:
    """How many pairs of a list of so many rows are taken before any are exchanged."""
    return rows * len(_distances(rows, opponents)[0])


def _distances(rows: int, opponents: int) -> tuple[Integers, Floats]:
    """The distances of the pairs, and the weight of each. Half of the opponents are ahead in the circle."""
    farthest, strata = (rows - 1) // 2, max(opponents // 2, 1)
    near = int(np.log2(max(farthest / strata, 1.0)))
    far = np.rint(np.linspace(2.0**near, farthest + 1, max(strata - near, 1) + 1))
    ends = np.unique(np.concatenate([2.0 ** np.arange(near), far])).astype(np.int64)
    width = np.diff(ends)
    golden = (
        np.arange(1, len(ends)) * (5**0.5 - 1) / 2
    ) % 1.0  # not a regular step, or the circle would fall apart
    distance = ends[:-1] + (golden * width).astype(np.int64)
    return distance, width * ((rows - 1) / 2 / farthest)


def _circle(rows: int, opponents: int) -> tuple[Integers, Integers, Floats]:
    distance, weight = _distances(rows, opponents)
    one = np.tile(np.arange(rows), len(distance))
    return one, (one + np.repeat(distance, rows)) % rows, np.repeat(weight, rows)


def _exchange(
    one: Integers, other: Integers, weight: Floats, kind: Integers
) -> tuple[Integers, Integers, Floats] | None:
    """The pairs with rows of the same kind exchanged in all ways, or None if these are too many."""
    size = np.bincount(kind)
    start, count = np.cumsum(size) - size, len(size)
    low, high = np.minimum(kind[one], kind[other]), np.maximum(kind[one], kind[other])
    cells, place = np.unique(low * count + high, return_inverse=True)
    low, high = np.divmod(cells, count)
    ways = size[low] * size[high]
    if ways.sum() > SPREAD * len(one):
        return None
    cell = np.repeat(np.arange(len(cells)), ways)
    at = np.arange(len(cell)) - np.repeat(np.cumsum(ways) - ways, ways)
    one, other = start[low[cell]] + at // size[high[cell]], start[high[cell]] + at % size[high[cell]]
    distinct = np.where(low == high, size[low] * (size[low] - 1) // 2, ways)
    share = summed(place, weight, len(cells)) / np.maximum(distinct, 1)
    kept = (low != high)[cell] | (one < other)
    return one[kept], other[kept], share[cell[kept]]


def _sum_hashes(code: Integers, hashes: Hashes, size: int = 0) -> Hashes:
    """The sum for each code; no order of the rows changes it."""
    found = np.zeros(size or int(code.max()) + 1, np.uint64)
    np.add.at(found, code, hashes)
    return found
