"""Borda: the mean share of wins against each opponent."""

from __future__ import annotations

import numpy as np

from crowdrank.data import summed
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.counting.contests import share_variance
from crowdrank.models.counting.shares import share_intervals
from crowdrank.prepared.votes import Votes


class Borda(VotesModel):
    """score_i = mean over opponents j of (wins of i over j + ties / 2) / comparisons of i and j.

    On complete rankings this is Borda's count divided by the number of opponents (Borda 1781): how
    often the item beats a random one of its opponents. The score is a share, from 0 to 1, and is not
    centered. Unlike in win-rate, an opponent met often counts no more than one met once.

    >>> import crowdrank as cr
    >>> ranking = cr.Borda().fit([("a", "b")] * 9 + [("c", "a"), ("c", "b"), ("b", "c")]).ranking_
    >>> dict(zip(ranking.item, ranking.score.tolist()))  # nine wins over b count as one opponent
    {'a': 0.5, 'b': 0.25, 'c': 0.75}
    """

    name = "borda"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        rows, n = votes.comparisons, len(votes.nodes)
        share, spread = rows.wins / (rows.wins + rows.losses), share_variance(rows)
        met = summed(rows.i, None, n) + summed(rows.j, None, n)
        safe = np.maximum(met, 1)
        score = (summed(rows.i, share, n) + summed(rows.j, 1 - share, n)) / safe
        variance = (summed(rows.i, spread, n) + summed(rows.j, spread, n)) / safe**2
        score, variance = np.where(met > 0, score, 0.5), np.where(met > 0, variance, 0.125)
        effective = np.clip(score * (1 - score), 0.01, None) / variance
        return share_intervals(votes, score, variance, effective=effective)
