"""Shares of groups along a line: which of many things belongs to which group, and how surely."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from crowdrank.charts.axes import axis_of, tick_label
from crowdrank.charts.chart import Chart, text

LEFT, RIGHT, WIDTH = 32.0, 540.0, 560.0
TOP, ROW = 28.0, 16.0
FAINTEST = 0.01
"""A share below this is not drawn."""


class Run(NamedTuple):
    """Neighbors along the line: how many they are, the mean share of each group, and their names in words."""

    size: int
    shares: Sequence[float]
    words: str


def draw_shares(runs: Sequence[Run], *, group: str, noun: str, description: str) -> Chart:
    """A row for each group, from top to bottom; the runs from left to right, each as wide as it is long.

    The larger a share, the stronger its color. ``group`` and ``noun`` say what the rows and the things are.
    """
    total, groups = sum(run.size for run in runs), len(runs[0].shares)
    unit, bottom = (RIGHT - LEFT) / total, TOP + ROW * groups
    parts = [text(0, TOP - 12, group)]
    for row in range(groups):
        y = TOP + ROW * row
        parts.append(
            f'<rect class="c-tint" x="{LEFT:g}" y="{y:g}" width="{RIGHT - LEFT:g}" height="{ROW - 1:g}"/>'
        )
        parts.append(text(LEFT - 8, y + 12, f"{row + 1}", "end", "name"))
    start = 0
    parts.append('<g shape-rendering="crispEdges">')
    for run in runs:
        parts += _cells(run, round(LEFT + unit * start, 2), round(LEFT + unit * (start + run.size), 2), group)
        start += run.size
    parts.append("</g>")
    for tick in axis_of([0.0, float(total)]).ticks:
        if 0 <= tick <= total and tick == int(tick):
            x = LEFT + unit * tick
            parts.append(f'<path class="c-rule" d="M{x:.1f} {bottom:g}v5"/>')
            parts.append(text(round(x, 1), bottom + 18, tick_label(tick), "middle"))
    parts.append(text(RIGHT, bottom + 34, noun, "end"))
    return Chart("".join(parts), WIDTH, bottom + 42, description)


def _cells(run: Run, left: float, right: float, group: str) -> list[str]:
    """The shares of a run between two edges, from top to bottom."""
    return [
        f'<rect class="c-mark" fill-opacity="{share:.2f}" x="{left:g}" y="{TOP + ROW * row:g}" '
        f'width="{right - left:.2f}" height="{ROW - 1:g}">'
        f"<title>{escape(f'{run.words}: {group.lower()} {row + 1} with {share:.2f}')}</title></rect>"
        for row, share in enumerate(run.shares)
        if share >= FAINTEST
    ]
