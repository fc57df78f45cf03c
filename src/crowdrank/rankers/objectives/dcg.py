"""What the objectives by DCG share: the discount of a place, and the DCG of the best order."""

from __future__ import annotations

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.kernels.segments import Rows, segment_of, totals


def discounts(place: Rows, k: int | None) -> Floats:
    """1 / log2(r + 2) of the places r, which are counted from 0; 0 from place ``k`` on."""
    found = 1.0 / np.log2(place + 2.0)
    return found if k is None else np.where(place < k, found, 0.0)


def best_dcg(gain: Floats, start: Rows, k: int | None) -> Floats:
    """The DCG of each list in its best order, from gains sorted within the lists; 1 if nothing is relevant."""
    place = np.arange(len(gain)) - start[segment_of(start)]
    found = totals(gain * discounts(place, k), start)
    found[found == 0] = 1.0
    return found
