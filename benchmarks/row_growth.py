"""Time and memory against the number of labels and of ranked items, in memory and on disk.

Each size and model runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import alone, peak

SIZES = (100_000, 1_000_000, 10_000_000)
PIECE = 2_000_000
WORKERS, ITEMS, CLASSES, LABELS, LENGTH = 1000, 300, 4, 20, 10
MODELS = {"labels": ("majority-vote", "dawid-skene"), "lists": ("borda", "plackett-luce")}
TIGHT = "200MB"
"""A limit that sends the larger sizes to disk."""


def write_labels(path: Path, rows: int) -> None:
    """Labels of items in 4 classes, 20 per item, by workers who are right with their own probability."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    right = rng.beta(6.0, 2.0, WORKERS)
    truth = rng.integers(0, CLASSES, max(rows // LABELS, 1))
    with path.open("wb") as file:
        for start in range(0, rows, PIECE):
            count = min(PIECE, rows - start)
            item, worker = rng.integers(0, len(truth), count), rng.integers(0, WORKERS, count)
            slip = np.where(rng.random(count) < right[worker], 0, rng.integers(1, CLASSES, count))
            columns = {"worker": worker, "item": item, "label": (truth[item] + slip) % CLASSES}
            frame = pl.DataFrame(columns).with_columns(
                pl.format("worker-{}", "worker").alias("worker"), pl.format("item-{}", "item").alias("item")
            )
            frame.write_csv(file, include_header=start == 0)


def write_lists(path: Path, rows: int) -> None:
    """Lists of 10 of 300 items, drawn by Plackett-Luce."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    scores = rng.normal(0.0, 1.5, ITEMS)
    with path.open("wb") as file:
        for start in range(0, rows, PIECE):
            lists = min(PIECE, rows - start) // LENGTH
            item = np.argsort(rng.random((lists, ITEMS)).astype(np.float32), axis=1)[:, :LENGTH]
            item = np.take_along_axis(
                item, np.argsort(-scores[item] - rng.gumbel(size=item.shape), axis=1), axis=1
            )
            number = start // LENGTH + np.repeat(np.arange(lists), LENGTH)
            columns = {"list": number, "worker": number % WORKERS, "item": item.ravel()}
            frame = pl.DataFrame(columns).with_columns(
                pl.format("worker-{}", "worker").alias("worker"),
                pl.format("item-{}", "item").alias("item"),
                rank=pl.Series(np.tile(np.arange(1, LENGTH + 1), lists)),
            )
            frame.write_csv(file, include_header=start == 0)


def one(path: str, model: str, memory: str | None) -> None:
    """Read, fit, and print the figures."""
    import crowdrank as cr
    from crowdrank.models.registry import make

    began = time.perf_counter()
    table = cr.read(path, memory=memory)
    read = time.perf_counter()
    fitted = make(model, {}).fit(table)
    figures = {
        "read": read - began,
        "fit": time.perf_counter() - read,
        "peak": peak(),
        "spooled": hasattr(table, "spool"),
        "iterations": fitted.fit_.iterations,
    }
    print(json.dumps(figures))


def table(sizes: tuple[int, ...], kinds: tuple[str, ...] = tuple(MODELS)) -> Iterator[str]:
    """A row for each size, model and place."""
    yield "| rows | model | read, s | fit, s | fit, µs a row | peak, MB | steps |"
    yield "|---|---|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            for rows in sizes:
                path = Path(folder) / f"{kind}-{rows}.csv"
                (write_labels if kind == "labels" else write_lists)(path, rows)
                for model in MODELS[kind]:
                    for memory in (None, TIGHT):
                        given = ["--memory", memory] if memory else []
                        found = alone("benchmarks.row_growth", "--one", str(path), "--model", model, *given)
                        if bool(memory) == found["spooled"]:
                            yield _row(rows, kind, model, found)
                path.unlink()


def _row(rows: int, kind: str, model: str, found: dict[str, float]) -> str:
    place = " (on disk)" if found["spooled"] else ""
    what = "labels" if kind == "labels" else "ranked items"
    return (
        f"| {rows} {what}{place} | {model} | {found['read']:.2f} | {found['fit']:.2f} | "
        f"{1e6 * found['fit'] / rows:.2f} | {found['peak']:.0f} | {found['iterations']} |"
    )


def main(sizes: tuple[int, ...] = SIZES, kinds: tuple[str, ...] = tuple(MODELS)) -> None:
    """Print the table."""
    for line in table(sizes, kinds):
        print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one")
    parser.add_argument("--model", default="borda")
    parser.add_argument("--kinds", default=",".join(MODELS))
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--memory")
    given = parser.parse_args()
    if given.one:
        one(given.one, given.model, given.memory)
    else:
        main(tuple(size for size in SIZES if size <= given.most), tuple(given.kinds.split(",")))
