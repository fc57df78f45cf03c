"""LTRMA without relevance labels: 25 retrieval systems are the annotators of MQ2008's queries.

This takes the place of figures 16 and 17 of Wu et al. 2016, whose web pages are not available: three algorithms
were the annotators there, and true lists of some queries were added (S1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from crowdrank.data import Features, Floats, Rankings, feature_rows
from crowdrank.models.registry import make
from crowdrank.rankers.labeled import Labeled, label_documents
from crowdrank.rankers.registry import make_ranker
from crowdrank.rankers.validation import one_measure, paired_difference
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.ltrma_letor import FOLDS, Folds, labels_of
from crowdrank.reproduce.ltrma_methods import D_SAMPLES, LREGMA, SHARE, Method, available, choose_lists
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import draws
from crowdrank.reproduce.tpp_lists import runs

MEASURES = ("AP", "nDCG@10")
FEATURES, BOTH, LISTS = "features", "features and lists", "lists"
"""By what the test documents are scored."""
AGGREGATORS = ("root-rank", "borda", "crowd-lists")
DEFAULT = Method("LTRMA", "ltrma-mle")
RANKERS = (
    DEFAULT,
    Method("LTRMA, dispersion by-worker", "ltrma-mle", {"dispersion": "by-worker"}),
    Method("LTRMA, dispersion shared", "ltrma-mle", {"dispersion": "shared"}),
    D_SAMPLES,
    LREGMA,
    Method("LTRMA, 25 % true lists", "ltrma-mle", knows=("lists",)),
    Method("ListMLE on all labels", "listmle"),
)
REFERENCES = {
    "root-rank": ("root-rank", LISTS),
    "features": (DEFAULT.name, FEATURES),
    "crowd-lists": ("crowd-lists", LISTS),
}


@lru_cache(maxsize=1)
def systems(data: Path | None) -> Rankings:
    """The lists of the 25 systems for all queries; what a system does not rank is below."""
    return runs(data)[0]


def lists_of(lists: Rankings, features: Features) -> Rankings:
    """The lists of the queries that have features."""
    assert lists.index.queries is not None
    assert lists.query is not None
    known = np.flatnonzero(lists.index.queries.is_in(features.ids()["query"].to_list()).to_numpy())
    return lists.take(np.isin(lists.query, known)).compact()


def measure(test: Labeled, scores: Floats) -> dict[str, list[float]]:
    """The measures of each test query."""
    own = scores[test.rows]
    found = {name: test.queries.by_query(one_measure(name), own) for name in MEASURES}
    return {name: [round(float(value), 6) for value in values] for name, values in found.items()}


def aggregate(name: str, lists: Rankings, features: Features) -> Floats:
    """The scores of the documents by their lists alone; documents in no list come last."""
    ranking = make(name, {}).fit(lists).ranking_.polars()
    rows = feature_rows(features, ranking["query"], ranking["item"])
    scores = np.full(features.rows, -np.inf)
    scores[rows[rows >= 0]] = ranking["score"].to_numpy()[rows >= 0]
    return scores


def train_and_score(
    method: Method, training: Features, lists: Rankings, test: Features, test_lists: Rankings, seed: int
) -> dict[str, Floats]:
    """The scores of the test documents by features, and by features and lists together if the ranker can."""
    ranker: Any = make_ranker(method.ranker, None, {**method.settings, "seed": seed})
    labels = labels_of(training)
    if method.ranker == "listmle":
        return {FEATURES: ranker.fit(training).score(test).score}
    true = choose_lists(labels["query"], seed).to_list()
    anchors = labels.filter(labels["query"].is_in(true)) if "lists" in method.knows else None
    ranker.fit(training, lists, anchors=anchors, missing="drop")
    found = {FEATURES: ranker.score(test).score}
    if ranker.trained_.scoring.crowd is not None:
        found[BOTH] = ranker.score(test, test_lists).score
    return found


@dataclass(frozen=True, eq=False)
class SystemsExperiment:
    """Rankers and aggregators on the lists of the systems."""

    folds: Folds
    methods: Sequence[Method]
    seeds: int
    ledger: Ledger

    @property
    def names(self) -> list[str]:
        """What is compared."""
        return [*AGGREGATORS, *(method.name for method in self.methods)]

    def fill(self) -> None:
        """Compute what is missing."""
        cells = [(fold, seed) for fold in self.folds.folds for seed in draws(self.seeds)]
        self.ledger.fill([self.key(*cell, name) for cell in cells for name in self.names], self._compute)

    def key(self, fold: int, seed: int, name: str) -> Key:
        """The key of a cell. The aggregators have no seed."""
        few = {} if self.folds.most is None else {"most": self.folds.most}
        drawn = {} if name in AGGREGATORS else {"seed": seed}
        return {"experiment": "ltrma-systems", **few, "fold": fold, **drawn, "method": name}

    def values(self, name: str, by: str, measured: str) -> Floats | None:
        """The measure of every query, a mean over the draws; None if documents are not scored in this way."""
        found = []
        for seed in draws(self.seeds):
            cells = [self.ledger[self.key(fold, seed, name)] for fold in self.folds.folds]
            if by not in cells[0]:
                return None
            found.append(np.concatenate([cell[by][measured] for cell in cells]))
        return np.mean(found, axis=0)

    def row(self, name: str, by: str, measured: str) -> tuple[Any, ...] | None:
        """The mean, and the differences to the references."""
        own = self.values(name, by, measured)
        if own is None:
            return None
        others = [self.values(*reference, measured) for reference in REFERENCES.values()]
        away = [_interval(own, other) for other in others if other is not None]
        return name, by, "MAP" if measured == "AP" else measured, float(own.mean()), *away

    def _compute(self, key: Key) -> dict[str, Any]:
        """A cell: the measures of each test query, by what its documents are scored."""
        test = label_documents(self.folds.test(key["fold"]), None)
        test_lists = lists_of(systems(self.folds.data), test.features)
        name = key["method"]
        if name in AGGREGATORS:
            return {LISTS: measure(test, aggregate(name, test_lists, test.features))}
        training = self.folds.training(key["fold"])
        lists = lists_of(systems(self.folds.data), training)
        method = next(own for own in self.methods if own.name == name)
        found = train_and_score(method, training, lists, test.features, test_lists, key["seed"])
        return {by: measure(test, scores) for by, scores in found.items()}


def figure_systems(
    seeds: int, data: Path | None, *, ledger: Ledger, folds: Sequence[int] = range(FOLDS), most: int | None = None
) -> PaperTable:
    """Figures 16 and 17 in layout: rankers from the lists of retrieval systems."""
    methods, left = available(RANKERS)
    own = SystemsExperiment(Folds(data, tuple(folds), most), methods, seeds, ledger)
    own.fill()
    cells = [(name, by, measured) for name in own.names for by in (LISTS, FEATURES, BOTH) for measured in MEASURES]
    rows = [row for cell in cells if (row := own.row(*cell)) is not None]
    columns = ("method", "scored by", "measure", "mean", *(f"less {name}" for name in REFERENCES))
    remarks = [
        "Differences over the test queries of all folds, with 90 % intervals: less the lists alone by root-rank, "
        "less the features alone by LTRMA, less the lists alone by crowd-lists.",
        "The annotators are the 25 systems of MQ2008-agg; documents that a system does not rank are below. No "
        f"relevance label trains, except in the last two methods. True lists: the labels of {SHARE:.0%} of the "
        "training queries.",
        "Every ranker has its defaults otherwise. A query without a relevant document counts 0.",
        *left,
    ]
    title = f"LTRMA figures 16 and 17 in layout: MQ2008 by 25 systems, {len(own.folds.folds)} folds"
    return PaperTable(title, columns, 3, rows, remarks)


def _interval(ours: Floats, theirs: Floats) -> str:
    """The mean difference and its interval."""
    found = paired_difference(ours, theirs)
    if found["low"] is None:
        return f"{found['mean']:+.4f}"
    return f"{found['mean']:+.4f} ({found['low']:+.4f} to {found['high']:+.4f})"
