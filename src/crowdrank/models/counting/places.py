"""The places of items in lists, and means over the lists of a function of the place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdrank.data import Floats, add_by_code, summed
from crowdrank.models.base import Outcome
from crowdrank.prepared.list_parts import ListShard
from crowdrank.prepared.lists import Lists
from crowdrank.results import LEVEL
from crowdrank.solve import Independent, spread


def places(piece: ListShard, lists: Lists) -> Floats:
    """The place of each row, from 1, on the scale of all items of its query.

    Tied items share the mean of their places. In a list of m of n items the place p becomes
    n (p - 1/2) / m + 1/2, which is p itself if the list holds all items.
    """
    group = piece.orders.group
    row = np.arange(len(piece.node)) - piece.orders.start[piece.list] + 1.0
    own = summed(group, row, int(group[-1]) + 1) / np.bincount(group)
    items = np.bincount(lists.nodes.query)[piece.query][piece.list]
    return np.asarray(items * (own[group] - 0.5) / piece.size[piece.list] + 0.5)


def mean_over_lists(
    lists: Lists, value: Callable[[ListShard], Floats], worker_weight: Floats | None = None
) -> Outcome:
    """Items by the mean of a row's value over the lists that hold them; larger is better.

    ``value`` gives that of each row of a shard. ``worker_weight``: the weight of each worker's lists. The standard
    error is that of a mean of independent lists, with one list's worth of the overall variance added, so that two
    lists that happen to agree do not look like certainty.
    """
    weight, count = lists.weight, len(lists.nodes)
    every = float(weight @ lists.size)
    if worker_weight is not None and lists.worker is not None:
        weight = weight * worker_weight[lists.worker]
        weight = weight * (every / float(weight @ lists.size))  # as many lists as before
    total, score, squares = np.zeros(count), np.zeros(count), np.zeros(count)
    middle = overall = 0.0
    for piece in lists.pieces():
        own = weight[piece.lists][piece.list]
        add_by_code(total, piece.node, own)
        found = own * value(piece)
        add_by_code(score, piece.node, found)
        middle += float(found.sum()) / every
    known = total > 0
    safe = np.where(known, total, 1.0)
    score = np.where(known, score / safe, middle)
    for piece in lists.pieces():
        own, found = weight[piece.lists][piece.list], value(piece)
        add_by_code(squares, piece.node, own * (found - score[piece.node]) ** 2)
        overall += float((own * (found - middle) ** 2).sum()) / every
    variance = np.where(known, (squares + overall) / (safe * (safe + 1.0)), overall)
    placed = spread(score, Independent(variance), lists.nodes.query, lists.parts(), level=LEVEL, centered=False)
    result = placed.with_scores(score, np.sqrt(variance))
    return Outcome(result, lists.agreement(score), notes=tuple(lists.notes()))
