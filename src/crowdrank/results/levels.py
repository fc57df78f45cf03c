"""The level of all intervals, the interval of a share, and what an interval says of a worker."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import polars as pl

from crowdrank.data.arrays import Floats

LEVEL = 0.9
"""The level of every interval."""
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
"""How many standard errors the interval of a normal estimate extends to each side."""


def agreement_interval(share: Floats, count: Floats) -> tuple[Floats, Floats, Floats]:
    """The share of agreements among ``count`` comparisons, and the ends of its Jeffreys interval."""
    from scipy.special import betaincinv

    agreed = share * count
    alpha, beta = agreed + 0.5, np.maximum(count - agreed, 0.0) + 0.5
    low, high = (betaincinv(alpha, beta, tail) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    found = np.where(count > 0, share, 0.5)
    return found, np.minimum(low, found), np.maximum(high, found)


def verdicts(low: Floats, high: Floats, *, tellable: bool = True) -> pl.Series:
    """reliable (low > .6), malicious (high < .5), spammer (inside .4 to .6), otherwise unsure.

    If the items are so close that even a perfect worker would agree on less than .6 of an average pair
    (``tellable`` False), nobody is called a spammer.
    """
    spammer = (low >= 0.4) & (high <= 0.6) & tellable
    words = np.select([low > 0.6, high < 0.5, spammer], ["reliable", "malicious", "spammer"], "unsure")
    return pl.Series("verdict", words, dtype=pl.String)
