"""How far each worker orders items as the lists of the other workers do.

A worker's own lists say nothing about that worker. In a small crowd, or for an item on few lists, they would agree
with an order that they made. So worker w is compared with the order of the others. With x the value of a row and
omega_v the weight of a worker, it is the order of

    y_wi = sum over v != w of omega_v x_vi / sum over v != w of omega_v

Items that no other worker ranked are left out. They are there only because w ranked them. If missing items are
below, all others put them last, and a worker who guesses would seem to answer against the others.
"""

from __future__ import annotations

import numpy as np

from crowdrank.data import Floats, summed
from crowdrank.kernels.kendall import agreements
from crowdrank.prepared.lists import Lists
from crowdrank.results import Workers

DIGITS = 12
"""Values that differ only beyond this digit differ by rounding."""


def agreement_with_others(lists: Lists, value: Floats, worker_weight: Floats) -> Workers | None:
    """The workers with the share of pairs that each orders as y_w does. ``value``: x of each row.

    The pairs of a list depend on each other, so a list of m items, the first k of them ranked, counts as k
    judgments in the interval, or as m - 1 if k = m.
    """
    if lists.worker is None:
        return None
    own = lists.worker[lists.list]
    cell = np.unique(lists.node * lists.n_workers + own, return_inverse=True)[1]

    def of_others(amount: Floats) -> Floats:
        everyone, mine = (summed(code, amount, int(code.max()) + 1)[code] for code in (lists.node, cell))
        return np.asarray(everyone - mine)

    weight = (lists.weight * worker_weight[lists.worker])[lists.list]
    heard, ranked = of_others(weight), of_others(np.where(lists.bottom, 0.0, 1.0))
    kept = np.flatnonzero((ranked > 0) & (heard > weight.max() * 10.0**-DIGITS))
    others = (of_others(weight * value)[kept] / heard[kept]).round(DIGITS)
    size = np.bincount(lists.list[kept], minlength=len(lists))
    start = np.concatenate([[0], np.cumsum(size)])
    nothing = np.zeros((2, len(lists)))
    ordered, alike = agreements(lists.level[kept], -others, start) if len(kept) else nothing
    above = np.bincount(lists.list[kept], ~lists.bottom[kept], len(lists))
    count = lists.weight * np.where(ordered > 0, np.minimum(above, size - 1), 0.0)
    sums = (count * alike / np.maximum(ordered, 1.0), count, lists.weight * (lists.size - 1))
    return lists.workers_by_agreement(*(summed(lists.worker, part, lists.n_workers) for part in sums))
