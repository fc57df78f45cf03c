"""How many threads this process may use, and how many of them BLAS may have.

A process may be limited to some CPUs of the machine (its affinity) or to a share of their time (the quota of its
control group, as in a container). Further threads only wait for each other, and BLAS threads wait in busy loops.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path("/")
MOST_THREADS = 8
"""The most threads an engine uses by default."""
BLAS_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
V1_MOUNTS = ("cpu", "cpu,cpuacct")
V2_MOUNTS = ("", "unified")

_thread = threading.local()


def available_threads(root: Path = ROOT) -> int:
    """How many threads can run at once: the CPUs of the affinity or the smallest CPU quota (rounded up), if less.

    ``root`` is the folder that contains ``proc`` and ``sys``.
    """
    return max(1, min([_affinity(), *map(math.ceil, cpu_quotas(root))]))


def engine_threads() -> int:
    """The default number of threads of an engine."""
    return min(MOST_THREADS, available_threads())


def blas_threads(environ: Mapping[str, str] = os.environ) -> int:
    """How many threads BLAS may use: all available ones, or fewer if an environment variable says so."""
    limits = [own for name in BLAS_LIMITS if (own := _positive(environ.get(name, "")))]
    return min([available_threads(), *limits])


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread.

    With small matrices, BLAS threads would only wait for each other and for ours. Also, the rounding of BLAS sums
    depends on the number of threads.
    """
    return _limit_blas(1)


def all_blas_threads() -> AbstractContextManager[Any]:
    """Let BLAS use all its threads. Within a thread of a ``thread_pool`` this does nothing.

    The threads of a pool already share the CPUs, and the number of BLAS threads applies to the whole process.
    """
    return nullcontext() if getattr(_thread, "of_pool", False) else _limit_blas(blas_threads())


def thread_pool(threads: int) -> ThreadPoolExecutor:
    """A pool of threads that do not request more BLAS threads."""
    return ThreadPoolExecutor(threads, initializer=_join_pool)


def cpu_quotas(root: Path = ROOT) -> Iterator[float]:
    """The CPU quotas of the control groups of this process and of their parents, in CPUs."""
    for controllers, path in _control_groups(root / "proc/self/cgroup"):
        unified = not controllers
        if unified or "cpu" in controllers.split(","):
            for mount in V2_MOUNTS if unified else V1_MOUNTS:
                for folder in _folders(root / "sys/fs/cgroup" / mount, path):
                    quota = _quota_v2(folder) if unified else _quota_v1(folder)
                    if quota is not None:
                        yield quota


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _control_groups(file: Path) -> Iterator[tuple[str, str]]:
    """Controllers and path of each line ``number:controllers:path``; version 2 has no controllers."""
    for line in _words(file, "\n"):
        _, controllers, path = line.split(":", 2)
        yield controllers, path


def _folders(mount: Path, path: str) -> Iterator[Path]:
    """The folder of a control group and those of its parents.

    In a container, the mount itself may be the group. The path may be that of the host or lead above the mount.
    """
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    for end in range(len(parts), -1, -1):
        yield mount.joinpath(*parts[:end])


def _quota_v2(folder: Path) -> float | None:
    """``cpu.max`` holds the quota and the period, or ``max`` if there is no limit."""
    return _ratio(_words(folder / "cpu.max"))


def _quota_v1(folder: Path) -> float | None:
    """The quota is -1 if there is no limit."""
    return _ratio([*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")])


def _ratio(words: list[str]) -> float | None:
    quota, period = map(_positive, words) if len(words) == 2 else (None, None)
    return quota / period if quota and period else None


def _words(file: Path, separator: str | None = None) -> list[str]:
    """The words of a file, or an empty list if it cannot be read."""
    with suppress(OSError):
        return [word for word in file.read_text().split(separator) if word]
    return []


def _positive(text: str) -> int | None:
    """A number above 0, or the first one of a list such as ``4,2``. None for anything else."""
    first = text.split(",")[0].strip()
    return int(first) or None if first.isdecimal() else None


def _join_pool() -> None:
    _thread.of_pool = True


def _limit_blas(threads: int) -> AbstractContextManager[Any]:
    import scipy.linalg  # noqa: F401 - has its own BLAS, which must be loaded to be limited
    from threadpoolctl import threadpool_limits

    return threadpool_limits(threads, user_api="blas")
