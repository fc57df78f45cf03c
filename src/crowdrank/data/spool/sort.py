"""Rows larger than memory, sorted: runs on disk, each sorted by key, that are merged.

The merge reads all runs in parallel, one range of keys at a time, so it never holds more than a few million rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.spool.folder import writing

RunRows = NDArray[np.void]
"""Records with a field ``key`` (int64) and others."""

_SAMPLE = 1 << 12
MERGE_ROWS = 1 << 21


@dataclass
class _Run:
    path: Path
    rows: int
    dtype: np.dtype[np.void]
    sample: NDArray[np.int64]  # the key of every _SAMPLE-th row
    done: int = 0

    def read_below(self, limit: int | None) -> RunRows:
        """Read the next rows with keys below ``limit``."""
        blocks = len(self.sample) if limit is None else int(np.searchsorted(self.sample, limit))
        end = min(blocks * _SAMPLE, self.rows)
        count = max(end - self.done, 0)
        rows: RunRows = np.fromfile(self.path, self.dtype, count, offset=self.done * self.dtype.itemsize)
        if limit is not None:
            rows = rows[: np.searchsorted(rows["key"], limit)]
        self.done += len(rows)
        return rows


class Runs:
    """Batches of records, each sorted by ``key``, kept in a folder until they are merged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs: list[_Run] = []

    def add(self, rows: RunRows) -> None:
        """Add one more batch. Rows of equal keys keep their order."""
        if (np.diff(rows["key"]) < 0).any():
            rows = rows[np.argsort(rows["key"], kind="stable")]
        path = self.folder / f"run-{len(self.runs)}"
        with writing(path):
            rows.tofile(path)
        self.runs.append(_Run(path, len(rows), rows.dtype, rows["key"][::_SAMPLE].copy()))

    def merge(self) -> Iterator[RunRows]:
        """The rows of all runs by key, one range of keys at a time. This deletes the runs.

        Rows of equal keys are in one range, in the order in which they were added.
        """
        for limit in self._limits():
            rows = np.concatenate([run.read_below(limit) for run in self.runs])
            if len(rows):
                yield rows[np.argsort(rows["key"], kind="stable")]
        for run in self.runs:
            run.path.unlink()
        self.runs = []

    def _limits(self) -> list[int | None]:
        """Keys that split the rows into ranges of about MERGE_ROWS."""
        samples = np.sort(np.concatenate([run.sample for run in self.runs]))
        step = max(MERGE_ROWS // _SAMPLE, 1)
        return [*map(int, np.unique(samples[step::step])), None]
