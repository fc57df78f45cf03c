"""A Newton step within inequalities, checked by its conditions of optimality."""

import numpy as np
import pytest
from scipy.optimize import nnls

from crowdrank.data import Demands
from crowdrank.solve.inequalities import step_within


@pytest.mark.parametrize("seed", range(20))
def test_no_feasible_direction_gains(seed):
    """slope - matrix d = -A' weights, with weights >= 0 only on demands at their bounds."""
    rng = np.random.default_rng(seed)
    size, count = 6, 9
    root = rng.normal(0, 1, (size, size))
    matrix, slope = root @ root.T + 0.1 * np.eye(size), rng.normal(0, 10.0 ** rng.integers(0, 4), size)
    above = rng.integers(-1, size, count)
    below = (above + 1 + rng.integers(1, size, count)) % (size + 1) - 1
    demands = Demands(above, below, np.zeros(count))
    slack = np.where(rng.random(count) < 0.5, 0.0, rng.random(count))
    step = step_within(matrix, slope, demands, slack)
    left = slack + demands.slack(step)
    assert (left > -1e-11).all()
    rest = slope - matrix @ step
    touching = demands.rows(size)[left < 1e-9]
    miss = nnls(touching.T, -rest)[1] if len(touching) else np.linalg.norm(rest)
    assert miss < 1e-8 * np.linalg.norm(slope)
