"""Open questions: which pairs are out, and how much of what they will teach counts already."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.select.question import Question


class Lease(NamedTuple):
    """An open question, and the factors by which the variances of its two items count as smaller."""

    question: Question
    factors: tuple[float, float]


class Leases:
    """The open questions. ``factor`` (N): by how much the variance of each item counts as smaller."""

    factor: NDArray[Any]

    def __init__(self, items: int) -> None:
        self.factor = np.ones(items)
        self.keys: list[int] = []  # of the pairs that are out, sorted; a shared pair is in it several times
        self._open: dict[int, Lease] = {}
        self._of_item: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, question: Question, factors: tuple[float, float]) -> None:
        """A question goes out."""
        self._open[question.number] = Lease(question, factors)
        insort(self.keys, question.key)
        for item, factor in zip(question[:2], factors, strict=True):
            self._of_item[item] += 1
            self.factor[item] *= factor

    def end(self, question: Question) -> bool:
        """A question comes back; whether it was out."""
        lease = self._open.pop(question.number, None)
        if lease is None:
            return False
        del self.keys[bisect_left(self.keys, question.key)]
        for item, factor in zip(question[:2], lease.factors, strict=True):
            self._of_item[item] -= 1
            self.factor[item] /= factor
        return True

    def grow(self, items: int) -> None:
        """Make room for new items."""
        self.factor = np.append(self.factor, np.ones(items - len(self.factor)))

    def busy(self, most: float) -> list[int]:
        """The items that are part of this many open questions, or of more."""
        return [item for item, count in self._of_item.items() if count >= most]

    def by_sharing(self) -> list[Question]:
        """The open questions whose pair is the least shared come first, of those the oldest."""
        out = Counter(self.keys)
        questions = [lease.question for lease in self._open.values()]
        return sorted(questions, key=lambda own: (out[own.key], own.number))
