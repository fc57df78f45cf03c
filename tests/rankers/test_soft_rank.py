"""SoftRank against the enumeration of all contests, and against the measures that it is a soft form of."""

from __future__ import annotations

from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from crowdrank.errors import UsageError
from crowdrank.measures import dcg, ndcg
from crowdrank.rankers.objectives import SoftRank, Targets, soft_rank

STANDARD = NormalDist()


def one_list(label, weight=None):
    label = np.asarray(label, float)
    return Targets(np.array([0, len(label)]), label, np.ones(len(label)) if weight is None else np.asarray(weight))


def enumerated_discount(scores, i, spread, k):
    """E d(rank of i) over all outcomes of its contests."""
    others = [j for j in range(len(scores)) if j != i]
    lost = [STANDARD.cdf((scores[j] - scores[i]) / (np.sqrt(2) * spread)) for j in others]
    total = 0.0
    for outcome in product((0, 1), repeat=len(others)):
        rank = sum(outcome)
        chance = np.prod([p if gone else 1 - p for p, gone in zip(lost, outcome, strict=True)])
        total += chance / np.log2(rank + 2) * (k is None or rank < k)
    return total


def derivatives(objective, targets, scores):
    return objective.derivatives(scores, objective.plan(targets), scores)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_value_is_the_mean_over_all_outcomes(n, k, spread):
    rng = np.random.default_rng(n)
    label, scores, weight = rng.integers(0, 4, n).astype(float), rng.normal(size=n), rng.uniform(0.5, 2, n)
    scores[-2:] = scores[-1]
    direct = sum(weight[i] * (2 ** label[i] - 1) * enumerated_discount(scores, i, spread, k) for i in range(n))
    targets = one_list(label, weight)
    assert derivatives(SoftRank("dcg", k, spread=spread), targets, scores).value[0] == pytest.approx(
        direct, rel=1e-13, abs=1e-15
    )
    best = dcg(label, label, cut=k) or 1.0
    assert derivatives(SoftRank("ndcg", k, spread=spread), targets, scores).value[0] == pytest.approx(
        direct / best, rel=1e-13, abs=1e-15
    )


@pytest.mark.parametrize("k", [None, 5])
def test_gradient_of_a_long_list_with_ties(k):
    rng = np.random.default_rng(0)
    targets, scores = one_list(rng.integers(0, 3, 40)), rng.normal(size=40)
    scores[10:20] = scores[0]
    objective, step = SoftRank(k=k, spread=0.7), 1e-5
    plan = objective.plan(targets)
    found = objective.derivatives(scores, plan, scores).gradient
    for i in range(0, 40, 3):
        ends = (scores + sign * step * (np.arange(40) == i) for sign in (1, -1))
        up, down = (objective.derivatives(own, plan, own).value[0] for own in ends)
        assert found[i] == pytest.approx((up - down) / (2 * step), abs=1e-9)


@pytest.mark.parametrize(("measure", "function"), [("dcg", dcg), ("ndcg", ndcg)])
@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("gain", ["exp", "linear"])
def test_without_noise_it_is_the_measure(measure, function, k, gain):
    rng = np.random.default_rng(3)
    label, scores = rng.integers(0, 5, 30) / 2, rng.permutation(30).astype(float)
    found = derivatives(SoftRank(measure, k, gain, spread=1e-3), one_list(label), scores)
    assert found.value[0] == pytest.approx(function(scores, label, cut=k, gain=gain), rel=1e-12)
    assert not found.gradient.any()


def test_a_list_does_not_depend_on_others_nor_on_what_is_added_to_its_scores(monkeypatch):
    """Lists of several lengths, one of one document and an empty one, all together and each on its own."""
    monkeypatch.setattr(soft_rank, "CHUNK", 40)  # one or two lists at a time
    rng = np.random.default_rng(5)
    start = np.array([0, 4, 4, 9, 10, 14, 18])
    label, scores, weight = rng.integers(0, 3, 18) * 1.0, rng.normal(size=18), rng.uniform(0.5, 2, 18)
    label[[0, 5, 9, 10, 14]] = 2.0  # the gains of all lists are relative to the same label
    together = derivatives(SoftRank(), Targets(start, label, weight), scores)
    for number in (0, 2, 3, 4, 5):
        own = slice(start[number], start[number + 1])
        alone = derivatives(SoftRank(), one_list(label[own], weight[own]), scores[own] + 3.0)
        assert alone.value[0] == pytest.approx(together.value[number], rel=1e-12)
        np.testing.assert_allclose(alone.gradient, together.gradient[own], atol=1e-13)
        np.testing.assert_allclose(alone.curvature, together.curvature[own], atol=1e-13)
        assert alone.gradient.sum() == pytest.approx(0.0, abs=1e-13)
    assert together.value[1] == 0.0


def test_a_document_with_the_weight_0_is_not_in_its_list():
    label, scores = np.array([2.0, 0.0, 1.0, 1.0]), np.array([0.1, 0.9, -0.4, 0.3])
    found = derivatives(SoftRank(), one_list(label, [1.0, 1.0, 0.0, 1.0]), scores)
    kept = [0, 1, 3]
    without = derivatives(SoftRank(), one_list(label[kept]), scores[kept])
    assert found.value[0] == pytest.approx(without.value[0], rel=1e-14)
    np.testing.assert_allclose(found.gradient[kept], without.gradient, atol=1e-15)
    assert found.gradient[2] == found.curvature[2] == 0


def test_curvature_is_a_positive_semidefinite_matrix_that_leads_upward():
    rng = np.random.default_rng(7)
    targets, scores = one_list(rng.integers(0, 4, 15)), rng.normal(size=15)
    objective = SoftRank()
    plan = objective.plan(targets)
    found = objective.derivatives(scores, plan, scores)
    matrix = objective.curvature_times(scores, plan, scores, np.eye(15))
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-15)
    np.testing.assert_allclose(np.diag(matrix), found.curvature, rtol=1e-13)
    np.testing.assert_allclose(matrix.sum(axis=1), 0.0, atol=1e-14)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-14
    value = found.value[0]
    for _ in range(30):
        scores = scores + np.linalg.lstsq(matrix, found.gradient, rcond=1e-8)[0]
        found = objective.derivatives(scores, plan, scores)
        matrix = objective.curvature_times(scores, plan, scores, np.eye(15))
        assert found.value[0] > value
        value = found.value[0]
    assert value > 0.99, "of a perfect nDCG of 1"


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (SoftRank("err"), "one of ndcg, dcg"),
        (SoftRank(spread=0.0), "above 0"),
        (SoftRank(gain="x"), "exponential or linear"),
    ],
)
def test_wrong_parameters(objective, message):
    with pytest.raises(UsageError, match=message):
        objective.plan(one_list([1.0, 0.0]))
