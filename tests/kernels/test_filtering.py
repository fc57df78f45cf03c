"""One vote under normal scores, against integrals, finite differences and the paper's own equations."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from crowdrank.kernels.beta import beta_divergence, digamma, log_gamma, update_beta
from crowdrank.kernels.filtering import as_printed, assumed_density, learn_vote, move


def log_chance(x, variance, quality, said, threshold, probit):
    return math.log(assumed_density(x, variance, quality, said, threshold, probit)[2])


@pytest.mark.parametrize("probit", [False, True])
@pytest.mark.parametrize(("said", "threshold"), [(1, 0.0), (-1, 0.0), (1, 0.4), (-1, 0.4), (0, 0.4)])
def test_the_derivatives_are_those_of_the_log_probability(probit, said, threshold):
    for x in (-3.0, -0.2, 0.0, 1.7):
        for variance in (0.1, 2.0, 30.0):
            for quality in (0.55, 0.9, 0.2):
                g, h, *_ = assumed_density(x, variance, quality, said, threshold, probit)
                rule = (variance, quality, said, threshold, probit)
                step = 1e-4
                up, at, down = (log_chance(x + away, *rule) for away in (step, 0.0, -step))
                assert g == pytest.approx((up - down) / (2 * step), abs=1e-6)
                assert h == pytest.approx(-(up - 2 * at + down) / step**2, abs=1e-5)


@pytest.mark.parametrize("threshold", [0.0, 0.4])
@pytest.mark.parametrize(("probit", "error"), [(True, 1e-9), (False, 0.02)])
def test_the_probability_is_the_integral_over_the_advantage(probit, error, threshold):
    """Exact for Thurstone's link; for the logistic link the approximation is good to two hundredths."""
    link = (lambda d: special.ndtr(d / math.sqrt(2))) if probit else special.expit
    for x, variance, quality in ((0.5, 1.0, 0.8), (-2.0, 9.0, 0.95), (1.0, 25.0, 0.6)):

        def told(z, said, x=x, variance=variance, quality=quality):
            d = x + math.sqrt(variance) * z
            win, loss = link(d - threshold), link(-d - threshold)
            if said == 0:
                return (1 - win - loss) * stats.norm.pdf(z)
            right, wrong = (win, loss) if said > 0 else (loss, win)
            return (quality * right + (1 - quality) * wrong) * stats.norm.pdf(z)

        for said in (1, -1, 0) if threshold else (1, -1):
            exact = integrate.quad(told, -10, 10, args=(said,), epsabs=1e-12, limit=200)[0]
            found = assumed_density(x, variance, quality, said, threshold, probit)[2]
            assert found == pytest.approx(exact, abs=error)


def test_the_outcomes_sum_to_one():
    for threshold in (0.0, 0.7):
        total = sum(assumed_density(0.4, 2.0, 0.7, said, threshold, False)[2] for said in (1, -1))
        tie = assumed_density(0.4, 2.0, 0.7, 0, threshold, False)[2] if threshold else 0.0
        assert total + tie == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), [(10.0, 1.0), (1.0, 1.0), (0.4, 3.0), (200.0, 5.0)])
@pytest.mark.parametrize("right", [0.03, 0.5, 0.99, 1.0])
def test_the_quality_keeps_the_first_two_moments(alpha, beta, right):
    """The moments that Crowd-BT prints between eq. 16 and 17, and eq. 17, 18 as printed."""
    wrong, total = 1 - right, alpha + beta
    c = (right * alpha + wrong * beta) / total
    first = (right * (alpha + 1) * alpha + wrong * alpha * beta) / (c * (total + 1) * total)
    second = (right * (alpha + 2) * (alpha + 1) * alpha + wrong * (alpha + 1) * alpha * beta) / (
        c * (total + 2) * (total + 1) * total
    )
    spread = second - first**2
    printed = ((first - second) * first / spread, (first - second) * (1 - first) / spread)
    assert update_beta(alpha, beta, right, wrong) == pytest.approx(printed, rel=1e-9)


def test_the_divergence_of_two_qualities_is_the_integral():
    for new, old in (((3.0, 2.0), (2.5, 2.0)), ((11.0, 1.2), (10.0, 1.0)), ((40.0, 9.0), (39.5, 9.2))):

        def inside(eta, new=new, old=old):
            return stats.beta.pdf(eta, *new) * (stats.beta.logpdf(eta, *new) - stats.beta.logpdf(eta, *old))

        assert beta_divergence(*new, *old) == pytest.approx(integrate.quad(inside, 0, 1)[0], abs=1e-9)


def test_the_gamma_functions_are_those_of_scipy():
    x = np.geomspace(1e-3, 1e6, 500)
    assert log_gamma(x) == pytest.approx(special.gammaln(x), rel=1e-13, abs=1e-13)
    assert digamma(x) == pytest.approx(special.psi(x), rel=1e-13, abs=1e-13)


def test_the_printed_rule_is_that_of_the_paper():
    """Eq. 12 to 16 and 19 with raw exponentials, for a vote that i won."""
    mi, mj, vi, vj, a, b = 0.3, -0.4, 0.8, 0.5, 10.0, 1.0
    ei, ej = math.exp(mi), math.exp(mj)
    shift = a * ei / (a * ei + b * ej) - ei / (ei + ej)
    curve = a * ei * b * ej / (a * ei + b * ej) ** 2 - ei * ej / (ei + ej) ** 2
    c1 = ei / (ei + ej) + 0.5 * (vi + vj) * ei * ej * (ej - ei) / (ei + ej) ** 3
    alpha, beta = update_beta(a, b, c1, 1 - c1)
    expected = (mi + vi * shift, mj - vj * shift, vi * (1 + vi * curve), vj * (1 + vj * curve), alpha, beta)
    for said, order in ((1, (0, 1, 2, 3)), (-1, (1, 0, 3, 2))):
        given = [(mi, mj, vi, vj)[place] for place in order]
        found = learn_vote(*given, a, b, 0.0, 0.0, said, 1.0, False, 0.0, False, True)
        assert [found[place] for place in order] == pytest.approx(expected[:4], abs=1e-12)
        assert found[4:6] == pytest.approx((alpha, beta), rel=1e-12)
        assert found[8] == pytest.approx(math.log((c1 * a + (1 - c1) * b) / (a + b)), abs=1e-12)


def test_the_printed_probability_stays_between_zero_and_one():
    """Eq. 19 leaves [0, 1] for large variances."""
    for said in (1, -1):
        *_, right, wrong = as_printed(2.0, 60.0, 10.0, 1.0, said)
        assert 0 < right < 1
        assert right + wrong == 1


def test_half_a_vote_sends_half_of_its_message():
    mean, variance, slope, bend = 0.3, 0.8, 0.4, 0.2
    once_mean, once_variance = move(mean, variance, slope, bend, 1.0)
    precision = 1 / once_variance - 1 / variance  # of the message
    shift = once_mean / once_variance - mean / variance
    half_variance = 1 / (1 / variance + precision / 2)
    half_mean = (mean / variance + shift / 2) * half_variance
    assert move(mean, variance, slope, bend, 0.5) == pytest.approx((half_mean, half_variance), abs=1e-12)


def test_a_position_bias_moves_like_a_score_on_the_left():
    found = learn_vote(0.1, 0.1, 0.5, 0.5, 10.0, 1.0, 0.1, 0.5, 1, 1.0, True, 0.0, False, False)
    assert found[6] == pytest.approx(found[0])
    assert found[7] == pytest.approx(found[2])
