"""LambdaRank: pairs of documents, each weighted by what exchanging them would change in a measure (Burges 2010).

    L = - sum over pairs with y_i > y_j of  v_ij ln (1 + e^-(s_i - s_j))
    v_ij = sqrt(w_i w_j) |change of the measure if i and j are exchanged|

The places of the documents, and with them v, are those of the reference scores. For DCG the change is |gain_i -
gain_j| |d(place_i) - d(place_j)| with d(r) = 1 / log2(1 + r), d = 0 beyond place k; for nDCG it is divided by
the DCG of the best order. Among documents with equal scores any order is equally likely, and the change is its
mean over these orders. With p_ij = 1 / (1 + e^(s_i - s_j)):

    dL/ds_i = sum_j v_ij p_ij - sum_j v_ji p_ji,     -d2L/ds_i^2 = sum over all pairs of i of  v p (1 - p)

``normalize`` divides v_ij by .01 + |s_i - s_j| at the reference, unless all scores of the list are equal, and
scales the v of a list so that lists with many pairs do not outweigh the others: by log2(1 + S) / S with S = 2 sum
of v p at the reference. Both are what LightGBM's lambdarank does. Unlike LightGBM's, labels may be fractions, each
document has a weight, and equal scores have no order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, summed
from crowdrank.errors import UsageError
from crowdrank.kernels.segments import Rows, earlier_sums, segment_of, totals
from crowdrank.measures.listwise import gains
from crowdrank.rankers.objectives.base import Derivatives, LabelObjective, Targets
from crowdrank.rankers.objectives.dcg import best_dcg, discounts

MEASURES = ("ndcg", "dcg", "err")
NEAR = 0.01
"""Added to the distance of two scores that ``normalize`` divides by."""
PAIRS = 1 << 21
"""How many pairs are held at a time. Fewer pairs than this are kept."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Some pairs of sorted rows, ``one`` with the larger label, all pairs of a row one after the other.

    ``rows``: the rows that have pairs, which start at ``begins``. ``gap``: the difference of the gains over the
    scale of the list. ``mass``: sqrt(w_i w_j).
    """

    one: Rows
    other: Rows
    rows: Rows
    begins: Rows
    gap: Floats
    mass: Floats

    def sum_ones(self, values: Floats, count: int) -> Floats:
        """The sum over the pairs in which a row has the larger label, for each of the ``count`` rows."""
        total = np.zeros(count)
        total[self.rows] = np.add.reduceat(values, self.begins)
        return total

    def flow(self, values: Floats, count: int) -> Floats:
        """What each row has from pairs in which its label is larger, less what it has from the others."""
        return self.sum_ones(values, count) - summed(self.other, values, count)


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
    kept: tuple[Pairs, ...] | None = None

    def pairs(self) -> Iterator[Pairs]:
        """All pairs, some at a time."""
        if self.kept is not None:
            yield from self.kept
            return
        partners = self.partners()
        block = (np.cumsum(partners) - partners) // PAIRS
        for rows in np.split(np.arange(len(partners)), np.flatnonzero(np.diff(block)) + 1):
            rows = rows[partners[rows] > 0]
            if len(rows):
                yield self._pairs_of(rows, partners[rows])

    def partners(self) -> Rows:
        """How many documents of the list have a smaller label than each sorted row."""
        return np.repeat(self.start[1:], np.diff(self.start)) - self.after

    def _pairs_of(self, rows: Rows, partners: Rows) -> Pairs:
        one, begins = np.repeat(rows, partners), np.cumsum(partners) - partners
        other = self.after[one] + np.arange(len(one)) - np.repeat(begins, partners)
        gap = (self.gain[one] - self.gain[other]) / self.scale[self.list[one]]
        return Pairs(one, other, rows, begins, gap, self.root[one] * self.root[other])


@dataclass(frozen=True)
class LambdaRank(LabelObjective[PairedLists]):
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
        scale = best_dcg(gain, start, self.k) if self.measure == "ndcg" else np.ones(len(start) - 1)
        plan = PairedLists(start, order, of, after, gain, np.sqrt(targets.weight[order]), scale)
        few = int(plan.partners().sum()) <= PAIRS
        return replace(plan, kept=tuple(plan.pairs())) if few else plan

    def derivatives(self, scores: Floats, plan: PairedLists, reference: Floats) -> Derivatives:
        """Value, gradient and diagonal of the curvature, with the places of the reference scores."""
        x, count = scores[plan.order], len(scores)
        weights = _PairWeights(self, plan, x if reference is scores else reference[plan.order], x)
        value, first, second = np.zeros(count), np.zeros(count), np.zeros(count)
        for pairs, link, weight in weights.by_block():
            bend = weight * link.bend
            value += pairs.sum_ones(weight * link.log, count)
            first += pairs.flow(weight * link.lost, count)
            second += pairs.sum_ones(bend, count) + summed(pairs.other, bend, count)
        factor = weights.list_factor()
        gradient, curvature = np.empty(count), np.empty(count)
        gradient[plan.order], curvature[plan.order] = first * factor[plan.list], second * factor[plan.list]
        return Derivatives(-factor * totals(value, plan.start), gradient, curvature)

    def curvature_times(self, scores: Floats, plan: PairedLists, reference: Floats, columns: Floats) -> Floats:
        """Row i of the product: the sum over its pairs of v p (1 - p) (V_i - V_j)."""
        x, sorted_ = scores[plan.order], columns[plan.order]
        weights = _PairWeights(self, plan, x if reference is scores else reference[plan.order], x)
        product, total = np.empty_like(columns), np.zeros_like(sorted_)
        for pairs, link, weight in weights.by_block():
            bend = weight * link.bend
            for column in range(columns.shape[1]):
                across = sorted_[pairs.one, column] - sorted_[pairs.other, column]
                total[:, column] += pairs.flow(bend * across, len(x))
        product[plan.order] = total * weights.list_factor()[plan.list, None]
        return product

    def _power(self, label: Floats) -> float:
        """Gains are divided by 2^this. For ERR they are the probabilities to stop; for nDCG the scale cancels."""
        if self.measure == "err":
            return self.most or float(label.max(initial=0.0))
        return float(label.max(initial=0.0)) if self.measure == "ndcg" and self.gain == "exp" else 0.0


class _Logistic:
    """Of x = s_i - s_j: p = ``lost``, ``bend`` = p (1 - p) and ``log`` = ln (1 + e^-x), from one exponential."""

    def __init__(self, x: Floats) -> None:
        small = np.exp(-np.abs(x))
        inverse = 1.0 / (1.0 + small)
        self.x = x
        self.lost = np.where(x > 0, small, 1.0) * inverse
        self.bend = small * inverse * inverse
        self.log = np.maximum(-x, 0.0) - np.log(inverse)


class _PairWeights:
    """The weights v of all pairs at the sorted reference scores ``at``, to be used at the sorted scores ``x``.

    The factor of each list is known once all its pairs were seen, so it multiplies the sums over them.
    """

    def __init__(self, objective: LambdaRank, plan: PairedLists, at: Floats, x: Floats) -> None:
        self.normalize, self.plan, self.at, self.x = objective.normalize, plan, at, x
        err = objective.measure == "err"
        self.change = _ExchangedERR(plan, at, objective.k) if err else _ExchangedDCG(plan, at, objective)
        self.pull = np.zeros(len(at))
        self.flat = self._flat_lists() if self.normalize else None

    def by_block(self) -> Iterator[tuple[Pairs, _Logistic, Floats]]:
        """Some pairs, the logistic function of their scores, and v but for the factor of the list."""
        for pairs in self.plan.pairs():
            link = _Logistic(self.x[pairs.one] - self.x[pairs.other])
            fixed = link if self.at is self.x else _Logistic(self.at[pairs.one] - self.at[pairs.other])
            weight = self.change(pairs, fixed.x)
            if self.normalize:
                weight = weight / self._distance(pairs, fixed.x)
                self.pull += pairs.sum_ones(weight * fixed.lost, len(self.at))
            yield pairs, link, weight * pairs.mass

    def _flat_lists(self) -> NDArray[np.bool_] | None:
        """The rows of lists whose scores are all equal; None if there are none, as after the first round."""
        begins = self.plan.start[:-1][np.diff(self.plan.start) > 0]
        uneven = self.at != np.repeat(self.at[begins], np.diff(np.append(begins, len(self.at))))
        flat = totals(uneven, self.plan.start) == 0
        return flat[self.plan.list] if flat.any() else None

    def _distance(self, pairs: Pairs, apart: Floats) -> Floats:
        """What ``normalize`` divides by."""
        distance = NEAR + np.abs(apart)
        return distance if self.flat is None else np.where(self.flat[pairs.one], 1.0, distance)

    def list_factor(self) -> Floats:
        """log2(1 + S) / S of each list. S is that of weights 1, so that weights only multiply."""
        total = 2.0 * totals(self.pull, self.plan.start)
        return np.where(total > 0, np.log2(1.0 + total) / np.where(total > 0, total, 1.0), 1.0)


def _sort_within(at: Floats, lists: Rows) -> Rows:
    """The rows by list and then by falling score; equal scores keep their order."""
    order = np.argsort(-at, kind="stable")
    most = int(lists[-1]) if len(lists) else 0  # few lists fit in 16 bits, which sort quickly
    return order[np.argsort(lists[order].astype(np.uint16 if most < 1 << 16 else np.int64), kind="stable")]


class _ExchangedDCG:
    """The mean change of DCG if two documents are exchanged, over the orders of documents with equal scores."""

    def __init__(self, plan: PairedLists, at: Floats, objective: LambdaRank) -> None:
        order = _sort_within(at, plan.list)
        place = np.arange(len(at)) - plan.start[plan.list]
        discount = discounts(place, objective.k)
        new = (np.diff(plan.list, prepend=-1) != 0) | (np.diff(at[order], prepend=np.nan) != 0)
        begins = np.append(np.flatnonzero(new), len(at))
        group, size = np.cumsum(new) - 1, np.diff(begins)
        within = np.arange(len(at)) - begins[group]
        spread = totals(discount * (size[group] - 1 - 2 * within), begins)
        pairs = np.maximum(size * (size - 1) / 2, 1)
        self.group, self.mean = np.empty_like(group), np.empty_like(discount)
        self.group[order], self.mean[order] = group, (totals(discount, begins) / size)[group]
        self.spread = spread / pairs

    def __call__(self, pairs: Pairs, apart: Floats) -> Floats:
        """For each pair, whose scores are so far ``apart``."""
        change = np.abs(self.mean[pairs.one] - self.mean[pairs.other])
        tied = np.flatnonzero(apart == 0)
        if len(tied):
            change[tied] = self.spread[self.group[pairs.one[tied]]]
        return change * pairs.gap


class _ExchangedERR:
    """The change of ERR@k if two documents are exchanged; documents with equal scores stand in the order of rows.

    ERR = sum over places r of q_r P_r / r, with q the probability that the document stops the user and P_r that
    no earlier one did. If the documents at places a < b are exchanged, the terms between are multiplied by (1 -
    q_b) / (1 - q_a), and those after b stay.
    """

    def __init__(self, plan: PairedLists, at: Floats, k: int | None) -> None:
        order = np.lexsort((plan.order, -at, plan.list))  # ties by row: the label must not decide
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

    def __call__(self, pairs: Pairs, apart: Floats) -> Floats:
        """For each pair."""
        one, other = pairs.one, pairs.other
        ahead = self.place[one] < self.place[other]
        a, b = np.where(ahead, one, other), np.where(ahead, other, one)
        stop_a, stop_b = self.stop[a], self.stop[b]
        passed = (1.0 - stop_b) / (1.0 - stop_a)
        between = self.before[b] - self.before[a] - self.value[a]
        at_a = self.discount[a] * self.reached[a] * (stop_b - stop_a)
        at_b = self.discount[b] * self.reached[b] * (stop_a * passed - stop_b)
        return np.abs(at_a + (passed - 1.0) * between + at_b)
