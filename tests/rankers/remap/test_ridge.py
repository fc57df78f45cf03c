"""The ridge ranker of weighted samples against a direct solution by sample, and its derivatives by differences."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from crowdrank.engine import LocalEngine, Stats
from crowdrank.rankers.objectives import LambdaRank, SoftRank, Targets
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
        self.label = rng.integers(0, 2, 18)
        self.shards = [self.shard(0, 10)] if shards == 1 else [self.shard(0, 5), self.shard(5, 10)]

    def shard(self, low, high):
        inside = (self.document >= low) & (self.document < high)
        start = self.start[(self.start >= low) & (self.start <= high)] - low
        return SampleShard(
            self.values[low:high], start, self.document[inside] - low, self.weight[inside],
            self.by_weight[inside], self.by_value[inside], self.label[inside], 2,
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
    sure_values = np.where(label > 0, np.inf, -np.inf)[:, None]
    rest = sure_values, case.label, 2
    shard = SampleShard(case.values, case.start, case.document, np.ones(18), np.full((18, 1), np.inf), *rest)
    session = LocalEngine(1).open([shard])
    sure = session.evaluate(RidgeSums().system, Point(np.ones(1), np.ones(1)))
    count = np.bincount(case.document, minlength=10)
    mean = np.bincount(case.document, label, 10) / np.maximum(count, 1)
    query = np.repeat(np.arange(3), np.diff(case.start))
    design = np.hstack([case.values.astype(float), np.eye(3)[query]])
    penalty = np.diag([case.mu] * 3 + [0.0] * 3)
    b = np.linalg.solve(design.T @ (count[:, None] * design) + penalty, design.T @ (count * mean))[:3]
    np.testing.assert_allclose(np.linalg.solve(sure.gram + case.mu * np.eye(3), sure.right), b, atol=1e-10)
    shard = SampleShard(case.values, case.start, case.document, np.ones(18), np.zeros((18, 1)), *rest)
    half = LocalEngine(1).open([shard]).evaluate(RidgeSums().system, Point(np.zeros(1), np.ones(1)))
    np.testing.assert_allclose(np.linalg.solve(half.gram + 0.5 * case.mu * np.eye(3), half.right), b, atol=1e-10)


def climb(case, method, **given):
    grades = np.array([2.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    objective = LambdaRank("dcg", 3, "exp", normalize=False)
    start = np.array([0, 3, 6])
    side = TargetSide(case.target, objective, objective.plan(Targets(start, grades, np.ones(6))), start)
    session = LocalEngine(1).open(case.shards)
    return Climb(session, side, case.mu, lambda ranker: np.zeros(1), method=method, guard=0.0, **given)


@pytest.mark.parametrize("method", ["rw", "rm", "rw+rm"])
def test_only_what_is_asked_for_is_learned(method):
    case = Case()
    own = climb(case, method, rounds=3, patience=9)
    count = iter(range(9))
    own.measure = lambda ranker: np.array([float(next(count))])
    found = own.run(np.zeros(4), np.array([1.0, 0.0]))
    assert found.step == 3
    assert [step for step, _ in found.curve] == [0, 1, 2, 3]
    alpha, beta = found.at(3)
    assert bool(alpha.any()) == ("rw" in method)
    assert bool((beta != [1.0, 0.0]).any()) == ("rm" in method)
    np.testing.assert_allclose(own.solve(alpha, beta), case.direct(alpha, beta), atol=1e-10)


def test_the_best_step_is_kept_and_patience_ends_the_climb():
    own = climb(Case(), "rw+rm", rounds=50, patience=4)
    values = iter([0.1, 0.3, 0.2, 0.2, 0.3, 0.1, 0.9])
    own.measure = lambda ranker: np.array([next(values), np.nan])
    found = own.run(np.zeros(4), np.array([1.0, 0.0]))
    assert (found.step, found.value, len(found.curve)) == (1, 0.3, 6)


def test_dependent_features_without_a_penalty_are_an_error():
    with pytest.raises(Exception, match="depend on each other"):
        factor(np.ones((2, 2)), 0.0)


@pytest.mark.parametrize("measure", ["dcg", "ndcg"])
def test_slopes_of_the_target_are_those_of_the_measure_at_scaled_scores(measure):
    """SoftRank's value has slopes of its own; the scale of the scores and the mean of a query change nothing."""
    rng = np.random.default_rng(3)
    start, scores, grades = np.array([0, 4, 6]), rng.normal(size=6), np.array([2.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    objective = SoftRank(measure, 3, "exp")
    plan = objective.plan(Targets(start, grades, np.ones(6)))
    side = TargetSide(np.zeros((6, 1)), objective, plan, start)

    def value(own):
        away = own - np.repeat([own[:4].mean(), own[4:].mean()], [4, 2])
        seen = side.sharpness * away / np.sqrt((away**2).mean())
        return objective.derivatives(seen, plan, seen).value.mean()

    slopes = side.slopes(scores)
    for place in range(6):
        step = 1e-6 * (np.arange(6) == place)
        assert slopes[place] == pytest.approx((value(scores + step) - value(scores - step)) / 2e-6, abs=1e-7)
    assert slopes @ scores == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(side.slopes(5 * scores + 2), slopes / 5, atol=1e-12)
    assert np.isfinite(side.slopes(np.zeros(6))).all()


def test_chance_is_that_of_all_deals_of_the_label_features():
    """The mean and the variance of a slope over all orders of the label features within each label."""
    case = Case()
    kept = np.flatnonzero(case.label == 0)[:4].tolist() + np.flatnonzero(case.label == 1)[:3].tolist()
    features, label, weight = case.by_weight[kept][:, :2], case.label[kept], np.ones(7)
    pull = np.random.default_rng(5).normal(size=7)
    found = [
        pull @ features[[*first, *second]]
        for first in permutations(range(4))
        for second in permutations(range(4, 7))
    ]
    shard = SampleShard(np.zeros((7, 1)), np.array([0, 7]), np.arange(7), weight, features, features, label, 2)
    spread = RidgeSums().spread_of_weights(shard, None)
    sums = np.array([np.bincount(label, pull), np.bincount(label, pull**2)])
    mean, sd = np.mean(found, axis=0), np.std(found, axis=0)
    np.testing.assert_allclose(spread.shrink(mean, sums, 3.0), mean, atol=1e-12)
    np.testing.assert_allclose(spread.shrink(mean + 2.9 * sd, sums, 3.0), mean, atol=1e-12)
    np.testing.assert_allclose(spread.shrink(mean - 6 * sd, sums, 3.0), mean - 6 * sd * (1 - 9 / 36), atol=1e-10)
    heavy = replace(shard, weight=np.array([0.5, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0]))
    pulls = heavy.weight * pull
    found = [
        pulls @ features[[*first, *second]]
        for first in permutations(range(4))
        for second in permutations(range(4, 7))
    ]
    sums = np.array([np.bincount(label, pulls), np.bincount(label, pulls**2)])
    mean, sd = np.mean(found, axis=0), np.std(found, axis=0)
    spread = RidgeSums().spread_of_weights(heavy, None)
    np.testing.assert_allclose(spread.shrink(mean + 2.9 * sd, sums, 3.0), mean, atol=1e-12)
    np.testing.assert_allclose(spread.shrink(mean + 6 * sd, sums, 3.0), mean + 6 * sd * 0.75, atol=1e-10)
    slope = np.array([5.0, -4.0])
    np.testing.assert_allclose(spread.shrink(slope, sums, 0.0), slope)
