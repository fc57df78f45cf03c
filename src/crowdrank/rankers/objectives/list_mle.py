"""ListMLE: the likelihood of the order of a list under Plackett-Luce (Xia et al. 2008).

A list is filled from the top. Each document takes its place with probability e^s_i / sum of e^s_j over the
documents that remain, itself included. Documents with equal labels share a place in the order, so each of them
is compared with all that remained before the first of them was taken (Breslow's form of ties):

    L = sum over all groups g of equal labels but the last of  sum_{i in g} c_i (s_i - ln D_g)
    D_g = sum of e^s_j over the documents of g and of all later groups

with c_i the weight of the document. The order within the last group says nothing. A top-k list ends at place k: of
the m documents of the group that holds place k, only the part that is still within the k counts (c_i is smaller by
this factor), and D_g is always the sum over all that remain, not over the first k only.

    dL/ds_i = c_i - e^s_i sum_{g <= g(i)} C_g / D_g,     C_g = sum_{i in g} c_i
    -d2L/ds_i^2 = e^s_i sum_{g <= g(i)} C_g / D_g - e^2s_i sum_{g <= g(i)} C_g / D_g^2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.data.arrays import Floats, summed
from crowdrank.kernels.segments import (
    Rows,
    log_prefix_sums,
    log_suffix_sums,
    prefix_sums,
    segment_of,
    suffix_sums,
    totals,
)
from crowdrank.rankers.objectives.base import Derivatives, LabelObjective, Targets

FAR = -200.0
"""If a score is this far below the best of its list, sums are computed in logs."""
LEAST = 1e-100
"""The smallest e^s, relative to the largest of its list. Its square does not underflow."""


@dataclass(frozen=True, eq=False)
class OrderedLists:
    """Lists by label, best first: ``order`` (n) of the rows, the list and the group of each sorted row.

    ``begins``: the first sorted row of each group. ``lists``: where the groups of each list begin among the
    groups. ``count``: c of each sorted row.
    """

    start: Rows
    order: Rows
    list: Rows
    group: Rows
    begins: Rows
    lists: Rows
    count: Floats


@dataclass(frozen=True, eq=False)
class _Stages:
    """At given scores, by sorted row: e^s, the sums of C / D and of C / D^2 up to its group, and its part of L."""

    rate: Floats
    first: Floats
    second: Floats
    value: Floats


@dataclass(frozen=True)
class ListLikelihood(LabelObjective[OrderedLists]):
    """The log likelihood of lists, or of their first ``k`` places."""

    k: int | None = None

    def plan(self, targets: Targets) -> OrderedLists:
        """Sort each list by label and find the groups of equal labels."""
        of = segment_of(targets.start)
        order = np.lexsort((-targets.label, of))
        label, rows = targets.label[order], np.arange(len(order))
        new = (np.diff(of, prepend=-1) != 0) | (np.diff(label, prepend=np.nan) != 0)
        begins = np.flatnonzero(new)
        group = np.cumsum(new) - 1
        ends = np.append(begins[1:], len(rows))
        last = ends == targets.start[1:][of[begins]]
        before = begins - targets.start[of[begins]]
        size = ends - begins
        taken = size if self.k is None else np.clip(self.k - before, 0, size)
        count = np.where(last, 0.0, taken / size)[group] * targets.weight[order]
        lists = np.searchsorted(begins, targets.start)
        return OrderedLists(targets.start, order, of, group, begins, lists, count)

    def derivatives(self, scores: Floats, plan: OrderedLists, reference: Floats) -> Derivatives:
        """Value, gradient and diagonal of the curvature."""
        found = self._stages(scores[plan.order], plan)
        share = found.rate * found.first
        gradient, curvature = np.empty_like(scores), np.empty_like(scores)
        gradient[plan.order] = plan.count - share
        curvature[plan.order] = share - found.rate**2 * found.second
        return Derivatives(totals(found.value, plan.start), gradient, curvature)

    def curvature_times(self, scores: Floats, plan: OrderedLists, reference: Floats, columns: Floats) -> Floats:
        """Row i of the product: e^s_i (V_i sum C/D - sum C/D^2 sum_{j >= g} e^s_j V_j), sums over groups up to
        i's.
        """
        found = self._stages(scores[plan.order], plan)
        rates, sorted_ = found.rate[:, None], columns[plan.order]
        ahead = suffix_sums(rates * sorted_, plan.start)[plan.begins]
        factor = self._factors(found.rate, plan)[1]
        passed = prefix_sums(factor[:, None] * ahead, plan.lists)[plan.group]
        product = np.empty_like(columns)
        product[plan.order] = rates * (found.first[:, None] * sorted_ - passed)
        return product

    def _stages(self, scores: Floats, plan: OrderedLists) -> _Stages:
        start = plan.start
        top = np.maximum.reduceat(scores, start[:-1]) if len(scores) else scores
        above = scores - top[plan.list]
        if above.min(initial=0.0) < FAR:
            return self._stages_in_logs(above, plan)
        rate = np.maximum(np.exp(np.maximum(above, -700.0)), LEAST)
        first, second, logs = self._factors(rate, plan)
        passed, passed_twice = (prefix_sums(one, plan.lists)[plan.group] for one in (first, second))
        return _Stages(rate, passed, passed_twice, plan.count * (above - logs[plan.group]))

    def _stages_in_logs(self, above: Floats, plan: OrderedLists) -> _Stages:
        """The same if scores lie so far apart that e^s of the lowest would be 0."""
        left = log_suffix_sums(above, plan.start)[plan.begins]
        with np.errstate(divide="ignore"):
            count = np.log(summed(plan.group, plan.count, len(plan.begins)))
        first, second = (log_prefix_sums(count - times * left, plan.lists)[plan.group] for times in (1, 2))
        rate = np.maximum(np.exp(np.maximum(above, -700.0)), LEAST)
        share, square = np.exp(above + first) / rate, np.exp(2 * above + second) / rate**2
        return _Stages(rate, share, square, plan.count * (above - left[plan.group]))

    def _factors(self, rate: Floats, plan: OrderedLists) -> tuple[Floats, Floats, Floats]:
        """C / D, C / D^2 and ln D of each group."""
        left = suffix_sums(rate, plan.start)[plan.begins]
        count = summed(plan.group, plan.count, len(plan.begins))
        return count / left, count / left**2, np.log(left)
