"""Win rate: the share of its comparisons that an item won."""

from __future__ import annotations

import numpy as np

from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.counting.contests import share_variance
from crowdrank.models.counting.shares import share_intervals
from crowdrank.prepared.votes import Votes


class WinRate(VotesModel):
    """score_i = (wins_i + ties_i / 2) / comparisons_i, with Wilson's interval (level 0.9).

    Ignores who the opponents were, so it is fair only if everything was compared with everything. The score
    is the share itself, from 0 to 1, and is not centered.

    >>> import crowdrank as cr
    >>> votes = [("a", "b", "a"), ("a", "c", "a"), ("a", "b", "tie"), ("b", "c", "c")]
    >>> cr.WinRate().fit(votes).ranking_
    Ranking: 3 items
    rank  ranks   item  score    low   high
       1  1 to 2  a     0.833  0.374  0.977
       2  1 to 3  c     0.500  0.121  0.879
       3  2 to 3  b     0.167  0.023  0.626
    """

    name = "win-rate"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        wins, games = votes.graph.wins, votes.graph.wins + votes.graph.losses
        safe = np.maximum(games, 1e-300)
        share = np.where(games > 0, wins / safe, 0.5)
        return share_intervals(votes, share, share_variance(votes.graph), effective=games)
