"""Truncated normals against SciPy's own moments and distribution, far out too."""

import numpy as np
import pytest
from scipy import integrate, stats

from crowdrank.kernels.truncated import draw_truncated

EVEN = (np.arange(200_000) + 0.5) / 200_000
INTERVALS = [
    *((a, np.inf) for a in (0.0, 5.0, 10.0, 40.0, -3.0)),
    *((a, a + width) for a in (0.0, 5.0, 10.0, 40.0, -0.5, -40.1) for width in (0.01, 1.0)),
    (-2.0, 5.0),
    (-np.inf, np.inf),
]


def _moments(low, high):
    """Mean and deviation by quadrature about the end nearest to 0, where the density is largest."""
    peak = min(max(0.0, low), high)
    start, end = max(low, peak - 12), min(high, peak + 12)
    knots = [x for x in (peak, peak + 0.1, peak - 0.1, peak + 1, peak - 1) if start < x < end]

    def moment(power):
        def weighted(x):
            return (x - peak) ** power * np.exp(-0.5 * (x - peak) * (x + peak))

        return integrate.quad(weighted, start, end, points=knots or None, epsabs=1e-13, epsrel=1e-11, limit=500)[0]

    mass, first, second = map(moment, range(3))
    return peak + first / mass, np.sqrt(second / mass - (first / mass) ** 2)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_moments(low, high, mirrored):
    mean, deviation = _moments(low, high)
    if mirrored:
        low, high, mean = -high, -low, -mean
    drawn = draw_truncated(EVEN, low, high)
    assert low <= drawn.min() <= drawn.max() <= high
    np.testing.assert_allclose((drawn.mean() - mean) / deviation, 0.0, atol=1e-4)
    np.testing.assert_allclose(drawn.std(), deviation, rtol=1e-3)


@pytest.mark.parametrize(("low", "high"), [(0, np.inf), (5, np.inf), (10, np.inf), (5, 5.5), (-1, 2), (-9, -8)])
def test_quantiles_are_scipys(low, high):
    u = np.linspace(0.001, 0.999, 99)
    want = stats.truncnorm.ppf(u if high <= -low else 1 - u, low, high)
    order = np.sort(draw_truncated(u, low, high))
    np.testing.assert_allclose(order, np.sort(want), rtol=1e-9)


def test_mean_and_scale():
    u = np.linspace(0.01, 0.99, 7)
    mean, scale = np.linspace(-3, 3, 7), np.linspace(0.1, 5, 7)
    drawn = draw_truncated(u, 0.0, np.inf, mean, scale)
    np.testing.assert_allclose(drawn, mean + scale * draw_truncated(u, -mean / scale, np.inf), atol=1e-12)


@pytest.mark.parametrize("uniform", [0.0, 1e-300, 0.5, 1.0])
def test_nothing_is_ever_infinite(uniform):
    mean = np.concatenate([[0.0], *(sign * 10.0 ** np.arange(-300, 150, 10) for sign in (1, -1))])
    for low, high in [(0.0, np.inf), (-np.inf, 0.0), (-1.0, 1.0), (-np.inf, np.inf), (0.0, 1e-300)]:
        with np.errstate(all="raise", under="ignore"):
            drawn = draw_truncated(np.full(len(mean), uniform), low, high, mean, 1.0)
        assert np.isfinite(drawn).all()
        assert (drawn >= low).all()
        assert (drawn <= high).all()
