"""What side information demands of the expertise theta of workers, by codes.

A demand is on the difference of two thetas, or of a theta and a number:

    slack = theta_above - theta_below - offset >= 0

Hard demands hold exactly. Orders in a cycle mean equal thetas, so their workers form one group, with one theta. A
bound holds for a whole chain: if a >= b, then a is at least b's low, and b at most a's high.

Soft demands add ln sigma(eta slack) to the log likelihood; eta is their confidence and sigma(x) = 1 / (1 + e^-x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers, summed
from crowdrank.errors import Note

MOST_EXPERTISE = 30.0
"""No theta is larger in size. Beyond it an expected distance, about e^-theta per item, is lost in rounding."""


@dataclass(frozen=True, eq=False)
class Demands:
    """slack = theta_above - theta_below - offset, which should be at least 0. The code -1 stands for theta = 0."""

    above: Integers
    below: Integers
    offset: Floats

    def __len__(self) -> int:
        return len(self.offset)

    def take(self, chosen: NDArray[np.bool_]) -> Demands:
        """Only the chosen demands."""
        return Demands(self.above[chosen], self.below[chosen], self.offset[chosen])

    def slack(self, theta: Floats) -> Floats:
        """How far each demand is from its bound; negative if it is not met."""
        padded = np.append(theta, 0.0)
        return padded[self.above] - padded[self.below] - self.offset

    def sums(self, values: Floats, size: int) -> Floats:
        """For each theta the sum over its demands: values if it is above, -values if it is below."""
        up, down = (summed(np.where(code < 0, size, code), values, size + 1) for code in (self.above, self.below))
        return (up - down)[:size]

    def rows(self, size: int) -> Floats:
        """The derivatives of the slacks by theta (demands, size)."""
        found, place = np.zeros((len(self), size + 1)), np.arange(len(self))
        found[place, self.above] = 1.0
        found[place, self.below] = -1.0
        return found[:, :size]

    def cells(self, weights: Floats) -> tuple[Integers, Integers, Floats]:
        """Row, column and value of the entries of sum_t weights_t a_t a_t', a_t = row t of ``rows``."""
        row = np.concatenate([self.above, self.below, self.above, self.below])
        column = np.concatenate([self.above, self.below, self.below, self.above])
        value = np.concatenate([weights, weights, -weights, -weights])
        inside = (row >= 0) & (column >= 0)
        return row[inside], column[inside], value[inside]


def no_demands() -> Demands:
    """None at all."""
    return Demands(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, eq=False)
class Constraints:
    """The demands on V workers, who form G groups with one theta each.

    ``group`` (V): the group of each worker. ``low``, ``high`` (G): hard bounds, infinite if open, which hold all
    along the chains of orders. ``orders``: hard orders between groups; those that the bounds imply are left out.
    ``soft``: soft demands on groups, and ``confidence``, the eta of each.
    """

    group: Integers
    low: Floats
    high: Floats
    orders: Demands
    soft: Demands
    confidence: Floats
    notes: tuple[Note, ...] = ()

    @classmethod
    def none(cls, workers: int) -> Constraints:
        """No demands on any worker."""
        every, open_ = np.arange(workers), np.full(workers, np.inf)
        return cls(every, -open_, open_, no_demands(), no_demands(), np.empty(0))

    @property
    def fixed(self) -> tuple[Integers, Floats]:
        """Codes and thetas of the workers whose theta is known for certain."""
        low, high = self.bounds
        codes = np.flatnonzero(low == high)
        return codes, low[codes]

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Low and high of each worker."""
        return self.low[self.group], self.high[self.group]


def merge_demands(
    workers: int, low: Floats, high: Floats, orders: Demands, soft: Demands, confidence: Floats
) -> Constraints:
    """The constraints on the first ``workers`` of the nodes, whose bounds are ``low`` and ``high`` (nodes).

    The other nodes judged nothing. They are left out after their bounds and orders are passed on: a >= x >= b
    becomes a >= b. Soft demands on them are dropped, unless their theta is that of a worker.
    """
    node_group, count = _cycles(len(low), orders)
    group_low, group_high = np.full(count, -np.inf), np.full(count, np.inf)
    np.maximum.at(group_low, node_group, low)
    np.minimum.at(group_high, node_group, high)
    above, below = node_group[orders.above], node_group[orders.below]
    group_low = pass_up(group_low, above, below)
    group_high = -pass_up(-group_high, below, above)
    kept, group = _number_groups(node_group[:workers])
    new = np.full(count + 1, -1)
    new[kept] = np.arange(len(kept))
    above, below = _leave_out(above, below, new[:count] < 0)
    needed = group_low[above] < group_high[below]
    above, below = new[above[needed]], new[below[needed]]
    chosen = Demands(above, below, np.zeros(len(above)))
    soft, confidence = _soft_on_groups(soft, confidence, np.append(node_group, count), new)
    return Constraints(group, group_low[kept], group_high[kept], chosen, soft, confidence)


def pass_up(values: Floats, above: Integers, below: Integers) -> Floats:
    """The largest value of each node and of all nodes below it."""
    while True:
        raised = values.copy()
        np.maximum.at(raised, above, values[below])
        if np.array_equal(raised, values):
            return values
        values = raised


def _cycles(nodes: int, orders: Demands) -> tuple[Integers, int]:
    """The group of each node: nodes in a cycle of orders are in one group. And the number of groups."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(orders)), (orders.above, orders.below)), shape=(nodes, nodes))
    count, group = connected_components(graph, directed=True, connection="strong")
    return group.astype(np.int64), int(count)


def _number_groups(found: Integers) -> tuple[Integers, Integers]:
    """The distinct groups in the order of their first workers, and the place of each worker's group there."""
    kept, first, place = np.unique(found, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return kept[order], np.argsort(order)[place]


def _leave_out(above: Integers, below: Integers, left_out: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """The distinct orders between different groups after some groups are left out. Orders through these remain."""
    ups: dict[int, set[int]] = {}
    downs: dict[int, set[int]] = {}
    for one, other in zip(above.tolist(), below.tolist(), strict=True):
        if one != other:
            downs.setdefault(one, set()).add(other)
            ups.setdefault(other, set()).add(one)
    for group in np.flatnonzero(left_out).tolist():
        over, under = ups.pop(group, set()), downs.pop(group, set())
        for one in over:
            downs[one] = (downs[one] | under) - {group}
        for other in under:
            ups[other] = (ups[other] | over) - {group}
    found = sorted((one, other) for one, others in downs.items() for other in others)
    edges = np.array(found, np.int64).reshape(-1, 2)
    return edges[:, 0], edges[:, 1]


def _soft_on_groups(
    soft: Demands, confidence: Floats, node_group: NDArray[Any], new: Integers
) -> tuple[Demands, Floats]:
    """Soft demands by group. Those within a group say nothing and are dropped, as are those on nobody."""
    above, below = (new[node_group[code]] for code in (soft.above, soft.below))
    lost = ((soft.above >= 0) & (above < 0)) | ((soft.below >= 0) & (below < 0)) | (above == below)
    return Demands(above, below, soft.offset).take(~lost), confidence[~lost]
