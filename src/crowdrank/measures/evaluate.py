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
from crowdrank.errors import InputError, UsageError
from crowdrank.measures import listwise, order


@dataclass(frozen=True)
class Measure:
    """A measure as written, ``nDCG(gain=linear)@10``: its name, its parameters and its cut."""

    text: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    cut: int | None = None


@dataclass(frozen=True)
class _Query:
    """One query: items of the ranking (unknown ones have grade 0), and every gold grade."""

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
"""What a ranking is measured by where gold is given and nothing else is asked for."""
NAMES = "nDCG DCG RBP AP P ERR RR tau acc spearman distance"
_FORM = re.compile(r"(?P<name>[A-Za-z]+)(@(?P<early>\d+))?(\((?P<parameters>[^)]*)\))?(@(?P<cut>\d+))?")


def parse(text: str) -> list[Measure]:
    """``"nDCG@10 RBP(p=0.95) AP tau acc"`` as measures."""
    words = re.findall(r"[^\s(]+(?:\([^)]*\))?[^\s]*", text.replace(",", ", ") if "(" not in text else text)
    if not words:
        raise UsageError("No measure was named.", hint=f"The measures are {NAMES}.")
    return [_measure(word.strip(",")) for word in words]


def _measure(text: str) -> Measure:
    match = _FORM.fullmatch(text)
    name = match["name"].lower() if match else ""
    if match is None or name not in {**_LISTWISE, **_ORDER}:
        raise UsageError(
            f"There is no measure {text!r}.",
            hint=f"The measures are {NAMES}; for example nDCG@10 or RBP(p=0.95).",
        )
    parameters: dict[str, Any] = {}
    allowed = _LISTWISE[name][1] if name in _LISTWISE else set()
    for part in filter(None, (match["parameters"] or "").split(",")):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or key not in allowed:
            known = ", ".join(sorted(allowed)) or "none"
            raise UsageError(
                f"{text}: {part.strip()!r} is not a parameter of it.", hint=f"Its parameters: {known}."
            )
        parameters[key] = _value(value)
        if key != "gain" and isinstance(parameters[key], str):
            raise UsageError(f"{text}: {key} must be a number. Got {value!r}.")
    number = match["cut"] or match["early"]
    cut = int(number) if number else None
    if cut is not None and name in _ORDER:
        raise UsageError(f"{text}: this measure takes no cut.")
    if cut == 0:
        raise UsageError(f"{text}: a cut is at least 1.")
    return Measure(text, name, parameters, cut)


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")


def evaluate(ranking: Scored, gold: Scored, measures: str | Sequence[Measure]) -> dict[str, float]:
    """Each measure's mean over the queries of the gold standard.

    A query that the ranking lacks, or with nothing relevant, counts 0 in the listwise measures. The
    measures of order use the items that both have, and the queries where they are defined.
    """
    chosen = parse(measures) if isinstance(measures, str) else measures
    queries = _queries(ranking, gold)
    return {measure.text: _mean(measure, queries) for measure in chosen}


def _mean(measure: Measure, queries: list[_Query]) -> float:
    values = np.array([_one(measure, query) for query in queries])
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _one(measure: Measure, query: _Query) -> float:
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


def _queries(ranking: Scored, gold: Scored) -> list[_Query]:
    """The two joined, a query at a time; a side without queries goes with the other's only one."""
    left, right = ranking.frame, gold.frame
    if left["query"].null_count() == len(left) or right["query"].null_count() == len(right):
        for side, name in ((left, "ranking"), (right, "gold")):
            if side["query"].n_unique() > 1:
                raise InputError(f"The {name} has queries, the other side has none.", hint="Add a query column.")
        empty = pl.lit(None, dtype=pl.String).alias("query")
        left, right = left.with_columns(empty), right.with_columns(empty)
    joined = left.join(right, on=["query", "item"], how="left", suffix="_gold", nulls_equal=True)
    if joined["value_gold"].null_count() == len(joined):
        raise InputError(
            "The ranking and the gold have no item in common.",
            hint="Ids are text: '01' is not '1'. Compare both files.",
        )
    most = float(right["value"].max())  # type: ignore[arg-type]
    ranked = dict(_parts(joined))
    nothing = np.empty(0)
    queries = []
    for key, part in _parts(right):
        grades = part["value"].to_numpy()
        own = ranked.get(key)
        if own is None:
            queries.append(_Query(nothing, nothing, grades, nothing.astype(bool), most))
            continue
        known = own["value_gold"].is_not_null().to_numpy()
        given = own["value_gold"].fill_null(0.0).to_numpy()
        queries.append(_Query(own["value"].to_numpy(), given, grades, known, most))
    return queries


def _parts(frame: pl.DataFrame) -> list[tuple[Any, pl.DataFrame]]:
    return [(key[0], part) for key, part in frame.group_by(["query"], maintain_order=True)]
