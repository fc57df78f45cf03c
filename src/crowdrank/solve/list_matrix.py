"""The curvature of long lists, never stored whole: a list of n rows takes 2 n numbers instead of n^2.

In a Plackett-Luce list without ties the entry of row i and a later row j is -u_i v_j. So a product with a vector
is two running sums:

    (H z)_i = -u_i sum_{j later} v_j z_j  -  v_i sum_{j earlier} u_j z_j
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data.arrays import Floats, Integers
from crowdrank.kernels.segments import prefix_sums
from crowdrank.solve.matrices import Matrix


@dataclass(frozen=True, eq=False)
class ListFactors:
    """Lists with the ``node``, u (``before``) and v (``after``) of each row; ``start``: see ``segments``."""

    start: Integers
    node: Integers
    before: Floats
    after: Floats

    def times_rows(self, values: Floats) -> Floats:
        """H z for values (R, columns) of the rows."""
        u, v, backwards = self.before[:, None], self.after[:, None], (self.start[-1] - self.start)[::-1]
        later = _running_sums((v * values)[::-1], backwards)[::-1] - v * values
        earlier = _running_sums(u * values, self.start) - u * values
        return np.asarray(-u * later - v * earlier)


def _running_sums(values: Floats, start: Integers) -> Floats:
    return np.cumsum(values, axis=0) if len(start) == 2 else prefix_sums(values, start)


class ListMatrix:
    """A symmetric matrix of nodes: a sparse one, plus that of ``lists``."""

    sparse: Matrix
    lists: tuple[ListFactors, ...]
    shape: tuple[int, int]

    __array_ufunc__ = None  # so that an array leaves sums to this class

    def __init__(self, sparse: Matrix, lists: tuple[ListFactors, ...]) -> None:
        self.sparse, self.lists = sparse, lists
        self.shape = sparse.shape

    def __add__(self, other: Any) -> ListMatrix:
        if isinstance(other, ListMatrix):
            return ListMatrix(self.sparse + other.sparse, self.lists + other.lists)
        return ListMatrix(self.sparse + other, self.lists)

    __radd__ = __add__

    def diagonal(self) -> Floats:
        """The diagonal, to which the lists do not contribute."""
        return np.asarray(self.sparse.diagonal())

    def __matmul__(self, columns: Floats) -> Floats:
        found = np.asarray(self.sparse @ columns).reshape(len(columns), -1)
        for lists in self.lists:
            np.add.at(found, lists.node, lists.times_rows(columns.reshape(found.shape)[lists.node]))
        return found.reshape(columns.shape)
