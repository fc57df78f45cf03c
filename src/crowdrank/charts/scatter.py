"""Workers as marks: how much each judged, and how good the judgments are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from crowdrank.charts.axes import tick_label
from crowdrank.charts.chart import Chart, text

MOST_WORKERS = 1000
"""At most this many workers are drawn."""
WIDTH, HEIGHT = 560.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 78.0, 546.0, 40.0, 286.0
LETTER = 9.0
"""The width of a letter on a phone, where the letters of the page are larger than those of the drawing."""
LEAST_SPAN = 3.0
"""The most judgments on the axis are at least this many times the least, so that there are two round numbers."""
SHAPES = {
    "reliable": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
    "unsure": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
    "spammer": "M0-5L5 4H-5Z",
    "malicious": "M-4-4L4 4M-4 4L4-4",
}
"""The mark of each verdict, as a path around 0, in the order of the legend."""


class Dot(NamedTuple):
    """A worker: the weight of the judgments, the quality with its interval, and the verdict."""

    name: str
    judgments: float
    quality: float
    low: float
    high: float
    verdict: str


def draw_workers(dots: Sequence[Dot]) -> Chart:
    """Judgments from left to right (each step is a factor), quality upwards; shape and color show the verdict.

    The line through a mark is the 90 % interval of the quality. Of more than ``MOST_WORKERS`` workers, those with
    the most judgments are drawn.
    """
    drawn = sorted(dots, key=lambda dot: -dot.judgments)[:MOST_WORKERS]
    low, high = _span(drawn)
    lines = "".join(
        f'<path class="c-rule" stroke-opacity="{0.5 if len(drawn) <= 80 else 0.2}" '
        f'd="M{_x(dot.judgments, low, high):g} {_y(max(dot.low, 0.0)):g}V{_y(min(dot.high, 1.0)):g}"/>'
        for dot in drawn
    )
    marks = "".join(_mark(dot, low, high) for dot in drawn)
    counts = Counter(dot.verdict for dot in dots)
    known = [verdict for verdict in SHAPES if counts[verdict]]
    words = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in known)
    return Chart(
        _frame(low, high) + lines + marks + _legend(known), WIDTH, HEIGHT,
        f"Quality of {len(drawn):,} of {len(dots):,} workers against their number of judgments: {words}",
    )  # fmt: skip


def _mark(dot: Dot, low: float, high: float) -> str:
    place = f"translate({_x(dot.judgments, low, high):g} {_y(dot.quality):g})"
    words = (
        f"{dot.name}: {dot.verdict}, quality {dot.quality:.2f} ({max(dot.low, 0.0):.2f} to "
        f"{min(dot.high, 1.0):.2f}), judgments: {dot.judgments:,.10g}"
    )
    return (
        f'<path class="c-{dot.verdict}" transform="{place}" d="{SHAPES[dot.verdict]}">'
        f"<title>{escape(words)}</title></path>"
    )


def _frame(low: float, high: float) -> str:
    parts = [text(6, TOP - 26, "Quality")]
    for tenth in range(0, 11, 2):
        y = _y(tenth / 10)
        parts.append(f'<path class="c-grid" d="M{LEFT:g} {y:g}H{RIGHT:g}"/>')
        parts.append(text(LEFT - 8, y + 4, tick_label(tenth / 10), "end"))
    guess = _y(0.5)
    parts.append(f'<path class="c-rule" stroke-dasharray="5 4" d="M{LEFT:g} {guess:g}H{RIGHT:g}"/>')
    parts.append(text(LEFT - 8, guess + 4, "guessing", "end"))
    for tick in _factors(low, high):
        x = _x(tick, low, high)
        parts.append(
            f'<path class="c-rule" d="M{x:g} {BOTTOM:g}v5"/>{text(x, BOTTOM + 19, tick_label(tick), "middle")}'
        )
    parts.append(f'<path class="c-rule" d="M{LEFT:g} {BOTTOM:g}H{RIGHT:g}"/>')
    parts.append(text(RIGHT, BOTTOM + 37, "Judgments", "end"))
    return "".join(parts)


def _legend(known: Sequence[str]) -> str:
    parts, x = [], LEFT + 10
    for verdict in known:
        parts.append(
            f'<path class="c-{verdict}" transform="translate({x:g} {TOP - 30:g})" d="{SHAPES[verdict]}"/>'
        )
        parts.append(text(x + 12, TOP - 26, verdict))
        x += 34 + LETTER * len(verdict)
    return "".join(parts)


def _span(dots: Sequence[Dot]) -> tuple[float, float]:
    """The least and the most judgments, with room on both sides."""
    counts = [max(dot.judgments, 0.1) for dot in dots]
    room = max(1.25, math.sqrt(LEAST_SPAN * min(counts) / max(counts)))
    return min(counts) / room, max(counts) * room


def _factors(low: float, high: float) -> list[float]:
    """Round numbers between the two: powers of ten, with 2 and 5 times these, or all digits, if there are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in (range(1, 10), (1, 2, 5), (1,)):
        found = [
            factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high
        ]
        if len(found) <= 8:
            break
    return found


def _x(judgments: float, low: float, high: float) -> float:
    share = math.log(max(judgments, low) / low) / math.log(high / low)
    return round(LEFT + (RIGHT - LEFT) * share, 1)


def _y(quality: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * quality, 1)
