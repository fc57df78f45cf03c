"""gamma by gold pairs: the value that orders them best when recorded votes are replayed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdrank.data.arrays import Integers
from crowdrank.models.pairs.online_crowd_bt import OnlineCrowdBT
from crowdrank.results import QUALITY
from crowdrank.select.loop import Loop
from crowdrank.select.policy import Policy
from crowdrank.select.pool import Pool
from crowdrank.select.recorded import Recorded

CANDIDATES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
MOST_VOTES = 2_000
"""Replays stop after this many votes."""


def gamma_by_gold(votes: Recorded, gold: Integers, policy: Policy, *, seed: int = 0) -> Policy:
    """The policy with the gamma under which a replay orders the gold pairs (better, worse) best on average.

    Of equally good ones, the smallest is taken.
    """
    areas = [_area(votes, gold, replace(policy, gamma=gamma), seed) for gamma in CANDIDATES]
    return replace(policy, gamma=CANDIDATES[int(np.argmax(areas))])


def _area(votes: Recorded, gold: Integers, policy: Policy, seed: int) -> float:
    """The mean share of gold pairs in the right order, over the replay of half of the votes."""
    budget = max(min(len(votes.left) // 2, MOST_VOTES), 1)
    model = OnlineCrowdBT(variance=1.0, prior=QUALITY)
    loop = Loop(votes.items, votes.judges, policy, model=model, seed=seed, ties=votes.ties)
    pool = Pool(votes, policy, seed=seed, budget=budget)
    total = 0.0
    for _ in range(budget):
        vote = pool.take(loop.live_beliefs())
        assert vote is not None
        loop.record(*vote)
        score = loop.desk.mean
        total += float(np.mean(0.5 + 0.5 * np.sign(score[gold[:, 0]] - score[gold[:, 1]])))
    return total / budget
