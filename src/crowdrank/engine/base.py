"""The contract between a model and an engine: what is summed is the model's, the session is the engine's.

    session = engine.open(shards)
    found = session.evaluate(sums.curvature, At(scores, workers))      # found.value, found.scores, ...

A model has a class of sums, whose methods are pure functions of a shard and parameters and return a Stats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Generic, Protocol, Self, TypeVar, overload

from crowdrank.errors import UsageError

P = TypeVar("P")
S = TypeVar("S", bound="Stats")
R = TypeVar("R")
State = TypeVar("State")

_LOCAL = "local"


@dataclass(frozen=True, eq=False)
class Stats:
    """What a shard contributes to a sum: a frozen dataclass derives from it, whose fields add up over the shards.

    A field that is marked ``local_part()`` belongs to the queries of a shard, and is concatenated.
    """

    def join(self, other: Self) -> Self:
        """This shard's statistics and the next one's."""
        import numpy as np

        values = {}
        for part in fields(self):
            one, next_ = getattr(self, part.name), getattr(other, part.name)
            values[part.name] = np.concatenate([one, next_]) if _LOCAL in part.metadata else one + next_
        return type(self)(**values)


def local_part() -> Any:
    """Marks a field of Stats as concatenated over the shards."""
    return field(metadata={_LOCAL: True})


class Branches(Generic[S]):
    """A binary tree of sums over the order of the shards, from the shard ``start`` on.

    The tree depends on the places of the shards alone, so the sum is the same to the bit whoever
    computed which part; and it is cheap for sparse parts, which grow as they are added.
    """

    def __init__(self, start: int = 0) -> None:
        self._end = start
        self._done: list[tuple[int, S]] = []  # (height, sum of 2^height shards), in order

    def extend(self, parts: Iterable[S]) -> list[tuple[int, S]]:
        """Add the shards that follow; returns the tree's largest whole branches."""
        for part in parts:
            self.add(0, part)
        return self._done

    def add(self, height: int, total: S) -> None:
        """A branch of 2^height shards that comes next; two that make up a larger one are joined."""
        self._end += 1 << height
        while self._done and self._done[-1][0] == height and self._end % (2 << height) == 0:
            total = self._done.pop()[1].join(total)
            height += 1
        self._done.append((height, total))

    def total(self) -> S:
        """The sum of all."""
        _, total = self._done[-1]
        for _, before in reversed(self._done[:-1]):
            total = before.join(total)
        return total


def sum_branches(branches: Iterable[tuple[int, S]]) -> S:
    """The sum over all shards of branches that follow each other from the first shard on."""
    tree: Branches[S] = Branches()
    for height, total in branches:
        tree.add(height, total)
    return tree.total()


def sum_in_order(parts: Iterable[S]) -> S:
    """The sum of the shards' statistics."""
    return sum_branches((0, part) for part in parts)


class Session(Protocol):
    """Sums over shards. They are taken in the order of the shards, whoever computed them.

    What is summed is a pure function of a shard and parameters, most often a method of a model's sums. It and the
    parameters (a frozen dataclass, or None) can be pickled.
    """

    def evaluate(self, function: Callable[[Any, P], S], params: P) -> S:
        """The sum of the function over the shards at these parameters."""
        ...

    def collect(self, function: Callable[[Any, P], R], params: P) -> list[R]:
        """The function of each shard, in order."""
        ...


class StateSession(Protocol[State]):
    """Sums over shards that have a state each, such as a sampler's chains: functions take it too."""

    def evaluate(self, function: Callable[[Any, P, State], S], params: P) -> S:
        """The sum at these parameters; states stay as they are."""
        ...

    def advance(self, function: Callable[[Any, P, State], tuple[S, State]], params: P) -> S:
        """The sum at these parameters; each shard's state is replaced by its next one."""
        ...

    def collect(self, function: Callable[[Any, P, State], R], params: P) -> list[R]:
        """The function of each shard and its state, in order."""
        ...


class Engine(Protocol):
    """Somewhere to compute."""

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
        """A session over these shards; with ``start(shard, seed)`` each of them has a state."""
        ...

    def close(self) -> None:
        """Let go of whatever it holds."""
        ...


@contextmanager
def open_engine(engine: Engine | str | None) -> Iterator[Engine]:
    """The engine given, by object or by name: ``local``, ``dask`` (a cluster of processes on this
    machine) or ``tcp://host:port`` (the cluster whose scheduler is there). One that is named is closed
    at the end."""
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
    raise UsageError(f"There is no engine {name!r}.", hint="The engines are local, dask and tcp://host:port.")
