"""Sums on a Dask cluster: one task per worker and iteration.

The shards are cut into as many blocks as there are workers. They are passed as arguments of tasks, in memory or
as file paths, so the scheduler can rebuild them if a worker is lost. Scattered data would be lost with the worker.
States are chained from task to task. Every few iterations they are gathered and sent out again as arguments, so
the chain stays short.
"""

from __future__ import annotations

import atexit
import logging
import shutil
import signal
import socket
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from operator import itemgetter
from typing import Any, overload
from urllib.parse import urlsplit

from crowdrank.engine.base import Branches, R, S, Session, State, StateSession, Stats, sum_branches
from crowdrank.engine.local import map_shards
from crowdrank.engine.threads import available_threads, one_blas_thread, thread_pool
from crowdrank.errors import CrowdrankError, Remedy, UsageError

PACKAGES = ("crowdrank", "numpy", "scipy", "polars")
"""Packages whose versions must match on the workers to get the same result."""

CHUNK_BYTES = 8 << 20
PATIENCE = 60.0
"""How many seconds a cluster may be without a scheduler or workers before a fit gives up."""

ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 25}
"""Memory that the workers of our own cluster keep for their next arrays. By default, Dask makes them return all of
it to the system at once, and a round of arrays of about 100 KB then takes twice as long."""

_ENVIRON = "distributed.nanny.pre-spawn-environ"
_LOOK = 5.0
_ADDRESS = "An address is tcp://host:port"


class DaskEngine:
    """A Dask cluster: the one at ``address`` (``tcp://host:port``), or one made of processes on this machine.

    A local cluster is no faster than threads. Use it to try out what will run elsewhere. A script that starts one
    needs ``if __name__ == "__main__":``, because the processes import the script.

    >>> import crowdrank as cr
    >>> engine = cr.DaskEngine(workers=1)
    >>> model = cr.BradleyTerry().fit([("a", "b"), ("a", "b"), ("b", "a")], engine=engine)
    >>> engine.close()
    >>> model.fit_.engine
    'dask'
    """

    name = "dask"

    def __init__(self, address: str | None = None, *, workers: int | None = None) -> None:
        self._remove_scratch: Callable[[], None] | None = None
        scratch = None if address is not None else self._make_scratch()
        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            hint = "pip install 'crowdrank[cluster]'"
            raise UsageError("The engine dask needs the packages dask and distributed.", hint=hint) from None
        self._cluster: Any = None
        self.client: Any = None
        self._held: deque[tuple[Sequence[Any], list[_ShardBlock]]] = deque(maxlen=2)
        if address is None:
            environment = {f"{_ENVIRON}.{name}": size for name, size in ALLOCATOR.items()}
            with import_module("dask").config.set(environment), _children_without_interrupts():
                self._cluster = distributed.LocalCluster(
                    n_workers=workers or available_threads(),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                    local_directory=scratch,
                )
        else:
            _check_address(address)
        try:
            self.client = _connect(distributed, self._cluster or address)
            self._check()
            if self._cluster is not None:
                self.client.run(_stop_quietly)
        except BaseException:  # Ctrl-C too: workers that are left behind would complain at the end
            self.close()
            raise

    def _make_scratch(self) -> str:
        """A folder for the workers of our own cluster. It goes when the engine is closed, or the process ends.

        What is registered first runs last: Dask, which is imported later, stops the workers of a cluster that was
        interrupted while it started, and they would complain about a folder that is gone.
        """
        scratch = tempfile.mkdtemp(prefix="crowdrank-dask-")
        self._remove_scratch = partial(shutil.rmtree, scratch, ignore_errors=True)
        atexit.register(self._remove_scratch)
        return scratch

    def _check(self) -> None:
        """Raise an error unless the cluster has workers with the same package versions as this process."""
        found = self.client.get_versions(packages=list(PACKAGES))
        if not found["workers"]:
            raise CrowdrankError("The cluster has no workers.", hint="Start some: dask worker tcp://host:port")
        for address, worker in found["workers"].items():
            for package in PACKAGES:
                here, there = (place["packages"].get(package) for place in (found["client"], worker))
                if here != there:
                    raise CrowdrankError(
                        f"The worker {address} has {package} {there or 'not installed'}, but here it is {here}.",
                        hint="Install the same versions on all machines of the cluster.",
                    )

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
    ) -> DaskSession:
        """A session over these shards. Shards sent for the most recent sessions are not sent again."""
        held = next((blocks for own, blocks in self._held if own is shards), None)
        session = DaskSession(self.client, shards, held, start, seed, checkpoint_every)
        if held is None:
            self._held.append((shards, session.blocks))
        return session

    def close(self) -> None:
        """Disconnect from the cluster, and shut it down if it is local."""
        if self.client is not None:
            self.client.close()
        if self._cluster is not None:
            self._cluster.close()
        if self._remove_scratch is not None:
            self._remove_scratch()
            atexit.unregister(self._remove_scratch)


@dataclass
class _ShardBlock:
    """Consecutive shards: the first one, the worker that should hold them, and their futures."""

    start: int
    worker: str
    chunks: list[Any]


class DaskSession:
    """Sums over shards on the workers of a cluster, added in the order of the shards."""

    blocks: list[_ShardBlock]

    def __init__(
        self,
        client: Any,
        shards: Sequence[Any],
        held: list[_ShardBlock] | None,
        start: Callable[[Any, int], Any] | None,
        seed: int,
        checkpoint_every: int,
    ) -> None:
        self._client, self._every = client, checkpoint_every
        self._steps = 0
        self.blocks = held or [
            _ShardBlock(first, worker, [self._task(worker, _hold, chunk) for chunk in _chunks(shards[first:end])])
            for first, end, worker in _cut_blocks(len(shards), sorted(client.nthreads()))
        ]
        self._states: list[Any] = [None] * len(self.blocks)  # futures of each block's states
        if start is not None:
            self._states = [
                self._task(block.worker, _start_states, start, seed, *block.chunks) for block in self.blocks
            ]

    def evaluate(self, function: Callable[..., S], params: Any) -> S:
        """The sum. The states do not change."""
        return self._total(self._submit(_evaluate, function, params))

    def advance(self, function: Callable[..., tuple[S, Any]], params: Any) -> S:
        """The sum. The states advance."""
        steps = self._submit(_advance, function, params)
        self._states = self._map_blocks(itemgetter(1), steps)
        total: S = self._total(self._map_blocks(itemgetter(0), steps))
        self._steps += 1
        if self._steps % self._every == 0:
            self._states = self._map_blocks(_hold, self._gather(self._states))  # drop the tasks that made them
        return total

    def collect(self, function: Callable[..., R], params: Any) -> list[R]:
        """The value of the function for each shard."""
        results = self._gather(self._submit(_collect, function, params))
        return [result for own in results for result in own]

    def _total(self, futures: list[Any]) -> Any:
        return sum_branches(branch for branches in self._gather(futures) for branch in branches)

    def _send(self, params: Any) -> Any:
        """Parameters go with each task. Large ones are sent once, and the workers pass them on."""
        return (
            self._client.submit(_hold, params, pure=False)
            if _parameter_bytes(params) > CHUNK_BYTES // 8
            else params
        )

    def _submit(self, task: Callable[..., Any], function: Callable[..., Any], params: Any) -> list[Any]:
        """One task per block, with its start, the function, its parameters, the states and the shards."""
        given = self._send(params)
        return [
            self._task(block.worker, task, block.start, function, given, own, *block.chunks)
            for block, own in zip(self.blocks, self._states, strict=True)
        ]

    def _map_blocks(self, function: Callable[..., Any], values: list[Any]) -> list[Any]:
        """Apply the function to the value of each block, on the worker of that block."""
        return [self._task(block.worker, function, own) for block, own in zip(self.blocks, values, strict=True)]

    def _task(self, worker: str, function: Callable[..., Any], *given: Any) -> Any:
        return self._client.submit(function, *given, workers=[worker], allow_other_workers=True, pure=False)

    def _gather(self, futures: list[Any]) -> list[Any]:
        """The results. Raises an error if the cluster is gone for PATIENCE seconds."""
        distributed: Any = import_module("distributed")
        alone = 0.0
        with _reword_errors(), self._client.as_current():
            while True:
                try:
                    distributed.wait(futures, timeout=_LOOK)
                    break
                except TimeoutError:
                    present = self._client.status == "running" and self._client.nthreads()
                    alone = 0.0 if present else alone + _LOOK
                    if alone >= PATIENCE:
                        raise CrowdrankError("The cluster is gone: its scheduler or all its workers.") from None
            return list(self._client.gather(futures))


# ------------------------------------------------------------------------------------ what workers run


def _hold(values: Any) -> Any:
    return values


def _connect(distributed: Any, place: Any) -> Any:
    """A client of the cluster, or of the scheduler at this address."""
    try:
        return distributed.Client(place, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"There is no Dask scheduler at {place}: {error}.", hint=_ADDRESS) from error


@contextmanager
def _children_without_interrupts() -> Iterator[None]:
    """Processes that are started in this block never see Ctrl-C, not even while they start: only this one answers.

    They inherit the signals blocked in the thread that starts them, and that thread inherits ours. Python's
    resource tracker would unblock them, so it is started before.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    import_module("multiprocessing.resource_tracker").ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop_quietly() -> None:
    """On a worker: no Ctrl-C, and no warning about each task that is cancelled when the cluster closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("distributed.worker.state_machine").setLevel(logging.ERROR)


def _start_states(start: Callable[[Any, int], State], seed: int, *chunks: list[Any]) -> list[State]:
    return [start(shard.load(), seed) for chunk in chunks for shard in chunk]


def _map(
    function: Callable[..., R], params: Any, states: list[Any] | None, chunks: tuple[list[Any], ...]
) -> Iterator[R]:
    """The value of the function for each shard, on all threads of the worker."""
    from distributed import get_worker

    shards = [shard for chunk in chunks for shard in chunk]
    with one_blas_thread(), thread_pool(get_worker().state.nthreads) as pool:
        yield from map_shards(function, shards, params, states, pool)


def _evaluate(
    start: int, function: Callable[..., S], params: Any, states: list[Any] | None, *chunks: list[Any]
) -> list[tuple[int, S]]:
    return Branches[S](start).extend(_map(function, params, states, chunks))


def _advance(
    start: int, function: Callable[..., tuple[Stats, Any]], params: Any, states: list[Any], *chunks: list[Any]
) -> tuple[list[tuple[int, Stats]], list[Any]]:
    results = list(_map(function, params, states, chunks))
    return Branches[Stats](start).extend(stats for stats, _ in results), [state for _, state in results]


def _collect(
    start: int, function: Callable[..., R], params: Any, states: list[Any] | None, *chunks: list[Any]
) -> list[R]:
    return list(_map(function, params, states, chunks))


# ------------------------------------------------------------------------------------------- helpers


def _parameter_bytes(params: Any) -> int:
    """The size in bytes of the arrays in the parameters."""
    if params is None:
        return 0
    return sum(getattr(getattr(params, part.name), "nbytes", 0) for part in fields(params))


def _check_address(address: str) -> None:
    """Raise an error if nothing answers at the address. Dask itself would try for half a minute."""
    parts = urlsplit(address)
    try:
        if not parts.hostname or not parts.port:
            raise ValueError("it is not an address")
        socket.create_connection((parts.hostname, parts.port), timeout=10).close()
    except (OSError, ValueError) as error:
        raise UsageError(f"There is no Dask scheduler at {address}: {error}.", hint=_ADDRESS) from error


def _cut_blocks(shards: int, workers: list[str]) -> list[tuple[int, int, str]]:
    """(start, end, worker) of each block, with sizes as equal as possible."""
    count = min(len(workers), shards)
    cuts = [round(shards * place / count) for place in range(count + 1)]
    return list(zip(cuts, cuts[1:], workers, strict=False))


def _chunks(shards: Sequence[Any]) -> Iterator[list[Any]]:
    """The shards in messages small enough (below 10 MB) for the scheduler to accept without a warning."""
    chunk: list[Any] = []
    size = 0
    for shard in shards:
        own = getattr(shard, "nbytes", 0)  # a path counts as 0 bytes
        if chunk and size + own > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(shard)
        size += own
    yield chunk


@contextmanager
def _reword_errors() -> Iterator[None]:
    """Turn errors of the cluster into readable ones."""
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except (CancelledError, CommClosedError) as error:
        raise CrowdrankError(f"The cluster is gone: {error}") from error
    except KilledWorker as error:
        raise CrowdrankError(
            f"The cluster lost its workers repeatedly: {error}",
            hint="They most likely ran out of memory. Give them more memory, or use more workers.",
        ) from error
    except FileNotFoundError as error:
        raise CrowdrankError(
            f"The workers of the cluster cannot read {error.filename or error}.",
            hint=("Judgments on disk must be in a folder that all machines share. Use ", Remedy("spool", "DIR")),
        ) from error
