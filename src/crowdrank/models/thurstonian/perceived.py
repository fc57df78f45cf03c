"""EM for the Thurstonian ranking model with perceived scores drawn by Gibbs sampling (TPP paper, appendix B).

    E step, eq. 27:  s_i^(k) ~ N(u_i, 1) within (largest of the level below, smallest of the level above)
    M step, eq. 18:  u_i = the mean of s_i^(k) over the lists that hold i, shrunk by the prior

Eq. 19 has nothing to estimate, because scores are in units of the noise. Given all other levels, the items of a
level are independent, so all even levels are drawn at once, then all odd ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.data import Floats, summed
from crowdrank.engine import Stats
from crowdrank.kernels.plackett_luce import Orders
from crowdrank.kernels.truncated import draw_truncated
from crowdrank.models.base import Run
from crowdrank.models.priors import VirtualNode
from crowdrank.prepared.list_shards import ListShard, shards
from crowdrank.prepared.lists import Lists
from crowdrank.random import uniforms
from crowdrank.solve import rounds


@dataclass(frozen=True, eq=False)
class PerceivedSweep:
    """The number and seed of a sweep, and the ``scores`` that it starts from."""

    scores: Floats
    round: int
    seed: int


@dataclass(frozen=True, eq=False)
class PerceivedTotals(Stats):
    """The sum of the perceived scores of each node, weighted by list."""

    scores: Floats


class PerceivedSums:
    """Sweeps over a shard. Its state is the perceived score of each row."""

    def start(self, shard: ListShard, seed: int) -> Floats:
        """Perceived scores in the order of the list, 1 apart."""
        return -shard.orders.level.astype(float)

    def sweep(self, shard: ListShard, at: PerceivedSweep, state: Floats) -> tuple[PerceivedTotals, Floats]:
        """Draw all perceived scores once."""
        place = np.arange(len(shard.node)) - shard.orders.start[shard.list]
        keys = (np.full(len(place), at.round), shard.first + shard.list, place)
        uniform = uniforms(keys, at.seed)
        mean, seen = at.scores[shard.node], np.array(state)
        for odd in (0, 1):
            rows = np.flatnonzero(shard.orders.level % 2 == odd)
            low, high = _neighbor_bounds(seen, shard.orders)
            group = shard.orders.group[rows]
            seen[rows] = draw_truncated(uniform[rows], low[group], high[group], mean[rows])
        weight = shard.weight[shard.list]
        return PerceivedTotals(summed(shard.node, weight * seen, len(shard.part))), seen


def _neighbor_bounds(seen: Floats, orders: Orders) -> tuple[Floats, Floats]:
    """For each group, the largest score of the group below and the smallest of the group above."""
    begins = orders.begins[:-1]
    low, high = np.full(len(begins), -np.inf), np.full(len(begins), np.inf)
    below = np.flatnonzero(~orders.last)
    low[below] = np.maximum.reduceat(seen, begins)[below + 1]
    high[below + 1] = np.minimum.reduceat(seen, begins)[below]
    return low, high


def draw_scores(lists: Lists, run: Run, prior: VirtualNode, count: int) -> Floats:
    """The scores, averaged over the second half of ``count`` rounds."""
    sums, held = PerceivedSums(), lists.judgments_of_nodes
    session = run.engine.open(shards(lists), start=sums.start, seed=run.seed)
    total = np.zeros(len(lists.nodes))

    def step(at: PerceivedSweep) -> PerceivedSweep:
        nonlocal total
        _, slope, curvature = prior.terms(at.scores)
        pull = session.advance(sums.sweep, at).scores - held * at.scores + slope
        scores = at.scores + pull / np.maximum(held + curvature, 1e-300)
        if at.round >= count // 2:
            total = total + scores / (count - count // 2)
        return PerceivedSweep(scores, at.round + 1, run.seed)

    rounds(step, PerceivedSweep(np.zeros(len(lists.nodes)), 0, run.seed), count)
    return total
