"""Three ways to factorize an arrow matrix: eliminate the workers, eliminate the parts, or iterate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.solve.arrow import STEP_TOLERANCE, Arrow, Border, Inverse, SavedArrow
from crowdrank.solve.matrices import (
    NotPositiveError,
    add_diagonal,
    block_diagonal,
    cholesky_of,
    dense,
    densify,
    gauge,
    inverse_from,
    inverse_of,
    quadratic,
    times_blocks,
)
from crowdrank.solve.part_blocks import PartBlocks, draw_inverse

if TYPE_CHECKING:
    from crowdrank.solve.matrices import Matrix

MOST_WORK = 2e10
"""Above this many multiplications, the variances of scores leave out the contribution of workers."""


class Factor(Inverse):
    """A factorized arrow matrix."""

    arrow: Arrow
    count: int
    """The number of scores."""

    @abstractmethod
    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """Solve with the right-hand sides (N,) and (K, b)."""

    def with_combination(self, weights: Floats) -> tuple[Floats, float]:
        """A weighted column of the inverse."""
        scores, workers = self.solve(np.zeros(self.count), weights)
        return scores, float((weights * workers).sum())

    def free_worker_variance(self) -> Floats:
        """Variance of each worker parameter, 0 for a held one."""
        variance, held = self.worker_variance(), self.arrow.held
        return variance if held is None else np.where(held, 0.0, variance)

    def drop_held(self, workers: Floats) -> Floats:
        """Draws of worker parameters (draws, K, b) with those of held ones set to 0."""
        return workers if self.arrow.held is None else np.where(self.arrow.held, 0.0, workers)

    def storable(self) -> SavedArrow:
        """The matrix itself, which is factorized again on reading."""
        return SavedArrow(self.arrow)


class WorkersEliminated(Factor):
    """S = items - coupling workers^-1 coupling', dense, by Cholesky."""

    arrow: Arrow
    count: int
    coupling: Matrix
    inverse: Floats
    weighted: Matrix
    cholesky: tuple[Floats, bool]

    def __init__(self, arrow: Arrow) -> None:
        self.arrow, self.count = arrow, len(arrow.part)
        self.coupling = densify(arrow.coupling)
        self.inverse = inverse_of(arrow.workers)
        self.weighted = times_blocks(self.coupling, self.inverse)
        schur = dense(arrow.items) - dense(self.weighted @ self.coupling.T)
        if arrow.gauge:
            schur += gauge(schur, arrow.part)
        self.cholesky = cholesky_of(schur)

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """Solve with the right-hand sides (N,) and (K, b)."""
        from scipy.linalg import cho_solve

        step = cho_solve(self.cholesky, scores - self.weighted @ workers.ravel())
        rest = workers - (self.coupling.T @ step).reshape(workers.shape)
        return step, np.einsum("kbc,kc->kb", self.inverse, rest)

    def _scores(self) -> Floats:
        if not hasattr(self, "_covariance"):
            self._covariance = inverse_from(self.cholesky)
        return self._covariance

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        """Covariance of the scores of one part."""
        return self._scores()[np.ix_(nodes, nodes)]

    def score_variance(self) -> Floats:
        """Variance of each score."""
        return self._scores().diagonal()

    def worker_variance(self) -> Floats:
        """Variance of each worker parameter."""
        blocks = self.inverse.shape[:2]
        own = np.einsum("kbb->kb", self.inverse)
        return own + quadratic(self._scores(), self.weighted).reshape(blocks)

    def sample(
        self, parts: Sequence[Integers], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Draw scores by the Cholesky factor, then worker parameters given the scores."""
        scores = draw_inverse(self.cholesky, count, generator)
        noise = generator.standard_normal((count, *self.inverse.shape[:2]))
        mean = (self.coupling.T @ scores).T.reshape(noise.shape)
        own = np.einsum("kbc,mkc->mkb", np.linalg.cholesky(self.inverse), noise)
        return scores.T, self.drop_held(own - np.einsum("kbc,mkc->mkb", self.inverse, mean))

    def release(self) -> None:
        """Free the inverse."""
        vars(self).pop("_covariance", None)


class PartsEliminated(Factor):
    """T = workers - coupling' items^-1 coupling, dense, with items^-1 computed part by part."""

    arrow: Arrow
    count: int
    shape: tuple[Any, ...]
    blocks: PartBlocks
    coupling: Matrix
    weighted: Matrix

    def __init__(self, arrow: Arrow) -> None:
        self.arrow, self.count = arrow, len(arrow.part)
        self.shape = arrow.workers.shape[:2]
        self.blocks = PartBlocks(arrow)
        self.coupling = arrow.coupling
        self.cholesky: tuple[Floats, bool] | None = None
        if self.shape[0]:
            self.weighted = self.blocks.times(arrow.coupling)
            schur = block_diagonal(arrow.workers) - dense(arrow.coupling.T @ self.weighted)
            self.cholesky = cholesky_of(schur)

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """Solve with the right-hand sides (N,) and (K, b)."""
        from scipy.linalg import cho_solve

        step = self.blocks.times(scores)
        if self.cholesky is None:
            return step, workers
        own = cho_solve(self.cholesky, workers.ravel() - self.coupling.T @ step)
        return step - self.weighted @ own, own.reshape(workers.shape)

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        """Covariance of the scores of one part."""
        own = self.blocks.of(nodes)
        if self.cholesky is None:
            return own
        from scipy.linalg import cho_solve

        rows = dense(self.weighted[nodes])
        return own + rows @ cho_solve(self.cholesky, rows.T)

    def score_variance(self) -> Floats:
        """Variance of each score. With very many scores, the contribution of workers is left out."""
        variance = np.empty(len(self.blocks.part))
        for size, members in self.blocks.members.items():
            variance[members] = np.einsum("kii->ki", self.blocks.inverse(size))
        if self.cholesky is None or len(variance) * self.cholesky[0].size > MOST_WORK:
            return variance
        return variance + quadratic(inverse_from(self.cholesky), self.weighted.T)

    def worker_variance(self) -> Floats:
        """Variance of each worker parameter."""
        if self.cholesky is None:
            return np.zeros(self.shape)
        return inverse_from(self.cholesky).diagonal().reshape(self.shape)

    def sample(
        self, parts: Sequence[Integers], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Draw worker parameters by the Cholesky factor, then the scores of each part given these."""
        scores = self.blocks.sample(count, generator)
        if self.cholesky is None:
            return scores.T, np.zeros((count, *self.shape))
        workers = draw_inverse(self.cholesky, count, generator)
        return (scores - self.weighted @ workers).T, self.drop_held(workers.T.reshape(count, *self.shape))

    def release(self) -> None:
        """Free the inverses of parts that have a factor."""
        self.blocks.release()


class Iterative(Factor):
    """Conjugate gradients with the diagonal as preconditioner. Covariances come from draws.

    ``tolerance``: how far a solution may be off, relative to the right-hand side.
    """

    arrow: Arrow
    count: int
    diagonal: Floats

    def __init__(self, arrow: Arrow, tolerance: float = STEP_TOLERANCE) -> None:
        self.tolerance = tolerance
        if arrow.gauge:  # a score without votes stays where it is
            alone = (arrow.items.diagonal() == 0).astype(float)
            arrow = replace(arrow, items=add_diagonal(arrow.items, alone))
        self.arrow, self.count = arrow, len(arrow.part)
        scores, workers = arrow.diagonals()
        self.diagonal = np.concatenate([scores, workers.ravel()])
        if not (self.diagonal > 0).all():
            raise NotPositiveError

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        """Covariance of the scores of one part, by columns of the inverse. For small parts only."""
        unit = np.zeros((len(self.diagonal), len(nodes)))
        unit[nodes, np.arange(len(nodes))] = 1.0
        return self.conjugate_gradients(unit)[0][nodes]

    def score_variance(self) -> Floats:
        """Variance of each score, by columns of the inverse. For few scores only."""
        return self.block(np.arange(self.count)).diagonal()

    def times(self, x: Floats) -> Floats:
        """The matrix times each column of a matrix."""
        n = len(self.arrow.part)
        s, w = x[:n], x[n:]
        blocks = self.arrow.workers
        own = np.einsum("kbc,kcm->kbm", blocks, w.reshape(*blocks.shape[:2], x.shape[1])).reshape(w.shape)
        top = self.arrow.items @ s + self.arrow.coupling @ w
        return np.concatenate([top, own + self.arrow.coupling.T @ s])

    def conjugate_gradients(self, right: Floats, tol: float = 1e-10, limit: int = 2000) -> tuple[Floats, bool]:
        """Solve for each column of ``right`` by conjugate gradients. Also returns whether ``tol`` was met."""
        scale = self.diagonal[:, None]
        x = np.zeros_like(right)
        residual = right.copy()
        z = residual / scale
        direction = z.copy()
        rho = np.einsum("nm,nm->m", residual, z)
        goal = rho * tol**2
        for _ in range(limit):
            image = self.times(direction)
            curve = np.einsum("nm,nm->m", direction, image)
            moving = rho > goal
            if (curve[moving] <= 0).any():
                raise NotPositiveError
            step = np.where(moving, rho / np.where(curve > 0, curve, 1.0), 0.0)
            x += step * direction
            residual -= step * image
            z = residual / scale
            new = np.einsum("nm,nm->m", residual, z)
            if (new <= goal).all():
                return x, True
            direction = z + np.where(moving, new / np.where(rho > 0, rho, 1.0), 0.0) * direction
            rho = new
        return x, False

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """Solve with the right-hand sides (N,) and (K, b)."""
        right = np.concatenate([scores, workers.ravel()])[:, None]
        x = self.conjugate_gradients(right, self.tolerance)[0][:, 0]
        return x[: len(scores)], x[len(scores) :].reshape(workers.shape)


class Bordered(Inverse):
    """A factorized arrow matrix A with a border B of common parameters: S = own - B' A^-1 B, G by G."""

    factor: Factor
    border: Border
    scores: Floats
    workers: Floats
    inverse: Any

    def __init__(self, factor: Factor, border: Border) -> None:
        self.factor, self.border = factor, border
        count = border.own.shape[0]
        solved = [factor.solve(border.scores[:, g], border.workers[:, :, g]) for g in range(count)]
        self.scores = np.stack([scores for scores, _ in solved], axis=1)
        self.workers = np.stack([workers for _, workers in solved], axis=2)
        schur = border.own - border.scores.T @ self.scores
        schur -= np.einsum("kbg,kbh->gh", border.workers, self.workers)
        self.inverse = inverse_of(0.5 * (schur + schur.T)[None])[0]

    def steps(self, scores: Floats, workers: Floats, common: Floats) -> tuple[Floats, Floats, Floats]:
        """Solve with the right-hand sides (N,), (K, b) and (G,)."""
        first, own = self.factor.solve(scores, workers)
        rest = common - self.border.scores.T @ first - np.einsum("kbg,kb->g", self.border.workers, own)
        last = self.inverse @ rest
        return first - self.scores @ last, own - self.workers @ last, last

    def storable(self) -> SavedArrow:
        """The matrix itself, with its border."""
        return SavedArrow(self.factor.arrow)

    def release(self) -> None:
        """Free what the inner factor can compute again."""
        self.factor.release()

    def sample(
        self, parts: Sequence[Integers], count: int, generator: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Draw common parameters first, then scores and the values of each worker given these."""
        scores, workers = self.factor.sample(parts, count, generator)
        common = generator.standard_normal((count, len(self.inverse))) @ np.linalg.cholesky(self.inverse).T
        rows = self.border.carried - self.workers
        return scores - common @ self.scores.T, workers + np.einsum("kbg,mg->mkb", rows, common)

    def with_combination(self, weights: Floats) -> tuple[Floats, float]:
        """A weighted column of the inverse. The common parameters of the members move with it."""
        own = np.einsum("kb,kbg->g", weights, self.border.carried)
        scores, workers, common = self.steps(np.zeros(len(self.scores)), weights, own)
        return scores, float((weights * workers).sum() + own @ common)

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        """Covariance of the scores of one part."""
        rows = self.scores[nodes]
        return self.factor.block(nodes) + rows @ self.inverse @ rows.T

    def free_worker_variance(self) -> Floats:
        """Variance of each worker's own value; of a held deviation only the common parameter varies."""
        rows = self.border.carried - self.workers
        own = np.einsum("kbg,gh,kbh->kb", rows, self.inverse, rows)
        return self.factor.free_worker_variance() + own

    def worker_variance(self) -> Floats:
        """Variance of the value of each worker: its deviation plus its common parameter."""
        rows = self.border.carried - self.workers
        return self.factor.worker_variance() + np.einsum("kbg,gh,kbh->kb", rows, self.inverse, rows)

    def score_variance(self) -> Floats:
        """Variance of each score."""
        return self.factor.score_variance() + np.einsum("ng,gh,nh->n", self.scores, self.inverse, self.scores)

    def deviation_variance(self) -> Floats:
        """Variance of the deviation of each worker."""
        own = np.einsum("kbg,gh,kbh->kb", self.workers, self.inverse, self.workers)
        return self.factor.worker_variance() + own

    def common_covariance(self) -> Floats:
        """Covariance of the common parameters."""
        return self.inverse


FACTORS: dict[str, type[WorkersEliminated] | type[PartsEliminated] | type[Iterative]] = {
    "workers": WorkersEliminated,
    "parts": PartsEliminated,
    "iterative": Iterative,
}
