"""What is ranked: an item within a query, by number; and ids in the numbers of another index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdrank.data.arrays import Ints


@dataclass(frozen=True, eq=False)
class Nodes:
    """What is ranked: (query, item) codes, sorted by query; ``query`` is all 0 where there is one."""

    query: Ints
    item: Ints

    def __len__(self) -> int:
        return len(self.item)


def named_nodes(items: int, query: Ints | None, *named: Ints) -> Nodes:
    """The nodes that these columns of items name; every item where there are no queries."""
    if query is None:
        every = np.arange(items, dtype=np.int32)
        return Nodes(np.zeros_like(every), every)
    base = query.astype(np.int64) * items
    seen = np.unique(np.concatenate([base + column for column in named]))
    return Nodes((seen // items).astype(np.int32), (seen % items).astype(np.int32))


def merged_nodes(items: int, one: Nodes, other: Nodes) -> Nodes:
    """The nodes of both."""
    query, item = (np.concatenate([getattr(one, name), getattr(other, name)]) for name in ("query", "item"))
    return named_nodes(items, query, item)


def translated(ids: pl.Series, target: pl.Series | None) -> Ints:
    """The code that each id has among others, -1 where it has none."""
    if target is None:
        return np.full(len(ids), -1, np.int32)
    places = pl.Series(np.arange(len(target), dtype=np.int32))
    return np.asarray(ids.replace_strict(target, places, default=-1, return_dtype=pl.Int32).to_numpy())
