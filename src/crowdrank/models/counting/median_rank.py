"""Median rank: the median of the places that an item has in the lists."""

from __future__ import annotations

import numpy as np

from crowdrank.data import Floats, Integers, summed
from crowdrank.models.base import ListsModel, Outcome, Run
from crowdrank.models.counting.places import places
from crowdrank.prepared.lists import Lists
from crowdrank.results import LEVEL, Z
from crowdrank.solve import Independent, spread

FEW_LISTS = 5
"""All n lists fall on one side of the median with probability 2 / 2^n: above 0.1 if there are fewer."""


class MedianRank(ListsModel):
    """score_i = - median over the lists of the place of i (Fagin et al. 2003).

    The sum of Spearman's footrule distances from this order to the lists is within a constant factor of the
    least possible sum. Equal medians are ordered by the mean place. The interval lies between the order
    statistics that hold the median with probability 0.9. With fewer than 5 lists none do, and the interval
    covers all places.

    >>> import crowdrank as cr
    >>> lists = {"list": [1, 1, 1, 2, 2, 2, 3, 3, 3], "item": [*"abcabccba"], "rank": [1, 2, 3] * 3}
    >>> ranking = cr.MedianRank().fit(lists).ranking_
    >>> dict(zip(ranking.item, ranking.score.tolist()))  # the third list, in reverse, changes nothing
    {'a': -1.0, 'b': -2.0, 'c': -3.0}
    """

    name = "median-rank"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def _fit(self, ready: Lists, run: Run) -> Outcome:
        place = np.concatenate([places(piece, ready) for piece in ready.pieces()])
        count, weight = len(ready.nodes), ready.weight[ready.list]
        order = np.lexsort((place, ready.node))
        total = ready.judgments_of_nodes
        half = Z * np.sqrt(total) / 2.0
        middle, low, high = (
            _quantiles(ready.node[order], place[order], weight[order], total, share)
            for share in (total / 2.0, total / 2.0 - half, total / 2.0 + half)
        )
        unknown = total == 0
        sizes = np.bincount(ready.nodes.query)[ready.nodes.query]
        middle, low, high = (
            np.where(unknown, own, found)
            for own, found in (((sizes + 1) / 2.0, middle), (np.ones(count), low), (sizes + 0.0, high))
        )
        few = total < FEW_LISTS  # too few lists to hold the median with that probability
        low, high = np.where(few, 1.0, low), np.where(few, sizes, high)
        stderr = np.maximum((high - low) / (2 * Z), 0.5 / np.sqrt(np.maximum(total, 1.0)))
        mean = np.where(unknown, middle, summed(ready.node, weight * place, count) / np.where(unknown, 1.0, total))
        found = spread(
            -middle, Independent(stderr**2), ready.nodes.query, ready.parts(),
            level=LEVEL, tie_break=-mean, centered=False,
        )  # fmt: skip
        result = found.with_scores(-middle, stderr, np.minimum(-high, -middle), np.maximum(-low, -middle))
        return Outcome(result, ready.agreement(-middle), notes=tuple(ready.notes()))


def _quantiles(node: Integers, place: Floats, weight: Floats, total: Floats, share: Floats) -> Floats:
    """The place at which the weight of each node's sorted places reaches ``share``; the mean of two on a tie."""
    begun = np.cumsum(weight) - weight - (np.cumsum(total) - total)[node]
    share = np.clip(share, 0.0, total)
    found = []
    for within in (begun + weight > share[node] * (1 + 1e-12), begun + weight >= share[node] * (1 - 1e-12)):
        chosen = np.full(len(total), np.nan)
        rows = np.flatnonzero(within)[::-1]
        chosen[node[rows]] = place[rows]  # the first such row of each node
        last = np.flatnonzero(np.diff(node, append=-1))
        missing = np.isnan(chosen[node[last]])
        chosen[node[last][missing]] = place[last][missing]
        found.append(chosen)
    return np.asarray((found[0] + found[1]) / 2.0)
