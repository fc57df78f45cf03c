"""Shares of wins as scores: intervals, ranks and tiers of scores that are counted, not fitted."""

from __future__ import annotations

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.models.base import Outcome
from crowdrank.prepared.votes import Votes
from crowdrank.results import LEVEL, Z
from crowdrank.solve import Independent, spread


def share_intervals(votes: Votes, share: Floats, variance: Floats, *, effective: Floats) -> Outcome:
    """The outcome for shares, with Wilson's interval; ``effective``: the comparisons behind each share."""
    graph = votes.graph
    placed = spread(
        share, Independent(variance), votes.nodes.query, graph.members(),
        level=LEVEL, tie_break=graph.wins, centered=False,
    )  # fmt: skip
    center = (share * effective + Z * Z / 2) / (effective + Z * Z)
    half = Z * np.sqrt(share * (1 - share) * effective + Z * Z / 4) / (effective + Z * Z)
    low, high = np.clip(center - half, 0.0, share), np.clip(center + half, share, 1.0)
    result = placed.with_scores(share, np.sqrt(variance), low, high)
    return Outcome(result, votes.agreement(share), notes=tuple(votes.notes(regularized=False)))
