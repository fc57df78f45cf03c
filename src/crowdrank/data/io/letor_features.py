"""The features of LETOR text. Polars parses the numbers, two chunks at a time.

Most files have the same features in the same order in every row. Such a chunk is a table once its colons are
spaces: label, "qid", query, 1, v, 2, v, ... Its numbers of features are checked in every row. Any other chunk is
taken apart into one line per ``number:value``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.data.io.blocks import Block, sparse_rows
from crowdrank.data.io.cells import MISSING_WORDS
from crowdrank.data.io.letor import (
    COLON,
    NEWLINE,
    RAGGED,
    SPACE,
    Chunk,
    LetorRole,
    docids,
    read_chunks,
    split_comments,
    split_heads,
    split_lines,
)
from crowdrank.errors import InputError

THREADS = 2
"""Chunks in work at once. Polars uses all processors itself; the second chunk fills the steps between."""

MOST_TABLE = 1 << 24
"""Feature numbers up to this one are numbered by a table instead of a sort."""

MOST_DIGITS = 4000
"""Longer numbers are left to the error message: Python refuses to read them."""

MOST_COLUMNS = 2000
"""Rows with more features than this are taken apart: Polars is slow on very wide tables."""


def letor_blocks(source: str, data: Path | bytes, role: LetorRole) -> Iterator[Block]:
    """The rows of a file as blocks, in their order."""
    queries: set[bool] = set()
    with ThreadPoolExecutor(THREADS) as pool:
        for block in _in_turn(pool, read_chunks(source, data)):
            if block is None:
                continue
            queries.add(block.query is not None)
            if len(queries) > 1:
                raise InputError("some rows have a qid and others have none.", source=source)
            yield replace(block, item=role.name_items(block.query, block.item))
    if not queries:
        raise InputError("there are no rows.", source=source)


def _in_turn(pool: ThreadPoolExecutor, chunks: Iterator[Chunk]) -> Iterator[Block | None]:
    """The parsed chunks in their order, with as many in work as there are threads."""
    waiting = deque[Future[Block | None]]()
    for chunk in chunks:
        waiting.append(pool.submit(parse_chunk, chunk))
        if len(waiting) == THREADS:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def parse_chunk(chunk: Chunk) -> Block | None:
    """The rows of a chunk, with items that may still lack an id; None if there are none."""
    block = _same_features(chunk) or _any_features(chunk)
    if block is not None and not _are_finite(block):
        raise chunk.error()
    return block


def _are_finite(block: Block) -> bool:
    values = block.values if isinstance(block.values, np.ndarray) else block.values.data
    return not (np.isinf(values).any() or (block.label is not None and np.isinf(block.label).any()))


# ---------------------------------------------------------------- the same features in the same order in every row


def _same_features(chunk: Chunk) -> Block | None:
    """The chunk as a table of equal rows; None if it is not one, or if something in it is not a number."""
    end = chunk.text.rfind(b"\n", 0, -1) + 1
    named, keys = _head_features(chunk.text[: chunk.text.find(b"\n")])
    if not 0 < len(set(keys)) == len(keys) <= MOST_COLUMNS or (named, keys) != _head_features(chunk.text[end:]):
        return None
    text, colons = replace_byte(chunk.text, COLON, SPACE)
    try:
        table = pl.scan_csv(text, separator=" ", schema=_schema(named, keys), **RAGGED).collect()
    except pl.exceptions.PolarsError:
        return None
    inside = colons - table.height * (len(keys) + named)  # the colons in comments, if every row has what it should
    if inside < 0 or not _are_equal(table, keys, named):
        return None
    item = _usual_ids(table) if not inside else None
    if item is None:
        comments = split_comments(chunk, "comment")["comment"]
        if inside != comments.str.count_matches(":", literal=True).sum():
            return None
        item = docids(comments)
    order = np.argsort(keys)
    return Block(
        query=table["query"] if named else None,
        item=item,
        label=table["label"].to_numpy(),
        names=tuple(str(keys[place]) for place in order),
        values=_matrix(table, [f"value{place}" for place in order]),
    )


def _usual_ids(table: pl.DataFrame) -> pl.Series | None:
    """The ids if every comment is ``docid = D ...``: its words are columns already. None otherwise."""
    words = {"end": "#docid", "sign": "="}
    usual = [pl.col(column).eq_missing(pl.lit(word)).all() for column, word in words.items()]
    found = table.select(pl.all_horizontal(*usual, pl.col("docid").is_not_null().all())).item()
    return table["docid"] if found else None


def _head_features(line: bytes) -> tuple[bool, list[int]]:
    """Whether a row has a qid, and the numbers of its features; none if one is not a number."""
    words = line.partition(b"#")[0].decode("utf-8", "replace").split()
    named = len(words) > 1 and words[1].startswith("qid:")
    keys = [word.partition(":")[0] for word in words[1 + named :]]
    numbers = all(key.isascii() and key.isdigit() and len(key) <= MOST_DIGITS for key in keys)
    return named, [int(key) for key in keys] if numbers else []


def _schema(named: bool, keys: list[int]) -> dict[str, Any]:
    """The columns of a chunk without colons; those after the features are the beginning of the comment."""
    schema: dict[str, Any] = {"label": pl.Float64()}
    if named:
        schema |= {"qid": pl.String(), "query": pl.String()}
    number = pl.UInt8() if max(keys) < 2**8 else pl.UInt32()  # narrow ones are faster
    for place in range(len(keys)):
        schema |= {f"key{place}": number, f"value{place}": pl.Float32()}
    return schema | dict.fromkeys(("end", "sign", "docid"), pl.String())


def replace_byte(text: bytes, old: int, new: int) -> tuple[bytes, int]:
    """The text with one byte for another, and how often; twice as fast as ``bytes.replace`` if there are many."""
    codes = np.frombuffer(text, np.uint8)
    changes = (codes == old).view(np.uint8)
    count = int(np.count_nonzero(changes))
    changes *= np.uint8(old ^ new)
    changes ^= codes
    return changes.tobytes(), count


def _are_equal(table: pl.DataFrame, keys: list[int], named: bool) -> bool:
    """Whether every row has exactly these features, and a label (and a query if the first row has one)."""
    wanted = [pl.col(f"key{place}").eq_missing(key).all() for place, key in enumerate(keys)]
    wanted += [pl.col("label").is_not_null().all(), pl.col("end").str.starts_with("#").all()]
    if named:
        wanted += [pl.col("qid").eq_missing(pl.lit("qid")).all(), pl.col("query").is_not_null().all()]
    return bool(table.select(pl.all_horizontal(wanted)).item())


def _matrix(table: pl.DataFrame, columns: list[str]) -> NDArray[np.float32]:
    values = table.select(columns)
    if any(column.null_count() for column in values):
        values = values.fill_null(float("nan"))
    return np.asarray(values.to_numpy(order="c"), np.float32)


# -------------------------------------------------------------------------------------------------- any features


def _any_features(chunk: Chunk) -> Block | None:
    """The chunk by its single ``number:value`` words; absent features are 0."""
    lines = split_lines(chunk)
    rows = len(lines.body)
    if not rows:
        return None
    label, query, rest = split_heads(chunk, lines)
    item = lines.item
    del lines  # the text of the rows is in ``rest``
    counts = rest.str.count_matches(":", literal=True).to_numpy()
    key, value = _words(chunk, rest)
    if len(key) != counts.sum():
        raise chunk.error()
    return Block(
        query=query,
        item=item,
        label=_labels(chunk, label),
        **_by_feature(chunk, np.repeat(np.arange(rows), counts), key, value, rows),
    )


def _words(chunk: Chunk, rest: pl.Series) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Number and value of each feature, row by row: one line for each, which Polars reads as two columns."""
    text = replace_byte(rest.filter(rest != "").str.join("\n")[0].encode(), SPACE, NEWLINE)[0]
    schema, found = {"key": pl.UInt32(), "value": pl.Float32()}, None
    options = {**RAGGED, "truncate_ragged_lines": False, "extra_columns": "raise"}
    for missing in (None, list(MISSING_WORDS)):  # a search for words takes time, and most files have none
        with suppress(pl.exceptions.PolarsError):
            found = pl.scan_csv(text, separator=":", schema=schema, null_values=missing, **options).collect()
            break
    if found is None or found["key"].null_count():
        raise chunk.error()
    return found["key"].to_numpy(), found["value"].fill_null(float("nan")).to_numpy()


def _labels(chunk: Chunk, label: pl.Series) -> Floats:
    missing = label.is_in(MISSING_WORDS)
    values = label.cast(pl.Float64, strict=False)
    if (values.is_null() & ~missing).any():
        raise chunk.error()
    return values.fill_null(float("nan")).to_numpy()


def _by_feature(
    chunk: Chunk, row: Integers, key: NDArray[np.uint32], value: NDArray[np.float32], rows: int
) -> dict[str, Any]:
    """The names and the values of a block, from the features of its rows."""
    keys, column = _distinct(key)
    place = row * max(len(keys), 1) + column
    if (place[1:] <= place[:-1]).any():
        order = np.argsort(place, kind="stable")
        place, value = place[order], value[order]
        if (place[1:] == place[:-1]).any():
            raise chunk.error()
    return {
        "names": tuple(map(str, keys.tolist())),
        "values": sparse_rows(place, value, rows, len(keys)),
        "omits": len(key) < rows * len(keys),
    }


def _distinct(key: NDArray[np.uint32]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The distinct numbers in ascending order, and the place of each; by a table unless a number is very large."""
    if not len(key) or key.max() > MOST_TABLE:
        return np.unique(key, return_inverse=True)
    seen = np.zeros(int(key.max()) + 1, bool)
    seen[key] = True
    return np.flatnonzero(seen), (np.cumsum(seen, dtype=np.int32) - 1)[key]
