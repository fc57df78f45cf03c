"""Reading features, as a ratio to Polars reading the same numbers as CSV; and features larger than memory."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import alone, peak

WIDTH = 46
BATCH = 100_000


def write(folder: Path, rows: int, *, absent: float, csv: bool) -> None:
    """LETOR text, and the same numbers as CSV. A share of the values is 0; ``absent``: they are not written.

    The labels, 0 to 2, depend on a few features and chance.
    """
    import polars as pl

    rng = np.random.default_rng(0)
    names = [f"f{key}" for key in range(1, WIDTH + 1)]
    with (folder / "rows.letor").open("wb") as letor, (folder / "rows.csv").open("wb") as table:
        for first in range(0, rows, BATCH):
            count = min(BATCH, rows - first)
            values = np.round(rng.random((count, WIDTH)), 6)
            values[rng.random(values.shape) < (absent or 0.3)] = 0
            row = pl.Series(np.arange(first, first + count))
            frame = pl.DataFrame(values, schema=names).select(
                pl.Series("label", np.digitize(values[:, :3].sum(axis=1) + rng.normal(size=count), (1.5, 2.5))),
                (row // 100).cast(pl.String).alias("query"),
                ("GX" + (row * 7919 % 10**7).cast(pl.String).str.zfill(14)).alias("item"),
                *names,
            )
            if csv:
                frame.write_csv(table, include_header=not first)
            words = [pl.format("{} qid:{}", "label", "query")]
            for key, name in enumerate(names, 1):
                word = pl.format(f"{key}:{{}}", name)
                words.append(pl.when(pl.col(name) != 0).then(word) if absent else word)
            words.append(pl.format("#docid = {} inc = 1 prob = 0.5", "item"))
            line = frame.select(pl.concat_str(words, separator=" ", ignore_nulls=True))
            line.write_csv(letor, include_header=False, quote_style="never")


def one(path: str, how: str, memory: str | None) -> None:
    """Read once and print the figures."""
    import polars as pl

    import crowdrank as cr

    cr.read_features(pl.DataFrame({"item": ["a"], "x": [1.0]}))  # everything is imported before the clock starts
    types = {"query": pl.String, "item": pl.String, **{f"f{key}": pl.Float32 for key in range(1, WIDTH + 1)}}
    began = time.perf_counter()
    if how == "polars":
        rows = pl.read_csv(path, schema_overrides=types).height
    else:
        found = cr.read_features(path, memory=memory)
        rows = found.rows
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "peak": peak(), "rows": rows}))


def main(rows: int = 1_000_000, repeats: int = 5) -> None:
    """The best of several runs of each, in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder, ways = Path(name), ("polars", "letor", "csv")
        for absent in (0.0, 0.3):
            write(folder, rows, absent=absent, csv=True)
            found: dict[str, list[dict[str, float]]] = {how: [] for how in ways}
            for _ in range(repeats):
                for how, runs in found.items():
                    path = str(folder / ("rows.letor" if how == "letor" else "rows.csv"))
                    runs.append(alone("benchmarks.features", "--one", path, "--how", how))
            times = {how: min(run["seconds"] for run in runs) for how, runs in found.items()}
            peaks = {how: min(run["peak"] for run in runs) for how, runs in found.items()}
            array = 4 * rows * WIDTH / 2**20
            print(
                f"{rows} rows of {WIDTH} features"
                + (f", {absent:.0%} of them 0 and not written" if absent else "")
            )
            for how in ways:
                print(
                    f"  {how}: {times[how]:.2f} s, {times[how] / times['polars']:.2f} times Polars; "
                    f"peak {peaks[how]:.0f} MB, {peaks[how] / array:.2f} times the float32 array"
                )


def larger(rows: int = 10_000_000, memory: str = "1GB") -> None:
    """Features that go to a file."""
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), rows, absent=0.0, csv=False)
        run = alone("benchmarks.features", "--one", f"{name}/rows.letor", "--memory", memory)
        print(f"{rows} rows with memory={memory}: {run['seconds']:.1f} s, peak {run['peak']:.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one")
    parser.add_argument("--how", default="letor")
    parser.add_argument("--memory")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--larger", action="store_true")
    given = parser.parse_args()
    if given.one:
        one(given.one, given.how, given.memory)
    elif given.larger:
        larger(given.rows if given.rows > 1_000_000 else 10_000_000)
    else:
        main(given.rows)
