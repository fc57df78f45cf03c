"""Documents to train on: prepared features, list by list, cut into shards.

In memory the documents of a list, and the lists, stand in an order that depends only on their content: features,
label and weight. So neither their names nor the order of the file can change what is trained, not even in the
last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, Resident
from crowdrank.data.spool.features import FeatureFile
from crowdrank.kernels.segments import segment_of
from crowdrank.prepared.plan import cut
from crowdrank.random import scramble

WIDTH = 8
"""A shard has fewer documents by the number of features over this."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class DocumentShard(Resident):
    """Some lists of documents: prepared features, and a plan for them. ``first``: its first row."""

    values: Any
    plan: Any
    first: int
    rows: int


@dataclass(frozen=True, eq=False)
class StoredShard:
    """A shard whose features are read from a file each time."""

    file: FeatureFile
    plan: Any
    first: int
    rows: int

    def load(self) -> DocumentShard:
        """Read the features."""
        return DocumentShard(self.file.read(self.first, self.rows), self.plan, self.first, self.rows)

    @property
    def nbytes(self) -> int:
        """The bytes that the features take once they are read."""
        return 4 * self.rows * self.file.width


@dataclass(frozen=True, eq=False)
class Documents:
    """Prepared features (rows, width) of documents sorted by list, with their labels and weights.

    ``rows``: where each document stood before it was sorted.
    """

    values: Any
    start: Integers
    label: Floats
    weight: Floats
    rows: Integers

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.values.shape[1])

    def shards(self, plan: Callable[[Integers, Floats, Floats], Any]) -> list[DocumentShard | StoredShard]:
        """Cut the lists into shards; ``plan(start, label, weight)`` gives the plan of each."""

        def own(low: int, high: int) -> Any:
            start = self.start[low : high + 1]
            rows = slice(int(start[0]), int(start[-1]))
            return plan(start - start[0], self.label[rows], self.weight[rows])

        return self.cut(own)

    def cut(self, plan: Callable[[int, int], Any], *, work: int = 1) -> list[DocumentShard | StoredShard]:
        """Cut the lists into shards; ``plan(low, high)`` gives the plan of the lists from low up to high.

        ``work``: a shard has fewer documents by this factor, if much is computed for each of them.
        """
        ends, shards = self.start[1:], list[DocumentShard | StoredShard]()
        for low, high in cut(ends, width=max(self.width // WIDTH, work)):
            first, last = int(self.start[low]), int(self.start[high])
            rows, own = slice(first, last), plan(low, high)
            if isinstance(self.values, FeatureFile):
                shards.append(StoredShard(self.values, own, first, last - first))
            else:
                shards.append(DocumentShard(self.values[rows], own, first, last - first))
        return shards


def sort_by_content(values: Any, query: Integers, label: Floats, weight: Floats) -> Integers:
    """The rows list by list, in an order that depends only on the content of rows and lists."""
    rows, lists = hash_contents(values, query, label, weight)
    return np.lexsort((rows, query, lists[query]))


def hash_contents(values: Any, query: Integers, label: Floats, weight: Floats) -> tuple[Hashes, Hashes]:
    """A hash of the content of each row, and one of each list, which does not depend on the order of its rows."""
    rows = _hash_rows(values)
    for column in (label, weight):
        rows = scramble(rows + _bits(np.asarray(column, np.float64)))
    lists = np.zeros(int(query.max(initial=-1)) + 1, np.uint64)
    with np.errstate(over="ignore"):
        np.add.at(lists, query, rows)
    return rows, scramble(lists)


def runs(start: Integers, rows: int) -> Iterator[tuple[int, int]]:
    """Runs (first, end) of whole lists that have about this many rows."""
    low = 0
    while low < len(start) - 1:
        high = max(int(np.searchsorted(start, start[low] + rows, side="right")) - 1, low + 1)
        yield low, high
        low = high


def list_starts(query: Integers) -> Integers:
    """Where each list begins, from the list of each row, sorted or at least grouped."""
    return np.append(np.flatnonzero(np.diff(query, prepend=-1)), len(query)).astype(np.int64)


def _hash_rows(values: Any) -> Hashes:
    """A hash of each row; zeros count for nothing, so that dense and sparse rows agree."""
    keys = scramble(np.arange(1, values.shape[1] + 1, dtype=np.uint64))
    with np.errstate(over="ignore"):
        if not isinstance(values, np.ndarray):
            cells = scramble(_bits(values.data.astype(np.float64)) ^ keys[values.indices])
            total = np.zeros(values.shape[0], np.uint64)
            np.add.at(total, segment_of(values.indptr.astype(np.int64)), np.where(values.data == 0, 0, cells))
            return total
        total = np.zeros(len(values), np.uint64)
        for column, key in enumerate(keys):
            own = values[:, column].astype(np.float64)
            total += np.where(own == 0, np.uint64(0), scramble(_bits(own) ^ key))
    return total


def _bits(values: Floats) -> Hashes:
    """The bits of numbers, the same for every NaN and for both zeros."""
    plain = np.where(np.isnan(values), np.nan, values) + 0.0
    return np.ascontiguousarray(plain).view(np.uint64)
