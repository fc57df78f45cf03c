"""Pairs as counts: the rows that pairwise models sum over.

The votes of one worker on one pair of items form one row, with the wins of each side. A tie is half a win for each
side, or is counted separately on request. A *node* is an item within a query, and each node has a score. Rows are
sorted by (worker, i, j), so they depend only on the votes and not on their order in the file.
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
from crowdrank.prepared.directed import DirectedRows, decided_rows, tied_rows
from crowdrank.prepared.plan import cut

MERGE_ROWS = 1 << 20
"""About how many rows of the longest tally are merged with those of the others at a time."""


@dataclass(frozen=True, eq=False)
class Comparisons(Resident):
    """Rows of two nodes with the ``wins`` of i over j and the ``losses``.

    ``worker`` is None if workers are not distinguished. ``i < j``, unless sides are kept: then i was shown on the
    left and j on the right. ``ties`` is None if a tie is half a win for each side.
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
        """The weight of the votes of each row."""
        decided = self.wins + self.losses
        return decided if self.ties is None else decided + self.ties

    @property
    def pair(self) -> NDArray[np.int64]:
        """One number for each pair of nodes, in the order of (i, j)."""
        return self.i.astype(np.int64) * self.nodes + self.j

    @cached_property
    def decided(self) -> DirectedRows:
        """Wins and losses, one outcome per row."""
        return decided_rows(self)

    @cached_property
    def tied(self) -> DirectedRows | None:
        """Ties that are counted separately; None if there are none."""
        return tied_rows(self)

    def take(self, rows: slice | NDArray[Any]) -> Self:
        """These rows: a slice, a mask or row numbers."""
        arrays: dict[str, Any] = {
            column.name: value[rows]
            for column in fields(self)
            if isinstance(value := getattr(self, column.name), np.ndarray)
        }
        return replace(self, **arrays)


def join_rows(parts: Sequence[Comparisons]) -> Comparisons:
    """The rows of all parts, concatenated."""
    if len(parts) == 1:
        return parts[0]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("i", "j", "wins", "losses", "worker", "ties")
        if getattr(parts[0], name) is not None
    }
    return Comparisons(**{"worker": None, **arrays}, nodes=parts[0].nodes, workers=parts[0].workers)


def add_equal_rows(rows: Comparisons) -> Comparisons:
    """Rows sorted by (worker, i, j), with the counts of equal rows added up one after the other."""
    new = np.diff(rows.i, prepend=-1) != 0
    for column in (rows.j, rows.worker):
        if column is not None:
            new |= np.diff(column, prepend=-1) != 0
    if new.all():
        return rows
    place, count = np.cumsum(new) - 1, int(new.sum())
    sums: dict[str, Any] = {
        name: summed(place, own, count)
        for name in ("wins", "losses", "ties")
        if (own := getattr(rows, name)) is not None
    }
    return replace(rows.take(new), **sums)


def add_tallies(parts: Sequence[Comparisons]) -> Comparisons:
    """The tally of all votes from the tallies of their batches.

    They are merged a range of workers (without workers: of nodes i) at a time, into one block of memory.
    """
    if len(parts) == 1:
        return parts[0]
    count, filled = sum(map(len, parts)), 0
    merged: dict[str, Any] = {
        name: np.empty(count, own.dtype) for name, own in vars(parts[0]).items() if isinstance(own, np.ndarray)
    }
    for pieces in _ranges(parts):
        rows = join_rows(pieces)
        keys = (rows.pair,) if rows.worker is None else (rows.pair, rows.worker)
        rows = add_equal_rows(rows.take(np.lexsort(keys)))
        for name, column in merged.items():
            column[filled : filled + len(rows)] = getattr(rows, name)
        filled += len(rows)
    for column in merged.values():
        column.resize(filled, refcheck=False)
    return replace(parts[0], **merged)


def _ranges(parts: Sequence[Comparisons]) -> Iterator[list[Comparisons]]:
    """The rows of all parts that belong to one range after another of workers, or of nodes i without workers."""
    leading = [part.i if part.worker is None else part.worker for part in parts]
    ends = np.unique(max(leading, key=len)[MERGE_ROWS::MERGE_ROWS])
    cuts = [[0, *np.searchsorted(column, ends).tolist(), len(column)] for column in leading]
    for place in range(len(ends) + 1):
        yield [part.take(slice(*cut[place : place + 2])) for part, cut in zip(parts, cuts, strict=True)]


class ShardRef(Protocol):
    """A reference to a shard. ``load`` brings the shard into memory."""

    def load(self) -> Comparisons:
        """The shard itself."""
        ...

    def __len__(self) -> int:
        """How many rows it has."""
        ...


def plan(comparisons: Comparisons) -> list[ShardRef]:
    """Cut the rows into shards. There is at least one shard, which may be empty."""
    shards = cut(np.arange(1, len(comparisons) + 1)) or [(0, 0)]
    return [comparisons.take(slice(first, end)) for first, end in shards]


class Tally:
    """Rows in shards, in memory or in files, to be summed over shard by shard."""

    shards: Sequence[ShardRef]
    nodes: int
    workers: int

    def __init__(self, shards: Sequence[ShardRef], nodes: int, workers: int) -> None:
        self.shards, self.nodes, self.workers = shards, nodes, workers

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    def __iter__(self) -> Iterator[Comparisons]:
        return (shard.load() for shard in self.shards)

    @cached_property
    def weights(self) -> Floats:
        """The weight of the votes of each worker."""
        total = np.zeros(self.workers)
        for shard in self:
            assert shard.worker is not None
            total += summed(shard.worker, shard.weight, self.workers)
        return total


class CodedVotes(NamedTuple):
    """One batch of votes between nodes."""

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
    """The votes of a batch of pairs, between nodes."""
    if pairs.query is None:
        return CodedVotes(pairs.left, pairs.right, pairs.outcome, pairs.worker, pairs.weight)
    left, right = (node_codes(nodes, pairs.index, pairs.query, side) for side in (pairs.left, pairs.right))
    return CodedVotes(left, right, pairs.outcome, pairs.worker, pairs.weight)


def tally(
    n_nodes: int, votes: CodedVotes, n_workers: int = 0, *, sided: bool = False, ties: bool = False
) -> Comparisons:
    """Count the votes of each (worker, pair of nodes). The order of the votes does not matter.

    If ``n_workers`` is 0, workers are not distinguished. ``sided``: the same pair in reverse order is a separate
    row. ``ties``: ties are counted separately, not as half a win for each side.
    """
    left, right = votes.left.astype(np.int64), votes.right.astype(np.int64)
    worker = votes.worker if n_workers else None
    reverse = np.zeros(len(left), bool) if sided else left > right
    first, second = np.where(reverse, right, left), np.where(reverse, left, right)
    # 0: the first node won, 1: the second, 2: a tie
    result = np.where(votes.outcome == TIE, 2, reverse ^ (votes.outcome == RIGHT)).astype(np.int64)
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
    """The distinct keys in order, and the weight of each."""
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
