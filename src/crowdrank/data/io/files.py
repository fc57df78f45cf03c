"""Files, folders, bytes and standard input as lazy frames of text columns."""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import polars as pl

from crowdrank.data.ids import as_text
from crowdrank.data.io.cells import ROW
from crowdrank.data.io.columns import Wide
from crowdrank.data.io.letor import LetorRole, letor_labels, letor_ranks
from crowdrank.data.io.reasons import count_keys, find_reason, json_error, read_line
from crowdrank.data.io.signatures import as_usual_text, refuse_other_formats, refuse_other_tables
from crowdrank.data.io.texts import Parser, find_parser, is_letor
from crowdrank.data.io.trial import require_readable
from crowdrank.data.spool.folder import Spool, writing
from crowdrank.errors import InputError, Note

MOST_COLUMNS = 100_000
"""Polars takes seconds for this many columns, and minutes for ten times as many."""

DEEPEST = 4
"""Objects inside of objects are looked into so many times."""

_SNIFF = 1 << 16
_PIECE = 1 << 22
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Source:
    """A table in a file or in memory: its name in errors, and a lazy frame of it.

    LETOR text that is read as features has no lazy frame; its rows come from ``letor_features``.
    """

    name: str
    lazy: pl.LazyFrame | None
    data: Path | bytes | None = None
    separator: str = ","
    skip: int = 0  # lines before the header
    form: str = "csv"
    copied: bool = False  # the file is a copy of a stream that can be read only once
    cut: bool = False  # items that a list does not rank are below
    numbered: bool = False  # the column ROW has the number of each row in the file
    notes: tuple[Note, ...] = ()

    def table(self) -> pl.LazyFrame:
        """The table."""
        assert self.lazy is not None
        return self.lazy

    def numbers(self, columns: Sequence[str]) -> pl.LazyFrame:
        """The table with these columns read as float32. Text that is not a number raises an error of Polars."""
        if self.form != "csv" or self.data is None:
            return self.table().with_columns(pl.col(columns).cast(pl.Float32))
        where = self.data if isinstance(self.data, Path) else io.BytesIO(self.data)
        types = dict.fromkeys(columns, pl.Float32())
        return pl.scan_csv(
            where, separator=self.separator, infer_schema=False, skip_lines=self.skip, schema_overrides=types
        )

    def with_exact_values(self) -> Source:
        """JSON with every plain value as the text that it is: no number is rounded, and true is not 1."""
        if self.form not in ("json", "jsonl") or self.data is None:
            return self
        with explain_errors(self):
            schema = self.table().collect_schema()
            texts = {name: _plain_as_text(dtype) for name, dtype in schema.items()}
            if texts == dict(schema):
                return self
            where = self.data if isinstance(self.data, Path) else io.BytesIO(self.data)
            if self.form == "jsonl":
                return replace(self, lazy=pl.scan_ndjson(where, schema=texts))
            return replace(self, lazy=pl.read_json(where, schema=texts).lazy())

    def with_inner_columns(self) -> Source:
        """JSON with the values inside of objects as columns: ``name`` of ``judge`` is ``judge.name``."""
        own = self
        for _ in range(DEEPEST if "json" in self.form else 0):
            schema = own.schema()
            inner = [name for name, dtype in schema.items() if isinstance(dtype, pl.Struct)]
            inner = [name for name in inner if not any(other.startswith(f"{name}.") for other in schema)]
            if not inner:
                break
            own = replace(own, lazy=own.table().unnest(inner, separator="."))
        return own

    def as_long(self, wide: Wide) -> Source:
        """A table with a column per item, as a table with a row per cell."""
        if not wide.items:
            raise InputError(f"no column fits the pattern given for {wide.role!r}.", source=self.name)
        item, cell = wide.name_for("item"), wide.name_for(wide.role)
        as_rows = (
            self.table()
            .drop(ROW, strict=False)
            .with_row_index(ROW)
            .with_columns(pl.col(wide.items).cast(pl.String))
            .unpivot(wide.items, index=[ROW, *wide.others], variable_name=item, value_name=cell)
        )
        return replace(self, lazy=as_rows, numbered=True)

    def split(self, column: str) -> Source:
        """A table whose cells name several items, joined by commas, as a table with a row per item."""
        each, schema = pl.col(column), self.schema()
        if not schema[column].is_nested():
            each = each.cast(pl.String).str.split(",").list.eval(pl.element().str.strip_chars())
        elif not isinstance(schema[column], pl.List | pl.Array):
            raise _type_error(self, column, schema[column])
        rows = self.table() if self.numbered else self.table().drop(ROW, strict=False).with_row_index(ROW)
        return replace(self, lazy=rows.with_columns(each).explode(column), numbered=True)

    def rows(self) -> int:
        """About how many rows there are: counted if that is cheap, otherwise estimated from the first rows."""
        if self.data is not None and self.form in ("csv", "jsonl"):
            if isinstance(self.data, bytes):
                return self.data.count(b"\n")
            with self.data.open("rb") as file:
                head = file.read(_SNIFF)
            return self.data.stat().st_size * max(head.count(b"\n"), 1) // max(len(head), 1)
        with explain_errors(self):
            return int(self.table().select(pl.len()).collect().item())

    def forget(self) -> None:
        """Remove the copy of a stream after it is read."""
        if self.copied and isinstance(self.data, Path):
            self.data.unlink(missing_ok=True)

    def columns(self) -> list[str]:
        """Its column names; reads only the beginning."""
        return [name for name in self.schema() if name != ROW or not self.numbered]

    def schema(self) -> pl.Schema:
        """The types of its columns."""
        with explain_errors(self):
            return self.table().collect_schema()

    def head(self, rows: int) -> pl.DataFrame:
        """The first rows, with all columns as they are."""
        self.require_readable(self.columns(), rows)
        with explain_errors(self):
            return self.table().drop(ROW, strict=False).head(rows).collect()

    def distinct(self, column: str) -> list[str]:
        """The distinct values of a column, as text."""
        self.require_readable([column])
        with explain_errors(self):
            schema = self.table().collect_schema()
            texts = self.table().select(*as_text({column: pl.String()}, schema)).unique()
            return texts.collect(engine="streaming").to_series().drop_nulls().to_list()

    def read(self, columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """These columns, each cast to text and then to its type."""
        self.require_readable(columns)
        with explain_errors(self):
            return self._select_text(columns).collect(engine="streaming", optimizations=self.reading())

    def batches(self, columns: Mapping[str, pl.DataType], rows: int) -> Iterator[pl.DataFrame]:
        """The same columns, ``rows`` rows at a time."""
        self.require_readable(columns)
        with explain_errors(self):
            yield from self._select_text(columns).collect_batches(
                chunk_size=rows, engine="streaming", optimizations=self.reading()
            )

    def require_readable(self, columns: Iterable[str], rows: int | None = None) -> None:
        """Raise an error if these columns of a Parquet file cannot be decoded, before this process tries to.

        ``rows``: only so many will be read.
        """
        if self.form == "parquet" and self.data is not None:
            require_readable(self.name, self.data, list(columns), rows)

    def reading(self) -> pl.QueryOptFlags:
        """How Polars reads it. In CSV text it counts the fields of a row only if it reads every column."""
        return pl.QueryOptFlags(projection_pushdown=self.form != "csv" or self.data is None)

    def _select_text(self, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        schema = self.table().collect_schema()
        for name in columns:
            if is_pattern(name):
                hint = "Rename the column in the file."
                raise InputError(
                    "a column that is read cannot have this name.", source=self.name, column=name, hint=hint
                )
            if not is_plain(schema[name]) and not self._holds_text(name, schema[name]):
                raise _type_error(self, name, schema[name])
        numbers = [pl.col(ROW)] if self.numbered else []
        return self.table().select(*as_text(columns, schema), *numbers)

    def _holds_text(self, column: str, dtype: pl.DataType) -> bool:
        """Whether a column of bytes is text, as some writers of Parquet leave it."""
        if dtype != pl.Binary:
            return False
        try:
            self.table().select(pl.col(column).cast(pl.String).is_null().any()).collect()
        except pl.exceptions.PolarsError:
            return False
        return True


def is_pattern(name: str) -> bool:
    """Whether Polars would take the name of a column for a pattern that stands for several columns."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def is_plain(dtype: pl.DataType) -> bool:
    """Whether every value of this type has a text."""
    return not (dtype.is_nested() or dtype in (pl.Binary, pl.Duration, pl.Object, pl.Unknown))


def _plain_as_text(dtype: pl.DataType) -> pl.DataType:
    """The type with text in the place of plain values, also inside of objects."""
    if isinstance(dtype, pl.Struct):
        return pl.Struct(
            {name: _plain_as_text(cast(pl.DataType, inner)) for name, inner in dtype.to_schema().items()}
        )
    return dtype if dtype.is_nested() else pl.String()


def _type_error(source: Source, column: str, dtype: pl.DataType) -> InputError:
    """The error for a column whose type has no text."""
    what = "lists or objects" if dtype.is_nested() else f"values of the type {dtype}"
    hint = None
    if dtype.is_nested() and "json" in source.form:
        hint = 'Write one row per line, as in {"winner": "a", "loser": "b"}.'
    if dtype == pl.Binary:
        what, hint = "bytes that are not text", _HEXADECIMAL
    return InputError(f"holds {what}, not plain values.", source=source.name, column=column, hint=hint)


_HEXADECIMAL = "Write ids as text, for example in hexadecimal: in Polars column.bin.encode('hex')"


@contextmanager
def explain_errors(source: Source) -> Iterator[None]:
    """Turn what Polars raises while reading into an InputError that names the place."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise find_reason(source, error) from error


def open_sources(given: str | Path, letor: LetorRole, spool: Spool, limit: int) -> list[Source]:
    """The sources of a path, of a folder of Parquet files, or of ``-``; ``letor`` says what LETOR text is.

    Text that is not in a file goes to the spool if it takes more than ``limit`` bytes.
    """
    path = Path(given)
    if str(given) == "-" or not path.is_dir():
        return [open_source(given, letor, spool, limit)]
    files = sorted(
        file
        for file in path.rglob("*.parquet")
        if file.is_file() and not any(part[0] in "._" for part in file.relative_to(path).parts)
    )
    if not files:
        raise InputError(
            "is a folder without Parquet files.", source=str(path), hint="Name the files themselves: DIR/*.csv"
        )
    return [open_source(file, letor, spool, limit) for file in files]


def open_source(
    given: str | Path, letor: LetorRole, spool: Spool | None = None, limit: int = sys.maxsize
) -> Source:
    """The source of a path, or of ``-`` for standard input. Its content determines the format, not its name."""
    if str(given) == "-":
        if sys.stdin is None:
            raise InputError("is closed.", source="standard input", hint="Name a file, or send one: < FILE")
        stdin = cast(io.BufferedReader, sys.stdin.buffer)
        return _from_stream("standard input", stdin, letor, spool, limit)
    path = Path(given)
    if path.is_dir():
        raise InputError("is a folder, not a file.", source=str(path))
    try:
        with path.open("rb") as file:
            if file.peek(2)[:2] == _GZIP or not path.is_file():  # a named pipe is read once, like stdin
                return _from_stream(str(path), file, letor, spool, limit)
            return _from_head(str(path), file.read(_SNIFF), path, letor)
    except FileNotFoundError:
        raise InputError("there is no such file.", source=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}.", source=str(path)) from error


def _from_stream(
    name: str, stream: io.BufferedReader, letor: LetorRole, spool: Spool | None, limit: int
) -> Source:
    """Read a stream or compressed data into memory, or into a file if it is large."""
    whole = gzip.GzipFile(fileobj=stream) if stream.peek(2)[:2] == _GZIP else stream
    try:
        data = _read_beginning(whole, limit)
        if spool is None or len(data) <= limit:
            return _from_head(name, data[:_SNIFF], data, letor)
        path = spool.folder("text") / "text"
        with writing(path), path.open("wb") as file:
            file.write(data)
            for piece in iter(partial(whole.read, _PIECE), b""):
                file.write(piece)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"the gzip data is damaged or cut off ({error}).",
            source=name,
            hint="Copy or download the file again; nothing was read from it.",
        ) from error
    return replace(_from_head(name, data[:_SNIFF], path, letor), copied=True)


def _read_beginning(stream: io.BufferedReader | gzip.GzipFile, limit: int) -> bytes:
    """The whole stream, or its first bytes if it is longer than ``limit``."""
    pieces, size = [], 0
    while size <= limit and (piece := stream.read(_PIECE)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _from_head(name: str, head: bytes, data: Path | bytes, letor: LetorRole) -> Source:
    """Choose the reader from the first bytes."""
    if not head.removeprefix(b"\xef\xbb\xbf").strip():
        raise InputError("the file is empty.", source=name, hint="Write a header line and at least one row.")
    where = data if isinstance(data, Path) else io.BytesIO(data)
    if head[:4] == b"PAR1":
        require_readable(name, data)
        return Source(name, pl.scan_parquet(where), data, form="parquet")
    usual = as_usual_text(head, data)
    if usual is not None:
        return _from_head(name, usual[:_SNIFF], usual, letor)
    refuse_other_formats(name, head)
    if head.lstrip()[:1] == b"[":
        return _json_rows(name, data)
    if head.lstrip()[:1] == b"{":
        _require_narrow(name, count_keys(read_line(data)))
        return Source(name, pl.scan_ndjson(where, infer_schema_length=None), data, form="jsonl")
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace").removeprefix("\ufeff").strip("\r\n ")
    text = head.decode("utf-8", "replace")
    if is_letor(text):
        return _letor_source(name, data, letor)
    parser = find_parser(text)
    if parser:
        return _parse_source(name, data, parser)
    declared = re.fullmatch(r'"?sep=(.)"?', first)  # a line that Excel writes before the header
    separator = declared[1] if declared else max(",\t;|", key=first.count)
    skip = 1 if declared else 0
    if not declared:
        refuse_other_tables(name, text.removeprefix("\ufeff").splitlines()[:2], separator)
    _require_narrow(name, read_line(data, skip).count(separator.encode()) + 1)
    lazy = pl.scan_csv(where, separator=separator, infer_schema=False, skip_lines=skip)
    return Source(name, lazy, data, separator, skip)


def _require_narrow(name: str, columns: int) -> None:
    """Raise an error if a table has more columns than can be read in a moment."""
    if columns > MOST_COLUMNS:
        raise InputError(
            f"has {columns} columns; a table may have {MOST_COLUMNS}.",
            source=name,
            hint="Write one judgment per row. Features of this number are read from LETOR text.",
        )


def _letor_source(name: str, data: Path | bytes, letor: LetorRole) -> Source:
    if letor.name == "features":
        return Source(name, None, data, form="letor")
    if letor.name == "labels":
        return Source(name, letor_labels(name, data, letor).lazy(), data, form="text")
    frame, note = letor_ranks(name, data, letor)
    return Source(name, frame.lazy(), data, form="text", notes=(note,))


def _json_rows(name: str, data: Path | bytes) -> Source:
    try:
        frame = pl.read_json(data if isinstance(data, Path) else io.BytesIO(data), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise json_error(name, str(error).splitlines()[0]) from error
    return Source(name, frame.lazy(), data, form="json")


def _parse_source(name: str, data: Path | bytes, parser: Parser) -> Source:
    raw = data.read_bytes() if isinstance(data, Path) else data
    try:
        found = parser(name, raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text.", source=name, hint="Save the file as UTF-8.") from error
    return Source(name, found.frame.lazy(), data, form="text", cut=found.cut, notes=found.notes)
