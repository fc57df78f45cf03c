import pickle

import numpy as np
import pytest

from crowdrank.kernels import LOGISTIC, PROBIT

D = np.array([-30.0, -4.0, -0.7, 0.0, 0.3, 2.5, 30.0])


@pytest.mark.parametrize("link", [LOGISTIC, PROBIT], ids=lambda link: link.name)
class TestLink:
    def test_is_symmetric_and_a_probability(self, link):
        win, lose, _, _ = link.values(D)
        np.testing.assert_allclose(win, link.values(-D).lose, rtol=1e-14)
        np.testing.assert_allclose(win + lose, 1.0, rtol=1e-14)

    def test_derivatives_match_finite_differences(self, link):
        d, h = np.linspace(-5, 5, 41), 1e-5
        _, _, density, bend = link.values(d)
        plus, minus = link.values(d + h), link.values(d - h)
        np.testing.assert_allclose(density, (plus.win - minus.win) / (2 * h), rtol=1e-6)
        np.testing.assert_allclose(density * bend, (plus.density - minus.density) / (2 * h), atol=1e-9)

    def test_keeps_its_digits_far_out(self, link):
        assert 0 < link.values(np.array([-30.0])).win[0] < 1e-12

    def test_travels_by_name(self, link):
        assert pickle.loads(pickle.dumps(link)) is link


def test_logistic_by_hand():
    assert LOGISTIC.values(np.array([np.log(3.0)])).win[0] == pytest.approx(3 / 4)


def test_thurstone_has_variance_two():
    # Phi(1) for a difference of sqrt 2 (eq. 7)
    assert PROBIT.values(np.array([np.sqrt(2.0)])).win[0] == pytest.approx(0.8413447460685429)
