"""A grid of colored cells: probabilities, confusion, agreement."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from crowdrank.charts.chart import Chart, named, text

SIDE = 420.0
"""The width of all cells together, if they are not too small or too large for it."""
LEAST, MOST = 12.0, 64.0
WRITTEN = 30.0
"""Cells of at least this width show their text."""
LETTERS = 22
LETTER = 7.0


class Cell(NamedTuple):
    """A cell: ``value`` from -1 to 1 sets the color, from behind to ahead. ``text`` is written on it if there is
    room, and ``words`` are its hint."""

    value: float
    text: str
    words: str


def draw_heatmap(
    cells: Sequence[Sequence[Cell | None]], rows: Sequence[str], columns: Sequence[str], *,
    beside: str, above: str, description: str,
) -> Chart:  # fmt: skip
    """Rows from top to bottom, columns from left to right; a cell that is None is empty.

    ``beside`` and ``above`` say what the rows and the columns are. Names of columns are cut to fit a cell.
    """
    size = min(max(SIDE / max(len(columns), 1), LEAST), MOST)
    height = min(size, 40.0)
    left = 16.0 + LETTER * min(max(map(len, [*rows, beside])), LETTERS)
    parts = [text(left - 8, 16, beside, "end"), text(left + size * len(columns) / 2, 16, above, "middle")]
    every = -(-len(columns) // 24) if size < WRITTEN else 1
    for place, name in enumerate(columns):
        if place % every == 0:
            parts.append(
                named(left + size * (place + 0.5), 36, name, max(int(size * every / LETTER), 3), "middle")
            )
    for row, name in enumerate(rows):
        y = 44 + height * row
        if height >= 14 or row % 2 == 0:
            parts.append(named(left - 8, y + height / 2 + 4, name, LETTERS))
        parts += [
            _cell(cell, left + size * column, y, size, height)
            for column, cell in enumerate(cells[row])
            if cell is not None
        ]
    return Chart("".join(parts), left + size * len(columns) + 16, 44 + height * len(rows) + 10, description)


def _cell(cell: Cell, x: float, y: float, width: float, height: float) -> str:
    kind = "ahead" if cell.value >= 0 else "behind"
    shown = (
        text(x + width / 2, y + height / 2 + 4, cell.text, "middle", "name")
        if cell.text and width >= WRITTEN and height >= 16
        else ""
    )
    box = f'x="{x:g}" y="{y:g}" width="{width - 1:g}" height="{height - 1:g}"'
    color = f'<rect class="c-{kind}" fill-opacity="{min(abs(cell.value), 1.0):.2f}" {box}/>'
    return f'<g><title>{escape(cell.words)}</title><rect class="c-tint" {box}/>{color}{shown}</g>'


def short_share(share: float) -> str:
    """A share from 0 to 1 with two decimals, as short as possible: .07, 1."""
    return f"{share:.2f}".replace("0.00", "0").replace("1.00", "1").replace("0.", ".")
