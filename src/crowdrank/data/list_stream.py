"""Lists on disk as a stream: rankings as they are, ratings as one list for each worker within a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from crowdrank.data.arrays import Integers
from crowdrank.data.convert import note_lists, ratings_as_lists, refuse_unknown_judges
from crowdrank.data.ids import Backend
from crowdrank.data.index import Index, Nodes
from crowdrank.data.spool.folder import Spool
from crowdrank.data.spool.rows import SpooledRankings, SpooledRatings, find_appearances
from crowdrank.data.tables import Rankings
from crowdrank.errors import Note


@dataclass(frozen=True, eq=False)
class ListStream:
    """Lists that do not fit in memory. ``parts`` gives complete ones in the order of their numbers."""

    index: Index
    backend: Backend
    nodes: Nodes
    missing: str
    parts: Callable[[], Iterator[Rankings]]
    spool: Spool
    notes: tuple[Note, ...]


def stream_lists(judgments: SpooledRankings | SpooledRatings, model: str) -> ListStream:
    """The lists of rankings or ratings on disk, as ``to_lists`` gives them."""
    named = judgments.named()
    if isinstance(judgments, SpooledRankings):
        rankings = judgments

        def parts() -> Iterator[Rankings]:
            return (part.complete(named) for part in rankings.by_list())

        missing, notes = judgments.missing, judgments.notes
    else:
        judgments.require_order(model)
        ratings, files = judgments, judgments.sort_files("lists", lambda part: part.groups())
        groups = find_appearances(batch.groups() for batch in judgments.batches()).code

        def parts() -> Iterator[Rankings]:
            return _lists_of(ratings, files, groups, model)

        missing, notes = "unknown", (*judgments.notes, note_lists(judgments.rows, len(groups)))
    return ListStream(judgments.index, judgments.backend, named.nodes, missing, parts, judgments.spool, notes)


def _lists_of(
    ratings: SpooledRatings,
    files: tuple[Path, ...],
    groups: Integers,
    model: str,
) -> Iterator[Rankings]:
    for part in ratings.read_sorted(files):
        refuse_unknown_judges(part, model)
        yield ratings_as_lists(part, groups)
