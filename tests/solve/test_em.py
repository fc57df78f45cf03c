"""Fixed points: until they rest, for some rounds, and accelerated."""

import numpy as np
import pytest

from crowdrank.solve import Mixing, Tempered, accelerate, rounds, until
from crowdrank.solve.em import FARTHEST, extrapolate

RATES = np.array([0.99, 0.9, 0.5])
GOAL = np.array([1.0, -2.0, 3.0])


def step(point):
    """EM on a quadratic: each entry keeps a share of its distance from the goal."""
    off = point - GOAL
    return GOAL + RATES * off, -float(off @ off), float(np.abs(off).max())


def ends(**changes):
    return {"tol": 1e-10, "enough": 1e-10, "patience": 1000, "limit": 1000, **changes}


def halve(x):
    return x / 2, x / 2


def test_a_loop_ends_where_the_change_is_small():
    assert until(halve, 8.0, tol=1.0, limit=10) == (1.0, 3, True)
    assert until(halve, 8.0, tol=1.0, limit=2) == (2.0, 2, False)


def test_a_loop_of_so_many_rounds():
    assert rounds(lambda x: x + 1, 5, 3) == 8
    assert rounds(lambda x: x + 1, 5, 0) == 5


def test_a_straight_path_is_followed_to_its_end():
    path = [GOAL[:1] + 0.9**k for k in range(3)]
    np.testing.assert_allclose(extrapolate(*path), GOAL[:1], atol=1e-12)


def test_the_end_is_reached_in_few_steps():
    point, value, slope, done = accelerate(step, np.zeros(3), inside=lambda own: own, **ends())
    np.testing.assert_allclose(point, GOAL, atol=1e-10)
    assert (value, slope) == step(point)[1:]
    plain = np.log(1e-10) / np.log(RATES.max())
    assert done < plain / 5


def test_a_path_that_leads_downhill_is_not_followed():
    astray = np.full(3, 1e6)
    point, value, _, done = accelerate(step, np.zeros(3), inside=lambda own: astray, **ends(limit=31))
    plain = np.zeros(3)
    for _ in range(20):  # two of every three steps are kept
        plain = step(plain)[0]
    assert done == 31
    np.testing.assert_allclose(point, plain)
    assert value == step(plain)[1]


def test_after_some_patience_less_will_do():
    _, _, slope, done = accelerate(
        step, np.zeros(3), inside=lambda own: own, **ends(enough=1e-2, patience=4, tol=0.0)
    )
    assert slope <= 1e-2
    assert 4 <= done < 100


def test_mixing_ends_a_slow_linear_path_in_few_rounds():
    rates = np.array([0.95, 0.8, 0.5])
    mixing, point, rounds_taken = Mixing(reach=100.0), np.zeros(3), 8
    for _ in range(rounds_taken):
        point = mixing(point, GOAL + rates * (point - GOAL))
    plain = np.abs(GOAL * rates**rounds_taken).max()
    assert np.abs(point - GOAL).max() < 0.01 * plain


def test_mixing_goes_no_farther_than_it_may():
    slow = np.array([1.0 - 1e-4])
    for reach, most in ((0.05, 0.05), (np.inf, FARTHEST * 1e-4)):
        mixing, point = Mixing(reach), np.array([1.0])
        for _ in range(3):
            image = slow * point
            following = mixing(point, image)
            assert abs(following - image) <= most * (1 + 1e-12)
            point = following


def test_mixing_forgets_a_path_whose_changes_grow():
    mixing = Mixing(reach=1.0)
    assert not mixing.sees_rate
    mixing(np.array([0.0]), np.array([0.5]))
    mixing(np.array([0.5]), np.array([0.75]))
    assert mixing.sees_rate
    image = np.array([2.0])
    assert mixing(np.array([0.8]), image) == image
    assert not mixing.sees_rate


@pytest.mark.parametrize("slope", [-1.5, -1.1, -0.9, 0.5])
def test_tempered_entries_no_longer_go_back_and_forth(slope):
    """x' = 1 + slope (x - 1) leads away from its fixed point if the slope is below -1."""
    tempered, point = Tempered(), np.array([3.0, 1.0, 0.9])
    for _ in range(60):
        point = tempered(point, 1.0 + slope * (point - 1.0))
    np.testing.assert_allclose(point, 1.0, atol=1e-6)


def test_an_entry_that_goes_on_is_not_tempered():
    tempered, point = Tempered(), np.array([2.0])
    for _ in range(5):
        point = tempered(point, 0.5 * point)
    assert point[0] == 2.0 * 0.5**5
