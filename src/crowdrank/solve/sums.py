"""The sums over the judgments of a likelihood of scores and worker parameters, and their arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from crowdrank.data.arrays import Floats
from crowdrank.engine import Stats
from crowdrank.solve.matrices import Matrix


@dataclass(frozen=True, eq=False)
class At:
    """The point at which a likelihood is evaluated: ``scores`` (N,) and the values of ``workers`` (K, b).

    ``spread`` (K, b): if given, the likelihood is averaged over worker parameters with these standard deviations.
    """

    scores: Floats
    workers: Floats
    spread: Floats | None = field(default=None, kw_only=True)

    def nodes(self) -> tuple[At, ...]:
        """The points over which the average is taken, with equal weights.

        Two points, one standard deviation to either side, integrate polynomials of the third degree exactly.
        """
        if self.spread is None:
            return (self,)
        return At(self.scores, self.workers - self.spread), At(self.scores, self.workers + self.spread)


@dataclass(frozen=True, eq=False)
class Draw(At):
    """The same point with the seed of the noise."""

    seed: int


@dataclass(frozen=True, eq=False)
class Gradient(Stats):
    """The log likelihood, and its derivatives by ``scores`` (N,) and by ``workers`` (K, b)."""

    value: float
    scores: Floats
    workers: Floats


@dataclass(frozen=True, eq=False)
class Curvature(Gradient):
    """The gradient, and minus the second derivatives: the parts of an Arrow."""

    items: Matrix
    coupling: Matrix
    workers_curvature: Floats


@dataclass(frozen=True, eq=False)
class Information(Curvature):
    """The same with a curvature that is a covariance, and ``noise`` (N + K b, draws) of that covariance."""

    noise: Floats


@runtime_checkable
class OuterProducts(Protocol):
    """Sums that also offer a curvature that is never negative."""

    def outer_products(self, shard: Any, at: At) -> Curvature:
        """Value, gradient, and the products of the gradients of single judgments."""
        ...


class LikelihoodSums(Protocol):
    """The sums of a likelihood over a shard. Each one computes only what it needs."""

    def gradient(self, shard: Any, at: At) -> Gradient:
        """Value and gradient."""
        ...

    def curvature(self, shard: Any, at: At) -> Curvature:
        """Value, gradient and observed curvature."""
        ...

    def information(self, shard: Any, draw: Draw) -> Information:
        """Value, gradient, expected information and noise for posterior draws."""
        ...
