"""A row that sums up the others, as spreadsheets have it at their end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdrank.data.io.cells import TOTALS, is_total
from crowdrank.data.suspicions.origins import Origin, name_rows
from crowdrank.data.tables import Judgments, Rankings, Ratings
from crowdrank.errors import Note

FEW = 3
"""With fewer rows nothing is summed up."""


def note_totals_row(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on an item that is called a total, in one row, whose number exceeds all others or whose worker is
    called a total too."""
    if not isinstance(table, Ratings | Rankings):
        return None
    items = table.index.items
    for code in items.str.strip_chars().str.to_lowercase().is_in(TOTALS).arg_true():
        rows = np.flatnonzero(table.item == code)
        if len(rows) == 1 and table.rows >= FEW and (_exceeds(table, rows[0]) or _by_total(table, rows[0])):
            return Note(
                "totals-row",
                f"{name_rows(origins, [int(rows[0])])} looks like a total: its item is {items[code]!r}.",
                "If it is one, remove it: now it is ranked as an item.",
            )
    return None


def _exceeds(table: Ratings | Rankings, row: int) -> bool:
    """Whether the label or the rank of this row is larger than all others. Labels that are text have no size."""
    numbers = table.label if isinstance(table, Ratings) else table.rank
    named = isinstance(table, Ratings) and bool(table.names)
    return not named and bool(numbers[row] > np.fmax.reduce(np.delete(numbers, row)))


def _by_total(table: Ratings | Rankings, row: int) -> bool:
    """Whether the worker of this row is called a total."""
    workers = table.index.workers
    return workers is not None and table.worker is not None and is_total(workers[int(table.worker[row])])
