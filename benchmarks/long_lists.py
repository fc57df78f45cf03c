"""Pairs of long lists of ratings: all of them beside a sample, in time, memory and agreement with gold.

The made crowd is one query of 3,000 items that ten workers label from 1 to 5. All pairs of real labels are fitted
only if ``--all`` asks for it: they take minutes. Each fit runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from benchmarks.consensus import DATA
from benchmarks.timing import alone, peak

MODELS = ("bt", "crowd-bt", "judge-bt")


def write_made(folder: Path, items: int = 3000, workers: int = 10) -> None:
    """Labels of all items by workers whose noise differs, and the true scores."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    truth = rng.normal(0.0, 1.0, items)
    noise = rng.uniform(0.3, 2.0, workers)[:, None]
    label = np.clip(np.rint(3.0 + truth + noise * rng.normal(size=(workers, items))), 1, 5)
    worker, item = np.divmod(np.arange(workers * items), items)
    names = [f"i{code:04d}" for code in range(items)]
    pl.DataFrame({"worker": worker, "item": [names[code] for code in item], "label": label.ravel()}).write_csv(
        folder / "labels.csv"
    )
    pl.DataFrame({"item": names, "grade": truth}).write_csv(folder / "gold.csv")


def write_snow(folder: Path, task: str) -> None:
    """The labels of one task of snow2008, and its gold."""
    import polars as pl

    rows = pl.read_csv(DATA / "snow2008" / "labels.csv", infer_schema=False).filter(pl.col("task") == task)
    rows.select("worker", "item", label="response").write_csv(folder / "labels.csv")
    rows.select("item", grade="gold").unique("item", maintain_order=True).write_csv(folder / "gold.csv")


def one(folder: Path, model: str, pairs: str) -> None:
    """Read, fit, and print the figures."""
    import crowdrank as cr
    from crowdrank.compare import measure_by_gold
    from crowdrank.data import count_pairs, read_gold
    from crowdrank.models.registry import make

    base, began = peak(), time.perf_counter()
    table = cr.read(folder / "labels.csv", pairs=pairs)
    assert isinstance(table, cr.Ratings)
    fitted = make(model, {}).fit(table)
    found = {"seconds": time.perf_counter() - began, "memory": peak() - base, "pairs": count_pairs(table)}
    found["accuracy"] = measure_by_gold(fitted, read_gold(folder / "gold.csv"), "acc")["acc"]
    print(json.dumps(found))


def main(every: bool = False, models: tuple[str, ...] = MODELS) -> None:
    """A row for each crowd, model and choice of pairs."""
    print(f"{'crowd':14} {'model':9} {'pairs of':8} {'pairs':>9} {'seconds':>8} {'MB':>6} {'accuracy':>8}")
    with tempfile.TemporaryDirectory() as name:
        crowds = {
            "made": Path(name) / "made",
            "snow2008 rte": Path(name) / "rte",
            "snow2008 temp": Path(name) / "temp",
        }
        for folder in crowds.values():
            folder.mkdir()
        write_made(crowds["made"])
        write_snow(crowds["snow2008 rte"], "rte")
        write_snow(crowds["snow2008 temp"], "temp")
        crowds["websearch5"] = DATA / "websearch5"
        for crowd, folder in crowds.items():
            for model in models:
                for pairs in ("auto", "all") if every and crowd != "made" else ("auto",):
                    found = alone(
                        "benchmarks.long_lists", "--one", str(folder), "--model", model, "--pairs", pairs
                    )
                    print(
                        f"{crowd:14} {model:9} {pairs:8} {found['pairs']:9.0f} {found['seconds']:8.2f} "
                        f"{found['memory']:6.0f} {found['accuracy']:8.4f}",
                        flush=True,
                    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one")
    parser.add_argument("--model", default="bt")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--pairs", default="auto")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    if given.one:
        one(Path(given.one), given.model, given.pairs)
    else:
        main(given.all, tuple(given.models))
