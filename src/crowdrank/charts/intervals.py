"""Estimates with their intervals, one row each: the chart of a ranking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from crowdrank.charts.axes import Axis, axis_of, tick_label
from crowdrank.charts.chart import Chart, named, text

RIGHT, WIDTH = 24.0, 640.0
TOP, ROW = 34.0, 22.0
LETTERS, LETTER = 26, 7.0


class Interval(NamedTuple):
    """An estimate; ``low`` and ``high`` may be infinite. ``band`` is the number of its tier."""

    name: str
    score: float
    low: float
    high: float
    band: int


def draw_intervals(rows: Sequence[Interval], total: int, noun: str = "item") -> Chart:
    """The rows from top to bottom; the bar of a row is its interval, dashed if an end is not bounded.

    ``total``: how many rows there are in all. Every other tier has a tinted ground.
    """
    axis = axis_of(value for row in rows for value in (row.score, row.low, row.high))
    frame = _Frame(axis, 52.0 + LETTER * min(max(len(row.name) for row in rows), LETTERS), TOP + ROW * len(rows))
    left = total - len(rows)
    body = [_grounds(rows), frame.grid(), *(frame.row(row, place) for place, row in enumerate(rows))]
    if left:
        body.append(text(frame.left, frame.bottom + 18, f"and {left:,} more {noun}{'' if left == 1 else 's'}"))
    words = f"Scores of {len(rows):,} of {total:,} {noun}s with their 90 % intervals; first: {rows[0].name}"
    return Chart("".join(body), WIDTH, frame.bottom + (26 if left else 8), words)


def _grounds(rows: Sequence[Interval]) -> str:
    """A tinted ground for every other tier."""
    return "".join(
        f'<rect class="c-tint" y="{TOP + ROW * place:g}" width="{WIDTH:g}" height="{ROW:g}"/>'
        for place, row in enumerate(rows)
        if row.band % 2 == 0
    )


class _Frame(NamedTuple):
    """The area of the bars: its axis and its edges."""

    axis: Axis
    left: float
    bottom: float

    def grid(self) -> str:
        """The lines behind the bars, and their numbers."""
        lines = (
            f'<path class="c-grid" d="M{self.x(tick):g} {TOP - 6:g}V{self.bottom:g}"/>'
            + text(self.x(tick), TOP - 12, tick_label(tick), "middle")
            for tick in self.axis.ticks
        )
        return "".join(lines)

    def row(self, row: Interval, place: int) -> str:
        """Rank, name, bar and mark."""
        y, low, high = TOP + ROW * (place + 0.5), self.x(row.low), self.x(row.high)
        bar = (
            f'<rect class="c-bar" x="{low:g}" y="{y - 4:g}" width="{max(high - low, 2):g}" height="8" rx="2"/>'
            if math.isfinite(row.low) and math.isfinite(row.high)
            else f'<path class="c-open" d="M{low:g} {y:g}H{high:g}"/>'
        )
        mark = f'<rect class="c-mark" x="{self.x(row.score) - 1.5:g}" y="{y - 7:g}" width="3" height="14" rx="1"/>'
        return text(28, y + 4, f"{place + 1}", "end") + named(40, y + 4, row.name, LETTERS, "start") + bar + mark

    def x(self, value: float) -> float:
        """The place of a value; an infinite one is at the edge."""
        share = (min(max(value, self.axis.low), self.axis.high) - self.axis.low) / (self.axis.high - self.axis.low)
        return round(self.left + (WIDTH - RIGHT - self.left) * share, 1)
