"""The content of the report of a training run, from a trained ranker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from crowdrank.report.axes import axis_of
from crowdrank.report.rounding import round_finite
from crowdrank.report.training import words
from crowdrank.report.training.content import (
    Curve,
    FeatureRow,
    ImportanceSummary,
    Lead,
    Measured,
    MeasuredRow,
    QueryRow,
    QuerySummary,
    TrainingReport,
    TunedRow,
)
from crowdrank.report.training.notes import training_cautions
from crowdrank.results import to_plain

if TYPE_CHECKING:
    from crowdrank.rankers.base import Ranker
    from crowdrank.rankers.tables import Importance, QueryMeasures, ValidationCurve

FEATURES = 20
"""The most features that are shown."""
QUERIES = 10
"""The most queries that are shown."""
DECIMALS = words.DECIMALS


def build_training(ranker: Ranker) -> TrainingReport:
    """The content of a report from a trained ranker.

    A ranker that was loaded from a folder has no validation curve and no measures by query; the rest is there.
    """
    trained = ranker.trained_
    fit = trained.fit.as_dict()
    measured = _measured(fit["details"].get("measured"))
    curve = _curve(trained.validation, trained.scorer, measured)
    tuned = _tuned(fit["details"])
    verdict, tone = words.verdict(measured)
    return TrainingReport(
        title=f"Training of {trained.fit.model} with the scorer {trained.scorer}",
        facts=words.facts(fit),
        cautions=training_cautions(trained.fit.warnings),
        verdict=verdict,
        tone=tone,
        headline=words.headline(fit, measured, chosen_on=bool(tuned) or ranker.make_scorer().steps is not None),
        measured=measured,
        curve=curve,
        importance=_importance(trained.importance, words.importance_meaning(trained.scorer, fit)),
        queries=None if trained.queries is None else _queries(trained.queries),
        tuned=tuned,
        preparation=words.preparation(fit, takes_missing=trained.scoring.takes_missing),
        scoring=words.scoring_commands(),
        method=words.method(fit),
        fit=fit,
    )


def _measured(found: Mapping[str, Any] | None) -> Measured | None:
    if found is None:
        return None
    on = found["queries_of"]
    tables = {name: own for name, own in found.items() if isinstance(own, Mapping)}
    rows = tuple(_measured_row(name, own, on) for name, own in tables.items())
    spans = [(row.lead.low, row.lead.high) for row in rows if row.lead]
    ends = [end for span in spans for end in span if end is not None]
    axis = axis_of([0.0, *ends]) if ends else None
    return Measured(on, found["queries"], found["measure"], rows, axis)


def _measured_row(name: str, found: Mapping[str, Any], on: str) -> MeasuredRow:
    values = {key: _round(value) for key, value in found.items() if key not in ("description", "lead")}
    lead = found.get("lead")
    if lead is None or lead["mean"] is None:
        return MeasuredRow(name, found["description"], values, None, "" if name == "ranker" else "unknown")
    own = Lead(round(lead["mean"], DECIMALS) + 0.0, _round(lead["low"]), _round(lead["high"]), lead["queries"])
    return MeasuredRow(name, found["description"], values, own, _lead_verdict(lead, on))


def _lead_verdict(lead: Mapping[str, Any], on: str) -> str:
    """What the interval of a lead says. It is never "better" on queries that training has seen."""
    low, high = lead["low"], lead["high"]
    if low is None or high is None:
        return "unknown"
    if high < 0:
        return "worse"
    if low <= 0:
        return "no better"
    return "better" if on == "validation" else "unknown"


def _curve(found: ValidationCurve | None, scorer: str, measured: Measured | None) -> Curve | None:
    if found is None or not found.step:
        return None
    levels = {}
    for row in () if measured is None else measured.baselines:
        value = row.values.get(found.measure)
        if value is not None:
            levels[row.name] = value
    values = tuple(_round(value) for value in found.value)
    unit = words.STEP_UNITS.get(scorer, "step")
    sentence = words.curve_sentence(found, unit)
    return Curve(found.measure, unit, tuple(found.step), values, found.chosen, levels, sentence)


def _importance(found: Importance, meaning: str) -> ImportanceSummary:
    frame = found.polars()
    shown = frame.filter(pl.col("importance") > 0).head(FEATURES)
    rest = max(float(frame["importance"].sum()) - float(shown["importance"].sum()), 0.0)
    rows = tuple(FeatureRow(name, round(share, DECIMALS)) for name, share in shown.iter_rows())
    unused = int((frame["importance"] == 0).sum())
    return ImportanceSummary(frame.height, unused, round(rest, DECIMALS), rows, meaning)


def _queries(found: QueryMeasures) -> QuerySummary:
    frame = found.polars()
    useful = frame.filter(pl.col("relevant") > 0)
    values = useful[next(iter(found.measures))].drop_nans()
    mean = _round(float(np.mean(values.to_numpy()))) if len(values) else None
    rows = tuple(_query_row(row, found.measures) for row in useful.head(QUERIES).iter_rows(named=True))
    return QuerySummary(frame.height, frame.height - useful.height, mean, rows)


def _query_row(row: Mapping[str, Any], measures: Iterable[str]) -> QueryRow:
    name = None if row["query"] is None else str(row["query"])
    return QueryRow(name, row["documents"], row["relevant"], {one: _round(row[one]) for one in measures})


def _tuned(details: Mapping[str, Any]) -> tuple[TunedRow, ...]:
    """The parameters that were tried; the chosen ones are those of the scorer."""
    rows, marked = [], False
    for found in to_plain(details.get("tuned", ())):
        tried = {name: value for name, value in found.items() if name != "value"}
        chosen = not marked and all(details["scorer_parameters"][name] == value for name, value in tried.items())
        marked |= chosen
        rows.append(TunedRow(tried, _round(found["value"]), chosen))
    return tuple(rows)


def _round(value: float | None) -> float | None:
    return None if value is None else round_finite(value, DECIMALS)
