"""One pass over a million votes on one core: by arrays, and by compiled loops.

The sums are those of a Newton step: the log likelihood, its gradient and its curvature by scores and workers,
averaged over two values of each worker parameter, as a fit does that estimates its priors.
"""

from __future__ import annotations

import numpy as np

import crowdrank as cr
from benchmarks.timing import best
from crowdrank.engine import LocalEngine
from crowdrank.kernels import LOGISTIC
from crowdrank.models.pairs.likelihood import PairedSums
from crowdrank.models.worker_parameters import ETA, LAPSE, LOG_SLOPE, POSITION, WorkerParameter
from crowdrank.prepared.comparisons import Tally, coded_votes, nodes_of, plan, tally
from crowdrank.simulate import bt_crowd
from crowdrank.solve import At

VOTES, ITEMS, WORKERS = 1_000_000, 129, 500
MODELS: dict[str, tuple[WorkerParameter, ...]] = {"crowd-bt": (ETA,), "judge-bt": (LOG_SLOPE, LAPSE, POSITION)}


def counted(sided: bool) -> Tally:
    """The votes in shards, as a fit has them."""
    pairs = cr.read(bt_crowd(seed=0, items=ITEMS, workers=WORKERS, votes=VOTES, spread=1.0).judgments)
    votes = coded_votes(nodes_of([pairs], pairs.index), pairs)
    return Tally(plan(tally(ITEMS, votes, WORKERS, sided=sided)), ITEMS, WORKERS)


def seconds(columns: tuple[WorkerParameter, ...], rows: Tally, order: str, compiled: bool) -> float:
    """The time of one sum over all shards."""
    session = LocalEngine(threads=1).open(rows.shards)
    rng = np.random.default_rng(0)
    workers = np.tile([0.8 if column is ETA else 0.0 for column in columns], (WORKERS, 1))
    at = At(rng.normal(size=ITEMS), workers, spread=np.full_like(workers, 0.05))
    sums = PairedSums(LOGISTIC, "half", columns, compiled)
    return best(lambda: session.evaluate(getattr(sums, order), at), 5)[0]


def main() -> None:
    print("| model | sums | by arrays, ms | by loops, ms | ratio | loops, ns a vote |\n|---|---|---|---|---|---|")
    for name, columns in MODELS.items():
        rows = counted(POSITION in columns)
        for order in ("gradient", "curvature"):
            arrays, loops = (seconds(columns, rows, order, own) for own in (False, True))
            figures = f"{1e3 * arrays:.0f} | {1e3 * loops:.1f} | {arrays / loops:.1f} | {1e9 * loops / VOTES:.1f}"
            print(f"| {name} | {order} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
