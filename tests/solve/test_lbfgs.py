"""L-BFGS against Newton's method on the same sums over a session."""

import numpy as np
import pytest

from crowdrank.solve import lbfgs
from ridge import FEATURES, VOTES, climb, problem

START = np.zeros(FEATURES)


@pytest.mark.parametrize("shard_rows", [9, 50, VOTES])
def test_the_maximum_is_that_of_newton_on_any_shards(shard_rows):
    found = lbfgs(problem(shard_rows, threads=2).objective, START, tol=1e-6, limit=500)
    top = climb(problem())
    assert found.converged
    assert found.slope <= 1e-6
    np.testing.assert_allclose(found.weights, top.look.point, atol=1e-6)
    assert found.value == pytest.approx(top.look.value, abs=1e-9)


def test_value_and_slope_are_those_at_the_weights():
    found = lbfgs(problem().objective, START, tol=1e-6, limit=4)
    value, gradient = problem().objective(found.weights)
    assert (found.value, found.slope) == (value, np.abs(gradient).max())
    assert (found.iterations, found.converged) == (4, False)
