"""The contract between a model and an engine: Sums on the model's side, Session on the engine's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from crowdrank.errors import UsageError

Params = Mapping[str, Any]
State = Any


@dataclass(frozen=True)
class Stats:
    """What a shard contributes: ``shared`` parts add up, ``local`` parts (one a query) concatenate."""

    shared: dict[str, Any] = field(default_factory=dict)
    local: dict[str, Any] = field(default_factory=dict)

    def joined(self, other: Stats) -> Stats:
        """This shard's statistics and the next one's."""
        import numpy as np

        shared = {name: value + other.shared[name] for name, value in self.shared.items()}
        local = {name: np.concatenate([value, other.local[name]]) for name, value in self.local.items()}
        return Stats(shared, local)


class Pieces:
    """A binary tree of sums over the order of the shards, from the shard ``start`` on.

    The tree depends on the places of the shards alone, so the sum is the same to the bit whoever
    computed which part; and it is cheap for sparse parts, which grow as they are added.
    """

    def __init__(self, start: int = 0) -> None:
        self._end = start
        self._done: list[tuple[int, Stats]] = []  # (height, sum of 2^height shards), in order

    def added(self, parts: Iterable[Stats]) -> list[tuple[int, Stats]]:
        """The sums of the shards that follow, as the tree's largest whole branches."""
        for part in parts:
            self.add(0, part)
        return self._done

    def add(self, height: int, total: Stats) -> None:
        """A branch of 2^height shards that comes next; two that make up a larger one are joined."""
        self._end += 1 << height
        while self._done and self._done[-1][0] == height and self._end % (2 << height) == 0:
            total = self._done.pop()[1].joined(total)
            height += 1
        self._done.append((height, total))

    def total(self) -> Stats:
        """The sum of all."""
        _, total = self._done[-1]
        for _, before in reversed(self._done[:-1]):
            total = before.joined(total)
        return total


def total_of(branches: Iterable[tuple[int, Stats]]) -> Stats:
    """The sum over all shards of branches that follow each other from the first shard on."""
    pieces = Pieces()
    for height, total in branches:
        pieces.add(height, total)
    return pieces.total()


def add_in_order(parts: Iterable[Stats]) -> Stats:
    """The sum of the shards' statistics."""
    return total_of((0, part) for part in parts)


class Sums(Protocol):
    """What a model sums over the judgments: pure functions of a shard, parameters and a state.

    Where ``stateful`` is False the state is None throughout, and no shard is loaded to ask for it.
    """

    stateful: bool

    def start(self, shard: Any, seed: int) -> State | None:
        """The state that a shard begins with (a sampler's chains); None where there is none."""
        ...

    def statistics(self, shard: Any, params: Params, state: State | None) -> tuple[Stats, State | None]:
        """The sums over one shard, and its next state."""
        ...

    def collect(self, shard: Any, params: Params, state: State | None) -> Mapping[str, Any]:
        """Results that belong to the shard itself, such as one row a query."""
        ...


class Stateless:
    """Sums without a state, and without results that belong to a shard."""

    stateful = False

    def start(self, shard: Any, seed: int) -> None:
        """No state."""
        return None

    def collect(self, shard: Any, params: Params, state: None) -> Mapping[str, Any]:
        """Nothing that belongs to a shard."""
        return {}


class Session(Protocol):
    """Sums opened over shards. Sums are taken in the order of the shards, whoever computed them."""

    def evaluate(self, params: Params) -> Stats:
        """The sums at these parameters; states stay as they are."""
        ...

    def advance(self, params: Params) -> Stats:
        """The sums at these parameters; each shard's state is replaced by its next one."""
        ...

    def collect(self, params: Params) -> list[Mapping[str, Any]]:
        """Each shard's own results, in order."""
        ...


class Engine(Protocol):
    """Somewhere to compute."""

    name: str

    def open(self, sums: Sums, shards: Sequence[Any], *, seed: int = 0, checkpoint_every: int = 10) -> Session:
        """A session of these sums over these shards."""
        ...

    def close(self) -> None:
        """Let go of whatever it holds."""
        ...


@contextmanager
def running(engine: Engine | str | None) -> Iterator[Engine]:
    """The engine given, by object or by name: ``local``, ``dask`` (a cluster of processes on this
    machine) or ``tcp://host:port`` (the cluster whose scheduler is there). One that is named is closed
    at the end."""
    if engine is not None and not isinstance(engine, str):
        yield engine
        return
    started = _started(engine or "local")
    try:
        yield started
    finally:
        started.close()


def _started(name: str) -> Engine:
    from crowdrank.engine.local import LocalEngine

    if name == "local":
        return LocalEngine()
    if name == "dask" or "://" in name:
        from crowdrank.engine.dask import DaskEngine

        return DaskEngine(None if name == "dask" else name)
    raise UsageError(f"There is no engine {name!r}.", hint="The engines are local, dask and tcp://host:port.")
