"""The content of the report of a training run, from a trained ranker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from crowdrank.charts import Axis
from crowdrank.charts.axes import axis_of
from crowdrank.report.notes import KINDS, cautions
from crowdrank.report.rounding import round_finite, significant
from crowdrank.report.training import remap_words, words
from crowdrank.report.training.content import (
    Curve,
    FeatureRow,
    FoldRow,
    ImportanceSummary,
    Lead,
    Measured,
    MeasuredRow,
    QueryRow,
    QuerySummary,
    TrainingReport,
    TunedRow,
)
from crowdrank.report.training.crowd import crowd_of
from crowdrank.report.training.remap import is_baseline, order_measured, uses_target, weighing_of
from crowdrank.results import to_plain

if TYPE_CHECKING:
    from crowdrank.rankers.base import Ranker
    from crowdrank.rankers.tables import Importance, QueryMeasures, ValidationCurve

FEATURES = 20
"""The most features that are shown."""
QUERIES = 10
"""The most queries that are shown."""
DECIMALS = words.DECIMALS
TRAINING_KINDS = {
    **KINDS,
    "not-converged": ("Training did not finish", "More steps may still improve the ranker."),
}
"""The kinds of notes; that training could go on is no reason not to use a ranker."""


def build_training(ranker: Ranker) -> TrainingReport:
    """The content of a report from a trained ranker.

    A ranker that was loaded from a folder has no validation curve and no measures by query; the rest is there.
    """
    trained = ranker.trained_
    fit = trained.fit.as_dict()
    details = fit["details"]
    tuned, folds = _tuned(details), details.get("folds")
    target = uses_target(fit)
    stopped = target or ranker.make_scorer().steps is not None
    once = _measured(order_measured(details) if target else details.get("measured"), chosen=bool(tuned) or stopped)
    measured = once if folds is None else _measured_in_folds(folds)
    crowd = crowd_of(ranker)
    verdict, tone = words.verdict(measured, crowd=crowd is not None)
    report = TrainingReport(
        title=f"Training of {trained.fit.model} with the scorer {trained.scorer}",
        facts=words.facts(fit),
        cautions=cautions(trained.fit.warnings, TRAINING_KINDS),
        verdict=verdict,
        tone=tone,
        headline=words.headline(fit, measured),
        measured=measured,
        curve=_curve(trained.validation, trained.scorer, once, stopped=stopped, crowd=crowd is not None),
        importance=_importance(trained.importance, words.importance_meaning(trained.scorer, fit)),
        queries=None if trained.queries is None else _queries(trained.queries),
        queries_of="training" if once is None else once.on,
        folds=() if folds is None else tuple(_fold(row, folds["measure"]) for row in folds["folds"]),
        tuned=tuned,
        preparation=words.preparation(fit, takes_missing=trained.scoring.takes_missing),
        scoring=words.scoring_commands(judgments=trained.scoring.crowd is not None),
        method=words.method(fit),
        fit=fit,
        crowd=crowd,
    )
    return _with_target(report, ranker) if target else report


def _with_target(report: TrainingReport, ranker: Ranker) -> TrainingReport:
    """The report in the words of a ranker that learned from labels of a crowd and of experts."""
    fit, measured = report.fit, report.measured
    verdict, tone = remap_words.verdict(fit, measured)
    fallen = remap_words.fell_back(fit) is not None
    kept = [note for note in ranker.fit_.warnings if note.code != remap_words.FALLBACK]  # the verdict says that
    return replace(
        report,
        title=f"Training of {fit['model']}",
        facts=remap_words.facts(fit),
        cautions=cautions(kept, TRAINING_KINDS),
        verdict=verdict,
        tone=tone,
        headline=remap_words.headline(fit, measured),
        scoring=report.scoring if fallen else (*report.scoring, remap_words.PROCESSING),
        method=(*report.method, *remap_words.method(fit)),
        weighing=weighing_of(ranker),
    )


def _measured(found: Mapping[str, Any] | None, *, chosen: bool) -> Measured | None:
    """The measures on the validation queries, or on the training queries if there are none."""
    if found is None:
        return None
    on = found["queries_of"]
    chosen = chosen and on == "validation"
    tables = {name: own for name, own in found.items() if isinstance(own, Mapping)}
    rows = tuple(_measured_row(name, own, on, chosen=chosen) for name, own in tables.items())
    return Measured(on, chosen, found["queries"], found["measure"], rows, _lead_axis(rows))


def _measured_in_folds(found: Mapping[str, Any]) -> Measured:
    """The measures of cross-validation: each query was scored by a ranker that had not seen it."""
    measure, means, leads = found["measure"], found["measures"], found["leads"]
    tables: dict[str, dict[str, Any]] = {"ranker": {name: own["mean"] for name, own in means.items()}}
    for name, lead in leads.items():
        known = {one: own["best_feature"] for one, own in means.items()} if name == "best_feature" else {}
        value = None if lead["mean"] is None else means[measure]["mean"] - lead["mean"]
        tables[name] = {**dict.fromkeys(means), **known, measure: value, "lead": lead}
    described = {name: {"description": words.FOLD_BASELINES.get(name, ""), **own} for name, own in tables.items()}
    rows = tuple(_measured_row(name, own, "folds", chosen=False) for name, own in described.items())
    queries = sum(fold["test_queries"] for fold in found["folds"])
    return Measured("folds", False, queries, measure, rows, _lead_axis(rows))


def _lead_axis(rows: Iterable[MeasuredRow]) -> Axis | None:
    spans = [(row.lead.low, row.lead.high) for row in rows if row.lead]
    ends = [end for span in spans for end in span if end is not None]
    return axis_of([0.0, *ends]) if ends else None


def _fold(row: Mapping[str, Any], measure: str) -> FoldRow:
    value, other = _round(row[measure]), _round(row[f"best_feature_{measure}"])
    return FoldRow(row["fold"], row["test_queries"], row["step"], value, row["best_feature"], other)


def _measured_row(name: str, found: Mapping[str, Any], on: str, *, chosen: bool) -> MeasuredRow:
    values = {key: _round(value) for key, value in found.items() if key not in ("description", "lead")}
    lead = found.get("lead")
    if lead is None or lead["mean"] is None:
        return MeasuredRow(name, found["description"], values, None, "" if name == "ranker" else "unknown")
    own = Lead(round(lead["mean"], DECIMALS) + 0.0, _round(lead["low"]), _round(lead["high"]), lead["queries"])
    return MeasuredRow(name, found["description"], values, own, _lead_verdict(lead, on, chosen=chosen))


def _lead_verdict(lead: Mapping[str, Any], on: str, *, chosen: bool) -> str:
    """What the interval of a lead says. It is never "better" on queries that had a part in training."""
    low, high = lead["low"], lead["high"]
    if low is None or high is None:
        return "unknown"
    if high < 0:
        return "worse"
    if low <= 0:
        return "no better"
    if on == "training":
        return "unknown"
    return "ahead" if chosen else "better"


def _curve(
    found: ValidationCurve | None, scorer: str, measured: Measured | None, *, stopped: bool, crowd: bool
) -> Curve | None:
    if found is None or not found.step:
        return None
    levels = {} if measured is None else _levels(measured, found.measure)
    values = tuple(_round(value) for value in found.value)
    unit = "step" if crowd else words.STEP_UNITS.get(scorer, "step")
    if crowd and not stopped:  # what is kept is the end of training, which validation need not have seen
        return Curve(found.measure, unit, tuple(found.step), values, None, levels, words.watching(found))
    sentence = words.curve_sentence(found, unit, stopped=stopped)
    return Curve(found.measure, unit, tuple(found.step), values, found.chosen, levels, sentence)


def _levels(measured: Measured, measure: str) -> dict[str, float]:
    """The values of the baselines; of many, only that of the best and of the target alone."""
    rows = {row.name: row for row in measured.baselines}
    if measured.rows[0].description:
        own = [row for row in measured.baselines if is_baseline(row.name)]
        alone = [row for row in own if row.name.startswith("target alone")][:1]
        rows = {"best_baseline": own[0]} if own else {}
        if alone and alone[0] is not own[0]:
            rows["target_alone"] = alone[0]
    values = {name: row.values.get(measure) for name, row in rows.items()}
    return {name: value for name, value in values.items() if value is not None}


def _importance(found: Importance, meaning: str) -> ImportanceSummary:
    frame = found.polars()
    shown = frame.filter(pl.col("importance") > 0).head(FEATURES)
    rest = max(float(frame["importance"].sum()) - float(shown["importance"].sum()), 0.0)
    rows = tuple(
        FeatureRow(name, significant(share) or 0.0)
        for name, share in shown.select("feature", "importance").iter_rows()
    )
    unused = int((frame["importance"] == 0).sum())
    return ImportanceSummary(frame.height, unused, significant(rest) or 0.0, rows, meaning)


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
