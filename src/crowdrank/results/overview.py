"""A result at a glance: an overview as data, then as plain text for ``repr`` and as HTML for notebooks.

The HTML needs no network and no script. Everything that comes from the data is escaped. Colors are those of the
text around it, so it can be read on light and on dark pages.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from crowdrank.errors import count_noun

MOST_ROWS = 10
"""How many rows of a table are shown."""
LONGEST = 40
"""Longer cells are cut in text; in HTML the whole cell appears when the pointer rests on it."""
WIDTH, HEIGHT, MARGIN = 160, 14, 5
"""Of a drawn interval."""

_CELL = "padding:2px 8px;text-align:{};white-space:nowrap;max-width:22em;overflow:hidden;text-overflow:ellipsis"
_MUTED = "opacity:.7;margin:2px 0"


@dataclass(frozen=True)
class Interval:
    """Columns that are drawn: a point, and the ends of its interval; without ends, a bar from 0 to the point.

    ``span``: the range of the axis.
    """

    point: str
    ends: tuple[str, str] | None = ("low", "high")
    span: tuple[float, float] | None = None

    @property
    def title(self) -> str:
        """What stands above the drawings."""
        return "" if self.ends is None else " to ".join(self.ends)

    def values(self, table: pl.DataFrame) -> list[tuple[float, ...]]:
        """low, high and point of each row."""
        point = pl.col(self.point)
        low, high = (pl.lit(0.0), point) if self.ends is None else map(pl.col, self.ends)
        return table.select(low=low, high=high, point=point).rows()


@dataclass(frozen=True)
class Overview:
    """What is worth seeing first: a title, facts in a few words, the first rows of a table, and notes.

    ``interval``: the columns of the table that are drawn in HTML.
    """

    title: str
    facts: Sequence[str] = ()
    table: pl.DataFrame | None = None
    interval: Interval | None = None
    notes: Sequence[str] = ()

    def to_text(self) -> str:
        """The overview as plain text."""
        lines = [self.title, *self.facts]
        if self.table is not None:
            lines += _text_rows(self.table.head(MOST_ROWS))
            lines += [_more_rows(self.table)] if self.table.height > MOST_ROWS else []
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def to_html(self) -> str:
        """The overview as a piece of HTML, with intervals as inline SVG."""
        parts = [f"<div><strong>{escape(self.title)}</strong></div>"]
        parts += [f'<div style="{_MUTED}">{escape(fact)}</div>' for fact in self.facts]
        if self.table is not None:
            parts.append(_html_table(self.table.head(MOST_ROWS), self.interval))
            if self.table.height > MOST_ROWS:
                parts.append(f'<div style="{_MUTED}">{_more_rows(self.table)}</div>')
        if self.notes:
            rows = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
            parts.append(
                f"<details><summary>{count_noun(len(self.notes), 'note')}</summary><ul>{rows}</ul></details>"
            )
        return f'<div style="color:inherit;background:transparent">{"".join(parts)}</div>'


class HasOverview(ABC):
    """Something that a notebook shows as a short table, and ``repr`` as plain text."""

    @abstractmethod
    def overview(self) -> Overview:
        """What is worth seeing first."""
        ...

    def __repr__(self) -> str:
        return self.overview().to_text()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.overview().to_html()


def shown_value(value: Any) -> str:
    """A value as it is shown: few digits, and a dash for what is missing or not finite."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.1f}" if abs(value) >= 100 else f"{value:z.3f}"  # z: no minus before 0.000
    return str(value)


def shown_values(column: pl.Series) -> list[str]:
    """The values of a column as they are shown; without decimals if all are whole."""
    numbers = column.drop_nulls() if column.dtype.is_float() else None
    if numbers is not None and len(numbers) and (numbers == numbers.round()).all():
        return ["–" if value is None else f"{value:,.0f}" for value in column]
    return [shown_value(value) for value in column]


def _more_rows(table: pl.DataFrame) -> str:
    return f"... and {count_noun(table.height - MOST_ROWS, 'more row')}"


def _text_rows(table: pl.DataFrame) -> list[str]:
    """The header and the rows, with columns of one width; numbers stand at the right."""
    columns = []
    for column in table:
        cells = [_cut(text) for text in (column.name, *shown_values(column))]
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if column.dtype.is_numeric() else cell.ljust(width) for cell in cells])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _html_table(table: pl.DataFrame, interval: Interval | None) -> str:
    hidden = (interval.ends or ()) if interval is not None else ()
    columns = [_html_column(column) for column in table if column.name not in hidden]
    if interval is not None:
        head = _cell("th", "left", escape(interval.title))
        columns.append([head, *(_cell("td", "left", drawn) for drawn in draw_intervals(table, interval))])
    head, *rows = (f"<tr>{''.join(cells)}</tr>" for cells in zip(*columns, strict=True))
    style = "color:inherit;font:inherit;border-collapse:collapse;margin:4px 0;font-variant-numeric:tabular-nums"
    return f'<table style="{style}"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'


def _html_column(column: pl.Series) -> list[str]:
    """The header and the cells of a column; numbers stand at the right."""
    side = "right" if column.dtype.is_numeric() else "left"
    texts = map(escape, shown_values(column))
    return [_cell("th", side, escape(column.name)), *(_cell("td", side, text, text) for text in texts)]


def _cell(tag: str, side: str, content: str, title: str = "") -> str:
    hover = f' title="{title}"' if len(title) > LONGEST // 2 else ""
    return f'<{tag} style="{_CELL.format(side)}"{hover}>{content}</{tag}>'


def draw_intervals(table: pl.DataFrame, interval: Interval) -> list[str]:
    """An SVG for each row, all on one axis; a dash if the interval is not finite."""
    rows = interval.values(table)
    known = [row for row in rows if all(end is not None and math.isfinite(end) for end in row)]
    ends = interval.span or [end for row in known for end in row] or [0.0]
    low, width = min(ends), (max(ends) - min(ends)) or 1.0

    def place(value: float) -> str:
        share = min(max((value - low) / width, 0.0), 1.0)
        return f"{MARGIN + share * (WIDTH - 2 * MARGIN):.1f}"

    return [_draw(row, *map(place, row)) if row in known else "–" for row in rows]


def _draw(row: Sequence[float], start: str, end: str, point: str) -> str:
    """One interval: a bar from its low to its high end, and a dot."""
    low, high, middle = map(shown_value, row)
    name = f"{middle}, from {low} to {high}"
    axis = f'<line x1="0" x2="{WIDTH}" y1="7" y2="7" stroke="currentColor" stroke-opacity=".15"/>'
    color = 'stroke="currentColor" stroke-opacity=".5" stroke-width="4"'
    bar = f'<line x1="{start}" x2="{end}" y1="7" y2="7" {color}/>'
    dot = f'<circle cx="{point}" cy="7" r="3.5" fill="currentColor"/>'
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" style="vertical-align:middle"'
    return f'<svg role="img" aria-label="{name}" {size}><title>{name}</title>{axis}{bar}{dot}</svg>'
