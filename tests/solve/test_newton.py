"""Newton's method on a weight vector, checked by SciPy; its damping; and many problems at once."""

import numpy as np
import pytest
from scipy.optimize import minimize

from crowdrank.solve import newton, newton_batch, newton_within, slope_goal
from crowdrank.solve.newton import BATCH_REACH
from ridge import FEATURES, STRENGTH, VOTES, SaddleProblem, climb, problem, rows


def by_brute_force():
    apart = rows()

    def loss(w):
        return np.logaddexp(0.0, -apart @ w).sum() + 0.5 * STRENGTH * w @ w

    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20_000}
    return minimize(loss, np.zeros(FEATURES), method="Nelder-Mead", options=options)


def test_a_weight_vector_by_brute_force():
    top, want = climb(problem()), by_brute_force()
    assert top.converged
    assert top.look.value == pytest.approx(-want.fun, abs=1e-9)
    np.testing.assert_allclose(top.look.point, want.x, atol=1e-6)


def test_the_gradient_and_the_curvature_are_finite_differences():
    given, h = problem(), 1e-6
    point = np.linspace(0.5, -0.5, FEATURES)
    here, steps = given.look(point), np.eye(FEATURES) * h
    by_value = [(given.look(point + s).value - given.look(point - s).value) / (2 * h) for s in steps]
    np.testing.assert_allclose(here.gradient, by_value, rtol=1e-6)
    bend = [-(given.look(point + s).gradient - given.look(point - s).gradient) / (2 * h) for s in steps]
    np.testing.assert_allclose(here.curvature, bend, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shard_rows", [1, 7, 100])
def test_other_shards_lead_to_the_same_top(shard_rows):
    np.testing.assert_allclose(
        climb(problem(shard_rows, threads=2)).look.point, climb(problem()).look.point, atol=1e-12
    )


def test_the_number_of_steps_and_of_looks_is_kept():
    seen = []
    top = climb(problem(), steps=2, progress=lambda *told: seen.append(told))
    assert (top.iterations, top.converged) == (2, False)
    assert [number for number, _, _ in seen] == [1, 2]
    assert seen[-1][1:] == (top.look.value, top.look.slope / VOTES)
    assert climb(problem(), limit=3).iterations == 3


def test_the_end_is_a_slope_for_the_weight_of_the_judgments():
    top = climb(problem())
    assert top.look.slope <= slope_goal(VOTES, -3.0) == 1e-8 * VOTES
    assert slope_goal(0.1, -3.0) == 1e-8  # a prior of weight 3
    assert slope_goal(1e-12, -1e-12) == 1e-8 * 1e-12


def test_damping_leads_uphill_where_a_full_step_goes_too_far():
    """From 0.6 the full step of (x^2 - 1)^2 ends at 3.4."""
    top = newton(SaddleProblem(), 0.6, total_weight=1.0)
    assert top.converged
    assert top.look.x == pytest.approx(1.0, abs=1e-8)
    assert top.iterations > 3


def test_damping_leads_out_of_where_the_curvature_is_not_that_of_a_maximum():
    top = newton(SaddleProblem(), 0.2, total_weight=1.0)
    assert top.converged
    assert top.look.x == pytest.approx(1.0, abs=1e-8)


def test_without_any_curvature_the_climb_ends_where_it_is():
    start = 1 / np.sqrt(3)  # 12 x^2 - 4 = 0, which no damping makes positive
    top = newton(SaddleProblem(), start, total_weight=1.0)
    assert (top.look.x, top.converged) == (start, False)


class TestBatch:
    def looks(self, seeds):
        problems = [problem(seed=seed) for seed in seeds]

        def look(points, chosen):
            own = np.arange(len(problems))[chosen]
            found = [problems[place].look(point) for place, point in zip(own, points.T, strict=True)]
            return np.stack([one.gradient for one in found], axis=1), np.stack([one.curvature for one in found])

        return problems, look

    def test_many_problems_end_where_each_ends_alone(self):
        problems, look = self.looks(range(5))
        start = np.zeros((FEATURES, 5))
        points, found = newton_batch(look, start)
        assert found.all()
        assert not start.any()
        for point, one in zip(points.T, problems, strict=True):
            np.testing.assert_allclose(point, climb(one).look.point, atol=1e-9)

    def test_problems_that_have_ended_are_not_looked_at_again(self):
        problems, look = self.looks(range(3))
        start = np.zeros((FEATURES, 3))
        start[:, 1] = climb(problems[1]).look.point
        asked = []

        def watch(points, chosen):
            asked.append(np.arange(3)[chosen].tolist())
            return look(points, chosen)

        assert newton_batch(watch, start)[1].all()
        assert asked[0] == [0, 1, 2]
        assert all(own == [0, 2] for own in asked[1:3])

    def test_a_step_downhill_is_given_up_and_a_long_one_is_shortened(self):
        def look(points, chosen):
            bend = np.array([1.0, -1.0])[chosen]
            return (100.0 - points) * bend, bend[:, None, None]

        points, found = newton_batch(look, np.zeros((1, 2)))
        assert found.tolist() == [True, False]
        assert points[0, 0] == pytest.approx(100.0)
        assert points[0, 1] == BATCH_REACH  # the step to the minimum, shortened, and not a second one

    def test_a_matrix_without_an_inverse_ends_it(self):
        flat = np.ones((1, 1)), np.zeros((1, 1, 1))
        points, found = newton_batch(lambda points, chosen: flat, np.zeros((1, 1)))
        assert not found.any()
        assert not points.any()


@pytest.mark.parametrize("sharp", [1.0, 1e6])
def test_many_functions_of_one_number_within_bounds(sharp):
    """x t - cosh(t) / c, c = sharp for t > 0: the maximum is asinh(c x), or the bound before it."""
    target = np.array([-3.0, -0.5, -0.1, 0.2, 4.0])

    def look(points, chosen):
        bend = np.where(points > 0, 1 / sharp, 1.0)
        return target[chosen] - np.sinh(points) * bend, np.cosh(points) * bend

    low, high = np.full(5, -1.0), np.full(5, 12.0)
    found, curvature = newton_within(look, np.full(5, 7.0), low, high)
    want = np.clip(np.where(target > 0, np.arcsinh(sharp * target), np.arcsinh(target)), low, high)
    np.testing.assert_allclose(found, want, atol=1e-11)
    np.testing.assert_allclose(curvature, look(want, np.arange(5))[1], rtol=1e-9)
