"""Lists cut into shards for models of permutations, and the notes and checks that these models share."""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Integers, summed
from crowdrank.errors import FitError, Note, parameter
from crowdrank.kernels.plackett_luce import Orders
from crowdrank.prepared.list_parts import ListFile
from crowdrank.prepared.list_parts import ListShard as ListShard
from crowdrank.prepared.lists import Lists


def shards(lists: Lists) -> list[ListShard | ListFile]:
    """Cut the lists into shards of whole lists."""
    return lists.shards()


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
    ties = pairs = 0.0
    for part in lists.pieces():
        ranked, orders = ~part.bottom, part.orders
        size = summed(part.list[ranked], None, len(part.weight))
        tied = summed(orders.group[ranked], None, len(orders.begins) - 1)
        own = part.weight[part.list[orders.begins[:-1]]]
        ties += float(own @ (tied * (tied - 1) / 2))
        pairs += float(part.weight @ (size * (size - 1) / 2))
    return float((ties + 0.5) / (pairs + 1.0))


def note_extremes(lists: Lists, *, regularized: bool) -> list[Note]:
    """Notes on items that no list ranks above another item, or below another item."""
    above, below = np.zeros(len(lists.nodes)), np.zeros(len(lists.nodes))
    for part in lists.pieces():
        level = part.orders.level
        above += np.bincount(part.node[level < part.last], minlength=len(above))
        below += np.bincount(part.node[level > 0], minlength=len(below))
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
