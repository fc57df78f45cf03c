"""The next questions to ask, from votes in files or frames: which pairs, and of whom."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from crowdrank.data.ids import TEXT_IDS
from crowdrank.data.roster import Roster
from crowdrank.errors import InputError, Note, Remedy, UsageError, parameter
from crowdrank.models.base import Model
from crowdrank.models.parameters import whole
from crowdrank.results import Table
from crowdrank.results.overview import Overview
from crowdrank.results.tables import without_nulls
from crowdrank.select.desk import Desk
from crowdrank.select.field import Field
from crowdrank.select.policy import Policy
from crowdrank.select.question import Question
from crowdrank.select.rules import Rules

TWICE = 2.0
"""A judge gets at most this many times the even share of a batch, unless something else is said."""
OBSTACLES: dict[str, tuple[Any, str, str]] = {
    "repeats": (True, "the judges have judged every pair that they may be asked", "To ask them again: "),
    "pair_cap": (None, "every pair was asked as often as pair_cap={} allows", "To ask without this cap: "),
    "item_cap": (
        None,
        "the judges have seen the items as often as item_cap={} allows",
        "To ask without this cap: ",
    ),
    "floor": (0.5, "the scores of all pairs are closer than floor={} allows", "To ask about all pairs: "),
}
"""Settings that may leave no pair: the value that forbids nothing, what the set one means, and the way out."""
OF_JUDGES = (
    "gamma",
    "tau",
    "item_cap",
    "judge_share",
    "rest",
    "repeats",
    "gold_first",
    "gold_among",
    "gold_share",
)
"""Settings that are about the judge who is asked."""


@dataclass(frozen=True, eq=False, repr=False)
class Questions(Table):
    """Questions, best first: question, query, left, right, worker (if judges were given), gain, why.

    ``items`` says what was known when they were chosen: query, item, score, stderr, votes. ``select`` is how.

    >>> import crowdrank as cr
    >>> votes = [("ann", "a", "b"), ("bob", "b", "c"), ("ann", "a", "c")]
    >>> questions = cr.next_questions(votes, 3, judges=["ann", "bob"])
    >>> questions
    Questions: 3, best first
    question  left  right  worker   gain  why
           4  c     b      ann     0.093  gain
           5  a     b      bob     0.076  gain
           6  c     a      bob     0.075  gain
    """

    content: pl.DataFrame
    items: pl.DataFrame
    select: str
    notes: tuple[Note, ...] = ()

    def polars(self) -> pl.DataFrame:
        """The questions as a Polars frame, with ids as text."""
        return self.content

    def overview(self) -> Overview:
        """The best questions, and the notes on them."""
        title = f"Questions: {len(self.content):,}, best first"
        return Overview(title, table=without_nulls(self.content), notes=[note.wording() for note in self.notes])

    def tasks(self, show: Roster | None = None, columns: Sequence[str] = ()) -> pl.DataFrame:
        """The questions as tasks for a platform: question, query, left, right, worker, and attributes of items.

        ``columns`` of the items in ``show`` are added for both sides, as left_NAME and right_NAME.
        """
        names = [name for name in ("question", "query", "left", "right", "worker") if name in self.content.columns]
        tasks = self.content.select(names)
        if show is None:
            return tasks
        keys = ["query", "item"] if show.by_query else ["item"]
        for column in columns:
            values = show.attribute(column)
            known = show.frame.select(keys).with_columns(values.alias("value"))
            for side in ("left", "right"):
                asked = tasks.select([name for name in keys if name == "query"] + [pl.col(side).alias("item")])
                found = asked.join(known, on=keys, how="left", nulls_equal=True, maintain_order="left")
                tasks = tasks.with_columns(found["value"].alias(f"{side}_{column}"))
        return tasks


def next_questions(
    judgments: Any = None, count: int = 100, *, judges: Any = None, items: Any = None, exclude: Any = None,
    anchors: Any = None, model: Model | str | None = None, select: str = "gain", each: int | None = None,
    seed: int = 0, settings: Mapping[str, Any] | None = None,
) -> Questions:  # fmt: skip
    """The ``count`` best questions to ask next.

    ``judgments``: what was answered so far, in any form that a fit takes; None if nothing was. ``judges``: who can
    be asked (a file, a frame or a list); each question then names one. ``items``: which items take part, with
    attributes; needed if nothing was answered yet. ``exclude``: pairs that are never asked (left, right), or items
    that a judge never sees (worker, item). ``anchors``: as in a fit; gold pairs are mixed into the questions.
    ``model``: what is fitted; Crowd-BT if judges are known, Bradley-Terry if not, and online Crowd-BT from 200,000
    votes on. ``each``: the most questions for one judge; by default twice an even share, and not more than half
    if there are several. ``select`` and ``settings``: see ``Policy``; ``judge_share`` is of these questions.

    >>> import crowdrank as cr
    >>> cr.next_questions([("a", "b"), ("b", "c"), ("b", "c"), ("a", "c")], 2)
    Questions: 2, best first
    question  left  right   gain  why
           5  b     a      0.095  gain
           6  b     c      0.065  gain
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise UsageError(f"The number of questions must be a whole number of at least 1. Got {count!r}.")
    policy = Policy.of(select, settings or {})
    if judges is None:
        _check_anyone(settings or {}, each)
    field = Field.of(judgments, items, judges)
    posterior, notes = field.fit(model, anchors, seed)
    gold = field.gold(anchors)
    if policy.gamma == "gold":
        policy = field.choose_gamma(policy, gold, seed)
    share, policy = policy.judge_share, replace(policy, judge_share=None)
    beliefs, history = field.beliefs(posterior), field.history()
    known = field.known_items(beliefs, history)

    def choose(policy: Policy, rules: Rules, count: int) -> list[Question]:
        desk = Desk(beliefs, policy, history, rules, seed=seed, gold=gold, budget=field.votes + count)
        return desk.batch(count, field.asked, _most(each, share, count, field.asked))

    rules = field.rules(policy, exclude)
    found = choose(policy, rules, count)
    if not found:
        raise _refusal(policy, rules, lambda policy, rules: bool(choose(policy, rules, 1)))
    backend = TEXT_IDS if field.table is None else field.table.backend
    said = (*notes, *field.notes(found, count))
    return Questions(field.named(found), known, select, said, backend=backend)


def _refusal(policy: Policy, rules: Rules, allows: Callable[[Policy, Rules], bool]) -> InputError:
    """The error if no question is allowed. It names the first rule without which one would be."""
    for name, (without, words, remedy) in OBSTACLES.items():
        value = getattr(policy, name)
        if value != without and allows(replace(policy, **{name: without}), rules):
            hint = (remedy, parameter(name, json.dumps(without)))
            return InputError(f"No question is allowed: {words.format(value)}.", hint=hint)
    if allows(policy, replace(rules, excluded=rules.excluded[:0], hidden={})):
        return InputError("No question is allowed: all pairs are excluded.", hint="Exclude fewer pairs or items.")
    return InputError("No question is allowed: several rules together leave no pair.")


def _check_anyone(settings: Mapping[str, Any], each: int | None) -> None:
    """What is about judges needs judges."""
    given = next((name for name in settings if name in OF_JUDGES), None)
    if given is not None or each is not None:
        name = "'each'" if given is None else f"The setting {given!r}"
        raise UsageError(
            f"{name} is about the judge who is asked, but these questions are for anyone.",
            hint=("Say who can be asked: ", Remedy("judges", "FILE")),
        )


def _most(each: int | None, share: float | None, count: int, judges: Sequence[int] | None) -> int | None:
    """The most questions for one judge."""
    if judges is None:
        return None
    if each is not None:
        return whole("each", each, low=1)
    if share is not None:
        return max(int(share * count), 1)
    most = math.ceil(TWICE * count / max(len(judges), 1))
    return most if len(judges) < 2 else min(most, math.ceil(count / 2))
