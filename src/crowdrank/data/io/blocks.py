"""Features as they are read: blocks of rows, which become one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """Some rows of a source, checked: ids as text, and values with the names of their columns."""

    query: pl.Series | None
    item: pl.Series
    label: Floats | None
    weight: Floats | None = None
    names: tuple[str, ...]
    values: NDArray[np.float32] | sparse.csr_array
