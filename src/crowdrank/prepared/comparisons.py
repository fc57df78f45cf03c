"""Pairs as counts: what the pairwise models sum over.

The votes of one worker about one pair of items are one row, with the wins of either side; a tie is
half a win for each, or counted apart where it is asked for. A *node* is an item within a query, the
thing that has a score. Rows are sorted by (worker, i, j), so they depend on the votes alone, not on
their order in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Ints, Resident, summed
from crowdrank.data.index import Index, Nodes, merge_nodes, named_nodes, node_codes
from crowdrank.data.tables import RIGHT, TIE, Pairs
from crowdrank.prepared.plan import cut


@dataclass(frozen=True, eq=False)
class Comparisons(Resident):
    """Rows of two nodes with ``wins`` of i over j and ``losses``; ``worker`` None: not told apart.

    ``i < j``, or, where sides are kept, i was shown left and j right. ``ties`` is None where a tie is
    half a win for either.
    """

    i: Ints
    j: Ints
    wins: Floats
    losses: Floats
    worker: Ints | None
    nodes: int
    workers: int
    ties: Floats | None = None

    def __len__(self) -> int:
        return len(self.i)

    @property
    def weight(self) -> Floats:
        """The weight of each row's votes."""
        decided = self.wins + self.losses
        return decided if self.ties is None else decided + self.ties

    @property
    def pair(self) -> NDArray[np.int64]:
        """One number for each pair of nodes, in the order of (i, j)."""
        return self.i.astype(np.int64) * self.nodes + self.j

    def take(self, rows: slice | NDArray[np.bool_]) -> Self:
        """These rows."""
        arrays: dict[str, Any] = {
            column.name: value[rows]
            for column in fields(self)
            if isinstance(value := getattr(self, column.name), np.ndarray)
        }
        return replace(self, **arrays)


def joined(parts: Sequence[Comparisons]) -> Comparisons:
    """The rows of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("i", "j", "wins", "losses", "worker", "ties")
        if getattr(parts[0], name) is not None
    }
    return Comparisons(**{"worker": None, **arrays}, nodes=parts[0].nodes, workers=parts[0].workers)


class ShardRef(Protocol):
    """Where a shard is; ``load`` brings it into memory."""

    def load(self) -> Comparisons:
        """The shard itself."""
        ...


def plan(comparisons: Comparisons) -> list[ShardRef]:
    """Cut into shards; at least one, which may be empty."""
    shards = cut(np.arange(1, len(comparisons) + 1)) or [(0, 0)]
    return [comparisons.take(slice(first, end)) for first, end in shards]


class Tally:
    """Rows in shards, in memory or in files: what is summed over, shard by shard."""

    def __init__(self, shards: Sequence[ShardRef], nodes: int, workers: int) -> None:
        self.shards, self.nodes, self.workers = shards, nodes, workers

    def __iter__(self) -> Iterator[Comparisons]:
        return (shard.load() for shard in self.shards)

    @cached_property
    def weights(self) -> Floats:
        """The weight of each worker's votes."""
        total = np.zeros(self.workers)
        for shard in self:
            assert shard.worker is not None
            total += summed(shard.worker, shard.weight, self.workers)
        return total


class CodedVotes(NamedTuple):
    """Votes between nodes, a batch at a time."""

    left: NDArray[Any]
    right: NDArray[Any]
    outcome: NDArray[np.int8]
    worker: Ints | None = None
    weight: Floats | None = None


def nodes_of(batches: Iterable[Pairs], index: Index) -> Nodes:
    """The nodes that these pairs name."""
    width = len(index.items)
    return reduce(
        lambda known, more: merge_nodes(width, known, more),
        (named_nodes(width, batch.query, batch.left, batch.right) for batch in batches),
    )


def coded_votes(nodes: Nodes, pairs: Pairs) -> CodedVotes:
    """The votes of a batch of pairs, by nodes."""
    if pairs.query is None:
        return CodedVotes(pairs.left, pairs.right, pairs.outcome, pairs.worker, pairs.weight)
    left, right = (node_codes(nodes, pairs.index, pairs.query, side) for side in (pairs.left, pairs.right))
    return CodedVotes(left, right, pairs.outcome, pairs.worker, pairs.weight)


def tally(
    n_nodes: int, votes: CodedVotes, n_workers: int = 0, *, sided: bool = False, ties: bool = False
) -> Comparisons:
    """Count the votes of each (worker, pair of nodes); the order of the votes does not matter.

    With ``n_workers`` 0 workers are not told apart. ``sided``: the same pair in the other order is
    another row. ``ties``: counted apart, not as half a win for either.
    """
    left, right = votes.left.astype(np.int64), votes.right.astype(np.int64)
    worker = votes.worker if n_workers else None
    turned = np.zeros(len(left), bool) if sided else left > right
    first, second = np.where(turned, right, left), np.where(turned, left, right)
    # 0: the first node won, 1: the second, 2: a tie
    result = np.where(votes.outcome == TIE, 2, turned ^ (votes.outcome == RIGHT)).astype(np.int64)
    pair = first * n_nodes + second
    groups = n_workers if worker is not None else 1
    n_pairs = n_nodes * n_nodes
    distinct = None
    if groups * n_pairs * 3 > np.iinfo(np.int64).max:
        distinct, pair = np.unique(pair, return_inverse=True)
        n_pairs = len(distinct)
    key = pair if worker is None else worker.astype(np.int64) * n_pairs + pair
    keys, counts = _count(key * 3 + result, groups * n_pairs * 3, votes.weight)
    row_of, code = keys // 3, keys % 3
    starts = np.diff(row_of, prepend=-1) > 0  # the keys are sorted
    place, rows = np.cumsum(starts) - 1, row_of[starts]
    half = 0.0 if ties else 0.5
    wins = summed(place, counts * np.array([1.0, 0.0, half])[code], len(rows))
    losses = summed(place, counts * np.array([0.0, 1.0, half])[code], len(rows))
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
        workers=n_workers,
        ties=summed(place, counts * (code == 2), len(rows)) if ties else None,
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
