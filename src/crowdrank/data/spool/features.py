"""Features that do not fit in memory, as one file of numbers that is read a few rows at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Integers
from crowdrank.data.spool.folder import Spool

GAP_BYTES = 1 << 16
"""Rows of a ``gather`` that are closer than this are read at once: one long read is faster than two short ones."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureFile:
    """A raw file of float32 in C order, (rows, width). ``spool`` keeps its folder alive.

    ``columns`` and ``picked`` make it a view: only these columns of the file, and these rows, in this order.
    It is read and not memory-mapped, so that the resident memory stays as small as the rows in use.
    """

    path: Path
    rows: int
    width: int
    spool: Spool
    columns: Integers | None = None
    picked: Integers | None = None
    stored: int = 0  # the number of columns in the file, if ``columns`` names only some of them

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features, as of an array."""
        return self.rows, self.width

    def __getitem__(self, rows: slice) -> NDArray[np.float32]:
        """A slice of rows."""
        first, last, _ = rows.indices(self.rows)
        return self.read(first, last - first)

    def read(self, first: int, count: int) -> NDArray[np.float32]:
        """``count`` rows from row ``first`` on; fewer at the end of the file."""
        count = max(min(count, self.rows - first), 0)
        if self.picked is not None:
            return self._gather(self.picked[first : first + count])
        return self._view(self._load(first, count))

    def gather(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        """These rows (row numbers), in this order."""
        rows = np.asarray(rows, np.int64)
        return self._gather(rows if self.picked is None else self.picked[rows])

    def take(self, rows: NDArray[Any]) -> FeatureFile:
        """A view of these rows; nothing is copied."""
        picked = np.asarray(rows, np.int64) if self.picked is None else self.picked[np.asarray(rows, np.int64)]
        return replace(self, rows=len(picked), picked=picked)

    def select(self, columns: Integers) -> FeatureFile:
        """A view of these columns, 0 for the column -1; nothing is copied."""
        own = columns if self.columns is None else np.where(columns < 0, -1, self.columns[columns])
        return replace(self, width=len(own), columns=own, stored=self.stored or self.width)

    def _view(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        if self.columns is None:
            return values
        found = np.ascontiguousarray(values[:, self.columns])
        found[:, self.columns < 0] = 0.0
        return found

    def _load(self, first: int, count: int) -> NDArray[np.float32]:
        width = self.stored or self.width
        values = np.fromfile(self.path, np.float32, count * width, offset=4 * first * width)
        return values.reshape(count, width)

    def _gather(self, rows: Integers) -> NDArray[np.float32]:
        """Rows of the file: those that lie close together are read at once."""
        found = np.empty((len(rows), self.width), np.float32)
        order = np.argsort(rows, kind="stable")
        gap = max(GAP_BYTES // (4 * (self.stored or self.width)), 1)
        breaks = np.flatnonzero(np.diff(rows[order]) > gap) + 1
        for part in np.split(order, breaks):
            if len(part):
                first, last = int(rows[part[0]]), int(rows[part[-1]])
                found[part] = self._view(self._load(first, last - first + 1)[rows[part] - first])
        return found
