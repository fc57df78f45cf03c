"""The strongly connected components of the majority graph, by counting.

An edge leads from i to j if most say i above j, and both ways if there is no majority. All items of one component
beat all items of the next. Let net_i be the contests that i won minus those that it lost. Of n items, the k best
by net beat all others exactly if their net adds up to k (n - k) (Landau 1953). No other k items can: each item
that beats all n - k others has a net of at least n - 2k + 1, and each of the others has at most n - 2k - 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.kernels.segments import Rows


def components(net: Rows, part: NDArray[np.int32]) -> Rows:
    """The component of each node in the majority graph of its part. The top component is 0."""
    order = np.lexsort((-net, part))
    sizes = np.bincount(part)
    starts = np.cumsum(sizes) - sizes
    n = sizes[part[order]]
    k = np.arange(len(net)) - np.repeat(starts, sizes) + 1
    closed = np.cumsum(net[order]) == k * (n - k)  # the sum over a part is 0
    before = np.cumsum(closed) - closed
    found = np.empty(len(net), np.int64)
    found[order] = before - np.repeat(before[starts], sizes)
    return found
