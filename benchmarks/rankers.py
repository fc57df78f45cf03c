"""Rankers on MQ2008 beside LightGBM's own lambdarank: MAP and nDCG@10 over five folds, and seconds for 300 rounds.

Fold i trains on S(i), S(i+1), S(i+2), is stopped by S(i+3) and tested on S(i+4). All trees have the same
parameters, the defaults of ``Trees``. LightGBM takes the order of the file for the order of equal scores, in
training and in its measure, so it gets the documents in that order: sorted by label they would tell it the answer.
The errors are those of the difference to the first row by query. Seconds are those of the processor with one
thread, the least of five runs in turn with LightGBM.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import crowdrank as cr
from crowdrank.prepared.documents import Documents, list_starts
from crowdrank.rankers.objectives import LambdaRank, ListLikelihood, Targets
from crowdrank.rankers.preparation import Preparation
from crowdrank.rankers.scorers.base import Task, Watch
from crowdrank.rankers.scorers.trees import Trees, load_lightgbm
from crowdrank.rankers.validation import LabeledQueries, one_measure

DATA = Path(os.environ.get("CROWDRANK_DATA", Path(__file__).parents[2] / "shared" / "data")) / "MQ2008"
PATIENCE = 50
NDCG, AP = one_measure("nDCG@10"), one_measure("AP")


@dataclass(frozen=True, eq=False)
class Part:
    """Documents by query, in the order of the file."""

    values: Any
    label: Any
    start: Any

    @property
    def queries(self) -> LabeledQueries:
        return LabeledQueries(self.start, self.label)

    def prepared(self, standardize: str | None) -> Part:
        names = tuple(map(str, range(self.values.shape[1])))
        return Part(Preparation(names, standardize).apply(self.values, self.start), self.label, self.start)


def read_part(number: int) -> Part:
    features = cr.read_features(str(DATA / f"S{number}.txt.gz"))
    order = np.argsort(features.query, kind="stable")
    return Part(
        features.dense()[order], features.label[order], list_starts(features.query[order].astype(np.int64))
    )


def join(parts: list[Part]) -> Part:
    sizes = np.concatenate([np.diff(part.start) for part in parts])
    values, label = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "label"))
    return Part(values, label, np.append(0, np.cumsum(sizes)))


def train_ours(objective: Any, training: Part, held: Part | None) -> Any:
    rows, width = training.values.shape
    documents = Documents(training.values, training.start, training.label, np.ones(rows), np.arange(rows))
    session = cr.LocalEngine(1).open(documents.shards(lambda *own: objective.plan(Targets(*own))))
    task = Task(session, objective, rows, width, float(rows), training.values)
    watch = held and Watch(held.values, held.queries.function(NDCG), lambda *_: None, PATIENCE)
    return Trees().improve(task, watch=watch).function.scores


def train_lightgbm(measure: str, training: Part, held: Part | None) -> Any:
    """LightGBM with the same parameters, stopped by its own nDCG@10 ("own") or by ours ("ours")."""
    lightgbm, trees = load_lightgbm(), Trees()
    settings = {
        "objective": "lambdarank",
        "label_gain": [0, 1, 3],
        "metric": "ndcg" if measure == "own" else "none",
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
    own = lightgbm.Dataset(training.values, training.label, group=np.diff(training.start))
    if held is None:
        return lightgbm.train(settings, own, trees.rounds).predict
    booster = lightgbm.train(
        settings,
        own,
        trees.rounds,
        valid_sets=[own.create_valid(held.values, held.label, group=np.diff(held.start))],
        feval=None if measure == "own" else lambda scores, _: ("ours", held.queries.mean(NDCG, scores), True),
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    return booster.predict


ROWS: dict[str, tuple[Any, Any, str | None]] = {
    "LightGBM lambdarank, stopped by its own nDCG@10": (train_lightgbm, "own", "query"),
    "LightGBM lambdarank, stopped by ours": (train_lightgbm, "ours", "query"),
    "LambdaRank": (train_ours, LambdaRank(), "query"),
    "LambdaRank, not normalized": (train_ours, LambdaRank(normalize=False), "query"),
    "ListMLE": (train_ours, ListLikelihood(), "query"),
    "LightGBM lambdarank, features as they are": (train_lightgbm, "ours", None),
    "LambdaRank, features as they are": (train_ours, LambdaRank(), None),
    "ListMLE, features as they are": (train_ours, ListLikelihood(), None),
}


def measure_row(parts: list[Part], train: Any, what: Any) -> list[list[Any]]:
    """AP and nDCG@10 of the queries of each fold."""
    found = []
    for fold in range(5):
        training, held, test = (
            join([parts[(fold + i) % 5] for i in range(3)]),
            *(parts[(fold + i) % 5] for i in (3, 4)),
        )
        scores = np.asarray(train(what, training, held)(test.values))
        found.append([test.queries.by_query(measure, scores) for measure in (AP, NDCG)])
    return [[fold[place] for fold in found] for place in range(2)]


def processor_seconds(*functions: Callable[[], Any], repeats: int = 5) -> list[float]:
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


def main() -> None:
    """One table."""
    if not DATA.exists():
        raise SystemExit(f"The real data is not at {DATA}; set CROWDRANK_DATA.")
    parts = [read_part(number) for number in range(1, 6)]
    print("| trees | MAP | difference | nDCG@10 | difference | seconds | ratio |")
    print("|---|---|---|---|---|---|---|")
    base: Any = None
    for name, (train, what, standardize) in ROWS.items():
        own = [part.prepared(standardize) for part in parts]
        found, first = measure_row(own, train, what), join(own[:3])
        base = base or found
        took, peer = processor_seconds(
            partial(train, what, first, None), partial(train_lightgbm, "own", first, None)
        )
        cells = []
        for ours, theirs in zip(found, base, strict=True):
            cells += [f"{np.mean([fold.mean() for fold in ours]):.4f}", difference(ours, theirs)]
        print(f"| {' | '.join([name, *cells, f'{took:.2f}', f'{took / peer:.2f}'])} |", flush=True)


if __name__ == "__main__":
    main()
