"""A linear function of the features and of single trees of an ensemble (Ustinovskiy et al. 2016, section 5.2).

    s(x) = sum_n w_n x_n + sum_t w_t f_t(x) / scale_t

f_t(x) is the leaf of tree t that x falls into. All trees together are one ensemble; here each is a feature of its
own.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.engine import available_threads
from crowdrank.rankers.scorers.base import Function, Values, as_float, rows_at_a_time
from crowdrank.rankers.scorers.trees import FEW, TreesFunction

_LISTS = {
    name: re.compile(rf"^{name}=(.*)$", re.MULTILINE) for name in ("leaf_value", "split_feature", "split_gain")
}


@dataclass(frozen=True, eq=False)
class TreeFeatures:
    """Each tree of an ensemble as a feature, over its ``scale``."""

    trees: TreesFunction
    scale: Floats

    @property
    def count(self) -> int:
        """T: how many trees."""
        return len(self.scale)

    def values(self, prepared: Values) -> Floats:
        """f_t(x) / scale_t (rows, T)."""
        if not prepared.shape[0]:
            return np.zeros((0, self.count))
        threads = 1 if prepared.shape[0] < FEW else available_threads()
        leaf = self.trees.booster.predict(prepared, pred_leaf=True, num_iteration=self.count, num_threads=threads)
        leaf = np.asarray(leaf, np.int64).reshape(len(prepared), self.count)
        return np.asarray(self._leaves[np.arange(self.count), leaf] / self.scale)

    def extend(self, prepared: Values) -> Floats:
        """The features and the trees side by side."""
        return np.hstack([np.asarray(prepared, np.float32), self.values(prepared).astype(np.float32)])

    def importance(self, weights: Floats) -> Floats:
        """The weight of each tree, shared among the features of its splits by their gains."""
        found = np.zeros(self.trees.width)
        splits = zip(self._lists("split_feature"), self._lists("split_gain"), strict=True)
        for (features, gains), weight in zip(splits, np.abs(weights), strict=False):
            total = float(np.sum(gains))
            if total > 0:
                np.add.at(found, features.astype(np.int64), weight * gains / total)
        return found

    @cached_property
    def _leaves(self) -> Floats:
        """The values of the leaves (T, most leaves)."""
        lists = self._lists("leaf_value")[: self.count]
        found = np.zeros((self.count, max(map(len, lists))))
        for own, values in zip(found, lists, strict=True):
            own[: len(values)] = values
        return found

    def _lists(self, name: str) -> list[Any]:
        return [np.array(line.split(), float) for line in _LISTS[name].findall(self.trees.text)]


@dataclass(frozen=True, eq=False)
class ExtendedFunction(Function):
    """The linear function: ``weights`` of the features, then of the trees."""

    features: TreeFeatures
    weights: Floats
    part: ClassVar[str] = "extended.npz"

    @property
    def width(self) -> int:
        """The number of features."""
        return self.features.trees.width

    def scores(self, values: Values) -> Floats:
        """The score of each row."""

        def own(rows: Any) -> Floats:
            both = np.hstack([as_float(rows), self.features.values(rows)])
            return np.asarray(np.einsum("ij,j->i", both, self.weights))

        return rows_at_a_time(values, own)

    def importance(self) -> Floats:
        """|w| of each feature, and its part of the trees' weights."""
        plain, trees = np.split(self.weights, [self.width])
        return np.abs(plain) + self.features.importance(trees)

    def to_bytes(self) -> bytes:
        """An npz file with ``weights``, ``scale`` and the text of the ``trees``."""
        file = io.BytesIO()
        text = np.frombuffer(self.features.trees.to_bytes(), np.uint8)
        np.savez(file, allow_pickle=False, weights=self.weights, scale=self.features.scale, trees=text)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, width: int) -> Self:
        """The function in such a file."""
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            weights, scale = (np.asarray(file[name], np.float64) for name in ("weights", "scale"))
            trees = TreesFunction.from_bytes(file["trees"].tobytes(), width)
        if weights.shape != (width + len(scale),):
            raise ValueError(f"{weights.shape} weights for {width} features and {len(scale)} trees")
        return cls(TreeFeatures(trees, scale), weights)
