"""Elo: ratings that move with each vote (Elo 1978).

The votes are played one after the other. Before a vote between i and j the ratings say that i wins
with probability

    E = 1 / (1 + base^((r_j - r_i) / scale)),

after it, S being 1 where i won, 0 where j did and 1/2 for a tie, and w the weight of the vote,

    r_i <- r_i + k w (S - E),        r_j <- r_j - k w (S - E).

What one wins the other loses, so the mean of each connected part stays where it began. Written as
odd functions, S - E = (s - tanh(h (r_i - r_j))) / 2 with s = 2 S - 1 and h = ln(base) / (2 scale).

How sure a rating is. In the unit scale / ln(base), where E is the logistic function, a vote is a step
of length kappa = k ln(base) / scale up the gradient of the Bradley-Terry likelihood. With the
information I = sum w E (1 - E) of an item's votes, linear about the true ratings, and items whose
ratings vary with v0 before anything is known, the variance of its rating is

    one order:         kappa/2 + (v0 - kappa/2) exp(-2 kappa I)
    over all orders:   (1 - exp(-kappa I))^2 / I + v0 exp(-2 kappa I).

Many votes leave kappa/2 in the first, a noise that does not vanish, for each step forgets a little of
what came before; and 1/I in the second, as in Bradley-Terry. Few leave v0 in both. A mean over N
orders has the second plus 1/N of the variance seen between its orders.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from crowdrank.data import Floats, summed
from crowdrank.kernels import LOGISTIC
from crowdrank.models.base import Outcome, Run, VotesModel, number, whole
from crowdrank.models.paired.predict import Judged
from crowdrank.models.sequence import Play, Rated, order_notes, rated
from crowdrank.models.votes import Votes
from crowdrank.solve import Independent


class Elo(VotesModel):
    """Elo: r_i moves by k (S - E) with each vote, E = 1 / (1 + base^((r_j - r_i) / scale)) (Elo 1978).

    ``k``: how far a vote moves a rating at most; 32 is the usual one where nothing else is said.
    ``initial``: the rating that all begin with, and the mean that each connected part keeps: 0, so that
    scores are centred as those of other models are; 1500 gives the usual figures. ``scale`` and
    ``base``: ``scale`` points are odds of ``base`` to 1. ``orders``: 1 plays the votes by their
    timestamps, or as the rows stand; N > 1 takes the mean over N random orders, drawn by ``seed``.
    """

    name = "elo"

    def __init__(
        self,
        *,
        k: float = 32.0,
        initial: float = 0.0,
        scale: float = 400.0,
        base: float = 10.0,
        orders: int = 1,
        seed: int = 0,
    ) -> None:
        self.k = k
        self.initial = initial
        self.scale = scale
        self.base = base
        self.orders = orders
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        orders = whole("orders", self.orders, low=1)
        unit = elo_unit(self.scale, self.base)
        step = number("k", self.k, low=0.0) / unit
        found = rated(votes, _play(step, len(votes.nodes)), orders=orders, seed=run.seed)
        variance = _variance(votes, found, step, orders)
        result = votes.placed(found.score * unit, Independent(variance * unit**2))
        raised = number("initial", self.initial)
        return Outcome(
            replace(result, score=result.score + raised, low=result.low + raised, high=result.high + raised),
            votes.agreement(result.score),
            iterations=orders,
            notes=(*votes.notes(regularised=False), *order_notes(votes, orders)),
            details={**found.details(orders, unit), "intervals": "linear about the ratings"},
            predictor=Judged.of_scores(LOGISTIC, result.score / unit, votes.tie_share),
        )


def elo_unit(scale: float, base: float) -> float:
    """How many points of Elo's scale one unit of the logistic function is: scale / ln(base)."""
    return number("scale", scale, low=1e-6) / math.log(number("base", base, low=1.0 + 1e-6))


def _play(step: float, count: int) -> Play:
    """Elo's pass over the votes, in the unit in which E is the logistic function."""
    tanh, half = math.tanh, step / 2.0

    def play(games: Iterable[tuple[int, int, int, float]]) -> tuple[Floats, Floats]:
        ratings = [0.0] * count
        for left, right, said, weight in games:
            move = half * weight * (said - tanh(0.5 * (ratings[left] - ratings[right])))
            ratings[left] += move
            ratings[right] -= move
        return np.array(ratings), np.zeros(count)

    return play


def _variance(votes: Votes, found: Rated, step: float, orders: int) -> Floats:
    """The variance of each rating, in the unit in which E is the logistic function."""
    rows, count = votes.comparisons, len(found.score)
    known = (rows.wins + rows.losses) * LOGISTIC.values(found.score[rows.i] - found.score[rows.j]).density
    information = np.maximum(summed(rows.i, known, count) + summed(rows.j, known, count), 1e-300)
    before = max(1.0, float(np.mean(found.score**2)))
    left_of_start = np.exp(-2.0 * step * information) * before
    if orders == 1:
        return left_of_start - 0.5 * step * np.expm1(-2.0 * step * information)
    return left_of_start + np.expm1(-step * information) ** 2 / information + found.between / orders
