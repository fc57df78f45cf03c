"""The contract of a scorer: it improves an objective that is given by derivatives, and hands out a function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats
from crowdrank.engine import Stats, local_part
from crowdrank.errors import Note
from crowdrank.models.parameters import Configurable
from crowdrank.progress import Progress
from crowdrank.rankers.objectives import Objective

Values = Any
"""Prepared features of some rows: a float32 array (rows, features) or a sparse matrix."""


class Function(ABC):
    """A trained scoring function of one document's prepared features."""

    part: ClassVar[str]
    """The file that holds it in a saved folder."""

    @abstractmethod
    def scores(self, values: Values) -> Floats:
        """The score of each row. A row's score does not depend on the other rows."""

    @abstractmethod
    def importance(self) -> Floats:
        """How much each feature matters, not below 0."""

    def signed_weights(self) -> Floats | None:
        """The weight of each prepared feature if the function is linear; otherwise None."""
        return None

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The content of its file."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, content: bytes, width: int) -> Self:
        """The function in such a file, for this number of features."""


@dataclass(frozen=True, eq=False)
class Trained:
    """What training leaves: the function, how often it was improved, and what the user should know."""

    function: Function
    iterations: int
    converged: bool
    value: float
    notes: tuple[Note, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Watch:
    """Validation while training: ``measure`` of the scores of the ``values`` (larger = better).

    ``report(step, value)`` is called with each measurement. Training stops after ``patience`` steps without a new
    best one, and the function of the best step is kept.
    """

    values: Values
    measure: Callable[[Floats], float]
    report: Callable[[int, float], None]
    patience: int


@dataclass(frozen=True, eq=False)
class Task:
    """What a scorer improves: an objective over the documents of a session.

    ``session``: over shards with ``values`` and ``plan`` (the objective's plan; a state's ``plan`` takes its
    place if the session has states). ``values``: the prepared features of all rows in the order of the shards,
    or None if they do not fit in memory. ``weight``: the total weight of the documents. ``steps``: how many steps
    are wanted at the most, if the objective will change anyway; None: as many as the scorer takes.
    """

    session: Any
    objective: Objective[Any]
    rows: int
    width: int
    weight: float
    values: Values | None
    threads: int = 1
    seed: int = 0
    progress: Progress | None = None
    steps: int | None = None

    def at_most(self, limit: int) -> int:
        """The most steps of a scorer with this limit of its own."""
        return limit if self.steps is None else min(limit, self.steps)


class Scorer(Configurable, ABC):
    """A way to train a scoring function. Parameters are keyword-only and kept as given."""

    takes_missing: ClassVar[bool] = False
    """Whether features may be NaN."""
    tuned: ClassVar[dict[str, tuple[Any, ...]]] = {}
    """The few parameters that matter most, with the values to try on validation queries."""
    steps: ClassVar[str | None] = None
    """The parameter that is the most steps of training, if validation may stop it before."""

    @property
    def stops_early(self) -> bool:
        """Whether validation stops training and the best step is kept. Otherwise validation only watches."""
        return self.steps is not None

    @abstractmethod
    def improve(self, task: Task, start: Function | None = None, watch: Watch | None = None) -> Trained:
        """Improve the objective, from ``start`` if it is given."""

    def by_position(self, names: Sequence[str]) -> Scorer:
        """The scorer with parameters that name features put in the order of these features."""
        return self


@dataclass(frozen=True, eq=False)
class RowSums(Stats):
    """The derivatives by the score of each row, in the order of the rows, and the value of the objective."""

    value: float
    gradient: Floats = local_part()
    curvature: Floats = local_part()


@dataclass(frozen=True, eq=False)
class RowScores:
    """The scores of all rows in the order of the shards."""

    scores: Floats


@dataclass(frozen=True)
class RowDerivatives:
    """Derivatives row by row, for scorers that have no gradient of their own. Places are those of the scores."""

    objective: Objective[Any]

    def __call__(self, shard: Any, at: RowScores, *state: Any) -> RowSums:
        """Value, gradient and curvature of the rows of a shard."""
        scores = at.scores[shard.first : shard.first + shard.rows]
        found = self.objective.derivatives(scores, plan_of(shard, state), scores)
        return RowSums(float(found.value.sum()), found.gradient, found.curvature)


def plan_of(shard: Any, state: tuple[Any, ...]) -> Any:
    """The objective's plan: that of the state if the session has states, else that of the shard."""
    return state[0].plan if state else shard.plan


def as_float(values: Values) -> Any:
    """Values in double precision; a sparse matrix stays sparse."""
    return values.astype(np.float64) if not isinstance(values, np.ndarray) else np.asarray(values, np.float64)


def rows_at_a_time(values: Values, function: Callable[[Any], NDArray[Any]], count: int = 1 << 16) -> Floats:
    """A function of rows applied to blocks of them, so that copies in double precision stay small."""
    blocks = [function(values[low : low + count]) for low in range(0, values.shape[0], count)]
    return np.concatenate(blocks) if blocks else np.empty(0)
