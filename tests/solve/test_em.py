"""Fixed points: until they rest, for some rounds, and accelerated."""

import numpy as np

from crowdrank.solve import accelerate, extrapolate, rounds, until

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
    np.testing.assert_allclose(extrapolate(*path, reach=0.1), path[2] - 0.1)


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
