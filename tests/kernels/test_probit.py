"""Both tails of the normal against SciPy's, far out too."""

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import norm

from crowdrank.kernels.probit import tails

FAR = np.concatenate([np.linspace(-40, 40, 801), [-1e-300, 1e-300, -1e4, 1e4]])


def test_tails_and_hazards_are_scipys():
    with np.errstate(all="raise", under="ignore"):
        found = tails(FAR)
    np.testing.assert_allclose(found.log_win, log_ndtr(FAR), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(found.log_lose, log_ndtr(-FAR), rtol=1e-12, atol=1e-300)
    near = np.abs(FAR) <= 40
    for hazard, side in ((found.pull, FAR), (found.push, -FAR)):
        want = np.exp(norm.logpdf(side[near]) - log_ndtr(side[near]))
        np.testing.assert_allclose(hazard[near], want, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose((found.pull[-2], found.push[-1]), 1e4, rtol=1e-7)


def test_turning_x_round_swaps_the_tails():
    there, back = tails(FAR), tails(-FAR)
    for one, other in (("log_win", "log_lose"), ("pull", "push")):
        np.testing.assert_array_equal(getattr(there, one), getattr(back, other))


def test_derivatives():
    """(ln Phi)' is the pull, and (ln Phi)'' is -pull (pull + x); of the other tail by its mirror."""
    x, h = np.linspace(-39, 39, 157), 1e-4
    above, below, here = tails(x + h), tails(x - h), tails(x)
    np.testing.assert_allclose((above.log_win - below.log_win) / (2 * h), here.pull, rtol=1e-5, atol=1e-11)
    np.testing.assert_allclose((above.log_lose - below.log_lose) / (2 * h), -here.push, rtol=1e-5, atol=1e-11)
    bend = -here.pull * (here.pull + x)
    np.testing.assert_allclose((above.pull - below.pull) / (2 * h), bend, rtol=1e-5, atol=1e-9)
    bend = here.push * (here.push - x)
    np.testing.assert_allclose((above.push - below.push) / (2 * h), bend, rtol=1e-5, atol=1e-9)
