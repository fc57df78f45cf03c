"""TrueSkill: normal skills, updated by each vote (Herbrich et al. 2007).

The skill of an item is N(mu, sigma^2), N(0, sigma0^2) before the first vote. In a vote its performance
is its skill plus a normal error of standard deviation beta. i beats j if its performance is larger by more than
the margin eps; within the margin it is a tie. For i against j, with

    c^2 = 2 beta^2 + sigma_i^2 + sigma_j^2,   d = (mu_i - mu_j) / c,   e = eps / c,

and v, w the moments of the truncated normal (table 1: V and W),

    mu_i <- mu_i + sigma_i^2 / c v(d, e),      sigma_i^2 <- sigma_i^2 (1 - sigma_i^2 / c^2 w(d, e))
    mu_j <- mu_j - sigma_j^2 / c v(d, e),      sigma_j^2 <- sigma_j^2 (1 - sigma_j^2 / c^2 w(d, e)).

If skills may drift, the variances grow by tau^2 before each vote. With eps = sqrt(2) beta Phi^-1((1 + draw) / 2),
a vote between equal items is a tie with probability ``draw``. A vote of weight m counts as m equal ones: its
message to a skill, the quotient of posterior and prior, is raised to the power m. With a = sigma_i^2 w / c^2 this
gives

    mu_i <- mu_i + m sigma_i^2 v / (c (1 - a + m a)),      sigma_i^2 <- sigma_i^2 (1 - a) / (1 - a + m a).

The moments v, w and the margin are those of the library trueskillthroughtime (Landfried & Mocskos).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.errors import UsageError
from crowdrank.models.base import Outcome, Run
from crowdrank.models.online import TIES, Estimate, OnlineModel, OnlineState, VoteTuple
from crowdrank.models.parameters import ESTIMATED, number
from crowdrank.models.predictors import values_at
from crowdrank.prepared.votes import Votes

FAR = 30.0
"""A surprise is cut off at this many standard deviations, because the moments underflow beyond."""


MOST_DEVIATION = 1e6
"""The largest sigma and tau: beside larger ones the margin of ties is lost in rounding."""


class TrueSkill(OnlineModel["SkillState"]):
    """TrueSkill: skills N(mu, sigma^2) filtered vote by vote (Herbrich et al. 2007).

        mu_i <- mu_i + sigma_i^2 / c v(d, e),    sigma_i^2 <- sigma_i^2 (1 - sigma_i^2 / c^2 w(d, e))
        c^2 = 2 beta^2 + sigma_i^2 + sigma_j^2,    d = (mu_i - mu_j) / c,    e = margin of a tie / c

    v and w are moments of the truncated normal (table 1).
    Needs the package trueskillthroughtime: pip install 'crowdrank[trueskill]'.

    ``beta``: the standard deviation of a performance, the unit of the scores.
    ``sigma``: the standard deviation of a skill before the first vote, 2 beta as in the paper.
    ``tau``: how much a skill drifts between votes; 0 because items do not change (the paper has sigma / 100).
    ``draw``: the probability of a tie between equal items. A number or ``"estimated"`` (the share of ties among
    the votes); the default is ``"estimated"``.
    ``orders``: 1 plays the votes by their timestamps, or in row order without timestamps; N > 1 takes the mean
    over N random orders, drawn with ``seed``.

    >>> import crowdrank as cr
    >>> ranking = cr.TrueSkill().fit([("a", "b"), ("b", "c"), ("a", "c")]).ranking_
    >>> dict(zip(ranking.item, ranking.score.round(2).tolist()))
    {'a': 1.56, 'b': 0.13, 'c': -1.69}
    >>> ranking.stderr.round(2)
    array([1.27, 1.24, 1.25])
    """

    name = "trueskill"

    def __init__(
        self,
        *,
        beta: float = 1.0,
        sigma: float = 2.0,
        tau: float = 0.0,
        draw: float | str = "estimated",
        orders: int = 1,
        seed: int = 0,
    ) -> None:
        self.beta = beta
        self.sigma = sigma
        self.tau = tau
        self.draw = draw
        self.orders = orders
        self.seed = seed

    def start(self, *, ties: float = TIES) -> SkillState:
        """No skill is known; the tie margin comes from ``draw``, or from the expected share of ties."""
        library = _library()
        beta = number("beta", self.beta, low=1e-6)
        draw = ties if self.draw == ESTIMATED else number("draw", self.draw, low=1e-9, high=1 - 1e-9)
        return SkillState(
            beta=beta,
            sigma=number("sigma", self.sigma, low=1e-6, high=MOST_DEVIATION),
            tau=number("tau", self.tau, low=0.0, high=MOST_DEVIATION),
            margin=float(library.compute_margin(draw, math.sqrt(2.0) * beta)),
            moments=library.v_w,
        )

    def fold(self, state: SkillState, votes: Iterable[VoteTuple]) -> SkillState:
        """The equations of the module; a tie is seen from the better item's side."""
        mean, variance, moments, margin = state.mean, state.variance, state.moments, state.margin
        noise, drift, sqrt = state.noise, state.drift, math.sqrt
        for left, right, said, weight, _ in votes:
            ahead = said > 0 or (said == 0 and mean[left] >= mean[right])
            i, j = (left, right) if ahead else (right, left)
            own, other = variance[i] + drift, variance[j] + drift
            square = noise + own + other
            c = sqrt(square)
            d, most = mean[i] - mean[j], FAR * c
            v, w = moments(min(max(d, -most), most), c, margin, said == 0)
            a, b = own * w / square, other * w / square
            kept_a, kept_b = 1.0 - a + weight * a, 1.0 - b + weight * b
            mean[i] += weight * own * v / (c * kept_a)
            mean[j] -= weight * other * v / (c * kept_b)
            variance[i] = own * (1.0 - a) / kept_a
            variance[j] = other * (1.0 - b) / kept_b
        return state

    def estimate(self, state: SkillState) -> Estimate:
        """The means and variances of the skills."""
        return Estimate(np.array(state.mean), np.array(state.variance), {})

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        outcome, rules = super()._fit(votes, run), self.start(ties=votes.tie_share)
        assert outcome.posterior is not None
        variance = outcome.posterior.covariance.variance(np.arange(len(votes.nodes)))
        return replace(
            outcome,
            details={**outcome.details, "intervals": "posterior variances", "margin": rules.margin},
            predictor=SkillPredictor(outcome.spread.score, variance, rules.beta, rules.sigma, rules.margin),
        )


def _library() -> Any:
    try:
        return import_module("trueskillthroughtime")
    except ImportError:
        hint = "pip install 'crowdrank[trueskill]'"
        raise UsageError("The model trueskill needs the package trueskillthroughtime.", hint=hint) from None


class SkillState(OnlineState):
    """Means and variances of the skills, and the constants of an update."""

    beta: float
    sigma: float
    margin: float
    moments: Callable[[float, float, float, bool], tuple[float, float]]
    noise: float
    drift: float

    def __init__(
        self,
        beta: float,
        sigma: float,
        tau: float,
        margin: float,
        moments: Callable[[float, float, float, bool], tuple[float, float]],
    ) -> None:
        super().__init__()
        self.beta, self.sigma, self.margin, self.moments = beta, sigma, margin, moments
        self.noise, self.drift = 2 * beta**2, tau**2
        self.mean: list[float] = []
        self.variance: list[float] = []

    def grow(self, nodes: int, workers: int) -> None:
        """New items have the skill N(0, sigma^2)."""
        more = nodes - len(self.mean)
        self.mean += [0.0] * more
        self.variance += [self.sigma**2] * more


@dataclass(frozen=True, eq=False)
class SkillPredictor:
    """P(left) = Phi((d - eps) / c), P(right) = Phi((-d - eps) / c), and otherwise a tie.

    d is the difference of the means and c^2 = 2 beta^2 + the two variances. An unseen item has mean 0 and the
    variance before the first vote.
    """

    mean: Floats
    variance: Floats
    beta: float
    sigma: float
    margin: float

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        from scipy.special import ndtr

        d = values_at(self.mean, left, 0.0) - values_at(self.mean, right, 0.0)
        own, other = (values_at(self.variance, side, self.sigma**2) for side in (left, right))
        c = np.sqrt(2.0 * self.beta**2 + own + other)
        win, loss = ndtr((d - self.margin) / c), ndtr((-d - self.margin) / c)
        tie = np.maximum(1.0 - win - loss, 0.0)
        return np.stack([win, tie, loss], axis=1)
