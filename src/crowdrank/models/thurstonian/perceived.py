"""EM for the Thurstonian ranking model with perceived scores drawn by Gibbs sampling (TPP paper, appendix B).

    E step, eq. 27:  s_i^(k) ~ N(u_i, 1) within (largest of the level below, smallest of the level above)
    M step, eq. 18:  u_i = the mean of s_i^(k) over the lists that hold i, pulled by the prior

Eq. 19 has nothing to estimate: scores are in units of the noise. Given every other level the items of a level
are independent, so even levels are drawn at once, then odd ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data import Floats, summed
from crowdrank.engine import Stats
from crowdrank.engine.base import Params, State
from crowdrank.kernels.plackett_luce import Orders
from crowdrank.kernels.truncated import truncated
from crowdrank.models.base import Run
from crowdrank.models.list_shards import ListShard, shards
from crowdrank.models.lists import Lists
from crowdrank.models.priors import VirtualNode
from crowdrank.solve import iterate
from crowdrank.solve.draws import uniforms


@dataclass(frozen=True)
class PerceivedSums:
    """``params``: ``scores``, ``round`` and ``seed``. Its state is the perceived score of each row; the sums are
    of each node's, times the weight of the list."""

    stateful = True

    def start(self, shard: ListShard, seed: int) -> State:
        """Perceived scores in the order of the list, one apart."""
        return -shard.orders.level.astype(float)

    def statistics(self, shard: ListShard, params: Params, state: State | None) -> tuple[Stats, State]:
        """One sweep."""
        place = np.arange(len(shard.node)) - shard.orders.start[shard.list]
        keys = (np.full(len(place), params["round"]), shard.first + shard.list, place)
        uniform = uniforms(keys, params["seed"])
        mean, seen = params["scores"][shard.node], np.array(state)
        for odd in (0, 1):
            rows = np.flatnonzero(shard.orders.level % 2 == odd)
            low, high = _around(seen, shard.orders)
            group = shard.orders.group[rows]
            seen[rows] = truncated(uniform[rows], low[group], high[group], mean[rows])
        weight = shard.weight[shard.list]
        return Stats({"scores": summed(shard.node, weight * seen, len(shard.part))}), seen

    def collect(self, shard: ListShard, params: Params, state: State | None) -> Mapping[str, Any]:
        """Nothing that belongs to a shard."""
        return {}


def _around(seen: Floats, orders: Orders) -> tuple[Floats, Floats]:
    """For each group the largest of the one below and the smallest of the one above."""
    begins = orders.begins[:-1]
    low, high = np.full(len(begins), -np.inf), np.full(len(begins), np.inf)
    below = np.flatnonzero(~orders.last)
    low[below] = np.maximum.reduceat(seen, begins)[below + 1]
    high[below + 1] = np.minimum.reduceat(seen, begins)[below]
    return low, high


def sampled(lists: Lists, run: Run, prior: VirtualNode, rounds: int) -> Floats:
    """The scores: the mean over the second half of the rounds."""
    session = run.engine.open(PerceivedSums(), shards(lists), seed=run.seed)
    held, total = lists.judgments, np.zeros(len(lists.nodes))

    def update(params: dict[str, Any], stats: Stats) -> tuple[dict[str, Any], float]:
        nonlocal total
        scores = params["scores"]
        _, slope, curvature = prior.terms(scores)
        pull = stats.shared["scores"] - held * scores + slope
        scores = scores + pull / np.maximum(held + curvature, 1e-300)
        if params["round"] >= rounds // 2:
            total = total + scores / (rounds - rounds // 2)
        return {**params, "scores": scores, "round": params["round"] + 1}, np.inf

    start = {"scores": np.zeros(len(lists.nodes)), "round": 0, "seed": run.seed}
    iterate(session, start, update, tol=0.0, limit=rounds)
    return total
