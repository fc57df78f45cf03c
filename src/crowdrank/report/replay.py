"""Ways of asking side by side, as data and as a page: a table, and curves with bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdrank.charts import Axis
from crowdrank.charts.axes import Tick, axis_of
from crowdrank.data.arrays import Floats
from crowdrank.errors import count_noun
from crowdrank.report.content import Page
from crowdrank.report.html import environment
from crowdrank.report.markdown import safe, table, warnings
from crowdrank.report.notes import cautions
from crowdrank.report.words import list_words, number, percent, signed
from crowdrank.select.policy import SELECTORS
from crowdrank.select.replay import mean_curve
from crowdrank.select.study import LEVELS, SelectorRun, Study

LEFT, RIGHT, TOP, BOTTOM = 52.0, 628.0, 16.0, 316.0
"""The edges of the area in which the curves are drawn, in a box of 640 by 360."""
BAND = 2.0
"""Standard errors on each side of a curve."""


@dataclass(frozen=True)
class Line:
    """A curve with its band, as paths, and the figures of its selector."""

    select: str
    meaning: str
    path: str
    band: str
    accuracy: float
    error: float | None
    predicted: float
    to: tuple[str, ...]

    @property
    def plus_minus(self) -> str:
        """The standard error of the accuracy; there is none of a single seed."""
        return "" if self.error is None else f"{self.error:.4f}"

    @property
    def shown(self) -> str:
        """The accuracy with its standard error."""
        return f"{self.accuracy:.4f}" + (f" ± {self.plus_minus}" if self.plus_minus else "")


@dataclass(frozen=True)
class ReplayReport(Page):
    """The content of the page. ``headline`` says which way of asking was the most accurate at the end."""

    headline: str
    lines: tuple[Line, ...]
    levels: tuple[str, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    explanation: str
    description: str


def build_replay(study: Study) -> ReplayReport:
    """The content of the page from a study."""
    curves = [mean_curve(run.curves) for run in study.runs]
    up = axis_of(
        [value for _, mean, error, _ in curves for value in (*(mean - BAND * error), *(mean + BAND * error))]
    )
    across = axis_of([0.0, float(max(votes[-1] for votes, *_ in curves))])
    lines = tuple(_line(run, across, up) for run in study.runs)
    named = ", ".join(f"{line.select} {line.accuracy:.3f}" for line in lines)
    return ReplayReport(
        title=f"{count_noun(len(lines), 'way')} of asking",
        facts=(study.source, count_noun(study.budget, "vote"), count_noun(study.seeds, "seed")),
        cautions=cautions(study.notes),
        headline=headline(study, lines),
        lines=lines,
        levels=tuple(f"{level:.2f}" for level in LEVELS),
        across=tuple(Tick(_x(tick, across), f"{int(tick):,}") for tick in across.ticks if tick >= 0),
        up=tuple(Tick(_y(tick, up), signed(tick)) for tick in up.ticks),
        explanation=explain(study),
        description=f"Accuracy by the number of votes. At the end: {named}.",
    )


def headline(study: Study, lines: Sequence[Line]) -> str:
    """Which selector was the most accurate at the end, and which ones cannot be told apart from it.

    Selectors are compared seed by seed; two are apart if the mean difference exceeds two standard errors.
    """
    best = max(range(len(lines)), key=lambda place: lines[place].accuracy)
    first = f"{lines[best].select.capitalize()} was the most accurate at the end: {lines[best].shown}."
    if len(lines) == 1:
        return f"{lines[0].select.capitalize()} reached an accuracy of {lines[0].shown}."
    if study.seeds == 1:
        return f"{first} With a single seed, how much of that is chance is not known."
    ends = [np.array([curve.accuracy[-1] for curve in run.curves]) for run in study.runs]
    alike = [
        line.select
        for place, line in enumerate(lines)
        if place != best and _within_noise(ends[best] - ends[place])
    ]
    if not alike:
        return f"{first} All others were behind beyond the noise."
    return f"{first} {list_words(alike).capitalize()} cannot be told apart from it."


def _within_noise(difference: Floats) -> bool:
    """Whether the mean of differences by seed is within two standard errors of 0."""
    error = float(difference.std(ddof=1)) / math.sqrt(len(difference))
    return abs(float(difference.mean())) <= BAND * error


def explain(study: Study) -> str:
    """How to read the figures."""
    ranked = "the current means" if study.rank == "means" else "a batch fit of the votes so far"
    reach = (
        f" of {study.reach:.4f}, the accuracy of a fit to all recorded votes"
        if study.reach != 1.0 or "recorded" in study.source
        else ""
    )
    return (
        f"Every way of asking chose its own {study.budget:,} votes from {study.source}, with "
        f"{count_noun(study.seeds, 'seed')}. After so many votes the items were ranked by {ranked}. The accuracy "
        "is the share of pairs in the right order, a mean over the seeds. The band shows two standard errors on "
        f"each side. Votes to 0.90 are those after which the accuracy first reached 0.90{reach}, if every seed "
        "got there; with few items it can fall below again. The current means depend on the order of the votes, "
        "so two selectors can end apart even with the same votes."
    )


def replay_to_html(report: ReplayReport) -> str:
    """The page."""
    return environment().get_template("replay.html").render(report=report)


def replay_to_markdown(report: ReplayReport) -> str:
    """The same as GitHub Markdown."""
    head = (
        "Selector",
        "What it asks",
        *(f"Votes to {level}" for level in report.levels),
        "Accuracy at the end",
        "Predicted",
    )
    rows = ([line.select, line.meaning, *line.to, line.shown, number(line.predicted, 4)] for line in report.lines)
    start = [f"# {report.title}", " · ".join(map(safe, report.facts)), report.headline]
    parts = [*start, *warnings(report), report.explanation]
    return "\n\n".join([*parts, table(head, rows, "ll" + "r" * len(report.levels) + "rr")]) + "\n"


def _line(run: SelectorRun, across: Axis, up: Axis) -> Line:
    votes, mean, error, predicted = mean_curve(run.curves)
    places = [_x(float(count), across) for count in votes]
    path = [(x, _y(value, up)) for x, value in zip(places, mean, strict=True)]
    above = [(x, _y(value, up)) for x, value in zip(places, mean + BAND * error, strict=True)]
    below = [(x, _y(value, up)) for x, value in zip(places, mean - BAND * error, strict=True)]
    return Line(
        select=run.select,
        meaning=SELECTORS[run.select],
        path=_path(path),
        band=_path([*above, *reversed(below)]) + "Z",
        accuracy=float(mean[-1]),
        error=float(error[-1]) if len(run.curves) > 1 else None,
        predicted=float(predicted[-1]),
        to=tuple(_votes_to(run, level) for level in LEVELS),
    )


def _votes_to(run: SelectorRun, level: float) -> str:
    mean, share = run.votes_to(level)
    if mean is not None:
        return f"{mean:,.0f}"
    return "not reached" if share == 0 else f"in {percent(share)} of the seeds"


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)


def _x(value: float, axis: Axis) -> float:
    return round(LEFT + (RIGHT - LEFT) * (value - axis.low) / (axis.high - axis.low), 1)


def _y(value: float, axis: Axis) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * (value - axis.low) / (axis.high - axis.low), 1)
