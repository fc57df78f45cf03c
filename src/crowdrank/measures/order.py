"""Measures of order: how two scorings of the same items agree, and how well one separates two classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats


def _pair_counts(x: Floats, y: Floats) -> tuple[int, int, int, int, int]:
    """Numbers of pairs: concordant, discordant, tied in x only, in y only, in both; O(n log n)."""
    n = len(x)
    order = np.lexsort((y, x))
    x, y = np.asarray(x, float)[order], np.asarray(y, float)[order]
    both = _tied_pairs(np.flatnonzero(np.diff(x) != 0) + 1, np.flatnonzero(np.diff(y) != 0) + 1, n)
    x_ties = _tied_pairs(np.flatnonzero(np.diff(x) != 0) + 1, None, n)
    y_ties = _tied_pairs(np.flatnonzero(np.diff(np.sort(y)) != 0) + 1, None, n)
    # pairs with x_i < x_j (ties in x are sorted by y, so they bring no inversion) and y_i > y_j
    discordant = _inversions(np.unique(y, return_inverse=True)[1])
    total = n * (n - 1) // 2
    concordant = total - discordant - x_ties - y_ties + both
    return concordant, discordant, x_ties - both, y_ties - both, both


def _tied_pairs(cuts: NDArray[np.int64], more: NDArray[np.int64] | None, n: int) -> int:
    every = cuts if more is None else np.union1d(cuts, more)
    sizes = np.diff(np.concatenate([[0], every, [n]]))
    return int((sizes * (sizes - 1) // 2).sum())


def _inversions(values: NDArray[np.int64]) -> int:
    """Pairs i < j with values[i] > values[j], by merging sorted runs of doubling length."""
    n, count, width = len(values), 0, 1
    values = values.astype(np.int64)
    while width < n:
        size = 2 * width
        blocks = -(-n // size)
        top = int(values.max()) + 1
        padded = np.full(blocks * size, top)
        padded[:n] = values
        table = padded.reshape(blocks, size)
        # each block's halves are sorted; offsets let one search serve all blocks
        offset = np.arange(blocks)[:, None] * (top + 1)
        left, right = (table[:, :width] + offset).ravel(), table[:, width:] + offset
        above = (np.arange(blocks)[:, None] + 1) * width - np.searchsorted(left, right, side="right")
        count += int(above[table[:, width:] < top].sum())
        values = np.sort(table, axis=1).ravel()[:n]
        width = size
    return count


def kendall_tau(x: Floats, y: Floats) -> float:
    """Kendall's tau-b: (concordant - discordant) / sqrt(pairs untied in x times pairs untied in y).

    NaN if one of the two is constant.
    """
    concordant, discordant, x_only, y_only, _ = _pair_counts(x, y)
    untied = concordant + discordant
    scale = (untied + y_only) * (untied + x_only)
    return (concordant - discordant) / scale**0.5 if scale else float("nan")


def kendall_distance(x: Floats, y: Floats) -> float:
    """Number of pairs that x and y order differently; a pair tied in just one of them counts half."""
    _, discordant, x_only, y_only, _ = _pair_counts(x, y)
    return discordant + 0.5 * (x_only + y_only)


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's rho: the correlation of the ranks, ties at their mean rank; NaN if x or y is constant."""
    a, b = (_mean_ranks(np.asarray(values, float)) for values in (x, y))
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale else float("nan")


def _mean_ranks(values: Floats) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[place]


def pairwise_accuracy(scores: Floats, grades: Floats) -> float:
    """Share of the pairs with different grades that the scores order correctly (Crowd-BT eq. 20).

    A pair of equal scores counts half, which is the expected value over the orders of ties. NaN if all
    grades are equal.
    """
    concordant, discordant, scores_tied, _, _ = _pair_counts(scores, grades)
    pairs = concordant + discordant + scores_tied
    return (concordant + 0.5 * scores_tied) / pairs if pairs else float("nan")


def roc_auc(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """Probability that a positive scores above a negative, ties counting half; NaN if there is only one class.

    For finding bad workers: scores = 1 - quality, positive = known to be bad.
    """
    return pairwise_accuracy(np.asarray(scores, float), np.asarray(positive).astype(float))
