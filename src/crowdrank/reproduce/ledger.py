"""The cells of a long table, kept in a file as soon as they are computed: a run that was cut off can go on.

A cell is what one method reached on one draw. Its key is a small dictionary, such as

    {"experiment": "ltrma-h7", "lists": 50, "seed": 3, "method": "LTRMA-MLE"}

and each line of the file is a JSON object with key, version, seconds and value.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from crowdrank.progress import Status, announce, part, watching
from crowdrank.results.fit import versions

Key = Mapping[str, Any]
Value = dict[str, Any]


def canonical(key: Key) -> str:
    """The key as text that does not depend on the order of its entries."""
    return json.dumps(dict(key), sort_keys=True, separators=(",", ":"))


class Ledger:
    """Computed cells by key. With a ``folder`` they are kept there; without one they are only in memory.

    New cells are appended to ``NAME.jsonl`` in the folder. Cells are looked up in all ``.jsonl`` files of the
    folder, so that tables with common cells share them. Cells of another version of crowdrank are computed anew;
    ``outdated`` counts them. A line that is not complete, because its run was killed, is ignored.
    ``progress(words)`` is called before each cell is computed.
    """

    name: str
    progress: Status | None
    version: str
    path: Path | None
    outdated: int

    def __init__(self, name: str, folder: Path | None = None, *, progress: Status | None = None) -> None:
        self.name, self.progress, self.outdated = name, progress, 0
        self.version = versions()["crowdrank"]
        self.path = None if folder is None else folder / f"{name}.jsonl"
        self._cells: dict[str, Value] = {}
        self._seconds: dict[str, float] = {}
        self._others: set[str] = set()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for file in sorted(folder.glob("*.jsonl")):
                self._read(file)

    def fill(self, keys: Iterable[Key], compute: Callable[[Key], Value]) -> None:
        """Compute the cells that are missing, and keep each of them at once."""
        missing = [key for key in keys if canonical(key) not in self._cells]
        for number, key in enumerate(missing, 1):
            if canonical(key) in self._cells:
                continue
            words = ", ".join(f"{name} {value}" for name, value in key.items())
            with watching(self.progress):
                announce(f"{self.name}, cell {number} of {len(missing)}: {words}", number - 1, len(missing))
            began = time.perf_counter()
            with part(number - 1, number, len(missing)):
                value = compute(key)
            self._keep(key, value, time.perf_counter() - began)

    def __getitem__(self, key: Key) -> Value:
        return self._cells[canonical(key)]

    def seconds(self, key: Key) -> float:
        """How long the cell took to compute."""
        return self._seconds[canonical(key)]

    def _keep(self, key: Key, value: Value, seconds: float) -> None:
        self.outdated += canonical(key) in self._others
        line = json.dumps({"key": dict(key), "version": self.version, "seconds": seconds, "value": value})
        if self.path is not None:
            _append_line(self.path, line)
        self._add(line)

    def _read(self, file: Path) -> None:
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            self._add(line)

    def _add(self, line: str) -> None:
        """Take the cell of a line; ignore the line if it is no cell."""
        try:
            cell = json.loads(line)
            key, version = canonical(cell["key"]), cell["version"]
            value, seconds = dict(cell["value"]), float(cell["seconds"])
        except (ValueError, TypeError, KeyError):
            return
        if version != self.version:
            self._others.add(key)
            return
        self._cells[key], self._seconds[key] = value, seconds


def _append_line(path: Path, line: str) -> None:
    """Append a line, after the end of a line that was cut."""
    with path.open("ab+") as file:
        if file.seek(0, 2):
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                line = f"\n{line}"
        file.write(f"{line}\n".encode())
