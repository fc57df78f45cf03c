"""Labels in shards of whole items: the rows that label models sum over, in memory or in a file.

Let A (items, workers x labels) be the weight of each label that each worker gave each item. Then an E step is
``A @ table`` for a table of log probabilities (workers x labels, classes), and an M step is ``A' @ posterior``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, Nodes, Resident, SpooledRatings, node_codes, summed
from crowdrank.data.spool.folder import Spool, writing
from crowdrank.data.spool.sort import RunRows, Runs
from crowdrank.prepared.runs import refuse_large_keys
from crowdrank.solve.matrices import Matrix

_ROW = np.dtype([("node", np.int64), ("worker", np.int32), ("label", np.int64), ("weight", np.float64)])
_KEYED = np.dtype([("key", np.int64), ("weight", np.float64)])


@dataclass(frozen=True, eq=False)
class LabelRows(Resident):
    """Rows sorted by ``node``, which counts from the first node of the shard.

    ``known`` (nodes,) is the true label of a node, or -1 if it is not known.
    """

    node: NDArray[np.int64]
    worker: NDArray[np.int32]
    label: NDArray[np.int64]
    weight: Floats
    known: NDArray[np.int64]
    first: int
    workers: int
    classes: int

    @property
    def nodes(self) -> slice:
        """The positions of its nodes among all nodes."""
        return slice(self.first, self.first + len(self.known))

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """The flat index of (node, label) for each row."""
        return self.node * self.classes + self.label

    @cached_property
    def matrix(self) -> Matrix:
        """A, by rows."""
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.node, np.arange(len(self.known) + 1))
        columns = self.worker.astype(np.int64) * self.classes + self.label
        return csr_array((self.weight, columns, starts), shape=(len(self.known), self.workers * self.classes))

    @cached_property
    def transpose(self) -> Matrix:
        """A', by rows."""
        return self.matrix.T.tocsr()

    def by_node(self, values: Floats) -> Floats:
        """The values of the node of each row, from those of all nodes."""
        return np.asarray(values[self.nodes][self.node])

    def posterior(self, logs: Floats) -> tuple[Floats, Floats]:
        """The posterior of the class of each node from log joint probabilities (nodes, classes), and the log of
        their sum.

        A node whose label is known has only this class.
        """
        certain = np.flatnonzero(self.known >= 0)
        if len(certain):
            joint = logs[certain, self.known[certain]]
            logs[certain] = -np.inf
            logs[certain, self.known[certain]] = joint
        top = reduce(np.maximum, logs.T)  # class by class: faster than along short rows
        found = np.exp(logs - top[:, None])
        total = found @ np.ones(self.classes)
        return found / total[:, None], top + np.log(total)


@dataclass(frozen=True, eq=False)
class LabelFile:
    """A shard that is a range of rows of a file."""

    path: Path
    rows: tuple[int, int]
    known: NDArray[np.int64]
    first: int
    workers: int
    classes: int

    def load(self) -> LabelRows:
        """The shard, read from the file."""
        start, end = self.rows
        rows = np.fromfile(self.path, _ROW, end - start, offset=start * _ROW.itemsize)
        worker, label, weight = (np.ascontiguousarray(rows[name]) for name in ("worker", "label", "weight"))
        sizes = (self.first, self.workers, self.classes)
        return LabelRows(rows["node"] - self.first, worker, label, weight, self.known, *sizes)

    @property
    def nbytes(self) -> int:
        """The bytes that go to another machine with the path."""
        return self.known.nbytes


@dataclass(frozen=True, eq=False)
class SortedLabels:
    """A file of labels sorted by (node, worker, label), and the number of rows up to the end of each node."""

    path: Path
    ends: Integers
    spool: Spool


def sort_labels(ratings: SpooledRatings, nodes: Nodes, values: Floats, people: int) -> SortedLabels:
    """Sort labels on disk. Equal labels by one worker for one node become one row."""
    refuse_large_keys(len(nodes) * people * len(values), f"{len(nodes)} items and {people} workers")
    runs = Runs(ratings.spool.folder("runs"))
    for batch in ratings.batches():
        node = node_codes(nodes, ratings.index, batch.query, batch.item)
        run = np.empty(len(node), _KEYED)
        run["key"] = node if batch.worker is None else node * people + batch.worker
        run["key"] = run["key"] * len(values) + np.searchsorted(values, batch.label)
        run["weight"] = 1.0 if batch.weight is None else batch.weight
        runs.add(run)
    path, counts = ratings.spool.folder("labels") / "rows", np.zeros(len(nodes), np.int64)
    with writing(path), path.open("wb") as file:
        for rows in _decode(runs.merge(), people, len(values)):
            rows.tofile(file)
            counts += np.bincount(rows["node"], minlength=len(nodes))
    return SortedLabels(path, np.cumsum(counts), ratings.spool)


def _decode(ranges: Iterator[RunRows], people: int, classes: int) -> Iterator[RunRows]:
    """The rows behind sorted keys; the weights of equal keys are added up."""
    for keyed in ranges:
        new = np.diff(keyed["key"], prepend=-1) != 0
        rows = np.empty(int(new.sum()), _ROW)
        whose, rows["label"] = np.divmod(keyed["key"][new], classes)
        rows["node"], rows["worker"] = np.divmod(whose, people)
        rows["weight"] = summed(np.cumsum(new) - 1, keyed["weight"], len(rows))
        yield rows
