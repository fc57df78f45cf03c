"""The values of features while they are read: in memory as long as they fit there, then in a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.spool.features import FeatureFile
from crowdrank.data.spool.folder import Spool, no_room, writing

if TYPE_CHECKING:
    from scipy import sparse

    Values = NDArray[np.float32] | sparse.csr_array

SPARSE_SHARE = 0.25
"""Values are sparse if fewer than this share are not 0: a sparse one takes 8 bytes, a dense one 4, and products
of sparse values take several times as long per value."""

SPARSE_BYTES = 64 * 10**6
"""Up to this size, an array is dense in any case: it is faster, and the memory does not matter."""

COPIES = 3
"""How often the values may be in memory at the peak of reading or training."""

SLICE_BYTES = 1 << 24


class ValueStore:
    """Takes values a block at a time. Blocks may differ in their columns."""

    spool: Spool
    limit: int
    bytes: int

    def __init__(self, spool: Spool, limit: int) -> None:
        self.spool, self.limit = spool, limit
        self.runs: list[_Run] = []
        self.path: Path | None = None
        self.bytes = 0

    def add(self, names: tuple[str, ...], values: Values) -> None:
        """Keep the values of the next rows."""
        dense = isinstance(values, np.ndarray)
        run = self.runs[-1] if self.runs else None
        if run is None or run.names != names or not (dense and run.dense):
            run = _Run(names, dense)
            self.runs.append(run)
        run.rows += values.shape[0]
        run.filled += int(np.count_nonzero(values)) if isinstance(values, np.ndarray) else values.nnz
        if self.path is None:
            run.keep(values)
            self.bytes += values.nbytes if isinstance(values, np.ndarray) else 8 * values.nnz
            if self.bytes * COPIES > self.limit:
                self._move_to_file()
        else:
            self._write(self.path, run.names, values)

    def finish(self, order: Callable[[set[str]], Sequence[str]]) -> tuple[tuple[str, ...], Values | FeatureFile]:
        """The names in their final order, and all values. ``order`` sorts the names if the blocks differ."""
        names = self.runs[0].names
        if any(run.names != names for run in self.runs):
            names = tuple(order(set().union(*(run.names for run in self.runs))))
        rows, width = sum(run.rows for run in self.runs), len(names)
        sparse = self._is_sparse(rows * width)
        if self.path is None and not sparse and 4 * rows * width * COPIES > self.limit:
            self._move_to_file()  # sparse blocks took less than the whole does
        if self.path is not None:
            return names, self._finish_file(names, rows)
        if len(self.runs) == 1 and not sparse:
            return names, self.runs[0].dense_values()
        return names, self._join(names, rows)

    def _is_sparse(self, size: int) -> bool:
        filled = sum(run.filled for run in self.runs)
        return filled < SPARSE_SHARE * size and 4 * size > SPARSE_BYTES

    def _join(self, names: tuple[str, ...], rows: int) -> Values:
        """All runs as one matrix; each run is dropped as soon as it is copied."""
        places = {name: place for place, name in enumerate(names)}
        if self._is_sparse(rows * len(names)):
            from scipy import sparse

            parts = [part for run in self.runs for part in run.sparse_values(places)]
            return sparse.csr_array(sparse.vstack(parts, format="csr"))
        values, done = np.zeros((rows, len(names)), np.float32), 0
        while self.runs:
            run = self.runs.pop(0)
            columns = [places[name] for name in run.names]
            values[done : done + run.rows, columns] = run.dense_values()
            done += run.rows
        return values

    # ------------------------------------------------------------------------------------- what is in the file

    def _move_to_file(self) -> None:
        self.path = self.spool.folder("features") / "values"
        for run in self.runs:
            for values in run.kept():
                self._write(self.path, run.names, values)
            run.drop()

    def _write(self, path: Path, names: tuple[str, ...], values: Values) -> None:
        needed = 4 * values.shape[0] * len(names)
        if needed > shutil.disk_usage(path.parent).free:
            raise no_room(path.parent, f"{needed // 10**6} MB more are needed")
        step = max(SLICE_BYTES // (4 * max(len(names), 1)), 1)
        with writing(path), path.open("ab") as file:
            for first in range(0, values.shape[0], step):
                part = values[first : first + step]
                (part if isinstance(part, np.ndarray) else part.toarray()).tofile(file)

    def _finish_file(self, names: tuple[str, ...], rows: int) -> FeatureFile:
        """The file if its rows all have the same columns; otherwise a second file, in which they have."""
        assert self.path is not None
        if all(run.names == names for run in self.runs):
            return FeatureFile(path=self.path, rows=rows, width=len(names), spool=self.spool)
        places = {name: place for place, name in enumerate(names)}
        path, done = self.path.with_name("aligned"), 0
        for run in self.runs:
            columns = [places[name] for name in run.names]
            step = max(SLICE_BYTES // (4 * len(names)), 1)
            for first in range(0, run.rows, step):
                count = min(step, run.rows - first)
                own = np.fromfile(self.path, np.float32, count * len(columns), offset=4 * done)
                done += len(own)
                values = np.zeros((count, len(names)), np.float32)
                values[:, columns] = own.reshape(count, len(columns))
                self._write(path, names, values)
        self.path.unlink()
        return FeatureFile(path=path, rows=rows, width=len(names), spool=self.spool)


class _Run:
    """Rows that follow each other and have the same columns."""

    def __init__(self, names: tuple[str, ...], dense: bool) -> None:
        self.names, self.dense = names, dense
        self.rows = self.filled = 0
        self._flat = np.empty(0, np.float32)
        self._sparse: list[sparse.csr_array] = []

    def keep(self, values: Values) -> None:
        if not isinstance(values, np.ndarray):
            self._sparse.append(values)
            return
        size = self._flat.size
        self._flat.resize(size + values.size, refcheck=False)  # grows in place: no second copy of the rows so far
        self._flat[size:] = values.reshape(-1)

    def kept(self) -> list[Any]:
        return [self.dense_values()] if self.dense else self._sparse

    def drop(self) -> None:
        self._flat, self._sparse = np.empty(0, np.float32), []

    def dense_values(self) -> NDArray[np.float32]:
        if self.dense:
            return self._flat.reshape(self.rows, len(self.names))
        return np.concatenate([part.toarray() for part in self._sparse])

    def sparse_values(self, places: dict[str, int]) -> list[sparse.csr_array]:
        """The rows as sparse matrices with the columns of all rows; dense rows a slice at a time."""
        from scipy import sparse

        columns = np.array([places[name] for name in self.names], np.int32)
        step = max(SLICE_BYTES // (4 * max(len(self.names), 1)), 1)
        parts = self._sparse
        if self.dense:
            values = self.dense_values()
            parts = [sparse.csr_array(values[first : first + step]) for first in range(0, self.rows, step)]
        shape = len(places)
        moved = [
            sparse.csr_array((own.data, columns[own.indices], own.indptr), shape=(own.shape[0], shape))
            for own in parts
        ]
        for own in moved:
            own.sort_indices()
        return moved
