"""Scorers with weights: gradients against finite differences, maxima, warm starts, saved parts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from crowdrank.engine import LocalEngine
from crowdrank.prepared.documents import Documents
from crowdrank.rankers.objectives import LambdaRank, ListLikelihood, SquaredError, Targets
from crowdrank.rankers.scorers.base import Task, Watch
from crowdrank.rankers.scorers.differentiable import FormulaSums, Weights
from crowdrank.rankers.scorers.linear import Linear, LinearFormula, LinearFunction
from crowdrank.rankers.scorers.net import Net, NetFormula, NetFunction

START = np.array([0, 6, 12, 20, 21])


def random_documents(seed=0, width=3):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(21, width)).astype(np.float32)
    label = rng.integers(0, 3, 21).astype(float)
    return Documents(values, START, label, rng.uniform(0.5, 2, 21), np.arange(21))


def task_on(documents, objective, **options):
    shards = documents.shards(lambda start, label, weight: objective.plan(Targets(start, label, weight)))
    session = LocalEngine(1).open(shards)
    return Task(
        session, objective, 21, documents.width, float(documents.weight.sum()), documents.values, **options
    )


FORMULAS = {"linear": (LinearFormula(), 3), "net": (NetFormula(3, (4, 2)), NetFormula(3, (4, 2)).size)}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize(
    "objective", [ListLikelihood(), SquaredError(), LambdaRank()], ids=lambda own: type(own).__name__
)
def test_gradient_by_weights_is_that_of_the_value(name, objective):
    formula, size = FORMULAS[name]
    task, sums = task_on(random_documents(), objective), FormulaSums(formula, objective)
    weights, reference = np.random.default_rng(3).normal(size=(2, size))

    def value(at):
        return task.session.evaluate(sums.gradient, Weights(at, reference)).value

    step = 1e-5 * np.eye(size)
    slopes = [(value(weights + one) - value(weights - one)) / 2e-5 for one in step]
    found = task.session.evaluate(sums.gradient, Weights(weights, reference)).gradient
    np.testing.assert_allclose(found, slopes, atol=1e-7)


@pytest.mark.parametrize(
    "objective", [ListLikelihood(k=3), SquaredError(), LambdaRank()], ids=lambda own: type(own).__name__
)
def test_linear_curvature_is_that_of_the_gradient(objective):
    task, sums = task_on(random_documents(), objective), FormulaSums(LinearFormula(), objective)
    weights, reference = np.random.default_rng(3).normal(size=(2, 3))

    def gradient(at):
        return task.session.evaluate(sums.gradient, Weights(at, reference)).gradient

    matrix = -np.array([gradient(weights + one) - gradient(weights - one) for one in 1e-5 * np.eye(3)]) / 2e-5
    found = task.session.evaluate(sums.curvature, Weights(weights, reference))
    np.testing.assert_allclose(found.curvature, matrix, atol=1e-7)


def test_linear_regression_is_the_ridge():
    documents = random_documents()
    found = Linear(penalty=2.0).improve(task_on(documents, SquaredError("all", 0.0)))
    x, w = documents.values.astype(float), documents.weight
    ridge = np.linalg.solve(x.T @ (w[:, None] * x) + 2.0 * np.eye(3), x.T @ (w * documents.label))
    np.testing.assert_allclose(found.function.weights, ridge, atol=1e-10)
    assert found.converged


def test_linear_listmle_is_at_the_maximum():
    documents, objective = random_documents(), ListLikelihood()
    task = task_on(documents, objective)
    found = Linear(penalty=1.0).improve(task)
    sums, weights = FormulaSums(LinearFormula(), objective), found.function.weights
    slope = task.session.evaluate(sums.gradient, Weights(weights, weights)).gradient - weights
    assert np.abs(slope).max() < 1e-9


def test_wide_features_are_climbed_without_a_matrix(monkeypatch):
    from crowdrank.rankers.scorers import linear

    narrow = Linear(penalty=1.0).improve(task_on(random_documents(), ListLikelihood()))
    monkeypatch.setattr(linear, "NARROW", 2)
    wide = Linear(penalty=1.0).improve(task_on(random_documents(), ListLikelihood()))
    np.testing.assert_allclose(wide.function.weights, narrow.function.weights, atol=1e-5)


def test_sparse_values_give_the_same_weights():
    documents = random_documents()
    values = documents.values.copy()
    values[np.abs(values) < 0.7] = 0.0
    dense = Documents(values, START, documents.label, documents.weight, documents.rows)
    sparse = Documents(csr_array(values), START, documents.label, documents.weight, documents.rows)
    one, two = (Linear().improve(task_on(own, ListLikelihood())) for own in (dense, sparse))
    np.testing.assert_allclose(two.function.weights, one.function.weights, atol=1e-10)


@pytest.mark.parametrize(
    "scorer", [Linear(), Net(hidden=(4, 2), penalty=1.0, limit=2000)], ids=lambda own: own.name
)
def test_a_warm_start_has_nothing_left_to_do(scorer):
    task = task_on(random_documents(), ListLikelihood())
    first = scorer.improve(task)
    again = scorer.improve(task, start=first.function)
    assert again.value >= first.value - 1e-9
    assert again.iterations < first.iterations


@pytest.mark.parametrize("scorer", [Linear(limit=3), Net(hidden=(4, 2), limit=3)], ids=lambda own: own.name)
def test_every_step_reports_and_rises(scorer):
    values = []
    documents = random_documents()
    task = task_on(documents, ListLikelihood(), progress=lambda step, value, slope: values.append(value))
    scorer.improve(task)
    assert values == sorted(values)
    assert len(values) >= 3


def test_the_net_keeps_its_best_weights_on_validation_queries():
    task = task_on(random_documents(), ListLikelihood())
    measured = []
    watched = random_documents(seed=5).values

    def measure(scores):
        """Best after the third look."""
        measured.append(scores)
        return -abs(len(measured) - 3.0)

    reports = []
    watch = Watch(watched, measure, lambda step, value: reports.append((step, value)), patience=4)
    found = Net(hidden=(4, 2)).improve(task, watch=watch)
    assert [step for step, _ in reports] == [1, 2, 3, 4, 5, 6, 7]
    np.testing.assert_allclose(found.function.scores(watched), measured[2], atol=1e-12)


def test_a_net_depends_on_its_seed_alone():
    documents = random_documents()
    tasks = [task_on(documents, ListLikelihood(), seed=seed) for seed in (1, 1, 2)]
    one, same, other = (Net(hidden=(4, 2), limit=5).improve(task).function.weights for task in tasks)
    assert (one == same).all()
    assert not np.allclose(one, other)


def test_importance_of_a_net_is_its_mean_slope():
    documents = random_documents()
    found = Net(hidden=(4, 2), limit=10).improve(task_on(documents, ListLikelihood())).function
    values, step = documents.values.astype(np.float64), 1e-4
    slopes = []
    for column in range(3):
        moved = np.zeros(3)
        moved[column] = step
        slopes.append(
            (
                found.formula.scores(values + moved, found.weights)
                - found.formula.scores(values - moved, found.weights)
            )
            / (2 * step)
        )
    np.testing.assert_allclose(found.importance(), np.sqrt(np.mean(np.square(slopes), axis=1)), rtol=1e-5)


@pytest.mark.parametrize("kind", [LinearFunction, NetFunction])
def test_a_part_gives_back_the_function_to_the_bit(kind):
    documents = random_documents()
    scorer = Linear() if kind is LinearFunction else Net(hidden=(4, 2), limit=5)
    function = scorer.improve(task_on(documents, ListLikelihood())).function
    again = kind.from_bytes(function.to_bytes(), 3)
    assert (again.scores(documents.values) == function.scores(documents.values)).all()
    with pytest.raises(ValueError, match="for 4 features"):
        kind.from_bytes(function.to_bytes(), 4)


@pytest.mark.parametrize("scorer", [Linear(), Net(hidden=(4, 2), limit=5)], ids=lambda own: own.name)
def test_the_score_of_a_document_does_not_depend_on_the_others(scorer):
    documents = random_documents()
    function = scorer.improve(task_on(documents, ListLikelihood())).function
    whole = function.scores(documents.values)
    alone = np.concatenate([function.scores(documents.values[row : row + 1]) for row in range(21)])
    assert (whole == alone).all()
