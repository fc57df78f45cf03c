"""Rankers on MQ2008 beside LightGBM's own lambdarank and a ridge: MAP and nDCG@10 over five folds, and seconds.

Fold i trains on S(i), S(i+1), S(i+2), is stopped by S(i+3) and tested on S(i+4). Every ranker has its defaults.
LightGBM's trees have the parameters of ours. It takes the order of the file for the order of equal scores, in
training and in its measure, so it gets the documents in that order: sorted by label they would tell it the
answer. Seconds are those of the processor for one whole fit on a fold with one thread, without reading and
validation, the least of several in turn with LightGBM. `python -m benchmarks.rankers write` writes
docs/rankers/figures.md; `engines` compares threads and a cluster.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import crowdrank as cr
from crowdrank.rankers.labeled import Labeled, label_documents
from crowdrank.rankers.preparation import Preparation
from crowdrank.rankers.registry import make_ranker
from crowdrank.rankers.scorers.trees import load_lightgbm
from crowdrank.rankers.validation import one_measure

DATA = Path(os.environ.get("CROWDRANK_DATA", Path(__file__).parents[2] / "shared" / "data")) / "MQ2008"
PAGE = Path(__file__).parents[1] / "docs" / "rankers" / "figures.md"
PATIENCE = 50
MEASURES = (one_measure("AP"), one_measure("nDCG@10"))
RIDGES = (1.0, 10.0, 100.0, 1000.0)

Scores = Callable[[cr.Features], Any]
Train = Callable[[cr.Features, cr.Features | None], Scores]


def in_file_order(features: cr.Features) -> tuple[Labeled, Any]:
    """The documents query by query, otherwise in the order of the file, and their features within the query."""
    labeled = label_documents(features, None)
    order = np.lexsort((labeled.rows, np.repeat(np.arange(labeled.lists), np.diff(labeled.start))))
    rows = labeled.rows[order]
    values = Preparation(features.names, "query").apply(features.dense(rows), labeled.start)
    return Labeled(
        features, rows, labeled.start, labeled.label[order], labeled.weight[order], labeled.query
    ), values


def train_ours(
    name: str, scorer: str, settings: dict[str, Any], training: cr.Features, held: cr.Features | None
) -> Scores:
    ranker = make_ranker(name, scorer, settings).fit(training, validation=held, engine=cr.LocalEngine(1))
    return lambda features: ranker.score(features).score


def train_lightgbm(standardize: str | None, training: cr.Features, held: cr.Features | None) -> Scores:
    """LightGBM's lambdarank, stopped by its own nDCG@10."""
    lightgbm, trees = load_lightgbm(), cr.Trees()
    settings = {
        "objective": "lambdarank",
        "label_gain": [0, 1, 3],
        "metric": "ndcg",
        "eval_at": [10],
        "num_leaves": trees.leaves,
        "learning_rate": trees.learning_rate,
        "min_data_in_leaf": trees.min_rows,
        "lambda_l2": trees.penalty,
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
        "verbosity": -1,
    }

    def table(features: cr.Features) -> tuple[Labeled, Any]:
        labeled, values = in_file_order(features)
        return labeled, values if standardize else features.dense(labeled.rows)

    labeled, values = table(training)
    own = lightgbm.Dataset(values, labeled.label, group=np.diff(labeled.start))
    more: dict[str, Any] = {}
    if held is not None:
        other, held_values = table(held)
        more["valid_sets"] = [own.create_valid(held_values, other.label, group=np.diff(other.start))]
        more["callbacks"] = [lightgbm.early_stopping(PATIENCE, verbose=False)]
    booster = lightgbm.train(settings, own, trees.rounds, **more)

    def scores(features: cr.Features) -> Any:
        labeled, values = table(features)
        found = np.empty(features.rows)
        found[labeled.rows] = booster.predict(values)
        return found

    return scores


def train_ridge(training: cr.Features, held: cr.Features | None) -> Scores:
    """Ridge regression on centered labels by a plain solve, its penalty chosen on the validation queries."""
    labeled, values = in_file_order(training)
    x = values.astype(float)
    means = np.add.reduceat(labeled.label, labeled.start[:-1]) / np.diff(labeled.start)
    y = labeled.label - np.repeat(means, np.diff(labeled.start))

    def fit(penalty: float) -> Scores:
        weights = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ y)

        def scores(features: cr.Features) -> Any:
            own, prepared = in_file_order(features)
            found = np.empty(features.rows)
            found[own.rows] = prepared @ weights
            return found

        return scores

    if held is None:
        return fit(RIDGES[1])
    return max((fit(penalty) for penalty in RIDGES), key=lambda own: measure(own, held)[1].mean())


def ours(name: str, scorer: str, **settings: Any) -> Train:
    return partial(train_ours, name, scorer, settings)


ROWS: dict[str, Train] = {
    "LightGBM's lambdarank": partial(train_lightgbm, "query"),
    "LightGBM's lambdarank, features as they are": partial(train_lightgbm, None),
    "ridge": train_ridge,
    "listmle, linear": ours("listmle", "linear"),
    "listmle, linear, tuned": ours("listmle", "linear", tune=True),
    "listmle, linear, standardize=all": ours("listmle", "linear", standardize="all"),
    "listmle, trees": ours("listmle", "trees"),
    "listmle, net": ours("listmle", "net"),
    "lambdamart, trees": ours("lambdamart", "trees"),
    "lambdamart, trees, target=err": ours("lambdamart", "trees", target="err"),
    "lambdamart, linear": ours("lambdamart", "linear"),
    "regression, linear": ours("regression", "linear"),
    "regression, trees": ours("regression", "trees"),
}


def measure(scores: Scores, test: cr.Features) -> list[Any]:
    """AP and nDCG@10 of each query."""
    labeled = label_documents(test, None)
    found = scores(test)[labeled.rows]
    return [labeled.queries.by_query(own, found) for own in MEASURES]


def folds() -> Iterator[tuple[cr.Features, cr.Features, cr.Features]]:
    """Training, validation and test features of each fold."""
    names = [str(DATA / f"S{number}.txt.gz") for number in range(1, 6)]
    for fold in range(5):
        at = [names[(fold + place) % 5] for place in range(5)]
        yield cr.read_features(at[:3]), cr.read_features(at[3]), cr.read_features(at[4])


def processor_seconds(*functions: Callable[[], Any], repeats: int = 3) -> list[float]:
    """The least processor time of each function, called in turn, so that other work disturbs all alike."""
    found = [[np.inf] for _ in functions]
    for _ in range(repeats):
        for function, seconds in zip(functions, found, strict=True):
            began = time.process_time()
            function()
            seconds.append(time.process_time() - began)
    return [min(seconds) for seconds in found]


def difference(ours: list[Any], theirs: list[Any]) -> str:
    """The mean over folds of the differences by query, and its standard error."""
    apart = [one - other for one, other in zip(ours, theirs, strict=True)]
    error = np.sqrt(sum(own.var(ddof=1) / len(own) for own in apart)) / len(apart)
    return f"{np.mean([own.mean() for own in apart]):+.4f} ± {error:.4f}"


def table() -> Iterator[str]:
    """One row per ranker; differences are those to LightGBM's lambdarank, the first row."""
    yield "| ranker | MAP | difference | nDCG@10 | difference | seconds | ratio |"
    yield "|---|---|---|---|---|---|---|"
    parts, base = list(folds()), None
    for name, train in ROWS.items():
        found = [measure(train(training, held), test) for training, held, test in parts]
        base = base or found
        first = parts[0][0]
        tuned = name.endswith("tuned")
        took, peer = (
            (float("nan"), 1.0)
            if tuned
            else processor_seconds(
                partial(train, first, None), partial(ROWS["LightGBM's lambdarank"], first, None)
            )
        )
        cells = []
        for place in range(len(MEASURES)):
            own, theirs = ([fold[place] for fold in results] for results in (found, base))
            cells += [f"{np.mean([fold.mean() for fold in own]):.4f}", difference(own, theirs)]
        times = ["", ""] if tuned else [f"{took:.2f}", f"{took / peer:.2f}"]
        yield f"| {' | '.join([name, *cells, *times])} |"


def engines() -> None:
    """The five folds on one thread, on two, and on two processes of Dask: the same to the bit, and the seconds."""
    dask = cr.DaskEngine(workers=2)
    places = {"1 thread": cr.LocalEngine(1), "2 threads": cr.LocalEngine(2), "Dask": dask}
    for name, scorer in (("listmle", "linear"), ("listmle", "trees"), ("lambdamart", "trees"), ("listmle", "net")):
        found, seconds = {}, {}
        for place, engine in places.items():
            began = time.perf_counter()
            found[place] = [
                make_ranker(name, scorer).fit(training, validation=held, engine=engine).score(test).score
                for training, held, test in folds()
            ]
            seconds[place] = f"{place} {time.perf_counter() - began:.1f} s"
        first, *others = found.values()
        same = all((a == b).all() for other in others for a, b in zip(first, other, strict=True))
        print(
            f"{name}, {scorer}: {'the same to the bit' if same else 'NOT the same'}; {', '.join(seconds.values())}"
        )
    dask.close()


HEAD = """# Figures of the rankers

How good the rankers are on one public data set, beside LightGBM's own ranker. On this one, hardly any
difference is beyond the noise.

Written by `python -m benchmarks.rankers write` from a run on MQ2008 (LETOR 4.0: 784 queries, 15,211 documents,
46 features, labels 0 to 2). Five folds: three parts train, one stops training (or chooses the penalty of the
ridge), one is tested. Every ranker has its defaults, and LightGBM's trees have the parameters of ours. The
table has the means over the folds and the differences from the first row by query, with their standard errors.
A difference of less than two standard errors is noise. Seconds are processor time of one whole fit on three
parts with one thread and without validation (trees: 300 rounds); the ratio is to the seconds of LightGBM's
lambdarank, measured in turn.

"""


def main() -> None:
    if not DATA.exists():
        raise SystemExit(f"The real data is not at {DATA}; set CROWDRANK_DATA.")
    if sys.argv[1:] == ["engines"]:
        return engines()
    lines = []
    for line in table():
        print(line, flush=True)
        lines.append(line)
    if sys.argv[1:] == ["write"]:
        _, title, rest = PAGE.read_text().partition("\n## ")  # the section of benchmarks.ranker_growth stays
        PAGE.write_text(HEAD + "\n".join(lines) + "\n" + title + rest)


if __name__ == "__main__":
    main()
