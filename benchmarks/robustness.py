"""How well each model orders the items when bad workers join the crowd: random ones, and malicious ones."""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.page import DATA, DOCS
from crowdrank.measures import pairwise_accuracy
from crowdrank.models import entries
from crowdrank.reproduce.chart import Line, Panel, svg
from crowdrank.simulate import bt_crowd

CHART = DOCS / "images" / "robustness.svg"
SHARES = {"simulated": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6), "readinglevel": (0.0, 0.2, 0.4, 0.6)}
"""Of bad workers in the whole crowd; fewer where a fit takes seconds."""
KINDS = ("random", "malicious")
BASELINES = ("bt", "majority-bt")
REVERSED = 0.9
"""How often a malicious worker says the opposite of the truth."""
TITLES = {"simulated": "Simulated crowd", "readinglevel": "Reading level, real votes"}

Task = tuple[str, str, float, int]
"""Data, kind of bad workers, their share, and the seed."""
Results = dict[tuple[str, str], dict[str, np.ndarray]]
"""By data and kind: for each model mean and standard error (shares, 2)."""


def models() -> list[str]:
    """The baselines, and every model that learns how good the workers are."""
    learners = (own.name for own in entries().values() if own.workers == "needed" and "pairs" in own.kinds)
    return [*BASELINES, *learners]


@cache
def crowd(data: str, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Votes (worker, winner, loser) and the truth (item, grade); the real ones are the same for every seed."""
    if data == "simulated":
        made = bt_crowd(seed=seed, items=30, workers=40, votes=1200, spammers=0.0)
        lost = pl.when(pl.col("label") == pl.col("left")).then("right").otherwise("left")
        return made.judgments.select("worker", winner="label", loser=lost), made.gold
    folder = DATA / "readinglevel"
    votes = pl.read_csv(folder / "pairs.csv", infer_schema=False).filter(pl.col("winner") != pl.col("loser"))
    gold = pl.read_csv(folder / "gold.csv", infer_schema=False)
    return votes, gold.select("item", pl.col("grade").cast(pl.Float64))


def joined_by(votes: pl.DataFrame, gold: pl.DataFrame, kind: str, share: float, seed: int) -> pl.DataFrame:
    """The votes with those of as many bad workers as make up ``share`` of the whole crowd.

    Each of them judges as many of the recorded pairs as a worker does on average. A random one tosses a coin;
    a malicious one names the worse item by the truth, but for one vote in ten. Of equal items either tosses.
    """
    rng = np.random.default_rng([seed, round(100 * share), KINDS.index(kind)])
    workers = votes["worker"].n_unique()
    added, each = round(workers * share / (1.0 - share)), round(len(votes) / workers)
    asked = votes[rng.integers(0, len(votes), added * each)].select("winner", "loser").to_numpy()
    grade = dict(gold.iter_rows())
    apart = np.array([np.sign(grade[one] - grade[other]) for one, other in asked])
    coin = rng.random(len(asked))
    turned = coin < 0.5
    if kind == "malicious":  # the better item is named first where it should not be
        turned = np.select([apart > 0, apart < 0], [coin < REVERSED, coin >= REVERSED], turned)
    said = np.where(np.asarray(turned, bool)[:, None], asked[:, ::-1], asked)
    bad = {
        "worker": [f"bad-{place // each}" for place in range(len(asked))],
        "winner": said[:, 0],
        "loser": said[:, 1],
    }
    return pl.concat([votes, pl.DataFrame(bad, schema=votes.schema)])


def accuracies(task: Task) -> dict[str, float]:
    """The pairwise accuracy of every model on one crowd."""
    data, kind, share, seed = task
    votes, gold = crowd(data, seed)
    frame = joined_by(votes, gold, kind, share, seed)
    found = {}
    for name in models():
        ranking = entries()[name].load()().fit(frame).ranking_.polars().join(gold, on="item")
        found[name] = pairwise_accuracy(ranking["score"].to_numpy(), ranking["grade"].to_numpy())
    return found


def tasks(data: str, seeds: int) -> list[Task]:
    """One for each crowd; without bad workers the real votes are one crowd."""
    found = []
    for seed in range(seeds):
        if data == "simulated" or seed == 0:
            found.append((data, KINDS[0], 0.0, seed))
        found += [(data, kind, share, seed) for kind in KINDS for share in SHARES[data][1:]]
    return found


def measured(seeds: dict[str, int], processes: int) -> dict[Task, dict[str, float]]:
    """Every crowd, on this many processes; the largest first, so that none is left alone with one at the end."""
    every = [task for data, count in seeds.items() for task in tasks(data, count)]
    every.sort(key=lambda task: (task[0] == "simulated", -task[2]))
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        return dict(zip(every, pool.map(accuracies, every), strict=True))


def summarised(done: dict[Task, dict[str, float]]) -> Results:
    """Mean and standard error over the seeds; without bad workers both kinds are the same crowd."""
    found: Results = {}
    for data, kind in dict.fromkeys((task[0], kind) for kind in KINDS for task in sorted(done)):
        shares = SHARES[data]
        found[data, kind] = {name: np.zeros((len(shares), 2)) for name in models()}
        for row, share in enumerate(shares):
            wanted = (data, kind if share else KINDS[0], share)
            for name, values in found[data, kind].items():
                own = np.array([one[name] for task, one in done.items() if task[:3] == wanted])
                values[row, 0] = own.mean()
                if len(own) > 1:
                    values[row, 1] = own.std(ddof=1) / len(own) ** 0.5
    return dict(sorted(found.items(), key=lambda own: list(SHARES).index(own[0][0])))


def table(shares: Sequence[float], found: dict[str, np.ndarray]) -> str:
    """Models by shares, in Markdown."""
    lines = [
        "| model | " + " | ".join(f"{share:.1f}" for share in shares) + " |",
        "|---" * (len(shares) + 1) + "|",
    ]
    for name, values in found.items():
        cells = [f"{mean:.3f} ± {error:.3f}" if error else f"{mean:.3f}" for mean, error in values]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def panels(results: Results) -> list[Panel]:
    """The chart: one panel for each data set and kind of worker."""
    return [
        Panel(
            title=f"{TITLES[data]}, {kind} workers added",
            below=f"share of {kind} workers in the crowd",
            beside="pairwise accuracy",
            x=SHARES[data],
            lines=[
                Line(name, values[:, 0].tolist(), values[:, 1].tolist(), plain=name in BASELINES)
                for name, values in found.items()
            ],
        )
        for (data, kind), found in results.items()
    ]


def main(seeds: int = 10, real_seeds: int = 5, processes: int | None = None, chart: Path = CHART) -> None:
    counts = {"simulated": seeds, "readinglevel": real_seeds}
    if not (DATA / "readinglevel").exists():
        print(f"The reading-level votes are not at {DATA}: the simulated crowd alone.")
        del counts["readinglevel"]
    results = summarised(measured(counts, processes or os.cpu_count() or 1))
    for (data, kind), found in results.items():
        print(f"\n### {TITLES[data]}, {kind} workers added\n")
        print(table(SHARES[data], found), flush=True)
    chart.write_text(svg(panels(results)), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="simulated crowds")
    parser.add_argument("--real-seeds", type=int, default=5, help="draws of bad workers for the real votes")
    parser.add_argument("--processes", type=int, help="as many as there are cores where it is not given")
    parser.add_argument("--svg", type=Path, metavar="FILE", default=CHART, help="where the chart goes")
    given = parser.parse_args()
    main(given.seeds, given.real_seeds, given.processes, given.svg)
