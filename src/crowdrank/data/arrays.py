"""Array types, and the sum by code that the models build on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Integers = NDArray[np.int64]


class Resident:
    """A shard in memory."""

    def load(self) -> Self:
        """Return the shard itself: it is already in memory."""
        return self

    @property
    def nbytes(self) -> int:
        """The bytes that its rows take."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))


def summed(codes: NDArray[Any], values: NDArray[Any] | None, size: int) -> Floats:
    """The sum of the values for each code; without values, how often each code occurs."""
    return cast(Floats, np.bincount(codes, values, size).astype(np.float64, copy=False))


def add_by_code(total: Floats, codes: NDArray[Any], values: NDArray[Any] | float = 1.0) -> None:
    """Add each value to the sum of its code: bit by bit what ``summed`` gives for all values at once."""
    np.add.at(total, codes, values)


class _Rows(Protocol):
    def take(self, rows: Any) -> Any:
        """These rows."""


R = TypeVar("R", bound=_Rows)


def recut(
    parts: Iterable[R], rows: int, join: Callable[[Sequence[R]], R], size: Callable[[R], int]
) -> Iterator[R]:
    """The same rows in pieces of ``rows`` each. The last piece may be smaller."""
    rest: list[R] = []
    for part in parts:
        held = join([*rest, part])
        whole = size(held) // rows * rows
        for start in range(0, whole, rows):
            yield held.take(slice(start, start + rows))
        rest = [held.take(slice(whole, None))]
    if rest and size(rest[0]):
        yield rest[0]
