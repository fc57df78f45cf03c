"""Writing results: everything is staged beside its place, then renamed, so nothing half-written stays."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from crowdrank.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("csv", "parquet", "json")


class Folder:
    """A folder to write into, checked before the work begins.

    Files are written into a hidden folder beside the target and moved when all of them are done; on
    any failure the target is left as it was.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made = not path.exists()

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.stage = Path(tempfile.mkdtemp(prefix=".crowdrank-", dir=self.path))
        except OSError as error:
            raise UsageError(f"--out {self.path}: cannot be written to ({error.strerror}).") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.stage, ignore_errors=True)
        if error is not None and self._made and not any(self.path.iterdir()):
            self.path.rmdir()

    def write(self, files: Mapping[str, Callable[[Path], Any]]) -> None:
        """Write each file by its function, then move all of them into place."""
        for name, write in files.items():
            write(self.stage / name)
        for name in files:
            os.replace(self.stage / name, self.path / name)


def write_frame(frame: pl.DataFrame, path: Path, form: str) -> None:
    """A frame as CSV, Parquet or JSON rows."""
    if form == "csv":
        frame.write_csv(path)
    elif form == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_json(path)


def check_format(form: str) -> str:
    """One of the formats, or an error that lists them."""
    if form not in FORMATS:
        raise UsageError(f"--format must be one of {', '.join(FORMATS)}. Got {form!r}.")
    return form
