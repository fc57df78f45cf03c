"""Shares of wins as a result: intervals, ranks and tiers of scores that are counted, not fitted."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.models.base import Outcome
from crowdrank.models.votes import Votes
from crowdrank.results import LEVEL
from crowdrank.solve import Independent, spread


def share_intervals(votes: Votes, share: Floats, variance: Floats, *, effective: Floats) -> Outcome:
    """The outcome for shares that rest on ``effective`` comparisons each: Wilson's interval."""
    graph = votes.graph
    sizes = np.bincount(votes.nodes.query)  # nodes are sorted by query
    queries = np.split(np.arange(len(votes.nodes)), np.cumsum(sizes)[:-1])
    placed = spread(share, Independent(variance), votes.nodes.query, queries, level=LEVEL, tie_break=graph.wins)
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    centre = (share * effective + z * z / 2) / (effective + z * z)
    half = z * np.sqrt(share * (1 - share) * effective + z * z / 4) / (effective + z * z)
    result = replace(
        placed,
        score=share,
        stderr=np.sqrt(variance),
        low=np.clip(centre - half, 0.0, share),
        high=np.clip(centre + half, share, 1.0),
    )
    return Outcome(result, votes.agreement(share), notes=tuple(votes.notes(regularised=False)))
