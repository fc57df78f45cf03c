"""The next questions to ask, from votes in files or frames: which pairs, and of whom."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from crowdrank.data.roster import Roster
from crowdrank.errors import Note, UsageError
from crowdrank.models.base import Model
from crowdrank.select.desk import Desk
from crowdrank.select.field import Field
from crowdrank.select.policy import Policy

TWICE = 2.0
"""A judge gets at most this many times the even share of a batch, unless ``judge_share`` says otherwise."""


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions, best first. ``frame``: question, query, left, right, worker (if judges were given), gain, why."""

    frame: pl.DataFrame
    notes: tuple[Note, ...] = ()

    def tasks(self, show: Roster | None = None, columns: Sequence[str] = ()) -> pl.DataFrame:
        """The questions as tasks for a platform: question, query, left, right, worker, and attributes of items.

        ``columns`` of the items in ``show`` are added for both sides, as left_NAME and right_NAME.
        """
        names = [name for name in ("question", "query", "left", "right", "worker") if name in self.frame.columns]
        tasks = self.frame.select(names)
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
    anchors: Any = None, model: Model | str | None = None, select: str = "gain", seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> Questions:  # fmt: skip
    """The ``count`` best questions to ask next.

    ``judgments``: what was answered so far, in any form that a fit takes; None if nothing was. ``judges``: who can
    be asked (a file, a frame or a list); each question then names one. ``items``: which items take part, with
    attributes; needed if nothing was answered yet. ``exclude``: pairs that are never asked (left, right), or items
    that a judge never sees (worker, item). ``anchors``: as in a fit; gold pairs are mixed into the questions.
    ``model``: what is fitted; Crowd-BT if judges are known, Bradley-Terry if not, and online Crowd-BT from 200,000
    votes on. ``select`` and ``settings``: see ``Policy``.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise UsageError(f"The number of questions must be a whole number of at least 1. Got {count!r}.")
    policy = Policy.of(select, settings or {})
    field = Field.of(judgments, items, judges)
    posterior, notes = field.fit(model, anchors, seed)
    gold = field.gold(anchors)
    if policy.gamma == "gold":
        policy = field.choose_gamma(policy, gold, seed)
    desk = Desk(
        field.beliefs(posterior), policy, field.history(), field.rules(policy, exclude), seed=seed, gold=gold,
        budget=field.votes + count,
    )  # fmt: skip
    each = None
    if field.asked is not None and policy.judge_share is None:
        each = math.ceil(TWICE * count / max(len(field.asked), 1))
    found = desk.batch(count, field.asked, each)
    return Questions(field.named(found), (*notes, *field.notes(found, count)))
