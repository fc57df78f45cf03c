"""Why a file could not be read: find the first bad row, line by line."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import polars as pl

from crowdrank.data.io.cells import MISSING_WORDS
from crowdrank.data.io.trial import damaged_error
from crowdrank.errors import InputError

if TYPE_CHECKING:
    from crowdrank.data.io.files import Source

_SHOWN = 80
_LONGEST_LINE = 1 << 28
_MANY_KEYS = 10_000
"""Fewer need not be counted exactly."""
_MOST_DIGITS = 308
"""More do not fit in a number of double precision."""
TOO_LONG = "has a number with too many digits."
NOT_A_VALUE = "a feature is a finite number that float32 can hold, or empty."


def find_reason(source: Source, error: BaseException) -> InputError:
    """The error to raise when Polars fails; its own message does not always name the row."""
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if "utf8" in said and (binary := _binary_columns(source)):
        return InputError(
            "holds bytes that are not text.",
            source=source.name,
            column=binary[0],
            hint="Write ids as text, for example in hexadecimal: in Polars column.bin.encode('hex')",
        )
    if source.form == "parquet" and not isinstance(error, pl.exceptions.InvalidOperationError):
        return damaged_error(source.name, said)
    found = _not_utf8(source) if source.form in ("csv", "jsonl") else None
    if found is None and source.form in ("csv", "jsonl"):
        found = _bad_json(source) if source.form == "jsonl" else _too_wide(source)
    return found or InputError(f"cannot be read: {said}", source=source.name)


def _binary_columns(source: Source) -> list[str]:
    return [name for name, dtype in source.table().collect_schema().items() if dtype == pl.Binary]


@contextmanager
def _open_bytes(source: Source) -> Iterator[BinaryIO]:
    with _open_data(source.data) as file:
        yield file


def _open_data(data: Path | bytes | None) -> BinaryIO:
    return data.open("rb") if isinstance(data, Path) else io.BytesIO(data or b"")


def read_line(data: Path | bytes, skip: int = 0) -> bytes:
    """The first line of a file after ``skip`` lines."""
    with _open_data(data) as file:
        for _ in range(skip):
            file.readline(_LONGEST_LINE)
        return file.readline(_LONGEST_LINE)


def count_keys(line: bytes) -> int:
    """About how many keys an object in JSON has: at most as many as it has quotes before colons."""
    most = line.count(b'":') + line.count(b'" :')
    try:
        return len(json.loads(line)) if most > _MANY_KEYS else most
    except (ValueError, RecursionError):  # whoever reads it says what is wrong
        return 0


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
            problem = "is not a JSON object."
            try:
                row = json.loads(line, parse_constant=_refuse_constant, parse_int=_read_integer)
            except RecursionError:
                row, problem = None, "is nested too deep."
            except json.JSONDecodeError:
                row = None
            except OverflowError as error:
                row, problem = None, str(error)
            except ValueError:  # a number of more than 4,300 digits
                row, problem = None, TOO_LONG
            if not isinstance(row, dict):
                shown = line.decode("utf-8").rstrip()[:_SHOWN]
                if number == 1 and line.strip() == b"{":
                    problem = "is one JSON object over several lines, not rows."
                    hint = "Write an array of rows, [{...}, {...}], or one row per line."
                    return InputError(problem, source=source.name, hint=hint)
                return InputError(problem, source=source.name, row=number, value=shown)
    return None


def json_error(name: str, said: str) -> InputError:
    """The error for an array of JSON that Polars cannot read; ``said``: what it says."""
    causes = {
        "DepthLimitExceeded": "is nested too deep.",
        "('N')": "NaN is not JSON: leave it out, or write null.",
        "('I')": "Infinity is not JSON: leave it out, or write null.",
        "InvalidNumber": TOO_LONG,
    }
    problem = next(
        (cause for sign, cause in causes.items() if sign in said), f"cannot be read as JSON rows: {said}"
    )
    rows = 'Write an array of rows: [{"winner": "a", "loser": "b"}, ...]'
    return InputError(problem, source=name, hint=rows if "json objects" in said or "Depth" in said else None)


def _refuse_constant(word: str) -> None:
    raise OverflowError(f"{word} is not JSON: leave it out, or write null.")


def _read_integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise OverflowError(TOO_LONG)
    return int(digits)


def _too_wide(source: Source) -> InputError | None:
    with _open_bytes(source) as file:
        lines = csv.reader(io.TextIOWrapper(file, "utf-8", newline=""), delimiter=source.separator, strict=True)
        width, number = 0, -1  # the header is not counted
        while True:
            number += 1
            try:
                cells = next(lines)
            except StopIteration:
                return None
            except csv.Error as error:  # the file ends, or 131,072 characters have passed
                long = ", or a field of over 131072 characters" if "limit" in str(error) and not number else ""
                problem = f"{'' if number else 'the header '}has a quote that is not closed{long}."
                return InputError(problem, source=source.name, row=number or None)
            width = width if number else len(cells)
            if len(cells) > width:
                return InputError(
                    f"has {len(cells)} fields; the header has {width}.",
                    source=source.name,
                    row=number,
                    value=source.separator.join(cells)[:_SHOWN],
                    hint="Put quotes around a value that contains the separator.",
                )


def letor_reason(name: str, text: bytes, before: int) -> InputError:
    """The first line that is not ``label [qid:Q] number:value ...``; ``before`` lines come before this text."""
    first: bool | None = None
    for number, line in enumerate(text.split(b"\n")[:-1], before + 1):
        try:
            words = line.decode("utf-8").partition("#")[0].split()
        except UnicodeDecodeError:
            shown = line.decode("utf-8", "replace")[:_SHOWN]
            hint = "Save the file as UTF-8."
            return InputError("is not UTF-8 text.", source=name, row=number, value=shown, hint=hint)
        if not words:
            continue
        named = len(words) > 1 and words[1].startswith("qid:")
        first = named if first is None else first
        if named != first or (named and words[1] == "qid:"):
            problem = (
                "is not 'label qid:Q ...', but other rows are."
                if first
                else "has a qid, but other rows have none."
            )
            return InputError(problem, source=name, row=number, value=" ".join(words)[:_SHOWN])
        found = _bad_letor_row(words[0], words[1 + named :])
        if found:
            problem, column, value = found
            return InputError(problem, source=name, row=number, column=column, value=value)
    return InputError("cannot be read as LETOR text.", source=name, row=before + 1)


def _bad_letor_row(label: str, words: list[str]) -> tuple[str, str | None, str] | None:
    """What is wrong with a row: the problem, the number of the feature, and the value."""
    if label not in MISSING_WORDS and not _is_finite(label, np.float64):
        return "the label is not a number.", None, label
    seen = set[int]()
    for word in words:
        key, sign, value = word.partition(":")
        if not sign or not re.fullmatch(r"\+?[0-9]{1,4000}", key) or int(key) >= 2**32:
            return "is not 'number:value'.", None, word
        if int(key) in seen:
            return "the row has this feature twice.", key, word
        seen.add(int(key))
        if value not in MISSING_WORDS and not _is_finite(value, np.float32):
            return NOT_A_VALUE, key, value
    return None


def _is_finite(value: str, dtype: type[np.floating[Any]]) -> bool:
    with np.errstate(over="ignore"):
        try:
            return bool(np.isfinite(dtype(value))) and "_" not in value
        except ValueError:
            return False
