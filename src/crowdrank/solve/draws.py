"""Posterior draws by perturbing and solving, for information matrices that are too large to invert.

If z has the covariance H, then H^-1 z has the covariance H^-1 (Papandreou and Yuille, 2010). The judgments supply
z as a sum of independent signs, one per row and draw, so only solves are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.random import signs
from crowdrank.results import Covariance
from crowdrank.solve.arrow import Arrow
from crowdrank.solve.factor import Iterative

DRAWS = 128
"""The number of draws. A standard error has a relative error of 1 / sqrt(2 x 128) = 6 %."""


@dataclass(frozen=True, eq=False)
class Draws(Covariance):
    """Covariances estimated from draws: ``scores`` (N, S) and ``workers`` (K, b, S)."""

    scores: Floats
    workers: Floats
    solved: bool = True

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        """Covariance of the scores of one part, estimated."""
        own = self.scores[nodes]
        return own @ own.T / own.shape[1]

    def variance(self, nodes: NDArray[np.int64]) -> Floats:
        """Variances of the centered scores of a part that is too large for its covariance."""
        own = self.scores[nodes]
        return np.asarray(((own - own.mean(axis=0)) ** 2).mean(axis=1))

    def with_combination(self, weights: Floats) -> tuple[Floats, float]:
        """Covariance of the scores with a combination of worker parameters, and its variance, estimated."""
        drawn = np.einsum("kb,kbs->s", weights, self.workers)
        return self.scores @ drawn / len(drawn), float((drawn**2).mean())

    def worker_variance(self) -> Floats:
        """Variance of each worker parameter, estimated."""
        return np.asarray((self.workers**2).mean(axis=-1))

    def sample(
        self, parts: Sequence[Integers], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Random combinations of the draws, which have the same covariance."""
        size = self.scores.shape[1]
        mixture = generator.standard_normal((size, count)) / np.sqrt(size)
        return (self.scores @ mixture).T, np.einsum("kbs,sm->mkb", self.workers, mixture)


def draw(information: Arrow, noise: Floats, prior: Floats, seed: int, held: NDArray[np.bool_]) -> Draws:
    """Draws from the judgments' ``noise`` (N + K b, S) and the ``prior`` curvature (N + K b,)."""
    own = signs((np.arange(len(prior)), np.full(len(prior), -1)), noise.shape[1], seed)
    right = noise + np.sqrt(np.maximum(prior, 0.0))[:, None] * own
    n = len(information.part)
    right[n:][held.ravel()] = 0.0
    solver = Iterative(information.hold(held))
    solutions = [
        solver.conjugate_gradients(right[:, start : start + 16], 1e-4) for start in range(0, right.shape[1], 16)
    ]
    found = np.concatenate([solution for solution, _ in solutions], axis=1)
    workers = found[n:].reshape(*held.shape, noise.shape[1])
    return Draws(found[:n], workers, all(solved for _, solved in solutions))
