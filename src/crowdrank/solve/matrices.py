"""Matrices that are dense if small and sparse if large, and the few operations that they need."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, summed
from crowdrank.engine import all_blas_threads

Matrix = Any  # a dense array, or a SciPy sparse array

DENSE_CELLS = 1 << 20
FILLED_CELLS = 1 << 26
MANY_ROWS = 1500
MIRRORED_ROWS = 256
"""How many rows of a triangle are mirrored at once."""
WELL_FILLED = 0.05
"""Above this share of nonzero entries, a dense product is faster than a sparse one."""


def _blas_threads(size: int) -> AbstractContextManager[Any]:
    """Let BLAS use all threads of this process if the matrix is large enough to benefit."""
    return all_blas_threads() if size >= MANY_ROWS else nullcontext()


class NotPositiveError(ArithmeticError):
    """The matrix is not positive definite: this is not (yet) near a maximum."""


def accumulate(rows: NDArray[Any], columns: NDArray[Any], values: Floats, shape: tuple[int, int]) -> Matrix:
    """Sum of values[k] at (rows[k], columns[k]): dense if small, otherwise compressed sparse rows.

    The choice depends only on the shape, so that the matrices of all shards can be added.
    """
    places = rows.astype(np.int64) * shape[1] + columns
    if is_small(shape):
        return np.bincount(places, values, shape[0] * shape[1]).reshape(shape)
    first = int(rows.min(initial=0))
    height = int(rows.max(initial=0)) - first + 1
    if fits_strip(height, shape, len(values)):
        strip = summed(places - first * shape[1], values, height * shape[1])
        return _place_strip(strip.reshape(height, -1), first, shape)
    from scipy.sparse import coo_array

    return coo_array((values, (rows, columns)), shape=shape).tocsr()


def is_small(shape: tuple[int, int]) -> bool:
    """Whether a matrix of this shape is kept dense."""
    return shape[0] * shape[1] <= DENSE_CELLS


def fits_strip(height: int, shape: tuple[int, int], entries: int) -> bool:
    """Whether it is faster to count into a dense strip of neighboring rows than to sort the entries."""
    return height * shape[1] <= 4 * entries + DENSE_CELLS


def _place_strip(strip: Floats, first: int, shape: tuple[int, int]) -> Matrix:
    """The sparse matrix whose rows from ``first`` on are the strip, and whose other rows are 0."""
    from scipy.sparse import csr_array

    row, column = np.nonzero(strip)
    counts = np.zeros(shape[0], np.int64)
    counts[first : first + len(strip)] = np.bincount(row, minlength=len(strip))
    starts = np.concatenate([[0], np.cumsum(counts)])
    return csr_array((strip[row, column], column, starts), shape=shape)


def dense(matrix: Matrix) -> Floats:
    """The matrix as a dense array."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def densify(matrix: Matrix) -> Matrix:
    """Make a sparse matrix dense if that is faster to multiply: many entries, and not huge."""
    if isinstance(matrix, np.ndarray):
        return matrix
    cells = matrix.shape[0] * matrix.shape[1]
    return matrix.toarray() if cells <= FILLED_CELLS and matrix.nnz > WELL_FILLED * cells else matrix


def entries(matrix: Matrix) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Row, column and value of each nonzero entry."""
    if isinstance(matrix, np.ndarray):
        rows, columns = np.nonzero(matrix)
        return rows, columns, matrix[rows, columns]
    coo = matrix.tocoo()
    return coo.coords[0], coo.coords[1], coo.data


def add_diagonal(matrix: Matrix, diagonal: Floats) -> Matrix:
    """The matrix with ``diagonal`` added to its diagonal."""
    if isinstance(matrix, np.ndarray):
        return matrix + np.diag(diagonal)
    from scipy.sparse import diags_array

    return matrix + diags_array(diagonal).tocsr()


def scale_columns(matrix: Matrix, scale: Floats) -> Matrix:
    """Each column times its own number."""
    if isinstance(matrix, np.ndarray):
        return matrix * scale
    from scipy.sparse import diags_array

    return matrix @ diags_array(scale)


def times_blocks(matrix: Matrix, blocks: Floats) -> Matrix:
    """matrix (N, K b) times a block-diagonal matrix of blocks (K, b, b)."""
    count, size = blocks.shape[:2]
    if size == 1:
        return scale_columns(matrix, blocks.ravel())
    if isinstance(matrix, np.ndarray):
        stacked, result = matrix.reshape(-1, count, size), np.empty((len(matrix), count, size))
        for column in range(size):  # faster than an einsum over such a short axis
            result[:, :, column] = stacked[:, :, 0] * blocks[:, 0, column]
            for row in range(1, size):
                result[:, :, column] += stacked[:, :, row] * blocks[:, row, column]
        return result.reshape(matrix.shape)
    from scipy.sparse import bsr_array

    return (matrix @ bsr_array((blocks, np.arange(count), np.arange(count + 1)))).tocsr()


def block_diagonal(blocks: Floats) -> Floats:
    """Blocks (K, b, b) as one dense matrix (K b, K b)."""
    count, size = blocks.shape[:2]
    full = np.zeros((count, size, count, size))
    full[np.arange(count), :, np.arange(count), :] = blocks
    return full.reshape(count * size, count * size)


def inverse_of(stack: Floats) -> Floats:
    """Inverses of a stack of positive definite matrices."""
    if stack.shape[1] == 1:
        if not (stack > 0).all():
            raise NotPositiveError
        return 1.0 / stack
    try:
        np.linalg.cholesky(stack)
        inverse = np.linalg.inv(stack).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:  # a matrix that is positive by a rounding error may still have no inverse
        raise NotPositiveError from None
    return 0.5 * (inverse + inverse.transpose(0, 2, 1))


def cholesky_of(matrix: Floats) -> tuple[Floats, bool]:
    """The Cholesky factor. Raises NotPositiveError if there is none."""
    from scipy.linalg import cho_factor

    if not np.isfinite(matrix).all():
        raise NotPositiveError
    try:
        with _blas_threads(len(matrix)):
            factor, lower = cho_factor(matrix, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise NotPositiveError from None
    return factor, bool(lower)


def inverse_from(cholesky: tuple[Floats, bool]) -> Floats:
    """The inverse of a matrix from its Cholesky factor."""
    from scipy.linalg.lapack import dpotri

    with _blas_threads(len(cholesky[0])):
        inverse, _ = dpotri(cholesky[0], lower=1)
    for start in range(0, len(inverse), MIRRORED_ROWS):  # only the lower triangle is filled
        end = start + MIRRORED_ROWS
        block = inverse[start:end, start:end]
        inverse[start:end, start:end] = np.tril(block) + np.tril(block, -1).T
        inverse[start:end, end:] = inverse[end:, start:end].T
    return np.asarray(inverse)


def gauge(matrix: Floats, part: NDArray[np.int32]) -> Floats:
    """A constant on the block of each part, of the size of its diagonal."""
    size = np.bincount(part)
    level = np.bincount(part, matrix.diagonal()) / size
    level = np.where(size == 1, 1.0, level)
    return np.where(part[:, None] == part[None, :], (level / size)[part][:, None], 0.0)


def quadratic(square: Floats, columns: Matrix, chunk: int = 4096) -> Floats:
    """diag(columns' square columns), a chunk of columns at a time."""
    values = np.empty(columns.shape[1])
    for start in range(0, columns.shape[1], chunk):
        some = columns[:, start : start + chunk]
        if isinstance(some, np.ndarray):
            values[start : start + chunk] = np.einsum("nm,nm->m", some, square @ some)
        else:
            values[start : start + chunk] = np.asarray(some.multiply(some.T.dot(square).T).sum(axis=0)).ravel()
    return values
