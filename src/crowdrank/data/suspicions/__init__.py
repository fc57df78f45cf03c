"""What any person would notice in a file: each check gives a note, or None. Nothing is changed.

Checks look at the distinct ids and at counts; only a file that is already odd is looked at row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from crowdrank.data.suspicions.copies import note_copies
from crowdrank.data.suspicions.ids import (
    find_twins,
    note_booleans,
    note_broken_text,
    note_invisible,
    note_padded,
    note_similar,
)
from crowdrank.data.suspicions.labels import note_odd_label, note_scales, note_swapped
from crowdrank.data.suspicions.numbers import (
    note_all_ties,
    note_odd_rank,
    note_one_rank,
    note_one_weight,
    note_time_weights,
    note_worker_per_row,
    note_zero_ranks,
)
from crowdrank.data.suspicions.origins import Origin
from crowdrank.data.suspicions.repeats import note_repeats
from crowdrank.data.suspicions.rounded import note_rounded_ids
from crowdrank.data.suspicions.top_lists import note_top_lists
from crowdrank.data.suspicions.totals import note_totals_row
from crowdrank.data.tables import Judgments
from crowdrank.errors import Note

TABLE_CHECKS: tuple[Callable[[Judgments, Sequence[Origin]], Note | None], ...] = (
    note_copies,
    note_repeats,
    note_rounded_ids,
    note_worker_per_row,
    note_time_weights,
    note_one_weight,
    note_all_ties,
    note_one_rank,
    note_zero_ranks,
    note_odd_rank,
    note_top_lists,
    note_swapped,
    note_odd_label,
    note_scales,
    note_totals_row,
)


def find_suspicions(table: Judgments, origins: Sequence[Origin]) -> tuple[Note, ...]:
    """Notes on what looks like a mistake in the files of these judgments."""
    return tuple(note for note in _look(table, origins) if note is not None)


def _look(table: Judgments, origins: Sequence[Origin]) -> Iterator[Note | None]:
    index = table.index
    for ids, word in ((index.items, "item"), (index.workers, "worker"), (index.queries, "query")):
        if ids is not None:
            twins = find_twins(ids)
            yield from (note_similar(twins, word), note_invisible(twins, word))
            yield from (note_broken_text(ids, word), note_booleans(ids, word), note_padded(ids, word))
    yield from (check(table, origins) for check in TABLE_CHECKS)
