"""Files, folders of bytes and standard input as lazy frames of text columns."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from crowdrank.data.columns import Wide
from crowdrank.data.texts import Parser, find_parser
from crowdrank.errors import InputError

_SNIFF = 1 << 16


@dataclass(frozen=True)
class Source:
    """A table somewhere: how errors call it, and a lazy frame of it.

    ``lazy`` is None, with a ``reason``, where the file holds no judgments; ``gold`` is set where it holds gold
    that is not the table itself.
    """

    name: str
    lazy: pl.LazyFrame | None
    data: Path | bytes | None = None
    separator: str = ","
    gold: pl.LazyFrame | None = None
    reason: str = ""

    def table(self) -> pl.LazyFrame:
        """The table; an error where the file has none."""
        if self.lazy is None:
            raise InputError(self.reason, source=self.name)
        return self.lazy

    def long(self, wide: Wide) -> Source:
        """A table with a column for each item as one with a row for each cell."""
        if not wide.items:
            raise InputError(f"no column fits the pattern given for {wide.role!r}.", source=self.name)
        others = [name for name in self.columns() if name not in wide.items]
        as_rows = (
            self.table()
            .with_columns(pl.col(wide.items).cast(pl.String))
            .unpivot(wide.items, index=others, variable_name="item", value_name=wide.role)
        )
        return replace(self, lazy=as_rows)

    def gold_face(self) -> Source:
        """The same file seen as gold."""
        return self if self.gold is None else replace(self, lazy=self.gold, gold=None)

    def columns(self) -> list[str]:
        """Its column names; reads no more than the beginning."""
        with _reasons(self):
            return self.table().collect_schema().names()

    def read(self, columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """These columns, each cast to its type by way of text, whatever it was."""
        with _reasons(self):
            schema = self.table().collect_schema()
            nested = [name for name in columns if schema[name].is_nested()]
            if nested:
                problem = "holds lists or objects, not plain values."
                raise InputError(problem, source=self.name, column=nested[0])
            return self.table().select(as_text(columns, schema)).collect(engine="streaming")

    def read_text(self) -> pl.DataFrame:
        """Every column as text."""
        return self.read(dict.fromkeys(self.columns(), pl.String()))


def as_text(columns: Mapping[str, pl.DataType], schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Columns as text, then as what they are wanted as; a float column's whole numbers lose their point."""

    def text(name: str) -> pl.Expr:
        column = pl.col(name)
        if not schema[name].is_float():
            return column.cast(pl.String)
        whole = column.is_finite() & (column == column.floor()) & (column.abs() < 2**53)
        number = pl.when(whole).then(column).otherwise(0).cast(pl.Int64).cast(pl.String)
        return pl.when(whole).then(number).otherwise(column.cast(pl.String)).alias(name)

    return [text(name).cast(dtype) for name, dtype in columns.items()]


@contextmanager
def _reasons(source: Source) -> Iterator[None]:
    """Turns what Polars raises while reading into an InputError that names the place."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _reason(source, error) from error


def open_source(given: str | Path) -> Source:
    """A path, or ``-`` for standard input. The format is told by the content, not by the name."""
    if str(given) == "-":
        return _from_bytes("standard input", sys.stdin.buffer.read())
    path = Path(given)
    if path.is_dir():
        raise InputError("is a folder, not a file.", source=str(path))
    try:
        with path.open("rb") as file:
            head = file.read(_SNIFF)
    except FileNotFoundError:
        raise InputError("there is no such file.", source=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}.", source=str(path)) from error
    if head[:2] == b"\x1f\x8b":
        return _from_bytes(str(path), path.read_bytes())
    return _from_head(str(path), head, path)


def _from_bytes(name: str, data: bytes) -> Source:
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"the gzip data is damaged or cut off ({error}).",
                source=name,
                hint="Copy or download the file again; nothing was read from it.",
            ) from error
    return _from_head(name, data[:_SNIFF], data)


def _from_head(name: str, head: bytes, data: Path | bytes) -> Source:
    """Choose the reader by the first bytes."""
    if not head.strip():
        raise InputError("the file is empty.", source=name, hint="A header line and at least one row.")
    where = data if isinstance(data, Path) else io.BytesIO(data)
    if head[:4] == b"PAR1":
        return Source(name, pl.scan_parquet(where), data)
    if b"\x00" in head:
        raise InputError("is not UTF-8 text, nor Parquet.", source=name, hint="Save the table as UTF-8 CSV.")
    if head.lstrip()[:1] == b"[":
        return _json_rows(name, data)
    if head.lstrip()[:1] == b"{":
        return Source(name, pl.scan_ndjson(where, infer_schema_length=None), data)
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace").removeprefix("\ufeff").strip("\r\n ")
    parser = find_parser(head.decode("utf-8", "replace"))
    if parser:
        return _parsed(name, data, parser)
    separator = max(",\t;", key=first.count)
    lazy = pl.scan_csv(where, separator=separator, infer_schema=False)
    return Source(name, lazy, data, separator)


def _json_rows(name: str, data: Path | bytes) -> Source:
    try:
        frame = pl.read_json(data if isinstance(data, Path) else io.BytesIO(data), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"cannot be read as JSON rows: {str(error).splitlines()[0]}", source=name) from error
    return Source(name, frame.lazy(), data)


def _parsed(name: str, data: Path | bytes, parser: Parser) -> Source:
    raw = data.read_bytes() if isinstance(data, Path) else data
    try:
        found = parser(name, raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text.", source=name, hint="Save the file as UTF-8.") from error
    judgments = None if found.judgments is None else found.judgments.lazy()
    gold = None if found.gold is None else found.gold.lazy()
    return Source(name, judgments, data, gold=gold, reason=found.reason)


def _reason(source: Source, error: BaseException) -> InputError:
    """Look for the line that could not be read; Polars does not always name it."""
    raw = source.data.read_bytes() if isinstance(source.data, Path) else source.data or b""
    try:
        content = raw.decode("utf-8")
    except UnicodeDecodeError as bad:
        row = raw[: bad.start].count(b"\n")  # the header is line 0
        line = raw.splitlines()[row].decode("utf-8", "replace")[:80]
        return InputError(
            "is not UTF-8 text.", source=source.name, row=row, value=line, hint="Save the file as UTF-8."
        )
    lines = csv.reader(io.StringIO(content), delimiter=source.separator)
    width = len(next(lines, []))
    for number, cells in enumerate(lines, 1):
        if len(cells) > width:
            return InputError(
                f"has {len(cells)} fields where the header has {width}.",
                source=source.name,
                row=number,
                value=source.separator.join(cells)[:80],
                hint="Put quotes around a value that holds the separator.",
            )
    first = str(error).strip().splitlines()[0]
    return InputError(f"cannot be read: {first}", source=source.name)
