"""The contract between a model and an engine: Sums on the model's side, Session on the engine's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def add_in_order(parts: Iterable[Stats]) -> Stats:
    """The sum of the shards' statistics, by a binary tree over their order: the same to the bit whoever
    computed them, and cheap for sparse parts, which grow as they are added."""
    stack: list[tuple[int, Stats]] = []  # (height of the tree, its sum), heights falling
    for part in parts:
        height, total = 0, part
        while stack and stack[-1][0] == height:
            total = stack.pop()[1].joined(total)
            height += 1
        stack.append((height, total))
    _, total = stack.pop()
    while stack:
        total = stack.pop()[1].joined(total)
    return total


class Sums(Protocol):
    """What a model sums over the judgments: pure functions of a shard, parameters and a state."""

    def start(self, shard: Any, seed: int) -> State | None:
        """The state that a shard begins with (a sampler's chains); None where there is none."""
        ...

    def statistics(self, shard: Any, params: Params, state: State | None) -> tuple[Stats, State | None]:
        """The sums over one shard, and its next state."""
        ...

    def collect(self, shard: Any, params: Params, state: State | None) -> Mapping[str, Any]:
        """Results that belong to the shard itself, such as one row a query."""
        ...


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


def open_session(engine: Engine | str | None, sums: Sums, shards: Sequence[Any], *, seed: int = 0) -> Session:
    """A session on the engine given, by object or by name; local threads where none is."""
    return find_engine(engine).open(sums, shards, seed=seed)


def find_engine(engine: Engine | str | None) -> Engine:
    """The engine of that name: ``local``, or the engine object itself."""
    from crowdrank.engine.local import LocalEngine

    if engine is None or engine == "local":
        return LocalEngine()
    if isinstance(engine, str):
        raise UsageError(f"There is no engine {engine!r}.", hint="The engines are: local.")
    return engine
