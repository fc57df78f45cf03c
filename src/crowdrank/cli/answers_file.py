"""A file of answers that grows: each answer is on disk before the next question is asked."""

from __future__ import annotations

import csv
import errno
import fcntl
import io
import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from crowdrank.cli.messages import keep, warn_about
from crowdrank.cli.output import naming_full_disks
from crowdrank.cli.signals import deferred_signals
from crowdrank.errors import InputError, UsageError, count_noun

NEEDED = {"question", "worker", "left", "right", "label"}
HEADERS = ("question,worker,left,right,label", "question,query,worker,left,right,label")
"""The first line of a file of answers, without queries and with them."""
LOCK_TRIES, LOCK_PAUSE = 20, 0.05
"""How often a file that is locked is tried, and the seconds in between."""


class AnswersFile:
    """A CSV file that answers are appended to. Two runs cannot append to it at once.

    A last line that was cut off, because a run was killed while it wrote, is removed with a warning: its answer
    was never complete.
    """

    path: Path
    header: list[str]
    columns: list[str]
    rows: int

    def __init__(self, path: Path) -> None:
        self.path, self.columns = path, list[str]()

    def __enter__(self) -> Self:
        self._made = not os.path.lexists(self.path)
        try:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UsageError(f"--out {self.path}: cannot be written to ({error.strerror}).") from error
        if not stat.S_ISREG(os.fstat(self._handle).st_mode):
            os.close(self._handle)
            raise UsageError(f"--out {self.path}: answers can only be appended to a file.")
        if not _lock(self._handle):
            os.close(self._handle)
            raise UsageError(f"--out {self.path}: another run is appending to it.")
        content = self.path.read_bytes()
        self.header = next(iter(_rows(content)), [])
        self._check_header(content)
        self.rows = self._repair(content)
        keep(
            f"{count_noun(self.rows, 'answer is', 'answers are')} in {self.path}"
            if self.rows
            else "nothing was asked"
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._made and os.fstat(self._handle).st_size == 0:
            self.path.unlink()
        os.close(self._handle)

    def _repair(self, content: bytes) -> int:
        """How many answers there are. A last line that was cut off is removed; one that is complete is ended."""
        rows = _rows(content)
        if content and not content.endswith(b"\n"):
            if len(rows) > 1 and _is_complete(dict(zip(rows[0], rows[-1], strict=False))):
                os.lseek(self._handle, 0, os.SEEK_END)
                os.write(self._handle, b"\n")
            else:
                rows = rows[:-1]
                while _rows(content) != rows:  # an id may have line breaks
                    content = content[: content.rfind(b"\n", 0, len(content) - 1) + 1]
                os.ftruncate(self._handle, len(content))
                warn_about(f"{self.path}: the last line was cut off, and is removed.")
        self.header = rows[0] if rows else []
        return max(len(rows) - 1, 0)

    def _check_header(self, content: bytes) -> None:
        """A file that has other columns than answers is an error, and stays as it is.

        Of a header that was cut off, only the beginning is there.
        """
        if b"\n" not in content and any(own.encode().startswith(content) for own in HEADERS):
            return
        if not set(self.header) >= NEEDED:
            os.close(self._handle)
            raise InputError(
                "this is not a file of answers, so none can be appended.", source=str(self.path),
                value=", ".join(self.header), hint="Name another file.",
            )  # fmt: skip

    def expect(self, columns: Sequence[str]) -> None:
        """The columns of the rows to append; a file that has others is an error."""
        self.columns = list(columns)
        if self.header and self.header != self.columns:
            raise InputError(
                f"the columns must be {', '.join(self.columns)} to append answers.", source=str(self.path),
                value=", ".join(self.header), hint="Name another file.",
            )  # fmt: skip

    def append(self, values: Sequence[str]) -> None:
        """Write one answer, and wait until it is on disk."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if os.fstat(self._handle).st_size == 0:
            writer.writerow(self.columns)
        writer.writerow(values)
        with deferred_signals(), naming_full_disks(f"--out {self.path}"):
            self._write(text.getvalue().encode())
            os.fsync(self._handle)
            self.rows += 1
            keep(f"{count_noun(self.rows, 'answer is', 'answers are')} in {self.path}")

    def _write(self, line: bytes) -> None:
        """Write all of the line, or nothing of it if the disk is full."""
        end = os.lseek(self._handle, 0, os.SEEK_END)
        if os.write(self._handle, line) < len(line):
            os.ftruncate(self._handle, end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _rows(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(errors="replace"), newline="")))


def _is_complete(row: dict[str, str]) -> bool:
    """Whether the label of a row cannot have been cut off: it is one of the three, and the start of no other."""
    label, others = row.get("label"), {row.get("left"), row.get("right"), "tie"}
    return label in others and not any(own and own.startswith(label or "") for own in others - {label})


def _lock(handle: int) -> bool:
    """Lock a file for this run. The judge of a run that was killed may hold the lock for another moment."""
    for _ in range(LOCK_TRIES):
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(LOCK_PAUSE)
    return False
