"""Whether worker weights help: crowd-lists and crowdagg beside equal weights, on real and simulated crowds.

"before" are the weights that trust their own consensus: of crowd-lists the fixed point q / c alone, of crowdagg
equation 17, the agreement with a ranking that holds the worker's own votes, with the same prior Beta(20, 5).
All figures are differences from equal weights, with standard errors over draws, systems' subsets or items.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator
from unittest.mock import patch

import numpy as np
import polars as pl

from benchmarks.consensus import DATA, tasks
from crowdrank.data import Floats, Integers, read, summed, to_pairs
from crowdrank.measures import kendall_tau, pairwise_accuracy
from crowdrank.models import entries
from crowdrank.models.lists import crowd_agg
from crowdrank.models.lists.crowd_lists import savage_scores, weigh_workers
from crowdrank.prepared.lists import Lists

SUBSETS, DRAWS, RESAMPLES = 60, 25, 200
Table = dict[str, list[float]]


def report(name: str, found: Table, equal: str = "equal") -> None:
    """A row: the value of equal weights, and what the others have more, with standard errors and the worst."""
    base = np.array(found[equal])
    cells = [f"{name:26} {base.mean():.4f}"]
    for other, values in found.items():
        if other != equal:
            gain = np.array(values) - base
            cells.append(
                f"{other} {gain.mean():+.4f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.4f} ({gain.min():+.3f})"
            )
    print(" | ".join(cells), flush=True)


# ------------------------------------------------------------------------------------------ lists


def mq2008() -> pl.DataFrame:
    """The lists of MQ2008-agg: fold, query, worker, item, rank, grade."""
    rows = []
    for fold in range(1, 6):
        with gzip.open(DATA / "MQ2008-agg" / f"S{fold}.txt.gz", "rt") as lines:
            for line in lines:
                words, document = line.split("#")
                grade, query, *ranks = words.split()
                for word in ranks:
                    system, rank = word.split(":")
                    own = None if rank == "NULL" else int(rank)
                    rows.append((fold, query, system, document.split()[2], own, int(grade)))
    return pl.DataFrame(rows, schema=["fold", "query", "worker", "item", "rank", "grade"], orient="row")


class ListCase:
    """Lists with what is true of their nodes, and the scores by weights of the workers."""

    def __init__(self, frame: pl.DataFrame, truth: str) -> None:
        missing = "below" if frame["rank"].null_count() else "unknown"
        self.data = read(frame.select("query", "worker", "item", "rank"), missing=missing)
        self.lists = lists = Lists(self.data)
        assert lists.index.queries is not None
        names = {
            "query": [lists.index.queries[int(code)] for code in lists.nodes.query],
            "item": [lists.index.items[int(code)] for code in lists.nodes.item],
        }
        self.nodes = pl.DataFrame(names)
        known = frame.select("query", "item", truth).unique()
        self.truth = self.nodes.join(known, on=["query", "item"], how="left", maintain_order="left")[
            truth
        ].to_numpy()
        self.value = savage_scores(lists)

    def by_weights(self, weight: Floats) -> Floats:
        """The weighted mean of Savage's scores."""
        lists = self.lists
        assert lists.worker is not None
        own = weight[lists.worker[lists.list]]
        total, weights = (summed(lists.node, part, len(lists.nodes)) for part in (own * self.value, own))
        return np.where(weights > 0, total / np.maximum(weights, 1e-300), 0.0)

    def by_model(self, name: str) -> Floats:
        """The scores of a model by its name."""
        table = entries()[name].load()().fit(self.data).ranking_.polars()
        return self.nodes.join(table, on=["query", "item"], how="left", maintain_order="left")["score"].to_numpy()

    def weightings(self) -> dict[str, Floats]:
        """The scores by equal weights, by the weights as they are now, and before."""
        found = weigh_workers(self.lists)
        before = found.quality / found.copies
        weights = {"equal": np.ones(len(before)), "new": found.weight, "before": before}
        return {name: self.by_weights(own) for name, own in weights.items() if own.any()}

    def each_query(self, measure: Callable[[Floats, Floats], float], score: Floats) -> Floats:
        """A measure of each query."""
        ends = np.flatnonzero(np.diff(self.lists.nodes.query)) + 1
        parts = zip(np.split(score, ends), np.split(self.truth, ends), strict=True)
        return np.array([measure(own, truth) for own, truth in parts])


def average_precision(score: Floats, grade: Integers) -> float:
    """AP; tied items in the order of their names. 0 if nothing is relevant."""
    relevant = grade[np.argsort(-np.round(score, 12), kind="stable")] > 0
    precision = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
    return float(precision[relevant].mean()) if relevant.any() else 0.0


def systems(size: tuple[int, int] | None, queries: int | None = None) -> None:
    """MQ2008-agg: random subsets of the systems or of the queries. Settings were chosen on S1 and S2."""
    everything = mq2008()
    rng = np.random.default_rng(0)
    halves: dict[str, Table] = {"S1-S2": {}, "S3-S5": {}}
    names = everything["worker"].unique(maintain_order=True).to_list()
    numbers = everything["query"].unique(maintain_order=True).to_list()
    for _ in range(SUBSETS):
        frame = everything
        if size is not None:
            chosen = rng.permutation(names)[: rng.integers(size[0], size[1] + 1)]
            frame = frame.filter(pl.col("worker").is_in(chosen.tolist()))
        if queries is not None:
            frame = frame.filter(pl.col("query").is_in(rng.permutation(numbers)[:queries].tolist()))
        ranked = frame.filter(pl.col("rank").is_not_null()).select("query", "item").unique()
        frame = frame.join(ranked, on=["query", "item"])
        case = ListCase(frame, "grade")
        scores = case.weightings() | {name: case.by_model(name) for name in ("condorcet", "borda")}
        fold = dict(frame.select("query", "fold").unique().iter_rows())
        late = np.array([fold[query] > 2 for query in case.nodes["query"].unique(maintain_order=True)])
        for name, score in scores.items():
            values = case.each_query(average_precision, score)
            halves["S1-S2"].setdefault(name, []).append(float(values[~late].mean()))
            halves["S3-S5"].setdefault(name, []).append(float(values[late].mean()))
    for half, found in halves.items():
        report(f"{size or 'all'} systems, {queries or 'all'} q, {half}", found)


def all_systems() -> None:
    """MQ2008-agg, all systems and queries; errors over queries."""
    case = ListCase(mq2008(), "grade")
    scores = case.weightings() | {name: case.by_model(name) for name in ("condorcet", "borda")}
    report(
        "25 systems, errors by query",
        {k: case.each_query(average_precision, v).tolist() for k, v in scores.items()},
    )


LISTS: dict[str, dict[str, object]] = {
    "6 equal, 1 query": {"deviations": [2.0] * 6},
    "6 equal, 40 queries": {"deviations": [0.7] * 6, "queries": 40},
    "20 equal, 1 query": {"deviations": [2.0] * 20},
    "4 + 4 similar, 20 queries": {"deviations": [0.9] * 4 + [1.1] * 4, "queries": 20},
    "2 good, 1 poor, 1 query": {"deviations": [0.7] * 2 + [2.0]},
    "6 good, 4 poor, 1 query": {"deviations": [0.7] * 6 + [5.0] * 4},
    "6 good, 4 poor, 12 queries": {"deviations": [0.7] * 6 + [5.0] * 4, "queries": 12},
    "2 good, 6 poor, 12 queries": {"deviations": [0.7] * 2 + [3.0] * 6, "queries": 12},
    "3 + 3 who share errors": {"deviations": [1.0] * 6, "shared": (3, 4, 5), "queries": 12},
    "3 + 3 poor who share errors": {"deviations": [1.0] * 3 + [2.0] * 3, "shared": (3, 4, 5), "queries": 8},
    "4 + 2 poor who share errors": {"deviations": [1.5] * 4 + [2.0] * 2, "shared": (4, 5), "queries": 12},
    "6 good, 4 poor, 12 copies": {"deviations": [0.7] * 6 + [5.0] * 4, "queries": 12, "copies": 12},
}
"""Deviations from the truth, whose deviation is 1; those who share errors have 4/5 of their variance in common."""


def simulated_lists(
    seed: int, deviations: list[float], shared: tuple[int, ...] = (), queries: int = 1, copies: int = 0
) -> pl.DataFrame:
    """Lists of 20 items: query, worker, item, rank, true."""
    rng = np.random.default_rng(seed)
    rows = []
    for query in range(queries):
        truth, common = rng.normal(0, 1, (2, 20))
        errors = rng.normal(0, 1, (len(deviations), 20))
        errors[list(shared)] = np.sqrt(0.8) * common + np.sqrt(0.2) * errors[list(shared)]
        seen = truth + np.array(deviations)[:, None] * errors
        seen = np.concatenate([seen, seen[-1] + rng.normal(0, 0.05, (copies, 20))])
        for worker, own in enumerate(seen):
            places = np.argsort(np.argsort(-own)) + 1
            rows += [(f"q{query}", f"w{worker}", f"i{i}", int(places[i]), float(truth[i])) for i in range(20)]
    return pl.DataFrame(rows, schema=["query", "worker", "item", "rank", "true"], orient="row")


def lists_of_crowds() -> None:
    """Kendall's tau with the truth on simulated lists."""
    for name, given in LISTS.items():
        found: Table = {}
        for seed in range(DRAWS):
            case = ListCase(simulated_lists(seed, **given), "true")  # type: ignore[arg-type]
            for own, score in case.weightings().items():
                found.setdefault(own, []).append(float(case.each_query(kendall_tau, score).mean()))
        report(name, found)


# ----------------------------------------------------------------------------------------- labels


def crowdagg_scores(name: str, labels: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The scores of crowdagg: equal qualities, the default, the crowd's own prior, and before."""
    pairs = to_pairs(read(labels))
    model = entries()[name].load()
    yield "equal", model(quality="equal").fit(pairs).ranking_.polars()
    yield "new", model().fit(pairs).ranking_.polars()
    yield "prior=crowd", model(prior="crowd").fit(pairs).ranking_.polars()
    with patch.object(
        crowd_agg, "agreement", lambda lists, values, prior, of, size: lists.agreeing_votes(values.level, of, size)
    ):
        yield "before", model().fit(pairs).ranking_.polars()


def real_labels(name: str) -> None:
    """Pairs in the right order on tasks with gold; errors by resampling the items with gold."""
    for task, (labels, gold) in tasks().items():
        parts = {task: gold}
        if (
            task == "trec2010"
        ):  # all labels of items with gold, as one list; settings were chosen on the first half
            labels = labels.join(gold, on="item", how="semi")
            parts = {f"{task} odd": gold.filter(pl.int_range(pl.len()) % 2 == 1), f"{task} even": gold[::2]}
        scores = dict(crowdagg_scores(name, labels))
        scores["average"] = entries()["average"].load()().fit(labels).ranking_.polars()
        for part, own in parts.items():
            both = {
                key: own.join(table, on="item", how="inner", maintain_order="left")
                for key, table in scores.items()
            }
            rng, found = np.random.default_rng(0), dict[str, list[float]]()
            size = len(both["equal"])
            for _ in range(RESAMPLES):
                drawn = rng.integers(0, size, size)
                for key, table in both.items():
                    score, truth = (table[column].to_numpy()[drawn] for column in ("score", "gold"))
                    found.setdefault(key, []).append(pairwise_accuracy(score, truth))
            report_resampled(f"{name} {part}", found)


def report_resampled(name: str, found: Table) -> None:
    """As ``report``, for values on resampled items, whose deviation is the standard error."""
    base = np.array(found["equal"])
    gains = {key: np.array(values) - base for key, values in found.items() if key != "equal"}
    cells = [f"{key} {gain.mean():+.4f} ± {gain.std(ddof=1):.4f}" for key, gain in gains.items()]
    print(" | ".join([f"{name:34} {base.mean():.4f}", *cells]), flush=True)


LABELS: dict[str, dict[str, object]] = {
    "equal .75": {"quality": [0.75] * 30},
    "equal .6": {"quality": [0.6] * 30},
    "equal .6, 8 workers": {"quality": [0.6] * 8, "items": 60, "each": 3, "even": True},
    "a third spammers": {"quality": [0.5] * 10 + [0.85] * 20},
    "from .5 to .95": {"quality": np.linspace(0.5, 0.95, 30).tolist()},
    "8 label all, .5 to .95": {"quality": np.linspace(0.5, 0.95, 8).tolist(), "items": 60, "each": 8},
    "equal .75, 20 queries": {"quality": [0.75] * 40, "items": 10, "queries": 20},
    "a third spammers, 20 queries": {"quality": [0.5] * 13 + [0.85] * 27, "items": 10, "queries": 20},
}


def simulated_labels(
    seed: int, quality: list[float], items: int = 100, each: int = 5, queries: int = 1, even: bool = False
) -> pl.DataFrame:
    """Binary labels, 4 of 10 items relevant: query, worker, item, label, gold. A few workers give most labels,
    unless ``even``."""
    rng = np.random.default_rng(seed)
    right = rng.permutation(quality)
    busy = np.ones(len(right)) if even else rng.pareto(1.2, len(right)) + 0.2
    rows = []
    for query in range(queries):
        for item, true in enumerate(rng.random(items) < 0.4):
            for worker in rng.choice(len(right), each, replace=False, p=busy / busy.sum()):
                label = true == (rng.random() < right[worker])
                rows.append((f"q{query}", f"w{worker}", f"q{query}i{item}", float(label), float(true)))
    return pl.DataFrame(rows, schema=["query", "worker", "item", "label", "gold"], orient="row")


def labels_of_crowds(name: str) -> None:
    """Pairs in the right order on simulated labels, mean over queries."""
    for kind, given in LABELS.items():
        found: Table = {}
        for seed in range(DRAWS):
            frame = simulated_labels(seed, **given)  # type: ignore[arg-type]
            labels, gold = frame.drop("gold"), frame.select("query", "item", "gold").unique()
            scores = dict(crowdagg_scores(name, labels))
            scores["average"] = entries()["average"].load()().fit(labels).ranking_.polars()
            for own, table in scores.items():
                parts = table.join(gold, on=["query", "item"]).partition_by("query")
                values = [
                    pairwise_accuracy(part["score"].to_numpy(), part["gold"].to_numpy())
                    for part in parts
                    if part["gold"].n_unique() > 1
                ]
                found.setdefault(own, []).append(float(np.mean(values)))
        report(f"{name} {kind}", found)


PARTS: dict[str, Callable[[], None]] = {
    "all-systems": all_systems,
    "systems": lambda: systems((6, 10)),
    "queries": lambda: systems(None, queries=20),
    "systems-queries": lambda: systems((6, 10), queries=40),
    "lists": lists_of_crowds,
    "labels": lambda: labels_of_crowds("crowdagg-ndcg"),
    "labels-rbp": lambda: labels_of_crowds("crowdagg-rbp"),
    "real": lambda: real_labels("crowdagg-ndcg"),
    "real-rbp": lambda: real_labels("crowdagg-rbp"),
}


def main() -> None:
    """Print the parts that the command line names, or all."""
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    if not DATA.exists():
        raise SystemExit(f"The real data is not at {DATA}; set CROWDRANK_DATA.")
    main()
