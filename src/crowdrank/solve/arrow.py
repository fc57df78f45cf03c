"""The information matrix of scores and worker parameters, never stored whole.

    [ items      coupling ]      items:    scores by scores, block-diagonal over the connected parts
    [ coupling'  workers  ]      workers:  a small block per worker

A few *common* parameters (what all workers share: a mean threshold, a mean position bias) border it.

One side is eliminated and the other is solved as a dense system (a Schur complement). The workers are eliminated
if there are many workers and few scores, and the parts of the scores if there are many queries. If both sides are
too large, systems are solved by conjugate gradients on the sparse matrix.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.results import EXACT_LIMIT, Covariance
from crowdrank.solve.matrices import MANY_ROWS, Matrix, add_diagonal, inverse_of, scale_columns

if TYPE_CHECKING:
    from crowdrank.solve.factor import Factor

STEP_TOLERANCE = 1e-8
"""How exactly conjugate gradients solve for a step. What they leave is found by the next step."""


@dataclass(frozen=True, eq=False)
class Border:
    """The rows of the common parameters: by scores (N, G), by worker parameters (K, b, G), by themselves (G, G).

    ``carried`` (K, b, G): 1 if the value of a worker is its deviation plus the common parameter.
    """

    scores: Floats
    workers: Floats
    own: Floats
    carried: Floats


@dataclass(frozen=True, eq=False)
class Arrow:
    """Minus the second derivatives: ``items`` (N, N), ``coupling`` (N, K b), ``workers`` (K, b, b).

    ``part`` numbers the connected part of each score. ``gauge`` is True if nothing fixes the level of a part (no
    regularization). The direction in which all its scores move together is then held.
    """

    items: Matrix
    coupling: Matrix
    workers: Floats
    part: NDArray[np.int32]
    gauge: bool = False
    border: Border | None = None
    held: NDArray[np.bool_] | None = None
    """Worker parameters (K, b) that are held; their diagonal is 1 to keep the matrix regular."""

    def diagonals(self) -> tuple[Floats, Floats]:
        """Its diagonal: scores (N,) and worker parameters (K, b)."""
        return self.items.diagonal().copy(), np.einsum("kbb->kb", self.workers).copy()

    def hold(self, fixed: NDArray[np.bool_]) -> Arrow:
        """The same matrix with these worker parameters (K, b) held at their values."""
        if not fixed.any():
            return self
        keep = ~fixed
        workers = self.workers * (keep[:, :, None] & keep[:, None, :])
        workers = workers + np.eye(fixed.shape[1]) * fixed[:, :, None]
        coupling = scale_columns(self.coupling, keep.ravel().astype(float))
        border = self.border and replace(self.border, workers=self.border.workers * keep[:, :, None])
        return replace(self, coupling=coupling, workers=workers, border=border, held=fixed)

    def with_variance(self, chosen: NDArray[np.bool_], variance: Floats) -> Arrow:
        """The same matrix with 1 / variance as the diagonal curvature of the chosen worker parameters (K, b)."""
        own = np.einsum("kbb->kb", self.workers)
        change = np.where(chosen, 1.0 / np.where(chosen, variance, 1.0) - own, 0.0)
        return replace(self, workers=self.workers + np.eye(own.shape[1]) * change[:, :, None])

    def damp(self, damping: float) -> Arrow:
        """Add ``damping`` times the size of the diagonal to the diagonal."""
        if damping == 0:
            return self
        scores, own = (np.abs(diagonal) for diagonal in self.diagonals())
        scores = damping * np.maximum(scores, 1e-3 * scores.max(initial=1e-300))
        workers = self.workers + damping * np.eye(own.shape[1]) * own[:, :, None]
        border = self.border and replace(
            self.border, own=self.border.own + damping * np.diag(np.abs(self.border.own.diagonal()))
        )
        return replace(self, items=add_diagonal(self.items, scores), workers=workers, border=border)

    def conditional_variance(self) -> tuple[Floats, Floats]:
        """Variances of scores (N,) and worker parameters (K, b) as if all others were known (rough)."""
        scores = self.items.diagonal()
        safe = np.where(scores > 0, scores, np.inf)
        return 1.0 / safe, np.einsum("kbb->kb", inverse_of(self.workers)).copy()

    @cached_property
    def largest_part(self) -> int:
        """How many scores the largest connected part has."""
        return int(np.bincount(self.part).max(initial=0))

    @property
    def method(self) -> str:
        """How systems are solved: by eliminating the 'workers' or the 'parts', or 'iterative'."""
        scores, workers = len(self.part), self.workers.shape[0] * self.workers.shape[1]
        largest = self.largest_part
        if workers == 0 or (scores > EXACT_LIMIT and workers <= EXACT_LIMIT):
            return "parts" if largest <= EXACT_LIMIT else "iterative"
        if largest < scores and workers < scores:
            return "parts" if largest <= EXACT_LIMIT and workers <= EXACT_LIMIT else "iterative"
        return "workers" if scores <= EXACT_LIMIT else "iterative"

    def solve(
        self, scores: Floats, workers: Floats, common: Floats | None = None, tolerance: float = STEP_TOLERANCE
    ) -> tuple[Floats, Floats, Floats]:
        """The Newton step: this matrix times the step equals the gradient (N,), (K, b), (G,).

        With many scores, conjugate gradients up to a ``tolerance`` are faster than a factorization.
        """
        from crowdrank.solve.factor import FACTORS, Bordered, Iterative

        iterates = self.largest_part >= MANY_ROWS or self.method == "iterative"
        factor = Iterative(self, tolerance) if iterates else FACTORS[self.method](self)
        if self.border is None or common is None:
            return *factor.solve(scores, workers), np.zeros(0)
        return Bordered(factor, self.border).steps(scores, workers, common)

    def factor(self) -> Factor:
        """A factorization of all but the border. Raises NotPositiveError if there is none."""
        from crowdrank.solve.factor import FACTORS

        return FACTORS[self.method](self)

    def covariance(self) -> Inverse:
        """The exact inverse, from which the uncertainty follows. It is computed once."""
        return self._covariance

    @cached_property
    def _covariance(self) -> Inverse:
        factor = self.factor()
        if self.border is None:
            return factor
        from crowdrank.solve.factor import Bordered

        return Bordered(factor, self.border)


@dataclass(frozen=True, eq=False)
class SavedArrow:
    """An information matrix as saved. The factor is computed again on reading."""

    arrow: Arrow

    def restore(self) -> Inverse:
        """The inverse."""
        return self.arrow.covariance()


class Inverse(Covariance):
    """The inverse of an information matrix, computed and not estimated from draws."""

    @abstractmethod
    def score_variance(self) -> Floats:
        """Variance of each score (not centered). With very many scores, it leaves out the part of workers."""

    def deviation_variance(self) -> Floats:
        """Variance of each worker's deviation from the common parameter (K, b)."""
        return self.worker_variance()
