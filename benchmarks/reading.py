"""Reading and coding a CSV of string ids, as a ratio to Polars reading the same file."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import alone, peak


def one(path: str, how: str) -> None:
    """Read once and print the figures."""
    import polars as pl

    import crowdrank as cr

    cr.read(pl.DataFrame({"winner": ["a"], "loser": ["b"]}))  # everything is imported before the clock starts
    began = time.perf_counter()
    kept = pl.read_csv(path) if how == "polars" else cr.read(path)
    print(json.dumps({"seconds": time.perf_counter() - began, "peak": peak()}))
    del kept


def main(rows: int = 10_000_000, repeats: int = 5) -> None:
    """The best of several runs of each, in turn."""
    import polars as pl

    rng = np.random.default_rng(0)
    items = np.array([f"model-{code:05d}" for code in range(5000)])
    workers = np.array([f"worker-{code:06d}" for code in range(20000)])
    first = rng.integers(0, 5000, rows)
    second = (first + rng.integers(1, 5000, rows)) % 5000
    frame = pl.DataFrame(
        {"worker": workers[rng.integers(0, 20000, rows)], "winner": items[first], "loser": items[second]}
    )
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "votes.csv")
        frame.write_csv(path)
        del frame
        found: dict[str, list[dict[str, float]]] = {"polars": [], "crowdrank": []}
        for _ in range(repeats):
            for how, runs in found.items():
                runs.append(alone("benchmarks.reading", "--one", path, "--how", how))
    times = {how: min(run["seconds"] for run in runs) for how, runs in found.items()}
    peaks = {how: min(run["peak"] for run in runs) for how, runs in found.items()}
    print(f"{rows:,} rows of string ids\n\n| | seconds | peak, MB |\n|---|---|---|")
    print(f"| Polars reads the file | {times['polars']:.2f} | {peaks['polars']:.0f} |")
    print(f"| read, checked and coded | {times['crowdrank']:.2f} | {peaks['crowdrank']:.0f} |")
    print(f"| ratio | {times['crowdrank'] / times['polars']:.2f} | {peaks['crowdrank'] / peaks['polars']:.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one")
    parser.add_argument("--how", default="crowdrank")
    parser.add_argument("--rows", type=int, default=10_000_000)
    given = parser.parse_args()
    if given.one:
        one(given.one, given.how)
    else:
        main(given.rows)
