"""The ridge ranker of weighted samples against a direct solution by sample, and its derivatives by differences."""

import numpy as np
import pytest

from crowdrank.engine import LocalEngine, Stats
from crowdrank.rankers.objectives import LambdaRank, Targets
from crowdrank.rankers.remap.climb import Climb, TargetSide, factor
from crowdrank.rankers.remap.ridge import Adjoint, Point, RidgeSums, SampleShard


def sigma(x):
    return 1 / (1 + np.exp(-x))


class Case:
    """Three queries with 4, 1 and 5 documents; documents have 1 to 3 samples, and one has none."""

    def __init__(self, seed=0, shards=1):
        rng = np.random.default_rng(seed)
        self.start = np.array([0, 4, 5, 10])
        self.values = rng.normal(size=(10, 3)).astype(np.float32)
        self.document = np.repeat(np.arange(10), [1, 3, 2, 0, 2, 3, 1, 2, 3, 1])
        self.by_weight, self.by_value = rng.normal(size=(18, 4)), rng.normal(size=(18, 2))
        self.weight = rng.choice([1.0, 2.0, 0.5], 18)
        self.alpha, self.beta, self.mu = rng.normal(size=4), rng.normal(size=2), 0.7
        self.target = rng.normal(size=(6, 3))
        self.shards = [self.shard(0, 10)] if shards == 1 else [self.shard(0, 5), self.shard(5, 10)]

    def shard(self, low, high):
        inside = (self.document >= low) & (self.document < high)
        start = self.start[(self.start >= low) & (self.start <= high)] - low
        return SampleShard(
            self.values[low:high], start, self.document[inside] - low, self.weight[inside],
            self.by_weight[inside], self.by_value[inside],
        )  # fmt: skip

    def direct(self, alpha, beta):
        """b by the normal equations of all samples, with a column for each query's intercept."""
        x = self.values[self.document].astype(float)
        query = np.searchsorted(self.start, self.document, side="right") - 1
        design = np.hstack([x, np.eye(3)[query]])
        w, value = self.weight * sigma(self.by_weight @ alpha), sigma(self.by_value @ beta)
        penalty = np.diag([self.mu] * 3 + [0.0] * 3)
        return np.linalg.solve(design.T @ (w[:, None] * design) + penalty, design.T @ (w * value))[:3]


@pytest.mark.parametrize("shards", [1, 2])
def test_the_ranker_is_that_of_all_samples_with_intercepts(shards):
    case = Case(shards=shards)
    session = LocalEngine(1).open(case.shards)
    found = session.evaluate(RidgeSums().system, Point(case.alpha, case.beta))
    b = np.linalg.solve(found.gram + case.mu * np.eye(3), found.right)
    np.testing.assert_allclose(b, case.direct(case.alpha, case.beta), atol=1e-12)
    assert isinstance(found, Stats)


@pytest.mark.parametrize("seed", range(3))
def test_the_adjoint_gives_the_slopes_of_finite_differences(seed):
    """Of g s with g held; intercepts follow the weights."""
    case = Case(seed)
    rng = np.random.default_rng(seed + 10)
    g = rng.normal(size=6)
    session = LocalEngine(1).open(case.shards)
    found = session.evaluate(RidgeSums().system, Point(case.alpha, case.beta))
    z = found.gram + case.mu * np.eye(3)
    b, v = np.linalg.solve(z, found.right), np.linalg.solve(z, case.target.T @ g)
    slopes = session.evaluate(RidgeSums().slopes, Adjoint(case.alpha, case.beta, b, v))
    step = 1e-6
    for name, own in (("alpha", slopes.alpha), ("beta", slopes.beta)):
        for place in range(len(own)):
            ends = []
            for sign in (1, -1):
                at = {"alpha": case.alpha.copy(), "beta": case.beta.copy()}
                at[name][place] += sign * step
                ends.append(g @ case.target @ case.direct(at["alpha"], at["beta"]))
            np.testing.assert_allclose(own[place], (ends[0] - ends[1]) / (2 * step), atol=1e-7)


def test_weights_of_1_and_crowd_labels_are_the_ridge_on_the_average_label():
    """Documents count as often as they have labels (section 4.2). Weights of 1/2 act as twice the penalty."""
    case = Case()
    label = np.random.default_rng(1).integers(0, 2, 18).astype(float)
    shard = SampleShard(
        case.values, case.start, case.document, np.ones(18), np.full((18, 1), 40.0), 80.0 * label[:, None] - 40.0
    )
    session = LocalEngine(1).open([shard])
    sure = session.evaluate(RidgeSums().system, Point(np.ones(1), np.ones(1)))
    count = np.bincount(case.document, minlength=10)
    mean = np.bincount(case.document, label, 10) / np.maximum(count, 1)
    query = np.repeat(np.arange(3), np.diff(case.start))
    design = np.hstack([case.values.astype(float), np.eye(3)[query]])
    penalty = np.diag([case.mu] * 3 + [0.0] * 3)
    b = np.linalg.solve(design.T @ (count[:, None] * design) + penalty, design.T @ (count * mean))[:3]
    np.testing.assert_allclose(np.linalg.solve(sure.gram + case.mu * np.eye(3), sure.right), b, atol=1e-10)
    half = session.evaluate(RidgeSums().system, Point(np.zeros(1), np.ones(1)))
    np.testing.assert_allclose(np.linalg.solve(half.gram + 0.5 * case.mu * np.eye(3), half.right), b, atol=1e-10)


def climb(case, method, **given):
    grades = np.array([2.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    objective = LambdaRank("dcg", 3, "exp", normalize=False)
    side = TargetSide(case.target, objective, objective.plan(Targets(np.array([0, 3, 6]), grades, np.ones(6))), 2)
    session = LocalEngine(1).open(case.shards)
    return Climb(session, side, case.mu, lambda ranker: -float(ranker @ ranker), method=method, **given)


@pytest.mark.parametrize("method", ["rw", "rm", "rw+rm"])
def test_only_what_is_asked_for_is_learned(method):
    case = Case()
    own = climb(case, method, rounds=3, patience=9)
    count = iter(range(9))
    own.measure = lambda ranker: float(next(count))
    found = own.run(np.zeros(4), np.array([1.0, 0.0]))
    assert found.step == 3
    assert [step for step, _ in found.curve] == [0, 1, 2, 3]
    assert bool(found.alpha.any()) == ("rw" in method)
    assert bool((found.beta != [1.0, 0.0]).any()) == ("rm" in method)
    np.testing.assert_allclose(found.ranker, case.direct(found.alpha, found.beta), atol=1e-10)


def test_the_best_step_is_kept_and_patience_ends_the_climb():
    own = climb(Case(), "rw+rm", rounds=50, patience=4)
    values = iter([0.1, 0.3, 0.2, 0.2, 0.3, 0.1, 0.9])
    own.measure = lambda ranker: next(values)
    found = own.run(np.zeros(4), np.array([1.0, 0.0]))
    assert (found.step, found.value, len(found.curve)) == (1, 0.3, 6)


def test_dependent_features_without_a_penalty_are_an_error():
    with pytest.raises(Exception, match="depend on each other"):
        factor(np.ones((2, 2)), 0.0)
