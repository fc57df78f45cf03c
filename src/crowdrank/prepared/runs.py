"""Tallies larger than memory: the tally of each batch of votes is a sorted run on disk, and the runs are merged.

Counts of equal rows are added up in the order of the batches, so it does not matter where they are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from crowdrank.data.spool.sort import RunRows, Runs
from crowdrank.errors import InputError, Remedy
from crowdrank.prepared.comparisons import Comparisons, add_equal_rows

_COUNTS = ("wins", "losses", "ties")
_ROW = np.dtype([("key", np.int64), *((name, np.float64) for name in _COUNTS)])


class TallyRuns:
    """Tallies of batches, kept in a folder until they are merged. ``ties``: ties are counted separately."""

    nodes: int
    workers: int
    ties: bool
    runs: Runs

    def __init__(self, folder: Path, nodes: int, workers: int, *, ties: bool = False) -> None:
        refuse_large_keys(max(workers, 1) * nodes * nodes, f"{nodes} items and {workers} workers")
        self.nodes, self.workers, self.ties = nodes, workers, ties
        self.runs = Runs(folder)

    def add(self, rows: Comparisons) -> None:
        """Add the tally of one more batch."""
        if rows.nodes != self.nodes or rows.workers != self.workers:
            raise ValueError("the runs of one merge have the same nodes and workers")
        run = np.empty(len(rows), _ROW)
        run["key"] = rows.pair
        if rows.worker is not None:
            run["key"] += rows.worker.astype(np.int64) * self.nodes**2
        run["wins"], run["losses"] = rows.wins, rows.losses
        run["ties"] = 0.0 if rows.ties is None else rows.ties
        self.runs.add(run)

    def merge(self) -> Iterator[Comparisons]:
        """The rows of all runs in order, one range at a time. This deletes the runs."""
        return map(self._comparisons, self.runs.merge())

    def _comparisons(self, rows: RunRows) -> Comparisons:
        """The rows with the counts of equal keys added up."""
        worker, pair = np.divmod(rows["key"], self.nodes**2)
        return add_equal_rows(
            Comparisons(
                i=(pair // self.nodes).astype(np.int32),
                j=(pair % self.nodes).astype(np.int32),
                wins=rows["wins"],
                losses=rows["losses"],
                worker=worker.astype(np.int32) if self.workers else None,
                nodes=self.nodes,
                workers=self.workers,
                ties=rows["ties"] if self.ties else None,
            )
        )


def refuse_large_keys(keys: int, what: str) -> None:
    """Raise an error if rows cannot be sorted on disk, because they have more than 2^63 different keys."""
    if keys > np.iinfo(np.int64).max:
        raise InputError(
            f"{what} are too many for a file that does not fit in memory.",
            hint=("Allow more memory, ", Remedy("memory", "16GB"), ", or rank the queries in several runs."),
        )
