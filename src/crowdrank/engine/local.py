"""Sums on this machine, in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, overload

from crowdrank.engine.base import R, S, Session, State, StateSession, sum_in_order
from crowdrank.engine.threads import engine_threads, thread_pool


class LocalEngine:
    """Threads of this process. NumPy releases the interpreter lock inside its loops.

    >>> import crowdrank as cr
    >>> votes = [("a", "b"), ("a", "b"), ("b", "a")]
    >>> one, two = (cr.BradleyTerry().fit(votes, engine=cr.LocalEngine(threads=n)).ranking_ for n in (1, 2))
    >>> bool((one.score == two.score).all())  # to the last bit
    True
    """

    threads: int

    name = "local"

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or engine_threads()

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

    def open(
        self,
        shards: Sequence[Any],
        *,
        start: Callable[[Any, int], Any] | None = None,
        seed: int = 0,
        checkpoint_every: int = 10,
    ) -> LocalSession:
        """A session. Within one process there is nothing to checkpoint."""
        return LocalSession(shards, start, seed, self.threads)

    def close(self) -> None:
        """Do nothing: no resources are kept between sessions."""


class LocalSession:
    """Sums over shards in this process, added in the order of the shards."""

    def __init__(
        self, shards: Sequence[Any], start: Callable[[Any, int], Any] | None, seed: int, threads: int
    ) -> None:
        self._shards, self._threads = shards, min(threads, len(shards))
        self._states = None if start is None else [start(shard.load(), seed) for shard in shards]

    def evaluate(self, function: Callable[..., S], params: Any) -> S:
        """The sum. The states do not change."""
        return sum_in_order(self._map(function, params))

    def advance(self, function: Callable[..., tuple[S, Any]], params: Any) -> S:
        """The sum. The states advance."""
        results = list(self._map(function, params))
        self._states = [state for _, state in results]
        return sum_in_order(stats for stats, _ in results)

    def collect(self, function: Callable[..., R], params: Any) -> list[R]:
        """The value of the function for each shard."""
        return list(self._map(function, params))

    def _map(self, function: Callable[..., R], params: Any) -> Iterator[R]:
        return map_shards(function, self._shards, params, self._states, self._pool)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor | None:
        """The threads of all sums of this session: a small sum takes less time than starting them."""
        return thread_pool(self._threads) if self._threads > 1 else None


def map_shards(
    function: Callable[..., R],
    shards: Sequence[Any],
    params: Any,
    states: Sequence[Any] | None,
    pool: ThreadPoolExecutor | None,
) -> Iterator[R]:
    """The value of the function for each shard, in order. The function also takes the state, if there is one.

    ``pool``: the threads to run in, or None for this one.
    """

    def run(shard: Any, *state: Any) -> R:
        return function(shard.load(), params, *state)

    given = (shards,) if states is None else (shards, states)
    return map(run, *given) if pool is None else pool.map(run, *given)
