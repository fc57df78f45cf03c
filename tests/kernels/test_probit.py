"""Both tails of the normal and its hazard against SciPy's, far out too."""

import numpy as np
from scipy import stats
from scipy.special import log_ndtr

from crowdrank.kernels.probit import hazard, tails

FAR = np.concatenate([np.linspace(0, 40, 401), [1e-300, 1e4]])


def test_tails_and_hazards_are_scipys():
    with np.errstate(all="raise", under="ignore"):
        found = tails(FAR)
    np.testing.assert_allclose(found.log_win, log_ndtr(FAR), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(found.log_lose, log_ndtr(-FAR), rtol=1e-12, atol=1e-300)
    near = FAR <= 40
    for ratio, side in ((found.pull, FAR), (found.push, -FAR)):
        want = np.exp(stats.norm.logpdf(side[near]) - log_ndtr(side[near]))
        np.testing.assert_allclose(ratio[near], want, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(found.push[-1], 1e4, rtol=1e-7)


def test_derivatives():
    """(ln Phi)' is the pull, and (ln Phi)'' is -pull (pull + x); of the other tail by its mirror."""
    x, h = np.linspace(0.5, 39, 78), 1e-4
    above, below, here = tails(x + h), tails(x - h), tails(x)
    np.testing.assert_allclose((above.log_win - below.log_win) / (2 * h), here.pull, rtol=1e-5, atol=1e-11)
    np.testing.assert_allclose((above.log_lose - below.log_lose) / (2 * h), -here.push, rtol=1e-5, atol=1e-11)
    bend = -here.pull * (here.pull + x)
    np.testing.assert_allclose((above.pull - below.pull) / (2 * h), bend, rtol=1e-5, atol=1e-9)
    bend = here.push * (here.push - x)
    np.testing.assert_allclose((above.push - below.push) / (2 * h), bend, rtol=1e-5, atol=1e-9)


def test_hazard_is_the_density_over_the_tail():
    x = np.linspace(-30, 30, 121)
    np.testing.assert_allclose(hazard(x), np.exp(stats.norm.logpdf(x) - stats.norm.logsf(x)), rtol=1e-11)
    np.testing.assert_allclose(hazard(np.array([50.0])), stats.truncnorm.mean(50, np.inf), rtol=1e-5)
    np.testing.assert_allclose(hazard(np.array([1e6])), 1e6, rtol=1e-9)


def test_the_derivative_of_the_hazard():
    x, h = np.linspace(-8, 40, 97), 1e-4
    slope = (hazard(x + h) - hazard(x - h)) / (2 * h)
    np.testing.assert_allclose(slope, hazard(x) * (hazard(x) - x), rtol=1e-5, atol=1e-12)  # eq. 24
