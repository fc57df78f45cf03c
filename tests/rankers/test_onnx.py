"""Exported graphs score as crowdrank does, run by ONNX Runtime."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from conftest import ROOT
from crowdrank.engine import LocalEngine
from crowdrank.errors import UsageError
from crowdrank.prepared.documents import Documents, list_starts
from crowdrank.rankers.objectives import ListLikelihood, Targets
from crowdrank.rankers.onnx import single_threshold, to_onnx
from crowdrank.rankers.preparation import learn_preparation
from crowdrank.rankers.scorers.base import Task
from crowdrank.rankers.scorers.linear import LinearFunction
from crowdrank.rankers.scorers.net import NetFormula, NetFunction
from crowdrank.rankers.scorers.trees import Trees, TreesFunction

pytestmark = pytest.mark.lightgbm
pytest.importorskip("onnx", reason="onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

FORMS = [(way, fill) for way in ("query", "all", "scale", None) for fill in (None, "mean", -1.5)]


def learn(features, **settings):
    return learn_preparation(features, np.ones(features.rows), **settings)


def make_features(missing, seed=0, lists=60):
    """Lists of 1 to 20 documents; features of different sizes, a constant one, and one that is often 0."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(lists), rng.integers(1, 21, lists))
    rows = len(query)
    values = rng.normal(size=(rows, 6)) * [1, 100, 1e-3, 1, 1, 1] + [0, 50, 0, 0.1, 0, 0]
    values[:, 3] = 0.1
    values[:, 4] = np.where(rng.random(rows) < 0.6, 0, np.round(values[:, 4], 1))
    values[query % 5 == 0, 5] = 1 / 3  # constant within some queries
    label = np.clip(np.round(values[:, 0] + values[:, 4] - values[:, 1] / 100), 0, 3)
    values[rng.random(values.shape) < missing] = np.nan
    frame = {"query": query.astype(str), "item": np.arange(rows).astype(str), "label": label}
    columns = {f"f{place}": values[:, place].astype(np.float32) for place in range(6)}
    return cr.read_features(pl.DataFrame({**frame, **columns}))


def train_trees(values, start, label, **parameters):
    objective = ListLikelihood()
    documents = Documents(values, start, label, np.ones(len(label)), np.arange(len(label)))
    session = LocalEngine(1).open(documents.shards(lambda *own: objective.plan(Targets(*own))))
    task = Task(session, objective, *values.shape, float(len(label)), values)
    given = {"rounds": 50, "min_rows": 3, "learning_rate": 0.1, **parameters}
    return Trees(**given).improve(task).function


def run_graph(content, values, start):
    """The scores, with one call for each query."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    parts = [session.run(["scores"], {"features": values[a:b]})[0] for a, b in itertools.pairwise(start)]
    assert all(part.dtype == np.float32 and part.ndim == 1 for part in parts)
    return np.concatenate(parts), session


def check_same(function, preparation, values, start, bound=1e-5):
    ours = function.scores(preparation.apply(values, start))
    found, session = run_graph(to_onnx(function, preparation, preparation.names), values, start)
    assert np.abs((found - ours) / np.maximum(1, np.abs(ours))).max() <= bound
    assert np.ptp(ours) > 0.1
    return session


def parts_of(features):
    values, start = np.array(features.dense()), list_starts(features.query.astype(np.int64))
    return values, start, features.label


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize(("way", "fill"), FORMS)
def test_trees(way, fill, missing):
    features = make_features(missing)
    values, start, label = parts_of(features)
    preparation, _ = learn_preparation(
        features, np.ones(features.rows), standardize=way, impute=fill, takes_missing=True
    )
    function = train_trees(preparation.apply(values, start), start, label)
    check_same(function, preparation, values, start)
    others, begins, _ = parts_of(make_features(0.3, seed=1))  # also where training saw no missing value
    session = check_same(function, preparation, others, begins)
    said = session.get_modelmeta().custom_metadata_map
    assert json.loads(said["features"]) == [f"f{place}" for place in range(6)]
    assert json.loads(said["standardize"]) == way


@pytest.mark.parametrize(("way", "fill"), FORMS)
def test_linear(way, fill):
    features = make_features(0.15 if fill is not None else 0.0)
    values, start, _ = parts_of(features)
    preparation, _ = learn_preparation(
        features, np.ones(features.rows), standardize=way, impute=fill, takes_missing=False
    )
    weights = np.random.default_rng(4).normal(size=6)
    check_same(LinearFunction(weights), preparation, values, start, bound=1e-6)


def test_values_at_a_threshold_go_the_same_way():
    """Thresholds lie between floats; whole numbers and their neighbors are compared with all of them."""
    rng = np.random.default_rng(2)
    values = rng.integers(-3, 4, (600, 2)).astype(np.float32)
    start = np.arange(0, 601, 10)
    function = train_trees(values, start, np.clip(values[:, 0] - values[:, 1], 0, 4).astype(float))
    edges = [
        float(edge)
        for line in function.text.splitlines()
        if line.startswith("threshold=")
        for edge in line.partition("=")[2].split()
    ]
    assert any(abs(edge) < 1e-30 for edge in edges)  # LightGBM's two thresholds around 0
    near = np.array([single_threshold(edge) for edge in edges], np.float32)
    grid = np.unique(
        np.concatenate([near, np.nextafter(near, np.float32(9)), np.nextafter(near, np.float32(-9)), [0]])
    )
    rows = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2).astype(np.float32)
    features = make_features(0.0)
    preparation, _ = learn_preparation(
        features, np.ones(features.rows), standardize=None, impute=None, takes_missing=True
    )
    found, _ = run_graph(to_onnx(function, preparation, ["a", "b"]), rows, np.array([0, len(rows)]))
    np.testing.assert_allclose(found, function.scores(rows), rtol=1e-5, atol=1e-5)


def test_thresholds_are_rounded_down():
    for value in (0.1, -0.1, 1.0, -1e-30, 1 + 2.0**-30, 1e300):
        found = np.float32(single_threshold(value))  # a comparison with a float would round that float
        assert float(found) <= value
        with np.errstate(over="ignore"):
            assert float(np.nextafter(found, np.float32(np.inf))) > value


def test_a_tree_without_a_split():
    features = make_features(0.0)
    values, start, label = parts_of(features)
    preparation, _ = learn_preparation(
        features, np.ones(features.rows), standardize=None, impute=None, takes_missing=True
    )
    function = train_trees(values, start, label, min_rows=len(label))
    found, _ = run_graph(to_onnx(function, preparation, features.names), values, start)
    assert not found.any()


def test_real_documents(real):
    features = cr.read_features(str(real / "MQ2008" / "S1.txt.gz"))
    order = np.argsort(features.query, kind="stable")
    values, start = np.array(features.dense())[order], list_starts(features.query[order].astype(np.int64))
    values[np.random.default_rng(0).random(values.shape) < 0.05] = np.nan
    preparation, _ = learn_preparation(
        features, np.ones(features.rows), standardize="query", impute=None, takes_missing=True
    )
    function = train_trees(preparation.apply(values, start), start, features.label[order], rounds=100)
    check_same(function, preparation, values, start)


def test_nets_cannot_be_exported():
    features = make_features(0.0)
    preparation, _ = learn_preparation(
        features, np.ones(features.rows), standardize=None, impute=None, takes_missing=True
    )
    formula = NetFormula(6, (3, 2))
    net = NetFunction(formula, np.zeros(formula.size), np.zeros(6))
    with pytest.raises(UsageError, match=r"NetFunction[^\n]*\n.*scorers linear and trees"):
        to_onnx(net, preparation, features.names)


def test_zero_as_missing_is_refused():
    text = train_trees(*parts_of(make_features(0.0))).text.replace("decision_type=2", "decision_type=6", 1)
    preparation, _ = learn_preparation(
        make_features(0.0), np.ones(make_features(0.0).rows), standardize=None, impute=None, takes_missing=True
    )
    with pytest.raises(UsageError, match="zero as missing value"):
        to_onnx(TreesFunction(text, 6), preparation, preparation.names)


def test_a_machine_without_onnx(tmp_path):
    (tmp_path / "onnx.py").write_text("raise ModuleNotFoundError('No module named onnx')")
    script = "from crowdrank.rankers.onnx import load_onnx\ntry:\n load_onnx()\nexcept Exception as e:\n print(e)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "src")])}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
    )
    assert "needs the package onnx" in done.stdout
    assert "crowdrank[onnx]" in done.stdout
