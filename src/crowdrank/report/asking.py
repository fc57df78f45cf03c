"""Where questions go: items by rank with what is known about them, and how many questions touch each, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr

from crowdrank.charts import Asked, Axis, Chart, draw_asked
from crowdrank.charts.axes import axis_of
from crowdrank.errors import Note, count_noun
from crowdrank.report.content import Page
from crowdrank.report.notes import cautions
from crowdrank.report.rounding import round_to, significant
from crowdrank.report.words import percent, quote_name
from crowdrank.results import Z
from crowdrank.select.policy import SELECTORS
from crowdrank.select.questions import Questions

QUERIES = 6
"""So many queries have a picture: those with the most questions."""
ITEMS = 20
"""So many items are listed: those with the most questions."""
ROWS = 200
"""So many questions are listed."""
NEAR = 0.1
"""Items are neighbors if they are next to each other, or if their ranks differ by at most this share of all."""
REASONS = {
    "even": "its items were asked about least",
    "random": "random",
    "cold": "one of its items has hardly been asked about",
    "gold": "its order is known: it checks the judge",
    "shared": "no other pair was left",
}
"""Why a question was chosen if not for its gain."""


@dataclass(frozen=True)
class AskedItem:
    """An item with its score, the 90 % interval of it, its votes so far, and how many questions touch it."""

    item: str
    rank: int
    score: float
    low: float
    high: float
    votes: int
    questions: int


@dataclass(frozen=True)
class AskedQuery:
    """The items of a query, best first, and how many of the questions are about it."""

    name: str | None
    questions: int
    items: tuple[AskedItem, ...]


@dataclass(frozen=True)
class AskedPair:
    """A question: ``chance`` is the probability that the left item is the better one.

    ``reason`` says why it is asked; it is empty if that is the gain.
    """

    question: int
    query: str | None
    left: str
    right: str
    worker: str | None
    chance: float
    gain: float | None
    reason: str


@dataclass(frozen=True)
class QuestionsReport(Page):
    """The content of the page. ``queries``: those with a picture; ``counts``: name, items and questions of all.

    ``most`` are the items with the most questions, each with its query. ``judges``: how many questions each has.
    ``noun`` is "question", or "answer" if they were answered; ``curve`` then says how certain the ranking became:
    numbers of answers, and the share of pairs that the model then expected to order right.
    """

    noun: str
    headline: str
    questions: int
    queries: tuple[AskedQuery, ...]
    counts: tuple[tuple[str | None, int, int], ...]
    most: tuple[tuple[str | None, AskedItem], ...]
    axis: Axis
    rows: tuple[AskedPair, ...]
    judges: tuple[tuple[str, int], ...]
    curve: tuple[tuple[int, float], ...] = ()

    @property
    def several(self) -> bool:
        """Whether there are several queries."""
        return len(self.counts) > 1


def build_questions(found: Questions) -> QuestionsReport:
    """The content of the page on the next questions."""
    asked = found.polars()
    report = _build("question", found.items, asked, found.notes)
    return replace(
        report,
        title=f"{count_noun(asked.height, 'question')} to ask next",
        facts=(*report.facts, f"chosen by {found.select}: {SELECTORS[found.select]}"),
        rows=_pairs(found.items, asked),
    )


def build_answers(
    items: pl.DataFrame, answers: pl.DataFrame, curve: Sequence[tuple[int, float]], notes: Sequence[Note] = ()
) -> QuestionsReport:
    """The content of the page on questions that were answered.

    ``items``: what is known now, as in ``Questions``. ``answers``: query, left, right, worker. ``curve``: numbers
    of answers, and the accuracy that the model then expected.
    """
    rounded = tuple((count, round(accuracy, 4)) for count, accuracy in curve)
    return replace(_build("answer", items, answers, notes), curve=rounded)


def _build(noun: str, known: pl.DataFrame, asked: pl.DataFrame, notes: Sequence[Note]) -> QuestionsReport:
    items = _rank_items(known, asked)
    queries = _queries(items)
    touched = items.filter(pl.col("questions") > 0).sort(
        "questions", "rank", "item", descending=[True, False, False]
    )
    most = tuple((row["query"], _item(row)) for row in touched.head(ITEMS).iter_rows(named=True))
    judges = _judges(asked)
    return QuestionsReport(
        title=f"{count_noun(asked.height, noun)} of {count_noun(len(judges), 'judge')}",
        facts=_facts(items),
        cautions=cautions(notes),
        noun=noun,
        headline=_headline(items, asked, noun),
        questions=asked.height,
        queries=queries[:QUERIES],
        counts=tuple((own.name, len(own.items), own.questions) for own in queries),
        most=most,
        axis=axis_of(value for _, item in most for value in (item.low, item.high)),
        rows=(),
        judges=judges,
    )


def draw_query(query: AskedQuery, noun: str) -> Chart:
    """The picture of a query."""
    drawn = [Asked(own.item, own.score, own.low, own.high, own.votes, own.questions) for own in query.items]
    touched = sum(own.questions > 0 for own in drawn)
    words = (
        f"{count_noun(query.questions, noun)} about {touched:,} of {len(drawn):,} items, from the best one on. "
        f"Most are about {', '.join(own.name for own in sorted(drawn, key=lambda own: -own.questions)[:3])}."
    )
    return draw_asked(drawn, noun, words)


def _rank_items(items: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """The items, best first within their query, with their rank and the number of questions that touch them."""
    sides = pl.concat([asked.select("query", item=pl.col(side)) for side in ("left", "right")])
    counts = sides.group_by("query", "item").agg(questions=pl.len().cast(pl.Int64))
    return (
        items.join(counts, on=["query", "item"], how="left", nulls_equal=True)
        .with_columns(
            pl.col("questions").fill_null(0),
            low=pl.col("score") - Z * pl.col("stderr"),
            high=pl.col("score") + Z * pl.col("stderr"),
        )
        .sort("query", "score", "item", descending=[False, True, False])
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("query"), size=pl.len().over("query"))
    )


def _queries(items: pl.DataFrame) -> tuple[AskedQuery, ...]:
    """The queries, those with the most questions first."""
    found = []
    for (name,), part in items.group_by("query", maintain_order=True):
        rows = tuple(_item(row) for row in part.iter_rows(named=True))
        found.append(AskedQuery(name, sum(row.questions for row in rows) // 2, rows))
    return tuple(sorted(found, key=lambda own: -own.questions))


def _item(row: dict[str, Any]) -> AskedItem:
    score, low, high = (round_to(row[name], 3) for name in ("score", "low", "high"))
    return AskedItem(row["item"], row["rank"], score, low, high, row["votes"], row["questions"])


def _facts(items: pl.DataFrame) -> tuple[str, ...]:
    queries = items["query"].n_unique()
    several = (count_noun(queries, "query", "queries"),) if queries > 1 else ()
    votes = int(items["votes"].sum()) // 2
    return (f"{count_noun(votes, 'vote')} so far", count_noun(items.height, "item"), *several)


def _headline(items: pl.DataFrame, asked: pl.DataFrame, noun: str) -> str:
    """Where the questions go, in sentences."""
    touched = items.filter(pl.col("questions") > 0)
    most = touched.filter(pl.col("questions") == pl.col("questions").max())
    count, near = most["questions"][0], _between_neighbors(items, asked)
    top = (
        f"{quote_name(most['item'][0])} is in the most: {count:,}."
        if most.height == 1
        else f"No item is in more than {count:,}."
    )
    return (
        f"{count_noun(asked.height, noun)} about {touched.height:,} of {count_noun(items.height, 'item')}. "
        f"{percent(near)} are between neighbors: next to each other, or at most a tenth of the ranks apart. {top}"
    )


def _between_neighbors(items: pl.DataFrame, asked: pl.DataFrame) -> float:
    """The share of the questions that are about neighbors in rank."""
    both = _sides(items, asked)
    near = np.maximum(NEAR * both["left_size"].to_numpy(), 1.0)
    return float(((both["left_rank"] - both["right_rank"]).abs().to_numpy() <= near).mean())


def _sides(items: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """The questions, with what is known about both items, as left_NAME and right_NAME."""
    found = asked
    for side in ("left", "right"):
        known = items.select(
            "query", pl.col("item").alias(side), pl.exclude("query", "item").name.prefix(f"{side}_")
        )
        found = found.join(known, on=["query", side], how="left", nulls_equal=True, maintain_order="left")
    return found


def _pairs(known: pl.DataFrame, asked: pl.DataFrame) -> tuple[AskedPair, ...]:
    """The first questions."""
    both = _sides(_rank_items(known, asked), asked.head(ROWS))
    away = (both["left_score"] - both["right_score"]).to_numpy()
    spread = ((both["left_stderr"] ** 2 + both["right_stderr"] ** 2) ** 0.5).to_numpy()
    chances = ndtr(away / spread)
    return tuple(
        AskedPair(
            question=row["question"], query=row["query"], left=row["left"], right=row["right"],
            worker=row.get("worker"), chance=round(float(chance), 2), gain=significant(row["gain"]),
            reason=REASONS.get(row["why"], ""),
        )
        for row, chance in zip(both.iter_rows(named=True), chances, strict=True)
    )  # fmt: skip


def _judges(asked: pl.DataFrame) -> tuple[tuple[str, int], ...]:
    """How many questions each judge has, most first."""
    if "worker" not in asked.columns:
        return ()
    counts = asked.group_by("worker").len().sort("len", "worker", descending=[True, False])
    return tuple((worker, int(count)) for worker, count in counts.iter_rows())
