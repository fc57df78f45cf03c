"""SoftRank: the expected DCG if every score is known up to normal noise (Taylor et al. 2008).

The score of document i is drawn from N(s_i, sigma^2). So j beats i with probability

    p_ij = Phi((s_j - s_i) / (sqrt(2) sigma)).

The rank of i (0 is the best) is the number of its lost contests. They count as independent, so it is a sum of
independent coins with the chances p_ij. With d(r) = 1 / log2(r + 2), 0 from place k on,

    L = sum_i w_i gain_i E d(rank_i) / scale,

where the scale is 1 for DCG, and for nDCG the DCG of the best order without weights. d falls, so losing to j can
only lower E d(rank_i). How much is its derivative by p_ij, for the distribution of the rank without j:

    u_ij = -w_i gain_i / scale sum_r P(rank_i without j = r) (d(r + 1) - d(r)) dp_ij/ds_j >= 0,
    dL/ds_i = sum_j (u_ij - u_ji).

L is not concave, and the second derivatives are of no use for a Newton step. The curvature is that of a concave
function with the same gradient here, as in LambdaRank: a pair that is pulled apart by v = |u_ij - u_ji| counts
as a multiple of ln Phi(x) whose slope is v, with x = (s_i - s_j) / (sqrt(2) sigma) if v pulls i upward. So

    c_ij = v (h(x) + x) / (sqrt(2) sigma),     h(x) = Phi'(x) / Phi(x),

which is positive. The matrix has the sum of c_ij over j at (i, i) and -c_ij elsewhere. It is positive
semidefinite, and does not see a constant that is added to all scores of a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.errors import UsageError
from crowdrank.kernels.rank_distribution import CHUNK, expected_with_slopes
from crowdrank.kernels.segments import Rows, segment_of
from crowdrank.measures.listwise import gains
from crowdrank.rankers.objectives.base import Derivatives, LabelObjective, Targets
from crowdrank.rankers.objectives.dcg import best_dcg, discounts

MEASURES = ("ndcg", "dcg")
FARTHEST = 40.0
"""Two scores that are more standard deviations apart than this do not pull at each other: the density is 0."""


@dataclass(frozen=True, eq=False)
class EqualLists:
    """Some lists of the same length: their numbers, and by list and document its row and its gain (lists, n).

    ``gain``: the gain times the weight over the scale of the list.
    """

    number: Rows
    row: Rows
    gain: Floats


@dataclass(frozen=True, eq=False)
class SoftLists:
    """Lists by length, some at a time, and how many lists and rows there are."""

    parts: tuple[EqualLists, ...]
    lists: int
    rows: int


@dataclass(frozen=True)
class SoftRank(LabelObjective[SoftLists]):
    """The expected ``measure`` (ndcg or dcg) of the first ``k`` places if scores have normal noise.

    ``gain``: "exp" (2^label - 1) or "linear". ``spread``: sigma, the standard deviation of the noise. The smaller
    it is, the closer L is to the measure itself, and the flatter it is between the steps of the measure. The
    weight of a document multiplies its gain; one with the weight 0 is not in its list. A list of n documents, R of
    them relevant, takes O(R n min(n, k)) time.
    """

    measure: str = "ndcg"
    k: int | None = None
    gain: str = "exp"
    spread: float = 1.0

    def plan(self, targets: Targets) -> SoftLists:
        """Find the gains, and the lists of each length."""
        self._check()
        rows = np.flatnonzero(targets.weight > 0)
        of = segment_of(targets.start)[rows]
        best = np.lexsort((-targets.label[rows], of))
        rows = rows[best]  # by list, and best first within each
        start = np.searchsorted(of, np.arange(len(targets.start)))
        label = targets.label[rows]
        relative = self.measure == "ndcg" and self.gain == "exp"
        gain = gains(label, self.gain, float(label.max(initial=0.0)) if relative else 0.0)
        if self.measure == "ndcg":
            gain = gain / best_dcg(gain, start, self.k)[of]
        parts = tuple(_equal_lists(start, rows, gain * targets.weight[rows]))
        return SoftLists(parts, len(start) - 1, len(targets.label))

    def derivatives(self, scores: Floats, plan: SoftLists, reference: Floats) -> Derivatives:
        """Value, gradient, and the diagonal of the curvature that the module describes."""
        value, gradient, curvature = np.zeros(plan.lists), np.zeros(plan.rows), np.zeros(plan.rows)
        for part in plan.parts:
            own = _Pulls(self, scores[part.row], part.gain)
            value[part.number] = own.value
            gradient[part.row] = own.net.sum(axis=2)
            curvature[part.row] = own.curvature().sum(axis=2)
        return Derivatives(value, gradient, curvature)

    def curvature_times(self, scores: Floats, plan: SoftLists, reference: Floats, columns: Floats) -> Floats:
        """Row i of the product: the sum over j of c_ij (V_i - V_j)."""
        product = np.zeros_like(columns)
        for part in plan.parts:
            curvature = _Pulls(self, scores[part.row], part.gain).curvature()
            own = columns[part.row]
            product[part.row] = curvature.sum(axis=2)[:, :, None] * own - curvature @ own
        return product

    def _check(self) -> None:
        if self.measure not in MEASURES:
            raise UsageError(f"The measure must be one of {', '.join(MEASURES)}. Got {self.measure!r}.")
        if not 0 < self.spread < np.inf:
            raise UsageError(f"The spread must be a number above 0. Got {self.spread!r}.")


def _equal_lists(start: Rows, rows: Rows, gain: Floats) -> Iterator[EqualLists]:
    """The lists of each length, about ``CHUNK`` pairs of documents at a time; empty lists are left out."""
    sizes = np.diff(start)
    for size in np.unique(sizes[sizes > 0]):
        every = np.flatnonzero(sizes == size)
        step = max(1, CHUNK // int(size) ** 2)
        for first in range(0, len(every), step):
            number = every[first : first + step]
            place = start[number][:, None] + np.arange(size)
            yield EqualLists(number, rows[place], gain[place])


class _Pulls:
    """The ``value`` of lists of the same length, and ``net`` (lists, n, n): how much j pulls i upward."""

    def __init__(self, objective: SoftRank, scores: Floats, gain: Floats) -> None:
        from scipy.special import ndtr

        size = scores.shape[1]
        self.unit = np.sqrt(2.0) * objective.spread
        self.ahead = (scores[:, :, None] - scores[:, None, :]) / self.unit
        density = np.exp(-0.5 * self.ahead**2) / (np.sqrt(2.0 * np.pi) * self.unit)
        lists, own = np.nonzero(gain)  # a document without gain moves only because others want its place
        others = np.arange(size - 1) + (np.arange(size - 1) >= own[:, None])
        at = lists[:, None], own[:, None], others
        top = size if objective.k is None else min(objective.k, size)
        expected, slopes = expected_with_slopes(ndtr(-self.ahead[at]), discounts(np.arange(top), None))
        self.value = np.bincount(lists, gain[lists, own] * expected, len(gain))
        pulls = np.zeros_like(self.ahead)
        pulls[at] = -gain[lists, own, None] * slopes * density[at]
        self.net = pulls - pulls.transpose(0, 2, 1)

    def curvature(self) -> Floats:
        """c_ij of all pairs (lists, n, n)."""
        from scipy.special import log_ndtr

        x = np.clip(np.copysign(1.0, self.net) * self.ahead, -FARTHEST, FARTHEST)
        hazard = np.exp(-0.5 * x**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(x))
        return np.asarray(np.abs(self.net) * (hazard + x) / self.unit)
