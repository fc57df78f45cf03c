"""Objectives against finite differences, direct sums and enumeration."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest

from crowdrank.measures import dcg, err, ndcg
from crowdrank.rankers.objectives import LambdaRank, ListLikelihood, SoftRank, SquaredError, Targets, lambda_rank

START = np.array([0, 5, 6, 12])
WITH_SECOND_DERIVATIVES = (
    ListLikelihood(),
    ListLikelihood(k=2),
    SquaredError(),
    SquaredError("all", 1.3),
    LambdaRank("ndcg"),
    LambdaRank("ndcg", k=2, gain="linear"),
    LambdaRank("dcg", k=3, normalize=False),
    LambdaRank("err", most=4.0),
)
OBJECTIVES = (
    *WITH_SECOND_DERIVATIVES,
    SoftRank(),
    SoftRank("ndcg", k=2, gain="linear", spread=0.5),
    SoftRank("dcg", k=3),
)


def random_targets(seed=0):
    """Fractional labels with ties, weights, and a list of one document."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 4, 12) + rng.choice([0.0, 0.5], 12)
    return Targets(START, label, rng.uniform(0.5, 2.0, 12))


def random_scores(seed=1, tied=True):
    rng = np.random.default_rng(seed)
    scores, reference = rng.normal(size=12), rng.normal(size=12)
    if tied:
        reference[[2, 3]] = reference[0]
    return scores, reference


STEP = 1e-5


def at_random(objective):
    """A plan, scores, reference scores, and a step in each score."""
    plan, (scores, reference) = objective.plan(random_targets()), random_scores()
    return plan, scores, reference, STEP * np.eye(len(scores))


@pytest.mark.parametrize("objective", WITH_SECOND_DERIVATIVES, ids=str)
def test_curvature_is_that_of_the_gradient(objective):
    plan, scores, reference, steps = at_random(objective)

    def gradient(x):
        return objective.derivatives(x, plan, reference).gradient

    matrix = -np.array([gradient(scores + step) - gradient(scores - step) for step in steps]) / (2 * STEP)
    found = objective.derivatives(scores, plan, reference).curvature
    np.testing.assert_allclose(found, np.diag(matrix), atol=1e-8)
    product = objective.curvature_times(scores, plan, reference, np.eye(len(scores)))
    np.testing.assert_allclose(product, matrix, atol=1e-8)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
class TestDerivatives:
    def test_gradient_is_that_of_the_value(self, objective):
        plan, scores, reference, steps = at_random(objective)

        def value(x):
            return objective.derivatives(x, plan, reference).value.sum()

        slopes = [(value(scores + step) - value(scores - step)) / (2 * STEP) for step in steps]
        found = objective.derivatives(scores, plan, reference).gradient
        np.testing.assert_allclose(found, slopes, atol=1e-8)

    def test_rows_may_stand_in_any_order(self, objective):
        tied = (
            getattr(objective, "measure", "") != "err"
        )  # its documents with equal scores stand in the order of rows
        targets, (scores, reference) = random_targets(), random_scores(tied=tied)
        shuffled = np.concatenate([4 - np.arange(5), [5], 6 + np.array([3, 1, 5, 0, 2, 4])])
        again = Targets(START, targets.label[shuffled], targets.weight[shuffled])
        one = objective.derivatives(scores, objective.plan(targets), reference)
        two = objective.derivatives(scores[shuffled], objective.plan(again), reference[shuffled])
        np.testing.assert_allclose(two.value, one.value, rtol=1e-12)
        np.testing.assert_allclose(two.gradient, one.gradient[shuffled], atol=1e-12)

    def test_twice_the_weight_is_twice_the_list(self, objective):
        targets, (scores, reference) = random_targets(), random_scores()
        doubled = Targets(START, targets.label, 2 * targets.weight)
        one = objective.derivatives(scores, objective.plan(targets), reference)
        two = objective.derivatives(scores, objective.plan(doubled), reference)
        for part in ("value", "gradient", "curvature"):
            np.testing.assert_allclose(getattr(two, part), 2 * getattr(one, part), rtol=1e-12)

    def test_scores_that_lie_far_apart_give_finite_numbers(self, objective):
        plan = objective.plan(random_targets())
        scores = np.linspace(-1e5, 1e5, 12)
        found = objective.derivatives(scores, plan, scores)
        assert all(np.isfinite(getattr(found, part)).all() for part in ("value", "gradient", "curvature"))
        assert (found.curvature >= 0).all()


class TestListLikelihood:
    def test_scores_that_lie_far_apart(self):
        """ln e^-300 / (e^-300 + e^-301) and so on, which no number e^-300 could give."""
        scores, label = np.array([0.0, -300.0, -301.0, -900.0]), np.array([3.0, 1.0, 2.0, 0.0])
        objective = ListLikelihood()
        plan = objective.plan(Targets(np.array([0, 4]), label, np.ones(4)))
        found = objective.derivatives(scores, plan, scores)
        assert found.value[0] == pytest.approx(-np.log1p(np.e), rel=1e-12)
        share = 1 / (1 + np.exp(-1.0))  # that the second comes before the third
        np.testing.assert_allclose(found.gradient, [0, -share, share, 0], atol=1e-12)
        np.testing.assert_allclose(found.curvature, [0, share * (1 - share), share * (1 - share), 0], atol=1e-12)

    @pytest.mark.parametrize("k", [None, 1, 2, 3])
    def test_probabilities_of_all_orders_sum_to_one(self, k):
        scores, total = np.array([0.3, -1.2, 0.8, 0.1]), 0.0
        for order in permutations(range(4), k or 4):
            label = np.zeros(4)
            label[list(order)] = np.arange(len(order), 0, -1)
            plan = ListLikelihood(k).plan(Targets(np.array([0, 4]), label, np.ones(4)))
            total += np.exp(ListLikelihood(k).derivatives(scores, plan, scores).value[0])
        assert total == pytest.approx(1.0, abs=1e-12)

    def test_equal_labels_are_compared_with_all_that_remain(self):
        label, scores = np.array([1.0, 2.0, 1.0, 0.0, 0.0]), np.array([0.5, -0.3, 1.1, 0.2, -0.9])
        rate = np.exp(scores)
        direct = np.log(rate[1] / rate.sum())
        direct += sum(np.log(rate[i] / rate[[0, 2, 3, 4]].sum()) for i in (0, 2))
        objective = ListLikelihood()
        plan = objective.plan(Targets(np.array([0, 5]), label, np.ones(5)))
        assert objective.derivatives(scores, plan, scores).value[0] == pytest.approx(direct, rel=1e-12)

    def test_the_denominator_of_a_top_k_list_has_all_that_remain(self):
        label, scores = np.array([3.0, 2.0, 1.0, 0.0]), np.array([0.5, -0.3, 1.1, 0.2])
        rate = np.exp(scores)
        direct = np.log(rate[0] / rate.sum()) + np.log(rate[1] / rate[1:].sum())
        objective = ListLikelihood(k=2)
        plan = objective.plan(Targets(np.array([0, 4]), label, np.ones(4)))
        assert objective.derivatives(scores, plan, scores).value[0] == pytest.approx(direct, rel=1e-12)

    def test_equal_labels_say_nothing(self):
        objective = ListLikelihood()
        plan = objective.plan(Targets(np.array([0, 3]), np.ones(3), np.ones(3)))
        found = objective.derivatives(np.array([0.1, 0.7, -2.0]), plan, np.zeros(3))
        assert not found.gradient.any()
        assert not found.value.any()


def exchanged_change(measure, places, label, one, other, k):
    """The change of the measure if two documents exchange their places."""
    swapped = places.copy()
    swapped[[one, other]] = places[[other, one]]
    functions = {
        "dcg": lambda at: dcg(-at, label, cut=k),
        "ndcg": lambda at: ndcg(-at, label, cut=k),
        "err": lambda at: err(-at, label, cut=k, most=4.0),
    }
    return abs(functions[measure](places.astype(float)) - functions[measure](swapped.astype(float)))


class TestLambdaRank:
    @pytest.mark.parametrize("measure", ["ndcg", "dcg", "err"])
    @pytest.mark.parametrize("k", [None, 3])
    def test_weights_of_pairs_are_mean_changes_over_all_orders_of_equal_scores(self, measure, k):
        label = np.array([2.0, 0.0, 3.5, 0.0, 1.0, 2.0])
        reference = np.array([0.1, 0.4, 0.4, -1.0, 0.4, 2.0])
        if measure == "err":  # its documents with equal scores stand in the order of the rows
            reference = np.array([0.1, 0.4, 0.3, -1.0, 0.2, 2.0])
        objective = LambdaRank(measure, k=k, normalize=False, most=4.0)
        plan = objective.plan(Targets(np.array([0, 6]), label, np.ones(6)))
        orders = [
            order
            for order in permutations(range(6))
            if all(reference[a] >= reference[b] for a, b in pairwise(order))
        ]
        found, at = {}, reference[plan.order]
        for own, _, weight in lambda_rank._PairWeights(objective, plan, at, at).by_block():
            rows = zip(plan.order[own.one].tolist(), plan.order[own.other].tolist(), strict=True)
            found |= dict(zip(rows, weight, strict=True))
        pairs = {(i, j) for i, j in permutations(range(6), 2) if label[i] > label[j]}
        assert set(found) == pairs
        for i, j in pairs:
            changes = [exchanged_change(measure, np.argsort(order), label, i, j, k) for order in orders]
            assert found[i, j] == pytest.approx(np.mean(changes), abs=1e-12)

    def test_value_is_the_sum_over_pairs(self):
        targets, (scores, reference) = random_targets(), random_scores()
        objective = LambdaRank("dcg", normalize=False)
        found = objective.derivatives(scores, objective.plan(targets), reference).value.sum()
        total = 0.0
        for low, high in pairwise(START):
            for i, j in combinations(range(low, high), 2):
                a, b = (i, j) if targets.label[i] > targets.label[j] else (j, i)
                if targets.label[a] == targets.label[b]:
                    continue
                own = slice(low, high)
                orders = [
                    order
                    for order in permutations(range(high - low))
                    if all(reference[own][p] >= reference[own][q] for p, q in pairwise(order))
                ]
                changes = [
                    exchanged_change("dcg", np.argsort(order), targets.label[own], a - low, b - low, None)
                    for order in orders
                ]
                weight = np.sqrt(targets.weight[a] * targets.weight[b]) * np.mean(changes)
                total -= weight * np.log1p(np.exp(scores[b] - scores[a]))
        assert found == pytest.approx(total, rel=1e-12)

    def test_pairs_that_are_not_kept_give_the_same(self, monkeypatch):
        targets, (scores, reference) = random_targets(), random_scores()
        objective = LambdaRank()
        one = objective.derivatives(scores, objective.plan(targets), reference)
        monkeypatch.setattr(lambda_rank, "PAIRS", 4)
        plan = objective.plan(targets)
        assert plan.kept is None
        two = objective.derivatives(scores, plan, reference)
        np.testing.assert_allclose(two.gradient, one.gradient, atol=1e-14)


def test_regression_does_not_see_the_mean_of_a_query():
    targets, (scores, _) = random_targets(), random_scores()
    raised = Targets(START, targets.label + np.repeat([5.0, -2.0, 1.0], np.diff(START)), targets.weight)
    one, two = (SquaredError().derivatives(scores, SquaredError().plan(own), scores) for own in (targets, raised))
    np.testing.assert_allclose(one.gradient, two.gradient, atol=1e-12)
