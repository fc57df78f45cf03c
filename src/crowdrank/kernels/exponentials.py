"""The exponential function of many numbers, as a loop that a compiler turns into vector instructions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

FARTHEST = 700.0
"""Arguments are limited to this size, beyond which the function leaves the range of numbers."""
PER_LN2, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""1 / ln 2, and ln 2 in two parts. Whole numbers times the first part are exact."""
COEFFICIENTS = tuple(1.0 / math.factorial(power) for power in range(13, -1, -1))
"""Of the Taylor polynomial of the exponential function, from the highest power to the lowest."""


def exponentials(x: Any, found: Any, room: Any) -> None:
    """Write e^x into ``found``, to within two units in the last place. ``room``: an array of the same size.

    x = k ln 2 + r with a whole number k and abs(r) <= ln 2 / 2, so e^x = 2^k e^r. The bits of 2^k are k + 1023
    from the 52nd bit on.
    """
    bits = room.view(np.int64)
    for place in range(len(x)):
        limited = min(max(x[place], -FARTHEST), FARTHEST)
        k = math.floor(limited * PER_LN2 + 0.5)
        r = (limited - k * LN2_HIGH) - k * LN2_LOW
        bits[place] = (np.int64(k) + 1023) << 52
        total = 0.0
        for coefficient in COEFFICIENTS:
            total = total * r + coefficient
        found[place] = total
    for place in range(len(x)):
        found[place] *= room[place]
