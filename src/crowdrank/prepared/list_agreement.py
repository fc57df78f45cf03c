"""How often workers order a pair of items in the same way.

Let u_w(i, j) be how many lists of worker w put i above j. Over the pairs of items of every query,

    same(v, w) = sum u_v(i, j) u_w(i, j),      both(v, w) = sum [u_v(i, j) + u_v(j, i)] [u_w(i, j) + u_w(j, i)] / 2

with sums over ordered pairs (i, j): each pair of a list of v and a list of w counts once.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers
from crowdrank.prepared.list_parts import ListShard
from crowdrank.results import Agreement

MOST_WORKERS, MOST_ITEMS, MOST_ROWS = 40, 60, 50_000
"""How many workers, of each query how many items, and how many rows of lists are looked at."""


def worker_agreement(pieces: Iterable[ListShard], worker: NDArray[np.int32], workers: int) -> Agreement | None:
    """The agreement of the workers with the most lists, on the first rows of their lists; None for one worker."""
    chosen = np.sort(np.argsort(-np.bincount(worker, minlength=workers), kind="stable")[:MOST_WORKERS])
    if len(chosen) < 2:
        return None
    place = np.full(workers, -1)
    place[chosen] = np.arange(len(chosen))
    both, same = np.zeros((2, len(chosen), len(chosen)))
    query, own, node, level, number = _rows(pieces, place)
    order = np.argsort(query, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(query[order])) + 1):
        above = _count_above(own[rows], node[rows], level[rows], number[rows], len(chosen))
        flat, either = above.reshape(len(chosen), -1), (above + above.transpose(0, 2, 1)).reshape(len(chosen), -1)
        same += flat @ flat.T
        both += either @ either.T / 2.0
    return Agreement(chosen, both, same)


def _rows(pieces: Iterable[ListShard], place: Integers) -> tuple[Integers, ...]:
    """query, worker, node, level and list of the rows of the chosen workers, whose ``place`` is not -1."""
    parts, count = [], 0
    for piece in pieces:
        if count >= MOST_ROWS or piece.worker is None:
            break
        own = place[piece.worker][piece.list]
        kept = np.flatnonzero(own >= 0)[: MOST_ROWS - count]
        of = piece.list[kept]
        parts.append((piece.query[of], own[kept], piece.node[kept], piece.orders.level[kept], piece.first + of))
        count += len(kept)
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _count_above(own: Integers, node: Integers, level: Integers, number: Integers, workers: int) -> Floats:
    """How many lists of each worker put an item above another (W, n, n), for the items in the most lists."""
    items, item, counts = np.unique(node, return_inverse=True, return_counts=True)
    common = np.sort(np.argsort(-counts, kind="stable")[:MOST_ITEMS])
    seat = np.full(len(items), -1)
    seat[common] = np.arange(len(common))
    above, item = np.zeros((workers, len(common), len(common))), seat[item]
    for rows in np.split(np.arange(len(number)), np.flatnonzero(np.diff(number)) + 1):
        seen = rows[item[rows] >= 0]
        if len(seen) > 1:
            above[own[seen[0]]][np.ix_(item[seen], item[seen])] += np.less.outer(level[seen], level[seen])
    return above
