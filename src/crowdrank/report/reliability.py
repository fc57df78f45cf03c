"""How far the probabilities of labels can be trusted: the reliability curve as data, words and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crowdrank.charts import Axis
from crowdrank.charts.axes import BOTTOM, LEFT, RIGHT, TOP, Tick, chart_x, chart_y
from crowdrank.errors import count_noun
from crowdrank.report.content import Contest, LabelTrust, ReliabilityRow
from crowdrank.report.words import percent, signed
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


def explain_vote_trust(contest: Contest) -> str:
    """What the held-out votes show about the probabilities of the model ``trusted``, in sentences."""
    votes = sum(row.votes for row in contest.trust)
    said, right = (
        sum(row.votes * getattr(row, name) for row in contest.trust) / votes for name in ("said", "right")
    )
    outside = [row for row in contest.trust if not row.low <= row.said <= row.high]
    found = (
        "In every bin the share lies within the noise of what was said."
        if not outside
        else f"In {count_noun(len(outside), 'bin')} of {len(contest.trust)} the share differs beyond the noise: "
        f"the model is too {'certain' if said > right else 'cautious'} on the whole."
    )
    return (
        f"Of the held-out votes that are not ties, the side that {contest.trusted} called likelier won "
        f"{percent(right)}; the model said {percent(said)}. {found}"
    )


def vote_picture(contest: Contest) -> ReliabilityPicture:
    """The places of dots and intervals: how often the likelier side won, by its probability."""
    axis = HALF if min(row.low for row in contest.trust) >= HALF.low else WHOLE
    return _picture(
        axis,
        tuple((row.said, row.right, row.low, row.high) for row in contest.trust),
        (),
        " ".join(f"Said {row.said:.2f}, won {row.right:.2f}." for row in contest.trust),
    )


def reliability_picture(trust: LabelTrust) -> ReliabilityPicture:
    """The places of dots and intervals."""
    least = min(min(row.said, row.calibrated, row.low) for row in trust.rows)
    return _picture(
        HALF if least >= HALF.low else WHOLE,
        tuple((row.calibrated, row.right, row.low, row.high) for row in trust.rows),
        tuple((row.said, row.right) for row in trust.rows),
        " ".join(
            f"Said {row.said:.2f}, calibrated {row.calibrated:.2f}, right {row.right:.2f}." for row in trust.rows
        ),
    )


def _picture(
    axis: Axis, dots: Sequence[tuple[float, float, float, float]], rings: Sequence[tuple[float, float]], words: str
) -> ReliabilityPicture:
    """``dots``: a probability, the share that is right, and the ends of its interval. ``rings``: the first two."""
    return ReliabilityPicture(
        said=tuple((chart_x(said, axis), chart_y(right, axis)) for said, right in rings),
        calibrated=tuple((chart_x(said, axis), chart_y(right, axis)) for said, right, *_ in dots),
        intervals=tuple(
            (chart_x(said, axis), chart_y(high, axis), chart_y(low, axis)) for said, _, low, high in dots
        ),
        equal=f"M{LEFT:g} {BOTTOM:g}L{RIGHT:g} {TOP:g}",
        across=tuple(Tick(chart_x(tick, axis), signed(tick)) for tick in axis.ticks),
        up=tuple(Tick(chart_y(tick, axis), signed(tick)) for tick in axis.ticks),
        description=words,
    )
