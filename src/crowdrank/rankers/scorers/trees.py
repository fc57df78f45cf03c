"""Gradient boosted trees by LightGBM, with our own objectives (Ke et al. 2017).

Each round adds one tree to the sum s(x) = sum_t f_t(x). The tree is grown on the derivatives of the objective at
the scores so far: a leaf with the rows R gets the value

    learning_rate * sum_R g_i / (sum_R h_i + penalty),     g = dL/ds_i, h = -d2L/ds_i^2

and a split is worth the growth of (sum g)^2 / (sum h + penalty).

LightGBM adds up g and h in an order that depends on the number of threads. We round them to multiples of one unit,
so that their sums in double precision are exact. Then the order changes nothing, and neither do the threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import FeatureFile
from crowdrank.data.arrays import Floats
from crowdrank.engine import available_threads
from crowdrank.errors import CrowdrankError, FitError, Note, Remedy, UsageError, parameter
from crowdrank.models.parameters import number, whole
from crowdrank.progress import announce
from crowdrank.rankers.scorers.base import (
    Function,
    RowDerivatives,
    RowScores,
    Scorer,
    Task,
    Trained,
    Values,
    Watch,
)

BITS = 24
"""Derivatives are multiples of the largest one's power of two over 2^BITS: exact in single precision, and sums of
2^(53 - BITS) of them, half a billion rows, are exact in double precision."""
FEW = 1 << 14
"""Fewer rows than this are scored by one thread."""
SMALL = 1 << 20
"""On a table of fewer numbers than this one thread grows the trees: others would wait for it in busy loops, which
takes many times as long if the machine has other work. The trees are the same."""

_HEAD, _END = "tree\n", "\nend of trees\n"


def load_lightgbm() -> Any:
    """The package lightgbm; an error that says what to install if it cannot be loaded."""
    try:
        return import_module("lightgbm")
    except ImportError:
        hint = "pip install 'crowdrank[rankers]'"
        raise UsageError("The scorer trees needs the package lightgbm.", hint=hint) from None
    except OSError as error:
        hint = "On Debian and Ubuntu it needs the package libgomp1: apt-get install libgomp1"
        raise CrowdrankError(
            f"The package lightgbm is installed, but it cannot be loaded: {error}.",
            hint=hint if "libgomp" in str(error) else None,
        ) from error


@dataclass(frozen=True, eq=False)
class TreesFunction(Function):
    """A sum of trees of ``width`` features, kept as LightGBM's text."""

    text: str
    width: int
    part: ClassVar[str] = "trees.txt"

    @cached_property
    def booster(self) -> Any:
        """LightGBM's own object, made when it is first needed."""
        return load_lightgbm().Booster(model_str=self.text)

    def scores(self, values: Values) -> Floats:
        """The sum of the trees' leaves. Each row is scored by itself, so threads change nothing."""
        if values.shape[1] != self.width:
            raise ValueError(f"{values.shape[1]} features for trees of {self.width}")
        if not values.shape[0]:
            return np.empty(0)
        threads = 1 if values.shape[0] < FEW else available_threads()
        return np.asarray(self.booster.predict(_table(values), raw_score=True, num_threads=threads))

    def importance(self) -> Floats:
        """The gain of all splits by each feature."""
        return np.asarray(self.booster.feature_importance("gain"), np.float64)

    def to_bytes(self) -> bytes:
        """LightGBM's text of the trees."""
        return self.text.encode()

    @classmethod
    def from_bytes(cls, content: bytes, width: int) -> Self:
        """The trees of such a text. One that is cut, or of another width, is a ValueError.

        LightGBM ends the process at a text that it cannot read, so it never sees one.
        """
        text = content.decode("utf-8")
        head, _, trees = text.partition("\n\n")
        if not head.startswith(_HEAD) or not text.endswith(_END):
            raise ValueError("the text of the trees is not complete")
        said = dict(line.partition("=")[::2] for line in head.splitlines())
        sizes = [int(size) for size in said.get("tree_sizes", "").split()]
        if sum(sizes) != len(trees.encode()) - len(_END) + 1:
            raise ValueError("the text of the trees is not complete")
        if int(said.get("max_feature_idx", -1)) + 1 != width:
            raise ValueError(f"trees of {int(said.get('max_feature_idx', -1)) + 1} features for {width} features")
        return cls(text, width)

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "width": self.width}


class Trees(Scorer):
    """A sum of trees, grown one per round. Missing values stay missing: each split sends them to its better side.

        s = sum_t f_t(x),    leaf = learning_rate * sum g_i / (sum h_i + penalty)

    g and h are the slope and the curvature of the objective at the documents of the leaf. Ke et al. 2017.

    ``rounds``: how many trees are added at most; fewer if validation queries stop training. ``leaves``: the most
    leaves of a tree. ``learning_rate``: the part of a leaf's value that counts. ``min_rows``: the fewest documents
    of a leaf. ``penalty``: L2 penalty on a leaf's value. ``feature_share``: the share of the features that each
    tree may use. ``monotone``: for each feature 1 if the score may only rise with it, -1 if it may only fall,
    otherwise 0; by name, or for all features in order.

    >>> import crowdrank as cr
    >>> docs = {"query": [n // 3 for n in range(90)], "item": [*"abc"] * 30, "label": [2, 1, 0] * 30}
    >>> docs["length"] = [5, 7, 9, 5, 3, 1] * 15  # the best ones are neither short nor long
    >>> ranker = cr.Regression(scorer=cr.Trees(rounds=30), standardize=None).fit(docs)
    >>> ranker.score({"item": ["x", "y", "z"], "length": [1, 5, 9]}).score.round(1)
    array([-0.4,  0.9, -0.4])
    """

    rounds: int
    leaves: int
    learning_rate: float
    min_rows: int
    penalty: float
    feature_share: float
    monotone: Mapping[str, int] | Sequence[int] | None

    name = "trees"
    takes_missing: ClassVar[bool] = True
    tuned: ClassVar[dict[str, tuple[Any, ...]]] = {"leaves": (4, 8, 16), "min_rows": (20, 100)}
    steps: ClassVar[str | None] = "rounds"

    def __init__(
        self,
        *,
        rounds: int = 300,
        leaves: int = 8,
        learning_rate: float = 0.05,
        min_rows: int = 20,
        penalty: float = 1.0,
        feature_share: float = 1.0,
        monotone: Mapping[str, int] | Sequence[int] | None = None,
    ) -> None:
        self.rounds, self.leaves, self.learning_rate = rounds, leaves, learning_rate
        self.min_rows, self.penalty = min_rows, penalty
        self.feature_share, self.monotone = feature_share, monotone

    def by_position(self, names: Sequence[str]) -> Trees:
        """A copy whose ``monotone`` lists all features in this order."""
        if not isinstance(self.monotone, Mapping):
            return self
        unknown = [name for name in self.monotone if name not in set(names)]
        if unknown:
            raise UsageError(f"The parameter 'monotone' names a feature that does not exist: {unknown[0]!r}.")
        return self.clone().set_params(monotone=tuple(self.monotone.get(name, 0) for name in names))

    def improve(self, task: Task, start: Function | None = None, watch: Watch | None = None) -> Trained:
        """Add trees to those of ``start``; with ``watch``, up to the round with the best value."""
        lightgbm, settings = load_lightgbm(), self._settings(task)
        training = lightgbm.Dataset(_table(_in_memory(task)), label=np.zeros(task.rows, np.float32))
        assert start is None or isinstance(start, TreesFunction)
        most = task.at_most(whole("rounds", self.rounds, low=1))
        rounds = _Rounds(task, watch, most, 0 if start is None else start.booster.num_trees())

        def objective(scores: Floats, _: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            return rounds.derivatives(scores)  # a plain function, because LightGBM copies a method with its object

        def measure(scores: Floats, _: Any) -> tuple[str, float, bool]:
            return "watch", rounds.measure(scores), True

        def stop(state: Any) -> None:
            if rounds.end(state.model.num_trees()):
                raise lightgbm.EarlyStopException(state.iteration, [])

        booster = lightgbm.train(
            {**settings, "objective": objective},
            training,
            num_boost_round=most,
            valid_sets=None if watch is None else [training.create_valid(_table(watch.values))],
            feval=None if watch is None else measure,
            init_model=None if start is None else start.booster,
            keep_training_booster=True,
            callbacks=[stop],
        )
        text = booster.model_to_string(num_iteration=rounds.kept)
        function = TreesFunction(text[: text.index(_END) + len(_END)], task.width)
        value = task.session.evaluate(
            RowDerivatives(task.objective), RowScores(function.scores(task.values))
        ).value
        return Trained(function, rounds.done, rounds.converged, float(value), self._notes(task, function, rounds))

    def _settings(self, task: Task) -> dict[str, Any]:
        """The parameters by LightGBM's names."""
        return {
            "num_leaves": whole("leaves", self.leaves, low=2),
            "learning_rate": number("learning_rate", self.learning_rate, low=1e-6, high=1.0),
            "min_data_in_leaf": whole("min_rows", self.min_rows, low=1),
            "min_sum_hessian_in_leaf": 0.0,  # its right size depends on the objective; min_rows and penalty do not
            "lambda_l2": number("penalty", self.penalty, low=0.0),
            "feature_fraction": number("feature_share", self.feature_share, low=1e-6, high=1.0),
            "monotone_constraints": self._directions(task.width),
            "seed": task.seed % (1 << 31),
            "num_threads": task.threads if task.rows * task.width > SMALL else 1,
            "deterministic": True,
            "force_row_wise": True,
            "feature_pre_filter": False,  # without any feature left LightGBM fails instead of not splitting
            "verbosity": -1,
        }

    def _directions(self, width: int) -> list[int] | None:
        """``monotone`` in the form that LightGBM takes."""
        if self.monotone is None:
            return None
        given = self.monotone
        if isinstance(given, Mapping | str) or len(given) != width or not set(given) <= {-1, 0, 1}:
            raise UsageError(
                f"The parameter 'monotone' must be -1, 0 or 1 for each of the {width} features. Got {given!r}."
            )
        return list(given)

    def _notes(self, task: Task, function: TreesFunction, rounds: _Rounds) -> tuple[Note, ...]:
        if not function.importance().any():
            message = f"No split of the {task.rows} documents improves the objective, so all scores are equal."
            return (Note("no-splits", message, hint=("Smaller leaves might: ", parameter("min_rows", 1), ".")),)
        if not rounds.converged:
            message = f"The validation measure was still rising after {rounds.done} rounds."
            return (Note("not-converged", message, hint=("Try ", parameter("rounds", 2 * rounds.done), ".")),)
        return ()


class _Rounds:
    """What happens in each round: derivatives before the tree, validation after it."""

    def __init__(self, task: Task, watch: Watch | None, most: int, trees: int) -> None:
        self.task, self.watch, self.most = task, watch, most
        self.done, self.trees, self.kept = 0, trees, -1
        self.value, self.best, self.best_round = -np.inf, -np.inf, 0
        self.over = False

    @property
    def converged(self) -> bool:
        """Whether training ended by itself, or as asked if nothing was watched."""
        return self.over or self.watch is None

    def derivatives(self, scores: Floats) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The derivatives of what LightGBM minimizes, minus the objective."""
        found = self.task.session.evaluate(RowDerivatives(self.task.objective), RowScores(scores))
        if self.task.progress is not None:
            self.task.progress(self.done + 1, found.value, 0.0)
        announce(f"round {self.done + 1} of at most {self.most}", self.done, self.most)
        return round_sums(-found.gradient), round_sums(found.curvature, least=1)

    def measure(self, scores: Floats) -> float:
        """The value on validation queries after a round."""
        assert self.watch is not None
        self.value = self.watch.measure(scores)
        self.watch.report(self.done + 1, self.value)
        return self.value

    def end(self, trees: int) -> bool:
        """Count the round. Whether it is the last one: it added no tree, or validation stops."""
        self.done += 1
        stuck = trees == self.trees
        self.trees = trees
        if self.watch is not None:
            if self.value > self.best or self.kept < 0:
                self.best, self.best_round, self.kept = self.value, self.done, trees
            self.over = self.done - self.best_round >= self.watch.patience
        self.over = self.over or stuck
        return self.over


def round_sums(values: Floats, least: int = 0) -> NDArray[np.float32]:
    """The values as multiples of one unit, at least ``least`` units each, so that any sum of them is exact.

    A curvature needs ``least`` = 1: LightGBM divides by sums of them, and a document whose place is certain has
    none.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if not np.isfinite(largest):
        raise FitError("The derivatives of the objective are not finite.")
    unit = np.ldexp(1.0, int(np.frexp(largest)[1]) - BITS) if largest > 0 else 1.0
    units = np.rint(values / unit)
    return np.asarray((np.maximum(units, least) if least else units) * unit, np.float32)


def _in_memory(task: Task) -> Values:
    """The features, if they are in memory and some feature varies; LightGBM fails at others."""
    if task.values is None or isinstance(task.values, FeatureFile):
        raise UsageError(
            "Trees need all features in memory, and these do not fit.",
            hint=("The linear scorer reads them a few rows at a time: ", Remedy("scorer", "linear"), "."),
        )
    if not _varies(task.values):
        raise FitError("Every feature has the same value in all documents, so there is nothing to split.")
    return task.values


def _varies(values: Values) -> bool:
    """Whether any feature has two values, of which one may be missing."""
    if not values.shape[0]:
        return False
    first = values[:1] if isinstance(values, np.ndarray) else values[:1].toarray()
    for low in range(0, values.shape[0], FEW):
        rows = values[low : low + FEW] if isinstance(values, np.ndarray) else values[low : low + FEW].toarray()
        if np.any((rows != first) & ~(np.isnan(rows) & np.isnan(first))):
            return True
    return False


def _table(values: Values) -> Any:
    """Values as LightGBM takes them: an array, or a sparse matrix of SciPy's older kind."""
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values, np.float32)
    from scipy.sparse import csr_matrix

    return csr_matrix(values)
