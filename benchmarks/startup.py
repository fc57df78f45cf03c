"""The whole command on 1,000 votes, from process start, as a ratio to importing its libraries."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIBRARIES = "import numpy, scipy.optimize, polars"
COMMAND = "from crowdrank.cli import main; main()"


def seconds(*words: str, repeats: int = 7) -> float:
    """The shortest of several runs of a Python process."""
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        found.append(time.perf_counter() - began)
    return min(found)


def main() -> None:
    """Both, in turn."""
    from crowdrank.simulate import bt_crowd

    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "votes.csv", Path(folder) / "out"
        bt_crowd(seed=0, votes=1000).judgments.write_csv(path)
        base = seconds("-c", LIBRARIES)
        print("| command | seconds | its libraries alone | ratio |\n|---|---|---|---|")
        for model in ("bt", "crowd-bt"):
            for extra in ([], ["--out", str(out)]):
                own = seconds("-c", COMMAND, "rank", str(path), "--model", model, *extra)
                what = "with a report" if extra else "to stdout"
                print(f"| `{model}`, {what} | {own:.2f} | {base:.2f} | {own / base:.2f} |", flush=True)


if __name__ == "__main__":
    main()
