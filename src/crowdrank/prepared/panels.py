"""Votes by query and worker, in shards of whole queries: everything about a query stays in one shard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from crowdrank.data import Floats, Integers, Ints, summed
from crowdrank.data.arrays import Resident
from crowdrank.prepared.blocks import QueryBlock, blocks
from crowdrank.prepared.comparisons import join_rows
from crowdrank.prepared.plan import cut
from crowdrank.prepared.votes import Votes

WIDTH = 8
"""How many numbers each row needs: one likelihood for each size of a worker's expertise."""


class PanelCells(NamedTuple):
    """Every query and worker with votes, and the weight of these votes."""

    query: Integers
    worker: Integers
    weight: Floats


class Couples(NamedTuple):
    """Every judged pair of items: its nodes and its query. ``row`` is the pair of each row."""

    i: Integers
    j: Integers
    query: Integers
    row: Integers


@dataclass(frozen=True, eq=False)
class Panel(Resident):
    """The votes of some whole queries, with one row per (query, worker, i, j), in that order.

    ``i`` and ``j`` count the nodes of the shard from 0, and its first node is node ``first`` of all nodes.
    ``query`` (per node) counts its ``queries`` from 0, and its first query is query ``first_query`` of all.
    ``wins`` are those of i over j, ``losses`` those of j over i. A tie is half a win and half a loss.
    """

    first: int
    first_query: int
    queries: int
    query: Integers
    i: Integers
    j: Integers
    worker: Ints
    wins: Floats
    losses: Floats

    def __len__(self) -> int:
        return len(self.i)

    @property
    def nodes(self) -> slice:
        """The positions of its nodes among all nodes."""
        return slice(self.first, self.first + len(self.query))

    @cached_property
    def cell(self) -> Integers:
        """The cell of each row. Rows of one worker within one query share a cell."""
        begins = (np.diff(self.query[self.i], prepend=-1) != 0) | (np.diff(self.worker, prepend=-1) != 0)
        return np.cumsum(begins) - 1

    @cached_property
    def starts(self) -> Integers:
        """The first row of each cell."""
        return np.flatnonzero(np.diff(self.cell, prepend=-1))

    @cached_property
    def cells(self) -> PanelCells:
        """Its cells, by query and worker."""
        weight = summed(self.cell, self.wins + self.losses, len(self.starts))
        return PanelCells(self.query[self.i[self.starts]], self.worker[self.starts].astype(np.int64), weight)

    @cached_property
    def couples(self) -> Couples:
        """Its pairs of items. What the model says about a pair is the same for all workers."""
        pairs, row = np.unique(self.i * len(self.query) + self.j, return_inverse=True)
        i, j = np.divmod(pairs, max(len(self.query), 1))
        return Couples(i, j, self.query[i], row)

    @cached_property
    def votes(self) -> Any:
        """The wins of i over j, then those of j over i, for each cell and pair: a sparse matrix (C, 2 P)."""
        from scipy.sparse import csr_array

        count = len(self.couples.i)
        row, lost = np.nonzero(np.stack([self.wins, self.losses], axis=1))
        weight = np.where(lost, self.losses[row], self.wins[row])
        place = self.couples.row[row] + count * lost
        return csr_array((weight, (self.cell[row], place)), shape=(len(self.starts), 2 * count))

    @cached_property
    def of_queries(self) -> Any:
        """1 if the cell belongs to the query: a sparse matrix (q, C)."""
        return _membership(self.cells.query, self.queries)

    @cached_property
    def of_workers(self) -> Any:
        """1 if the cell belongs to the worker: a sparse matrix (workers up to the last one of the shard, C)."""
        return _membership(self.cells.worker, int(self.worker.max(initial=-1)) + 1)

    @cached_property
    def blocks(self) -> list[QueryBlock]:
        """Its queries, grouped by size."""
        return list(blocks(self.query, self.couples.i, self.couples.j))


def _membership(owner: Integers, owners: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(owners, len(owner)))


def panels(votes: Votes) -> list[Panel]:
    """The votes in shards of whole queries."""
    counted = join_rows(list(votes.count_votes("worker")))
    query = votes.nodes.query[counted.i]
    assert counted.worker is not None
    order = np.lexsort((counted.j, counted.i, counted.worker, query))
    counted, query = counted.take(order), query[order]
    sizes = np.bincount(votes.nodes.query)
    ends, nodes = np.cumsum(np.bincount(query, minlength=len(sizes))), np.concatenate([[0], np.cumsum(sizes)])
    shards: list[Panel] = []
    for begun, after in cut(ends, width=WIDTH):
        own = counted.take(slice(ends[begun - 1] if begun else 0, ends[after - 1]))
        first, last = nodes[begun], nodes[after]
        assert own.worker is not None
        shards.append(
            Panel(
                first=int(first),
                first_query=begun,
                queries=after - begun,
                query=votes.nodes.query[first:last].astype(np.int64) - begun,
                i=own.i.astype(np.int64) - first,
                j=own.j.astype(np.int64) - first,
                worker=own.worker,
                wins=own.wins,
                losses=own.losses,
            )
        )
    return shards
