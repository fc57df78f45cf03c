"""The desk that hands out questions: for a judge who asks, for the best judge, or a batch.

It keeps what is known (``Beliefs``), what was asked (``History``) and the open questions, and finds the best
allowed question under a ``Policy``. An open question is a lease: its pair is not given to anyone else while
other pairs are left, and a part of its expected effect counts already, so that the next question goes elsewhere.

If no allowed pair is left for a judge who asks, nobody is refused before the softer rules have been given up, in
this order: new items may be part of many open questions; pairs that are out with someone else are shared, the
least shared and oldest first; items that the judge has just seen may come again; pairs that the judge has judged
may come again. Caps and exclusions are never given up. In a batch, only the first two of these are.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.kernels.compiled import can_compile
from crowdrank.random import generator
from crowdrank.results import Beliefs
from crowdrank.select.boxes import FEW, Best, Boxes, Taken, pair_key
from crowdrank.select.gains import UNCERTAINTY, flatten, pair_gain
from crowdrank.select.gamma import current_gamma
from crowdrank.select.history import History
from crowdrank.select.judges import Judges
from crowdrank.select.policy import Policy
from crowdrank.select.rules import Rules

TRIES = 64
"""How many random pairs are tried before all are listed."""
NEW_SHARE = 0.05
"""The most open questions, as a share of all, that an item without votes may be part of."""


class Question(NamedTuple):
    """Two items, the judge who is asked (None: anyone), the gain, and why this pair was chosen.

    ``why``: ``"gain"``, ``"even"``, ``"random"``, ``"cold"`` (the item was hardly asked about), ``"gold"``, or
    ``"shared"`` (all allowed pairs are out with others). ``number`` counts the questions that were handed out.
    """

    left: int
    right: int
    judge: int | None
    gain: float
    why: str
    number: int = 0


class Lease(NamedTuple):
    """An open question, and the factors by which the variances of its items count as smaller."""

    question: Question
    factors: tuple[float, float]


class Desk:
    """Hands out questions. ``gold``: pairs of known order, (K, 2). ``budget``: how many questions are planned.

    ``compiled``: whether the search is compiled; by default if there are many items and Numba is installed.
    """

    def __init__(
        self, beliefs: Beliefs, policy: Policy, history: History, rules: Rules, *, seed: int = 0,
        gold: Integers | None = None, budget: int | None = None, compiled: bool | None = None,
    ) -> None:  # fmt: skip
        self.policy, self.history, self.rules, self.budget = policy, history, rules, budget
        self.gold = np.zeros((0, 2), np.int64) if gold is None else gold
        self.seed, self._random = seed, generator(seed, 0)
        self.judges = Judges(beliefs)
        self.mean, self.variance = beliefs.mean.copy(), beliefs.variance.copy()
        self.factor = np.ones(len(self.mean))
        self.leases: dict[int, Lease] = {}
        self._leased: list[int] = []  # the sorted keys of their pairs
        self._open: Counter[int] = Counter()  # the open questions of each item
        self._asked = 0
        self._excluded = rules.excluded
        if policy.pair_cap is not None:
            self._excluded = np.union1d(self._excluded, history.capped(policy.pair_cap))
        if compiled is None:
            compiled = len(self.mean) > FEW and can_compile()
        self.compiled = compiled
        self._sort()

    # ------------------------------------------------------------------------------ questions

    def ask(self, judge: int | None = None, *, softens: bool = True) -> Question | None:
        """The next question for this judge, or for anyone; None if no pair is allowed. It is out until it ends.

        ``softens``: whether a judge may be asked again about the same pair or items if nothing else is left.
        """
        found = self._choose(judge, SOFTER if softens else SOFTER[:3])
        return None if found is None else self._hand_out(found)

    def ask_best(self, judges: Sequence[int]) -> Question | None:
        """The best question and judge together, as in the paper: of all judges, the one with the largest gain.

        Judges are searched in the order of a bound on their gains, until no bound is above the best gain found.
        """
        allowed = np.array([judge for judge in judges if not self._over_share(judge)], np.int64)
        allowed = self._random.permutation(allowed)
        kind = self.policy.kind
        if not len(allowed):
            return None
        if kind is None or self._is_random() or self._coldest() is not None:
            return self.ask(int(self._random.choice(allowed)), softens=False)
        gamma = self.gamma
        most, weight = (float(own.max(initial=0.0)) for own in (self.boxes.variance, self.boxes.weight))
        bounds = self.judges.bounds(allowed, kind, gamma, most, weight)
        best: Question | None = None
        alike: set[tuple[float, ...]] = set()
        for place in np.argsort(-bounds, kind="stable"):
            if best is not None and bounds[place] <= best.gain:
                break
            judge = int(allowed[place])
            if self._is_new(judge):  # what is best for one new judge is best for all of whom as much is known
                if self.judges[judge] in alike:
                    continue
                alike.add(self.judges[judge])
            found = self._best_pair(judge, kind, gamma, -np.inf if best is None else best.gain)
            if found.left >= 0:
                best = Question(found.left, found.right, judge, found.gain, "gain")
        return None if best is None else self._hand_out(best)

    def batch(self, count: int, judges: Sequence[int] | None = None, each: int | None = None) -> list[Question]:
        """``count`` questions at once, best first, each chosen as if those before it were answered in part.

        ``each``: the most questions of a judge in this batch.
        """
        found: list[Question] = []
        given: Counter[int | None] = Counter()
        for _ in range(count):
            free = judges if judges is None or each is None else [own for own in judges if given[own] < each]
            question = self.ask(softens=False) if free is None else self.ask_best(free)
            if question is None:
                break
            given[question.judge] += 1
            found.append(question)
        return found

    # ----------------------------------------------------------------------------------- ends

    def end(self, question: Question, *, answered: bool = True) -> None:
        """A question has come back. If it was not answered, it counts as never asked."""
        lease = self.leases.pop(question.number, None)
        if lease is not None:
            self._leased.remove(_key(question))
            for item, factor in zip(question[:2], lease.factors, strict=True):
                self._open[item] -= 1
                self.factor[item] /= factor
                self._refresh(item)
        if answered:
            self.history.answer(question.left, question.right)
        else:
            self.history.ask(question.left, question.right, question.judge, -1)

    def learn(self, items: Iterable[int], mean: Iterable[float], variance: Iterable[float]) -> None:
        """The scores of these items have changed."""
        for item, m, v in zip(items, mean, variance, strict=True):
            self.mean[item], self.variance[item] = m, v
            self._refresh(item)

    def replace(self, beliefs: Beliefs, rules: Rules | None = None) -> None:
        """Everything has changed: a refit takes the place of what was known.

        There may be new items and judges, after those that there were; ``rules`` must then say where they belong.
        """
        count, had = len(beliefs.mean), len(self.mean)
        self.rules = self.rules if rules is None else rules
        self.history.grow(count, len(beliefs.alpha))
        self.factor = np.append(self.factor, np.ones(count - had))
        self.judges.replace(beliefs)
        self.mean, self.variance = beliefs.mean.copy(), beliefs.variance.copy()
        self._sort()

    def _sort(self) -> None:
        self._cut = _top_cut(self.mean, self.variance, self.policy.top, self.rules.group)
        self.boxes = Boxes(
            self.mean, self.variance * self.factor, weight=self._weights(np.arange(len(self.mean))),
            group=self.rules.group, apart=self.rules.apart, floor=self.policy.least_difference,
            by_variance=self.policy.kind != UNCERTAINTY, generator=self._random,
        )  # fmt: skip

    @property
    def gamma(self) -> float:
        """gamma of eq. 10 now."""
        used = self.history.total / self.budget if self.budget else 0.0
        return current_gamma(self.policy, used, self.judges.alpha, self.judges.beta)

    # -------------------------------------------------------------------------------- choosing

    def _choose(self, judge: int | None, steps: Sequence[_Soft]) -> Question | None:
        if judge is not None:
            if self._over_share(judge):
                return None
            gold = self._gold_question(judge)
            if gold is not None:
                return gold
        kind = self.policy.kind
        for soft in steps:
            if soft.shares:
                found = self._shared(judge, soft)
            elif self._is_random() or self.policy.select == "random":
                found = self._random_pair(judge, soft)
            elif (first := self._coldest()) is not None:
                found = self._with(first, judge, soft)
            elif kind is None:
                found = self._even_pair(judge, soft)
            else:
                best = self._best_pair(judge, kind, self.gamma if judge is not None else 0.0, soft=soft)
                found = None if best.left < 0 else Question(best.left, best.right, judge, best.gain, "gain")
            if found is not None:
                return found
        return None

    def _best_pair(
        self, judge: int | None, kind: int, gamma: float, at_least: float = -np.inf, soft: _Soft | None = None
    ) -> Best:
        look, soft = self.boxes.best if self.compiled else self.boxes.scan, soft or _Soft()
        taken, blocked = self._taken(judge, soft), self._blocked(judge, soft)
        return look(kind, self.judges[judge], gamma, taken, blocked, at_least)

    def _even_pair(self, judge: int | None, soft: _Soft) -> Question | None:
        """The items asked about least that may meet."""
        order = self._random.permutation(len(self.mean))
        order = order[np.argsort(self.history.asked[order], kind="stable")]
        blocked = self._blocked(judge, soft)
        if blocked is not None:
            order = order[~blocked[order]]
        taken = self._taken(judge, soft)
        for place, item in enumerate(order):
            others = order[place + 1 :]
            allowed = self._allowed(int(item), others, taken)
            if allowed.any():
                return Question(int(item), int(others[int(np.argmax(allowed))]), judge, 0.0, "even")
        return None

    def _random_pair(self, judge: int | None, soft: _Soft) -> Question | None:
        """A random allowed pair."""
        count = len(self.mean)
        blocked, taken = self._blocked(judge, soft), self._taken(judge, soft)
        free = np.arange(count) if blocked is None else np.flatnonzero(~blocked)
        if len(free) < 2:
            return None
        for _ in range(TRIES):
            i, j = self._random.choice(free, 2, replace=False)
            if self._allowed(int(i), np.array([j]), taken)[0]:
                return Question(int(i), int(j), judge, 0.0, "random")
        for i in self._random.permutation(free):
            others = self._random.permutation(free[free != i])
            allowed = self._allowed(int(i), others, taken)
            if allowed.any():
                return Question(int(i), int(others[int(np.argmax(allowed))]), judge, 0.0, "random")
        return None

    def _coldest(self) -> int | None:
        """An item that was asked about less than ``cold`` times, the least asked one; None if there is none."""
        asked = self.history.asked
        if not self.policy.cold or not len(asked) or self.policy.kind is None or asked.min() >= self.policy.cold:
            return None
        return int(self._random.choice(np.flatnonzero(asked == asked.min())))

    def _with(self, item: int, judge: int | None, soft: _Soft) -> Question | None:
        """The best question with this item: with another one that was hardly asked about, or by the gain."""
        blocked, taken = self._blocked(judge, soft), self._taken(judge, soft)
        others = np.flatnonzero(np.arange(len(self.mean)) != item)
        if blocked is not None:
            others = others[~blocked[others] & ~blocked[item]]
        others = others[self._allowed(item, others, taken)]
        if not len(others):  # another cold item may be allowed; if not, the gain decides
            return self._even_pair(judge, soft)
        asked = self.history.asked[others]
        if asked.min() < self.policy.cold:
            others = others[asked == asked.min()]
            return Question(item, int(self._random.choice(others)), judge, 0.0, "cold")
        kind = self.policy.kind
        assert kind is not None
        boxes = self.boxes
        gains = pair_gain(
            kind, boxes.mean[item] - boxes.mean[others], boxes.variance[item], boxes.variance[others],
            np.maximum(boxes.weight[item], boxes.weight[others]), *self.judges[judge], 0.0,
        )  # fmt: skip
        place = int(np.argmax(gains))
        return Question(item, int(others[place]), judge, float(gains[place]), "cold")

    def _shared(self, judge: int | None, soft: _Soft) -> Question | None:
        """A pair that is out with someone else, the least shared and oldest one; then any allowed pair."""
        blocked, taken = self._blocked(judge, soft), self._taken(judge, soft)
        out = Counter(self._leased)
        order = sorted(self.leases.values(), key=lambda own: (out[_key(own.question)], own.question.number))
        for lease in order:
            i, j = lease.question[:2]
            if blocked is not None and (blocked[i] or blocked[j]):
                continue
            if lease.question.why != "gold" and self._allowed(i, np.array([j]), taken)[0]:
                return Question(i, j, judge, lease.question.gain, "shared")
        return self._random_pair(judge, soft)

    def _gold_question(self, judge: int) -> Question | None:
        """A gold pair, if it is this judge's turn for one."""
        policy, seen = self.policy, self.history.seen(judge)
        if not len(self.gold):
            return None
        own = generator(self.seed, 1, judge)
        if seen.asked < policy.gold_among:
            places = own.permutation(policy.gold_among)[: policy.gold_first]
            due = seen.asked in places
        else:
            due = bool(self._random.random() < policy.gold_share)
        if not due:
            return None
        blocked = self._blocked(judge, _Soft(True, True, True))
        for place in self._random.permutation(len(self.gold)):
            i, j = (int(code) for code in self.gold[place])
            if blocked is not None and (blocked[i] or blocked[j]):
                continue
            if policy.repeats or not seen.pairs[int(pair_key(i, j))]:
                return Question(i, j, judge, 0.0, "gold")
        return None

    # ----------------------------------------------------------------------------------- rules

    def _is_random(self) -> bool:
        return self.policy.epsilon > 0 and bool(self._random.random() < self.policy.epsilon)

    def _is_new(self, judge: int) -> bool:
        """Whether a judge was never asked, and no rule is about this judge alone."""
        asked = judge < len(self.history.by_judge) and self.history.by_judge[judge] > 0
        return not asked and not self.rules.hidden and not self.rules.item_own.shape[1]

    def _over_share(self, judge: int) -> bool:
        """Whether a judge has reached the largest share of the planned questions."""
        share = self.policy.judge_share
        if share is None:
            return False
        planned = max(self.budget or 0, self.history.total + 1)
        return judge < len(self.history.by_judge) and self.history.by_judge[judge] + 1 > max(share * planned, 1.0)

    def _allowed(self, item: int, others: Integers, taken: Taken) -> NDArray[np.bool_]:
        """Which others an item may be compared with."""
        keys = pair_key(item, others)
        return self.boxes.may_meet(item, others) & ~taken.holds(keys)

    def _taken(self, judge: int | None, soft: _Soft) -> Taken:
        """The pairs that may not be asked."""
        keys = np.array([] if soft.shares else self._leased, np.int64)
        if judge is not None and not self.policy.repeats and not soft.repeats:
            keys = np.sort(np.concatenate([keys, self.history.seen(judge).keys()]))
        return Taken(self._excluded, keys)

    def _blocked(self, judge: int | None, soft: _Soft) -> NDArray[np.bool_] | None:
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
        mask = np.zeros(len(self.mean), bool) if mask is None else mask.copy()
        mask[found] = True
        return mask

    def _crowded(self) -> list[int]:
        """Items with hardly a vote that are part of too many open questions."""
        most = max(NEW_SHARE * len(self.leases), self.policy.cold, 1)
        if len(self.leases) <= most:
            return []
        busy = [item for item, open_ in self._open.items() if open_ >= most]
        return [item for item in busy if self.history.voted[item] < self.policy.cold]

    # ----------------------------------------------------------------------------------- books

    def _hand_out(self, question: Question) -> Question:
        """Draw the sides, count the question as asked, and let a part of its effect count already."""
        if self._random.random() < 0.5:
            question = question._replace(left=question.right, right=question.left)
        i, j = question.left, question.right
        self.history.ask(i, j, question.judge)
        if self.policy.pair_cap is not None and self.history.times(i, j) >= self.policy.pair_cap:
            key = _key(question)
            self._excluded = np.insert(self._excluded, np.searchsorted(self._excluded, key), key)
        factors = self._pending(question)
        self._asked += 1
        question = question._replace(number=self._asked)
        self.leases[self._asked] = Lease(question, factors)
        insort(self._leased, _key(question))
        for item, factor in zip((i, j), factors, strict=True):
            self._open[item] += 1
            self.factor[item] *= factor
            self._refresh(item)
        return question

    def _pending(self, question: Question) -> tuple[float, float]:
        """The factors by which the variances of a question's items count as smaller while it is open."""
        i, j = question.left, question.right
        judge = self.judges[question.judge]
        d = judge.slope * abs(self.boxes.mean[i] - self.boxes.mean[j])
        v, u = (judge.slope**2 * self.boxes.variance[item] for item in (i, j))
        t, x, y = flatten(d, v, u)
        q = (judge.alpha - judge.beta) / (judge.alpha + judge.beta)
        information = q * q * (1.0 - t * t) ** 2 / (4.0 * max(1.0 - q * q * t * t, 1e-300))
        part = self.policy.pending * information
        return float(1.0 - part * x), float(1.0 - part * y)

    def _refresh(self, item: int) -> None:
        self.boxes.weight[item] = self._weights(np.array([item]))[0]
        self.boxes.move(item, float(self.mean[item]), float(self.variance[item] * self.factor[item]))

    def _weights(self, items: Integers) -> Floats:
        """How much an item matters: the probability that it is among the first ``top``."""
        if self.policy.top is None:
            return np.ones(len(items))
        from scipy.special import ndtr

        cut = self._cut[self.rules.group[items]]
        return np.asarray(ndtr((self.mean[items] - cut) / np.sqrt(np.maximum(self.variance[items], 1e-300))))


def _key(question: Question) -> int:
    return int(pair_key(*question[:2]))


class _Soft(NamedTuple):
    """Which softer rules are given up: on crowded new items, leases, items just seen, pairs judged before."""

    crowds: bool = False
    shares: bool = False
    soon: bool = False
    repeats: bool = False


SOFTER = (_Soft(), _Soft(True), _Soft(True, True), _Soft(True, True, True), _Soft(True, True, True, True))
"""What is given up, step by step, before a judge is refused."""


def _top_cut(mean: Floats, variance: Floats, top: int | None, group: Integers) -> Floats:
    """The score above which ``top`` items of each group are expected, by bisection."""
    groups = int(group.max(initial=-1)) + 1
    if top is None or not len(mean):
        return np.zeros(groups)
    from scipy.special import ndtr

    deviation = np.sqrt(np.maximum(variance, 1e-300))
    reach = float(np.max(np.abs(mean) + 8.0 * deviation))
    low, high = np.full(groups, -reach), np.full(groups, reach)
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = np.bincount(group, ndtr((mean - middle[group]) / deviation), groups)
        low, high = np.where(above > top, middle, low), np.where(above > top, high, middle)
    return 0.5 * (low + high)
