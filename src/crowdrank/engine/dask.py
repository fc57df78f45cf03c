"""Sums on a Dask cluster: one task for each worker and iteration.

The shards are cut into as many blocks as there are workers. They enter as arguments of tasks, in
memory or as the paths of files, so that the scheduler can make them again when a worker is lost;
what was scattered would be lost with it. States are chained from task to task, and every few
iterations they come home and go out again as arguments, so that the chain stays short.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from operator import itemgetter
from typing import Any
from urllib.parse import urlsplit

from crowdrank.engine.base import Params, Pieces, State, Stats, Sums, one_blas_thread, total_of
from crowdrank.engine.local import mapped
from crowdrank.errors import CrowdrankError, UsageError

PACKAGES = ("crowdrank", "numpy", "scipy", "polars")
"""What must be the same on the workers for the same result."""

CHUNK_BYTES = 8 << 20


class DaskEngine:
    """A Dask cluster: the one at ``address`` (``tcp://host:port``), or one of processes on this machine.

    A local cluster brings no speed over threads; it is there to try out what will run elsewhere. A
    script that starts one needs ``if __name__ == "__main__":``, as its processes import the script.
    """

    name = "dask"

    def __init__(self, address: str | None = None, *, workers: int | None = None) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            hint = "pip install 'crowdrank[cluster]'"
            raise UsageError("The engine dask needs the packages dask and distributed.", hint=hint) from None
        self._cluster: Any = None
        if address is None:
            self._cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
            )
        else:
            _knock(address)
        self.client: Any = distributed.Client(self._cluster or address, set_as_default=False)
        try:
            self._check()
        except CrowdrankError:
            self.close()
            raise

    def _check(self) -> None:
        """The cluster has workers, and they have the versions that are here."""
        found = self.client.get_versions(packages=list(PACKAGES))["workers"]
        if not found:
            raise CrowdrankError("The cluster has no workers.", hint="Start some: dask worker tcp://host:port")
        for address, worker in found.items():
            for package in PACKAGES:
                here, there = _version(package), worker["packages"].get(package)
                if here != there:
                    raise CrowdrankError(
                        f"The worker {address} has {package} {there or 'not at all'}, and here it is {here}.",
                        hint="Install the same versions on all machines of the cluster.",
                    )

    def open(self, sums: Sums, shards: Sequence[Any], *, seed: int = 0, checkpoint_every: int = 10) -> DaskSession:
        """A session of these sums over these shards."""
        with _readable():
            return DaskSession(self.client, sums, shards, seed, checkpoint_every)

    def close(self) -> None:
        """Leave the cluster; a local one ends."""
        self.client.close()
        if self._cluster is not None:
            self._cluster.close()


@dataclass
class _Block:
    """Shards that follow each other, and the worker that should have them."""

    start: int
    worker: str
    chunks: list[Any] = field(default_factory=list)  # futures of shards
    states: Any = None  # a future of their states; None where there are none


class DaskSession:
    """Sums over shards on the workers of a cluster, added in the order of the shards."""

    def __init__(self, client: Any, sums: Sums, shards: Sequence[Any], seed: int, checkpoint_every: int) -> None:
        self._client, self._sums, self._every = client, sums, checkpoint_every
        self._steps = 0
        self._blocks = [self._held(block, shards) for block in _blocks(len(shards), sorted(client.nthreads()))]
        states = self._submit(_start, lambda block: (sums, seed))
        if any(client.gather(self._each(_has_state, states))):
            for block, own in zip(self._blocks, states, strict=True):
                block.states = own

    def _held(self, block: tuple[int, int, str], shards: Sequence[Any]) -> _Block:
        start, end, worker = block
        chunks = [self._task(worker, _hold, chunk) for chunk in _chunks(shards[start:end])]
        return _Block(start, worker, chunks)

    def evaluate(self, params: Params) -> Stats:
        """The sums; states stay."""
        return self._total(self._submit(_pieces, lambda block: (block.start, self._sums, params, block.states)))

    def advance(self, params: Params) -> Stats:
        """The sums; states move on."""
        if self._blocks[0].states is None:
            return self.evaluate(params)
        steps = self._submit(_advance, lambda block: (block.start, self._sums, params, block.states))
        for block, states in zip(self._blocks, self._each(itemgetter(1), steps), strict=True):
            block.states = states
        total = self._total(self._each(itemgetter(0), steps))
        self._steps += 1
        if self._steps % self._every == 0:
            self._checkpoint()
        return total

    def collect(self, params: Params) -> list[Mapping[str, Any]]:
        """Each shard's own results."""
        futures = self._submit(_collect, lambda block: (self._sums, params, block.states))
        with _readable():
            return [result for results in self._client.gather(futures) for result in results]

    def _checkpoint(self) -> None:
        """The states come home and go out again, without the tasks that made them."""
        with _readable():
            found = self._client.gather([block.states for block in self._blocks])
        for block, states in zip(self._blocks, found, strict=True):
            block.states = self._task(block.worker, _hold, states)

    def _total(self, futures: list[Any]) -> Stats:
        with _readable():
            return total_of(piece for pieces in self._client.gather(futures) for piece in pieces)

    def _submit(self, function: Callable[..., Any], given: Callable[[_Block], tuple[Any, ...]]) -> list[Any]:
        """One task for each block: the function of what is given and of the block's shards."""
        return [self._task(block.worker, function, *given(block), *block.chunks) for block in self._blocks]

    def _each(self, function: Callable[..., Any], futures: list[Any]) -> list[Any]:
        return [
            self._task(block.worker, function, future) for block, future in zip(self._blocks, futures, strict=True)
        ]

    def _task(self, worker: str, function: Callable[..., Any], *given: Any) -> Any:
        return self._client.submit(function, *given, workers=[worker], allow_other_workers=True, pure=False)


# ------------------------------------------------------------------------------------ what workers run


def _hold(values: Any) -> Any:
    return values


def _start(sums: Sums, seed: int, *chunks: list[Any]) -> list[State | None]:
    return [sums.start(shard.load(), seed) for chunk in chunks for shard in chunk]


def _has_state(states: list[State | None]) -> bool:
    return any(state is not None for state in states)


def _mapped(
    function: Callable[..., Any], params: Params, states: list[State | None] | None, chunks: tuple[list[Any], ...]
) -> Iterator[Any]:
    """The function of each shard, on all threads of the worker."""
    from distributed import get_worker

    shards = [shard for chunk in chunks for shard in chunk]
    with one_blas_thread():
        yield from mapped(function, shards, params, states or [None] * len(shards), get_worker().state.nthreads)


def _pieces(
    start: int, sums: Sums, params: Params, states: list[State | None] | None, *chunks: list[Any]
) -> list[tuple[int, Stats]]:
    return Pieces(start).added(stats for stats, _ in _mapped(sums.statistics, params, states, chunks))


def _advance(
    start: int, sums: Sums, params: Params, states: list[State | None], *chunks: list[Any]
) -> tuple[list[tuple[int, Stats]], list[State | None]]:
    results = list(_mapped(sums.statistics, params, states, chunks))
    return Pieces(start).added(stats for stats, _ in results), [state for _, state in results]


def _collect(
    sums: Sums, params: Params, states: list[State | None] | None, *chunks: list[Any]
) -> list[Mapping[str, Any]]:
    return list(_mapped(sums.collect, params, states, chunks))


# ------------------------------------------------------------------------------------------- helpers


def _knock(address: str) -> None:
    """Is anybody there? Dask itself would try for half a minute."""
    parts = urlsplit(address)
    try:
        if not parts.hostname or not parts.port:
            raise ValueError("it is not an address")
        socket.create_connection((parts.hostname, parts.port), timeout=10).close()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"There is no Dask scheduler at {address}: {error}.", hint="An address is tcp://host:port"
        ) from error


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _blocks(shards: int, workers: list[str]) -> list[tuple[int, int, str]]:
    """(start, end, worker): as equal as can be."""
    count = min(len(workers), shards)
    cuts = [round(shards * place / count) for place in range(count + 1)]
    return list(zip(cuts, cuts[1:], workers, strict=False))


def _chunks(shards: Sequence[Any]) -> Iterator[list[Any]]:
    """The shards in messages of a size that the scheduler takes without complaint."""
    chunk: list[Any] = []
    size = 0
    for shard in shards:
        own = getattr(shard, "nbytes", 0)  # a path weighs nothing
        if chunk and size + own > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(shard)
        size += own
    yield chunk


@contextmanager
def _readable() -> Iterator[None]:
    """What goes wrong on the cluster, in words."""
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise CrowdrankError(
            f"The workers of the cluster were lost again and again: {error}",
            hint="Most often they ran out of memory: give them more, or use more of them.",
        ) from error
    except FileNotFoundError as error:
        raise CrowdrankError(
            f"The workers of the cluster cannot read {error.filename or error}.",
            hint="Judgments on disk must lie in a folder that all machines share: --spool DIR",
        ) from error
