"""Covariances that follow from another one, or from variances alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from crowdrank.data.arrays import Floats, Integers
from crowdrank.results import Covariance


@dataclass(frozen=True, eq=False)
class Derived(Covariance):
    """A covariance of other scores than those of ``inner``, with the same worker parameters."""

    inner: Covariance

    def worker_variance(self) -> Floats:
        """Variance of each worker parameter, unchanged."""
        return self.inner.worker_variance()

    def free_worker_variance(self) -> Floats:
        """The same, 0 for a held parameter."""
        return self.inner.free_worker_variance()

    def common_covariance(self) -> Floats:
        """Covariance of the common parameters, unchanged."""
        return self.inner.common_covariance()

    def release(self) -> None:
        """Free what the inner covariance can compute again."""
        self.inner.release()


@dataclass(frozen=True, eq=False)
class Rescaled(Derived):
    """The covariance of c s if the scale c is also uncertain: d(c s) = c ds + s dc.

    c is the ``scale``, and dc is the combination ``weights`` (K, b) of the worker parameters. ``units`` (b,): what
    the worker parameters are multiplied with, such as slopes that are divided by c.
    """

    scores: Floats
    scale: float
    weights: Floats
    units: Floats

    def worker_variance(self) -> Floats:
        """Variance of each worker parameter in its unit. That of a held one stays."""
        free = self.inner.free_worker_variance()
        return self.inner.worker_variance() - free + self.units**2 * free

    def free_worker_variance(self) -> Floats:
        """The same, 0 for a held parameter."""
        return self.units**2 * self.inner.free_worker_variance()

    @cached_property
    def _with_scale(self) -> tuple[Floats, float]:
        across, own = self.inner.with_combination(self.weights)
        return np.broadcast_to(across, len(self.scores)), own

    def block(self, nodes: Integers) -> Floats:
        """Covariance of the rescaled scores of one part."""
        across, own = self._with_scale
        s, c = self.scores[nodes], self.scale * across[nodes]
        both = np.outer(s, c)
        return self.scale**2 * self.inner.block(nodes) + both + both.T + own * np.outer(s, s)

    def variance(self, nodes: Integers) -> Floats:
        """Variances of the centered rescaled scores of a part."""
        across, own = self._with_scale
        s, c = (values[nodes] - values[nodes].mean() for values in (self.scores, across))
        return self.scale**2 * self.inner.variance(nodes) + 2 * self.scale * s * c + own * s**2

    def sample(
        self, parts: Sequence[Integers], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """The draws of the inner covariance, rescaled."""
        scores, workers = self.inner.sample(parts, count, generator)
        change = np.einsum("kb,mkb->m", self.weights, workers)
        return self.scale * scores + change[:, None] * self.scores, self.units * workers

    def with_combination(self, weights: Floats) -> tuple[Floats, float]:
        """Covariance of the rescaled scores with a combination of worker parameters, and its variance."""
        across, own = self.inner.with_combination(self.units * weights)
        together = self.inner.with_combination(self.units * weights + self.weights)[1]
        with_scale = 0.5 * (together - own - self._with_scale[1])
        return self.scale * np.broadcast_to(across, len(self.scores)) + with_scale * self.scores, own


@dataclass(frozen=True, eq=False)
class Scaled(Derived):
    """The covariance of c s for a constant c, the ``unit``."""

    unit: float

    def block(self, nodes: Integers) -> Floats:
        """Covariance of the scores of one part in the new unit."""
        return self.unit**2 * self.inner.block(nodes)

    def variance(self, nodes: Integers) -> Floats:
        """Variances of the centered scores in the new unit."""
        return self.unit**2 * self.inner.variance(nodes)

    def sample(
        self, parts: Sequence[Integers], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """The draws of the inner covariance in the new unit."""
        scores, workers = self.inner.sample(parts, count, generator)
        return self.unit * scores, workers

    def with_combination(self, weights: Floats) -> tuple[Floats | float, float]:
        """Covariance of the scores in the new unit with a combination of worker parameters, and its variance."""
        across, own = self.inner.with_combination(weights)
        return self.unit * across, own


@dataclass(frozen=True, eq=False)
class Independent(Covariance):
    """Scores and worker parameters (K, b) that vary independently, with given variances."""

    variances: Floats
    worker_variances: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    pairwise_limit: ClassVar[int] = 1000

    def block(self, nodes: Integers) -> Floats:
        """The variances on a diagonal."""
        return np.diag(self.variances[nodes])

    def variance(self, nodes: Integers) -> Floats:
        """The given variances. In a part with many items, the mean varies little."""
        return self.variances[nodes]

    def worker_variance(self) -> Floats:
        """The given variances."""
        return self.worker_variances

    def sample(
        self, parts: Sequence[Integers], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Independent draws about 0."""
        scores = super().sample(parts, count, generator)[0]
        normal = generator.standard_normal((count, *self.worker_variances.shape))
        return scores, normal * np.sqrt(self.worker_variances)


@dataclass(frozen=True, eq=False)
class Widened(Derived):
    """A covariance C of scores s, widened to f C + v s s': errors of the scores, and of their scale.

    ``factor``: f; ``scale_variance``: v, the relative variance of the scale. The scores are centered within each
    part. Worker parameters keep their variances.
    """

    scores: Floats
    factor: float
    scale_variance: float

    def block(self, nodes: Integers) -> Floats:
        """Covariance of the scores of one part."""
        s = self._centered(nodes)
        return self.factor * self.inner.block(nodes) + self.scale_variance * np.outer(s, s)

    def variance(self, nodes: Integers) -> Floats:
        """Variances of the centered scores of a part."""
        return self.factor * self.inner.variance(nodes) + self.scale_variance * self._centered(nodes) ** 2

    def _centered(self, nodes: Integers) -> Floats:
        return self.scores[nodes] - self.scores[nodes].mean()

    def sample(
        self, parts: Sequence[Integers], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """The draws of the inner covariance, widened, and scaled by a common draw."""
        scores, workers = self.inner.sample(parts, count, generator)
        scores = np.sqrt(self.factor) * scores
        scale = np.sqrt(self.scale_variance) * generator.standard_normal((count, 1))
        for nodes in parts:
            scores[:, nodes] += scale * self._centered(nodes)
        return scores, workers

    def with_combination(self, weights: Floats) -> tuple[Floats | float, float]:
        """Covariance of the scores with a combination of worker parameters, and its variance."""
        across, own = self.inner.with_combination(weights)
        return np.sqrt(self.factor) * across, own
