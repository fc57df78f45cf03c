"""Gains against the definition: expected divergences of the posterior from the prior."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from crowdrank.kernels.beta import beta_divergence
from crowdrank.kernels.filtering import learn_vote
from crowdrank.select.gains import GAIN, INFORMATION, JOINT, UNCERTAINTY, pair_gain

STATES = [
    (0.4, -0.3, 0.8, 0.5, 10.0, 1.0),
    (2.0, -1.0, 3.0, 9.0, 4.0, 1.5),
    (0.0, 0.0, 1.0, 1.0, 2.0, 5.0),
    (-1.0, 0.5, 25.0, 0.1, 200.0, 1.0),
]


def normal_divergence(mean, variance, old_mean, old_variance):
    return 0.5 * (
        variance / old_variance - 1 - math.log(variance / old_variance) + (mean - old_mean) ** 2 / old_variance
    )


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("gamma", [0.0, 1.0, 5.0])
def test_the_gain_is_equation_10(state, gamma):
    mi, mj, vi, vj, a, b = state
    total = 0.0
    for said in (1, -1):
        m, n, v, u, alpha, beta, _, _, log_chance = learn_vote(
            *state, 0.0, 0.0, said, 1.0, False, 0.0, False, False
        )
        learned = normal_divergence(m, v, mi, vi) + normal_divergence(n, u, mj, vj)
        total += math.exp(log_chance) * (learned + gamma * beta_divergence(alpha, beta, a, b))
    assert pair_gain(GAIN, mi - mj, vi, vj, 1.0, 1.0, a, b, gamma) == pytest.approx(total, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("state", STATES)
def test_the_joint_gain_is_the_expected_drop_of_the_joint_entropy_at_the_mean_information(state):
    mi, mj, vi, vj, a, b = state
    mean = 0.0  # E[h] over the outcomes, from the variances after the vote
    for said in (1, -1):
        _, _, v, _, _, _, _, _, log_chance = learn_vote(*state, 0.0, 0.0, said, 1.0, False, 0.0, False, False)
        mean += math.exp(log_chance) * (1 - v / vi) / vi
    expected = -0.5 * math.log(1 - (vi + vj) * mean)
    assert pair_gain(JOINT, mi - mj, vi, vj, 1.0, 1.0, a, b, 0.0) == pytest.approx(expected, rel=1e-9)


def test_the_mutual_information_is_the_integral():
    def entropy(p):
        return -p * math.log(p) - (1 - p) * math.log(1 - p)

    for d, v, u, a, b in ((0.5, 0.4, 0.6, 10.0, 1.0), (3.0, 9.0, 16.0, 5.0, 1.0)):
        q = (a - b) / (a + b)

        def chance(z, d=d, v=v, u=u, q=q):
            return 0.5 * (1 + q * math.tanh(0.5 * (d + math.sqrt(v + u) * z)))

        mean = integrate.quad(lambda z: chance(z) * stats.norm.pdf(z), -12, 12, epsabs=1e-12)[0]
        inside = integrate.quad(lambda z: entropy(chance(z)) * stats.norm.pdf(z), -12, 12, epsabs=1e-12)[0]
        found = pair_gain(INFORMATION, d, v, u, 1.0, 1.0, a, b, 0.0)
        assert found == pytest.approx(entropy(mean) - inside, abs=1e-9)


def test_a_slope_scales_the_difference_and_the_deviations():
    for kind in (GAIN, JOINT, INFORMATION, UNCERTAINTY):
        direct = pair_gain(kind, 2 * 0.3, 4 * 0.5, 4 * 0.2, 1.0, 1.0, 10.0, 1.0, 1.0)
        assert pair_gain(kind, 0.3, 0.5, 0.2, 1.0, 2.0, 10.0, 1.0, 1.0) == pytest.approx(direct)


def test_a_coin_tosser_teaches_nothing_about_items():
    for kind in (GAIN, JOINT, INFORMATION):
        assert pair_gain(kind, 0.3, 0.5, 0.2, 1.0, 1.0, 5.0, 5.0, 0.0) == pytest.approx(0.0, abs=1e-12)


def test_a_known_quality_has_nothing_to_learn():
    known = pair_gain(GAIN, 2.0, 0.5, 0.2, 1.0, 1.0, 9e6, 1e6, 5.0)
    assert known == pair_gain(GAIN, 2.0, 0.5, 0.2, 1.0, 1.0, 9e6, 1e6, 0.0)
    assert np.isfinite(known)
