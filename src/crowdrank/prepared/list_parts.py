"""Some whole lists as a shard, in memory or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, Resident
from crowdrank.kernels.kemeny import Squares
from crowdrank.kernels.plackett_luce import Orders
from crowdrank.kernels.segments import segment_of

LIST_ROW = np.dtype([("node", np.int64), ("level", np.int64), ("bottom", np.bool_)])


@dataclass(frozen=True, eq=False)
class ListShard(Resident):
    """Some lists: rows with ``node`` sorted by (list, level), and ``worker``, ``query`` and ``weight`` per list.

    ``bottom``: see ``Lists``. ``part``: the connected part of every node, empty if only the rows are asked for.
    ``first``: the number of the first list.
    """

    orders: Orders
    node: Integers
    bottom: NDArray[np.bool_]
    worker: NDArray[np.int32] | None
    query: NDArray[np.int32]
    weight: Floats
    part: NDArray[np.int32]
    workers: int
    first: int

    @cached_property
    def list(self) -> Integers:
        """The list of each row, counted from 0."""
        return segment_of(self.orders.start)

    @property
    def size(self) -> Integers:
        """The number of rows of each list."""
        return np.diff(self.orders.start)

    @property
    def lists(self) -> slice:
        """The positions of its lists among all lists."""
        return slice(self.first, self.first + len(self.weight))

    @property
    def last(self) -> Integers:
        """The last level of the list of each row."""
        return np.asarray(self.orders.level[self.orders.start[1:] - 1][self.list])

    @cached_property
    def touched(self) -> Integers:
        """The nodes in these lists."""
        return np.unique(self.node)

    @cached_property
    def squares(self) -> Squares:
        """The cells of pairs of touched nodes, by their positions in ``touched``."""
        return Squares(np.unique(self.part[self.touched], return_inverse=True)[1].astype(np.int32))

    @cached_property
    def corner(self) -> tuple[Integers, Integers]:
        """Where the row of cells of each row's node begins, and the position of the node in a row of cells."""
        return self.squares.row[self.local], self.squares.place[self.local]

    @cached_property
    def local(self) -> Integers:
        """The position of the node of each row in ``touched``."""
        return np.searchsorted(self.touched, self.node)


@dataclass(frozen=True, eq=False)
class ListFile:
    """A shard that is a range of rows of a file; ``start`` (lists + 1): positions there; ``part``: a file."""

    path: Path
    start: Integers
    worker: NDArray[np.int32] | None
    query: NDArray[np.int32]
    weight: Floats
    part: Path | None
    workers: int
    first: int

    def load(self) -> ListShard:
        """The shard, read from the file."""
        low, high = int(self.start[0]), int(self.start[-1])
        rows = np.fromfile(self.path, LIST_ROW, high - low, offset=low * LIST_ROW.itemsize)
        node, level, bottom = (np.ascontiguousarray(rows[name]) for name in ("node", "level", "bottom"))
        part = np.empty(0, np.int32) if self.part is None else np.fromfile(self.part, np.int32)
        return ListShard(
            Orders(self.start - low, level), node, bottom, self.worker, self.query, self.weight,
            part, self.workers, self.first,
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        """The bytes that go to another machine with the path."""
        return self.start.nbytes + self.query.nbytes + self.weight.nbytes
