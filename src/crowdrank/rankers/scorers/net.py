"""A small net: two hidden layers of tanh units, trained like the linear scorer.

    h1 = tanh(A1 x + b1),    h2 = tanh(A2 h1 + b2),    s = a' h2

There is no constant in the last layer, as the order within a query does not depend on it.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.errors import UsageError
from crowdrank.models.parameters import whole
from crowdrank.random import generator
from crowdrank.rankers.scorers.base import Function, Task, Values, as_float, rows_at_a_time
from crowdrank.rankers.scorers.differentiable import DifferentiableScorer, Formula


@dataclass(frozen=True)
class NetFormula(Formula):
    """The net for ``width`` features with ``hidden`` = (units of layer 1, units of layer 2)."""

    width: int
    hidden: tuple[int, int]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of A1, b1, A2, b2 and a."""
        first, second = self.hidden
        return (self.width, first), (first,), (first, second), (second,), (second,)

    @property
    def size(self) -> int:
        """The number of weights."""
        return int(sum(np.prod(shape) for shape in self.shapes))

    def split(self, weights: Floats) -> list[Floats]:
        """The layers of one long vector."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(weights, ends[:-1]), self.shapes, strict=True)]

    def scores(self, values: Any, weights: Floats) -> Floats:
        """The scores of rows."""
        return self._forward(values, self.split(weights))[2]

    def back(self, values: Any, weights: Floats, by_score: Floats) -> Floats:
        """The gradient by the weights, layer by layer from the last."""
        layers = self.split(weights)
        one, two, _ = self._forward(values, layers)
        by_two = by_score[:, None] * layers[4] * (1.0 - two**2)
        by_one = (by_two @ layers[2].T) * (1.0 - one**2)
        parts = (values.T @ by_one, by_one.sum(axis=0), one.T @ by_two, by_two.sum(axis=0), two.T @ by_score)
        return np.concatenate([np.asarray(part).ravel() for part in parts])

    def slopes(self, values: Any, weights: Floats) -> Floats:
        """ds/dx of each row."""
        layers = self.split(weights)
        one, two, _ = self._forward(values, layers)
        by_one = ((layers[4] * (1.0 - two**2)) @ layers[2].T) * (1.0 - one**2)
        return np.asarray(by_one @ layers[0].T)

    def _forward(self, values: Any, layers: list[Floats]) -> tuple[Floats, Floats, Floats]:
        one = np.tanh(values @ layers[0] + layers[1])
        two = np.tanh(one @ layers[2] + layers[3])
        return one, two, two @ layers[4]


@dataclass(frozen=True, eq=False)
class NetFunction(Function):
    """A trained net. ``effect``: the root mean square of ds/dx over the training documents."""

    formula: NetFormula
    weights: Floats
    effect: Floats
    part: ClassVar[str] = "net.npz"

    def scores(self, values: Values) -> Floats:
        """The score of each row, summed in an order that does not depend on the number of rows."""
        layers = self.formula.split(self.weights)

        def block(rows: Any) -> Floats:
            own = as_float(rows)
            own = own if isinstance(own, np.ndarray) else own.toarray()
            one = np.tanh(np.einsum("ij,jk->ik", own, layers[0]) + layers[1])
            two = np.tanh(np.einsum("ij,jk->ik", one, layers[2]) + layers[3])
            return np.einsum("ij,j->i", two, layers[4])

        return rows_at_a_time(values, block, count=1 << 12)

    def importance(self) -> Floats:
        """How much a small change of each prepared feature changes the score."""
        return self.effect

    def to_bytes(self) -> bytes:
        """An npz file with the weights, the effects and the numbers of units."""
        file = io.BytesIO()
        hidden = np.array(self.formula.hidden, np.int64)
        np.savez(file, allow_pickle=False, weights=self.weights, effect=self.effect, hidden=hidden)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, width: int) -> Self:
        """The net in such a file."""
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            first, second = (int(units) for units in file["hidden"])
            formula = NetFormula(width, (first, second))
            weights, effect = (np.asarray(file[name], np.float64) for name in ("weights", "effect"))
        if weights.shape != (formula.size,) or effect.shape != (width,):
            raise ValueError(f"{len(weights)} weights for {width} features and hidden layers {formula.hidden}")
        return cls(formula, weights, effect)


class Net(DifferentiableScorer):
    """Two hidden layers, trained by L-BFGS from small random weights, so ``seed`` changes the result.

        h1 = tanh(A1 x + b1),    h2 = tanh(A2 h1 + b2),    s = a' h2

    ``hidden``: the units of the two layers. ``penalty``: the objective loses 1/2 penalty |w|^2. ``limit``: the
    most iterations. With validation queries, training stops early.

    >>> import crowdrank as cr
    >>> docs = {"query": [n // 3 for n in range(90)], "item": [*"abc"] * 30, "label": [2, 1, 0] * 30}
    >>> docs["length"] = [5, 7, 9, 5, 3, 1] * 15  # the best ones are neither short nor long
    >>> ranker = cr.ListMLE(scorer=cr.Net(hidden=(4, 4), penalty=1), standardize="all").fit(docs)
    >>> scores = ranker.score({"item": ["short", "medium", "long"], "length": [1, 5, 9]})
    >>> scores.frame().sort("score")["item"][-1]
    'medium'
    """

    hidden: Sequence[int]
    penalty: float
    limit: int

    name = "net"
    tuned: ClassVar[dict[str, tuple[Any, ...]]] = {"penalty": (1.0, 10.0, 100.0)}
    steps: ClassVar[str | None] = "limit"

    def __init__(self, *, hidden: Sequence[int] = (16, 8), penalty: float = 10.0, limit: int = 200) -> None:
        self.hidden, self.penalty, self.limit = hidden, penalty, limit

    def _formula(self, task: Task) -> NetFormula:
        units = self.hidden
        if not isinstance(units, Sequence) or isinstance(units, str) or len(units) != 2:
            raise UsageError(f"The parameter 'hidden' must be two whole numbers. Got {units!r}.")
        first, second = (whole("hidden", own, low=1) for own in units)
        return NetFormula(task.width, (first, second))

    def _start(self, task: Task, formula: Formula, start: Function | None) -> Floats:
        assert isinstance(formula, NetFormula)
        if isinstance(start, NetFunction) and start.formula == formula:
            return start.weights.copy()
        draw = generator(task.seed).standard_normal
        layers = [
            draw(shape) / np.sqrt(shape[0]) if number in (0, 2, 4) else np.zeros(shape)
            for number, shape in enumerate(formula.shapes)
        ]
        return np.concatenate([layer.ravel() for layer in layers])

    def _function(self, weights: Floats, task: Task) -> NetFunction:
        formula = self._formula(task)
        square, rows = np.zeros(task.width), 0
        for part in task.session.collect(_Effect(formula), _At(weights)):
            square, rows = square + part[0], rows + part[1]
        return NetFunction(formula, weights, np.sqrt(square / max(rows, 1)))


@dataclass(frozen=True, eq=False)
class _At:
    weights: Floats


@dataclass(frozen=True)
class _Effect:
    """The sum of (ds/dx)^2 over the rows of a shard, and their number."""

    formula: NetFormula

    def __call__(self, shard: Any, at: _At, *state: Any) -> tuple[Floats, int]:
        slopes = self.formula.slopes(as_float(shard.values), at.weights)
        return (slopes**2).sum(axis=0), shard.rows
