"""A campaign in memory, by ids: votes so far, judges who are asked in turn, and what their answers teach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from crowdrank.errors import UsageError, name_hint
from crowdrank.models.online import TIES
from crowdrank.models.pairs.crowd_bt import CrowdBT
from crowdrank.models.parameters import whole
from crowdrank.select.field import Field
from crowdrank.select.loop import Loop
from crowdrank.select.policy import Policy
from crowdrank.select.question import Question
from crowdrank.select.recorded import Recorded
from crowdrank.select.replay import predicted_by_query
from crowdrank.select.rules import codes_of

FEW = 10
"""The usual share of ties counts as this many votes."""
SAID = {"left": 1, "right": -1, "tie": 0}
LEAST_REFIT = 50
"""A batch fit takes over after this many votes, or half as many as there are items."""


def _tie_share(votes: Recorded | None) -> float:
    """The share of ties to expect: that among the votes, after a few of the usual share."""
    seen, count = (0.0, 0) if votes is None else (votes.ties * len(votes.said), len(votes.said))
    return (seen + FEW * TIES) / (count + FEW)


class Campaign:
    """Judges are asked one after the other; a batch fit takes over every so often.

    >>> import crowdrank as cr
    >>> campaign = cr.Campaign.start(None, judges=["ann", "bob"], items=["a", "b", "c"])
    >>> question = campaign.ask("ann")
    >>> campaign.named(question)  # query, left and right
    (None, 'a', 'b')
    >>> campaign.learn(question, "left")
    >>> campaign.row(1, question, "left")
    ['1', 'ann', 'a', 'b', 'a']
    """

    field: Field
    loop: Loop

    def __init__(self, field: Field, loop: Loop) -> None:
        self.field, self.loop = field, loop
        self._judges = {worker: code for code, worker in enumerate(field.worker)}

    @classmethod
    def start(
        cls, answered: Any, *, judges: Sequence[str], items: Any = None, exclude: Any = None, anchors: Any = None,
        policy: Policy | None = None, seed: int = 0, budget: int | None = None,
    ) -> Campaign:  # fmt: skip
        """Go on from what was answered (None: nothing), with these judges.

        ``budget``: how many votes there should be in the end, with those that were answered.
        """
        policy, seed = Policy() if policy is None else policy, whole("seed", seed)
        field = Field.of(answered, items, list(judges))
        gold = field.gold(anchors, workers=False)
        if policy.gamma == "gold":
            policy = field.choose_gamma(policy, gold, seed)
        count = len(field.item)
        votes = None if field.table is None else field.coded_votes()
        loop = Loop(
            count, len(field.worker), policy, rules=field.rules(policy, exclude), gold=gold, seed=seed,
            votes=votes, budget=budget, refit=max(LEAST_REFIT, count // 2), batch=CrowdBT(),
            ties=_tie_share(votes),
        )  # fmt: skip
        return cls(field, loop)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row of answers."""
        query = ("query",) if self.field.query.null_count() == 0 else ()
        return ("question", *query, "worker", "left", "right", "label")

    def known_items(self) -> pl.DataFrame:
        """What is known about every item: query, item, score, stderr, votes."""
        return self.field.known_items(self.loop.beliefs(), self.loop.desk.history)

    def expected_accuracy(self) -> float:
        """The share of pairs that the current scores are expected to order right; the mean over the queries."""
        beliefs, query = self.loop.beliefs(), self.field.query
        group = None if query.null_count() else codes_of(query.to_list())
        return predicted_by_query(beliefs.mean, beliefs.variance, group)

    def ask(self, worker: str) -> Question | None:
        """The next question for a judge; None if no pair is allowed, or the judge has judged every allowed one."""
        if worker not in self._judges:
            raise UsageError(
                f"There is no judge {worker!r}.", hint=name_hint(worker, self._judges, "The judges are")
            )
        return self.loop.desk.ask(self._judges[worker], softens=False)

    def learn(self, question: Question, answer: str) -> None:
        """An answer: left, right or tie."""
        if answer not in SAID:
            raise UsageError(f"An answer is one of {', '.join(SAID)}. Got {answer!r}.")
        self.loop.learn(question, SAID[answer])

    def skip(self, question: Question) -> None:
        """A question that its judge did not answer; the judge is not asked it again."""
        self.loop.desk.end(question)

    def named(self, question: Question) -> tuple[str | None, str, str]:
        """The query, the left and the right item of a question."""
        field = self.field
        return field.query[question.left], field.item[question.left], field.item[question.right]

    def row(self, number: int, question: Question, answer: str) -> list[str]:
        """An answer as a row of ``columns``."""
        query, left, right = self.named(question)
        assert question.judge is not None
        label = {"left": left, "right": right, "tie": "tie"}[answer]
        shown = [] if query is None else [query]
        return [str(number), *shown, self.field.worker[question.judge], left, right, label]
