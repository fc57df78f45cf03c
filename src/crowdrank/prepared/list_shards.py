"""Lists cut into shards for models of permutations, and the notes and checks that these models share."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, Resident, summed
from crowdrank.errors import FitError, Note, parameter
from crowdrank.kernels.kemeny import Squares
from crowdrank.kernels.plackett_luce import Orders
from crowdrank.kernels.segments import segment_of
from crowdrank.prepared.lists import Lists
from crowdrank.prepared.plan import cut


@dataclass(frozen=True, eq=False)
class ListShard(Resident):
    """Some lists: rows with ``node`` sorted by (list, level), and ``worker`` and ``weight`` per list.

    ``part``: the connected part of every node. ``first``: the number of the first list.
    """

    orders: Orders
    node: Integers
    worker: NDArray[np.int32] | None
    weight: Floats
    part: NDArray[np.int32]
    workers: int
    first: int

    @cached_property
    def list(self) -> Integers:
        """The list of each row, counted from 0."""
        return segment_of(self.orders.start)

    @cached_property
    def touched(self) -> Integers:
        """The nodes in these lists."""
        return np.unique(self.node)

    @cached_property
    def squares(self) -> Squares:
        """The cells of pairs of touched nodes, by their positions in ``touched``."""
        return Squares(np.unique(self.part[self.touched], return_inverse=True)[1].astype(np.int32))

    @cached_property
    def corner(self) -> tuple[Integers, Integers]:
        """Where the row of cells of each row's node begins, and the position of the node in a row of cells."""
        return self.squares.row[self.local], self.squares.place[self.local]

    @cached_property
    def local(self) -> Integers:
        """The position of the node of each row in ``touched``."""
        return np.searchsorted(self.touched, self.node)


def shards(lists: Lists) -> list[ListShard]:
    """Cut the lists into shards of whole lists."""
    return [
        ListShard(
            orders=Orders(
                lists.start[low : high + 1] - lists.start[low], lists.level[lists.start[low] : lists.start[high]]
            ),
            node=lists.node[lists.start[low] : lists.start[high]],
            worker=None if lists.worker is None else lists.worker[low:high],
            weight=lists.weight[low:high],
            part=lists.part,
            workers=lists.n_workers,
            first=low,
        )
        for low, high in cut(lists.start[1:])
    ]


def reverse_lists(lists: Lists, which: NDArray[np.bool_] | None = None) -> tuple[Lists, Integers]:
    """The same lists in reverse, last level first, and the original row of each row.

    ``which``: only these lists are reversed.
    """
    orders, rows = Orders(lists.start, lists.level).backwards
    chosen = np.ones(len(rows), bool) if which is None else which[lists.list]
    rows = np.where(chosen, rows, np.arange(len(rows)))
    more = copy(lists)
    more.node, more.bottom = lists.node[rows], lists.bottom[rows]
    more.level = np.where(chosen, orders.level, lists.level)
    return more, rows


def tie_share(lists: Lists) -> float:
    """The share of ties among the pairs of ranked items of a list, with half a pair added to each kind."""
    ranked = ~lists.bottom
    size = summed(lists.list[ranked], None, len(lists))
    group = np.cumsum((np.diff(lists.list, prepend=-1) != 0) | (np.diff(lists.level, prepend=-1) != 0)) - 1
    tied = summed(group[ranked], None, int(group[-1]) + 1)
    own = lists.weight[lists.list[np.unique(group, return_index=True)[1]]]
    ties, pairs = own @ (tied * (tied - 1) / 2), lists.weight @ (size * (size - 1) / 2)
    return float((ties + 0.5) / (pairs + 1.0))


def note_extremes(lists: Lists, *, regularized: bool) -> list[Note]:
    """Notes on items that no list ranks above another item, or below another item."""
    last = lists.level[lists.start[1:] - 1][lists.list]
    above, below = (
        summed(lists.node, chosen.astype(float), len(lists.nodes))
        for chosen in (lists.level < last, lists.level > 0)
    )
    return [
        *lists.note_never("winless", above, below, "{was} never ranked above another", regularized),
        *lists.note_never("unbeaten", below, above, "{was} never ranked below another", regularized),
    ]


def require_finite(lists: Lists) -> None:
    """Raise an error if the maximum is not finite without regularization.

    It is finite only if a chain of lists leads from each item up to every other item (Hunter 2004).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    orders, n = Orders(lists.start, lists.level), len(lists.nodes)
    groups = len(orders.begins) - 1
    below = np.flatnonzero(~orders.last[orders.group])  # from an item to its group's hub, then to the next group
    above = np.flatnonzero(lists.level > 0)
    rows = np.concatenate([lists.node[below], n + orders.group[above] - 1])
    columns = np.concatenate([n + orders.group[below], lists.node[above]])
    edges = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n + groups, n + groups))
    strong = connected_components(edges, connection="strong")[1][:n]
    apart = np.flatnonzero(np.bincount(strong)[strong] < np.bincount(lists.part)[lists.part])
    if len(apart):
        raise FitError(
            "Without regularization, the scores have no finite maximum: some items are always above or always "
            f"below the rest of their group: {lists.item_names(apart)}.",
            hint=("Use regularization > 0, for example ", parameter("regularization", 0.5)),
        )
