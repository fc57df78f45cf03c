"""Pairs as counts: what the pairwise models sum over.

The votes of one worker about one pair of items are one row, with the wins of either side; a tie is
half a win for each. A *node* is an item within a query, the thing that has a score. Rows are sorted
by (worker, i, j), so they depend on the votes alone, not on their order in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Ints, summed
from crowdrank.data.tables import RIGHT, TIE, Index, Pairs

SHARD_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Nodes:
    """What is ranked: (query, item) codes, sorted by query; ``query`` is all 0 where there is one."""

    query: Ints
    item: Ints

    def __len__(self) -> int:
        return len(self.item)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Rows ``i < j`` (nodes) with ``wins`` of i over j and ``losses``; ``worker`` None: not told apart."""

    i: Ints
    j: Ints
    wins: Floats
    losses: Floats
    worker: Ints | None
    nodes: int
    workers: int

    def __len__(self) -> int:
        return len(self.i)

    def load(self) -> Self:
        """A shard in memory is its own reference."""
        return self

    def take(self, rows: slice) -> Self:
        """These rows."""
        arrays: dict[str, Any] = {
            column.name: value[rows]
            for column in fields(self)
            if isinstance(value := getattr(self, column.name), np.ndarray)
        }
        return replace(self, **arrays)


class ShardRef(Protocol):
    """Where a shard is; ``load`` brings it into memory."""

    def load(self) -> Comparisons:
        """The shard itself."""
        ...


def plan(comparisons: Comparisons, rows: int = SHARD_ROWS) -> list[ShardRef]:
    """Cut the rows into shards of about ``rows``: by the data alone, never by the machine."""
    count = max(1, round(len(comparisons) / rows))
    cuts = np.linspace(0, len(comparisons), count + 1).round().astype(int)
    return [comparisons.take(slice(a, b)) for a, b in pairwise(cuts)]


def nodes_of(pairs: Pairs) -> tuple[Nodes, NDArray[np.int64], NDArray[np.int64]]:
    """The nodes, and the node of each row's left and right item."""
    if pairs.query is None:
        items = np.arange(len(pairs.index.items), dtype=np.int32)
        return Nodes(np.zeros_like(items), items), pairs.left.astype(np.int64), pairs.right.astype(np.int64)
    width = len(pairs.index.items)
    base = pairs.query.astype(np.int64) * width
    seen, codes = np.unique(np.concatenate([base + pairs.left, base + pairs.right]), return_inverse=True)
    left, right = codes[: pairs.rows], codes[pairs.rows :]
    return Nodes((seen // width).astype(np.int32), (seen % width).astype(np.int32)), left, right


def node_codes(nodes: Nodes, index: Index, query: Ints | None, item: Ints) -> NDArray[np.int64]:
    """The node of each (query, item); -1 where no judgment names it."""
    width = len(index.items)
    keys = nodes.query.astype(np.int64) * width + nodes.item
    wanted = item.astype(np.int64) if query is None else query.astype(np.int64) * width + item
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)


def tally(
    n_nodes: int,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    outcome: NDArray[np.int8],
    *,
    worker: Ints | None = None,
    n_workers: int = 0,
    weight: Floats | None = None,
) -> Comparisons:
    """Count the votes of each (worker, pair of nodes); the order of the votes does not matter."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    # 0: the lower node won, 1: the higher, 2: a tie
    result = np.where(outcome == TIE, 2, (left > right) ^ (outcome == RIGHT)).astype(np.int64)
    pair = low * n_nodes + high
    groups = n_workers if worker is not None else 1
    n_pairs = n_nodes * n_nodes
    distinct = None
    if groups * n_pairs * 3 > np.iinfo(np.int64).max:
        distinct, pair = np.unique(pair, return_inverse=True)
        n_pairs = len(distinct)
    key = pair if worker is None else worker.astype(np.int64) * n_pairs + pair
    keys, counts = _count(key * 3 + result, groups * n_pairs * 3, weight)
    row_of, code = keys // 3, keys % 3
    starts = np.diff(row_of, prepend=-1) > 0  # the keys are sorted
    place, rows = np.cumsum(starts) - 1, row_of[starts]
    wins = summed(place, counts * np.array([1.0, 0.0, 0.5])[code], len(rows))
    losses = summed(place, counts * np.array([0.0, 1.0, 0.5])[code], len(rows))
    pair = rows % n_pairs
    if distinct is not None:
        pair = distinct[pair]
    return Comparisons(
        i=(pair // n_nodes).astype(np.int32),
        j=(pair % n_nodes).astype(np.int32),
        wins=wins,
        losses=losses,
        worker=None if worker is None else (rows // n_pairs).astype(np.int32),
        nodes=n_nodes,
        workers=n_workers if worker is not None else 0,
    )


def _count(key: NDArray[np.int64], size: int, weight: Floats | None) -> tuple[NDArray[np.int64], Floats]:
    """The distinct keys in order and the weight of each."""
    if size <= max(4 * len(key), 1 << 20):
        counts = summed(key, weight, size)
        keys = np.flatnonzero(counts)
        return keys, counts[keys]
    if weight is None:
        keys, numbers = np.unique(key, return_counts=True)
        return keys, numbers.astype(np.float64)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[starts], np.add.reduceat(weight[order], starts)
