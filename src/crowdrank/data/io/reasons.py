"""Why a file could not be read: find the first bad row, line by line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from crowdrank.errors import InputError

if TYPE_CHECKING:
    from crowdrank.data.io.files import Source

_SHOWN = 80


def find_reason(source: Source, error: BaseException) -> InputError:
    """The error to raise when Polars fails; its own message does not always name the row."""
    said = str(error).strip().splitlines()[0]
    if source.form == "parquet":
        return InputError(
            f"the Parquet file is damaged or cut off ({said}).",
            source=source.name,
            hint="Copy or download the file again.",
        )
    found = _not_utf8(source) or (_bad_json(source) if source.form == "jsonl" else _too_wide(source))
    return found or InputError(f"cannot be read: {said}", source=source.name)


@contextmanager
def _open_bytes(source: Source) -> Iterator[BinaryIO]:
    with source.data.open("rb") if isinstance(source.data, Path) else io.BytesIO(source.data or b"") as file:
        yield file


def _not_utf8(source: Source) -> InputError | None:
    with _open_bytes(source) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return InputError(
                    "is not UTF-8 text.",
                    source=source.name,
                    row=number - (source.form == "csv"),  # the header is not counted
                    value=line.decode("utf-8", "replace").rstrip()[:_SHOWN],
                    hint="Save the file as UTF-8.",
                )
    return None


def _bad_json(source: Source) -> InputError | None:
    with _open_bytes(source) as file:
        for number, line in enumerate(filter(bytes.strip, file), 1):  # blank lines are not counted
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                row = None
            if not isinstance(row, dict):
                shown = line.decode("utf-8").rstrip()[:_SHOWN]
                return InputError("is not a JSON object.", source=source.name, row=number, value=shown)
    return None


def _too_wide(source: Source) -> InputError | None:
    with _open_bytes(source) as file:
        lines = csv.reader(io.TextIOWrapper(file, "utf-8", newline=""), delimiter=source.separator, strict=True)
        width, number = len(next(lines, [])), 0
        while True:
            number += 1
            try:
                cells = next(lines)
            except StopIteration:
                return None
            except csv.Error:  # the file ends, or 131,072 characters have passed
                return InputError("has a quote that is not closed.", source=source.name, row=number)
            if len(cells) > width:
                return InputError(
                    f"has {len(cells)} fields; the header has {width}.",
                    source=source.name,
                    row=number,
                    value=source.separator.join(cells)[:_SHOWN],
                    hint="Put quotes around a value that contains the separator.",
                )
