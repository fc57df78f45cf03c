"""What every model ranks: items within queries, by number and by name."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import Backend, Floats, Index, Nodes
from crowdrank.data.ids import UNKNOWN_WORKER
from crowdrank.errors import Note
from crowdrank.results import Evidence, Workers, agreement_interval, verdicts

MATRIX_ITEMS, MATRIX_BINS, MATRIX_CELLS = 40, 24, 1 << 17
FEW = 3


class Subjects(ABC):
    """Judgments prepared for a model: the nodes to rank, and their ids."""

    nodes: Nodes
    index: Index
    backend: Backend

    @property
    def n_workers(self) -> int:
        """The number of workers, or 0 if they are unknown."""
        return 0 if self.index.workers is None else len(self.index.workers)

    def queries(self) -> pl.Series:
        """The query id of each node, or null if the data has no queries."""
        queries = self.index.queries
        if queries is None:
            return pl.repeat(None, len(self.nodes), dtype=pl.String, eager=True).alias("query")
        return queries.gather(self.nodes.query).rename("query")

    def items(self) -> pl.Series:
        """The item id of each node."""
        return self.index.items.gather(self.nodes.item).rename("item")

    def members(self) -> list[NDArray[np.int64]]:
        """The nodes of each query that has nodes."""
        cuts = np.flatnonzero(np.diff(self.nodes.query)) + 1  # nodes are sorted by query
        return np.split(np.arange(len(self.nodes)), cuts)

    def item_names(self, nodes: NDArray[np.int64] | Sequence[int], most: int = 5) -> str:
        """The first few ids, as text."""
        items, queries = self.index.items, self.index.queries
        names = [_quote(items[int(self.nodes.item[node])]) for node in nodes[:most]]
        if queries is not None and len(queries) > 1:
            where = [_quote(queries[int(self.nodes.query[node])]) for node in nodes[:most]]
            names = [f"{name} (query {query})" for name, query in zip(names, where, strict=True)]
        return ", ".join(names) + (f" and {len(nodes) - most} more" if len(nodes) > most else "")

    @abstractmethod
    def evidence(self, rank: NDArray[np.int64]) -> Evidence:
        """How much is known about each node, and which nodes met, in the order of ``rank``."""

    def workers_by_agreement(self, agreed: Floats, total: Floats, given: Floats | None = None) -> Workers | None:
        """The table of workers with the share ``agreed`` of ``total`` as quality, and its Jeffreys interval.

        ``given``: the judgments of each worker, if more than those in ``total``.
        """
        if self.index.workers is None:
            return None
        quality, low, high = agreement_interval(agreed / np.maximum(total, 1e-300), total)
        return Workers(
            worker=self.index.workers,
            judgments=total if given is None else given,
            quality=quality,
            low=low,
            high=high,
            verdict=verdicts(low, high),
            backend=self.backend,
        )

    def squares(self, rank: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """The layout of the matrices of which nodes met.

        Returns the side of the matrix of each query, the row of each node, and the number of cells to keep, those
        of the first queries.
        """
        query = self.nodes.query
        sizes = np.bincount(query)
        side = np.where(sizes <= MATRIX_ITEMS, sizes, MATRIX_BINS)
        ends = np.cumsum(side**2)
        place = (rank - 1) * side[query] // sizes[query]
        return side, place, int(ends[ends <= MATRIX_CELLS].max(initial=0))

    def note_never(self, code: str, own: Floats, other: Floats, words: str, regularized: bool) -> list[Note]:
        """A note on the nodes whose ``own`` count is zero although the ``other`` is not.

        ``words`` say what never happened. "{was}" in them becomes "was" or "were".
        """
        found = np.flatnonzero((own == 0) & (other > 0))
        if not len(found):
            return []
        one = len(found) == 1
        rests = (
            f" {'Its score rests' if one else 'Their scores rest'} on the regularization." if regularized else ""
        )
        text = f"{'item' if one else 'items'} {words.format(was='was' if one else 'were')}"
        return [Note(code, f"{len(found)} {text}: {self.item_names(found)}.{rests}")]

    def note_few(self, judgments: Floats) -> list[Note]:
        """A note on the nodes with few judgments."""
        found = np.flatnonzero((judgments > 0) & (judgments < FEW))
        if not len(found):
            return []
        verb = "has" if len(found) == 1 else "have"
        message = (
            f"{len(found)} of {len(judgments)} items {verb} fewer than {FEW} judgments: {self.item_names(found)}."
        )
        return [Note("few-judgments", message)]

    def note_one_worker(self) -> list[Note]:
        """A note if all judgments come from one worker; of unknown ones nobody knows how many they are."""
        names = self.index.workers
        if names is None or len(names) != 1 or names[0] == UNKNOWN_WORKER:
            return []
        message = "All judgments come from one worker: they are one opinion, and cannot show how good it is."
        return [Note("one-worker", message)]

    def groups(self, part: NDArray[np.int32], rank: NDArray[np.int64]) -> NDArray[np.int64]:
        """The group of each node, the connected ``part`` as counted within its query; 1 has the best item."""
        first, own = np.unique(part, return_index=True, return_inverse=True)[1:]
        best = np.full(len(first), len(self.nodes))
        np.minimum.at(best, own, rank)
        query = self.nodes.query[first]
        order = np.lexsort((best, query))
        number = np.empty(len(first), np.int64)
        number[order] = np.arange(len(first)) - np.searchsorted(query[order], query[order]) + 1
        return number[own]

    def note_disconnected(self, part: NDArray[np.int32], verb: str = "compared") -> list[Note]:
        """A note if the nodes of a query fall into several connected parts."""
        pairs = np.unique(np.stack([self.nodes.query, part]), axis=1)
        parts_of = np.bincount(pairs[0])
        split = np.flatnonzero(parts_of > 1)
        if not len(split):
            return []
        if len(parts_of) == 1:
            message = (
                f"The comparisons fall into {parts_of[0]} groups of items that were never {verb} with "
                "each other. Compare scores and tiers only within a group: the order across groups means nothing."
            )
        else:
            message = (
                f"In {len(split)} of {len(parts_of)} queries, the comparisons fall into groups of items that "
                f"were never {verb} with each other. The order across groups means nothing."
            )
        return [Note("disconnected", message)]


def _quote(name: str) -> str:
    """An id as shown in a sentence, in quotes if it could be misread."""
    return json.dumps(name, ensure_ascii=False) if any(sign in name for sign in ',"\n\r') else name
