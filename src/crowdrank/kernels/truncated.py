"""Normal variables that are known to lie in an interval.

A standard normal within (a, b) is drawn from a uniform u by inversion, Phi(x) = (1 - u) Phi(a) + u Phi(b). An
interval that lies mostly on the right is mirrored first, and the equation is solved for ln Phi,

    x = (ln Phi)^-1 ( ln[ (1 - u) Phi(a) + u Phi(b) ] ),

so the draw is exact even if the interval is far from 0: no probability is ever rounded to 0 or 1.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from crowdrank.data.arrays import Floats

_FIRST, _LAST = 2.0**-54, 1.0 - 2.0**-53  # a uniform of 0 or 1 would give an infinite draw


def draw_truncated(uniform: Floats, low: Any, high: Any, mean: Any = 0.0, scale: Any = 1.0) -> Floats:
    """Draws from N(mean, scale^2) within (low, high), one per uniform. Either end may be infinite."""
    from scipy.special import log_ndtr, ndtri_exp

    a, b = (low - mean) / scale, (high - mean) / scale
    right = a > -b
    a, b = np.where(right, -b, a), np.where(right, -a, b)
    u = np.clip(uniform, _FIRST, _LAST)
    below = np.logaddexp(np.log1p(-u) + log_ndtr(a), np.log(u) + log_ndtr(b))
    x = ndtri_exp(np.minimum(below, 0.0))
    return cast(Floats, np.clip(mean + scale * np.where(right, -x, x), low, high))
