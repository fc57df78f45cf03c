"""Every benchmark, one after the other, or some of them by name; with `write`, into the pages of the docs.

`python -m benchmarks` prints all; `python -m benchmarks write peers startup` runs these two and puts what they
print between their marks in docs/benchmarks.md or docs/robustness.md. Pages of figures that are wholly written by
their benchmark (asking, ltrma, papers, remap, rankers) have commands of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import sys
from pathlib import Path

from benchmarks.page import DOCS, fill_marks

NAMES = (
    "startup", "reading", "features", "peers", "passes", "labels", "consensus", "worker_weights", "growth",
    "long_lists", "crowd_agg", "tpp", "rankers", "ranker_growth", "row_growth", "ltrma", "asking", "cluster",
    "coverage", "choices", "robustness", "public_votes", "threads",
)  # fmt: skip


class Both(io.StringIO):
    """Keeps what is printed, and prints it too, so that a long run can be followed."""

    def write(self, text: str) -> int:
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        return super().write(text)


def page_of(name: str) -> Path | None:
    """The page that has a place for the benchmark."""
    return next((page for page in sorted(DOCS.glob("*.md")) if f"<!-- {name} -->" in page.read_text()), None)


def run(name: str, write: bool) -> None:
    module, page = importlib.import_module(f"benchmarks.{name}"), page_of(name)
    print(f"\n== {(module.__doc__ or name).strip().splitlines()[0]}", flush=True)
    with contextlib.redirect_stdout(Both()) as printed:
        module.main()
    if write and page is not None:
        fill_marks(page, name, printed.getvalue())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="`write`, and benchmarks; all if none is named")
    given = parser.parse_args().names
    for name in [name for name in given if name != "write"] or NAMES:
        run(name, "write" in given)
