"""Judgments by their numbers, so that scikit-learn can deal them into folds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NoReturn, Self

import numpy as np

from crowdrank.data.arrays import Integers
from crowdrank.errors import UsageError


class Numbered(ABC):
    """Judgments that can be counted and chosen by number: votes and labels one by one, rankings by whole lists."""

    def __len__(self) -> int:
        """How many judgments there are."""
        return self.rows

    @property
    def shape(self) -> tuple[int]:
        """How many judgments there are, in the form that scikit-learn asks for."""
        return (len(self),)

    def __getitem__(self, numbers: Any) -> Self:
        """The judgments with these numbers: one, a slice, an array of numbers or a mask.

        Items, workers and queries that they do not name are left out.
        """
        wanted = numbers[0] if isinstance(numbers, tuple) else numbers  # scikit-learn asks for [numbers, ...]
        return self._choose(np.atleast_1d(np.arange(len(self))[wanted])).compact()

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Without this, NumPy would go through all judgments before it fails."""
        raise UsageError("Judgments are no array.", hint="Their columns are, such as worker and weight.")

    def _choose(self, numbers: Integers) -> Self:
        """The judgments with these numbers."""
        return self.take(numbers)

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def take(self, rows: Any) -> Self:
        """The table with only these rows; the index stays the same."""

    @abstractmethod
    def compact(self) -> Self:
        """The same judgments with an index of only the ids that they name."""
