"""What was asked so far: how often each item, pair and judge, what each judge has seen, and open questions."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Integers
from crowdrank.kernels.pair_keys import pair_key

LAST = 8
"""How many of a judge's last questions are remembered in order."""


@dataclass(eq=False)
class Seen:
    """What a judge was asked: the keys of pairs, how often each item, and the last questions."""

    pairs: Counter[int] = field(default_factory=Counter)
    items: Counter[int] = field(default_factory=Counter)
    last: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=LAST))
    asked: int = 0
    _keys: Integers | None = None

    def add(self, left: int, right: int, key: int, times: int = 1) -> None:
        """Count a question; -1 takes it back."""
        self.pairs[key] += times
        self._keys = None
        self.items[left] += times
        self.items[right] += times
        self.asked += times
        if times > 0:
            self.last.append((left, right))

    def keys(self) -> Integers:
        """The sorted keys of the pairs."""
        if self._keys is None:
            self._keys = np.sort(np.array([key for key, times in self.pairs.items() if times > 0], np.int64))
        return self._keys


class History:
    """Answered questions and open ones, by codes of items and judges.

    ``asked`` (N): how often each item was asked about, open questions included; ``voted``: without them.

    >>> import crowdrank as cr
    >>> history = cr.History(items=3, judges=1)
    >>> history.ask(0, 1, judge=0)
    >>> history.answer(0, 1)
    >>> history.ask(0, 2, judge=0)
    >>> history.asked, history.voted  # the second question is open
    (array([2, 1, 1]), array([1, 1, 0]))
    """

    asked: NDArray[Any]
    voted: NDArray[Any]
    by_judge: NDArray[Any]
    items: int
    judges: int
    total: int

    def __init__(self, items: int, judges: int = 0) -> None:
        self.items, self.judges = items, judges
        self.asked, self.voted = np.zeros(items, np.int64), np.zeros(items, np.int64)
        self.by_judge = np.zeros(judges, np.int64)
        self.total = 0
        self._pairs: Counter[int] = Counter()
        self._seen: dict[int, Seen] = {}
        self._votes: tuple[Integers, Integers, Integers] | None = None

    @classmethod
    def of_votes(
        cls, items: int, judges: int, left: NDArray[np.integer], right: NDArray[np.integer],
        judge: NDArray[np.integer] | None,
    ) -> History:  # fmt: skip
        """From votes in their order. What a judge has seen is looked up when the judge is asked."""
        made = cls(items, judges)
        made.asked = np.bincount(left, minlength=items) + np.bincount(right, minlength=items)
        made.voted = made.asked.copy()
        made.total = len(left)
        keys, counts = np.unique(pair_key(left, right), return_counts=True)
        made._pairs = Counter(dict(zip(keys.tolist(), counts.tolist(), strict=True)))
        if judge is not None:
            known = np.flatnonzero(judge >= 0)
            order = known[np.argsort(judge[known], kind="stable")]
            made._votes = (
                left[order].astype(np.int64),
                right[order].astype(np.int64),
                judge[order].astype(np.int64),
            )
            made.by_judge = np.bincount(judge[known], minlength=judges).astype(np.int64)
        return made

    def grow(self, items: int, judges: int) -> None:
        """Make room for new items and judges."""
        more, people = max(items - self.items, 0), max(judges - self.judges, 0)
        self.asked, self.voted = (np.append(own, np.zeros(more, np.int64)) for own in (self.asked, self.voted))
        self.by_judge = np.append(self.by_judge, np.zeros(people, np.int64))
        self.items, self.judges = self.items + more, self.judges + people

    def seen(self, judge: int) -> Seen:
        """What a judge was asked."""
        found = self._seen.get(judge)
        if found is None:
            found = self._seen[judge] = Seen()
            if self._votes is not None:
                left, right, who = self._votes
                for row in range(*np.searchsorted(who, [judge, judge + 1]).tolist()):
                    i, j = int(left[row]), int(right[row])
                    found.add(i, j, int(pair_key(i, j)))
        return found

    def ask(self, left: int, right: int, judge: int | None, times: int = 1) -> None:
        """Count a question as asked; -1 takes it back."""
        key = int(pair_key(left, right))
        self.asked[[left, right]] += times
        self._pairs[key] += times
        self.total += times
        if judge is not None and judge >= 0:
            self.seen(judge).add(left, right, key, times)
            self.by_judge[judge] += times

    def answer(self, left: int, right: int) -> None:
        """Count a question that was asked as answered."""
        self.voted[[left, right]] += 1

    def times(self, left: int, right: int) -> int:
        """How often a pair was asked."""
        return self._pairs[int(pair_key(left, right))]

    def capped(self, cap: int) -> Integers:
        """The sorted keys of pairs asked at least this often."""
        return np.array(sorted(key for key, times in self._pairs.items() if times >= cap), np.int64)
