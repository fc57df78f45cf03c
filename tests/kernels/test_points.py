"""Points that stand for a normal distribution."""

from itertools import product

import numpy as np
import pytest

from crowdrank.kernels.points import normal_cubature, normal_points

MOMENTS = {0: 1, 2: 1, 4: 3}


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_cubature_is_exact_up_to_the_fifth_degree(width):
    points, weights = normal_cubature(width)
    for powers in product(range(6), repeat=width):
        if sum(powers) <= 5:
            exact = np.prod([MOMENTS.get(power, 0) for power in powers])
            assert weights @ (points ** np.array(powers)).prod(axis=1) == pytest.approx(exact, abs=1e-12)


def test_the_points_do_not_depend_on_signs():
    points, _ = normal_cubature(3)
    one, other = ({tuple(np.round(point, 9) + 0.0) for point in points * sign} for sign in ([1, 1, 1], [1, -1, 1]))
    assert one == other


def test_evenly_spread_points_have_the_moments_of_a_normal():
    points = normal_points(4096, 2)
    assert points.mean(axis=0) == pytest.approx([0, 0], abs=0.01)
    assert np.cov(points.T) == pytest.approx(np.eye(2), abs=0.02)
