"""Kendall, Mallows and Plackett-Luce against all permutations, all pairs and finite differences."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest

from crowdrank.kernels import kendall, mallows, plackett_luce, segments
from crowdrank.kernels.plackett_luce import Orders


def starts(sizes):
    return np.concatenate([[0], np.cumsum(sizes)])


def by_pairs(one, other, penalty):
    total = 0.0
    for i, j in combinations(range(len(one)), 2):
        a, b = np.sign(one[i] - one[j]), np.sign(other[i] - other[j])
        total += 1.0 if a * b < 0 else penalty if (a == 0) != (b == 0) else 0.0
    return total


class TestSegments:
    def test_sums_within_segments(self):
        start, values = starts([3, 0, 1, 6]), np.arange(1.0, 11)
        assert segments.prefix_sums(values, start).tolist() == [1, 3, 6, 4, 5, 11, 18, 26, 35, 45]
        assert segments.earlier_sums(values, start).tolist() == [0, 1, 3, 0, 0, 5, 11, 18, 26, 35]
        assert segments.suffix_sums(values, start).tolist() == [6, 5, 3, 4, 45, 40, 34, 27, 19, 10]
        assert segments.totals(values, start).tolist() == [6, 0, 4, 45]

    @pytest.mark.parametrize("most", [1, 4, 1000])
    def test_pairs_come_once_each(self, most):
        start = starts([3, 0, 1, 4])
        found = [(i, j) for one, other in segments.pairs(start, most) for i, j in zip(one, other, strict=True)]
        assert found == [*combinations(range(3), 2), *combinations(range(4, 8), 2)]


class TestKendall:
    @pytest.mark.parametrize("penalty", [0.0, 0.5])
    @pytest.mark.parametrize("levels", [3, 100])
    def test_is_the_sum_over_pairs(self, penalty, levels):
        rng = np.random.default_rng(levels)
        start = starts([1, 7, 0, 2, 30, 12])
        one, other = rng.integers(0, levels, (2, start[-1]))
        found = kendall.distances(one, other, start, penalty)
        wanted = [by_pairs(one[a:b], other[a:b], penalty) for a, b in pairwise(start)]
        np.testing.assert_allclose(found, wanted, atol=1e-12)

    def test_of_a_top_k_list(self):
        # top 2 of 5: a b | c d e against b a c d e: one swap, and three pairs that one leaves open
        assert kendall.distances(np.array([0, 1, 2, 2, 2]), np.array([1, 0, 2, 3, 4]), starts([5])) == 1 + 3 / 2


def all_orders(n):
    return np.array(list(permutations(range(n))))


def distances_to_identity(orders):
    return np.array([by_pairs(order, np.arange(len(order)), 0) for order in np.argsort(orders, axis=1)])


class TestMallows:
    @pytest.mark.parametrize("theta", [-0.7, -1e-4, 0.0, 1e-9, 0.03, 0.1, 0.8, 6.0])
    @pytest.mark.parametrize("n", [1, 2, 4, 6])
    def test_normalisers_are_sums_over_all_orders(self, theta, n):
        distance = distances_to_identity(all_orders(n))
        weight = np.exp(-theta * distance)
        mean = weight @ distance / weight.sum()
        variance = weight @ (distance - mean) ** 2 / weight.sum()
        value, slope, curve = (part[0, n] for part in mallows.log_normalizers(np.array([theta]), n))
        assert value == pytest.approx(np.log(weight.sum()), abs=1e-12)
        assert slope == pytest.approx(-mean, abs=1e-12)
        assert curve == pytest.approx(variance, abs=1e-11)

    def test_is_smooth_where_the_series_ends(self):
        theta = np.linspace(0.001, 1.2, 2400)
        value, slope, curve = (part[:, 20] for part in mallows.log_normalizers(theta, 20))
        step = theta[1] - theta[0]
        np.testing.assert_allclose((value[2:] - value[:-2]) / (2 * step), slope[1:-1], rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose((slope[2:] - slope[:-2]) / (2 * step), curve[1:-1], rtol=1e-4, atol=1e-3)

    @pytest.mark.parametrize("theta", [-0.4, 0.0, 1e-7, 0.3, 2.0])
    def test_a_pair_stands_in_order_as_often_as_in_all_orders(self, theta):
        orders = all_orders(6)
        weight = np.exp(-theta * distances_to_identity(orders))
        place = np.argsort(orders, axis=1)
        for a, b in combinations(range(6), 2):
            chance = weight[place[:, a] < place[:, b]].sum() / weight.sum()
            assert mallows.chance_above(np.array([b - a]), theta)[0] == pytest.approx(chance, abs=1e-13)

    @pytest.mark.parametrize("groups", [(1, 1, 3), (2, 3), (5,), (1, 2, 1, 1)])
    def test_lists_that_leave_orders_open_are_sums_over_them(self, groups):
        theta, n = 0.6, sum(groups)
        orders = all_orders(n)
        weight = np.exp(-theta * distances_to_identity(orders))
        weight /= weight.sum()
        said = np.array([3, 0, 4, 1, 2])  # the items from the best on, tied as the groups say
        level = np.empty(n, int)
        level[said] = np.repeat(np.arange(len(groups)), groups)
        place = np.argsort(orders, axis=1)
        fits = [
            all(place[row, i] < place[row, j] for i in range(n) for j in range(n) if level[i] < level[j])
            for row in range(len(orders))
        ]
        log_z = mallows.log_normalizers(np.array([theta]), n)[0][0]
        d = kendall.distances(level, np.arange(n), starts([n]), penalty=0)[0]
        assert -theta * d - log_z[n] + log_z[list(groups)].sum() == pytest.approx(np.log(weight[fits].sum()))

    def test_a_part_of_a_list_is_not_mallows(self):
        # why lists of some items only are a pseudo-likelihood: the sum over what is left out is another law
        theta = 0.8
        orders = all_orders(4)
        weight = np.exp(-theta * distances_to_identity(orders))
        place = np.argsort(orders, axis=1)
        swapped = weight[place[:, 3] < place[:, 0]].sum() / weight.sum()
        assert swapped == pytest.approx(1 - mallows.chance_above(np.array([3]), theta)[0])
        assert swapped < np.exp(-theta) / (1 + np.exp(-theta)) - 0.1

    @pytest.mark.parametrize("theta", [-0.5, 0.0, 0.7])
    def test_samples_have_their_distances(self, theta):
        drawn = mallows.sample(np.full(40000, theta), 5, np.random.default_rng(3))
        orders = all_orders(5)
        weight = np.exp(-theta * distances_to_identity(orders))
        wanted = weight / weight.sum()
        keys = (orders @ 10 ** np.arange(5)).tolist()
        found = np.bincount([keys.index(key) for key in (drawn @ 10 ** np.arange(5)).tolist()], minlength=120)
        spread = np.sqrt(wanted * (1 - wanted) / 40000)
        assert (np.abs(found / 40000 - wanted) < 5 * spread).all()


def open_orders(level):
    """The orders that a list with ties leaves open."""
    n = len(level)
    for order in permutations(range(n)):
        if all(level[order[k]] <= level[order[k + 1]] for k in range(n - 1)):
            yield order


def log_strict(x, order):
    rates = np.exp(np.asarray(x)[list(order)])
    return float(np.sum(np.log(rates / np.cumsum(rates[::-1])[::-1])))


LEVELS = [
    [0, 1, 2, 3],
    [0, 1, 2, 2, 2],
    [0, 0, 0, 1, 2, 2],
    [0, 1, 1, 2, 2, 2, 3],
    [0],
    [0, 0],
    [0, 1],
    [0, 0, 1],
]


class TestPlackettLuce:
    @pytest.fixture
    def orders(self):
        return Orders(starts([len(level) for level in LEVELS]), np.concatenate(LEVELS))

    def test_all_orders_sum_to_one(self):
        x = np.random.default_rng(0).normal(0, 2, 5)
        every = all_orders(5)
        orders = Orders(np.arange(len(every) + 1) * 5, np.tile(np.arange(5), len(every)))
        found = plackett_luce.derivatives(x[every].ravel(), orders).value
        assert np.exp(found).sum() == pytest.approx(1, abs=1e-13)
        assert found[17] == pytest.approx(log_strict(x, every[17]), abs=1e-13)

    @pytest.mark.parametrize("scale", [0.0, 1.0, 6.0])
    def test_ties_are_the_sum_over_their_orders(self, orders, scale):
        x = np.random.default_rng(1).normal(0, scale, len(orders.level))
        found = plackett_luce.derivatives(x, orders).value
        for number, level in enumerate(LEVELS):
            own = x[orders.start[number] : orders.start[number + 1]]
            wanted = np.log(sum(np.exp(log_strict(own, order)) for order in open_orders(level)))
            assert found[number] == pytest.approx(wanted, abs=1e-9)

    def test_a_large_tied_group(self):
        # 40 of 60 equal items come first: one of the subsets
        from scipy.special import gammaln

        orders = Orders(starts([60]), np.repeat([0, 1], [40, 20]))
        wanted = gammaln(41) + gammaln(21) - gammaln(61)
        assert plackett_luce.derivatives(np.zeros(60), orders).value[0] == pytest.approx(wanted, abs=1e-11)

    def test_derivatives_are_those_of_the_value(self, orders):
        rng, h = np.random.default_rng(2), 1e-5
        x = rng.normal(0, 1.5, len(orders.level))
        scale, weight = rng.uniform(0.5, 2, (2, len(LEVELS)))[:, segments.segment_of(orders.start)]
        here = plackett_luce.derivatives(x, orders)
        hessian = np.diag(here.curvature * weight * scale**2)
        for one, other, value in here.cross(scale, weight):
            np.add.at(hessian, (one, other), value)
            np.add.at(hessian, (other, one), value)
        for row in range(len(x)):
            step = h * (np.arange(len(x)) == row)
            up, down = (plackett_luce.derivatives(x + side * step, orders) for side in (1, -1))
            change = (up.value.sum() - down.value.sum()) / (2 * h)
            assert here.gradient[row] == pytest.approx(change, abs=1e-8)
            second = (down.gradient - up.gradient) / (2 * h)
            np.testing.assert_allclose(hessian[row], weight * scale * scale[row] * second, atol=1e-7)

    def test_a_level_more_changes_nothing(self, orders):
        x = np.random.default_rng(3).normal(0, 1, len(orders.level))
        one, other = (plackett_luce.derivatives(x + level, orders) for level in (0.0, 900.0))
        np.testing.assert_allclose(one.value, other.value, atol=1e-11)
        np.testing.assert_allclose(one.gradient, other.gradient, atol=1e-11)
