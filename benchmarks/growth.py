"""Time and memory against the number of votes: reading a CSV, and fitting bt and crowd-bt to it.

Each size runs in a process of its own, so that its peak memory is its own. A hundred million votes
(``--most 100000000``: a file of 4 GB) are read through the spool.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from benchmarks.timing import alone, peak

SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
USUAL = SIZES[-2]
PIECE = 5_000_000
ITEMS, WORKERS = 300, 1000


def write_votes(path: Path, votes: int) -> None:
    """Votes of one crowd (Crowd-BT eq. 5) as CSV, written in pieces."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    scores = rng.normal(0.0, 1.5, ITEMS)
    quality = np.where(rng.random(WORKERS) < 0.3, 0.5, rng.beta(8.0, 1.5, WORKERS))
    items = pl.Series([f"item-{place:03d}" for place in range(ITEMS)])
    workers = pl.Series([f"worker-{place:04d}" for place in range(WORKERS)])
    with path.open("wb") as file:
        for start in range(0, votes, PIECE):
            count = min(PIECE, votes - start)
            left = rng.integers(0, ITEMS, count)
            right = (left + rng.integers(1, ITEMS, count)) % ITEMS
            worker = rng.integers(0, WORKERS, count)
            ahead = 1.0 / (1.0 + np.exp(scores[right] - scores[left]))
            faithful = rng.random(count) < quality[worker]
            wins = (rng.random(count) < ahead) == faithful
            columns = {"left": left, "right": right, "label": np.where(wins, left, right)}
            frame = pl.DataFrame(
                {"worker": workers.gather(worker), **{name: items.gather(own) for name, own in columns.items()}}
            )
            frame.write_csv(file, include_header=start == 0)


def one(path: str, model: str, memory: str | None) -> None:
    """Read, fit, and print the figures."""
    import crowdrank as cr
    from crowdrank.models.registry import make

    base, began = peak(), time.perf_counter()
    table = cr.read(path, memory=memory)
    read = time.perf_counter()
    fitted = make(model, {}).fit(table)
    done = time.perf_counter()
    print(
        json.dumps(
            {
                "read": read - began,
                "fit": done - read,
                "base": base,
                "peak": peak(),
                "spooled": isinstance(table, cr.SpooledPairs),
                "converged": fitted.fit_.converged,
                "iterations": fitted.fit_.iterations,
            }
        )
    )


def main(sizes: tuple[int, ...] = SIZES[:-1], memory: str | None = None) -> None:
    """A row for each size and model."""
    print(
        "| votes | model | read, s | fit, s | fit, µs a vote | peak, MB | steps |\n|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for votes in sizes:
            path = Path(folder) / f"{votes}.csv"
            write_votes(path, votes)
            for model in ("bt", "crowd-bt"):
                limit = ["--memory", memory] if memory else []
                found = alone("benchmarks.growth", "--one", str(path), "--model", model, *limit)
                place = " (on disk)" if found["spooled"] else ""
                steps = f"{found['iterations']}{'' if found['converged'] else ', not converged'}"
                times = f"{found['read']:.2f} | {found['fit']:.2f} | {1e6 * found['fit'] / votes:.2f}"
                print(f"| {votes:,}{place} | {model} | {times} | {found['peak']:.0f} | {steps} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one")
    parser.add_argument("--model", default="bt")
    parser.add_argument("--most", type=int, default=USUAL)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--memory")
    given = parser.parse_args()
    if given.one:
        one(given.one, given.model, given.memory)
    else:
        main(tuple(size for size in SIZES if given.least <= size <= given.most), given.memory)
