"""Parquet files are read on trial in another process before they are read in this one.

On a damaged file Polars may panic, or ask for so much memory that the whole process ends. A single flipped bit in
the data is enough, and nothing in the file tells it from a good one. The other process is started with the first
Parquet file and then waits for further ones. The trial decodes only the columns that will be read, and keeps
nothing.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from crowdrank.data.io import trial_process
from crowdrank.data.spool.memory import budget
from crowdrank.errors import InputError

_SPARE = 4 << 30
"""Address space besides the free memory: a process of Polars reserves more than it uses."""


def require_readable(name: str, data: Path | bytes, columns: Sequence[str] = (), rows: int | None = None) -> None:
    """Raise an error if a Parquet file cannot be decoded; without ``columns`` only its schema is tried.

    ``rows``: only the first so many are tried. If no process can be started, the file is not tried.
    """
    if isinstance(data, Path):
        problem = _TRIALS.ask(data, columns, rows)
    else:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "data.parquet"
            copy.write_bytes(data)
            problem = _TRIALS.ask(copy, columns, rows)
    if problem is not None:
        raise damaged_error(name, problem)


def damaged_error(name: str, problem: str) -> InputError:
    """The error for a Parquet file that cannot be decoded."""
    return InputError(
        f"the Parquet file is damaged or cut off ({problem}).",
        source=name,
        hint="Copy or download the file again.",
    )


class _Trials:
    """The other process, started when it is needed and again after a file has ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0  # a fork of this process must not write to the same pipe
        self._possible = True
        self._lock = Lock()
        atexit.register(self.close)

    def ask(self, path: Path, columns: Sequence[str], rows: int | None) -> str | None:
        """What is wrong with a file, or None."""
        with self._lock:
            process = self._process
            if process is None or self._owner != os.getpid() or process.poll() is not None:
                self.close()
                process = self._process = _start() if self._possible else None
                self._owner, self._possible = os.getpid(), process is not None
            if process is None:
                return None
            try:
                request: dict[str, object] = {"path": str(path.resolve()), "columns": list(columns), "rows": rows}
                answer = _exchange(process, request)
            except OSError:
                answer = ""
            if answer:
                return json.loads(answer)
            self.close()
            return "it asks for more memory than there is"

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()


_TRIALS = _Trials()


def _start() -> subprocess.Popen[str] | None:
    """The process, waiting for requests; None if there can be none."""
    memory = 2 * budget(None) + _SPARE
    words = [sys.executable, "-P", str(Path(trial_process.__file__)), str(memory)]
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
        )
    except OSError:
        return None
    assert process.stdout is not None
    if process.stdout.readline().strip() == "ready":
        return process
    process.kill()
    process.communicate()
    return None


def _exchange(process: subprocess.Popen[str], request: dict[str, object]) -> str:
    """The answer of the process; empty if it has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    return process.stdout.readline()
