"""How much memory judgments may take before they are kept on disk."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from crowdrank.errors import Remedy, UsageError

ROW_BYTES = 160
"""Bytes per pair at the peak of a crowd-bt fit, as measured by benchmarks/growth.py."""

TEXT_SHARE = 4
"""Text that must be held in memory may take 1 / ``TEXT_SHARE`` of the memory for its rows."""

_UNKNOWN = 4 * 10**9
"""The free memory that is assumed if the system does not report it."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def budget(given: str | int | None) -> int:
    """Bytes, from ``8GB``, ``500MB`` or a number; half of the free memory if nothing is given."""
    if given is None:
        return _available() // 2
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", str(given), re.IGNORECASE)
    if not found:
        raise UsageError(
            f"memory must be an amount. Got {given!r}.", hint=("For example ", Remedy("memory", "8GB"))
        )
    return int(float(found[1]) * _UNITS[found[2].lower()])


def _available() -> int:
    """Free bytes of this machine, or of the container if that is less."""
    return max(min(_machine(), *(_container(Path(folder), *names) for folder, *names in _CONTAINERS)), 0)


_CONTAINERS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def _container(folder: Path, limit: str, used: str) -> int:
    """Bytes that a container may still take; cached files can be dropped, so they count as free."""
    try:
        free = int((folder / limit).read_text()) - int((folder / used).read_text())
        remembered = re.search(r"^inactive_file (\d+)", (folder / "memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):  # no such container, or one without a limit
        return sys.maxsize
    return free + (int(remembered[1]) if remembered else 0)


def _machine() -> int:
    try:
        free = re.search(r"MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        free = None
    if free:
        return int(free[1]) * 1024
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return _UNKNOWN
