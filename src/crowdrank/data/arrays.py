"""Array types, and the one sum that everything here is made of."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def summed(codes: NDArray[Any], values: NDArray[Any] | None, size: int) -> Floats:
    """The sum of the values that share a code (their number where no values are given), one entry a code."""
    return cast(Floats, np.bincount(codes, values, size).astype(np.float64, copy=False))
