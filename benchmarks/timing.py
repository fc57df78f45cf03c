"""Time and memory of a function, each in a process of its own so that nothing is shared."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def best(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The shortest of several runs, and the last result."""
    seconds, result = [], None
    for _ in range(repeats):
        began = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


def peak() -> float:
    """Peak memory of this process so far, in MB; getrusage would count the parent's from before the start."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def alone(module: str, *words: str) -> dict[str, float]:
    """Run ``python -m module words`` and read the JSON that it prints on its last line."""
    done = subprocess.run([sys.executable, "-m", module, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
