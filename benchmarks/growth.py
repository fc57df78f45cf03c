"""Time and memory against the number of votes: reading a CSV, and fitting bt and crowd-bt to it.

Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from benchmarks.timing import alone, peak

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
ITEMS, WORKERS = 300, 1000


def one(path: str, model: str) -> None:
    """Read, fit, and print the figures."""
    import crowdrank as cr
    from crowdrank.models.registry import make

    base, began = peak(), time.perf_counter()
    table = cr.read(path)
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
                "converged": fitted.fit_.converged,
                "iterations": fitted.fit_.iterations,
            }
        )
    )


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """A row for each size and model."""
    from crowdrank.simulate import bt_crowd

    print(f"{ITEMS} items, {WORKERS} workers; seconds and MB")
    print(f"{'votes':>10} {'model':9} {'read':>7} {'fit':>7} {'fit, us/vote':>13} {'peak MB':>8} iterations")
    with tempfile.TemporaryDirectory() as folder:
        for votes in sizes:
            path = Path(folder) / f"{votes}.csv"
            bt_crowd(seed=0, items=ITEMS, workers=WORKERS, votes=votes, spammers=0.3).judgments.write_csv(path)
            for model in ("bt", "crowd-bt"):
                found = alone("benchmarks.growth", "--one", str(path), "--model", model)
                print(
                    f"{votes:>10} {model:9} {found['read']:7.2f} {found['fit']:7.2f} "
                    f"{1e6 * found['fit'] / votes:13.2f} {found['peak']:8.0f} {found['iterations']}"
                    f"{'' if found['converged'] else ' (not converged)'}",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one")
    parser.add_argument("--model", default="bt")
    parser.add_argument("--most", type=int, default=max(SIZES))
    given = parser.parse_args()
    if given.one:
        one(given.one, given.model)
    else:
        main(tuple(size for size in SIZES if size <= given.most))
