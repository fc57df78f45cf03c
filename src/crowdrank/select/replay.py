"""What each way of asking would have needed: a selector replayed on recorded votes, or on a simulated crowd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import UsageError
from crowdrank.measures import pairwise_accuracy
from crowdrank.models.pairs.online_crowd_bt import OnlineCrowdBT
from crowdrank.random import generator
from crowdrank.select.loop import Loop
from crowdrank.select.policy import Policy
from crowdrank.select.pool import Pool
from crowdrank.select.question import Question
from crowdrank.select.recorded import Recorded
from crowdrank.simulate.respondents import Respondents

MOST_PAIRS = 200_000
"""The accuracy is predicted from at most this many pairs."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The true ``values`` of the items, NaN if they are not known; ``group``: only items of one query compare."""

    values: Floats
    group: Integers | None = None

    def accuracy(self, score: Floats) -> float:
        """The share of pairs in the right order (eq. 20); the mean over the queries that have such pairs."""
        known = np.flatnonzero(np.isfinite(self.values))
        if self.group is None:
            return pairwise_accuracy(score[known], self.values[known])
        parts = [known[self.group[known] == own] for own in np.unique(self.group[known])]
        found = [pairwise_accuracy(score[part], self.values[part]) for part in parts]
        return float(np.nanmean(found)) if np.isfinite(found).any() else float("nan")

    def predicted(self, score: Floats, variance: Floats) -> float:
        """The accuracy that scores with these variances expect; the mean over the queries."""
        return predicted_by_query(score, variance, self.group)


@dataclass(frozen=True)
class Curve:
    """Accuracy after so many ``votes``; ``predicted`` is what the model itself expects it to be."""

    votes: Integers
    accuracy: Floats
    predicted: Floats

    def first(self, level: float) -> float:
        """The number of votes at which the accuracy first reached a level; infinite if it never did."""
        reached = np.flatnonzero(self.accuracy >= level)
        return float(self.votes[reached[0]]) if len(reached) else np.inf


@dataclass(frozen=True)
class Plan:
    """How a replay goes: how many votes, how often to look, how to rank at a look, when to refit.

    ``rank``: ``"means"`` sorts the current means, ``"refit"`` fits all votes so far (the end of section 4.1).
    ``refit``: after how many votes a batch fit takes over; None for never.
    """

    budget: int
    look: int = 50
    rank: str = "means"
    refit: int | None = None


def replay_recorded(
    votes: Recorded, truth: Truth, policy: Policy, plan: Plan, *, seed: int = 0, model: OnlineCrowdBT | None = None
) -> Curve:
    """Ask for recorded votes, each once, in the order of the policy."""
    loop = Loop(
        votes.items, votes.judges, policy, model=model, seed=seed, budget=plan.budget, refit=plan.refit,
        ties=votes.ties,
    )  # fmt: skip
    pool = Pool(votes, policy, seed=seed, budget=plan.budget)

    def step() -> bool:
        vote = pool.take(loop.live_beliefs())
        if vote is not None:
            loop.record(*vote)
        return vote is not None

    return _curve(loop, step, truth, plan)


def replay_simulated(
    crowd: Respondents, policy: Policy, plan: Plan, *, seed: int = 0, who: str = "arrives", flight: int = 1,
    model: OnlineCrowdBT | None = None, qualities: tuple[Floats, Floats] | None = None,
) -> Curve:  # fmt: skip
    """Ask a simulated crowd. ``who``: judges arrive at random, ``"arrives"``, or the best is asked, ``"best"``.

    ``flight``: how many questions are open at once; a random one of them is answered next. ``qualities``: alpha
    and beta of each judge before the first vote.
    """
    items, judges = len(crowd.scores), len(crowd.quality)
    loop = Loop(
        items, judges, policy, model=model, seed=seed, budget=plan.budget, refit=plan.refit, qualities=qualities
    )
    random, everyone = generator(seed, 4), range(judges)
    open_questions: list[Question] = []

    def step() -> bool:
        while len(open_questions) < flight:
            question = loop.ask_best(everyone) if who == "best" else loop.ask(int(random.integers(judges)))
            if question is None:
                break
            open_questions.append(question)
        if not open_questions:
            return False
        question = open_questions.pop(int(random.integers(len(open_questions))))
        assert question.judge is not None
        loop.learn(question, crowd.answer(question.judge, question.left, question.right))
        return True

    return _curve(loop, step, Truth(crowd.scores), plan)


def _curve(loop: Loop, step: Callable[[], bool], truth: Truth, plan: Plan) -> Curve:
    found: list[tuple[int, float, float]] = []
    count, goes_on = 0, True
    while goes_on and count < plan.budget:
        goes_on = step()
        count += goes_on
        if count == 0:
            raise UsageError("These settings allow no question at all.", hint="Raise the caps or lower the floor.")
        if count % plan.look == 0 or count == plan.budget or not goes_on:
            score, variance = _ranking(loop, plan)
            found.append((count, truth.accuracy(score), truth.predicted(score, variance)))
    votes, accuracy, predicted = np.array(found).reshape(-1, 3).T
    return Curve(votes.astype(np.int64), accuracy, predicted)


def _ranking(loop: Loop, plan: Plan) -> tuple[Floats, Floats]:
    """Scores and their variances at a look."""
    if plan.rank == "refit":
        return loop.place(loop.fit_batch())
    found = loop.model.estimate(loop.state)
    return found.score, found.variance


def predicted_by_query(score: Floats, variance: Floats, group: Integers | None) -> float:
    """The accuracy that scores with these variances expect; the mean over the queries, which ``group`` numbers."""
    if group is None:
        return predicted_accuracy(score, variance)
    parts = [np.flatnonzero(group == own) for own in np.unique(group)]
    found = [predicted_accuracy(score[part], variance[part]) for part in parts if len(part) > 1]
    return float(np.mean(found)) if found else 1.0


def predicted_accuracy(score: Floats, variance: Floats, seed: int = 0) -> float:
    """The mean over pairs of Phi(|d| / sqrt(v_i + v_j)): how often the model expects to order a pair right."""
    from scipy.special import ndtr

    count = len(score)
    if count < 2:
        return 1.0
    if count * (count - 1) // 2 <= MOST_PAIRS:
        i, j = np.triu_indices(count, 1)
    else:
        rng = generator(seed, 5)
        i = rng.integers(0, count, MOST_PAIRS)
        j = (i + rng.integers(1, count, MOST_PAIRS)) % count
    return float(ndtr(np.abs(score[i] - score[j]) / np.sqrt(np.maximum(variance[i] + variance[j], 1e-300))).mean())


def mean_curve(curves: Sequence[Curve]) -> tuple[Integers, Floats, Floats, Floats]:
    """Votes, mean accuracy, its standard error, and mean predicted accuracy, at the looks that all curves share.

    If they share none, because each ended early, only their ends count.
    """
    votes = reduce(np.intersect1d, [curve.votes for curve in curves])
    if len(votes):
        places = [np.searchsorted(curve.votes, votes) for curve in curves]
    else:
        votes = np.array([round(float(np.mean([curve.votes[-1] for curve in curves])))])
        places = [np.array([len(curve.votes) - 1]) for curve in curves]
    both = list(zip(curves, places, strict=True))
    accuracy = np.stack([curve.accuracy[own] for curve, own in both])
    error = accuracy.std(axis=0, ddof=1) / np.sqrt(len(curves)) if len(curves) > 1 else np.zeros(len(votes))
    predicted = np.stack([curve.predicted[own] for curve, own in both]).mean(axis=0)
    return votes, accuracy.mean(axis=0), error, predicted
