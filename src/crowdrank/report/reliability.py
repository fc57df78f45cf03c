"""How far the probabilities of labels can be trusted: the reliability curve as data, words and a picture."""

from __future__ import annotations

from dataclasses import dataclass

from crowdrank.report.axes import BOTTOM, LEFT, RIGHT, TOP, Tick, chart_x, chart_y
from crowdrank.report.content import Axis, LabelTrust, ReliabilityRow
from crowdrank.report.words import count_noun, percent, signed
from crowdrank.results import Fit, Reliability

HALF = Axis(0.5, 1.0, (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), 1)
WHOLE = Axis(0.0, 1.0, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), 1)
"""The axes of the picture; the first one if nothing lies below it."""


@dataclass(frozen=True)
class ReliabilityPicture:
    """What is drawn: a dot for the model and one for the answer in each bin, intervals, and the line on which the
    said and the right shares are equal."""

    said: tuple[tuple[float, float], ...]
    calibrated: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float, float], ...]
    equal: str
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    description: str


def label_trust(curve: Reliability | None, fit: Fit) -> LabelTrust | None:
    """The reliability curve of a fit; None if no labels are known."""
    if curve is None:
        return None
    found = fit.details["calibration"]
    return LabelTrust(
        known=int(curve.items.sum()),
        rows=tuple(_row(row) for row in curve.polars().iter_rows(named=True)),
        **{name: round(found[name], 3) for name in ("said", "calibrated", "right")},
    )


def _row(row: dict[str, float]) -> ReliabilityRow:
    items = int(row.pop("items"))
    return ReliabilityRow(items=items, **{name: round(value, 3) for name, value in row.items()})


def explain_trust(trust: LabelTrust) -> str:
    """What the known labels show, in sentences."""
    return (
        f"{count_noun(trust.known, 'item')} with a known label show how often the most probable label is right: "
        f"in {percent(trust.right)}. The model said {percent(trust.said)}; the calibrated probabilities say "
        f"{percent(trust.calibrated)}. The model judged each of these items without its known label."
    )


def reliability_picture(trust: LabelTrust) -> ReliabilityPicture:
    """The places of dots and intervals."""
    least = min(min(row.said, row.calibrated, row.low) for row in trust.rows)
    axis = HALF if least >= HALF.low else WHOLE
    return ReliabilityPicture(
        said=tuple((chart_x(row.said, axis), chart_y(row.right, axis)) for row in trust.rows),
        calibrated=tuple((chart_x(row.calibrated, axis), chart_y(row.right, axis)) for row in trust.rows),
        intervals=tuple(
            (chart_x(row.calibrated, axis), chart_y(row.high, axis), chart_y(row.low, axis)) for row in trust.rows
        ),
        equal=f"M{LEFT:g} {BOTTOM:g}L{RIGHT:g} {TOP:g}",
        across=tuple(Tick(chart_x(tick, axis), signed(tick)) for tick in axis.ticks),
        up=tuple(Tick(chart_y(tick, axis), signed(tick)) for tick in axis.ticks),
        description=" ".join(
            f"Said {row.said:.2f}, calibrated {row.calibrated:.2f}, right {row.right:.2f}." for row in trust.rows
        ),
    )
