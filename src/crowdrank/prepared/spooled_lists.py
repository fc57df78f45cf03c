"""Lists that do not fit in memory: their rows are a file, and only what there is once per list is in memory."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Integers, ListStream
from crowdrank.data.spool.folder import writing
from crowdrank.prepared.list_parts import LIST_ROW, ListFile
from crowdrank.prepared.lists import ListColumns, Lists, order_rows

if TYPE_CHECKING:
    from crowdrank.data.ids import Backend
    from crowdrank.data.index import Index, Nodes
    from crowdrank.data.spool.folder import Spool


class SpooledLists(Lists):
    """Lists for models that sum over shards: they have no columns of rows, only ``pieces`` and ``shards``."""

    index: Index
    backend: Backend
    missing: str
    nodes: Nodes
    spool: Spool
    lists_given: int
    number: NDArray[Any]
    start: NDArray[Any]
    query: NDArray[Any]
    weight: NDArray[Any]
    worker: NDArray[Any] | None

    def __init__(self, stream: ListStream) -> None:
        self.index, self.backend, self.missing = stream.index, stream.backend, stream.missing
        self.nodes, self.spool = stream.nodes, stream.spool
        self._folder = stream.spool.folder("lists")
        parts = []
        with writing(self._rows), self._rows.open("wb") as file:
            for table in stream.parts():
                part = order_rows(table, self.nodes)
                _records(part).tofile(file)
                parts.append(part._replace(node=part.node[:0], level=part.level[:0], bottom=part.bottom[:0]))
        self.lists_given = sum(part.given for part in parts)
        self.number = np.concatenate([part.number for part in parts])
        self.start = np.append(0, np.cumsum(np.concatenate([np.diff(part.start) for part in parts])))
        self.query = np.concatenate([part.query for part in parts])
        self.weight = np.concatenate([part.weight for part in parts])
        workers = [part.worker for part in parts if part.worker is not None]
        self.worker = np.concatenate(workers) if workers else None
        self._require_lists(stream.notes)

    @property
    def _rows(self) -> Path:
        return self._folder / "rows"

    def _shard(self, low: int, high: int, part: NDArray[np.int32] | None) -> ListFile:
        return ListFile(
            path=self._rows,
            start=self.start[low : high + 1],
            worker=None if self.worker is None else self.worker[low:high],
            query=self.query[low:high],
            weight=self.weight[low:high],
            part=None if part is None else self._part_file,
            workers=self.n_workers,
            first=low,
        )

    @cached_property
    def _part_file(self) -> Path:
        path = self._folder / "part.int32"
        with writing(path):
            # Not .npy: Python 3.11 may fail to parse its header in several threads at once.
            self.part.astype(np.int32, copy=False).tofile(path)
        return path

    @cached_property
    def part(self) -> NDArray[np.int32]:
        """The connected part of each node. Each piece joins parts that the pieces before it left apart."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        count = len(self.nodes)
        part = np.arange(count, dtype=np.int32)
        for piece in self.pieces():
            leader = np.unique(part, return_index=True)[1][part]
            one = np.concatenate([leader, piece.node[piece.orders.start[:-1]][piece.list]])
            other = np.concatenate([np.arange(count), piece.node])
            edges = coo_array((np.ones(len(one), np.int8), (one, other)), shape=(count, count))
            part = connected_components(edges, directed=False)[1].astype(np.int32)
        return part

    def _opponents(self) -> Integers:
        """How many other nodes each node shares a list with. The pairs that met are held in memory."""
        from scipy.sparse import csr_array

        met = csr_array((len(self.nodes), len(self.nodes)), dtype=np.int32)
        for piece in self.pieces():
            shape = (len(piece.weight), len(self.nodes))
            held = csr_array((np.ones(len(piece.node), np.int32), piece.node, piece.orders.start), shape=shape)
            met = (met + held.T @ held).tocsr()
            met.data[:] = 1
        return np.maximum(np.diff(met.indptr) - 1, 0).astype(np.int64)


def _records(part: ListColumns) -> NDArray[np.void]:
    rows = np.empty(len(part.node), LIST_ROW)
    rows["node"], rows["level"], rows["bottom"] = part.node, part.level, part.bottom
    return rows
