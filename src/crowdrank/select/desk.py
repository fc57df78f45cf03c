"""The desk that hands out questions: for a judge who asks, for the best judge, or a batch.

It keeps what is known (``Beliefs``), what was asked (``History``) and the open questions (``Leases``), and finds
the best allowed question under a ``Policy``. A pair that is out is not given to anyone else while other pairs are
left, and what an open question is expected to teach counts already, so that the next question goes elsewhere.

If no allowed pair is left for a judge who asks, nobody is refused before the softer rules have been given up, in
this order: new items may be part of many open questions; pairs that are out with someone else are shared, the
least shared and oldest first; items that the judge has just seen may come again; pairs that the judge has judged
may come again. Caps and exclusions are never given up. In a batch, pairs that a judge has judged never come again,
and the gain says which pair is shared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import UsageError
from crowdrank.kernels.compiled import can_compile
from crowdrank.kernels.pair_keys import pair_key
from crowdrank.random import generator
from crowdrank.results import Beliefs
from crowdrank.select.boxes import FEW, Best, Boxes, Taken
from crowdrank.select.gains import UNCERTAINTY, flatten, pair_gain
from crowdrank.select.gamma import current_gamma
from crowdrank.select.history import History
from crowdrank.select.judges import Judges
from crowdrank.select.leases import Leases
from crowdrank.select.permits import SOFTER, WITHOUT_REPEATS, Permits, Soft
from crowdrank.select.policy import Policy
from crowdrank.select.question import Question
from crowdrank.select.rules import Rules
from crowdrank.select.top import chance_above, top_cut

TRIES = 64
"""How many random pairs are tried before all are listed."""


class Desk:
    """Hands out questions. ``gold``: pairs of known order, (K, 2). ``budget``: how many questions are planned.

    ``compiled``: whether the search is compiled; by default if there are many items and Numba is installed.

    >>> import numpy as np
    >>> import crowdrank as cr
    >>> beliefs = cr.Beliefs(np.array([2.0, 0.1, 0.0]), np.ones(3), np.ones(1), np.array([9.0]), np.array([1.0]))
    >>> desk = cr.Desk(beliefs, cr.Policy(cold=0), cr.History(3, 1), cr.Rules.none(3, 1))
    >>> question = desk.ask(0)  # a question for judge 0
    >>> sorted(question[:2]), question.why  # the two items whose scores are closest
    ([1, 2], 'gain')
    """

    policy: Policy
    history: History
    budget: int | None
    leases: Leases
    permits: Permits
    gold: NDArray[Any]
    seed: int
    judges: Judges
    mean: Floats
    variance: Floats
    boxes: Boxes

    def __init__(
        self, beliefs: Beliefs, policy: Policy, history: History, rules: Rules, *, seed: int = 0,
        gold: Integers | None = None, budget: int | None = None, compiled: bool | None = None,
    ) -> None:  # fmt: skip
        self.policy, self.history, self.budget = policy, history, budget
        self.leases = Leases(len(beliefs.mean))
        self.permits = Permits(policy, history, rules, self.leases, budget)
        self.gold = np.zeros((0, 2), np.int64) if gold is None else gold
        self.seed, self._random = seed, generator(seed, 0)
        self.judges = Judges(beliefs)
        self.mean, self.variance = beliefs.mean.copy(), beliefs.variance.copy()
        self._asked = 0
        if compiled is None:
            compiled = len(self.mean) > FEW and can_compile()
        self.compiled = compiled
        self._sort()

    # ------------------------------------------------------------------------------ questions

    def ask(self, judge: int | None = None, *, softens: bool = True) -> Question | None:
        """The next question for this judge, or for anyone; None if no pair is allowed. It is out until it ends.

        ``softens``: whether the judge may be asked a pair again if nothing else is left.
        """
        if judge is not None:
            if not 0 <= judge < len(self.judges.alpha):
                raise UsageError(f"There is no judge {judge}: there are {len(self.judges.alpha)}, from 0 on.")
            if self.permits.over_share(judge):
                return None
            if (gold := self._gold_question(judge)) is not None:
                return self._hand_out(gold)
        for soft in SOFTER if softens else WITHOUT_REPEATS:
            found = self._shared(judge, soft) if softens and soft.shares else self._choose(judge, soft)
            if found is not None:
                return self._hand_out(found)
        return None

    def ask_best(self, judges: Sequence[int]) -> Question | None:
        """The best question and judge together, as in the paper: of all judges, the one with the largest gain.

        If it is this judge's turn for a gold pair, that is asked instead.
        """
        free = np.array([judge for judge in judges if not self.permits.over_share(judge)], np.int64)
        free = self._random.permutation(free)
        kind = self.policy.kind
        if kind is None or self._is_random() or self._coldest() is not None:
            asked = (self.ask(int(judge), softens=False) for judge in free)
            return next((question for question in asked if question is not None), None)
        for soft in WITHOUT_REPEATS:
            if self._best_pair(None, kind, 0.0, soft).left < 0:
                continue  # what nobody may be asked, none of the judges may
            best = self._best_judge(free, kind, soft)
            if best is not None:
                assert best.judge is not None
                return self._hand_out(self._gold_question(best.judge) or best)
        return None

    def _best_judge(self, judges: Integers, kind: int, soft: Soft) -> Question | None:
        """Judges are searched in the order of a bound on their gains, until no bound is above the best gain."""
        gamma = self.gamma
        most, weight = (float(own.max(initial=0.0)) for own in (self.boxes.variance, self.boxes.weight))
        bounds = self.judges.bounds(judges, kind, gamma, most, weight)
        best: Question | None = None
        alike: set[tuple[float, ...]] = set()
        for place in np.argsort(-bounds, kind="stable"):
            if best is not None and bounds[place] <= best.gain:
                break
            judge = int(judges[place])
            if self.permits.is_new(judge):  # what is best for one new judge is best for all who are known as well
                if self.judges[judge] in alike:
                    continue
                alike.add(self.judges[judge])
            found = self._best_pair(judge, kind, gamma, soft, -np.inf if best is None else best.gain)
            if found.left >= 0:
                best = Question(found.left, found.right, judge, found.gain, "gain")
        return best

    def batch(self, count: int, judges: Sequence[int] | None = None, each: int | None = None) -> list[Question]:
        """``count`` questions at once, best first, each chosen as if those before it were answered.

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
        if not self.leases.end(question):
            raise UsageError(f"Question {question.number} is not open: it was never asked, or has ended before.")
        self._refresh(question[:2])
        if answered:
            self.history.answer(question.left, question.right)
        else:
            self.permits.count(question, -1)

    def learn(self, items: Sequence[int], mean: Iterable[float], variance: Iterable[float]) -> None:
        """The scores of these items have changed."""
        for item, m, v in zip(items, mean, variance, strict=True):
            self.mean[item], self.variance[item] = m, v
        self._refresh(items)

    def replace(self, beliefs: Beliefs, rules: Rules | None = None) -> None:
        """Everything has changed: a refit takes the place of what was known.

        There may be new items and judges, after those that there were; ``rules`` must then say where they belong.
        """
        if rules is not None:
            self.permits.rules = rules
        self.history.grow(len(beliefs.mean), len(beliefs.alpha))
        self.leases.grow(len(beliefs.mean))
        self.judges.replace(beliefs)
        self.mean, self.variance = beliefs.mean.copy(), beliefs.variance.copy()
        self._sort()

    def _sort(self) -> None:
        """The tree of the search anew, and what counts as the first places."""
        rules, policy = self.permits.rules, self.policy
        self._cut = None if policy.top is None else top_cut(self.mean, self.variance, policy.top, rules.group)
        self.boxes = Boxes(
            self.mean, self.variance * self.leases.factor, weight=self._weights(np.arange(len(self.mean))),
            group=rules.group, apart=rules.apart, floor=policy.least_difference,
            by_variance=policy.kind != UNCERTAINTY, generator=self._random,
        )  # fmt: skip

    @property
    def gamma(self) -> float:
        """gamma of eq. 10 now."""
        used = self.history.total / self.budget if self.budget else 0.0
        return current_gamma(self.policy, used, self.judges.alpha, self.judges.beta)

    # -------------------------------------------------------------------------------- choosing

    def _choose(self, judge: int | None, soft: Soft) -> Question | None:
        """A question by the policy."""
        kind = self.policy.kind
        if self._is_random() or self.policy.select == "random":
            return self._random_pair(judge, soft)
        if (first := self._coldest()) is not None:
            return self._with(first, judge, soft)
        if kind is None:
            return self._even_pair(judge, soft)
        best = self._best_pair(judge, kind, self.gamma if judge is not None else 0.0, soft)
        return None if best.left < 0 else Question(best.left, best.right, judge, best.gain, "gain")

    def _best_pair(
        self, judge: int | None, kind: int, gamma: float, soft: Soft, at_least: float = -np.inf
    ) -> Best:
        look = self.boxes.best if self.compiled else self.boxes.scan
        taken, blocked = self.permits.taken(judge, soft), self.permits.blocked(judge, soft)
        return look(kind, self.judges[judge], gamma, taken, blocked, at_least)

    def _even_pair(self, judge: int | None, soft: Soft) -> Question | None:
        """The items asked about least that may meet."""
        order = self._random.permutation(len(self.mean))
        order = order[np.argsort(self.history.asked[order], kind="stable")]
        blocked = self.permits.blocked(judge, soft)
        if blocked is not None:
            order = order[~blocked[order]]
        taken = self.permits.taken(judge, soft)
        for place, item in enumerate(order):
            others = order[place + 1 :]
            allowed = self._allowed(int(item), others, taken)
            if allowed.any():
                return Question(int(item), int(others[int(np.argmax(allowed))]), judge, 0.0, "even")
        return None

    def _random_pair(self, judge: int | None, soft: Soft) -> Question | None:
        """A random allowed pair."""
        count = len(self.mean)
        blocked, taken = self.permits.blocked(judge, soft), self.permits.taken(judge, soft)
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

    def _with(self, item: int, judge: int | None, soft: Soft) -> Question | None:
        """The best question with this item: with another one that was hardly asked about, or by the gain."""
        blocked, taken = self.permits.blocked(judge, soft), self.permits.taken(judge, soft)
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

    def _shared(self, judge: int | None, soft: Soft) -> Question | None:
        """A pair that is out with someone else, the least shared and oldest one; then any allowed pair."""
        blocked, taken = self.permits.blocked(judge, soft), self.permits.taken(judge, soft)
        for other in self.leases.by_sharing():
            i, j = other.left, other.right
            if blocked is not None and (blocked[i] or blocked[j]):
                continue
            if other.why != "gold" and self._allowed(i, np.array([j]), taken)[0]:
                return Question(i, j, judge, other.gain, "shared")
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
        for i, j in self._random.permutation(self.gold).tolist():
            if self.permits.gold(judge, i, j):
                return Question(i, j, judge, 0.0, "gold")
        return None

    def _is_random(self) -> bool:
        return self.policy.epsilon > 0 and bool(self._random.random() < self.policy.epsilon)

    def _allowed(self, item: int, others: Integers, taken: Taken) -> NDArray[np.bool_]:
        """Which others an item may be compared with."""
        return self.boxes.may_meet(item, others) & ~taken.holds(pair_key(item, others))

    # ----------------------------------------------------------------------------------- books

    def _hand_out(self, question: Question) -> Question:
        """Draw the sides, count the question as asked, and let a part of its effect count already."""
        if self._random.random() < 0.5:
            question = question._replace(left=question.right, right=question.left)
        self._asked += 1
        question = question._replace(number=self._asked)
        self.permits.count(question)
        self.leases.add(question, self._pending(question))
        self._refresh(question[:2])
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

    def _refresh(self, items: Sequence[int]) -> None:
        """The tree hears what has changed about these items. When it is sorted anew, so is the cut of ``top``."""
        weights = self._weights(np.asarray(items))
        is_sorted_anew = False
        for item, weight in zip(items, weights.tolist(), strict=True):
            variance = float(self.variance[item] * self.leases.factor[item])
            is_sorted_anew |= self.boxes.move(item, float(self.mean[item]), variance, weight)
        if is_sorted_anew and self._cut is not None:
            self._sort()

    def _weights(self, items: Integers) -> Floats:
        """How much each item matters: the probability that it is among the first ``top``, or 1."""
        if self._cut is None:
            return np.ones(len(items))
        return chance_above(self.mean[items], self.variance[items], self._cut[self.permits.rules.group[items]])
