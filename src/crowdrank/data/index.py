"""Ids that come one after the other: an index that only grows, so that no code ever changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from crowdrank.data.arrays import Ints


class GrowingIndex:
    """Codes of items within queries (nodes) and of workers, in the order in which they are first met.

    The index of a file is sorted, so that its codes depend on the set of ids alone; one more id would renumber all
    that follow. For votes that come one by one, a new id takes the next code here.

    >>> index = GrowingIndex()
    >>> index.node("b"), index.node("a"), index.node("b"), index.worker("w")
    (0, 1, 0, 0)
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[str | None, str], int] = {}
        self._workers: dict[str, int] = {}

    def node(self, item: str, query: str | None = None) -> int:
        """The code of an item within a query; a new one if it was not met before."""
        return self._nodes.setdefault((query, item), len(self._nodes))

    def worker(self, worker: str) -> int:
        """The code of a worker; a new one if the worker was not met before."""
        return self._workers.setdefault(worker, len(self._workers))

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
        """The number of each node's query, in the order in which the queries were first met."""
        codes: dict[str | None, int] = {}
        return np.array([codes.setdefault(query, len(codes)) for query, _ in self._nodes], np.int32)
