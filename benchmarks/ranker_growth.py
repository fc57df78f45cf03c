"""The linear listmle on 1e4 to 1e7 documents of 46 features, 100 per query: seconds and peak memory.

Each run is a process of its own that reads LETOR text. The largest is read with ``memory="1GB"``, so that its
features are kept in a file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from benchmarks.features import write
from benchmarks.rankers import PAGE
from benchmarks.timing import alone, peak

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
TITLE = "## How the linear ranker grows"
TEXT = """Written by `python -m benchmarks.ranker_growth > LOG` and `--page LOG`: listmle with its defaults on
documents of 46 features, 100 per query, read from LETOR text on two processors. The largest file (5.3 GB) is
read with `--memory 1GB`, so that its features are kept in a file.
"""
LARGE = 5_000_000
"""From this many rows on, features are kept in a file."""


def one(path: str, memory: str | None) -> None:
    """Read and train once, and print the figures."""
    import crowdrank as cr

    began = time.perf_counter()
    features = cr.read_features(path, memory=memory)
    read = time.perf_counter()
    ranker = cr.ListMLE().fit(features)
    done = time.perf_counter()
    figures = {"read": read - began, "train": done - read, "iterations": ranker.fit_.iterations, "peak": peak()}
    measured = ranker.fit_.details["measured"]["ranker"]["nDCG@10"]
    print(json.dumps({**figures, "ndcg": measured, "file": features.summary()["storage"] == "file"}))


def write_page(lines: list[str]) -> None:
    """Put the table at the end of the page of figures."""
    page = PAGE.read_text().partition(f"\n{TITLE}\n")[0]
    PAGE.write_text(f"{page}\n{TITLE}\n\n{TEXT}\n" + "".join(f"{line}\n" for line in lines))


def main(sizes: tuple[int, ...] = SIZES) -> None:
    print("| documents | reading | training | iterations | peak memory |")
    print("|---|---|---|---|---|")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            write(Path(name), rows, absent=0.0, csv=False)
            large = ["--memory", "1GB"] if rows >= LARGE else []
            run = alone("benchmarks.ranker_growth", "--one", f"{name}/rows.letor", *large)
        cells = (rows, f"{run['read']:.1f} s", f"{run['train']:.1f} s", run["iterations"], f"{run['peak']:.0f} MB")
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one")
    parser.add_argument("--memory")
    parser.add_argument("--page", type=Path, help="write the table of this output to the docs")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    given = parser.parse_args()
    if given.page:
        write_page([line for line in given.page.read_text().splitlines() if line.startswith("|")])
    elif given.one:
        one(given.one, given.memory)
    else:
        main(tuple(given.sizes))
