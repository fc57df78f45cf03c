"""The exponential function as a loop."""

import numpy as np

from crowdrank.kernels.exponentials import FARTHEST, exponentials


def test_two_units_in_the_last_place():
    x = np.concatenate([np.linspace(-FARTHEST, FARTHEST, 20_001), np.random.default_rng(0).normal(size=5000)])
    found, room = np.empty((2, len(x)))
    exponentials(x, found, room)
    assert (np.abs(found - np.exp(x)) <= 2 * np.spacing(np.exp(x))).all()


def test_far_arguments_are_limited():
    found, room = np.empty((2, 4))
    exponentials(np.array([-1e9, 1e9, -np.inf, np.inf]), found, room)
    np.testing.assert_array_equal(found, np.exp([-FARTHEST, FARTHEST, -FARTHEST, FARTHEST]))
