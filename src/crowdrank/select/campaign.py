"""A campaign in memory, by ids: votes so far, judges who are asked in turn, and what their answers teach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crowdrank.models.pairs.crowd_bt import CrowdBT
from crowdrank.select.field import Field
from crowdrank.select.loop import Loop
from crowdrank.select.policy import Policy
from crowdrank.select.question import Question

SAID = {"left": 1, "right": -1, "tie": 0}
LEAST_REFIT = 50
"""A batch fit takes over after this many votes, or half as many as there are items."""


class Campaign:
    """Judges are asked one after the other; a batch fit takes over every so often."""

    def __init__(self, field: Field, loop: Loop) -> None:
        self.field, self.loop = field, loop
        self._judges = {worker: code for code, worker in enumerate(field.worker)}

    @classmethod
    def start(
        cls, answered: Any, *, judges: Sequence[str], items: Any = None, exclude: Any = None, anchors: Any = None,
        policy: Policy | None = None, seed: int = 0, budget: int | None = None,
    ) -> Campaign:  # fmt: skip
        """Go on from what was answered (None: nothing), with these judges."""
        policy = Policy() if policy is None else policy
        field = Field.of(answered, items, list(judges))
        gold = field.gold(anchors)
        if policy.gamma == "gold":
            policy = field.choose_gamma(policy, gold, seed)
        count = len(field.item)
        loop = Loop(
            count, len(field.worker), policy, rules=field.rules(policy, exclude), gold=gold, seed=seed,
            votes=None if field.table is None else field.coded_votes(), budget=budget,
            refit=max(LEAST_REFIT, count // 2), batch=CrowdBT(),
        )  # fmt: skip
        return cls(field, loop)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row of answers."""
        query = ("query",) if self.field.query.null_count() == 0 else ()
        return ("question", *query, "worker", "left", "right", "label")

    def ask(self, worker: str) -> Question | None:
        """The next question for a judge; None if no pair is allowed."""
        return self.loop.ask(self._judges[worker])

    def learn(self, question: Question, answer: str) -> None:
        """An answer: left, right or tie."""
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
