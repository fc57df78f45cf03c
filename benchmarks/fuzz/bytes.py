"""Files drawn at random: valid files of every format, and what happens to bytes, cells and lines."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable
from functools import cache

PAIRS = [
    "worker,left,right,label\nw1,a,b,a\nw2,b,c,c\nw1,c,a,tie\nw3,a,b,b\n",
    "name,winner,loser\nx,a,b\ny,b,c\nz,c,a\n",
    "judge,model_a,model_b,winner,weight\nw1,a,b,model_a,1\nw2,b,c,tie,2.5\nw2,a,c,model_b,1e3\n",
    "query,top_item,bottom_item,timestamp\nq1,a,b,1\nq1,b,c,2020-01-01T00:00:00\nq2,c,d,3\n",
    'worker,left,right,winner,note\n"w,1",a,b,left,"x ""y"""\nw2,"b\nb",c,right,\nw2,b,c,same,z\n',
]
RATINGS = ["worker,item,label\nw1,a,3\nw2,a,2\nw1,b,1\nw2,b,1.5\n", "item,label,qid\na,1,q\nb,2,q\na,2,p\n"]
RANKINGS = [
    "worker,item,rank\nw1,a,1\nw1,b,2\nw2,b,1\nw2,a,2\nw2,c,\n",
    'worker,list,items,rank\nw,1,"a,b",1\nw,1,c,2\nw,2,"b,c",1\n',
]
GOLD = ["query,item,grade\nq1,a,2\nq1,b,0\nq2,c,1\n", "item,true_rank\na,1\nb,2\nc,3\n", "item,gold\na,1\nb,0\n"]
ANCHORS = [
    "left,right,label\na,b,a\nb,c,b\n",
    "worker,eta\nw1,0.9\nw2,0.4\n",
    "query,item,label\nq,a,1\nq,b,2\n",
    "item,rank\na,1\nb,2\nc,2\n",
]
FEATURES = ["query,item,f1,f2,label\nq1,a,0.5,1,2\nq1,b,,2,0\nq2,c,1e3,-4,1\n", "item,f1,weight\na,1,1\nb,2,2\n"]
RANKED = ["query,item,score\nq1,a,2\nq1,b,0.5\n", "item,rank\na,1\nb,2\n"]
JSON = [
    '{"worker": "w1", "left": "a", "right": "b", "label": "a"}\n'
    '{"worker": "w2", "left": "b", "right": "c", "label": "c"}\n',
    '{"item": "a", "label": 3, "worker": 1}\n{"item": "b", "label": 2.5, "worker": 2}\n',
    '{"items": ["a", "b"], "rank": 1, "list": "x"}\n{"items": ["c"], "rank": 2, "list": "x"}\n',
    '[{"winner": "a", "loser": "b"}, {"winner": "b", "loser": "c", "weight": 2}]\n',
]
LETOR = [
    "1 qid:1 1:1 2:2 #docid = a\n0 qid:1 1:2 2:1 #docid = b\n2 qid:2 1:1 2:NULL #docid = c\n",
    "1 1:1 2:3\n0 1:2 2:1\n",
    "# rows\n2 qid:x 3:1 1:2 # a b\n\n1 qid:x 1:1 # b c\n",
]
TREC = [
    "q1 Q0 a 1 9.5 run1\nq1 Q0 b 2 9.1 run1\nq1 Q0 b 1 3 run2\nq1 Q0 a 2 2 run2\n",
    "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n",
]
PREFLIB = [
    "# FILE NAME: x.soc\n# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: milk\n# ALTERNATIVE NAME 3: cola\n"
    "3: 1,2,3\n2: 2,{1,3}\n",
    "4: 1,2\n1: {2,3},1\n",
]

CELLS = (
    "", " ", '"', '""', "'", "NaN", "inf", "-inf", "-1", "0", "1e400", "-1e400", "1e-400", "1e12", "1.1e12",
    "1e-170", "9" * 400, "9" * 4500, "x" * 3000, "tie", "left", "right", "#row", "#", "#N/A", "null",
    "None", "1_000", "٣", "½", "0x1F", "1,5", "a,b", "a;b", "a\tb", "\n", "\r", "\r\n", "\x00", "\x1a",
    "\ufeff", "é" * 50, "\u202e", "💥", "=1+1", "2020-01-01", "99999-01-01", "{", "}", "[", "]", "{}", "[]",
    "[1]", '{"a": 1}', "true", "1:", ":", "1:1", "qid:", "-0", "+1", ".", "1e", "4294967296",
    "18446744073709551616", "NULL", "(unknown)", "worker", "item", "label", "rank", "weight", "query",
    "list", "timestamp", "winner", "loser", "items", "eta", "_duplicated_0", "*", "P*",
)  # fmt: skip

DEEP = (100, 2000, 100_000)


def draw(rng: random.Random, valid: list[str]) -> bytes:
    """A file: a valid one, changed several times."""
    text = rng.choice(valid)
    for _ in range(rng.choice((0, 1, 1, 2, 3, 6))):
        text = rng.choice(TEXT_CHANGES)(rng, text)
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.25:
        data = change_bytes(rng, data)
    return pack(rng, data)


def pack(rng: random.Random, data: bytes) -> bytes:
    """Sometimes compressed, and sometimes damaged after that."""
    if rng.random() < 0.1:
        data = gzip.compress(data, 1)
        if rng.random() < 0.5:
            data = change_bytes(rng, data)
    return data


def tabs(text: str) -> str:
    return text.replace(",", "\t")


def _change_cell(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    sign = "\t" if "\t" in lines[place] else " " if "," not in lines[place] else ","
    cells = lines[place].split(sign)
    cells[rng.randrange(len(cells))] = rng.choice(CELLS)
    lines[place] = sign.join(cells)
    return "\n".join(lines)


def _change_fields(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    cells = lines[place].split(",")
    if rng.random() < 0.5:
        cells.insert(rng.randrange(len(cells) + 1), rng.choice(CELLS))
    else:
        del cells[rng.randrange(len(cells))]
    lines[place] = ",".join(cells)
    return "\n".join(lines)


def _change_lines(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    how = rng.randrange(5)
    if how == 0:
        lines.insert(place, rng.choice(("", " ", ",,,", "\t", "#", "# x", "\x00")))
    elif how == 1:
        lines.insert(rng.randrange(len(lines) + 1), lines[place])
    elif how == 2:
        del lines[place]
    elif how == 3:
        lines = lines[:1] + lines[1:] * rng.choice((2, 5, 40))
    else:
        rng.shuffle(lines)
    return rng.choice(("\n", "\n", "\n", "\r\n", "\r")).join(lines)


def _change_word(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(CELLS) + text[at + rng.choice((0, 1, 3)) :]


def _cut(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _nest(rng: random.Random, text: str) -> str:
    """A deep value, or a very long number, in place of some value."""
    value = (
        rng.choice(('{"a":', "[")) * rng.choice(DEEP) if rng.random() < 0.3 else "1" * rng.choice((20, 400, 4500))
    )
    at = rng.randrange(len(text) + 1)
    return text[:at] + value + text[at:]


TEXT_CHANGES: tuple[Callable[[random.Random, str], str], ...] = (
    _change_cell, _change_cell, _change_cell, _change_fields, _change_fields, _change_lines, _change_lines,
    _change_word, _change_word, _cut,
)  # fmt: skip


def change_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip bits, overwrite, insert or cut bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not changed:
            break
        at, how = rng.randrange(len(changed)), rng.randrange(8)
        if how < 4:
            changed[at] ^= 1 << rng.randrange(8)
        elif how == 4:
            changed[at] = rng.randrange(256)
        elif how == 5:
            changed[at:at] = rng.randbytes(rng.choice((1, 2, 4, 16)))
        elif how == 6:
            size = rng.choice((1, 4, 8, 64))
            changed[at : at + size] = rng.choice((b"\x00", b"\xff", b"\x80", b"\x7f")) * size
        else:
            del changed[at : at + rng.choice((1, 2, 8, len(changed)))]
    return bytes(changed)


def draw_json(rng: random.Random) -> bytes:
    """JSON lines or an array; sometimes very deep, or with a very long number."""
    text = rng.choice(JSON)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        text = (_nest if rng.random() < 0.03 else rng.choice(TEXT_CHANGES))(rng, text)
    data = text.encode("utf-8", "surrogatepass")
    return pack(rng, change_bytes(rng, data) if rng.random() < 0.2 else data)


def draw_parquet(rng: random.Random, seed: int) -> bytes:
    """A Parquet file of one of several writers, damaged."""
    files = parquet_files()
    data = files[rng.randrange(len(files))]
    if rng.random() < 0.02:
        return data
    if rng.random() < 0.5:  # a single bit, somewhere
        at = rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    return change_bytes(rng, data)


@cache
def parquet_files() -> tuple[bytes, ...]:
    """Small valid files with other types, compressions, encodings and row groups."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 30
    frame = pl.DataFrame(
        {
            "worker": [f"w{row % 3}" for row in range(rows)],
            "left": [f"item{row % 5}" for row in range(rows)],
            "right": [f"item{row % 5 + 1}" for row in range(rows)],
            "label": [f"item{row % 5 + row % 2}" for row in range(rows)],
            "weight": [1.0 + row % 4 for row in range(rows)],
        }
    )
    numbers = pl.DataFrame(
        {"item": [row % 7 for row in range(rows)], "label": [None if row == 3 else row % 4 for row in range(rows)]}
    ).with_columns(pl.col("label").fill_null(1), worker=pl.lit("w").cast(pl.Categorical), flag=pl.col("item") > 3)
    lists = pl.DataFrame(
        {"items": [["a", "b"], ["c"]] * 5, "rank": [1, 2] * 5, "list": [k // 2 for k in range(10)]}
    )
    found = []
    for table in (frame, numbers, lists):
        for compression in ("uncompressed", "snappy", "zstd"):
            buffer = io.BytesIO()
            table.write_parquet(buffer, compression=compression, row_group_size=12)
            found.append(buffer.getvalue())
    delta = {"worker": "DELTA_BYTE_ARRAY", "left": "DELTA_LENGTH_BYTE_ARRAY", "weight": "BYTE_STREAM_SPLIT"}
    ways: tuple[dict[str, object], ...] = (
        {"compression": "gzip", "data_page_version": "2.0"},
        {"compression": "none", "use_dictionary": False, "column_encoding": delta, "data_page_size": 64},
        {"compression": "lz4", "use_dictionary": ["left"], "write_page_checksum": True},
        {"compression": "brotli", "store_schema": False, "write_statistics": False},
    )
    for way in ways:
        sink = pa.BufferOutputStream()
        pq.write_table(frame.to_arrow().cast(_plain(frame)), sink, **way)
        found.append(sink.getvalue().to_pybytes())
    counted = numbers.select(pl.col("item").cast(pl.Int64), pl.col("label").cast(pl.Int32)).to_arrow()
    sink = pa.BufferOutputStream()
    pq.write_table(counted, sink, use_dictionary=False, column_encoding={"item": "DELTA_BINARY_PACKED"})
    return (*found, sink.getvalue().to_pybytes())


def _plain(frame: object) -> object:
    import pyarrow as pa

    return pa.schema([(name, pa.float64() if name == "weight" else pa.string()) for name in frame.columns])  # type: ignore[attr-defined]
