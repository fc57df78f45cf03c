"""Features as they are read: blocks of rows, which become one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.data.spool.values import SPARSE_SHARE

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """Some rows of a source, checked: ids as text, and values with the names of their columns.

    ``omits``: some row leaves out a feature that another has, so features that are left out are 0.
    """

    query: pl.Series | None
    item: pl.Series
    label: Floats | None
    weight: Floats | None = None
    names: tuple[str, ...]
    values: NDArray[np.float32] | sparse.csr_array
    omits: bool = False


def sparse_rows(
    place: Integers, value: NDArray[np.float32], rows: int, width: int
) -> NDArray[np.float32] | sparse.csr_array:
    """Values at places of a matrix (``row * width + column``, ascending); dense unless nearly all are 0."""
    if np.count_nonzero(value) >= SPARSE_SHARE * rows * width:
        values = np.zeros(rows * width, np.float32)
        values[place] = value
        return values.reshape(rows, width)
    from scipy import sparse

    place, value = place[value != 0], value[value != 0]
    ends = np.searchsorted(place, np.arange(rows + 1, dtype=np.int64) * width)
    column = (place % max(width, 1)).astype(np.int32)
    return sparse.csr_array((value, column, ends.astype(np.int32)), shape=(rows, width))
