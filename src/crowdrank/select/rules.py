"""Which items may meet, and who may judge them: groups, attributes and exclusions, by codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Integers


@dataclass(frozen=True, eq=False)
class Rules:
    """``group`` (N): items of different groups never meet. ``apart`` (N, m): nor do items that share one of these.

    ``item_own`` (N, m) and ``judge_own`` (K, m): a judge does not see items that share an attribute; -1 is
    shared with nobody. ``excluded``: sorted keys of pairs that are never asked. ``hidden``: items that a judge
    never sees.

    >>> import numpy as np
    >>> import crowdrank as cr
    >>> team = np.array([[0], [0], [1]])  # of three items; judge 0 is of team 1
    >>> rules = cr.Rules(np.zeros(3, int), np.zeros((3, 0), int), team, np.array([[1]]))
    >>> rules.hides(0)
    array([False, False,  True])
    """

    group: Integers
    apart: Integers
    item_own: Integers
    judge_own: Integers
    excluded: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    hidden: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def none(cls, items: int, judges: int = 0, group: Integers | None = None) -> Rules:
        """No rules but the groups."""
        own = np.zeros(items, np.int64) if group is None else group
        empty = np.zeros((items, 0), np.int64)
        return cls(own, empty, empty, np.zeros((judges, 0), np.int64))

    def hides(self, judge: int) -> NDArray[np.bool_] | None:
        """The items that a judge must not see; None if there are none."""
        found = None
        if self.item_own.shape[1] and judge < len(self.judge_own):
            mine = self.judge_own[judge]
            found = ((self.item_own == mine) & (mine >= 0)).any(axis=1)
        if judge in self.hidden:
            found = np.zeros(len(self.group), bool) if found is None else found
            found[list(self.hidden[judge])] = True
        return found


def codes_of(values: Sequence[object]) -> Integers:
    """A number for each distinct value; -1 for a missing one."""
    numbers: dict[object, int] = {}
    return np.array(
        [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values], np.int64
    )
