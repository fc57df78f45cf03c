"""A reproduced table, with the curves of a figure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from crowdrank.reproduce.chart import Panel


@dataclass(frozen=True)
class PaperTable:
    """Rows of labels and numbers; the first ``labels`` columns are labels. ``panels`` hold the curves."""

    title: str
    columns: tuple[str, ...]
    labels: int
    rows: list[tuple[Any, ...]]
    remarks: list[str] = field(default_factory=list)
    panels: tuple[Panel, ...] = ()

    def text_rows(self) -> list[tuple[str, ...]]:
        """Every cell as text, numbers to four digits."""
        return [
            tuple(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row) for row in self.rows
        ]

    def to_json(self) -> str:
        """The table as JSON rows."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return json.dumps({**asdict(self), "rows": rows}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> PaperTable:
        """A table that ``to_json`` wrote, without its curves."""
        given = json.loads(text)
        given.pop("panels", None)
        columns = tuple(given.pop("columns"))
        rows = [tuple(row[column] for column in columns) for row in given.pop("rows")]
        return cls(columns=columns, rows=rows, **given)
