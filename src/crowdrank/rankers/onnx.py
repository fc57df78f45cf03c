"""A trained ranker as an ONNX graph, which other programs score with.

The graph takes ``features`` (documents, features) in float32, the columns in the order of training, and returns
``scores`` (documents) in float32. One call holds the documents of one query, because features may be standardized
within it. The graph prepares them in double precision, as crowdrank does. The names of the features stand in the
metadata of the model under ``features``, as a JSON list.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.errors import UsageError
from crowdrank.rankers.preparation import RESOLVED, Preparation
from crowdrank.rankers.scorers.base import Function
from crowdrank.rankers.scorers.extended import ExtendedFunction
from crowdrank.rankers.scorers.linear import LinearFunction
from crowdrank.rankers.scorers.trees import TreesFunction

OPERATORS, TREES, FORMAT = 17, 3, 8
"""Versions of the operators, of those for trees, and of the file: old enough for runtimes since 2022."""

ZERO = float(np.float32(1e-35))
"""LightGBM takes a feature that is not larger than this for 0."""

INPUT, OUTPUT = "features", "scores"


def to_onnx(function: Function, preparation: Preparation, names: Sequence[str]) -> bytes:
    """The bytes of an ONNX file that prepares features with these names and scores them.

    Linear functions, trees, and linear functions of features and trees can be exported. Scores agree with
    crowdrank's to 1e-5, as the graph adds trees up in single precision.
    """
    if not isinstance(function, LinearFunction | TreesFunction | ExtendedFunction):
        raise UsageError(
            f"A function of the kind {type(function).__name__} cannot be exported to ONNX.",
            hint="The scorers linear and trees can be exported.",
        )
    graph = _Graph(load_onnx())
    prepared = _prepare(graph, preparation)
    if isinstance(function, LinearFunction):
        scores = _add_linear(graph, function.weights, prepared)
    elif isinstance(function, TreesFunction):
        scores = _add_trees(graph, function, prepared)
    else:
        plain, weights = np.split(function.weights, [function.width])
        trees = _add_trees(graph, function.features.trees, prepared, weights / function.features.scale)
        scores = graph.add("Add", _add_linear(graph, plain, prepared), trees)
    graph.add("Identity", scores, output=OUTPUT)
    return graph.to_bytes(names, preparation.standardize)


def load_onnx() -> Any:
    """The package onnx; an error that says what to install if there is none."""
    try:
        return import_module("onnx")
    except ImportError:
        raise UsageError("Export to ONNX needs the package onnx.", hint="pip install 'crowdrank[onnx]'") from None


class _Graph:
    """Nodes and constants of a graph that grows from its input to its output."""

    def __init__(self, onnx: Any) -> None:
        self.onnx, self.nodes, self.constants = onnx, list[Any](), list[Any]()

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node, and return the name of its output."""
        name = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def constant(self, value: Any, kind: Any = np.float64) -> str:
        """Add a constant, and return its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def cast(self, value: str, kind: str, output: str | None = None) -> str:
        """A value as DOUBLE or FLOAT."""
        return self.add("Cast", value, output=output, to=getattr(self.onnx.TensorProto, kind))

    def to_bytes(self, names: Sequence[str], standardize: str | None) -> bytes:
        """The checked model."""
        helper, single = self.onnx.helper, self.onnx.TensorProto.FLOAT
        takes = helper.make_tensor_value_info(INPUT, single, ["documents", len(names)])
        gives = helper.make_tensor_value_info(OUTPUT, single, ["documents"])
        graph = helper.make_graph(self.nodes, "crowdrank", [takes], [gives], self.constants)
        versions = [helper.make_opsetid("", OPERATORS), helper.make_opsetid("ai.onnx.ml", TREES)]
        model = helper.make_model(graph, opset_imports=versions, ir_version=FORMAT, producer_name="crowdrank")
        told = {"features": json.dumps(list(names)), "standardize": json.dumps(standardize)}
        helper.set_model_props(model, told)
        self.onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content


def _prepare(graph: _Graph, preparation: Preparation) -> str:
    """``Preparation.apply`` to one query."""
    if preparation.fill is None and preparation.standardize is None:
        return INPUT
    values = graph.cast(INPUT, "DOUBLE")
    if preparation.fill is not None:
        values = graph.add("Where", graph.add("IsNaN", values), graph.constant(preparation.fill), values)
    if preparation.standardize == "query":
        values = _standardize_query(graph, values)
    if preparation.mean is not None:
        values = graph.add("Sub", values, graph.constant(preparation.mean))
    if preparation.scale is not None:
        values = graph.add("Div", values, graph.constant(preparation.scale))
    return graph.cast(values, "FLOAT")


def _standardize_query(graph: _Graph, values: str) -> str:
    """``standardize_within`` for one query: (x - mean) / sd over the documents that have a value."""
    missing, zero, rows = graph.add("IsNaN", values), graph.constant(0.0), graph.constant([0], np.int64)

    def total(name: str) -> str:
        return graph.add("ReduceSum", name, rows, keepdims=1)

    plain = graph.add("Where", missing, zero, values)
    known = graph.cast(graph.add("Not", missing), "DOUBLE")
    count = graph.add("Max", total(known), graph.constant(1.0))
    mean = graph.add("Div", total(plain), count)
    away = graph.add("Where", missing, zero, graph.add("Sub", plain, mean))
    spread = graph.add("Sqrt", graph.add("Div", total(graph.add("Mul", away, away)), count))
    largest = graph.add("ReduceMax", graph.add("Abs", plain), axes=[0], keepdims=1)
    enough = graph.add("Greater", spread, graph.add("Mul", largest, graph.constant(RESOLVED)))
    scaled = graph.add("Div", away, graph.add("Where", enough, spread, graph.constant(np.inf)))
    return graph.add("Where", missing, values, scaled)


def _add_linear(graph: _Graph, weights: Floats, prepared: str) -> str:
    weighted = graph.add("MatMul", graph.cast(prepared, "DOUBLE"), graph.constant(weights))
    return graph.cast(weighted, "FLOAT")


def _add_trees(graph: _Graph, function: TreesFunction, prepared: str, weights: Floats | None = None) -> str:
    """The sum of the trees, each times its weight if there are any; trees without one do not count."""
    trees = _trees(function) if weights is None else _trees(function)[: len(weights)]
    nodes = [row for number, tree in enumerate(trees) for row in _node_rows(number, tree)]
    factor = np.ones(len(trees)) if weights is None else weights
    leaves = [row for row in nodes if row["mode"] == "LEAF"]

    def column(name: str) -> list[Any]:
        return [row[name] for row in nodes]

    summed = graph.add(
        "TreeEnsembleRegressor",
        prepared,
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=column("tree"),
        nodes_nodeids=column("node"),
        nodes_modes=column("mode"),
        nodes_featureids=column("feature"),
        nodes_values=column("value"),
        nodes_truenodeids=column("left"),
        nodes_falsenodeids=column("right"),
        nodes_missing_value_tracks_true=column("missing_left"),
        target_treeids=[row["tree"] for row in leaves],
        target_nodeids=[row["node"] for row in leaves],
        target_ids=[0] * len(leaves),
        target_weights=[row["score"] * float(factor[row["tree"]]) for row in leaves],
    )
    return graph.add("Squeeze", summed, graph.constant([1], np.int64))


def _trees(function: TreesFunction) -> list[dict[str, Any]]:
    return [tree["tree_structure"] for tree in function.booster.dump_model()["tree_info"]]


def _node_rows(number: int, tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The nodes of a tree as rows of ONNX's table. A node is numbered when its parent is written."""
    waiting, count = [(0, tree)], 1
    while waiting:
        place, node = waiting.pop()
        row = {"tree": number, "node": place, "feature": 0, "value": 0.0, "left": 0, "right": 0}
        if "leaf_value" in node:
            yield {**row, "mode": "LEAF", "missing_left": 0, "score": float(node["leaf_value"])}
            continue
        left, right, count = count, count + 1, count + 2
        threshold = float(node["threshold"])
        yield {
            **row,
            "mode": "BRANCH_LEQ",
            "feature": node["split_feature"],
            "value": single_threshold(threshold),
            "left": left,
            "right": right,
            "missing_left": int(_missing_left(node, threshold)),
        }
        waiting += [(left, node["left_child"]), (right, node["right_child"])]


def _missing_left(node: dict[str, Any], threshold: float) -> bool:
    """Where a missing value goes. If training saw none at this feature, LightGBM takes it for 0."""
    if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
        raise UsageError("Trees with categories or with zero as missing value cannot be exported to ONNX.")
    return bool(node["default_left"]) if node["missing_type"] == "NaN" else threshold >= 0.0


def single_threshold(threshold: float) -> float:
    """The threshold in single precision that divides numbers of single precision as LightGBM does.

    It is the largest one that is not above. LightGBM takes numbers up to ``ZERO`` for 0, so none divides them.
    """
    if abs(threshold) <= ZERO:
        return float(np.float32(ZERO) if threshold >= 0 else np.nextafter(-np.float32(ZERO), np.float32(-1)))
    with np.errstate(over="ignore"):
        near = np.float32(threshold)
    return float(near if float(near) <= threshold else np.nextafter(near, np.float32(-np.inf)))
