"""The places of items in lists, and means over the lists of a function of the place."""

from __future__ import annotations

import numpy as np

from crowdrank.data import Floats, summed
from crowdrank.models.base import Outcome
from crowdrank.prepared.lists import Lists
from crowdrank.results import LEVEL
from crowdrank.solve import Independent, spread


def places(lists: Lists) -> Floats:
    """The place of each row, from 1, on the scale of all items of its query.

    Tied items share the mean of their places. In a list of m of n items the place p becomes
    n (p - 1/2) / m + 1/2, which is p itself if the list holds all items.
    """
    group = lists.group
    row = np.arange(len(lists.node)) - lists.start[lists.list] + 1.0
    own = summed(group, row, int(group[-1]) + 1) / np.bincount(group)
    items = np.bincount(lists.nodes.query)[lists.query][lists.list]
    return items * (own[group] - 0.5) / lists.size[lists.list] + 0.5


def mean_over_lists(lists: Lists, value: Floats, worker_weight: Floats | None = None) -> Outcome:
    """Items by the mean of a row's value over the lists that hold them; larger is better.

    ``worker_weight``: the weight of each worker's lists. The standard error is that of a mean of independent
    lists, with one list's worth of the overall variance added, so that two lists that happen to agree do not
    look like certainty.
    """
    weight, count = lists.weight[lists.list], len(lists.nodes)
    if worker_weight is not None and lists.worker is not None:
        own = worker_weight[lists.worker[lists.list]]
        weight = weight * own * (weight.sum() / (weight * own).sum())  # as many lists as before
    total = summed(lists.node, weight, count)
    known = total > 0
    safe = np.where(known, total, 1.0)
    middle = float((weight * value).sum() / weight.sum())
    score = np.where(known, summed(lists.node, weight * value, count) / safe, middle)
    squares = summed(lists.node, weight * (value - score[lists.node]) ** 2, count)
    overall = float((weight * (value - middle) ** 2).sum() / weight.sum())
    variance = np.where(known, (squares + overall) / (safe * (safe + 1.0)), overall)
    placed = spread(score, Independent(variance), lists.nodes.query, lists.members(), level=LEVEL)
    result = placed.with_scores(score, np.sqrt(variance))
    return Outcome(result, lists.agreement(score), notes=tuple(lists.notes()))
