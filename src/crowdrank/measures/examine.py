"""Measures with what a reader of them should know: how much the gold covers, and what makes a figure odd."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl

from crowdrank.data import Scored, judged_grades, note_not_judged, note_odd_grade, note_totals
from crowdrank.data.arrays import Floats
from crowdrank.data.suspicions.ids import note_similar_gold
from crowdrank.errors import Note, Remedy
from crowdrank.measures.evaluate import (
    MOST_EXPONENTIAL,
    GradedQuery,
    Joined,
    MeasureSpec,
    has_gain,
    is_listwise,
    join_gold,
    mean_of_defined,
    measure_queries,
    parse,
    split_queries,
)

AGAINST, BEYOND_CHANCE = -0.6, -1.7
"""A ranking runs against its gold if Spearman's rho is at most this, and this many standard errors from 0. The
reverse of four items does so, and a rho of -0.6 over ten items."""


@dataclass(frozen=True)
class Coverage:
    """How many items and queries of a ranking have a grade, and how many graded items it does not rank."""

    items: int
    ranked_items: int
    queries: int
    ranked_queries: int
    unranked: int

    def as_dict(self) -> dict[str, int]:
        """Plain values."""
        return asdict(self)

    def __str__(self) -> str:
        words = f"grades for {self.items} of {self.ranked_items} ranked items"
        if self.ranked_queries > 1:
            words += f", in {self.queries} of {self.ranked_queries} queries"
        if self.unranked:
            words += f"; {self.unranked} graded item{'s are' if self.unranked > 1 else ' is'} not ranked"
        return words


@dataclass(frozen=True)
class Evaluation:
    """Each measure's mean over the queries of the gold, what the gold covers, and what is odd about them."""

    values: dict[str, float]
    coverage: Coverage
    notes: tuple[Note, ...] = ()


def examine(ranking: Scored, gold: Scored, measures: str | Sequence[MeasureSpec]) -> Evaluation:
    """The measures, as ``evaluate`` gives them, with the coverage of the gold and notes."""
    chosen = parse(measures) if isinstance(measures, str) else measures
    joined = join_gold(ranking, gold)
    queries = split_queries(joined)
    values = {text: mean_of_defined(own) for text, own in measure_queries(chosen, queries).items()}
    notes = (
        note_not_judged(gold),
        note_odd_grade(gold),
        note_totals(gold),
        note_similar_gold(gold.frame["item"], ranking.frame["item"]),
        _note_negative(gold, chosen),
        _note_linear_gain(chosen, queries[0].most),
        *_note_undefined(values, queries),
        *_note_nothing_relevant(chosen, queries),
        _note_reversed(joined, gold),
    )
    return Evaluation(values, count_coverage(joined), tuple(note for note in notes if note is not None))


def count_coverage(joined: Joined) -> Coverage:
    """What the gold covers."""
    graded = joined.ranking.drop_nulls("grade")
    judged = joined.gold.drop_nulls("grade")
    return Coverage(
        items=graded.height,
        ranked_items=joined.ranking.height,
        queries=graded["query"].n_unique(),
        ranked_queries=joined.ranking["query"].n_unique(),
        unranked=judged.height - graded.height,
    )


def _note_negative(gold: Scored, measures: Sequence[MeasureSpec]) -> Note | None:
    """A note on grades below 0 that are points on a scale, if a measure has gains."""
    values = gold.frame["value"]
    below = values.filter(judged_grades(values) & (values < 0))
    found = [measure.text for measure in measures if has_gain(measure)]
    if below.is_empty() or not found:
        return None
    count = "1 grade of the gold is" if len(below) == 1 else f"{len(below)} grades of the gold are"
    message = f"{count} below 0, down to {float(below.sort()[0]):g}. To {_join(found)} they are like a grade of 0."
    return Note("negative-grades", message, "If they should differ, add a constant to all grades.")


def _note_linear_gain(measures: Sequence[MeasureSpec], most: float) -> Note | None:
    """A note on the measures whose gains are the grades because these are large."""
    found = [measure.text for measure in measures if has_gain(measure) and "gain" not in measure.parameters]
    if most <= MOST_EXPONENTIAL or not found:
        return None
    name, sign, cut = found[0].partition("@")
    own = f"{name[:-1]},gain=exponential)" if name.endswith(")") else f"{name}(gain=exponential)"
    message = f"Grades go up to {most:g}, so the gains of {_join(found)} are the grades themselves."
    return Note("linear-gain", message, f"For gains of 2^grade - 1, write {own}{sign}{cut}.")


def _note_undefined(values: dict[str, float], queries: Sequence[GradedQuery]) -> Iterator[Note]:
    """Notes on why measures of order have no value, one for each reason."""
    reasons: dict[str, list[str]] = {}
    for name, value in values.items():
        if np.isnan(value):
            reasons.setdefault(_why_undefined(queries), []).append(name)
    for reason, names in reasons.items():
        verb = "is" if len(names) == 1 else "are"
        yield Note("undefined", f"{_join(names)} {verb} undefined: {reason}.")


def _why_undefined(queries: Sequence[GradedQuery]) -> str:
    """Why no query orders two items."""
    where = "" if len(queries) == 1 else " in any query"
    most = max(int(query.both.sum()) for query in queries)
    if most < 2:
        count = ("no ranked item has", "only one ranked item has")[most]
        return f"{count} a grade{where}, and two are needed"
    if all(_equal(query.grades[query.both]) for query in queries):
        return f"no two ranked items have different grades{where}"
    return f"no two items with different grades have different scores{where}"


def _equal(values: Floats) -> bool:
    return len(values) == 0 or bool((values == values[0]).all())


def _note_nothing_relevant(measures: Sequence[MeasureSpec], queries: Sequence[GradedQuery]) -> Iterator[Note]:
    """Notes on measures of lists that are 0 because the gold has no relevant item at all."""
    found: dict[str, list[str]] = {}
    best = max(float(query.gold.max(initial=0.0)) for query in queries)
    for measure in filter(is_listwise, measures):
        least = None if has_gain(measure) else float(measure.parameters.get("rel", 1.0))
        if best <= 0 if least is None else best < least:
            words = "above 0" if least is None else f"{least:g} or more"
            found.setdefault(words, []).append(measure.text)
    for words, names in found.items():
        yield Note(
            "nothing-relevant", f"{_join(names)} {'is' if len(names) == 1 else 'are'} 0: no grade is {words}."
        )


def _note_reversed(joined: Joined, gold: Scored) -> Note | None:
    """A note on a ranking that runs against the gold, as if grades were ranks or ranks were grades.

    Spearman's rho over all queries: the ranks of both within each query, centered, and their sums over all.
    """
    rank = [(own := pl.col(name).rank().over("query")) - own.mean().over("query") for name in ("value", "grade")]
    both = joined.ranking.drop_nulls("grade").select("query", *rank)
    x, y = both["value"].to_numpy(), both["grade"].to_numpy()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    rho = float(x @ y) / scale if scale else 0.0
    if rho > AGAINST or rho * np.sqrt(both.height - both["query"].n_unique()) > BEYOND_CHANCE:
        return None
    better, other = ("smaller rank", "grade") if gold.ranks else ("larger grade", "true_rank")
    message = (
        f"The ranking runs against the gold (Spearman's rho {rho:.2f} over {both.height} items), in which the "
        f"{better} counts as the better one."
    )
    remedy = Remedy("gold_columns", f"{other}={gold.column or 'NAME'}")
    return Note("reversed-gold", message, ("If it is the other way round: ", remedy))


def _join(names: Sequence[str]) -> str:
    """Names as a list in words."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
