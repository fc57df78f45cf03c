"""LTRMA: the time of its E-step beside the paper's, of a fold of MQ2008, and how a fit grows; local and on Dask.

Everything is wall-clock time, reading not included. `python -m benchmarks.ltrma` prints the tables, and `write`
writes docs/rankers/ltrma-figures.md: the tables of `crowdrank reproduce ltrma-...`, then these. With `--work DIR`
both are taken from that folder as far as they are there (see docs/commands.md), and the rest is computed and kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import crowdrank as cr
from benchmarks.page import DATA, FiguresPage, Section, lines
from crowdrank.engine import one_blas_thread
from crowdrank.rankers.crowd_training import shards_of
from crowdrank.rankers.judged import join_judgments, read_judgments
from crowdrank.rankers.ltrma.expectation import (
    EXCHANGES,
    EXTRAS,
    NEIGHBORS,
    SWEEPS,
    Expectancy,
    Expectation,
)
from crowdrank.rankers.preparation import Preparation
from crowdrank.rankers.registry import make_ranker
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.ltrma_letor import CROWDS, LISTS, TOP, Folds, crowd_corpus
from crowdrank.reproduce.ltrma_methods import MLE, Corpus, D, Method, train
from crowdrank.reproduce.ltrma_simulated import draw_corpus
from crowdrank.reproduce.ltrma_targets import LTRMA_TARGETS
from crowdrank.reproduce.summaries import draws

E_STEP = {"lists": 1000, "annotators": 15, "documents": 15}
REPEATS = 20
PLAIN = {"lists": 1000, "annotators": 5, "documents": 15}
LENGTHS = {"lists": 20, "annotators": 5}
GROWTH: dict[str, list[dict[str, Any]]] = {
    "lists": [{**PLAIN, "lists": count} for count in (100, 1000, 10_000)],
    "annotators": [{**PLAIN, "annotators": count} for count in (5, 15, 50)],
    "list length": [{**LENGTHS, "documents": count} for count in (15, 100, 500)],
    "k": [{**LENGTHS, "documents": 100, "k": count} for count in (10, 50)],
}
ENGINES: dict[str, Callable[[], Any]] = {
    "1 thread": lambda: cr.LocalEngine(1),
    "2 threads": lambda: cr.LocalEngine(2),
    "Dask, 2 processes": lambda: cr.DaskEngine(workers=2),
}


class Weights:
    """A linear ranker with the weights of the simulated documents."""

    def scores(self, values: Any) -> Any:
        return np.asarray(values, float) @ (1.0, 10.0)


def corpus_of(setting: Key) -> Corpus:
    """A corpus of the paper's generator with this many lists, annotators and documents."""
    options = {name: value for name, value in setting.items() if name in E_STEP}
    return draw_corpus("ltrma-paper", 0, tuple(sorted({**options, "validation": 0, "test": 2}.items())))


def time_e_step(key: Key) -> dict[str, Any]:
    """The median milliseconds of an E-step at the true ranker and an expertise of 1."""
    corpus = corpus_of(key)
    judged = join_judgments(corpus.features, read_judgments(corpus.judgments))
    documents = judged.documents.prepare(Preparation(corpus.features.names, None))
    expectation = Expectation(len(judged.voices), key["inference"])
    theta = np.append(np.ones(len(judged.voices)), EXTRAS)
    seconds = []
    with one_blas_thread():
        engine = cr.LocalEngine(key["threads"])
        session = engine.open(shards_of(judged, documents), start=expectation.start, seed=0)
        for step in range(REPEATS):
            began = time.perf_counter()
            session.advance(expectation.draw, Expectancy(Weights(), theta, step, 0))
            seconds.append(time.perf_counter() - began)
    return {"ms": 1000 * float(np.median(seconds))}


def time_fit(key: Key) -> dict[str, Any]:
    """Seconds and steps of a fit with defaults."""
    corpus = corpus_of(key)
    ranker: Any = make_ranker("ltrma-mle", None, {"k": key.get("k")})
    engine = ENGINES[key["engine"]]()
    try:
        began = time.perf_counter()
        ranker.fit(corpus.features, corpus.judgments, engine=engine)
        seconds = time.perf_counter() - began
    finally:
        engine.close()
    scores = ranker.score(corpus.features).score
    return {"seconds": seconds, "steps": ranker.fit_.iterations, "checksum": float(scores.sum()).hex()}


def time_fold(key: Key) -> dict[str, Any]:
    """Seconds and steps of a fit on the first fold of MQ2008."""
    corpus = crowd_corpus(Folds(DATA, (0,)), 0, key["crowd"], key["lists"], 0)
    method: Method = D if key["method"] == D.name else MLE
    if key["lists"] != "full":
        method = replace(method, settings={**method.settings, "k": TOP})
    began = time.perf_counter()
    ranker = train(method, corpus)
    return {"seconds": time.perf_counter() - began, "steps": ranker.fit_.iterations}


def hold_thetas(key: Key) -> dict[str, Any]:
    """How many of the 90 % intervals of theta hold the truth, and how wide they are."""
    options = {name: key[name] for name in ("lists", "errors")}
    corpus = draw_corpus("ltrma-h7", key["seed"], tuple(sorted({**options, "test": 2}.items())))
    frame = train(MLE, corpus, key["seed"]).workers_.polars().join(corpus.workers, on="worker", suffix="_true")
    low, high, truth = (frame[name].to_numpy() for name in ("theta_low", "theta_high", "theta_true"))
    return {
        "held": int(((low <= truth) & (truth <= high)).sum()),
        "of": len(truth),
        "width": float((high - low).mean()),
    }


def e_step_table(ledger: Ledger) -> Iterator[str]:
    keys = [
        {"experiment": "ltrma-e-step", **E_STEP, "inference": inference, "threads": threads}
        for inference in ("insertion", "neighbors", "metropolis")
        for threads in (1, 2)
    ]
    ledger.fill(keys, time_e_step)
    names = {
        "insertion": f"{SWEEPS} sweeps of insertions (default)",
        "neighbors": f"{SWEEPS * NEIGHBORS} sweeps of neighbor exchanges",
        "metropolis": f"{EXCHANGES} random exchanges (paper)",
    }
    rows = []
    for inference, name in names.items():
        found = [ledger[key]["ms"] for key in keys if key["inference"] == inference]
        rows.append([name, *(f"{ms:.0f} ms" for ms in found)])
    yield from lines(("E-step", "1 thread", "2 threads"), rows)


def fold_table(ledger: Ledger) -> Iterator[str]:
    if not (DATA / "MQ2008").exists():
        yield "The data is not here."
        return
    keys = [
        {"experiment": "ltrma-fold", "crowd": crowd, "lists": kind, "method": method.name}
        for crowd in CROWDS
        for kind in LISTS
        for method in (D, MLE)
    ]
    ledger.fill(keys, time_fold)
    rows = [
        [key["crowd"], key["lists"], key["method"], f"{ledger[key]['seconds']:.1f} s", ledger[key]["steps"]]
        for key in keys
    ]
    yield from lines(("crowd", "lists", "method", "fit", "steps"), rows)


def growth_table(ledger: Ledger) -> Iterator[str]:
    rows = []
    for name, settings in GROWTH.items():
        keys = [{"experiment": "ltrma-growth", **own, "engine": "2 threads"} for own in settings]
        ledger.fill(keys, time_fit)
        for key in keys:
            found = ledger[key]
            each = 1000 * found["seconds"] / found["steps"]
            size = (key["lists"], key["annotators"], key["documents"], key.get("k", "all"))
            rows.append([name, *size, f"{found['seconds']:.1f} s", found["steps"], f"{each:.0f} ms"])
    columns = ("what grows", "lists", "annotators", "documents", "k", "fit", "steps", "fit / steps")
    yield from lines(columns, rows)


def engine_table(ledger: Ledger) -> Iterator[str]:
    keys = [{"experiment": "ltrma-engines", **E_STEP, "engine": engine} for engine in ENGINES]
    ledger.fill(keys, time_fit)
    same = len({ledger[key]["checksum"] for key in keys}) == 1
    rows = [[key["engine"], f"{ledger[key]['seconds']:.1f} s", ledger[key]["steps"]] for key in keys]
    yield from lines(("engine", "fit", "steps"), rows)
    yield ""
    yield f"The sum of the scores is {'the same to the bit' if same else 'NOT the same'} on all of them."


COVERAGE = (("gumbel", 50, 40), ("gumbel", 200, 15), ("normal", 50, 40))
"""Errors, lists and draws of the table of coverage."""


def coverage_table(ledger: Ledger) -> Iterator[str]:
    rows = []
    for errors, lists_, count in COVERAGE:
        keys = [
            {"experiment": "ltrma-coverage", "errors": errors, "lists": lists_, "seed": seed}
            for seed in draws(count)
        ]
        ledger.fill(keys, hold_thetas)
        cells = [ledger[key] for key in keys]
        total = sum(cell["of"] for cell in cells)
        share, width = sum(cell["held"] for cell in cells) / total, np.mean([cell["width"] for cell in cells])
        rows.append([errors, lists_, count, total, f"{share:.3f}", f"{np.sqrt(0.09 / total):.3f}", f"{width:.3f}"])
    columns = ("errors of the scores", "lists", "corpora", "intervals", "hold", "error of this", "mean width")
    yield from lines(columns, rows)


PAGE = FiguresPage(
    "ltrma",
    "rankers/ltrma-figures.md",
    """# Figures of LTRMA

How good [ltrma-mle](ltrma-mle.md) and [ltrma-d](ltrma-d.md) are beside simpler ways to learn from the lists of
several annotators, how well they find out who is an expert, and how long they take. For nDCG, larger is better;
LTRMA-S1, S2 and S3 know something about the annotators or the true orders beforehand.

Written by `python -m benchmarks.ltrma write`: the tables of `crowdrank reproduce`, and the times of
`benchmarks/ltrma.py`. All figures are on simulated crowds or on MQ2008 (LETOR 4.0).
""",
    [target.name for target in LTRMA_TARGETS],
    (
        Section(
            "The E-step",
            f"The median of {REPEATS} E-steps on 1,000 lists of 15 documents by 15 annotators.",
            e_step_table,
        ),
        Section(
            "A fold of MQ2008",
            "A whole fit on the three training parts of the first fold. The paper took up to 30 minutes for "
            "a fold.",
            fold_table,
        ),
        Section(
            "The intervals of theta",
            "How many 90 % intervals of theta hold the truth, on ltrma-h7. With Gumbel errors the true orders "
            "are those of LTRMA's own model. The error is that of the share if 90 % hold.",
            coverage_table,
        ),
        Section("How a fit grows", "Whole fits of LTRMA-MLE with its defaults, on two threads.", growth_table),
        Section(
            "Local and on a cluster", "LTRMA-MLE on 1,000 lists of 15 documents by 15 annotators.", engine_table
        ),
    ),
)


def main() -> None:
    PAGE.main(__doc__)


if __name__ == "__main__":
    main()
