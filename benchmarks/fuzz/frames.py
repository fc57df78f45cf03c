"""Frames drawn at random: columns of judgments, gold and features in odd types and from several libraries."""

from __future__ import annotations

import random
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

LAYOUTS = (
    ("worker", "left", "right", "label"),
    ("winner", "loser", "weight", "query"),
    ("model_a", "model_b", "winner", "timestamp"),
    ("item", "label", "worker"),
    ("item", "rank", "list", "worker"),
    ("items", "rank", "worker"),
    ("query", "item", "grade"),
    ("item", "score"),
    ("worker", "eta"),
    ("item", "f1", "f2", "label", "weight"),
)
NAMES = ("#row", "", " item ", "ITEM", "item", "label", "weight", "x" * 2000, "#item", "é", "list", "query")

Values = list[Any]


def _choices(rng: random.Random, rows: int) -> dict[str, tuple[Values, pl.DataType | None]]:
    def pick(*values: Any) -> Values:
        return [rng.choice(values) for _ in range(rows)]

    return {
        "ids": (pick("a", "b", "c"), None),
        "gaps": (pick("a", None, "", "tie"), None),
        "whole": (pick(1, 2, 3), None),
        "wide": (pick(2**62, -(2**62), 0), None),
        "unsigned": (pick(0, 1, 2**64 - 1), pl.UInt64()),
        "small": (pick(-1, 0, 1), pl.Int8()),
        "great": (pick(2**100, 1), pl.Int128()),
        "float": (pick(1.0, 2.5, 1e12, 1e-170), None),
        "odd": (pick(float("nan"), float("inf"), -1.0, 1e308, 0.0), None),
        "float32": (pick(1.0, 3.4e38, 0.1), pl.Float32()),
        "bool": (pick(True, False), None),
        "null": (pick(None), None),
        "list": (pick(["a", "b"], ["c"], [], None), pl.List(pl.String())),
        "numbers": (pick([1, 2], [3]), pl.List(pl.Int64())),
        "array": (pick(["a", "b"], ["c", "d"]), pl.Array(pl.String(), 2)),
        "struct": (pick({"a": 1}, {"a": None}), None),
        "binary": (pick(b"a", b"\xff\xfe", b""), None),
        "date": (pick(date(2020, 1, 1), date(1, 1, 1)), None),
        "datetime": (pick(datetime(2020, 1, 1), datetime(9999, 12, 31)), None),
        "zoned": (pick(datetime(2020, 1, 1)), pl.Datetime("us", "UTC")),
        "time": (pick(time(1), time(23)), None),
        "duration": (pick(timedelta(1), timedelta(-1)), None),
        "decimal": (pick(Decimal("1.50"), Decimal("-3")), pl.Decimal(20, 4)),
        "categorical": (pick("a", "b"), pl.Categorical()),
        "enum": (pick("a", "b", "tie"), pl.Enum(["a", "b", "tie"])),
        "long": (pick("x" * 3000, "y" * 3000), None),
        "object": (pick(object()), pl.Object()),
        "surrogate": (pick("💥", "\u202e", "\x00"), None),
    }


USUAL = ("ids", "whole", "float")


def draw_frame(rng: random.Random) -> Any:
    """A frame of Polars, pandas or PyArrow."""
    rows = rng.choice((0, 1, 2, 5, 12))
    kinds = _choices(rng, rows)
    names = list(rng.choice(LAYOUTS))
    if rng.random() < 0.3:
        names[rng.randrange(len(names))] = rng.choice(NAMES)
    if rng.random() < 0.2:
        names.append(rng.choice(NAMES))
    names = list(dict.fromkeys(names))
    odd = rng.choice((0.0, 0.15, 0.4))
    columns = {}
    for name in names:
        kind = rng.choice(list(kinds)) if rng.random() < odd else _usual(rng, name)
        values, dtype = kinds[kind]
        columns[name] = pl.Series(name, values, dtype=dtype, strict=False)
    frame = pl.DataFrame(list(columns.values()))
    return _as_library(rng, frame)


def _usual(rng: random.Random, name: str) -> str:
    if name in ("weight", "rank", "grade", "score", "eta", "timestamp", "f1", "f2"):
        return rng.choice(("whole", "float"))
    return rng.choice(USUAL)


def _as_library(rng: random.Random, frame: pl.DataFrame) -> Any:
    how = rng.random()
    if how < 0.6 or any(dtype == pl.Object for dtype in frame.dtypes):
        return frame if how < 0.5 else frame.lazy()
    try:
        return frame.to_pandas() if how < 0.8 else frame.to_arrow()
    except Exception:  # a type that the other library lacks
        return frame
