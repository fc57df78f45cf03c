"""The report of a training run as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crowdrank.report.content import CrowdSummary, Worker
from crowdrank.report.markdown import bullets, safe, table, warnings
from crowdrank.report.training import crowd_words, remap_words, words
from crowdrank.report.training.content import (
    Annotator,
    Crowd,
    Curve,
    Measured,
    MeasuredRow,
    OrderSummary,
    TrainingReport,
    Weighing,
)
from crowdrank.report.words import interval, number, signed

POINTS = 12
"""About how many steps of the validation curve are listed."""


def training_to_markdown(report: TrainingReport) -> str:
    """The report as GitHub Markdown; the curve has about 12 of its steps."""
    parts = [
        [f"# {safe(report.title)}", " · ".join(map(safe, report.facts))],
        [f"## {safe(report.verdict)}", bullets(map(safe, report.headline))],
        warnings(report),
        [] if report.measured is None else _measures(report.measured),
        [] if report.weighing is None else _names(report),
        [] if report.curve is None else _curve("## Validation while training", report.curve),
        [] if report.crowd is None else _crowd(report.crowd),
        [] if report.weighing is None else _weighing(report.weighing, report.fit),
        _folds(report),
        _tuned(report),
        _importance(report),
        _queries(report),
        ["## How features are prepared", bullets(map(safe, report.preparation))],
        ["## How to score new documents", *_scoring(report)],
        ["## How it was trained", bullets(f"{safe(name)}: {safe(value)}" for name, value in report.method)],
    ]
    return "\n\n".join(block for part in parts for block in part if block) + "\n"


def _measures(measured: Measured) -> Iterator[str]:
    yield "## Measures"
    yield safe(words.explain_measures(measured))
    head = ["Order by", *map(safe, measured.measures)]
    align = "l" + "r" * len(measured.measures)
    rows = [_measured_row(row) for row in measured.rows]
    if not measured.baselines:
        yield table(head, (row[: len(head)] for row in rows), align)
        return
    yield table([*head, "Ranker's lead", "90 % interval", ""], rows, align + "rrl")


def _measured_row(row: MeasuredRow) -> list[str]:
    name = words.order_name(row)
    values = [signed(value, words.DECIMALS) for value in row.values.values()]
    if row.lead is None:
        return [name, *values, "", "", words.lead_label(row)]
    ends = "" if row.lead.low is None else interval(row.lead.low, row.lead.high, words.DECIMALS)
    return [name, *values, signed(row.lead.mean, words.DECIMALS), ends, words.lead_label(row)]


def _curve(title: str, curve: Curve, before: str = "") -> Iterator[str]:
    yield title
    yield safe(f"{before} {curve.sentence}".strip())
    last = len(curve.steps) - 1
    places = {round(last * part / (POINTS - 1)) for part in range(POINTS)}
    if curve.chosen is not None:
        places.add(curve.steps.index(curve.chosen))
    rows = [
        (f"{curve.steps[place]:,}", signed(curve.values[place], words.DECIMALS), _kept(curve, place))
        for place in sorted(places)
    ]
    yield table((curve.unit.capitalize(), safe(curve.measure), ""), rows, "rrl")


def _kept(curve: Curve, place: int) -> str:
    return "kept" if curve.steps[place] == curve.chosen else ""


def _crowd(crowd: Crowd) -> Iterator[str]:
    if crowd.workers is not None:
        yield from _workers(crowd.workers, crowd.meaning)
    if crowd.orders is not None:
        yield from _orders(crowd.orders)
    if crowd.steps is None:
        yield "## Convergence"
        yield safe(crowd.settled)
    else:
        yield from _curve("## Convergence", crowd.steps, crowd.settled)


def _names(report: TrainingReport) -> Iterator[str]:
    """What the names in the table of measures mean."""
    if report.measured is not None:
        yield safe(remap_words.LOOKED)
        pairs = remap_words.explain_names(report.fit, report.measured)
        yield bullets(f"{safe(name)}: {safe(meaning)}" for name, meaning in pairs)


def _weighing(found: Weighing, fit: dict[str, Any]) -> Iterator[str]:
    yield "## Weights and values of labels"
    yield safe(remap_words.explain_weighing(fit, found))
    rows = (
        [strip.label, number(len(strip.values)), *(number(value, 2) for value in vars(strip.span).values())]
        for strip in found.strips
    )
    yield table(("Label", "Workers", "Least value", "Median", "Largest value"), rows, "lrrrr")
    yield bullets(safe(remap_words.cloud_sentence(cloud)) for cloud in found.clouds)
    yield "## Workers"
    yield safe(remap_words.explain_workers(found.workers))
    yield _worker_table(found.workers)
    yield remap_words.workers_left(found.workers)


def _workers(found: CrowdSummary, meaning: str) -> Iterator[str]:
    yield "## Workers"
    yield safe(meaning)
    yield ", ".join(f"{count:,} {verdict}" for verdict, count in found.verdicts.items()) + "; worst first."
    yield _worker_table(found)
    if len(found.rows) < found.workers:
        yield crowd_words.workers_left(found)


def _worker_table(found: CrowdSummary) -> str:
    own = list(found.rows[0].further)
    head = ["Worker", "Verdict", "Quality", "90 % interval", "Judgments"]
    return table([*head, *map(safe, own)], map(_worker, found.rows), "llrrr" + "r" * len(own))


def _worker(row: Worker) -> list[str]:
    intervals = row.intervals if isinstance(row, Annotator) else {}
    own = [
        f"{signed(value, 2)} ({interval(*intervals[name], 2)})" if name in intervals else signed(value, 2)
        for name, value in row.further.items()
    ]
    quality = [number(row.quality, 2), interval(row.low, row.high, 2)]
    return [row.worker, row.verdict, *quality, number(row.judgments), *own]


def _orders(found: OrderSummary) -> Iterator[str]:
    yield "## How certain the estimated orders are"
    yield safe(" ".join(crowd_words.order_sentences(found)))
    rows = ([words.query_name(row), number(row.documents), number(row.certainty, 2)] for row in found.rows)
    yield table(("Query", "Documents", "Certainty"), rows, "lrr")


def _folds(report: TrainingReport) -> Iterator[str]:
    if not report.folds or report.measured is None:
        return
    yield "## Folds"
    yield words.FOLDS
    measure = safe(report.measured.measure)
    rows = (
        [
            f"{row.fold}", number(row.queries), number(row.step), number(row.value, words.DECIMALS),
            row.feature or "", number(row.feature_value, words.DECIMALS),
        ]
        for row in report.folds
    )  # fmt: skip
    head = ("Fold", "Test queries", "Kept step", measure, "Best single feature", f"Feature's {measure}")
    yield table(head, rows, "rrrrlr")


def _tuned(report: TrainingReport) -> Iterator[str]:
    if not report.tuned:
        return
    yield "## Parameters that were tried"
    names = list(report.tuned[0].parameters)
    rows = (
        [*map(json.dumps, row.parameters.values()), number(row.value, words.DECIMALS), "kept" * row.chosen]
        for row in report.tuned
    )
    yield table([*map(safe, names), safe(words.tuned_measure(report)), ""], rows, "r" * len(names) + "rl")


def _importance(report: TrainingReport) -> Iterator[str]:
    found = report.importance
    yield "## Features by importance"
    yield safe(found.meaning)
    if found.rows:
        shares = ((row.feature, words.share_text(row.share)) for row in found.rows)
        yield table(("Feature", "Importance"), shares, "lr")
    yield words.importance_rest(found)


def _queries(report: TrainingReport) -> Iterator[str]:
    found = report.queries
    if found is None:
        return
    yield "## Worst queries"
    yield safe(" ".join(words.query_sentences(report)))
    if found.rows:
        names = list(found.rows[0].values)
        rows = (
            [
                words.query_name(row), number(row.documents), number(row.relevant),
                *(number(value, words.DECIMALS) for value in row.values.values()),
            ]
            for row in found.rows
        )  # fmt: skip
        yield table(("Query", "Documents", "Relevant", *map(safe, names)), rows, "lrr" + "r" * len(names))


def _scoring(report: TrainingReport) -> Iterator[str]:
    yield words.SCORING
    yield bullets(f"{safe(name)}: `{command}`" for name, command in report.scoring)
