"""Elo: ratings that move with each vote (Elo 1978).

The votes are played in order. Before a vote between i and j the ratings say that i wins
with probability

    E = 1 / (1 + base^((r_j - r_i) / scale)),

and after it, with S = 1 if i won, 0 if j won and 1/2 for a tie, and with w the weight of the vote,

    r_i <- r_i + k w (S - E),        r_j <- r_j - k w (S - E).

One item gains what the other loses, so the mean of each connected part stays the same. Written as
odd functions, S - E = (s - tanh(h (r_i - r_j))) / 2 with s = 2 S - 1 and h = ln(base) / (2 scale).

The uncertainty of a rating. In the unit scale / ln(base), in which E is the logistic function, a vote is a step of
length kappa = k ln(base) / scale up the gradient of the Bradley-Terry likelihood. Let I = sum w E (1 - E) be the
information of an item's votes, and v0 the variance of the ratings before the first vote. In a linear approximation
around the true ratings, the variance of the item's rating is

    one order:         kappa/2 + (v0 - kappa/2) exp(-2 kappa I)
    over all orders:   (1 - exp(-kappa I))^2 / I + v0 exp(-2 kappa I).

With many votes the first tends to kappa/2, a noise that does not vanish because each step forgets a little of what
came before. The second tends to 1/I, as in Bradley-Terry. With few votes both are near v0. A mean over N orders
has the second plus 1/N of the variance observed between its orders.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.kernels import LOGISTIC
from crowdrank.models.base import Outcome, Run
from crowdrank.models.online import TIES, Estimate, OnlineModel, OnlineState, Passes, VoteTuple
from crowdrank.models.pairs.predict import Judged
from crowdrank.models.parameters import number
from crowdrank.prepared.votes import Votes


class Elo(OnlineModel["EloState"]):
    """Elo: r_i moves by k (S - E) with each vote, E = 1 / (1 + base^((r_j - r_i) / scale)) (Elo 1978).

    ``k``: the most that one vote moves a rating; 32 is the usual value.
    ``initial``: the rating that all items start with, and the mean that each connected part keeps. 0 centers
    scores as in other models; 1500 gives the usual figures.
    ``scale``: how many points are odds of ``base`` to 1.
    ``base``: the odds at a difference of ``scale`` points.
    ``orders``: 1 plays the votes by their timestamps, or in row order without timestamps; N > 1 takes the mean
    over N random orders, drawn with ``seed``.

    >>> import crowdrank as cr
    >>> cr.Elo(initial=1500).fit([("a", "b")]).ranking_.score
    array([1516., 1484.])
    >>> cr.Elo(initial=1500).fit([("a", "b"), ("a", "b")]).ranking_.score.round(1)
    array([1530.5, 1469.5])
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

    @property
    def level(self) -> float:
        """The first rating, which is the mean of each connected part."""
        return number("initial", self.initial)

    def start(self, *, ties: float = TIES) -> EloState:
        """Equal ratings; the expected share of ties does not matter."""
        unit = elo_unit(self.scale, self.base)
        return EloState(number("k", self.k, low=0.0) / unit, unit, number("initial", self.initial))

    def fold(self, state: EloState, votes: Iterable[VoteTuple]) -> EloState:
        """Each vote moves two ratings, in the unit in which E is the logistic function."""
        ratings, met, half_step, tanh = state.ratings, state.met, state.half_step, math.tanh
        for left, right, said, weight, _ in votes:
            move = half_step * weight * (said - tanh(0.5 * (ratings[left] - ratings[right])))
            ratings[left] += move
            ratings[right] -= move
            pair = left << 32 | right
            met[pair] = met.get(pair, 0.0) + weight
        return state

    def estimate(self, state: EloState) -> Estimate:
        """The ratings in points, and the variance of one order."""
        ratings, step = np.array(state.ratings), 2.0 * state.half_step
        left, before = _memory(ratings, *state.pairs(), step)
        variance = before - 0.5 * step * np.expm1(-2.0 * step * left)
        return Estimate(state.initial + state.unit * ratings, state.unit**2 * variance, {})

    def _variance(self, votes: Votes, found: Passes) -> Floats:
        """The variance of one order, or of the mean over several."""
        if found.orders == 1:
            return found.within
        rows, unit = votes.comparisons, elo_unit(self.scale, self.base)
        ratings, step = (found.score - self.initial) / unit, self.k / unit
        information, before = _memory(ratings, rows.i, rows.j, rows.wins + rows.losses, step)
        own = before + np.expm1(-step * information) ** 2 / information
        return unit**2 * own + found.between / found.orders

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        unit, raised = elo_unit(self.scale, self.base), number("initial", self.initial)
        outcome = super()._fit(votes, run)
        spread = outcome.spread
        return replace(
            outcome,
            spread=replace(
                spread, score=spread.score + raised, low=spread.low + raised, high=spread.high + raised
            ),
            details={**outcome.details, "intervals": "linear about the ratings"},
            predictor=Judged.of_scores(LOGISTIC, spread.score / unit, votes.tie_share),
        )


class EloState(OnlineState):
    """Ratings in the unit in which E is the logistic function, and the weight of the votes on each pair."""

    half_step: float
    unit: float
    initial: float

    def __init__(self, step: float, unit: float, initial: float) -> None:
        super().__init__()
        self.half_step, self.unit, self.initial = step / 2.0, unit, initial
        self.ratings: list[float] = []
        self.met: dict[int, float] = {}

    def grow(self, nodes: int, workers: int) -> None:
        """New items start at the initial rating."""
        self.ratings += [0.0] * (nodes - len(self.ratings))

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """The left and right node of each pair as shown, and the weight of its votes."""
        left, right = np.divmod(np.array(list(self.met), np.int64), 1 << 32)
        return left, right, np.array(list(self.met.values()), float)


def elo_unit(scale: float, base: float) -> float:
    """The points on Elo's scale in one unit of the logistic function: scale / ln(base)."""
    return number("scale", scale, low=1e-6) / math.log(number("base", base, low=1.0 + 1e-6))


def _memory(
    ratings: Floats, i: NDArray[Any], j: NDArray[Any], weight: Floats, step: float
) -> tuple[Floats, Floats]:
    """The information I of each item's votes, and the remainder of v0: v0 exp(-2 kappa I)."""
    known = weight * LOGISTIC.values(ratings[i] - ratings[j]).density
    count = len(ratings)
    information = np.maximum(summed(i, known, count) + summed(j, known, count), 1e-300)
    before = max(1.0, float(np.mean(ratings**2)) if count else 0.0)
    return information, np.exp(-2.0 * step * information) * before
