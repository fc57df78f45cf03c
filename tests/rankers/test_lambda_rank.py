"""LambdaRank with its normalization against its definition: exchanges by the measures, pairs by loops."""

import itertools

import numpy as np
import pytest

from crowdrank.measures.listwise import dcg, err, ndcg
from crowdrank.rankers.objectives import LambdaRank, Targets
from crowdrank.rankers.objectives import lambda_rank as module

START = np.array([0, 5, 6, 12])
MOST = 4.0
FORMS = [
    LambdaRank(),
    LambdaRank(normalize=False),
    LambdaRank(k=2, gain="linear"),
    LambdaRank("dcg", k=3, normalize=False),
    LambdaRank("err", most=MOST),
    LambdaRank("err", k=2, normalize=False, most=MOST),
]


def make_lists(seed=0):
    """Labels with fractions, and reference scores with ties."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 4, 12) + rng.choice([0, 0.5], 12)
    targets = Targets(START, label, rng.uniform(0.5, 2, 12))
    reference = rng.normal(size=12)
    reference[[2, 3]] = reference[0]
    reference[[8, 10]] = reference[6]
    return targets, rng.normal(size=12), reference


def measure_of(objective, order, label):
    scores = np.empty(len(order))
    scores[list(order)] = -np.arange(len(order))
    if objective.measure == "err":
        return err(scores, label, cut=objective.k, most=objective.most)
    function = ndcg if objective.measure == "ndcg" else dcg
    return function(scores, label, cut=objective.k, gain=objective.gain)


def exchange(objective, label, at, i, j):
    """The mean change over the orders of equal scores. For ERR equal scores stand by label, then in order."""
    orders = [one for one in itertools.permutations(range(len(at))) if all(np.diff(at[list(one)]) <= 0)]
    if objective.measure == "err":
        orders = [tuple(np.lexsort((np.arange(len(at)), -at)))]
    changes = []
    for order in orders:
        swapped = tuple({i: j, j: i}.get(item, item) for item in order)
        changes.append(abs(measure_of(objective, order, label) - measure_of(objective, swapped, label)))
    return np.mean(changes)


def value_by_loops(objective, scores, targets, reference):
    """L of each list, pair by pair."""
    found = []
    for low, high in itertools.pairwise(targets.start):
        label, weight = targets.label[low:high], targets.weight[low:high]
        x, at = scores[low:high], reference[low:high]
        terms, pull = [], 0.0
        for i, j in itertools.permutations(range(high - low), 2):
            if label[i] > label[j]:
                v = exchange(objective, label, at, i, j)
                if objective.normalize:
                    v /= 0.01 + abs(at[i] - at[j]) if np.ptp(at) > 0 else 1.0
                    pull += 2 * v / (1 + np.exp(at[i] - at[j]))
                terms.append(np.sqrt(weight[i] * weight[j]) * v * np.log1p(np.exp(x[j] - x[i])))
        found.append(-sum(terms) * (np.log2(1 + pull) / pull if pull else 1.0))
    return found


@pytest.mark.parametrize("held", [1 << 21, 3], ids=["kept", "few at a time"])
@pytest.mark.parametrize("objective", FORMS, ids=repr)
def test_it_is_its_definition(objective, held, monkeypatch):
    monkeypatch.setattr(module, "PAIRS", held)
    targets, scores, reference = make_lists()
    plan = objective.plan(targets)
    assert (plan.kept is None) == (held == 3)
    flat = np.where(np.arange(12) < 6, 0.3, reference)
    for at in (reference, scores, flat):
        found = objective.derivatives(scores, plan, at)
        np.testing.assert_allclose(found.value, value_by_loops(objective, scores, targets, at), rtol=1e-12)


def test_scores_far_apart_stay_finite():
    targets, scores, _ = make_lists()
    for objective in FORMS:
        found = objective.derivatives(scores * 1e6, objective.plan(targets), scores * 1e6)
        assert all(np.isfinite(part).all() for part in (found.value, found.gradient, found.curvature))


def test_lists_without_pairs():
    targets = Targets(np.array([0, 3, 4]), np.ones(4), np.ones(4))
    plan = LambdaRank().plan(targets)
    found = LambdaRank().derivatives(np.arange(4.0), plan, np.arange(4.0))
    for part in (found.value, found.gradient, found.curvature):
        assert not part.any()
