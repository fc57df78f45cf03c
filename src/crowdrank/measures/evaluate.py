"""Measures by name, over all queries of a gold standard."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import Scored, judged_grades
from crowdrank.data.arrays import Floats
from crowdrank.data.gold import nothing_in_common
from crowdrank.errors import InputError, UsageError, name_hint
from crowdrank.measures import listwise, order


@dataclass(frozen=True)
class MeasureSpec:
    """A measure as written, ``nDCG(gain=linear)@10``: its name, its parameters and its cutoff."""

    text: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    cut: int | None = None


@dataclass(frozen=True)
class GradedQuery:
    """One query: the ranked items (those without gold have grade 0), and every gold grade that is a judgment."""

    scores: Floats
    grades: Floats
    gold: Floats  # grades of all gold items, ranked or not
    both: NDArray[np.bool_]  # ranked items that have gold
    most: float  # largest grade of all queries


@dataclass(frozen=True)
class Joined:
    """A ranking (query, item, value, grade) and its gold (query, item, grade); null: it is not judged."""

    ranking: pl.DataFrame
    gold: pl.DataFrame


_LISTWISE: dict[str, tuple[Callable[..., float], set[str]]] = {
    "ndcg": (listwise.ndcg, {"gain"}),
    "dcg": (listwise.dcg, {"gain"}),
    "rbp": (listwise.rbp, {"p", "gain", "most"}),
    "ap": (listwise.ap, {"rel"}),
    "p": (listwise.precision, {"rel"}),
    "err": (listwise.err, {"gain", "most"}),
    "rr": (listwise.rr, {"rel"}),
}
_ORDER: dict[str, Callable[[Floats, Floats], float]] = {
    "tau": order.kendall_tau,
    "acc": order.pairwise_accuracy,
    "spearman": order.spearman,
    "distance": order.kendall_distance,
}
GOLD_MEASURES = "acc tau nDCG@10"
"""The default measures if gold is given."""
MOST_EXPONENTIAL = 10.0
"""Gains are 2^grade - 1 up to this grade. Above it, the best item would count for all others together."""
NAMES = "nDCG DCG RBP AP P ERR RR tau acc spearman distance"
_FORM = re.compile(r"(?P<name>[A-Za-z]+)(@(?P<early>\d+))?(\((?P<parameters>[^)]*)\))?(@(?P<cut>\d+))?")


def parse(text: str) -> list[MeasureSpec]:
    """``"nDCG@10 RBP(p=0.95) AP tau acc"`` as measures."""
    words = re.findall(r"[^\s(]+(?:\([^)]*\))?[^\s]*", text.replace(",", ", ") if "(" not in text else text)
    if not words:
        raise UsageError("No measure was named.", hint=f"The measures are {NAMES}.")
    return [_parse_measure(word.strip(",")) for word in words]


def _parse_measure(text: str) -> MeasureSpec:
    match = _FORM.fullmatch(text)
    name = match["name"].lower() if match else ""
    if match is None or name not in {**_LISTWISE, **_ORDER}:
        raise UsageError(
            f"There is no measure {text!r}.",
            hint=f"{name_hint(re.split('[@(]', text)[0], NAMES.split(), 'The measures are')} For example nDCG@10 "
            "or RBP(p=0.95).",
        )
    parameters: dict[str, Any] = {}
    allowed = _LISTWISE[name][1] if name in _LISTWISE else set()
    for part in filter(None, (match["parameters"] or "").split(",")):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or key not in allowed:
            known = ", ".join(sorted(allowed)) or "none"
            raise UsageError(
                f"{text}: {part.strip()!r} is not one of its parameters.", hint=f"Its parameters: {known}."
            )
        parameters[key] = "exp" if (key, value) == ("gain", "exponential") else _parse_value(value)
        if key != "gain" and isinstance(parameters[key], str):
            raise UsageError(f"{text}: {key} must be a number. Got {value!r}.")
    number = match["cut"] or match["early"]
    cut = int(number) if number else None
    if cut is not None and name in _ORDER:
        raise UsageError(f"{text}: this measure takes no cutoff.")
    if cut == 0:
        raise UsageError(f"{text}: a cutoff must be at least 1.")
    return MeasureSpec(text, name, parameters, cut)


def _parse_value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")


def evaluate(ranking: Scored, gold: Scored, measures: str | Sequence[MeasureSpec]) -> dict[str, float]:
    """Each measure's mean over the queries of the gold standard.

    A query that the ranking lacks, or that has no relevant item, counts 0 in the listwise measures. The
    measures of order use the items that both have, and the queries for which they are defined. Grades below 0 are
    not judged. If a grade exceeds 10, gains are the grades themselves, unless a measure names its gain.
    """
    return {text: mean_of_defined(values) for text, values in evaluate_queries(ranking, gold, measures).items()}


def evaluate_queries(ranking: Scored, gold: Scored, measures: str | Sequence[MeasureSpec]) -> dict[str, Floats]:
    """Each measure in each query of the gold standard, in the order of the gold; NaN if it is not defined there.

    ``evaluate`` gives the means of these.
    """
    chosen = parse(measures) if isinstance(measures, str) else measures
    return measure_queries(chosen, split_queries(join_gold(ranking, gold)))


def measure_queries(measures: Sequence[MeasureSpec], queries: Sequence[GradedQuery]) -> dict[str, Floats]:
    """Each measure in each query."""
    most = queries[0].most
    return {
        measure.text: np.array([_measure_query(with_gain(measure, most), query) for query in queries])
        for measure in measures
    }


def with_gain(measure: MeasureSpec, most: float) -> MeasureSpec:
    """The measure with the gain that suits grades up to ``most``, if it names none."""
    if most <= MOST_EXPONENTIAL or "gain" in measure.parameters or not has_gain(measure):
        return measure
    return replace(measure, parameters={**measure.parameters, "gain": "linear"})


def has_gain(measure: MeasureSpec) -> bool:
    """Whether the measure turns grades into gains."""
    return measure.name in _LISTWISE and "gain" in _LISTWISE[measure.name][1]


def is_listwise(measure: MeasureSpec) -> bool:
    """Whether the measure is one of a ranked list, not of order."""
    return measure.name in _LISTWISE


def mean_of_defined(values: Floats) -> float:
    """The mean over the queries for which a measure is defined; NaN if there is none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def measure_list(measure: MeasureSpec, scores: Floats, grades: Floats, most: float) -> float:
    """The measure of one list whose grades are all known; ``most``: the largest grade of all lists."""
    return _measure_query(measure, GradedQuery(scores, grades, grades, np.ones(len(grades), bool), most))


def _measure_query(measure: MeasureSpec, query: GradedQuery) -> float:
    if measure.name in _ORDER:
        if query.both.sum() < 2:
            return float("nan")
        return _ORDER[measure.name](query.scores[query.both], query.grades[query.both])
    function = _LISTWISE[measure.name][0]
    parameters = dict(measure.parameters)
    if measure.name == "ndcg":
        parameters["ideal"] = query.gold
    elif measure.name == "ap":
        parameters["total"] = int((query.gold >= parameters.get("rel", 1.0)).sum())
    elif measure.name in ("rbp", "err"):
        parameters.setdefault("most", query.most)
    return function(query.scores, query.grades, cut=measure.cut, **parameters)


def split_queries(joined: Joined) -> list[GradedQuery]:
    """Every query of the gold, in the order of the gold."""
    most = float(joined.gold["grade"].max() or 0.0)  # type: ignore[arg-type]
    ranked = dict(_split_by_query(joined.ranking))
    nothing = joined.ranking.clear()
    queries = []
    for key, part in _split_by_query(joined.gold):
        own = ranked.get(key, nothing)
        known = own["grade"].is_not_null().to_numpy()
        grades = own["grade"].fill_null(0.0).to_numpy()
        gold = part["grade"].drop_nulls().to_numpy()
        queries.append(GradedQuery(own["value"].to_numpy(), grades, gold, known, most))
    return queries


def join_gold(ranking: Scored, gold: Scored) -> Joined:
    """The ranking and the gold, joined by query. If one side has no queries, the other may have only one."""
    left, right = ranking.frame, gold.frame
    if left["query"].null_count() == len(left) or right["query"].null_count() == len(right):
        for side, name in ((left, "ranking"), (right, "gold")):
            if side["query"].n_unique() > 1:
                raise InputError(
                    f"The {name} has queries, but the other side has none.", hint="Add a query column."
                )
        empty = pl.lit(None, dtype=pl.String).alias("query")
        left, right = left.with_columns(empty), right.with_columns(empty)
    keys = ["query", "item"]
    if left.join(right, on=keys, how="semi", nulls_equal=True).is_empty():
        raise nothing_in_common(gold, right["item"], "ranked", left["item"])
    judged = judged_grades(right["value"])
    right = right.select(*keys, grade=pl.when(judged).then("value"))
    return Joined(left.join(right, on=keys, how="left", nulls_equal=True, maintain_order="left"), right)


def _split_by_query(frame: pl.DataFrame) -> list[tuple[Any, pl.DataFrame]]:
    return [(key[0], part) for key, part in frame.group_by(["query"], maintain_order=True)]
