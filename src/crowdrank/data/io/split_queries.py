"""A note on queries that split one ranking into many: the same items are judged in nearly all of them."""

from __future__ import annotations

import numpy as np

from crowdrank.data.spool.pairs import SpooledPairs
from crowdrank.data.spool.rows import SpooledRankings, SpooledRatings, SpooledRows
from crowdrank.data.tables import Pairs, Rankings, Ratings
from crowdrank.errors import Note, Remedy

AnyTable = Pairs | SpooledPairs | Ratings | SpooledRatings | Rankings | SpooledRankings

SPLIT = "split-queries"
RECURRING = 0.8
"""If items are judged in at least this share of the queries, they are the same items throughout."""
LONE, FEW = 0.9, 6
"""If there are as many queries as this share of the rows, and as many rows, the query is probably the row's id."""
MOST_CELLS = 50_000_000


def split_queries_note(table: AnyTable, source: str, column: str) -> tuple[Note, ...]:
    """A note if nearly all queries, which ``column`` of the ``source`` names, judge the same items."""
    queries, items = table.index.queries, table.index.items
    if queries is None or len(queries) < 2:
        return ()
    remedy = ("For one ranking over all of them: ", Remedy("columns", "query="))
    if table.rows >= FEW and len(queries) >= LONE * table.rows and table.rows >= 2 * len(items):
        message = (
            f"{source}: nearly every one of the {len(queries)} values of the column {column!r} has one judgment."
        )
        return (Note(SPLIT, f"{message} Each has a ranking of its own.", remedy),)
    if len(queries) * len(items) > MOST_CELLS:
        return ()
    judged = np.zeros((len(queries), len(items)), bool)
    for part in table.batches() if isinstance(table, SpooledPairs | SpooledRows) else [table]:
        for name in part.item_columns:
            judged[part.query, getattr(part, name)] = True
    if judged.mean() < RECURRING:
        return ()
    message = (
        f"{source}: there is one ranking for each of the {len(queries)} values of the column {column!r}, and "
        f"nearly all of them rank the same {len(items)} items."
    )
    return (Note(SPLIT, message, remedy),)
