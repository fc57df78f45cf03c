"""The order of independent normals: against all orders, direct integrals and finite differences."""

from __future__ import annotations

from itertools import permutations
from math import factorial, lgamma

import numpy as np
import pytest

from crowdrank.kernels import normal_levels, ordered_normals
from crowdrank.kernels.ordered_normals import derivatives, integral, rest
from crowdrank.kernels.plackett_luce import Orders

GROUPS = [(1, 1), (1, 1, 1, 1), (1, 4), (4, 1), (1, 2, 1), (2, 2), (1, 1, 3, 2, 1)]


def orders_of(*lists):
    """Lists by the sizes of their levels."""
    level = np.concatenate([np.repeat(np.arange(len(sizes)), sizes) for sizes in lists])
    return Orders(np.concatenate([[0], np.cumsum([sum(sizes) for sizes in lists])]), level)


def value(x, orders):
    return derivatives(x, orders).value.sum()


def chance_above(levels, m, accuracy):
    """The probability that the levels come in order and all of them above m."""
    from scipy.integrate import quad
    from scipy.special import ndtr

    *others, last = levels
    if not others:
        return float(np.prod(ndtr(last - m)))

    def at(u):  # the largest of the last level
        inside = ndtr(u - last) - ndtr(m - last)
        density = np.exp(-0.5 * (u - last) ** 2) / np.sqrt(2 * np.pi)
        return sum(p * np.prod(np.delete(inside, i)) for i, p in enumerate(density)) * chance_above(
            others, u, accuracy
        )

    every = np.concatenate(levels)
    return quad(at, max(m, every.min() - 9), every.max() + 9, epsabs=1e-18, epsrel=accuracy, limit=200)[0]


def hessian(found, rows):
    """The matrix that curvature and cross make."""
    matrix = np.diag(-found.curvature)
    for one, other, values in found.cross(np.ones(rows), np.ones(rows)):
        matrix[one, other] -= values
        matrix[other, one] -= values
    return matrix


class TestIntegral:
    def test_of_a_normal_density(self):
        from scipy.special import ndtr

        grid = np.arange(-40, 41) * 0.2
        density = np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi)
        np.testing.assert_allclose(integral(density, 0.2), ndtr(grid), atol=1e-9)
        np.testing.assert_allclose(rest(density, 0.2), ndtr(-grid), atol=1e-9)

    def test_what_is_left_is_the_transpose(self):
        points = np.eye(20)
        np.testing.assert_allclose(rest(points, 0.3), integral(points, 0.3).T, atol=1e-15)


class TestValue:
    def test_all_orders_sum_to_one(self):
        x = np.random.default_rng(0).normal(0, 1.5, 5)
        every = np.array(list(permutations(x)))
        found = derivatives(every.ravel(), orders_of(*[(1,) * 5] * factorial(5))).value
        assert np.exp(found).sum() == pytest.approx(1, abs=1e-7)

    @pytest.mark.parametrize("sizes", [(1, 2, 1), (2, 2), (1, 3), (3, 1), (2, 1, 1)])
    def test_an_open_order_is_the_sum_over_it(self, sizes):
        x = np.random.default_rng(1).normal(0, 1, 4)
        ends = np.cumsum((0, *sizes))
        level = np.repeat(np.arange(len(sizes)), sizes)
        fits = [order for order in permutations(range(4)) if (np.diff(level[list(order)]) >= 0).all()]
        assert len(fits) == np.prod([factorial(size) for size in np.diff(ends)])
        every = derivatives(x[np.array(fits)].ravel(), orders_of(*[(1,) * 4] * len(fits))).value
        assert value(x, orders_of(sizes)) == pytest.approx(np.log(np.exp(every).sum()), abs=1e-7)

    def test_of_two_and_of_three_items(self):
        from scipy.integrate import quad
        from scipy.special import ndtr

        a, b, c = 0.3, -0.6, 1.1
        assert value(np.array([a, b]), orders_of((1, 1))) == pytest.approx(np.log(ndtr((a - b) / 2**0.5)))

        def middle(y):  # the second of three at y
            return ndtr(a - y) * np.exp(-0.5 * (y - b) ** 2) / np.sqrt(2 * np.pi) * ndtr(y - c)

        wanted = np.log(quad(middle, -9, 9, epsabs=1e-14)[0])
        assert value(np.array([a, b, c]), orders_of((1, 1, 1))) == pytest.approx(wanted, abs=1e-8)

    @pytest.mark.parametrize("scale", [0.5, 2.0])
    @pytest.mark.parametrize("sizes", [(2, 2), (4, 3), (2, 2, 2), (1, 4, 2)])
    def test_of_tied_levels_by_integrals_within_integrals(self, sizes, scale):
        """Exact with two levels; a level between two others has the error of the grid."""
        x = np.random.default_rng(len(sizes)).normal(0, scale, sum(sizes))
        error = 1e-12 if len(sizes) == 2 else 1e-7
        wanted = np.log(chance_above(np.split(x, np.cumsum(sizes)[:-1]), -np.inf, error / 10))
        assert value(x, orders_of(sizes)) == pytest.approx(wanted, abs=error)

    @pytest.mark.parametrize("sizes", [(1,) * 30, (1,) * 82, (1, 1, 1, 60), (5, 5, 5), (1, 20, 1)])
    def test_equal_items_are_in_any_order(self, sizes):
        n = sum(sizes)
        wanted = sum(lgamma(size + 1) for size in sizes) - lgamma(n + 1)
        assert value(np.zeros(n), orders_of(sizes)) == pytest.approx(wanted, abs=3e-4)

    @pytest.mark.parametrize("deep", [0.5, 70.0, np.inf])
    def test_it_does_not_matter_how_much_of_the_grid_is_looked_at_first(self, deep, monkeypatch):
        """Infinity looks at all of it; what was too little is computed again."""
        lists = [(3, 5, 4, 2), (1, 6, 3), (2, 2, 2, 2)]
        x = np.random.default_rng(4).normal(0, 1.2, sum(map(sum, lists)))
        wanted = derivatives(x, orders_of(*lists))
        monkeypatch.setattr(normal_levels, "DEEP", deep)
        found = derivatives(x, orders_of(*lists))
        for name in ("value", "gradient", "curvature", "up", "down", "inside"):
            np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-12)

    @pytest.mark.parametrize("sign", [1, -1])
    def test_a_finer_grid_says_the_same(self, sign, monkeypatch):
        """Also of a long list that the scores contradict."""
        x, orders = sign * np.linspace(-3, 3, 40), orders_of((1,) * 40)
        found = derivatives(x, orders)
        monkeypatch.setattr(ordered_normals, "STEEP", 0.2)
        finer = derivatives(x, orders)
        assert found.value[0] == pytest.approx(finer.value[0], abs=1e-4)
        np.testing.assert_allclose(found.gradient, finer.gradient, atol=1e-4)

    def test_a_list_that_orders_nothing(self):
        found = derivatives(np.array([1.0, 2.0, 3.0]), orders_of((2,), (1,)))
        assert found.value.tolist() == [0, 0]
        assert found.gradient.tolist() == found.curvature.tolist() == [0, 0, 0]

    def test_lists_together_as_alone(self, monkeypatch):
        rng = np.random.default_rng(2)
        xs = [rng.normal(0, 1.5, sum(sizes)) for sizes in GROUPS]
        together = derivatives(np.concatenate(xs), orders_of(*GROUPS))
        monkeypatch.setattr(ordered_normals, "CELLS", 200)
        few = derivatives(np.concatenate(xs), orders_of(*GROUPS))
        alone = [derivatives(x, orders_of(sizes)) for x, sizes in zip(xs, GROUPS, strict=True)]
        for found in (together, few):
            np.testing.assert_allclose(found.value, [own.value[0] for own in alone], atol=1e-10)
            np.testing.assert_allclose(found.gradient, np.concatenate([own.gradient for own in alone]), atol=1e-9)


@pytest.mark.parametrize("sizes", GROUPS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 2.5])
class TestDerivatives:
    def at(self, sizes, scale):
        x, orders = np.random.default_rng(3).normal(0, scale, sum(sizes)), orders_of(sizes)
        return x, orders, derivatives(x, orders)

    def test_gradient_is_that_of_the_value(self, sizes, scale):
        x, orders, found = self.at(sizes, scale)
        steps = 1e-4 * np.eye(len(x))
        slopes = [(value(x + step, orders) - value(x - step, orders)) / 2e-4 for step in steps]
        np.testing.assert_allclose(found.gradient, slopes, atol=1e-6)
        assert found.gradient.sum() == pytest.approx(0, abs=1e-9)

    def test_curvature_is_near_that_of_the_gradient(self, sizes, scale):
        """Exact on lists of two; elsewhere correlations multiply along the list, as they nearly do."""
        x, orders, found = self.at(sizes, scale)
        steps = 1e-4 * np.eye(len(x))
        exact = [
            (derivatives(x + step, orders).gradient - derivatives(x - step, orders).gradient) / 2e-4
            for step in steps
        ]
        own = hessian(found, len(x))
        np.testing.assert_allclose(own.sum(axis=1), 0, atol=1e-12)
        error = np.abs(own - exact).max() / max(np.abs(exact).max(), 0.1)
        assert error < (1e-6 if sizes == (1, 1) else 0.12)
