"""Counts with one outcome per row: what a likelihood goes through, again and again.

Hardly any worker decides one pair both ways. A row that has only one outcome needs only the chance of that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crowdrank.data.arrays import Floats, Integers
from crowdrank.solve.assembly import Layout

if TYPE_CHECKING:
    from crowdrank.prepared.comparisons import Comparisons


@dataclass(frozen=True, eq=False)
class DirectedRows:
    """``count`` times, ``first`` beat ``second``, or the two tied. Rows are sorted by ``worker``.

    ``side``: 1 if ``first`` was on the left, otherwise -1. ``worker`` is None if workers are not distinguished.
    Codes are 64-bit integers, with which NumPy looks up and counts without a copy.
    """

    first: Integers
    second: Integers
    count: Floats
    side: Floats
    worker: Integers | None
    nodes: int
    workers: int

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def starts(self) -> Integers:
        """The first row of each worker in ``present``."""
        assert self.worker is not None
        return np.flatnonzero(np.diff(self.worker, prepend=-1))

    @cached_property
    def present(self) -> Integers:
        """The workers who have rows, in order."""
        assert self.worker is not None
        return self.worker[self.starts]

    @cached_property
    def worker_range(self) -> tuple[int, int]:
        """The first worker, and how many there are from there to the last one."""
        assert self.worker is not None
        return (int(self.worker[0]), int(self.worker[-1] - self.worker[0]) + 1) if len(self) else (0, 0)

    @cached_property
    def ends(self) -> tuple[Integers, Integers]:
        """The places of (worker, first) and of (worker, second) in a table of the range of workers by nodes."""
        assert self.worker is not None
        own = (self.worker - self.worker_range[0]) * self.nodes
        return own + self.first, own + self.second

    @cached_property
    def pair(self) -> Integers:
        """The place of (first, second) in a table of nodes by nodes."""
        return self.first * self.nodes + self.second

    @cached_property
    def pair_layout(self) -> Layout:
        """The cells of (first, second) in a sparse matrix of nodes by nodes."""
        return Layout.of(self.pair, (self.nodes, self.nodes))

    @cached_property
    def worker_layout(self) -> Layout:
        """The cells of (worker, first), then of (worker, second), in a sparse matrix of ``ends``."""
        return Layout.of(np.concatenate(self.ends), (self.worker_range[1], self.nodes))


def decided_rows(rows: Comparisons) -> DirectedRows:
    """Wins and losses: the winner first."""
    found = np.stack([rows.wins > 0, rows.losses > 0], axis=1).ravel()
    row = np.flatnonzero(found)
    won, place = row % 2 == 0, row // 2
    i, j = rows.i[place].astype(np.int64), rows.j[place].astype(np.int64)
    return DirectedRows(
        first=np.where(won, i, j),
        second=np.where(won, j, i),
        count=np.where(won, rows.wins[place], rows.losses[place]),
        side=np.where(won, 1.0, -1.0),
        worker=None if rows.worker is None else rows.worker[place].astype(np.int64),
        nodes=rows.nodes,
        workers=rows.workers,
    )


def tied_rows(rows: Comparisons) -> DirectedRows | None:
    """Ties that are counted separately: i first. None if there are none."""
    if rows.ties is None or not rows.ties.any():
        return None
    tied = rows.ties > 0
    return DirectedRows(
        first=rows.i[tied].astype(np.int64),
        second=rows.j[tied].astype(np.int64),
        count=rows.ties[tied],
        side=np.ones(int(tied.sum())),
        worker=None if rows.worker is None else rows.worker[tied].astype(np.int64),
        nodes=rows.nodes,
        workers=rows.workers,
    )


def all_rows(rows: Comparisons) -> DirectedRows:
    """Every pair once, with the weight of all its outcomes: i first."""
    return DirectedRows(
        first=rows.i.astype(np.int64),
        second=rows.j.astype(np.int64),
        count=rows.weight,
        side=np.ones(len(rows)),
        worker=None if rows.worker is None else rows.worker.astype(np.int64),
        nodes=rows.nodes,
        workers=rows.workers,
    )
