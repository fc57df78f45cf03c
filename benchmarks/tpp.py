"""TPP by its two inferences: seconds, peak memory and distance from the truth against queries and workers.

Crowds are drawn by the authors' generator (30 documents, each worker judges a tenth of the pairs of every query).
Each fit runs in a process of its own; on Dask the memory is that of the client alone, without its two workers.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.timing import alone, peak

DOMAINS = 10
CROWDS: dict[str, dict[str, Any]] = {
    "100 queries, 10 workers": {},
    "10 x the queries": {"queries": 1000},
    "10 x the workers": {"workers": 100},
    "a million votes": {"queries": 1000, "workers": 25, "sparsity": 0.092},
}
MOST = {"grid": 2_000_000, "gibbs": 500_000}
"""Votes that an inference is asked to take at most."""


def one(folder: Path, inference: str, engine: str) -> None:
    """Read, fit, and print the figures."""
    import crowdrank as cr
    from crowdrank.data import read_gold, read_ranking
    from crowdrank.measures import evaluate
    from crowdrank.models.registry import make

    base, began = peak(), time.perf_counter()
    table = cr.read(folder / "judgments.parquet")
    place = cr.DaskEngine(workers=2) if engine == "dask" else cr.LocalEngine()
    try:
        ready = time.perf_counter()
        model = make("tpp", {"domains": DOMAINS, "inference": inference})
        model.fit(table, engine=place)
        done = time.perf_counter()
    finally:
        place.close()
    found = evaluate(read_ranking(model.ranking_.polars()), read_gold(folder / "gold.parquet"), "distance")
    figures = {
        "read": ready - began,
        "fit": done - ready,
        "base": base,
        "peak": peak(),
        "distance": found["distance"],
        "rounds": model.fit_.iterations,
        "converged": model.fit_.converged,
    }
    print(json.dumps(figures))


def main(crowds: dict[str, dict[str, Any]] = CROWDS) -> None:
    """A row for each crowd, inference and engine."""
    from crowdrank.simulate import tpp_crowd

    print("| crowd | votes | inference | engine | fit, s | us/vote | rounds | peak MB | distance |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, settings in crowds.items():
        with tempfile.TemporaryDirectory() as folder:
            crowd = tpp_crowd(**settings)
            for table, frame in (("judgments", crowd.judgments), ("gold", crowd.gold)):
                frame.write_parquet(Path(folder) / f"{table}.parquet")
            votes = len(crowd.judgments)
            for inference, engine in product(MOST, ("local", "dask")):
                if votes > MOST[inference]:
                    continue
                found = alone("benchmarks.tpp", "--one", folder, "--inference", inference, "--engine", engine)
                rounds = f"{found['rounds']}{'' if found['converged'] else ', not converged'}"
                each = 1e6 * found["fit"] / votes
                cells = (
                    f"{found['fit']:.1f} | {each:.1f} | {rounds} | {found['peak']:.0f} | {found['distance']:.2f}"
                )
                print(f"| {name} | {votes:,} | {inference} | {engine} | {cells} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", type=Path)
    parser.add_argument("--inference", default="grid")
    parser.add_argument("--engine", default="local")
    given = parser.parse_args()
    if given.one:
        one(given.one, given.inference, given.engine)
    else:
        main()
