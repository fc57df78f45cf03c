"""Lists that are probably the top of a longer ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from crowdrank.data.suspicions.origins import Origin
from crowdrank.data.tables import Judgments, Rankings
from crowdrank.errors import Note, Remedy

FEW = 3
"""So many lists show whether some items are in more of them than others."""
LONGER = 1.5
"""There are so many times as many items as a list has, at least."""
BEYOND_CHANCE = 1.64
"""Standard deviations: lists of random items vary as much in 1 of 20 files."""


def note_top_lists(table: Judgments, origins: Sequence[Origin]) -> Note | None:
    """A note on lists of k items each, if there are many more, and some are in far more lists than others.

    Somebody who is shown k items ranks items that another one chose, usually each about as often as the others.
    Somebody who names the best k chooses the best items again and again. A worker gives one such list per query.
    In PrefLib files the items that a list does not rank were not shown, so these are not looked at.
    """
    if not isinstance(table, Rankings) or table.missing != "unknown" or not all(one.table for one in origins):
        return None
    sizes = np.bincount(table.list)
    if len(sizes) < FEW or sizes.min() < 2 or sizes.min() < sizes.max() or _several_by_worker(table):
        return None
    size, query = int(sizes[0]), np.zeros(table.rows, np.int32) if table.query is None else table.query
    counted = pl.DataFrame({"query": query, "item": table.item}).group_by("query", "item").len("lists")
    counted = counted.with_columns(pl.len().over("query").alias("items"))
    if (counted["items"] < LONGER * size).any() or _spread(counted, size) < BEYOND_CHANCE:
        return None
    items, queries = int(counted["items"].to_numpy().max()), counted["query"].n_unique()
    of_all = f"of up to {items} items of its query" if queries > 1 else f"of {items} items"
    return Note(
        "top-lists",
        f"Each of the {len(sizes)} lists ranks {size} {of_all}, and some items are in far more lists than others. "
        "An item that a list does not rank counts as not shown (missing=unknown).",
        (f"If a list is the best {size} of all items, the others are below: ", Remedy("missing", "below")),
    )


def _several_by_worker(table: Rankings) -> bool:
    """Whether a worker gave several lists in a query."""
    if table.worker is None:
        return False
    columns = {"query": table.query, "worker": table.worker}
    frame = pl.DataFrame({name: own for name, own in columns.items() if own is not None})
    return frame.n_unique() < table.lists


def _spread(counted: pl.DataFrame, size: int) -> float:
    """By how many standard deviations the numbers of lists vary more than if each list had random items."""
    share = pl.lit(size) / pl.col("items")
    mean = pl.col("lists").mean().over("query")
    terms = counted.select((pl.col("lists") - mean) ** 2 / (mean * (1 - share))).to_series()
    freedom = counted.height - counted["query"].n_unique()
    return float((terms.sum() - freedom) / np.sqrt(2 * freedom))
