"""Ask, learn, refit: a desk whose questions are answered one by one.

After each answer the online model moves two scores and one quality, and the desk hears of it. Every so often a
batch fit of all votes takes the place of the online state, which undoes what an early rogue has done to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import LEFT, RIGHT, TIE, Anchors, Floats, Index, Integers, Pairs
from crowdrank.kernels.compiled import can_compile
from crowdrank.models.base import Model
from crowdrank.models.pairs.crowd_bt import CrowdBT
from crowdrank.models.pairs.filter_bank import FilterState
from crowdrank.models.pairs.online_crowd_bt import OnlineCrowdBT
from crowdrank.results import QUALITY, Beliefs, Posterior
from crowdrank.select.desk import Desk
from crowdrank.select.history import History
from crowdrank.select.policy import Policy
from crowdrank.select.question import Question
from crowdrank.select.recorded import Recorded
from crowdrank.select.rules import Rules


class Loop:
    """``items`` and ``judges``: how many. ``refit``: after how many votes a batch fit takes over (None: never).

    ``model``: what learns vote by vote; qualities Beta(10, 1) unless given. ``votes``: what was answered before; a
    batch fit of it is the start. ``gold``: pairs of known order (better, worse). ``qualities``: alpha and beta of
    each judge before the first vote. ``ties``: the share of ties to expect. With 0 there must be none.
    """

    judges: int
    refit_every: int | None
    ties: float
    model: OnlineCrowdBT
    batch: CrowdBT | Model
    gold: NDArray[Any]
    desk: Desk
    items: int
    state: FilterState

    def __init__(
        self, items: int, judges: int, policy: Policy, *, model: OnlineCrowdBT | None = None,
        rules: Rules | None = None, votes: Recorded | None = None, gold: Integers | None = None, seed: int = 0,
        budget: int | None = None, refit: int | None = None, batch: Model | None = None,
        qualities: tuple[Floats, Floats] | None = None, ties: float = 0.0, compiled: bool | None = None,
    ) -> None:  # fmt: skip
        self.items, self.judges, self.refit_every, self.ties = items, judges, refit, ties
        self.model = OnlineCrowdBT(prior=QUALITY) if model is None else model
        self.batch = CrowdBT() if batch is None else batch
        self.gold = np.zeros((0, 2), np.int64) if gold is None else gold
        self.state = self._named(self.model.start(ties=ties))
        self.state.add_gold(self.gold, self.model.anchor_weight)
        if qualities is not None:
            self.state.qualities[:] = np.stack(qualities, axis=1)[:, :, None]
        self.votes: list[tuple[int, int, int, int]] = []
        history = History(items, judges)
        if votes is not None and len(votes.left):
            columns = (column.tolist() for column in votes[:4])
            self.votes = list(zip(*columns, strict=True))
            history = History.of_votes(items, judges, votes.left, votes.right, votes.judge)
            self._resume()
        self._leader = self.state.leader
        rules = Rules.none(items, judges) if rules is None else rules
        compiled = can_compile() if compiled is None else compiled  # a loop asks often
        self.desk = Desk(
            self.beliefs(), policy, history, rules, seed=seed, gold=self.gold, budget=budget, compiled=compiled
        )

    def _named(self, state: FilterState) -> FilterState:
        """The state with an id for each code."""
        for name in self._names(self.items):
            state.index.node(name)
        for name in self._names(self.judges):
            state.index.worker(name)
        state.grow(self.items, self.judges)
        return state

    @staticmethod
    def _names(count: int) -> list[str]:
        """Ids in the order of the codes."""
        return [f"{code:09d}" for code in range(count)]

    def beliefs(self) -> Beliefs:
        """What the leading filter knows."""
        state, leader = self.state, self.state.leader
        bank = state.bank
        quality = (float(bank.alpha[leader]), float(bank.beta[leader]))
        return Beliefs(
            state.scores[:, 0, leader].copy(), state.scores[:, 1, leader].copy(), np.ones(self.judges),
            state.qualities[:, 0, leader].copy(), state.qualities[:, 1, leader].copy(),
            float(bank.variance[leader]), quality,
        )  # fmt: skip

    def live_beliefs(self) -> Beliefs:
        """The same, as the desk has heard it so far; not to be changed."""
        desk, judges = self.desk, self.desk.judges
        return Beliefs(desk.mean, desk.variance, judges.slope, judges.alpha, judges.beta)

    def place(self, posterior: Posterior) -> tuple[Floats, Floats]:
        """Scores and variances of a posterior by the codes of the loop."""
        beliefs = Beliefs.of(posterior)
        score, variance = np.zeros(self.items), np.full(self.items, beliefs.new_variance)
        codes = np.array([int(name) for name in posterior.item])
        score[codes], variance[codes] = beliefs.mean, beliefs.variance
        return score, variance

    def ask(self, judge: int | None = None) -> Question | None:
        """The next question for a judge."""
        return self.desk.ask(judge)

    def ask_best(self, judges: Sequence[int]) -> Question | None:
        """The best question and judge together."""
        return self.desk.ask_best(judges)

    def learn(self, question: Question, said: int, judge: int | None = None) -> None:
        """An answer: 1 for the left item, -1 for the right one, 0 for a tie."""
        who = question.judge if judge is None else judge
        assert who is not None
        self.desk.end(question)
        self.record(question.left, question.right, said, who)

    def record(self, left: int, right: int, said: int, judge: int) -> None:
        """A vote, whether the desk asked for it or not."""
        self.votes.append((left, right, said, judge))
        self.model.update(self.state, (left, right, said, 1.0, judge))
        if self.refit_every is not None and len(self.votes) % self.refit_every == 0:
            self.refit()
            return
        leader = self.state.leader
        if leader != self._leader:
            self._leader = leader
            self.desk.replace(self.beliefs())
            return
        pair, state = [left, right], self.state
        self.desk.learn(pair, state.scores[pair, 0, leader], state.scores[pair, 1, leader])
        self.desk.judges.learn(judge, *state.qualities[judge, :, leader].tolist())

    def refit(self) -> None:
        """A batch fit of all votes takes the place of the online state."""
        self._resume()
        self._leader = self.state.leader
        self.desk.replace(self.beliefs())

    def add_items(self, count: int) -> None:
        """New items, after those that there are; they are compared with every other item."""
        self.items += count
        self._named(self.state)
        self.desk.replace(self.beliefs(), Rules.none(self.items, self.judges))

    def _resume(self) -> None:
        index = self.state.index
        self.state = self.model.resume(self.fit_batch(), index=index, ties=self.ties)
        self.state.add_gold(self.gold, None)  # the batch fit has learned from them

    def fit_batch(self) -> Posterior:
        """The posterior of a batch fit of all votes."""
        posterior = self.batch.clone().fit(self.table(), anchors=self._anchors()).posterior_
        assert isinstance(posterior, Posterior)
        return posterior

    def _anchors(self) -> Anchors:
        """The gold pairs, by names."""
        if not len(self.gold):
            return Anchors()
        names = np.array(self._names(self.items))
        return Anchors(pairs=Pairs.from_votes(winner=names[self.gold[:, 0]], loser=names[self.gold[:, 1]]))

    def table(self) -> Pairs:
        """The votes so far."""
        left, right, said, judge = np.array(self.votes, np.int32).T
        outcome = np.select([said > 0, said < 0], [LEFT, RIGHT], TIE).astype(np.int8)
        index = Index(pl.Series(self._names(self.items)), pl.Series(self._names(self.judges)))
        return Pairs(index=index, worker=judge, left=left, right=right, outcome=outcome).compact()
