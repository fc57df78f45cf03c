"""Files that are no tables of text: what they are by their first bytes, and how to make a table of them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from crowdrank.errors import InputError

_SHEET = "Save the sheet as CSV (UTF-8)."
_UNPACK = "Unpack it first."
_TABLE = "Save the table as CSV (UTF-8) or Parquet."
_PAGE = "Download the file itself, not the page that shows it."

SIGNATURES = (
    (b"\xd0\xcf\x11\xe0", "is an old Excel workbook.", _SHEET),
    (b"%PDF", "is a PDF document.", "Copy its table to a spreadsheet, and save that as CSV (UTF-8)."),
    (b"BZh", "is compressed by bzip2.", f"{_UNPACK} Only gzip is read as it is."),
    (b"\xfd7zXZ", "is compressed by xz.", f"{_UNPACK} Only gzip is read as it is."),
    (b"\x28\xb5\x2f\xfd", "is compressed by Zstandard.", f"{_UNPACK} Only gzip is read as it is."),
    (b"7z\xbc\xaf", "is a 7z archive.", _UNPACK),
    (b"Rar!", "is a RAR archive.", _UNPACK),
    (b"SQLite format 3", "is an SQLite database.", _TABLE),
    (b"ARROW1", "is an Arrow (Feather) file.", "Save the table as Parquet."),
    (b"\x89HDF", "is an HDF5 file.", _TABLE),
    (b"\x93NUMPY", "is a NumPy array.", _TABLE),
    (b"\x80\x04", "is a Python pickle, which is never opened.", _TABLE),
    (b"\x80\x05", "is a Python pickle, which is never opened.", _TABLE),
    (b"version https://git-lfs", "is a pointer of Git LFS, not the file itself.", "Fetch the file: git lfs pull"),
    (b"RDX", "is a file of R objects.", "Write the table in R: write.csv(table, file, row.names = FALSE)"),
)
"""How a file begins, what it is, and what to do."""

ODD_SEPARATORS = "~^:"
"""What separates the cells of some tables. They are not read as such: they are too common within ids."""


def refuse_other_formats(name: str, head: bytes) -> None:
    """Raise an error that says what a file is if it is no table."""
    for start, problem, hint in SIGNATURES:
        if head.startswith(start):
            raise InputError(problem, source=name, hint=hint)
    if head.startswith(b"PK\x03\x04"):
        if b"xl/" in head or b"[Content_Types].xml" in head or name.lower().endswith((".xlsx", ".xlsm")):
            raise InputError("is an Excel workbook.", source=name, hint=_SHEET)
        raise InputError("is a zip archive.", source=name, hint=_UNPACK)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:200].lower()
    if re.match(rb"<(!doctype html|html|head|body|table|!--)", start):
        raise InputError("is an HTML page.", source=name, hint=_PAGE)
    if start.startswith(b"<?xml"):
        raise InputError("is an XML document.", source=name, hint=_TABLE)
    if re.match(rb"---\s|- ['\"\w]+: ", start):
        raise InputError("is a YAML document.", source=name, hint=_TABLE)
    if b"\x00" in head:
        problem = "is not UTF-8 text: it has bytes that are 0, as UTF-16 text and binary files have."
        raise InputError(problem, source=name, hint=_TABLE)


def as_usual_text(head: bytes, data: Path | bytes) -> bytes | None:
    """Text in UTF-16 with its mark, or with the line ends of old Macs, as usual text; None if it is usual."""
    utf16 = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    if not utf16 and (b"\r" not in head or b"\n" in head):
        return None
    raw = data.read_bytes() if isinstance(data, Path) else data
    if utf16:
        try:
            raw = raw.decode("utf-16").encode()
        except UnicodeDecodeError:
            return None
    if b"\n" not in raw:
        return raw.replace(b"\r", b"\n")
    return raw if utf16 else None  # the first line is only longer than the head


def refuse_other_tables(name: str, lines: list[str], separator: str) -> None:
    """Raise an error if the cells of a table are separated by spaces or odd signs, framed by bars, or one cell."""
    first, *others = lines
    if separator == "|" and (first.startswith("|") or " |" in first or "| " in first):
        raise InputError(
            "is a table drawn with bars: spaces around the cells would become part of the ids.",
            source=name,
            hint=_command(name, r"sed -E 's/^ *\| *| *\| *$//g; s/ *\| */|/g; /^[-:|]+$/d'"),
        )
    if len(first) > 1 and first[0] == first[-1] == '"' and '"' not in first[1:-1] and separator in first:
        problem = "each line is in quotes, so that it is one cell."
        raise InputError(problem, source=name, hint=_command(name, "tr -d '\"'", "Remove them"))
    if first.startswith("#") and separator not in first and others and not others[0].startswith("#"):
        problem = "begins with a comment, where the names of the columns should be."
        raise InputError(problem, source=name, hint=_command(name, "sed '/^#/d'", "Remove it"))
    odd = next((sign for sign in ODD_SEPARATORS if first.count(sign)), None)
    if separator not in first and odd and others and others[0].count(odd) == first.count(odd):
        raise InputError(f"is separated by {odd!r}.", source=name, hint=_command(name, f"tr '{odd}' ','"))
    words = len(first.split())
    if separator not in first and words > 1 and others and len(others[0].split()) == words:
        raise InputError("is separated by spaces.", source=name, hint=_command(name, "tr -s ' ' ','"))


def _command(name: str, words: str, what: str = "Separate the cells only by commas or bars") -> str:
    where = shlex.quote(name) if Path(name).is_file() else "FILE"
    return f"{what}: {words} < {where} > table.csv"
