"""One pinned core against all: how long the bt model takes for votes on many items, and with how many threads.

Threads beyond the cores that a process may use wait for each other. The time on one core should be at most the
number of cores times that on all. Each run is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import time

from benchmarks.timing import alone

VOTES, ITEMS = 300_000, 2000
PINNED = "--pinned"


def one(pinned: bool) -> None:
    """Fit, and print the figures; ``pinned`` holds this process to one CPU before any library counts them."""
    if pinned:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import numpy as np
    import polars as pl

    from crowdrank.engine import LocalEngine
    from crowdrank.models.registry import make

    rng = np.random.default_rng(0)
    scores = rng.normal(0.0, 1.5, ITEMS)
    left = rng.integers(0, ITEMS, VOTES)
    right = (left + rng.integers(1, ITEMS, VOTES)) % ITEMS
    ahead = rng.random(VOTES) < 1.0 / (1.0 + np.exp(scores[right] - scores[left]))
    names = pl.Series([f"item-{place:04d}" for place in range(ITEMS)])
    columns = {"left": left, "right": right, "label": np.where(ahead, left, right)}
    votes = pl.DataFrame({name: names.gather(own) for name, own in columns.items()})
    began = time.perf_counter()
    make("bt", {}).fit(votes)
    print(json.dumps({"seconds": time.perf_counter() - began, "threads": LocalEngine().threads}))


def main() -> None:
    """Both runs, and their ratio."""
    every, pinned = alone("benchmarks.threads", "--one"), alone("benchmarks.threads", "--one", PINNED)
    print("| cores | threads | fit, s |\n|---|---|---|")
    for name, found in (("all", every), ("one", pinned)):
        print(f"| {name} | {found['threads']} | {found['seconds']:.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", action="store_true")
    parser.add_argument(PINNED, action="store_true")
    given = parser.parse_args()
    if given.one:
        one(given.pinned)
    else:
        main()
