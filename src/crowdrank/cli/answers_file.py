"""A file of answers that grows: each answer is on disk before the next question is asked."""

from __future__ import annotations

import csv
import fcntl
import io
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from crowdrank.errors import InputError, UsageError


class AnswersFile:
    """A CSV file that answers are appended to. Two runs cannot append to it at once.

    A last line that was cut off, because a run was killed while it wrote, is removed: its answer was never
    complete.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.columns = path, list[str]()

    def __enter__(self) -> Self:
        try:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UsageError(f"--out {self.path}: cannot be written to ({error.strerror}).") from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            raise UsageError(f"--out {self.path}: another run is appending to it.") from None
        content = self.path.read_bytes()
        complete = content.rfind(b"\n") + 1
        if complete < len(content):
            os.ftruncate(self._handle, complete)
        text = content[:complete].decode(errors="replace")
        self.rows = max(sum(1 for _ in csv.reader(io.StringIO(text, newline=""))) - 1, 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        empty = os.fstat(self._handle).st_size == 0
        if empty:
            self.path.unlink()
        os.close(self._handle)

    def expect(self, columns: Sequence[str]) -> None:
        """The columns of the rows to append; a file that has others is an error."""
        self.columns = list(columns)
        with self.path.open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file), self.columns)
        if header != self.columns:
            raise InputError(
                f"the columns must be {', '.join(self.columns)} to append answers.", source=str(self.path),
                value=", ".join(header), hint="Name another file.",
            )  # fmt: skip

    def append(self, values: Sequence[str]) -> None:
        """Write one answer, and wait until it is on disk."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if os.fstat(self._handle).st_size == 0:
            writer.writerow(self.columns)
        writer.writerow(values)
        os.lseek(self._handle, 0, os.SEEK_END)
        os.write(self._handle, text.getvalue().encode())
        os.fsync(self._handle)
        self.rows += 1
