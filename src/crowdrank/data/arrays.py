"""Array types, and the one sum that everything here is made of."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Integers = NDArray[np.int64]


class Resident:
    """A shard in memory."""

    def load(self) -> Self:
        """It is its own reference."""
        return self

    @property
    def nbytes(self) -> int:
        """The memory that its rows take."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))


def summed(codes: NDArray[Any], values: NDArray[Any] | None, size: int) -> Floats:
    """The sum of the values that share a code (their number where no values are given), one entry a code."""
    return cast(Floats, np.bincount(codes, values, size).astype(np.float64, copy=False))
