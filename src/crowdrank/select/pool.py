"""Choosing among recorded votes: the questions that can be asked are those that were once answered.

Each recorded vote is a candidate (left, right, judge), and can be used once. The best one is found by looking at
all of them; the gain of the judge is computed only if it can decide.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.kernels.compiled import can_compile, compile_together
from crowdrank.random import generator
from crowdrank.results import Beliefs
from crowdrank.select.boxes import CONVEX
from crowdrank.select.gains import COMPILED, flatten, is_learnable, judge_gain, score_gain
from crowdrank.select.gamma import current_gamma
from crowdrank.select.policy import Policy
from crowdrank.select.recorded import Recorded


class Pool:
    """Recorded votes from which questions are chosen under a policy."""

    policy: Policy
    budget: int | None
    left: NDArray[Any]
    right: NDArray[Any]
    said: NDArray[Any]
    judge: NDArray[Any]
    free: NDArray[Any]
    asked: NDArray[Any]
    total: int

    def __init__(self, votes: Recorded, policy: Policy, *, seed: int = 0, budget: int | None = None) -> None:
        self.policy, self.budget = policy, budget
        self._random = generator(seed, 3)
        order = self._random.permutation(len(votes.left))  # of equal candidates, the first one is taken
        self.left, self.right, self.said, self.judge = (column[order] for column in votes[:4])
        self.free = np.ones(len(order), bool)
        self.asked = np.zeros(votes.items, np.int64)
        self.total = 0
        self._known, self._most = np.full((2, votes.judges), np.nan), np.zeros(votes.judges)

    def take(self, beliefs: Beliefs) -> tuple[int, int, int, int] | None:
        """The next vote: left, right, what was said, judge; None if all votes are used."""
        if not self.free.any():
            return None
        place = self._place(beliefs)
        self.free[place] = False
        i, j, said, k = (int(column[place]) for column in (self.left, self.right, self.said, self.judge))
        self.asked[[i, j]] += 1
        self.total += 1
        return i, j, said, k

    def _place(self, beliefs: Beliefs) -> int:
        policy, kind = self.policy, self.policy.kind
        if policy.select == "random" or (policy.epsilon > 0 and self._random.random() < policy.epsilon):
            return int(np.argmax(self.free))
        asked = self.asked[self.left], self.asked[self.right]
        if kind is None:
            return int(np.argmin(np.where(self.free, asked[0] + asked[1], np.iinfo(np.int64).max)))
        if policy.cold:
            cold = self.free & (np.minimum(*asked) < policy.cold)
            if cold.any():
                return int(np.argmin(np.where(cold, asked[0] + asked[1], np.iinfo(np.int64).max)))
        used = self.total / self.budget if self.budget else 0.0
        gamma = current_gamma(policy, used, beliefs.alpha, beliefs.beta)
        look = _compiled() if can_compile() else look_at_candidates
        return int(look(
            self.left, self.right, self.judge, self.free, beliefs.mean, beliefs.variance, beliefs.slope,
            beliefs.alpha, beliefs.beta, gamma * self._judge_gains(beliefs), kind, gamma,
        ))  # fmt: skip

    def _judge_gains(self, beliefs: Beliefs) -> Floats:
        """The gain of each judge at t = 1, computed anew for those who have answered since."""
        changed = np.flatnonzero((beliefs.alpha != self._known[0]) | (beliefs.beta != self._known[1]))
        alpha, beta = beliefs.alpha[changed], beliefs.beta[changed]
        self._most[changed] = judge_gain(1.0, alpha, beta) * is_learnable(alpha, beta)
        self._known[:, changed] = alpha, beta
        return self._most


def look_at_candidates(
    left: Any, right: Any, judge: Any, free: Any, mean: Floats, variance: Floats, slope: Floats, alpha: Floats,
    beta: Floats, most: Floats, kind: int, gamma: float,
) -> int:  # fmt: skip
    """The best candidate, in a loop to be compiled; ``most``: what the judge's gain adds at t = 1.

    It is 0 at t = 0 and convex in t, so at any t it is at most t times that. With a small alpha or beta it only
    rises.
    """
    best, found = -np.inf, -1
    for row in range(len(left)):
        if not free[row]:
            continue
        i, j, k = left[row], right[row], judge[row]
        a = slope[k]
        d, v, u = a * abs(mean[i] - mean[j]), a * a * variance[i], a * a * variance[j]
        t, x, y = flatten(d, v, u)
        value = score_gain(kind, d, v, u, t, x, y, abs(alpha[k] - beta[k]) / (alpha[k] + beta[k]))
        chord = t if min(alpha[k], beta[k]) >= CONVEX else 1.0
        if value + chord * most[k] <= best:
            continue
        if most[k] > 0.0:
            value += gamma * judge_gain(t, alpha[k], beta[k])
        if value > best:
            best, found = value, row
    return found


@cache
def _compiled() -> Any:
    return compile_together(*COMPILED, look_at_candidates)["look_at_candidates"]
