"""The strongly connected components of the majority graph, by counting.

An edge leads from i to j where most say i above j, and both ways where neither has more. All of one component
beat all of the next. With net_i the contests that i won less those that it lost, the k best by net of n beat
all others exactly where their net adds up to k (n - k) (Landau 1953). No other k items can: each that beats
all n - k others has a net of at least n - 2k + 1, and each of the others of at most n - 2k - 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.kernels.segments import Rows


def components(net: Rows, part: NDArray[np.int32]) -> Rows:
    """The component of each node in the majority graph of its part, 0 being the top one."""
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
