"""LambdaRank: pairs of documents, each weighted by what exchanging them would change in a measure (Burges 2010).

    L = - sum over pairs with y_i > y_j of  v_ij ln (1 + e^-(s_i - s_j))
    v_ij = sqrt(w_i w_j) |change of the measure if i and j are exchanged|

The places of the documents, and with them v, are those of the reference scores. For DCG the change is |gain_i -
gain_j| |d(place_i) - d(place_j)| with d(r) = 1 / log2(1 + r), d = 0 beyond place k; for nDCG it is divided by
the DCG of the best order. Among documents with equal scores any order is equally likely, and the change is its
mean over these orders. With p_ij = 1 / (1 + e^(s_i - s_j)):

    dL/ds_i = sum_j v_ij p_ij - sum_j v_ji p_ji,     -d2L/ds_i^2 = sum over all pairs of i of  v p (1 - p)

``normalize`` divides v_ij by .01 + |s_i - s_j| at the reference and scales the v of a list so that lists with
many pairs do not outweigh the others: by log2(1 + S) / S with S = 2 sum of v p at the reference. Both are what
LightGBM's lambdarank does. Unlike LightGBM's, labels may be fractions and each document has a weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.data.arrays import Floats, summed
from crowdrank.errors import UsageError
from crowdrank.kernels.segments import Rows, earlier_sums, segment_of, totals
from crowdrank.measures.listwise import gains
from crowdrank.rankers.objectives.base import Derivatives, Objective, Targets

MEASURES = ("ndcg", "dcg", "err")
NEAR = 0.01
"""Added to the distance of two scores that ``normalize`` divides by."""
PAIRS = 1 << 21
"""How many pairs are held at a time. Fewer pairs than this are kept."""


@dataclass(frozen=True, eq=False)
class PairedLists:
    """Lists sorted by label, best first: ``order`` of the rows, the list of each sorted row, its gain and weight.

    ``after``: the first sorted row of the same list with a smaller label; the pairs of a row begin there.
    ``scale``: what a change of the measure is divided by, per list.
    """

    start: Rows
    order: Rows
    list: Rows
    after: Rows
    gain: Floats
    root: Floats  # square root of the weight
    scale: Floats
    kept: tuple[tuple[Rows, Rows], ...] | None

    def pairs(self) -> Iterator[tuple[Rows, Rows]]:
        """Pairs of sorted rows, the one with the larger label first, some at a time."""
        return iter(self.kept) if self.kept is not None else _pairs(self.start, self.after)


def _pairs(start: Rows, after: Rows) -> Iterator[tuple[Rows, Rows]]:
    partners = np.repeat(start[1:], np.diff(start)) - after
    block = (np.cumsum(partners) - partners) // PAIRS
    for rows in np.split(np.arange(len(partners)), np.flatnonzero(np.diff(block)) + 1):
        own = partners[rows]
        first = np.repeat(rows, own)
        yield first, after[first] + np.arange(len(first)) - np.repeat(np.cumsum(own) - own, own)


@dataclass(frozen=True)
class LambdaRank(Objective[PairedLists]):
    """The pairs of lists, weighted by the change of a ``measure`` (ndcg, dcg or err) in the first ``k`` places.

    ``gain``: "exp" (2^label - 1) or "linear". ``most``: the largest label of all lists, by which ERR is scaled.
    """

    measure: str = "ndcg"
    k: int | None = None
    gain: str = "exp"
    normalize: bool = True
    most: float = 0.0

    positions: ClassVar[bool] = True

    def plan(self, targets: Targets) -> PairedLists:
        """Sort each list by label and find the pairs with different labels."""
        if self.measure not in MEASURES:
            raise UsageError(f"The measure must be one of {', '.join(MEASURES)}. Got {self.measure!r}.")
        start, of = targets.start, segment_of(targets.start)
        order = np.lexsort((-targets.label, of))
        label = targets.label[order]
        new = (np.diff(of, prepend=-1) != 0) | (np.diff(label, prepend=np.nan) != 0)
        begins = np.append(np.flatnonzero(new), len(label))
        after = begins[1:][np.cumsum(new) - 1]
        gain = gains(label, "exp" if self.measure == "err" else self.gain, self._power(label))
        scale = np.ones(len(start) - 1)
        if self.measure == "ndcg":
            place = np.arange(len(label)) - start[of]
            scale = totals(gain * self._discount(place), start)
            scale[scale == 0] = 1.0
        count = int((np.repeat(start[1:], np.diff(start)) - after).sum())
        kept = tuple(_pairs(start, after)) if count <= PAIRS else None
        return PairedLists(start, order, of, after, gain, np.sqrt(targets.weight[order]), scale, kept)

    def derivatives(self, scores: Floats, plan: PairedLists, reference: Floats) -> Derivatives:
        """Value, gradient and diagonal of the curvature, with the places of the reference scores."""
        count, x = len(scores), scores[plan.order]
        value, first, second = np.zeros(len(plan.start) - 1), np.zeros(count), np.zeros(count)
        for one, other, weight in self._weighted_pairs(plan, reference[plan.order]):
            apart = x[one] - x[other]
            lost = _logistic(-apart)
            pull, bend = weight * lost, weight * lost * (1.0 - lost)
            value -= summed(plan.list[one], weight * np.logaddexp(0.0, -apart), len(value))
            first += summed(one, pull, count) - summed(other, pull, count)
            second += summed(one, bend, count) + summed(other, bend, count)
        gradient, curvature = np.empty(count), np.empty(count)
        gradient[plan.order], curvature[plan.order] = first, second
        return Derivatives(value, gradient, curvature)

    def curvature_times(self, scores: Floats, plan: PairedLists, reference: Floats, columns: Floats) -> Floats:
        """Row i of the product: the sum over its pairs of v p (1 - p) (V_i - V_j)."""
        x, sorted_ = scores[plan.order], columns[plan.order]
        product, total = np.empty_like(columns), np.zeros_like(sorted_)
        for one, other, weight in self._weighted_pairs(plan, reference[plan.order]):
            lost = _logistic(x[other] - x[one])
            bend = weight * lost * (1.0 - lost)
            for column in range(columns.shape[1]):
                flow = bend * (sorted_[one, column] - sorted_[other, column])
                total[:, column] += summed(one, flow, len(x)) - summed(other, flow, len(x))
        product[plan.order] = total
        return product

    def _weighted_pairs(self, plan: PairedLists, at: Floats) -> Iterator[tuple[Rows, Rows, Floats]]:
        """Pairs with v, at the sorted reference scores."""
        change = _ExchangedERR(plan, at, self.k) if self.measure == "err" else _ExchangedDCG(plan, at, self)
        factor = self._list_factor(plan, at, change) if self.normalize else None
        for one, other in plan.pairs():
            weight = self._plain_weight(plan, at, change, one, other)
            yield one, other, weight if factor is None else weight * factor[plan.list[one]]

    def _plain_weight(
        self, plan: PairedLists, at: Floats, change: _ExchangedDCG | _ExchangedERR, one: Rows, other: Rows
    ) -> Floats:
        weight = plan.root[one] * plan.root[other] * change(one, other)
        return weight / (NEAR + np.abs(at[one] - at[other])) if self.normalize else weight

    def _list_factor(self, plan: PairedLists, at: Floats, change: _ExchangedDCG | _ExchangedERR) -> Floats:
        """log2(1 + S) / S of each list. S is that of weights 1, so that weights only multiply."""
        total = np.zeros(len(plan.start) - 1)
        for one, other in plan.pairs():
            plain = change(one, other) / (NEAR + np.abs(at[one] - at[other]))
            total += summed(plan.list[one], 2.0 * plain * _logistic(at[other] - at[one]), len(total))
        return np.where(total > 0, np.log2(1.0 + total) / np.where(total > 0, total, 1.0), 1.0)

    def _discount(self, place: Rows) -> Floats:
        """d of the places, which are counted from 0."""
        found = 1.0 / np.log2(place + 2.0)
        return found if self.k is None else np.where(place < self.k, found, 0.0)

    def _power(self, label: Floats) -> float:
        """Gains are divided by 2^this. For ERR they are the probabilities to stop; for nDCG the scale cancels."""
        if self.measure == "err":
            return self.most or float(label.max(initial=0.0))
        return float(label.max(initial=0.0)) if self.measure == "ndcg" and self.gain == "exp" else 0.0


def _logistic(x: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(x))


class _ExchangedDCG:
    """The mean change of DCG if two documents are exchanged, over the orders of documents with equal scores."""

    def __init__(self, plan: PairedLists, at: Floats, objective: LambdaRank) -> None:
        order = np.lexsort((-at, plan.list))
        place = np.arange(len(at)) - plan.start[plan.list]
        discount = objective._discount(place)
        new = (np.diff(plan.list, prepend=-1) != 0) | (np.diff(at[order], prepend=np.nan) != 0)
        begins = np.append(np.flatnonzero(new), len(at))
        group, size = np.cumsum(new) - 1, np.diff(begins)
        within = np.arange(len(at)) - begins[group]
        spread = totals(discount * (size[group] - 1 - 2 * within), begins)
        pairs = np.maximum(size * (size - 1) / 2, 1)
        self.gain = plan.gain / plan.scale[plan.list]
        self.group, self.mean = np.empty_like(group), np.empty_like(discount)
        self.group[order], self.mean[order] = group, (totals(discount, begins) / size)[group]
        self.spread = spread / pairs

    def __call__(self, one: Rows, other: Rows) -> Floats:
        """For each pair of sorted rows."""
        apart = np.abs(self.mean[one] - self.mean[other])
        tied = self.group[one] == self.group[other]
        if tied.any():
            apart = np.where(tied, self.spread[self.group[one]], apart)
        return np.abs(self.gain[one] - self.gain[other]) * apart


class _ExchangedERR:
    """The change of ERR@k if two documents are exchanged; documents with equal scores stand in the order of rows.

    ERR = sum over places r of q_r P_r / r, with q the probability that the document stops the user and P_r that
    no earlier one did. If the documents at places a < b are exchanged, the terms between are multiplied by (1 -
    q_b) / (1 - q_a), and those after b stay.
    """

    def __init__(self, plan: PairedLists, at: Floats, k: int | None) -> None:
        order = np.lexsort((-at, plan.list))
        place = np.arange(len(at)) - plan.start[plan.list]
        stop = plan.gain[order]
        with np.errstate(divide="ignore"):
            reached = np.exp(earlier_sums(np.log1p(-stop), plan.start))
        self.stop = plan.gain
        discount = np.where(place < (k or len(at)), 1.0 / (place + 1.0), 0.0)
        before = earlier_sums(stop * reached * discount, plan.start)
        self.place, self.reached, self.before, self.discount, self.value = (np.empty(len(at)) for _ in range(5))
        parts = (place, reached, before, discount, stop * reached * discount)
        names = ("place", "reached", "before", "discount", "value")
        for name, values in zip(names, parts, strict=True):
            getattr(self, name)[order] = values

    def __call__(self, one: Rows, other: Rows) -> Floats:
        """For each pair of sorted rows."""
        ahead = self.place[one] < self.place[other]
        a, b = np.where(ahead, one, other), np.where(ahead, other, one)
        stop_a, stop_b = self.stop[a], self.stop[b]
        passed = (1.0 - stop_b) / (1.0 - stop_a)
        between = self.before[b] - self.before[a] - self.value[a]
        at_a = self.discount[a] * self.reached[a] * (stop_b - stop_a)
        at_b = self.discount[b] * self.reached[b] * (stop_a * passed - stop_b)
        return np.abs(at_a + (passed - 1.0) * between + at_b)
