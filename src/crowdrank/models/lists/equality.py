"""When CrowdAgg lets all workers count the same.

Qualities come from agreement with a ranking that they make themselves. Two groups of workers who contradict each
other then look the same from either side, and the search may end with the group that equal workers would have
outvoted: workers with few votes stay near the prior's mean, and those with many votes fall below them once the
others have turned the ranking. Held-out votes do not show it, because the winning group agrees with itself. So
qualities may refine the ranking of equal workers, but not overturn it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.models.lists.expected import ExpectedLists

OVERTURNED = 0.5
"""A query is overturned if its scores correlate by less with those of equal workers."""
MOST_OVERTURNED = 0.1
"""If qualities that all queries share overturn a larger share of the queries, all workers count the same. These
queries must also hold a larger share of what the workers judged, because small queries turn easily."""


def overturned_queries(lists: ExpectedLists, eta: Floats, *, pool: bool) -> NDArray[np.bool_]:
    """The queries in which workers should count the same, because the qualities ``eta`` overturn their ranking.

    ``pool``: the queries share the qualities, so it is all of them or none.
    """
    equal, weighted = (lists.values(own).total for own in (np.ones(len(eta)), eta))
    found = correlations(lists, equal, weighted)
    low = np.nan_to_num(found, nan=1.0) < OVERTURNED
    if not pool:
        return low
    judged = np.bincount(lists.query[lists.contests.cell_node], minlength=len(low))
    shares = (
        size[low].sum() > MOST_OVERTURNED * size[np.isfinite(found)].sum()
        for size in (np.ones_like(judged), judged)
    )
    return np.full(len(low), all(shares))


def correlations(lists: ExpectedLists, one: Floats, other: Floats) -> Floats:
    """The correlation of two scores of the nodes in each query; NaN if its nodes all have the same score."""
    query, sizes = lists.query, lists.sizes

    def totals(values: Floats) -> Floats:
        return summed(query, values, len(sizes))

    first, second = (values - (totals(values) / sizes)[query] for values in (one, other))
    size = np.sqrt(totals(first**2) * totals(second**2))
    least = 1e-18 * np.sqrt(totals(one**2) * totals(other**2))
    return np.divide(totals(first * second), size, out=np.full(len(sizes), np.nan), where=size > least)
