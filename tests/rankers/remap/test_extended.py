"""Trees of an ensemble as features of their own."""

import numpy as np
import pytest

from crowdrank.engine import LocalEngine
from crowdrank.prepared.documents import Documents
from crowdrank.rankers.objectives import SquaredError
from crowdrank.rankers.onnx import to_onnx
from crowdrank.rankers.preparation import Preparation
from crowdrank.rankers.scorers.extended import ExtendedFunction, TreeFeatures
from crowdrank.rankers.scorers.trees import Trees
from crowdrank.rankers.tasks import open_task

pytestmark = pytest.mark.lightgbm


@pytest.fixture(scope="module")
def grown():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 4)).astype(np.float32)
    label = np.sin(2 * values[:, 0]) + values[:, 1] * values[:, 2] + 0.1 * rng.normal(size=400)
    documents = Documents(values, np.arange(0, 401, 10), label, np.ones(400), np.arange(400))
    trees = Trees(rounds=30, min_rows=5).improve(
        open_task(LocalEngine(1), documents, SquaredError("query"), seed=0)
    )
    return values, label, trees.function


def test_the_trees_add_up_to_the_ensemble(grown):
    values, _, trees = grown
    features = TreeFeatures(trees, np.full(30, 2.0))
    np.testing.assert_allclose(2 * features.values(values).sum(axis=1), trees.scores(values), atol=1e-12)
    assert features.extend(values).shape == (400, 34)
    assert features.values(values[:0]).shape == (0, 30)


def test_proposition_1(grown):
    """The error of the extended linear ranker is no larger than that of the trees or of the linear ranker."""
    values, label, trees = grown
    weight = np.random.default_rng(1).random(400)
    extended = TreeFeatures(trees, np.ones(30)).extend(values).astype(float)

    def error(scores):
        return weight @ (scores - label) ** 2

    def least(design):
        root = np.sqrt(weight)[:, None]
        return error(design @ np.linalg.lstsq(root * design, np.sqrt(weight) * label, rcond=None)[0])

    assert least(extended) <= min(error(trees.scores(values)), least(values.astype(float))) + 1e-6
    assert least(extended) < least(values.astype(float)) / 2


def test_saved_and_restored(grown):
    values, _, trees = grown
    function = ExtendedFunction(
        TreeFeatures(trees, np.linspace(1, 2, 30)), np.random.default_rng(2).normal(size=34)
    )
    again = ExtendedFunction.from_bytes(function.to_bytes(), 4)
    np.testing.assert_array_equal(again.scores(values), function.scores(values))
    wanted = values.astype(float) @ function.weights[:4] + function.features.values(values) @ function.weights[4:]
    np.testing.assert_allclose(function.scores(values), wanted, atol=1e-12)
    np.testing.assert_array_equal(again.importance(), function.importance())
    assert function.importance().sum() == pytest.approx(np.abs(function.weights).sum())
    assert (np.diff(function.importance()[[0, 3]]) < 0).all(), "the last feature has no effect"
    with pytest.raises(ValueError, match="trees of 4 features"):
        ExtendedFunction.from_bytes(function.to_bytes(), 5)
    short = ExtendedFunction(function.features, function.weights[:-1])
    with pytest.raises(ValueError, match="weights"):
        ExtendedFunction.from_bytes(short.to_bytes(), 4)


def test_exported_to_onnx(grown):
    onnxruntime = pytest.importorskip("onnxruntime")
    values, _, trees = grown
    weights = np.random.default_rng(4).normal(size=4 + 20)
    function = ExtendedFunction(TreeFeatures(trees, np.linspace(1, 2, 20)), weights)
    content = to_onnx(function, Preparation(("a", "b", "c", "d")), ("a", "b", "c", "d"))
    session = onnxruntime.InferenceSession(content)
    (found,) = session.run(None, {"features": values})
    np.testing.assert_allclose(found, function.scores(values), rtol=1e-5, atol=1e-5)
