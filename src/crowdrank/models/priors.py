"""Priors on scores and worker parameters, and the estimation of their strengths.

Scores have the virtual node of Crowd-BT section 3.2; each column of worker parameters has a normal
prior, or a Beta prior if it is a quality. Strengths that the user does not give are estimated by
empirical Bayes: they maximize the marginal likelihood, by EM with a normal approximation of the posterior
around its maximum (Laplace). Each M step matches an expectation under the prior to the same expectation under
the posterior. One or two pseudo-observations of a moderate strength stabilize it if there is little data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.errors import UsageError, parameter
from crowdrank.kernels import Link
from crowdrank.kernels.links import TINY
from crowdrank.models.parameters import number
from crowdrank.models.worker_parameters import WorkerParameter
from crowdrank.solve import PenaltyTerms, Point
from crowdrank.solve.newton import newton_within

STRENGTH = 0.5
"""The start of the estimation of lambda, and the strength that its two pseudo-items report."""
LEAST, MOST = 1e-3, 1e4
"""The range of lambda."""
BETA_RANGE = 0.1, 1000.0
"""The range of a and b of a Beta prior."""


def _expectation(function: Callable[[Floats], Floats], mean: Floats, deviation: Floats) -> Floats:
    """The expectation of a function of each normal variable, by Gauss-Hermite quadrature."""
    nodes, weights = _hermite()
    return np.asarray(weights @ function(mean + nodes[:, None] * deviation))


@cache
def _hermite() -> tuple[Floats, Floats]:
    """Nodes, and weights that add up to 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    return nodes, weights / np.sqrt(2 * np.pi)


@dataclass(frozen=True)
class VirtualNode:
    """lambda sum_i [ln F(s_i) + ln F(-s_i)]: a virtual item of score 0 that each item beats and loses to
    lambda times (Crowd-BT section 3.2, eq. 8)."""

    link: Link
    strength: float

    def terms(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient, and minus the second derivatives."""
        wins, losses = self.votes(scores)
        win, lose, density, bend = self.link.values(scores)
        win, lose = np.maximum(win, TINY), np.maximum(lose, TINY)
        up, down = density / win, density / lose
        value = float((wins * np.log(win) + losses * np.log(lose)).sum())
        return value, wins * up - losses * down, wins * up * (up - bend) + losses * down * (down + bend)

    def votes(self, scores: Floats) -> tuple[Floats, Floats]:
        """The virtual wins and losses of each item."""
        return np.full_like(scores, self.strength), np.full_like(scores, self.strength)

    def estimate(self, scores: Floats, variance: Floats) -> VirtualNode:
        """The strength under which the prior has the posterior's E ln F(s) F(-s).

        The prior's density is proportional to (F(s) F(-s))^lambda.
        """
        expected = _expectation(self._logs, scores, np.sqrt(np.maximum(variance, 0.0)))
        pseudo = 2.0
        target = (expected.sum() + pseudo * self._prior_moments(STRENGTH)[0]) / (len(scores) + pseudo)
        strength, _ = newton_within(
            lambda at, _: self._slopes(at, target), *np.array([[self.strength], [LEAST], [MOST]])
        )
        return replace(self, strength=float(strength[0]))

    def _slopes(self, strength: Floats, target: float) -> tuple[Floats, Floats]:
        """Slope and curvature of the log density of an item whose ln F(s) F(-s) is the target."""
        mean, variance = self._prior_moments(float(strength[0]))
        return np.array([target - mean]), np.array([variance])

    def _logs(self, scores: Floats) -> Floats:
        return _logs(self.link, scores)

    def _prior_moments(self, strength: float) -> tuple[float, float]:
        """Mean and variance of ln F(s) F(-s) under the prior.

        They are sums over a wide grid that is fine in the middle.
        """
        logs, steps = _grid(self.link)
        density = np.exp(strength * (logs - logs.max())) * steps
        density /= density.sum()
        mean = float(density @ logs)
        return mean, float(density @ (logs - mean) ** 2)


def _logs(link: Link, scores: Floats) -> Floats:
    """ln F(s) F(-s)."""
    win, lose, _, _ = link.values(scores)
    return np.asarray(np.log(np.maximum(win, TINY)) + np.log(np.maximum(lose, TINY)))


@cache
def _grid(link: Link) -> tuple[Floats, Floats]:
    """ln F(s) F(-s) on the grid s = sinh v, and ds / dv."""
    v = np.linspace(-9.5, 9.5, 401)
    return _logs(link, np.sinh(v)), np.cosh(v)


@dataclass(frozen=True)
class DrawnNode(VirtualNode):
    """The virtual node with its own number of wins and losses for each item."""

    drawn: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))

    def votes(self, scores: Floats) -> tuple[Floats, Floats]:
        """The drawn wins and losses."""
        return self.drawn


@dataclass(frozen=True)
class NormalPrior:
    """A normal prior on a column. An infinite ``sd`` means no prior. ``estimated``: the data set its width.

    ``expected``: the width that a pseudo-worker reports. ``slope``: the column is this slope. The data determine
    only the products of slopes and scores, so the prior mean is that of a slope of 1 by convention, and the width
    is measured around the workers' own mean, relative to the slope there.
    """

    mean: float
    sd: float
    estimated: bool = False
    expected: float = 0.5
    slope: WorkerParameter | None = None

    def terms(self, w: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient, and minus the second derivatives."""
        precision = self.sd**-2.0
        away = w - self.mean
        return -0.5 * precision * float((away**2).sum()), -precision * away, np.full_like(w, precision)

    def estimate(self, w: Floats, variance: Floats) -> NormalPrior:
        """sd^2 = sum (w - mean)^2 / sum gamma; gamma = 1 - variance / sd^2: how far the data determine each w.

        This has the same fixed point as EM, sd^2 = the mean of (w - mean)^2 + variance, and reaches it sooner
        (MacKay 1992).
        """
        mean, unit = self.mean, 1.0
        if self.slope is not None:
            mean = float(w.mean())
            scale, rate = self.slope.unit(mean)
            unit = scale / rate
        own = np.clip(1.0 - variance / (self.sd * unit) ** 2, 0.0, 1.0).sum()
        total = float(((w - mean) ** 2).sum()) / unit**2
        sd = float(np.sqrt((total + self.expected**2) / (own + 1.0)))
        return replace(self, sd=float(np.clip(sd, self.sd / 3.0, self.sd * 3.0)))


@dataclass(frozen=True)
class BetaPrior:
    """Beta(a, b) on a quality.

    If a and b are given, the penalty is (a-1) ln eta + (b-1) ln (1-eta). If they are estimated, the maximum is
    that on the scale of logit eta, on which the density is eta^a (1-eta)^b. That maximum is near the mean of eta,
    so the scores rest on the workers' average quality, not on their most favorable one.
    """

    a: float
    b: float
    estimated: bool = False

    @classmethod
    def parse(cls, given: Any, *, estimable: bool = False) -> BetaPrior:
        """From the parameter ``prior``: two numbers of at least 1, None for a flat prior, or "estimated"."""
        if given is None:
            return cls(1.0, 1.0)
        if given == "estimated" and estimable:
            return cls(*_PSEUDO, estimated=True)
        try:
            a, b = (number("prior", value, low=1.0) for value in given)
        except (TypeError, ValueError, UsageError):
            or_estimated = ", 'estimated'" if estimable else ""
            raise UsageError(
                f"The parameter 'prior' must be two numbers of at least 1{or_estimated}, or None. Got {given!r}.",
                hint=("For example ", parameter("prior", "[4,1.5]")),
            ) from None
        return cls(a, b)

    @property
    def exponents(self) -> tuple[float, float]:
        """The exponents of eta and of 1 - eta in the penalty."""
        return (self.a, self.b) if self.estimated else (self.a - 1, self.b - 1)

    def log_density(self, eta: Floats) -> Floats:
        """The log density, up to a constant."""
        safe = np.clip(eta, 1e-12, 1 - 1e-12)
        return np.asarray((self.a - 1) * np.log(safe) + (self.b - 1) * np.log1p(-safe))

    def terms(self, w: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient, and minus the second derivatives."""
        a, b = self.exponents
        eta, rest = np.clip(w, TINY, 1.0), np.clip(1.0 - w, TINY, 1.0)
        value = float((a * np.log(eta) + b * np.log(rest)).sum())
        gradient = (a / eta if a else 0 * eta) - (b / rest if b else 0 * eta)
        return value, gradient, (a / eta**2 if a else 0 * eta) + (b / rest**2 if b else 0 * eta)

    def estimate(self, eta: Floats, variance: Floats) -> BetaPrior:
        """The prior that has the posteriors' E ln eta and E ln (1 - eta), with a normal logit eta."""
        from scipy.special import log_expit, logit

        eta = np.clip(eta, 1e-6, 1.0 - 1e-6)
        deviation = np.sqrt(np.maximum(variance, 0.0)) / (eta * (1.0 - eta))
        up, down = (_expectation(log_expit, side * logit(eta), deviation).sum() for side in (1.0, -1.0))
        pseudo, count = _expectations(*_PSEUDO), len(eta) + 1
        a, b = _match_beta((up + pseudo[0]) / count, (down + pseudo[1]) / count, (self.a, self.b))
        return replace(self, a=a, b=b)


def _expectations(a: float, b: float) -> tuple[float, float]:
    """E ln x and E ln (1 - x) under Beta(a, b)."""
    from scipy.special import psi

    own, other, both = psi([a, b, a + b]).tolist()
    return own - both, other - both


def _match_beta(up: float, down: float, start: tuple[float, float]) -> tuple[float, float]:
    """The a and b, within their range, with these expectations: the maximum of a log a + b log b - ln B(a, b)
    with log a = ``up`` and log b = ``down``, which is concave.

    Newton steps as far as the range, at most to half or twice of each number, and shorter if they lead downhill.
    """
    from scipy.special import betaln

    target, (least, most) = np.array([up, down]), BETA_RANGE
    x = np.clip(start, least, most)
    value = float(target @ x - betaln(*x))
    for _ in range(100):
        step = _beta_step(x, target)
        ends = np.where(step > 0, np.minimum(2.0 * x, most), np.maximum(0.5 * x, least))
        share = min(1.0, float(np.min(np.divide(ends - x, step, out=np.ones(2), where=step != 0))))
        while True:
            there = np.clip(x + share * step, least, most)
            found = float(target @ there - betaln(*there))
            if found >= value - 1e-11 * (1.0 + abs(target @ x)) or share < 1e-9:
                break
            share *= 0.5
        x, value = there, found
        if np.abs(step).max() < 1e-9 * x.max():
            break
    return float(x[0]), float(x[1])


def _beta_step(x: Floats, target: Floats) -> Floats:
    """The Newton step of the numbers that can move: not those at an end of the range that would leave it."""
    from scipy.special import zeta

    gradient = target - np.array(_expectations(*x))
    own, other, both = zeta(2.0, [x[0], x[1], x.sum()])  # the derivatives of psi
    hessian = np.array([[own - both, -both], [-both, other - both]])
    step = np.linalg.solve(hessian, gradient)
    for way in (gradient, step):
        held = ((x <= BETA_RANGE[0]) & (way < 0)) | ((x >= BETA_RANGE[1]) & (way > 0))
        if held.any():
            return np.where(held, 0.0, gradient / hessian.diagonal())
    return np.asarray(step)


_PSEUDO = (4.0, 1.5)
"""The start of the estimation of a Beta prior, and the prior that its pseudo-worker reports."""

ColumnPrior = NormalPrior | BetaPrior


@dataclass(frozen=True)
class Priors:
    """The penalty of a fit: one prior on the scores, one on each column, and one on each common parameter."""

    node: VirtualNode
    columns: tuple[ColumnPrior, ...] = ()
    common: tuple[NormalPrior, ...] = ()
    estimates_strength: bool = False

    def __call__(self, point: Point) -> PenaltyTerms:
        """The penalty at a point."""
        value, scores, scores_curvature = self.node.terms(point.scores)
        workers, workers_curvature = np.zeros((2, *point.workers.shape))
        for place, prior in enumerate(self.columns):
            own, workers[:, place], workers_curvature[:, place] = prior.terms(point.workers[:, place])
            value += own
        common, common_curvature = np.zeros((2, len(self.common)))
        for place, normal in enumerate(self.common):
            own, gradient, curvature = normal.terms(point.common[place : place + 1])
            value, common[place], common_curvature[place] = value + own, gradient[0], curvature[0]
        return PenaltyTerms(value, scores, scores_curvature, workers, workers_curvature, common, common_curvature)

    @property
    def estimates(self) -> bool:
        """Whether the data set any strength."""
        return self.estimates_strength or any(prior.estimated for prior in self.columns)

    def strengths(self) -> Floats:
        """The logarithms of all estimated strengths, as one vector."""
        own = [self.node.strength] if self.estimates_strength else []
        for prior in self.columns:
            if prior.estimated:
                own += [prior.a, prior.b] if isinstance(prior, BetaPrior) else [prior.sd]
        return np.log(own)

    def with_strengths(self, logs: Floats) -> Priors:
        """The same with other strengths, in the order of ``strengths``, within their ranges."""
        values = iter(np.exp(logs).tolist())
        node = self.node
        if self.estimates_strength:
            node = replace(node, strength=min(max(next(values), LEAST), MOST))
        columns: list[ColumnPrior] = []
        for prior in self.columns:
            if prior.estimated and isinstance(prior, BetaPrior):
                a, b = (min(max(next(values), BETA_RANGE[0]), BETA_RANGE[1]) for _ in range(2))
                prior = replace(prior, a=a, b=b)
            elif prior.estimated and isinstance(prior, NormalPrior):
                prior = replace(prior, sd=next(values))
            columns.append(prior)
        return replace(self, node=node, columns=tuple(columns))

    def at_bounds(self) -> list[str]:
        """The estimated strengths that reached an end of their range, in words."""
        found = [("regularization", self.node.strength, LEAST, MOST)] if self.estimates_strength else []
        for prior in self.columns:
            if isinstance(prior, BetaPrior) and prior.estimated:
                found += [("a of the prior", prior.a, *BETA_RANGE), ("b of the prior", prior.b, *BETA_RANGE)]
        return [
            f"{name}, {strength:.3g}"
            for name, strength, low, high in found
            if not 1.01 * low < strength < 0.99 * high
        ]

    def details(self, columns: tuple[WorkerParameter | str, ...]) -> dict[str, Any]:
        """What fit.json says about the priors, by the names of the columns."""
        found: dict[str, Any] = {"regularization": self.node.strength}
        for column, prior in zip(columns, self.columns, strict=True):
            found[str(column)] = [prior.a, prior.b] if isinstance(prior, BetaPrior) else prior.sd
        return found
