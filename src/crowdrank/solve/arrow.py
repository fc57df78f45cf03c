"""The information matrix of scores and worker parameters, never stored whole.

    [ items      coupling ]      items:    scores by scores, block-diagonal over the connected parts
    [ coupling'  workers  ]      workers:  a small block for each worker

One side is eliminated and the other solved densely (a Schur complement): the workers where they
are many and the scores few, the parts of the scores where there are many queries. Where both sides
are too large, systems are solved by conjugate gradients on the sparse matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats

Matrix = Any  # a dense array, or a SciPy sparse array

EXACT_LIMIT = 8000
DENSE_CELLS = 1 << 20
FILLED_CELLS = 1 << 26


class NotPositiveError(ArithmeticError):
    """The matrix is not positive definite: this is not (yet) near a maximum."""


def accumulate(rows: NDArray[Any], columns: NDArray[Any], values: Floats, shape: tuple[int, int]) -> Matrix:
    """Sum of values[k] at (rows[k], columns[k]): dense where small, else compressed sparse rows.

    The choice depends on the shape alone, so that the matrices of all shards can be added.
    """
    if shape[0] * shape[1] <= DENSE_CELLS:
        flat = rows.astype(np.int64) * shape[1] + columns
        return np.bincount(flat, values, shape[0] * shape[1]).reshape(shape)
    from scipy.sparse import coo_array, csr_array

    first = int(rows.min(initial=0))
    height = int(rows.max(initial=0)) - first + 1
    if height * shape[1] > 4 * len(values) + DENSE_CELLS:
        return coo_array((values, (rows, columns)), shape=shape).tocsr()
    # A shard touches few neighbouring rows: count into a dense strip, which is faster than sorting.
    strip = np.bincount((rows.astype(np.int64) - first) * shape[1] + columns, values, height * shape[1])
    filled = np.flatnonzero(strip)
    counts = np.zeros(shape[0], np.int64)
    counts[first : first + height] = np.bincount(filled // shape[1], minlength=height)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return csr_array((strip[filled], filled % shape[1], starts), shape=shape)


@dataclass(frozen=True, eq=False)
class Arrow:
    """Minus the second derivatives: ``items`` (N, N), ``coupling`` (N, K b), ``workers`` (K, b, b).

    ``part`` numbers the connected part of each score. ``gauge`` is True where nothing fixes the level
    of a part (no regularisation): the direction in which all its scores move together is then held.
    """

    items: Matrix
    coupling: Matrix
    workers: Floats
    part: NDArray[np.int32]
    gauge: bool = False

    def diagonals(self) -> tuple[Floats, Floats]:
        """Its diagonal: scores (N,) and worker parameters (K, b)."""
        return self.items.diagonal().copy(), np.einsum("kbb->kb", self.workers).copy()

    def fixed(self, fixed: NDArray[np.bool_]) -> Arrow:
        """The same with these worker parameters (K, b) held at their values."""
        if not fixed.any():
            return self
        keep = ~fixed
        workers = self.workers * (keep[:, :, None] & keep[:, None, :])
        workers = workers + np.eye(fixed.shape[1]) * fixed[:, :, None]
        coupling = _scale_columns(self.coupling, keep.ravel().astype(float))
        return Arrow(self.items, coupling, workers, self.part, self.gauge)

    def with_variance(self, chosen: NDArray[np.bool_], variance: Floats) -> Arrow:
        """The same with 1 / variance as the diagonal curvature of the chosen worker parameters (K, b)."""
        own = np.einsum("kbb->kb", self.workers)
        change = np.where(chosen, 1.0 / np.where(chosen, variance, 1.0) - own, 0.0)
        workers = self.workers + np.eye(own.shape[1]) * change[:, :, None]
        return Arrow(self.items, self.coupling, workers, self.part, self.gauge)

    def damped(self, damping: float) -> Arrow:
        """With ``damping`` times the size of its diagonal added to it."""
        if damping == 0:
            return self
        scores, own = (np.abs(diagonal) for diagonal in self.diagonals())
        scores = damping * np.maximum(scores, 1e-3 * scores.max(initial=1e-300))
        workers = self.workers + damping * np.eye(own.shape[1]) * own[:, :, None]
        return Arrow(_add_diagonal(self.items, scores), self.coupling, workers, self.part, self.gauge)

    @property
    def method(self) -> str:
        """Which way its systems are solved: 'workers' or 'parts' eliminated, or 'iterative'."""
        scores, workers = len(self.part), self.workers.shape[0] * self.workers.shape[1]
        largest = int(np.bincount(self.part).max(initial=0))
        if workers == 0 or (scores > EXACT_LIMIT and workers <= EXACT_LIMIT):
            return "parts" if largest <= EXACT_LIMIT else "iterative"
        if largest < scores and workers < scores:
            return "parts" if largest <= EXACT_LIMIT and workers <= EXACT_LIMIT else "iterative"
        return "workers" if scores <= EXACT_LIMIT else "iterative"

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """The Newton step: this matrix times the step equals the gradient (N,), (K, b)."""
        return self.factor().solve(scores, workers)

    def factor(self) -> Factor:
        """A factorisation; NotPositiveError where there is none."""
        kinds: dict[str, Callable[[Arrow], Factor]] = {
            "workers": _WorkersEliminated,
            "parts": _PartsEliminated,
            "iterative": _Iterative,
        }
        return kinds[self.method](self)

    def covariance(self) -> Covariance:
        """The inverse, where it is exact: what the uncertainty follows from."""
        return self.factor()


class Covariance:
    """The parts of an inverse information that are asked for."""

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        """Covariance of the scores of these nodes, which are one connected part."""
        raise NotImplementedError

    def worker_variance(self) -> Floats:
        """Variance of each worker parameter (K, b), all else being estimated too."""
        raise NotImplementedError


class Factor(Covariance):
    """A factorised arrow matrix."""

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        """Solve with the right-hand sides (N,) and (K, b)."""
        raise NotImplementedError


class _WorkersEliminated(Factor):
    """S = items - coupling workers^-1 coupling', dense, by Cholesky."""

    def __init__(self, arrow: Arrow) -> None:
        self.coupling = _filled(arrow.coupling)
        self.inverse = _inverse(arrow.workers)
        self.weighted = _times_blocks(self.coupling, self.inverse)
        schur = _dense(arrow.items) - _dense(self.weighted @ self.coupling.T)
        if arrow.gauge:
            schur += _gauge(schur, arrow.part)
        self.cholesky = _cholesky(schur)

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        from scipy.linalg import cho_solve

        step = cho_solve(self.cholesky, scores - self.weighted @ workers.ravel())
        rest = workers - (self.coupling.T @ step).reshape(workers.shape)
        return step, np.einsum("kbc,kc->kb", self.inverse, rest)

    def _scores(self) -> Floats:
        if not hasattr(self, "_covariance"):
            self._covariance = _inverse_from(self.cholesky)
        return self._covariance

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        return self._scores()[np.ix_(nodes, nodes)]

    def worker_variance(self) -> Floats:
        blocks = self.inverse.shape[:2]
        own = np.einsum("kbb->kb", self.inverse)
        return own + _quadratic(self._scores(), self.weighted).reshape(blocks)


class _PartsEliminated(Factor):
    """T = workers - coupling' items^-1 coupling, dense, with items^-1 taken part by part."""

    def __init__(self, arrow: Arrow) -> None:
        self.shape = arrow.workers.shape[:2]
        self.blocks = _PartBlocks(arrow)
        self.coupling = arrow.coupling
        self.cholesky: tuple[Floats, bool] | None = None
        if self.shape[0]:
            self.weighted = self.blocks.times(arrow.coupling)
            schur = _block_diagonal(arrow.workers) - _dense(arrow.coupling.T @ self.weighted)
            self.cholesky = _cholesky(schur)

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        from scipy.linalg import cho_solve

        step = self.blocks.times(scores)
        if self.cholesky is None:
            return step, workers
        own = cho_solve(self.cholesky, workers.ravel() - self.coupling.T @ step)
        return step - self.weighted @ own, own.reshape(workers.shape)

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        own = self.blocks.of(nodes)
        if self.cholesky is None:
            return own
        from scipy.linalg import cho_solve

        rows = _dense(self.weighted[nodes])
        return own + rows @ cho_solve(self.cholesky, rows.T)

    def worker_variance(self) -> Floats:
        if self.cholesky is None:
            return np.zeros(self.shape)
        return _inverse_from(self.cholesky).diagonal().reshape(self.shape)


class _PartBlocks:
    """The items' matrix, part by part: parts of one size are inverted together, a lone one is factored."""

    def __init__(self, arrow: Arrow) -> None:
        self.part = arrow.part
        self.size = np.bincount(arrow.part)
        order = np.argsort(arrow.part, kind="stable")
        starts = np.cumsum(self.size) - self.size
        self.place = np.empty(len(order), np.int64)
        self.place[order] = np.arange(len(order)) - np.repeat(starts, self.size)
        self.slot = np.empty(len(self.size), np.int64)
        self.members: dict[int, NDArray[np.int64]] = {}
        self._inverse: dict[int, Floats] = {}
        self._cholesky: dict[int, tuple[Floats, bool]] = {}
        entries = _entries(arrow.items)
        for size in np.unique(self.size).tolist():
            own = np.flatnonzero(self.size == size)
            self.slot[own] = np.arange(len(own))
            self.members[size] = order[starts[own][:, None] + np.arange(size)]
            stack = self._stack(size, len(own), entries)
            if arrow.gauge:
                level = np.einsum("kii->k", stack) / size + (size == 1)
                stack += (level / size)[:, None, None]
            if len(own) == 1:
                self._cholesky[size] = _cholesky(stack[0])
            else:
                self._inverse[size] = _inverse(stack)

    def _stack(self, size: int, count: int, entries: tuple[NDArray[Any], NDArray[Any], Floats]) -> Floats:
        """The blocks of every part of this size."""
        rows, columns, values = entries
        here = self.size[self.part[rows]] == size
        stack = np.zeros((count, size, size))
        stack[self.slot[self.part[rows[here]]], self.place[rows[here]], self.place[columns[here]]] = values[
            here
        ]
        return stack

    def inverse(self, size: int) -> Floats:
        """The inverses (count, size, size) of the parts of this size."""
        if size not in self._inverse:
            self._inverse[size] = _inverse_from(self._cholesky[size])[None]
        return self._inverse[size]

    def of(self, nodes: NDArray[np.int64]) -> Floats:
        """The inverse block of a part, its nodes in this order."""
        part = int(self.part[nodes[0]])
        place = self.place[nodes]
        return self.inverse(int(self.size[part]))[self.slot[part]][np.ix_(place, place)]

    def times(self, right: Matrix) -> Matrix:
        """items^-1 times a vector or a matrix."""
        if not isinstance(right, np.ndarray):
            return self._sparse() @ right
        from scipy.linalg import cho_solve

        result = np.empty_like(right)
        for size, members in self.members.items():
            if size in self._cholesky:
                result[members[0]] = cho_solve(self._cholesky[size], right[members[0]])
            else:
                stacked = right[members].reshape(*members.shape, -1)
                result[members] = (self._inverse[size] @ stacked).reshape(members.shape + right.shape[1:])
        return result

    def _sparse(self) -> Matrix:
        from scipy.sparse import coo_array

        rows, columns, values = [], [], []
        for size, members in self.members.items():
            rows.append(np.repeat(members, size, axis=1).ravel())
            columns.append(np.tile(members, (1, size)).ravel())
            values.append(self.inverse(size).ravel())
        at = (np.concatenate(rows), np.concatenate(columns))
        return coo_array((np.concatenate(values), at), shape=(len(self.part),) * 2).tocsr()


class _Iterative(Factor):
    """Conjugate gradients with the diagonal as preconditioner."""

    def __init__(self, arrow: Arrow) -> None:
        self.arrow = arrow
        scores, workers = arrow.diagonals()
        self.diagonal = np.concatenate([scores, workers.ravel()])
        if not (self.diagonal > 0).all():
            raise NotPositiveError

    def times(self, x: Floats) -> Floats:
        """The matrix times a vector, or times each column of a matrix."""
        n = len(self.arrow.part)
        s, w = x[:n], x[n:]
        blocks = self.arrow.workers
        own = np.einsum("kbc,kc...->kb...", blocks, w.reshape(blocks.shape[:2] + x.shape[1:])).reshape(
            w.shape
        )
        top = self.arrow.items @ s + self.arrow.coupling @ w
        return np.concatenate([top, own + self.arrow.coupling.T @ s])

    def gradients(self, right: Floats, tol: float = 1e-10, limit: int = 2000) -> Floats:
        """Solve for each column of ``right`` by conjugate gradients."""
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
                return x
            direction = z + np.where(moving, new / np.where(rho > 0, rho, 1.0), 0.0) * direction
            rho = new
        return x

    def solve(self, scores: Floats, workers: Floats) -> tuple[Floats, Floats]:
        right = np.concatenate([scores, workers.ravel()])[:, None]
        x = self.gradients(right)[:, 0]
        return x[: len(scores)], x[len(scores) :].reshape(workers.shape)


# ------------------------------------------------------------------------------------- small matrices


def _dense(matrix: Matrix) -> Floats:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def _filled(matrix: Matrix) -> Matrix:
    """A sparse matrix as a dense one where that is faster to multiply: well filled, and not huge."""
    if isinstance(matrix, np.ndarray):
        return matrix
    cells = matrix.shape[0] * matrix.shape[1]
    return matrix.toarray() if cells <= FILLED_CELLS and matrix.nnz > 0.02 * cells else matrix


def _entries(matrix: Matrix) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    if isinstance(matrix, np.ndarray):
        rows, columns = np.nonzero(matrix)
        return rows, columns, matrix[rows, columns]
    coo = matrix.tocoo()
    return coo.coords[0], coo.coords[1], coo.data


def _add_diagonal(matrix: Matrix, diagonal: Floats) -> Matrix:
    if isinstance(matrix, np.ndarray):
        return matrix + np.diag(diagonal)
    from scipy.sparse import diags_array

    return matrix + diags_array(diagonal).tocsr()


def _scale_columns(matrix: Matrix, scale: Floats) -> Matrix:
    if isinstance(matrix, np.ndarray):
        return matrix * scale
    from scipy.sparse import diags_array

    return matrix @ diags_array(scale)


def _times_blocks(matrix: Matrix, blocks: Floats) -> Matrix:
    """matrix (N, K b) times a block-diagonal matrix of blocks (K, b, b)."""
    count, size = blocks.shape[:2]
    if size == 1:
        return _scale_columns(matrix, blocks.ravel())
    if isinstance(matrix, np.ndarray):
        stacked = matrix.reshape(-1, count, size)
        return np.einsum("nkb,kbc->nkc", stacked, blocks).reshape(matrix.shape)
    from scipy.sparse import bsr_array

    return (matrix @ bsr_array((blocks, np.arange(count), np.arange(count + 1)))).tocsr()


def _block_diagonal(blocks: Floats) -> Floats:
    count, size = blocks.shape[:2]
    full = np.zeros((count, size, count, size))
    full[np.arange(count), :, np.arange(count), :] = blocks
    return full.reshape(count * size, count * size)


def _inverse(stack: Floats) -> Floats:
    """Inverses of a stack of positive definite matrices."""
    if stack.shape[1] == 1:
        if not (stack > 0).all():
            raise NotPositiveError
        return 1.0 / stack
    try:
        np.linalg.cholesky(stack)
    except np.linalg.LinAlgError:
        raise NotPositiveError from None
    inverse = np.linalg.inv(stack).astype(np.float64, copy=False)
    return 0.5 * (inverse + inverse.transpose(0, 2, 1))


def _cholesky(matrix: Floats) -> tuple[Floats, bool]:
    from scipy.linalg import cho_factor

    if not np.isfinite(matrix).all():
        raise NotPositiveError
    try:
        factor, lower = cho_factor(matrix, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise NotPositiveError from None
    return factor, bool(lower)


def _inverse_from(cholesky: tuple[Floats, bool]) -> Floats:
    from scipy.linalg.lapack import dpotri

    lower, _ = dpotri(cholesky[0], lower=1)
    triangle = np.tril(lower)
    return triangle + np.tril(lower, -1).T


def _gauge(matrix: Floats, part: NDArray[np.int32]) -> Floats:
    """A constant on the block of each part, of the size of its diagonal."""
    size = np.bincount(part)
    level = np.bincount(part, matrix.diagonal()) / size
    level = np.where(size == 1, 1.0, level)
    return np.where(part[:, None] == part[None, :], (level / size)[part][:, None], 0.0)


def _quadratic(square: Floats, columns: Matrix, chunk: int = 4096) -> Floats:
    """diag(columns' square columns), a chunk of columns at a time."""
    values = np.empty(columns.shape[1])
    for start in range(0, columns.shape[1], chunk):
        some = columns[:, start : start + chunk]
        if isinstance(some, np.ndarray):
            values[start : start + chunk] = np.einsum("nm,nm->m", some, square @ some)
        else:
            values[start : start + chunk] = np.asarray(
                some.multiply(some.T.dot(square).T).sum(axis=0)
            ).ravel()
    return values
