"""The process that reads Parquet files on trial; ``trial`` starts it as a script.

It prints "ready" once Polars is there. Then it takes a request per line, ``{"path": ..., "columns": [...],
"rows": ...}``, reads these columns (none: the schema alone) of the first rows (null: all), and answers with a
line: the error as JSON, or null. A file may end this process; that is what it is for.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import polars as pl

ROWS = 1 << 20
"""Rows that are decoded at a time, and forgotten."""


def limit_memory(size: int) -> None:
    """Hold this process to so many bytes, so that a damaged file cannot take the memory of all others."""
    try:
        import resource
    except ImportError:  # Windows
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    size = size if most == resource.RLIM_INFINITY else min(size, most)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read_on_trial(path: str, columns: list[str], rows: int | None) -> str | None:
    """Decode the columns of the first ``rows``, or of all; what is wrong, in a line, or None."""
    try:
        lazy = pl.scan_parquet(path)
        known = lazy.collect_schema()
        if columns:
            chosen = lazy.select(name for name in columns if name in known)
            chosen = chosen if rows is None else chosen.head(rows)
            for _ in chosen.collect_batches(chunk_size=ROWS, engine="streaming"):
                pass
    except (Exception, pl.exceptions.PanicException) as error:
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    return None


if __name__ == "__main__":
    limit_memory(int(sys.argv[1]))
    print("ready", flush=True)
    line: str
    for line in sys.stdin:
        request: Any = json.loads(line)
        print(json.dumps(read_on_trial(**request)), flush=True)
