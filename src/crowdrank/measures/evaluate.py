"""Measures by name, over all queries of a gold standard."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import Scored
from crowdrank.data.arrays import Floats
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
class _GradedQuery:
    """One query: the ranked items (those without gold have grade 0), and every gold grade."""

    scores: Floats
    grades: Floats
    gold: Floats  # grades of all gold items, ranked or not
    both: NDArray[np.bool_]  # ranked items that have gold
    most: float  # largest grade of all queries


_LISTWISE: dict[str, tuple[Callable[..., float], set[str]]] = {
    "ndcg": (listwise.ndcg, {"gain"}),
    "dcg": (listwise.dcg, {"gain"}),
    "rbp": (listwise.rbp, {"p", "gain", "most"}),
    "ap": (listwise.ap, {"rel"}),
    "p": (listwise.precision, {"rel"}),
    "err": (listwise.err, {"most"}),
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
        parameters[key] = _parse_value(value)
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
    measures of order use the items that both have, and the queries for which they are defined.
    """
    return {text: _mean_of_defined(values) for text, values in evaluate_queries(ranking, gold, measures).items()}


def evaluate_queries(ranking: Scored, gold: Scored, measures: str | Sequence[MeasureSpec]) -> dict[str, Floats]:
    """Each measure in each query of the gold standard, in the order of the gold; NaN if it is not defined there.

    ``evaluate`` gives the means of these.
    """
    chosen = parse(measures) if isinstance(measures, str) else measures
    queries = _join_queries(ranking, gold)
    return {measure.text: np.array([_measure_query(measure, query) for query in queries]) for measure in chosen}


def _mean_of_defined(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def measure_list(measure: MeasureSpec, scores: Floats, grades: Floats, most: float) -> float:
    """The measure of one list whose grades are all known; ``most``: the largest grade of all lists."""
    return _measure_query(measure, _GradedQuery(scores, grades, grades, np.ones(len(grades), bool), most))


def _measure_query(measure: MeasureSpec, query: _GradedQuery) -> float:
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


def _join_queries(ranking: Scored, gold: Scored) -> list[_GradedQuery]:
    """The ranking and the gold joined by query. If one side has no queries, the other may have only one."""
    left, right = ranking.frame, gold.frame
    if left["query"].null_count() == len(left) or right["query"].null_count() == len(right):
        for side, name in ((left, "ranking"), (right, "gold")):
            if side["query"].n_unique() > 1:
                raise InputError(
                    f"The {name} has queries, but the other side has none.", hint="Add a query column."
                )
        empty = pl.lit(None, dtype=pl.String).alias("query")
        left, right = left.with_columns(empty), right.with_columns(empty)
    joined = left.join(right, on=["query", "item"], how="left", suffix="_gold", nulls_equal=True)
    if joined["value_gold"].null_count() == len(joined):
        raise InputError(
            "The ranking and the gold have no item in common.",
            hint="Ids are text: '01' is not '1'. Compare both files.",
        )
    most = float(right["value"].max())  # type: ignore[arg-type]
    ranked = dict(_split_by_query(joined))
    nothing = np.empty(0)
    queries = []
    for key, part in _split_by_query(right):
        grades = part["value"].to_numpy()
        own = ranked.get(key)
        if own is None:
            queries.append(_GradedQuery(nothing, nothing, grades, nothing.astype(bool), most))
            continue
        known = own["value_gold"].is_not_null().to_numpy()
        given = own["value_gold"].fill_null(0.0).to_numpy()
        queries.append(_GradedQuery(own["value"].to_numpy(), given, grades, known, most))
    return queries


def _split_by_query(frame: pl.DataFrame) -> list[tuple[Any, pl.DataFrame]]:
    return [(key[0], part) for key, part in frame.group_by(["query"], maintain_order=True)]
