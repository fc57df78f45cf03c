"""Run cases in a child process that may die: it is watched, and started anew behind the case that ended it."""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.fuzz.checks import Finding, inspect_case

MEMORY = 8 << 30
"""Address space of a child: an allocation beyond it ends the child, as it would end a program."""
MOST_STALLED = 60.0
"""Seconds after which a child that does not come to its next case is ended."""

Case = Callable[[], None]
MakeCase = Callable[[int, int, Path], Case]


@dataclass
class Outcomes:
    """How the cases of a task ended."""

    task: str
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def line(self) -> str:
        """A summary in one line."""
        total = self.counts.total()
        kinds = len({finding.kind for finding in self.findings})
        return (
            f"{self.task}: {total:,} inputs in {self.seconds:.0f} s ({total / max(self.seconds, 1e-9):.0f}/s): "
            f"{self.counts['answered']:,} answered, {self.counts['refused']:,} refused, "
            f"{self.counts['finding']:,} findings of {kinds} kinds"
        )


def memory_folder() -> Path:
    """A folder in memory if there is one."""
    shared = Path("/dev/shm")
    return shared if shared.is_dir() and os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


@contextmanager
def _work_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="crowdrank-fuzz-", dir=memory_folder()) as folder:
        yield Path(folder)


def run_watched(task: str, seed: int, first: int, count: int) -> Outcomes:
    """Run cases ``first`` to ``first + count`` of a task in children."""
    found, began, at = Outcomes(task), time.monotonic(), first
    with _work_folder() as folder:
        while at < first + count:
            at = _run_child(found, folder, seed, at, first + count - at)
    found.seconds = time.monotonic() - began
    return found


def _run_child(found: Outcomes, folder: Path, seed: int, first: int, count: int) -> int:
    """Run one child to its end; the number of the next case."""
    pulse = folder / "pulse"
    pulse.write_bytes(struct.pack("q", first))
    words = [sys.executable, "-m", "benchmarks.fuzz", "child", found.task, str(folder)]
    words += ["--seed", str(seed), "--first", str(first), "--count", str(count)]
    said, errors = folder / "stdout", folder / "stderr"
    with said.open("wb") as stdout, errors.open("wb") as stderr:
        child = subprocess.Popen(words, stdout=stdout, stderr=stderr)
        _wait_for(child, pulse)
    for line in said.read_text().splitlines():
        _take(found, json.loads(line))
    at = struct.unpack("q", pulse.read_bytes())[0]
    if child.returncode == 0:
        return first + count
    last = errors.read_text(errors="replace").strip().splitlines()[-1:]
    kind = "stalled" if child.returncode == -signal.SIGKILL else f"the process ended ({child.returncode})"
    found.findings.append(Finding(found.task, seed, at, kind, (last or [""])[0][:300]))
    found.counts["finding"] += 1
    return at + 1


def _wait_for(child: subprocess.Popen[bytes], pulse: Path) -> None:
    """Wait for the end of a child; end it if it does not come to its next case."""
    at, since = b"", time.monotonic()
    while child.poll() is None:
        if pulse.read_bytes() != at:
            at, since = pulse.read_bytes(), time.monotonic()
        if time.monotonic() - since > MOST_STALLED:
            child.send_signal(signal.SIGKILL)
            child.wait()
        time.sleep(0.05)


def _take(found: Outcomes, line: dict[str, object]) -> None:
    if "ended" in line:
        found.counts[str(line["ended"])] += int(str(line["times"]))
    else:
        found.findings.append(Finding(**line))  # type: ignore[arg-type]


def run_here(task: str, make: MakeCase, folder: Path, seed: int, first: int, count: int) -> None:
    """The child: run cases, and print findings and counts as JSON lines. The pulse is the case in work."""
    _limit_memory()
    with (folder / "pulse").open("r+b") as file, mmap.mmap(file.fileno(), 8) as pulse:
        counts: Counter[str] = Counter()
        for number in range(first, first + count):
            pulse[:] = struct.pack("q", number)
            ended, kind, detail = inspect_case(make(seed, number, folder))
            counts[ended] += 1
            if ended == "finding":
                print(json.dumps(Finding(task, seed, number, kind, detail).as_dict()), flush=True)
            if number % 10 == 9 or number == first + count - 1:  # few are lost if the process ends
                for name, times in counts.items():
                    print(json.dumps({"ended": name, "times": times}), flush=True)
                counts.clear()


def _limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
