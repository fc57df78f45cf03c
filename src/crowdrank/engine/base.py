"""The contract between a model and an engine: the model says what to sum, the engine runs the session.

    session = engine.open(shards)
    found = session.evaluate(sums.curvature, At(scores, workers))      # found.value, found.scores, ...

A model has a class of sums. Its methods are pure functions of a shard and parameters, and return a Stats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Generic, Protocol, Self, TypeVar, overload

from crowdrank.errors import UsageError, name_hint

P = TypeVar("P")
S = TypeVar("S", bound="Stats")
R = TypeVar("R")
State = TypeVar("State")

_LOCAL = "local"


@dataclass(frozen=True, eq=False)
class Stats:
    """What a shard contributes to a sum. Subclasses are frozen dataclasses whose fields add up over the shards.

    A field marked ``local_part()`` belongs to the queries of a shard and is concatenated instead.
    """

    def join(self, other: Self) -> Self:
        """The statistics of this shard and the next one together."""
        import numpy as np

        values = {}
        for part in fields(self):
            one, next_ = getattr(self, part.name), getattr(other, part.name)
            values[part.name] = np.concatenate([one, next_]) if _LOCAL in part.metadata else one + next_
        return type(self)(**values)


def local_part() -> Any:
    """Mark a field of Stats as concatenated over the shards."""
    return field(metadata={_LOCAL: True})


class Branches(Generic[S]):
    """A binary tree of sums over the shards in order, starting at the shard ``start``.

    The tree depends only on the positions of the shards, so the sum is the same to the bit no matter who
    computed which part. It is also cheap for sparse parts, which grow as they are added.
    """

    def __init__(self, start: int = 0) -> None:
        self._end = start
        self._done: list[tuple[int, S]] = []  # (height, sum of 2^height shards), in order

    def extend(self, parts: Iterable[S]) -> list[tuple[int, S]]:
        """Add the shards that come next, and return the largest complete branches of the tree."""
        for part in parts:
            self.add(0, part)
        return self._done

    def add(self, height: int, total: S) -> None:
        """Add the next branch of 2^height shards. Two branches that complete a larger one are joined."""
        self._end += 1 << height
        while self._done and self._done[-1][0] == height and self._end % (2 << height) == 0:
            total = self._done.pop()[1].join(total)
            height += 1
        self._done.append((height, total))

    def total(self) -> S:
        """The sum over all shards."""
        _, total = self._done[-1]
        for _, before in reversed(self._done[:-1]):
            total = before.join(total)
        return total


def sum_branches(branches: Iterable[tuple[int, S]]) -> S:
    """The sum over all shards, from consecutive branches that start at the first shard."""
    tree: Branches[S] = Branches()
    for height, total in branches:
        tree.add(height, total)
    return tree.total()


def sum_in_order(parts: Iterable[S]) -> S:
    """The sum of the shards' statistics."""
    return sum_branches((0, part) for part in parts)


class Session(Protocol):
    """Sums over shards, added in the order of the shards no matter who computed them.

    A summed function is a pure function of a shard and parameters, usually a method of a model's sums. The
    function and the parameters (a frozen dataclass, or None) can be pickled.
    """

    def evaluate(self, function: Callable[[Any, P], S], params: P) -> S:
        """The sum of the function over all shards at these parameters."""
        ...

    def collect(self, function: Callable[[Any, P], R], params: P) -> list[R]:
        """The value of the function for each shard, in order."""
        ...


class StateSession(Protocol[State]):
    """Sums over shards that each have a state, such as the chains of a sampler. Functions also take the state."""

    def evaluate(self, function: Callable[[Any, P, State], S], params: P) -> S:
        """The sum at these parameters. The states do not change."""
        ...

    def advance(self, function: Callable[[Any, P, State], tuple[S, State]], params: P) -> S:
        """The sum at these parameters. The state of each shard is replaced by its next state."""
        ...

    def collect(self, function: Callable[[Any, P, State], R], params: P) -> list[R]:
        """The value of the function for each shard and its state, in order."""
        ...


class Engine(Protocol):
    """A place to compute."""

    name: str

    @overload
    def open(self, shards: Sequence[Any]) -> Session: ...

    @overload
    def open(
        self,
        shards: Sequence[Any],
        *,
        start: Callable[[Any, int], State],
        seed: int = 0,
        checkpoint_every: int = 10,
    ) -> StateSession[State]: ...

    def open(self, shards: Sequence[Any], **given: Any) -> Any:
        """A session over these shards. With ``start(shard, seed)``, each shard has a state."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


@contextmanager
def open_engine(engine: Engine | str | None) -> Iterator[Engine]:
    """The given engine, as an object or by name.

    The names are ``local``, ``dask`` (a cluster of processes on this machine) and ``tcp://host:port`` (the cluster
    with its scheduler at this address). An engine given by name is closed at the end.
    """
    if engine is not None and not isinstance(engine, str):
        yield engine
        return
    started = _start_engine(engine or "local")
    try:
        yield started
    finally:
        started.close()


def _start_engine(name: str) -> Engine:
    from crowdrank.engine.local import LocalEngine

    if name == "local":
        return LocalEngine()
    if name == "dask" or "://" in name:
        from crowdrank.engine.dask import DaskEngine

        return DaskEngine(None if name == "dask" else name)
    raise UsageError(
        f"There is no engine {name!r}.",
        hint=name_hint(str(name), ("local", "dask", "tcp://host:port"), "The engines are"),
    )
