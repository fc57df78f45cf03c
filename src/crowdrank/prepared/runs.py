"""Tallies larger than memory: sorted runs on disk that are merged, adding up the counts of equal rows.

A run is the tally of one batch of votes, sorted by (worker, i, j). The merge reads all runs in parallel, one range
of rows at a time, so it never holds more than a few million rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.spool.folder import writing
from crowdrank.errors import InputError, Remedy
from crowdrank.prepared.comparisons import Comparisons

RunRows = NDArray[np.void]

_COUNTS = ("wins", "losses", "ties")
_ROW = np.dtype([("key", np.int64), *((name, np.float64) for name in _COUNTS)])
_SAMPLE = 1 << 12
MERGE_ROWS = 1 << 21


@dataclass
class _Run:
    path: Path
    rows: int
    sample: NDArray[np.int64]  # the key of every _SAMPLE-th row
    done: int = 0

    def read_below(self, limit: int | None) -> RunRows:
        """Read the next rows with keys below ``limit``."""
        blocks = len(self.sample) if limit is None else int(np.searchsorted(self.sample, limit))
        end = min(blocks * _SAMPLE, self.rows)
        count = max(end - self.done, 0)
        rows = np.fromfile(self.path, _ROW, count, offset=self.done * _ROW.itemsize)
        if limit is not None:
            rows = rows[: np.searchsorted(rows["key"], limit)]
        self.done += len(rows)
        return rows


class Runs:
    """Tallies of batches, kept in a folder until they are merged. ``ties``: ties are counted separately."""

    def __init__(self, folder: Path, nodes: int, workers: int, *, ties: bool = False) -> None:
        if max(workers, 1) * nodes * nodes > np.iinfo(np.int64).max:
            raise InputError(
                f"{nodes} items and {workers} workers are too many for a file that does not fit in memory.",
                hint=("Allow more memory, ", Remedy("memory", "16GB"), ", or rank the queries in several runs."),
            )
        self.folder, self.nodes, self.workers, self.ties = folder, nodes, workers, ties
        self.runs: list[_Run] = []

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
        path = self.folder / f"run-{len(self.runs)}"
        with writing(path):
            run.tofile(path)
        self.runs.append(_Run(path, len(rows), run["key"][::_SAMPLE].copy()))

    def merge(self) -> Iterator[Comparisons]:
        """The rows of all runs in order, one range at a time. This deletes the runs."""
        for limit in self._limits():
            rows = np.concatenate([run.read_below(limit) for run in self.runs])
            if len(rows):
                yield self._add_equal_rows(rows)
        for run in self.runs:
            run.path.unlink()
        self.runs = []

    def _limits(self) -> list[int | None]:
        """Keys that split the rows into ranges of about MERGE_ROWS."""
        samples = np.sort(np.concatenate([run.sample for run in self.runs]))
        step = max(MERGE_ROWS // _SAMPLE, 1)
        return [*map(int, np.unique(samples[step::step])), None]

    def _add_equal_rows(self, rows: RunRows) -> Comparisons:
        """The rows sorted by key, with the counts of equal keys added up."""
        order = np.argsort(rows["key"], kind="stable")
        key = rows["key"][order]
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        wins, losses, ties = (np.add.reduceat(rows[name][order], starts) for name in _COUNTS)
        worker, pair = np.divmod(key[starts], self.nodes**2)
        return Comparisons(
            i=(pair // self.nodes).astype(np.int32),
            j=(pair % self.nodes).astype(np.int32),
            wins=wins,
            losses=losses,
            worker=worker.astype(np.int32) if self.workers else None,
            nodes=self.nodes,
            workers=self.workers,
            ties=ties if self.ties else None,
        )
