"""Remap: the time of one step of P beside the form by sample and the paper's form, and how a step grows.

Wall-clock time of one step: the ridge ranker, the slopes of the target, and the slopes of P. `python -m
benchmarks.remap` prints the tables, and `write` writes docs/rankers/remap-figures.md: the tables of `crowdrank
reproduce remap-...`, then these. With `--work DIR` both are taken from that folder as far as they are there (see
docs/commands.md), and the rest is computed and kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

import crowdrank as cr
from benchmarks.page import FiguresPage, Section, lines
from benchmarks.timing import peak
from crowdrank.engine import one_blas_thread
from crowdrank.prepared.plan import cut
from crowdrank.rankers.objectives import LambdaRank, Targets
from crowdrank.rankers.remap.climb import Climb, TargetSide
from crowdrank.rankers.remap.ridge import SampleShard
from crowdrank.rankers.remap.samples import WIDTH
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.remap_targets import REMAP_TARGETS

FEATURES, LABEL_FEATURES, LABELS = 346, 29, 3
DOCUMENTS = 20
"""Documents of a query."""
TARGET = 100
"""Queries of the target."""
REPEATS = 5
ENGINES: dict[str, Callable[[], Any]] = {
    "1 thread": lambda: cr.LocalEngine(1),
    "2 threads": lambda: cr.LocalEngine(2),
    "Dask, 2 processes": lambda: cr.DaskEngine(workers=2),
}


class Problem:
    """Random samples of a size: documents with three labels each, and a target."""

    def __init__(self, samples: int, features: int = FEATURES) -> None:
        rng = np.random.default_rng(0)
        queries = max(samples // (LABELS * DOCUMENTS), 1)
        documents = queries * DOCUMENTS
        self.start = np.arange(0, documents + 1, DOCUMENTS)
        self.values = rng.standard_normal((documents, features), np.float32)
        self.document = np.repeat(np.arange(documents), LABELS)
        self.label = rng.integers(0, 2, len(self.document))
        self.features = rng.standard_normal((len(self.document), LABEL_FEATURES))
        self.features[:, 0] = self.label
        self.target = rng.normal(size=(TARGET * DOCUMENTS, features))
        self.grades = rng.integers(0, 5, TARGET * DOCUMENTS).astype(float)
        self.penalty = 0.1 * documents
        self.alpha, self.beta = np.zeros(LABEL_FEATURES), np.eye(LABEL_FEATURES)[0]

    def shards(self) -> list[SampleShard]:
        """The samples as remap cuts them."""
        found = []
        for low, high in cut(self.start[1:], width=self.values.shape[1] // WIDTH):
            first, last = int(self.start[low]), int(self.start[high])
            samples = slice(LABELS * first, LABELS * last)
            own = self.features[samples]
            found.append(
                SampleShard(
                    self.values[first:last], self.start[low : high + 1] - first, self.document[samples] - first,
                    np.ones(len(own)), own, own, self.label[samples], 2,
                )
            )  # fmt: skip
        return found

    def side(self) -> TargetSide:
        """The target with LambdaRank of DCG@10."""
        objective = LambdaRank("dcg", 10, "exp", False)
        start = np.arange(0, len(self.grades) + 1, DOCUMENTS)
        plan = objective.plan(Targets(start, self.grades, np.ones(len(self.grades))))
        return TargetSide(self.target, objective, plan, start)


def ours(problem: Problem, engine: Any) -> tuple[float, Any]:
    """The median seconds of a step, and its slopes."""
    climb = Climb(engine.open(problem.shards()), problem.side(), problem.penalty, lambda ranker: 0.0)
    seconds, slopes = [], None
    climb._slopes(problem.alpha, problem.beta, climb.solve(problem.alpha, problem.beta))  # the spread, once
    for _ in range(REPEATS):
        began = time.perf_counter()
        ranker = climb.solve(problem.alpha, problem.beta)
        slopes = climb._slopes(problem.alpha, problem.beta, ranker)
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds)), slopes


def by_sample(problem: Problem, *, adjoint: bool) -> float:
    """The seconds of a step with a row for each sample: by the adjoint, or by the paper's eq. 8 and 9."""
    x = problem.values[problem.document].astype(np.float64)
    side, features = problem.side(), problem.features
    began = time.perf_counter()
    w, value = expit(features @ problem.alpha), expit(features @ problem.beta)
    factor = cho_factor(x.T @ (w[:, None] * x) + problem.penalty * np.eye(x.shape[1]))
    b = cho_solve(factor, x.T @ (w * value))
    by_score = side.slopes(side.values @ b)
    bend, bend_value = w * (1 - w), value * (1 - value)
    error = value - x @ b
    if adjoint:
        back = x @ cho_solve(factor, side.values.T @ by_score)
        features.T @ (bend * error * back)
        features.T @ (w * bend_value * back)
        return time.perf_counter() - began
    for column in features.T:  # db/dalpha_j and db/dbeta_j, each by itself
        for weight in (column * bend * error, column * w * bend_value):
            moved = cho_solve(factor, x.T @ weight)
            by_score @ (side.values @ moved)
    return time.perf_counter() - began


def time_form(key: Key) -> dict[str, Any]:
    """One form of a step at 100,000 samples."""
    problem = Problem(key["samples"])
    if key["form"] == "ours":
        engine = ENGINES[key["engine"]]()
        try:
            with one_blas_thread():
                return {"ms": 1000 * ours(problem, engine)[0]}
        finally:
            engine.close()
    return {"ms": 1000 * min(by_sample(problem, adjoint=key["form"] == "adjoint") for _ in range(2))}


def time_growth(key: Key) -> dict[str, Any]:
    """A step of a size, and the largest memory of this process so far."""
    problem, engine = Problem(key["samples"]), ENGINES[key["engine"]]()
    try:
        with one_blas_thread():
            seconds, slopes = ours(problem, engine)
    finally:
        engine.close()
    return {"ms": 1000 * seconds, "peak": peak(), "slopes": float(slopes.sum()).hex()}


def form_table(ledger: Ledger) -> Iterator[str]:
    names = {
        "ours": "adjoint, one row a document (ours)",
        "adjoint": "adjoint, one row a sample",
        "paper": "eq. 8 and 9, one row a sample (paper)",
    }
    keys = {
        form: {"experiment": "remap-step", "samples": 100_000, "form": form,
               **({"engine": "2 threads"} if form == "ours" else {})}
        for form in names
    }  # fmt: skip
    ledger.fill(keys.values(), time_form)
    best = ledger[keys["ours"]]["ms"]
    rows = [
        [name, f"{ledger[keys[form]]['ms']:.0f} ms", f"{ledger[keys[form]]['ms'] / best:.1f}"]
        for form, name in names.items()
    ]
    yield from lines(("form", "a step", "times ours"), rows)


def growth_table(ledger: Ledger) -> Iterator[str]:
    keys = [
        {"experiment": "remap-growth", "samples": samples, "engine": engine}
        for samples in (10_000, 100_000, 1_000_000)
        for engine in ENGINES
    ]
    ledger.fill(keys, time_growth)
    rows = [
        [f"{key['samples']:,}", key["engine"], f"{ledger[key]['ms']:.0f} ms", f"{ledger[key]['peak']:.0f} MB"]
        for key in keys
    ]
    yield from lines(("samples", "engine", "a step", "peak so far"), rows)
    same = all(
        len({ledger[key]["slopes"] for key in keys if key["samples"] == samples}) == 1
        for samples in {key["samples"] for key in keys}
    )
    yield ""
    yield f"The slopes are {'the same to the bit' if same else 'NOT the same'} on all engines."


PAGE = FiguresPage(
    "remap",
    "rankers/remap-figures.md",
    """# Figures of remap

What [remap](remap.md) brings over rankers on plain consensus labels, what each of its parts brings, and how
long it takes. In the first tables look at DCG@10 (larger is better), at *over MV*, which is the gain over
majority labels, and at *full less it*, which is the lead of the whole method over a row.

Written by `python -m benchmarks.remap write`: the tables of `crowdrank reproduce`, and the times of
`benchmarks/remap.py`. Crowds are simulated, over simulated documents or over MQ2008 (LETOR 4.0). Only the labels
of the table of real labels are real.
""",
    [target.name for target in REMAP_TARGETS],
    (
        Section(
            "A step of P",
            f"100,000 labels of documents with {FEATURES} features, {LABEL_FEATURES} label features, a target of "
            f"{TARGET} queries of {DOCUMENTS} documents. The forms by sample use NumPy with all its threads.",
            form_table,
        ),
        Section("How a step grows", "The same with more labels.", growth_table),
    ),
)


def main() -> None:
    PAGE.main(__doc__)


if __name__ == "__main__":
    main()
