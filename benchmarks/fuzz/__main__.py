"""``python -m benchmarks.fuzz readers|fits|invariances|NAME [--count N] [--seed S] [--first K]``.

Each input is drawn from (task, seed, number), so a finding comes back with ``--first NUMBER --count 1``. The exit
code is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

GROUPS = ("readers", "fits", "invariances")


def main() -> int:
    """Run tasks and print their findings and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.fuzz")
    parser.add_argument("what", nargs="+", help="readers, one reader by its name, fits or invariances")
    parser.add_argument("--count", type=int, default=1000, help="inputs of each task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--shown", type=int, default=3, help="findings of one kind that are printed")
    parser.add_argument("--write", action="store_true", help="renew the row of each task in docs/fuzzing.md")
    given = parser.parse_args()
    if given.what[0] == "child":
        _run_child(given)
        return 0
    from benchmarks.fuzz.page import write_row
    from benchmarks.fuzz.watch import run_watched

    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    failed = False
    for task in _tasks(given.what):
        found = run_watched(task, given.seed, given.first, given.count)
        shown: Counter[str] = Counter()
        for finding in found.findings:
            shown[finding.kind] += 1
            if shown[finding.kind] <= given.shown:
                print(finding)
        print(found.line(), flush=True)
        if given.write:
            write_row(found, given.seed)
        failed = failed or bool(found.findings)
    return int(failed)


def _tasks(words: list[str]) -> list[str]:
    from benchmarks.fuzz.readers import READERS

    return [task for word in words for task in (READERS if word == "readers" else [word])]


def _run_child(given: argparse.Namespace) -> None:
    from benchmarks.fuzz import readers
    from benchmarks.fuzz.watch import run_here

    _, task, folder = given.what
    if task == "fits":
        from benchmarks.fuzz.fits import make_fit as make
    elif task == "invariances":
        from benchmarks.fuzz.invariances import make_pair as make
    elif task.startswith("broken-"):
        from benchmarks.fuzz.broken import maker

        make = maker(task)
    else:
        make = readers.maker(task)
    run_here(task, make, Path(folder), given.seed, given.first, given.count)


if __name__ == "__main__":
    sys.exit(main())
