"""Parts of an arrow matrix while they are summed over shards.

A shard has values in the same cells of a large matrix at every point. The cells are found once, as a Layout, and
each pass only fills them. A matrix that is the mirror of itself is mirrored once, after the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdrank.data.arrays import Floats, Integers, summed
from crowdrank.solve.matrices import Matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Layout:
    """The distinct cells of a sparse matrix, row by row, and the one to which each value belongs.

    ``starts``: where each row begins among the ``columns`` of the cells. ``place``: the cell of each value.
    """

    starts: Integers
    columns: Integers
    place: Integers
    shape: tuple[int, int]

    @classmethod
    def of(cls, cells: Integers, shape: tuple[int, int]) -> Layout:
        """``cells``: the number of the cell of each value, row by row."""
        distinct, place = np.unique(cells, return_inverse=True)
        row, column = np.divmod(distinct, shape[1])
        starts = np.searchsorted(row, np.arange(shape[0] + 1))
        return cls(starts.astype(np.int32), column.astype(np.int32), place, shape)

    def fill(self, values: Floats) -> csr_array:
        """The sums of ``values`` (kinds, values) in each cell. The kinds of a row follow one another as rows."""
        from scipy.sparse import csr_array

        kinds, cells = len(values), len(self.columns)
        sums = np.stack([summed(self.place, own, cells) for own in values])
        if kinds == 1:
            return csr_array((sums[0], self.columns, self.starts), shape=self.shape)
        starts, places = self._repeat(kinds)
        data, columns = np.empty(kinds * cells), np.empty(kinds * cells, self.columns.dtype)
        data[places], columns[places] = sums, self.columns
        return csr_array((data, columns, starts), shape=(kinds * self.shape[0], self.shape[1]))

    def _repeat(self, kinds: int) -> tuple[Integers, Integers]:
        """Where rows begin if each is there ``kinds`` times, and the places (kinds, cells) of its cells."""
        counts = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(np.repeat(counts, kinds))])
        own = np.repeat(kinds * self.starts[:-1] - self.starts[:-1], counts) + np.arange(len(self.columns))
        return starts, own + np.arange(kinds)[:, None] * np.repeat(counts, counts)


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over pairs of nodes, at (first, second): the curvature of functions of differences of scores."""

    pairs: Matrix

    def __add__(self, other: PairSums) -> PairSums:
        return PairSums(self.pairs + other.pairs)

    @cached_property
    def matrix(self) -> Matrix:
        """The curvature by scores. Each pair counts on both sides, and on the diagonal of both nodes."""
        pairs = self.pairs
        total = np.asarray(pairs.sum(axis=0)).ravel() + np.asarray(pairs.sum(axis=1)).ravel()
        if isinstance(pairs, np.ndarray):
            items = -(pairs + pairs.T)
            items[np.diag_indices(len(items))] += total
            return items
        from scipy.sparse import diags_array

        return (diags_array(total) - (pairs + pairs.T)).tocsr()


@dataclass(frozen=True, eq=False)
class WorkerRows:
    """Sparse rows of worker parameters by scores, in strips that follow one another.

    ``strips``: each with the number of its first row. The last row of a strip may be the first one of the next.
    """

    strips: tuple[tuple[int, Any], ...]
    rows: int

    def __add__(self, other: WorkerRows) -> WorkerRows:
        begin, last = self.strips[-1]
        if other.strips[0][0] >= begin + last.shape[0] - 1:
            return WorkerRows((*self.strips, *other.strips), self.rows)
        return WorkerRows(((0, self._stacked() + other._stacked()),), self.rows)

    def _stacked(self) -> csr_array:
        from scipy.sparse import csr_array

        counts = np.zeros(self.rows + 1, np.int64)
        for begin, strip in self.strips:
            counts[begin + 1 : begin + 1 + strip.shape[0]] += np.diff(strip.indptr)
        data, columns = (
            np.concatenate(own) for own in zip(*((s.data, s.indices) for _, s in self.strips), strict=True)
        )
        return csr_array((data, columns, np.cumsum(counts)), shape=(self.rows, self.strips[0][1].shape[1]))

    @cached_property
    def matrix(self) -> Matrix:
        """Scores by worker parameters."""
        return self._stacked().T


def assembled(matrix: Matrix) -> Matrix:
    """The matrix that a sum stands for."""
    return matrix.matrix if isinstance(matrix, PairSums | WorkerRows) else matrix
