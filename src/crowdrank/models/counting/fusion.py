"""Fusion of lists: the mean over lists of a fixed function of the place.

With r the place of an item in a list (1 is the best), and the mean over the lists that hold the item,

    rrf         score = mean of 1 / (k + r), and 0 in a list that does not rank it (Cormack et al. 2009)
    root-rank   score = - mean of r^power; power 1 is Borda's count, 1/2 makes a step at the top count for more.

Nothing is fitted: all lists count the same, and each copy of a list counts again.
"""

from __future__ import annotations

import numpy as np

from crowdrank.data import Floats
from crowdrank.models.base import ListsModel, Outcome, Run
from crowdrank.models.counting.places import mean_over_lists, places
from crowdrank.models.parameters import number
from crowdrank.prepared.list_parts import ListShard
from crowdrank.prepared.lists import Lists


class ReciprocalRank(ListsModel):
    """score_i = mean over lists of 1 / (k + place of i), 0 if it is not ranked (Cormack et al. 2009).

    ``k``: a larger k makes the first places stand out less; 60 is the usual value.

    >>> import crowdrank as cr
    >>> runs = {"list": [1, 1, 1, 2, 2, 2], "item": [*"abccbd"], "rank": [1, 2, 3] * 2}
    >>> ranking = cr.ReciprocalRank().fit(cr.read(runs, missing="below")).ranking_
    >>> ranking.frame()["item"].to_list()  # a and d are in one run only
    ['c', 'b', 'a', 'd']
    """

    name = "rrf"
    _sums_suffice = True

    def __init__(self, *, k: float = 60.0, seed: int = 0) -> None:
        self.k = k
        self.seed = seed

    def _fit(self, ready: Lists, run: Run) -> Outcome:
        k = number("k", self.k, low=0.0)

        def value(piece: ListShard) -> Floats:
            return np.where(piece.bottom, 0.0, 1.0 / (k + places(piece, ready)))

        return mean_over_lists(ready, value)


class RootRank(ListsModel):
    """score_i = - mean over lists of (place of i)^power.

    ``power``: by default 1/2, the square root. Items that a list does not rank share the mean of the places
    below those that it ranks.

    >>> import crowdrank as cr
    >>> lists = {"list": [1] * 4 + [2] * 4, "item": [*"abcdbcda"], "rank": [1, 2, 3, 4] * 2}
    >>> for power in (0.5, 1):
    ...     ranking = cr.RootRank(power=power).fit(lists).ranking_
    ...     dict(zip(ranking.item, ranking.score.round(2).tolist()))
    {'a': -1.5, 'b': -1.21, 'c': -1.57, 'd': -1.87}
    {'a': -2.5, 'b': -1.5, 'c': -2.5, 'd': -3.5}
    """

    name = "root-rank"
    _sums_suffice = True

    def __init__(self, *, power: float = 0.5, seed: int = 0) -> None:
        self.power = power
        self.seed = seed

    def _fit(self, ready: Lists, run: Run) -> Outcome:
        power = number("power", self.power, low=1e-6, high=10)
        return mean_over_lists(ready, lambda piece: -(places(piece, ready) ** power))
