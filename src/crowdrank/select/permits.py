"""What may be asked now: caps, exclusions, leases, and what a judge has already seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.select.boxes import Taken
from crowdrank.select.history import History
from crowdrank.select.leases import Leases
from crowdrank.select.policy import Policy
from crowdrank.select.question import Question
from crowdrank.select.rules import Rules

NEW_SHARE = 0.05
"""The most open questions, as a share of all, that an item without votes may be part of."""


class Soft(NamedTuple):
    """Which softer rules are given up: on crowded new items, leases, items just seen, pairs judged before."""

    crowds: bool = False
    shares: bool = False
    soon: bool = False
    repeats: bool = False


SOFTER = (Soft(), Soft(True), Soft(True, True), Soft(True, True, True), Soft(True, True, True, True))
"""What is given up, step by step, before a judge is refused."""
WITHOUT_REPEATS = SOFTER[:4]
"""The same if no judge may be asked a pair again."""


class Permits:
    """What may be asked under a policy, and the books that this needs."""

    policy: Policy
    history: History
    rules: Rules
    leases: Leases
    budget: int | None

    def __init__(self, policy: Policy, history: History, rules: Rules, leases: Leases, budget: int | None) -> None:
        self.policy, self.history, self.rules, self.leases, self.budget = policy, history, rules, leases, budget
        self._excluded = rules.excluded
        if policy.pair_cap is not None:
            self._excluded = np.union1d(self._excluded, history.capped(policy.pair_cap))

    def taken(self, judge: int | None, soft: Soft) -> Taken:
        """The pairs that may not be asked."""
        keys = np.array([] if soft.shares else self.leases.keys, np.int64)
        if judge is not None and not self.policy.repeats and not soft.repeats:
            keys = np.sort(np.concatenate([keys, self.history.seen(judge).keys()]))
        return Taken(self._excluded, keys)

    def blocked(self, judge: int | None, soft: Soft) -> NDArray[np.bool_] | None:
        """The items that may not be asked about; None if there are none."""
        found: list[int] = []
        mask = None
        if judge is not None:
            mask, seen = self.rules.hides(judge), self.history.seen(judge)
            if self.policy.item_cap is not None:
                found += [item for item, times in seen.items.items() if times >= self.policy.item_cap]
            if not soft.soon and self.policy.rest:
                found += [item for pair in list(seen.last)[-self.policy.rest :] for item in pair]
        if not soft.crowds:
            found += self._crowded()
        if mask is None and not found:
            return None
        mask = np.zeros(len(self.rules.group), bool) if mask is None else mask.copy()
        mask[found] = True
        return mask

    def _crowded(self) -> list[int]:
        """Items with hardly a vote that are part of too many open questions."""
        most = max(NEW_SHARE * len(self.leases), self.policy.cold, 1)
        if len(self.leases) <= most:
            return []
        return [item for item in self.leases.busy(most) if self.history.voted[item] < self.policy.cold]

    def gold(self, judge: int, left: int, right: int) -> bool:
        """Whether a judge may be asked a gold pair. Caps on pairs, leases and rest do not count for these."""
        blocked = self.blocked(judge, SOFTER[3])
        if blocked is not None and (blocked[left] or blocked[right]):
            return False
        question = Question(left, right, judge, 0.0, "gold")
        if Taken(self.rules.excluded).holds(np.array([question.key]))[0]:
            return False
        return self.policy.repeats or not self.history.seen(judge).pairs[question.key]

    def over_share(self, judge: int) -> bool:
        """Whether a judge has reached the largest share of the planned questions."""
        share, asked = self.policy.judge_share, self.history.by_judge
        if share is None:
            return False
        planned = max(self.budget or 0, self.history.total + 1)
        return judge < len(asked) and asked[judge] + 1 > max(share * planned, 1.0)

    def is_new(self, judge: int) -> bool:
        """Whether a judge was never asked, and no rule is about this judge alone."""
        asked = judge < len(self.history.by_judge) and self.history.by_judge[judge] > 0
        return not asked and not self.rules.hidden and not self.rules.item_own.shape[1]

    def count(self, question: Question, times: int = 1) -> None:
        """Count a question as asked; -1 takes it back."""
        self.history.ask(question.left, question.right, question.judge, times)
        if self.policy.pair_cap is None:
            return
        key, place = question.key, int(np.searchsorted(self._excluded, question.key))
        is_out = place < len(self._excluded) and self._excluded[place] == key
        is_full = self.history.times(question.left, question.right) >= self.policy.pair_cap
        if is_full and not is_out:
            self._excluded = np.insert(self._excluded, place, key)
        elif is_out and not is_full and key not in self.rules.excluded:
            self._excluded = np.delete(self._excluded, place)
