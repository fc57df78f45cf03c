"""The page of the fuzzers in the docs: a row per task, each from its last run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.fuzz.watch import Outcomes

PAGE = Path(__file__).parents[2] / "docs" / "fuzzing.md"
HEAD = """# Fuzzing

No input may crash the program. `python -m benchmarks.fuzz` draws inputs at random and looks at what comes out:

    python -m benchmarks.fuzz readers --count 100000 --seed 0 --write
    python -m benchmarks.fuzz fits --count 20000 --write
    python -m benchmarks.fuzz invariances --count 5000 --write

- **Readers**: valid files with flipped bits, cut ends, odd cells, headers and lines, very long numbers, deep JSON,
  and frames with odd types. They are read as judgments, gold, anchors, rankings, features or side information.
- **Fits**: every model with tiny judgments of every kind: ties, weights at the ends of their range, one item, one
  worker, groups that never met, and parameters that fit or do not.
- **Invariances**: the same scores under other ids, other orders of the rows, and for a row twice or with weight 2.

An input must be answered, or refused with an error of the project, in at most 10 seconds of processor time and
1,000 characters. Scores are finite, no fit says that it converged to NaN, and a second fit is equal. Inputs run in
a process that may end; it is then started again behind the input that ended it. A finding names the command that
brings it back, and the exit code is 1.

The last runs (`--write` renews the row of a task):

| task | seed | inputs | answered | refused | findings | inputs per second |
|---|---|---|---|---|---|---|
"""


def write_row(found: Outcomes, seed: int) -> None:
    """Renew the row of a task, and leave the others."""
    rows = dict(_kept_rows())
    total = found.counts.total()
    numbers = (seed, total, found.counts["answered"], found.counts["refused"], found.counts["finding"])
    cells = [found.task, *(f"{number:,}" for number in numbers), f"{total / max(found.seconds, 1e-9):.0f}"]
    rows[found.task] = f"| {' | '.join(cells)} |"
    PAGE.write_text(HEAD + "\n".join(rows.values()) + "\n", encoding="utf-8")


def _kept_rows() -> Iterator[tuple[str, str]]:
    if PAGE.exists():
        table = PAGE.read_text(encoding="utf-8").partition("|---|---|---|---|---|---|---|\n")[2]
        for line in table.splitlines():
            yield line.split("|")[1].strip(), line
