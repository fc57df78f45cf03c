"""What each worker parameter says of itself: derivatives by finite differences, units, and where it may go."""

import pickle

import numpy as np
import pytest
from scipy.special import expit

from crowdrank.models.worker_parameters import ETA, LAPSE, LOG_SLOPE, POSITION, SLOPE, THRESHOLD, drive

PARAMETERS = (SLOPE, LOG_SLOPE, POSITION, THRESHOLD, ETA, LAPSE)
W, D = np.array([0.3, 0.7, 0.55]), np.array([1.2, -0.4, 0.0])


@pytest.fixture(params=PARAMETERS, ids=str)
def parameter(request):
    return request.param


def channel(parameter, w, d):
    """What the likelihood sees: x = a d + b, theta or eta."""
    value = parameter.value(w)
    return value * d if parameter.drives == "slope" else value


def test_the_terms_are_finite_differences(parameter):
    h, terms = 1e-4, parameter.terms(W, D)
    up, here, down = (channel(parameter, W + shift, D) for shift in (h, 0.0, -h))
    np.testing.assert_allclose(terms.first, (up - down) / (2 * h), rtol=1e-6)
    second = np.zeros(3) if terms.second is None else terms.second
    np.testing.assert_allclose(second, (up - 2 * here + down) / h**2, atol=1e-5)
    by_d = [(channel(parameter, W + s, D + h) - channel(parameter, W + s, D - h)) / (2 * h) for s in (h, -h)]
    mixed = np.zeros(3) if terms.slope is None else terms.slope
    np.testing.assert_allclose(mixed, (by_d[0] - by_d[1]) / (2 * h), atol=1e-6)


def test_what_they_drive_by_the_definitions():
    values = np.array([[0.2, -0.7, -1.0, -3.0]])
    own = drive((LOG_SLOPE, POSITION, THRESHOLD, LAPSE), values)
    assert own["slope"] == pytest.approx(np.exp(0.2))
    assert own["position"] == -0.7
    assert own["theta"] == -1.0
    assert own["eta"] == pytest.approx(1 - expit(-3.0) / 2)


def test_the_table_of_workers_has_natural_values():
    w = np.array([-1.0])
    shown = {p.name: (p.shown, None if p.natural is None else float(p.natural(w)[0])) for p in PARAMETERS}
    assert shown == {
        "slope": ("slope", -1.0),
        "log-slope": ("slope", pytest.approx(np.exp(-1))),
        "position": ("position", -1.0),
        "threshold": ("threshold", pytest.approx(np.exp(-1))),
        "eta": (None, None),
        "lapse": ("lapse", pytest.approx(expit(-1) / 2)),
    }


@pytest.mark.parametrize("slope", [SLOPE, LOG_SLOPE], ids=str)
def test_divided_by_the_unit_the_average_slope_is_one(slope):
    w, h = np.array([0.4, 0.9, 1.1]), 1e-6
    scale, rate = slope.unit(float(w.mean()))
    assert slope.is_slope
    np.testing.assert_allclose(slope.value(slope.divide(w, scale)), slope.value(w) / scale)
    assert slope.value(slope.divide(w, scale).mean(keepdims=True))[0] == pytest.approx(1.0)
    assert rate == pytest.approx((slope.unit(w.mean() + h)[0] - slope.unit(w.mean() - h)[0]) / (2 * h))


def test_a_tiny_mean_slope_is_no_unit():
    assert SLOPE.unit(-0.3)[0] == SLOPE.unit(0.01)[0] == 0.1
    assert LOG_SLOPE.unit(-5.0)[0] == pytest.approx(np.exp(-5.0))


def test_perfect_and_typical_workers_are_within_reach(parameter):
    assert parameter.low <= parameter.perfect <= parameter.high
    if parameter.typical is not None:
        assert parameter.low <= parameter.typical <= parameter.high


def test_a_perfect_worker_has_slope_one_and_neither_bias_nor_ties_nor_errors():
    want = {"slope": 1.0, "position": 0.0, "theta": -20.0, "eta": 1.0}
    for parameter in PARAMETERS:
        assert parameter.value(np.array([parameter.perfect]))[0] == pytest.approx(want[parameter.drives])


def test_a_parameter_that_was_sent_is_the_same(parameter):
    assert pickle.loads(pickle.dumps(parameter)) == parameter
    assert {parameter: 1}[pickle.loads(pickle.dumps(parameter))] == 1
