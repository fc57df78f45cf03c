"""LETOR and SVMlight text: ``label [qid:Q] 1:v 2:v ... [# comment]``, one item per line.

The argument decides what such a file is, never its content: labels if it is given as gold, the ranks of systems if
it is given as judgments, otherwise features (``letor_features``). Polars splits the text, some lines at a time.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from crowdrank.data.io.reasons import letor_reason
from crowdrank.errors import InputError, Note, Remedy

CHUNK = 12 << 20
"""Bytes of text at a time: fewer cost calls, more cost memory and fall out of the processor's cache."""

NEWLINE, SPACE, COLON = 10, 32, 58

RAGGED: dict[str, Any] = {
    "has_header": False,
    "quote_char": None,
    "truncate_ragged_lines": True,
    "missing_columns": "insert",
    "extra_columns": "ignore",
}
"""How Polars reads lines that have more or fewer fields than there are columns: cut, or filled with null."""


@dataclass
class LetorRole:
    """What the LETOR files of one call are: ``"ranks"``, ``"labels"`` or ``"features"``.

    An item without an id goes by the number of its row within its query. The count goes on from file to file.
    """

    name: str
    counts: dict[str | None, int] = field(default_factory=dict)

    def name_items(self, query: pl.Series | None, item: pl.Series) -> pl.Series:
        """The ids of the next rows, with the row's number if there is no id."""
        if query is None:
            query = pl.repeat(None, len(item), dtype=pl.String, eager=True)
        counts = query.value_counts()
        if item.null_count():
            done = pl.Series([self.counts.get(own, 0) for own in counts[:, 0]], dtype=pl.Int64)
            place = pl.int_range(1, pl.len() + 1).over("query") + pl.col("query").replace_strict(
                counts[:, 0], done
            )
            item = item.fill_null(pl.DataFrame({"query": query}).select(place.cast(pl.String)).to_series())
        for own, count in counts.iter_rows():
            self.counts[own] = self.counts.get(own, 0) + count
        return item


@dataclass(frozen=True)
class Chunk:
    """Some lines of a file, which begin after ``start`` bytes."""

    source: str
    data: Path | bytes
    start: int
    text: bytes

    def before(self) -> int:
        """The number of lines before these. It is seldom needed, so it is counted when it is."""
        with _open_bytes(self.data) as file:
            sizes = itertools.chain(itertools.repeat(CHUNK, self.start // CHUNK), [self.start % CHUNK])
            return sum(file.read(size).count(b"\n") for size in sizes)

    def error(self) -> InputError:
        """The error that names the first bad line."""
        return letor_reason(self.source, self.text, self.before())


@dataclass(frozen=True)
class Lines:
    """The rows of a chunk, without blank lines and whole-line comments."""

    number: pl.Series  # of the line in the chunk, from 0
    body: pl.Series  # "label [qid:Q] 1:v ...", words separated by one space
    item: pl.Series  # the id in the comment; null if there is none


def docids(comments: pl.Series) -> pl.Series:
    """The id of the item in each comment: ``docid = X``, or else the first word; null if there is none."""
    found = comments.str.extract(r"^docid = (\S+)")  # the usual form, at half the time of the general one
    if found.null_count():
        found = comments.str.extract(r"docid\s*=\s*(\S+)")
    return found.fill_null(comments.str.extract(r"(\S+)")) if found.null_count() else found


def read_chunks(source: str, data: Path | bytes) -> Iterator[Chunk]:
    """The lines of a file, some at a time, with ``\\n`` after every line and no tabs."""
    start = 0
    with _open_bytes(data) as file:
        while text := file.read(CHUNK):
            text += file.readline()
            size = len(text)
            text = text if start else text.removeprefix(b"\xef\xbb\xbf")
            text = text if text.endswith(b"\n") else text + b"\n"
            if b"\r" in text:
                text = text.replace(b"\r\n", b"\n")
            if b"\t" in text:
                text = text.replace(b"\t", b" ")
            yield Chunk(source, data, start, text)
            start += size


def _open_bytes(data: Path | bytes) -> BinaryIO:
    return data.open("rb") if isinstance(data, Path) else io.BytesIO(data)


def _single_spaces(text: bytes) -> bytes:
    """The text with one space between words, and none at the ends of a line."""
    codes = np.frombuffer(text, np.uint8)
    space, end = codes == SPACE, codes == NEWLINE
    if not (space[0] or (space[1:] & (space | end)[:-1]).any() or (space[:-1] & end[1:]).any()):
        return text  # seen faster here than by a search for each of the following
    for odd, plain in ((b"  ", b" "), (b"\n ", b"\n"), (b" \n", b"\n")):
        while odd in text:
            text = text.replace(odd, plain)
    return text.removeprefix(b" ")


def split_comments(chunk: Chunk, *columns: str) -> pl.DataFrame:
    """``body`` and ``comment`` of each line, blank lines included; a comment begins at the first ``#``."""
    try:
        schema = {"body": pl.String(), "comment": pl.String()}
        lines = pl.scan_csv(chunk.text, separator="#", schema=schema, **RAGGED).select(columns).collect()
        if lines["comment"].null_count() + chunk.text.count(b"#") == lines.height:
            return lines  # no line has a second #
        whole = pl.scan_csv(chunk.text, separator="\x00", schema={"line": pl.String()}, **RAGGED).collect()
    except pl.exceptions.PolarsError as error:
        raise chunk.error() from error
    return whole.select(pl.col("line").str.splitn("#", 2).struct.rename_fields(["body", "comment"])).unnest("line")


def split_lines(chunk: Chunk) -> Lines:
    """The rows of a chunk."""
    chunk = replace(chunk, text=_single_spaces(chunk.text))
    lines = split_comments(chunk, "body", "comment").with_columns(
        pl.col("body").str.strip_chars_end(" ").fill_null("")
    )
    lines = lines.with_row_index("number").filter(pl.col("body") != "")
    return Lines(lines["number"], lines["body"], docids(lines["comment"]))


def split_heads(chunk: Chunk, lines: Lines) -> tuple[pl.Series, pl.Series | None, pl.Series]:
    """The label and the query of each row, and the rest of it, all as text; no queries if no row has one."""
    label, query, rest = lines.body.str.splitn(" ", 3).struct.unnest()
    named = query.str.starts_with("qid:").fill_null(False)
    if not named.any():
        label, rest = lines.body.str.splitn(" ", 2).struct.unnest()
        return label, None, rest.fill_null("")
    query = query.str.slice(4)
    if not named.all() or (query == "").any():
        raise chunk.error()
    return label, query, rest.fill_null("")


def letor_labels(source: str, data: Path | bytes, role: LetorRole) -> pl.DataFrame:
    """The labels as gold: ``[query,] item, label``."""
    parts = []
    for chunk in read_chunks(source, data):
        lines = split_lines(chunk)
        if len(lines.body):
            label, query, _ = split_heads(chunk, lines)
            own = {} if query is None else {"query": query}
            parts.append(pl.DataFrame({**own, "item": role.name_items(query, lines.item), "label": label}))
    return join_rows(source, parts)


def letor_ranks(source: str, data: Path | bytes, role: LetorRole) -> tuple[pl.DataFrame, Note]:
    """The ranks that systems gave the items (LETOR -agg), and a note that says so.

    A value is a whole number from 1 on, or NULL: the system did not rank the item. Anything else is an error.
    """
    parts = []
    for chunk in read_chunks(source, data):
        lines = split_lines(chunk)
        if not len(lines.body):
            continue
        _, query, rest = split_heads(chunk, lines)
        own = {} if query is None else {"query": query}
        rows = pl.DataFrame({**own, "item": role.name_items(query, lines.item), "number": lines.number})
        cells = rows.with_columns(rest.str.split(" ").alias("word")).filter(rest != "").explode("word")
        pair = pl.col("word").str.splitn(":", 2).struct.rename_fields(["worker", "rank"])
        cells = cells.with_columns(pair.alias("pair")).unnest("pair")
        _require_ranks(chunk, cells)
        parts.append(cells.select(*own, "worker", "item", pl.col("rank").replace("NULL", None)))
    found = join_rows(source, parts)
    systems = found["worker"].n_unique()
    gave = "1 system" if systems == 1 else f"{systems} systems"
    return found, Note("letor-ranks", f"{source}: was read as the ranks that {gave} gave the items.")


def _require_ranks(chunk: Chunk, cells: pl.DataFrame) -> None:
    """Raise an error unless every value is a rank."""
    pair = pl.col("worker").str.contains(r"^\d+$") & pl.col("rank").is_not_null()
    bad = cells.filter(~pair)
    if not bad.is_empty():
        raise chunk.error()
    bad = cells.filter(~pl.col("rank").str.contains(r"^(NULL|0*[1-9]\d*)$"))
    if not bad.is_empty():
        raise InputError(
            "holds features, not judgments: the rank that a system gave is a whole number from 1 on, or NULL.",
            source=chunk.source,
            row=chunk.before() + bad["number"][0] + 1,
            column=bad["worker"][0],
            value=bad["rank"][0],
            hint=(
                "To train a ranker, give the file as features. To use its labels as a gold standard, give ",
                Remedy("gold", "FILE"),
            ),
        )


def join_rows(source: str, parts: list[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all chunks. Either every row has a query or none has."""
    if not parts:
        raise InputError("there are no rows.", source=source)
    if len({"query" in part.columns for part in parts}) > 1:
        raise InputError("some rows have a qid and others have none.", source=source)
    return pl.concat(parts)
