"""Each pair of items as one contest: what one item gains, the other loses.

If a score adds up contests, s_i = sum_j x_ij with x_ji = -x_ij, and the contests are independent with
variances v_ij, then

    var(s_i) = sum_j v_ij,        cov(s_i, s_j) = -v_ij.

The majority decides a contest: the sign of wins - losses. A pair that nobody judged is a tie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.prepared.comparisons import Comparisons
from crowdrank.prepared.graph import Graph
from crowdrank.prepared.votes import EQUAL
from crowdrank.solve import Covariance

if TYPE_CHECKING:
    from crowdrank.data.arrays import Ints

STEP = 1e-6
"""How much of the score one place is worth if the values do not fall along the order."""


def net_gains(rows: Comparisons, x: NDArray[Any]) -> Floats:
    """s_i = sum_j x_ij for every node; ``x`` has one entry per row."""
    return summed(rows.i, x, rows.nodes) - summed(rows.j, x, rows.nodes)


def majority(rows: Comparisons) -> NDArray[np.int64]:
    """1 if most votes are for i, -1 if most are for j, 0 if neither has more."""
    ahead = rows.wins - rows.losses
    return np.where(np.abs(ahead) > EQUAL * (rows.wins + rows.losses), np.sign(ahead), 0).astype(np.int64)


def share_variance(counts: Comparisons | Graph) -> Floats:
    """The variance of Beta(wins + 1/2, losses + 1/2): of i's share in each pair, or of each node's share."""
    games = counts.wins + counts.losses
    return (counts.wins + 0.5) * (counts.losses + 0.5) / ((games + 1) ** 2 * (games + 2))


def sign_variance(rows: Comparisons) -> Floats:
    """4 q (1 - q), the variance of the sign; q: the probability that the majority is the true one."""
    from scipy.special import betainc

    right = np.asarray(betainc(rows.losses + 0.5, rows.wins + 0.5, 0.5), np.float64)
    return 4 * right * (1 - right)


def falling_scores(values: Floats, place: NDArray[np.int64]) -> Floats:
    """Scores in the order of the places: the falling sequence closest to the values, minus a small step for each
    place."""
    from scipy.optimize import isotonic_regression

    order = np.argsort(place, kind="stable")
    score = np.empty(len(place))
    score[order] = isotonic_regression(values[order], increasing=False).x
    return score - STEP * (place - place.min())


class ContestCovariance(Covariance):
    """The covariance of scores that add up independent contests; ``variance``: that of each row's contest."""

    i: Ints
    j: Ints
    contest: Floats
    start: NDArray[Any]
    own: Floats
    place: NDArray[Any]

    pairwise_limit = 2000

    def __init__(self, rows: Comparisons, part: NDArray[np.int32], variance: Floats) -> None:
        order = np.argsort(part[rows.i], kind="stable")
        self.i, self.j, self.contest = rows.i[order], rows.j[order], variance[order]
        self.part = part
        self.start = np.concatenate([[0], np.cumsum(np.bincount(part[rows.i], minlength=part.max() + 1))])
        self.own = summed(rows.i, variance, rows.nodes) + summed(rows.j, variance, rows.nodes)
        self.place = np.empty(rows.nodes, np.int64)

    def block(self, nodes: NDArray[np.int64]) -> Floats:
        """Covariance of the scores of one part."""
        self.place[nodes] = np.arange(len(nodes))
        number = self.part[nodes[0]]
        rows = slice(self.start[number], self.start[number + 1])
        i, j = self.place[self.i[rows]], self.place[self.j[rows]]
        block = np.diag(self.own[nodes])
        block[i, j] -= self.contest[rows]
        block[j, i] -= self.contest[rows]
        return block

    def variance(self, nodes: NDArray[np.int64]) -> Floats:
        """The variances of the scores. The gains and losses of a part cancel, so its scores are centered."""
        return self.own[nodes]
