"""A folder for judgments that do not fit in memory, and functions that write files there."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import polars as pl

from crowdrank.errors import CrowdrankError, Remedy, UsageError


class Spool:
    """A folder for judgments that do not fit in memory; it is removed when nothing uses it any more."""

    def __init__(self, place: str | Path | None = None) -> None:
        if place is not None and not Path(place).is_dir():
            raise UsageError(
                f"There is no folder {str(place)!r} to keep judgments in.",
                hint=("Name one: ", Remedy("spool", "DIR")),
            )
        self.place = place
        self._count = 0

    @cached_property
    def _folder(self) -> Path:
        try:
            path = tempfile.mkdtemp(prefix="crowdrank-", dir=self.place)
        except OSError as error:
            raise CrowdrankError(
                f"Nothing can be written to {self.place or tempfile.gettempdir()}: {error.strerror}.",
                hint=("Name a folder with room for the judgments: ", Remedy("spool", "DIR")),
            ) from error
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
        return Path(path)

    def folder(self, name: str) -> Path:
        """A new folder inside it."""
        self._count += 1
        path = self._folder / f"{self._count}-{name}"
        path.mkdir()
        return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error while a spool file is written (usually a full disk) into one that says what to do."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise no_room(path.parent, str(error).splitlines()[0]) from error


def no_room(folder: Path, reason: str) -> CrowdrankError:
    """The error if a folder cannot take what does not fit in memory."""
    free = shutil.disk_usage(folder).free // 10**6
    return CrowdrankError(
        f"What does not fit in memory could not be written to {folder}, which has {free} MB free: {reason}",
        hint=("Name a folder with more room: ", Remedy("spool", "DIR")),
    )


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame of numbers as a file of the spool."""
    with writing(path):
        frame.write_parquet(path, compression="lz4", statistics=False)
