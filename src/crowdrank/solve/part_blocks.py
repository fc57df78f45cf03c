"""The scores' part of an information matrix, block by block: one block for each connected part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.solve.arrow import Arrow
from crowdrank.solve.matrices import Matrix, cholesky_of, entries, inverse_from, inverse_of

if TYPE_CHECKING:
    from crowdrank.data.arrays import Ints


def draw_inverse(cholesky: tuple[Floats, bool], count: int, generator: np.random.Generator) -> Floats:
    """Draws (n, count) whose covariance is the inverse of the factorized matrix: L'^-1 z."""
    from scipy.linalg import solve_triangular

    normal = generator.standard_normal((len(cholesky[0]), count))
    return np.asarray(solve_triangular(cholesky[0], normal, lower=True, trans="T"))


class PartBlocks:
    """The items matrix by parts. Parts of equal size are inverted together, one of unique size is factorized."""

    part: Ints
    size: NDArray[Any]
    place: NDArray[Any]
    slot: NDArray[Any]

    def __init__(self, arrow: Arrow) -> None:
        self.part = arrow.part
        self.size = np.bincount(arrow.part)
        order = np.argsort(arrow.part, kind="stable")
        starts = np.cumsum(self.size) - self.size
        self.place = np.empty(len(order), np.int64)
        self.place[order] = np.arange(len(order)) - np.repeat(starts, self.size)
        self.slot = np.empty(len(self.size), np.int64)
        self.members: dict[int, NDArray[np.int64]] = {}
        self._inverse: dict[int, Floats] = {}
        self._cholesky: dict[int, tuple[Floats, bool]] = {}
        cells = self._by_size(*entries(arrow.items))
        for size in np.unique(self.size).tolist():
            own = np.flatnonzero(self.size == size)
            self.slot[own] = np.arange(len(own))
            self.members[size] = order[starts[own][:, None] + np.arange(size)]
            stack = self._stack(size, len(own), *cells[size])
            if arrow.gauge:
                level = np.einsum("kii->k", stack) / size + (size == 1)
                stack += (level / size)[:, None, None]
            if len(own) == 1:
                self._cholesky[size] = cholesky_of(stack[0])
            else:
                self._inverse[size] = inverse_of(stack)

    def _by_size(
        self, rows: NDArray[Any], columns: NDArray[Any], values: Floats
    ) -> dict[int, tuple[NDArray[Any], NDArray[Any], Floats]]:
        """The entries of the parts of each size."""
        assert (self.part[rows] == self.part[columns]).all(), "an entry connects two parts"
        size = self.size[self.part[rows]]
        order = np.argsort(size, kind="stable")
        wanted = np.unique(self.size)
        cuts = np.searchsorted(size[order], wanted[1:])
        return {
            int(own): (rows[here], columns[here], values[here])
            for own, here in zip(wanted, np.split(order, cuts), strict=True)
        }

    def _stack(self, size: int, count: int, rows: NDArray[Any], columns: NDArray[Any], values: Floats) -> Floats:
        """The blocks of every part of this size."""
        stack = np.zeros((count, size, size))
        stack[self.slot[self.part[rows]], self.place[rows], self.place[columns]] = values
        return stack

    def inverse(self, size: int) -> Floats:
        """The inverses (count, size, size) of the parts of this size."""
        if size not in self._inverse:
            self._inverse[size] = inverse_from(self._cholesky[size])[None]
        return self._inverse[size]

    def release(self) -> None:
        """Free the inverses that can be computed from a factor."""
        for size in self._cholesky:
            self._inverse.pop(size, None)

    def sample(self, count: int, generator: np.random.Generator) -> Floats:
        """Draws (N, count) whose covariance is the inverse."""
        drawn = np.empty((len(self.part), count))
        for size, members in self.members.items():
            if size in self._cholesky:
                drawn[members[0]] = draw_inverse(self._cholesky[size], count, generator)
            else:
                noise = generator.standard_normal((len(members), size, count))
                drawn[members] = np.linalg.cholesky(self._inverse[size]) @ noise
        return drawn

    def of(self, nodes: NDArray[np.int64]) -> Floats:
        """The inverse block of a part, with its nodes in this order."""
        part = int(self.part[nodes[0]])
        place = self.place[nodes]
        return self.inverse(int(self.size[part]))[self.slot[part]][np.ix_(place, place)]

    def times(self, right: Matrix) -> Matrix:
        """items^-1 times a vector or a matrix."""
        if not isinstance(right, np.ndarray):
            return self._sparse() @ right
        from scipy.linalg import cho_solve

        result = np.empty_like(right)
        for size, members in self.members.items():
            if size in self._cholesky:
                result[members[0]] = cho_solve(self._cholesky[size], right[members[0]])
            else:
                stacked = right[members].reshape(*members.shape, -1)
                result[members] = (self._inverse[size] @ stacked).reshape(members.shape + right.shape[1:])
        return result

    def _sparse(self) -> Matrix:
        from scipy.sparse import coo_array

        rows, columns, values = [], [], []
        for size, members in self.members.items():
            rows.append(np.repeat(members, size, axis=1).ravel())
            columns.append(np.tile(members, (1, size)).ravel())
            values.append(self.inverse(size).ravel())
        at = (np.concatenate(rows), np.concatenate(columns))
        return coo_array((np.concatenate(values), at), shape=(len(self.part),) * 2).tocsr()
