"""Sums on this machine, in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from crowdrank.engine.base import Params, State, Stats, Sums, add_in_order
from crowdrank.engine.threads import engine_threads, thread_pool


class LocalEngine:
    """Threads of this process; NumPy lets go of the interpreter lock inside its loops."""

    name = "local"

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or engine_threads()

    def open(
        self, sums: Sums, shards: Sequence[Any], *, seed: int = 0, checkpoint_every: int = 10
    ) -> LocalSession:
        """A session; there is nothing to checkpoint within one process."""
        return LocalSession(sums, shards, seed, self.threads)

    def close(self) -> None:
        """Nothing is held between sessions."""


class LocalSession:
    """Sums over shards in this process, added in the order of the shards."""

    def __init__(self, sums: Sums, shards: Sequence[Any], seed: int, threads: int) -> None:
        self._sums, self._shards, self._threads = sums, shards, threads
        self._states: list[State | None] = [None] * len(shards)
        if sums.stateful:
            self._states = [sums.start(shard.load(), seed) for shard in shards]

    def evaluate(self, params: Params) -> Stats:
        """The sums; states stay."""
        return add_in_order(stats for stats, _ in self._map(self._sums.statistics, params))

    def advance(self, params: Params) -> Stats:
        """The sums; states move on."""
        results = list(self._map(self._sums.statistics, params))
        self._states = [state for _, state in results]
        return add_in_order(stats for stats, _ in results)

    def collect(self, params: Params) -> list[Mapping[str, Any]]:
        """Each shard's own results."""
        return list(self._map(self._sums.collect, params))

    def _map(self, function: Callable[..., Any], params: Params) -> Iterator[Any]:
        return mapped(function, self._shards, params, self._states, self._threads)


def mapped(
    function: Callable[..., Any],
    shards: Sequence[Any],
    params: Params,
    states: Sequence[State | None],
    threads: int,
) -> Iterator[Any]:
    """The function of each shard, the parameters and the shard's state, in the order of the shards."""

    def run(shard: Any, state: State | None) -> Any:
        return function(shard.load(), params, state)

    if threads == 1 or len(shards) == 1:
        yield from map(run, shards, states)
        return
    with thread_pool(threads) as pool:
        yield from pool.map(run, shards, states)
