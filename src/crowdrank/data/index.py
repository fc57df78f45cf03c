"""Ids and their codes: sorted for a batch, append-only for votes that arrive one by one; items within queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Ints


@dataclass(frozen=True, eq=False)
class Index:
    """The ids behind the codes. ``queries`` or ``workers`` is None if the data has none."""

    items: pl.Series
    workers: pl.Series | None = None
    queries: pl.Series | None = None


class GrowingIndex:
    """Codes of items within queries (nodes) and of workers, in order of first appearance.

    The index of a file is sorted, so its codes depend only on the set of ids, but one more id would renumber all
    that follow. For votes that arrive one by one, a new id takes the next code here.

    >>> index = GrowingIndex()
    >>> index.node("b"), index.node("a"), index.node("b"), index.worker("w")
    (0, 1, 0, 0)
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[str | None, str], int] = {}
        self._workers: dict[str, int] = {}

    def node(self, item: str, query: str | None = None) -> int:
        """The code of an item within a query; a new code if the item is new."""
        return self._nodes.setdefault((query, item), len(self._nodes))

    def worker(self, worker: str) -> int:
        """The code of a worker; a new code if the worker is new."""
        return self._workers.setdefault(worker, len(self._workers))

    @property
    def sizes(self) -> tuple[int, int]:
        """How many nodes and how many workers there are."""
        return len(self._nodes), len(self._workers)

    @property
    def nodes(self) -> Sequence[tuple[str | None, str]]:
        """The (query, item) of each code."""
        return list(self._nodes)

    @property
    def workers(self) -> Sequence[str]:
        """The worker of each code."""
        return list(self._workers)

    def columns(self) -> tuple[pl.Series, pl.Series, pl.Series]:
        """The query and the item of each node, and the workers."""
        queries, items = zip(*self._nodes, strict=True) if self._nodes else ((), ())
        names = (("query", queries), ("item", items), ("worker", tuple(self._workers)))
        query, item, worker = (pl.Series(name, values, pl.String) for name, values in names)
        return query, item, worker

    def query_codes(self) -> Ints:
        """The number of each node's query; queries are numbered in order of first appearance."""
        codes: dict[str | None, int] = {}
        return np.array([codes.setdefault(query, len(codes)) for query, _ in self._nodes], np.int32)


@dataclass(frozen=True, eq=False)
class Nodes:
    """What is ranked: (query, item) codes, sorted by query; ``query`` is all 0 if there is only one."""

    query: Ints
    item: Ints

    def __len__(self) -> int:
        return len(self.item)


def named_nodes(items: int, query: Ints | None, *named: Ints) -> Nodes:
    """The nodes that these columns of items name; every item if there are no queries."""
    if query is None:
        every = np.arange(items, dtype=np.int32)
        return Nodes(np.zeros_like(every), every)
    base = query.astype(np.int64) * items
    seen = np.unique(np.concatenate([base + column for column in named]))
    return Nodes((seen // items).astype(np.int32), (seen % items).astype(np.int32))


def merge_nodes(items: int, one: Nodes, other: Nodes) -> Nodes:
    """The union of two sets of nodes."""
    query, item = (np.concatenate([getattr(one, name), getattr(other, name)]) for name in ("query", "item"))
    return named_nodes(items, query, item)


def translate_ids(ids: pl.Series, target: pl.Series | None) -> Ints:
    """The code of each id in ``target``; -1 if it has none."""
    if target is None:
        return np.full(len(ids), -1, np.int32)
    places = pl.Series(np.arange(len(target), dtype=np.int32))
    return np.asarray(ids.replace_strict(target, places, default=-1, return_dtype=pl.Int32).to_numpy())


def node_codes(nodes: Nodes, index: Index, query: Ints | None, item: Ints) -> NDArray[np.int64]:
    """The node of each (query, item); -1 if no judgment names it."""
    width = len(index.items)
    keys = nodes.query.astype(np.int64) * width + nodes.item
    wanted = item.astype(np.int64) if query is None else query.astype(np.int64) * width + item
    wanted = np.where((item < 0) | (wanted < 0), -1, wanted)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)
