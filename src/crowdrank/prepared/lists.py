"""Ranked lists prepared for a model: rows by list, best first, with levels for ties."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, Nodes, Rankings, add_by_code, named_nodes, node_codes, summed
from crowdrank.errors import InputError, Note, count_noun
from crowdrank.kernels.kendall import agreements
from crowdrank.kernels.plackett_luce import Orders
from crowdrank.kernels.segments import segment_of
from crowdrank.prepared.list_agreement import worker_agreement
from crowdrank.prepared.list_parts import ListFile, ListShard
from crowdrank.prepared.plan import cut
from crowdrank.prepared.subjects import Subjects
from crowdrank.results import Evidence, Workers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from crowdrank.data.arrays import Ints
    from crowdrank.data.ids import Backend
    from crowdrank.data.index import Index

BLOCK = 1 << 11


class Lists(Subjects):
    """Lists as rows sorted by (list, level, node).

    ``level`` counts from 0 (the best) without gaps, and equal levels are tied. ``bottom`` marks the items that a
    list does not rank, if these count as below: they share its last level, with no order among them. The rows of
    list l are ``start[l]:start[l + 1]``. ``worker``, ``query`` and ``weight`` have one entry per list, and so has
    ``number``, the number of the list in the table. A list that orders nothing is left out. ``pieces`` gives the
    same rows in shards of whole lists.
    """

    index: Index
    backend: Backend
    missing: str
    nodes: Nodes
    lists_given: int
    number: Integers
    start: Integers
    node: Integers
    level: Integers
    bottom: NDArray[np.bool_]
    query: Ints
    worker: Ints | None
    weight: Floats

    def __init__(self, rankings: Rankings) -> None:
        self.index, self.backend, self.missing = rankings.index, rankings.backend, rankings.missing
        self.nodes = named_nodes(len(self.index.items), rankings.query, rankings.item)
        rows = order_rows(rankings.complete(), self.nodes)
        self.lists_given, self.number, self.start = rows.given, rows.number, rows.start
        self.list: Integers = segment_of(rows.start)
        self.node, self.level, self.bottom = rows.node, rows.level, rows.bottom
        self.query, self.worker, self.weight = rows.query, rows.worker, rows.weight
        self._require_lists(rankings.notes)

    def _require_lists(self, notes: tuple[Note, ...]) -> None:
        if not len(self):
            raise _no_order(notes)

    def __len__(self) -> int:
        return len(self.start) - 1

    def shards(self) -> list[ListShard | ListFile]:
        """The lists in shards."""
        return [self._shard(low, high, self.part) for low, high in cut(self.start[1:])]

    def pieces(self) -> Iterator[ListShard]:
        """The rows of the shards, one after the other, without the connected parts."""
        return (self._shard(low, high, None).load() for low, high in cut(self.start[1:]))

    def _shard(self, low: int, high: int, part: NDArray[np.int32] | None) -> ListShard | ListFile:
        rows = slice(self.start[low], self.start[high])
        return ListShard(
            orders=Orders(self.start[low : high + 1] - self.start[low], self.level[rows]),
            node=self.node[rows],
            bottom=self.bottom[rows],
            worker=None if self.worker is None else self.worker[low:high],
            query=self.query[low:high],
            weight=self.weight[low:high],
            part=np.empty(0, np.int32) if part is None else part,
            workers=self.n_workers,
            first=low,
        )

    @property
    def size(self) -> Integers:
        """The number of rows of each list."""
        return np.diff(self.start)

    @cached_property
    def group(self) -> Integers:
        """The number of the tied group of each row, over all lists. A row without ties is its own group."""
        new = (np.diff(self.list, prepend=-1) > 0) | (np.diff(self.level, prepend=-1) != 0)
        return np.asarray(np.cumsum(new) - 1)

    @cached_property
    def incidence(self) -> csr_array:
        """Which list contains which node (lists, nodes)."""
        from scipy.sparse import csr_array

        return csr_array((np.ones(len(self.node)), self.node, self.start), shape=(len(self), len(self.nodes)))

    @cached_property
    def part(self) -> NDArray[np.int32]:
        """The connected part of each node. A list connects its items."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        leader = self.node[self.start[:-1]][self.list]
        count = len(self.nodes)
        edges = coo_array((np.ones(len(self.node), np.int8), (leader, self.node)), shape=(count, count))
        part: NDArray[np.int32] = connected_components(edges, directed=False)[1]
        return part

    @cached_property
    def judgments_of_nodes(self) -> Floats:
        """The weight of the lists that contain each node."""
        total = np.zeros(len(self.nodes))
        for part in self.pieces():
            add_by_code(total, part.node, part.weight[part.list])
        return total

    def parts(self) -> list[Integers]:
        """The nodes of each connected part."""
        order = np.argsort(self.part, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.part))[:-1])

    def notes(self) -> list[Note]:
        """What the user should know about these lists before trusting a ranking."""
        notes = [*self._note_unordered(), *self._note_below()]
        found = np.flatnonzero(self.judgments_of_nodes == 0)
        if len(found):
            verb = "item was" if len(found) == 1 else "items were"
            message = f"{len(found)} {verb} compared with no other item: {self.item_names(found)}."
            notes.append(Note("unjudged", message))
        return [
            *notes,
            *self.note_disconnected(self.part, "ranked in one list"),
            *self.note_few(self.judgments_of_nodes),
            *self.note_one_worker(),
        ]

    def _note_unordered(self) -> list[Note]:
        lost = self.lists_given - len(self)
        if not lost:
            return []
        words = "list orders" if lost == 1 else "lists order"
        return [Note("empty-lists", f"{lost} {words} nothing and {'is' if lost == 1 else 'are'} left out.")]

    def _note_below(self) -> list[Note]:
        short = sum(len(np.unique(part.list[part.bottom])) for part in self.pieces())
        if not short:
            return []
        of = f"of {count_noun(len(self), 'list')} "
        message = (
            f"{count_noun(short, of + 'does', of + 'do')} not rank every item of their query. Their unranked "
            "items count as below the ranked ones (missing=below)."
        )
        return [Note("missing", message)]

    def agreement(self, scores: Floats) -> Workers | None:
        """For models without worker parameters: the share of pairs that each worker orders as the scores do.

        A pair of equal scores is half an agreement. The pairs of a list depend on each other, so a list of m items
        counts as m - 1 judgments in the Jeffreys interval.
        """
        if self.worker is None:
            return None
        shares = []
        for part in self.pieces():
            ordered, alike = agreements(part.orders.level, -scores[part.node], part.orders.start)
            shares.append(alike / np.maximum(ordered, 1.0))
        share = np.concatenate(shares)
        judged = self.weight * (self.size - 1)
        total = summed(self.worker, judged, self.n_workers)
        return self.workers_by_agreement(summed(self.worker, judged * share, self.n_workers), total)

    def evidence(self, rank: Integers) -> Evidence:
        """The weight of the lists of each node, and of the lists that two nodes share."""
        side, place, most = self.squares(rank)
        place, cells = (np.cumsum(side) - side)[self.nodes.query] + place, np.zeros(most)
        for part in self.pieces():
            cells += _meetings(part, place, side, most)
        between = None if self.worker is None else worker_agreement(self.pieces(), self.worker, self.n_workers)
        return Evidence(self.judgments_of_nodes, self._opponents(), self.part, side, cells, "lists", between)

    def _opponents(self) -> Integers:
        """How many other nodes each node shares a list with. Nodes of the same lists have the same ones."""
        from scipy.sparse import csr_array

        kind, first = self._kinds()
        size = np.bincount(kind)
        columns = self.incidence.tocsc()[:, first]
        rows = csr_array(columns)
        found = np.zeros(len(size), np.int64)
        for begin in range(0, len(found), BLOCK):
            together = (columns[:, begin : begin + BLOCK].T @ rows).tocsr()
            together.data[:] = 1.0
            found[begin : begin + BLOCK] = together @ size
        return np.maximum(found - 1, 0)[kind]

    def _kinds(self) -> tuple[Integers, Integers]:
        """The kind of each node, equal for nodes that are in the same lists, and the first node of each kind."""
        columns = self.incidence.tocsc()
        start, degree = columns.indptr, np.diff(columns.indptr)
        kind, first = np.zeros(len(degree), np.int64), list[Integers]()
        for size in np.unique(degree):
            nodes = np.flatnonzero(degree == size)
            lists = columns.indices[start[nodes][:, None] + np.arange(size)]
            _, found, number = np.unique(lists, axis=0, return_index=True, return_inverse=True)
            kind[nodes] = sum(len(own) for own in first) + number.ravel()
            first.append(nodes[found])
        return kind, np.concatenate(first)


def _meetings(part: ListShard, place: Integers, side: Integers, cells: int) -> Floats:
    """The weight of the lists in which two positions of a query's ranking meet, above the diagonal.

    There is one square per query, one after the other, up to ``cells`` cells in total.
    """
    from scipy.sparse import csr_array

    total = int(side.sum())
    where = (part.list, place[part.node])
    weight = part.weight[part.list]
    held, weighted = (
        csr_array((values, where), shape=(len(part.weight), total)) for values in (np.ones(len(weight)), weight)
    )
    met = (held.T @ weighted).tocoo()
    alone = summed(place[part.node], weight, total)
    weight, (row, column) = met.data, met.coords
    weight = np.where(row == column, (weight - alone[row]) / 2.0, weight)  # a node does not meet itself
    query = np.repeat(np.arange(len(side)), side)[row]
    offset, start = (np.cumsum(length) - length for length in (side, side**2))
    cell = start[query] + (row - offset[query]) * side[query] + column - offset[query]
    kept = (row <= column) & (cell < cells)
    return summed(cell[kept], weight[kept], cells)


class ListColumns(NamedTuple):
    """Lists that order something, as columns of ``Lists``; ``given``: how many there were."""

    number: Integers
    start: Integers
    node: Integers
    level: Integers
    bottom: NDArray[np.bool_]
    query: NDArray[np.int32]
    worker: NDArray[np.int32] | None
    weight: Floats
    given: int


def order_rows(table: Rankings, nodes: Nodes) -> ListColumns:
    """The rows of complete lists, sorted by (list, level, node)."""
    node = node_codes(nodes, table.index, table.query, table.item)
    height = np.where(table.ranked, table.rank, np.inf)
    order = np.lexsort((node, height, table.list))
    own, height = table.list[order], height[order]
    new_list = np.diff(own, prepend=-1) > 0
    step = new_list | np.concatenate([[False], height[1:] > height[:-1]])
    climbed = np.cumsum(step)
    place = np.cumsum(new_list) - 1
    level = climbed - climbed[new_list][place]
    orders = np.bincount(place, level > 0) > 0
    kept = orders[place]
    rows, first = order[kept], order[new_list][orders]
    sizes = np.bincount(place)
    total = summed(place, table.weight[order] if table.weight is not None else None, len(orders))
    return ListColumns(
        number=own[new_list][orders].astype(np.int64),
        start=np.concatenate([[0], np.cumsum(sizes[orders])]),
        node=node[rows],
        level=level[kept],
        bottom=~table.ranked[rows],
        query=nodes.query[node[first]],
        worker=None if table.worker is None else table.worker[first],
        weight=(total / sizes)[orders],  # the mean weight of its rows
        given=len(orders),
    )


def _no_order(notes: tuple[Note, ...]) -> InputError:
    """The error if no list orders two items, with the reason if reading has noted it."""
    for note in notes:
        if note.code in ("one-rank", "worker-per-row"):
            return InputError(f"No list orders two items. {note.message}", hint=note.hint)
    return InputError("No list orders two items.", hint="A list is one (query, worker) with at least two items.")
