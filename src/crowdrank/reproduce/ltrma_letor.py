"""LTRMA's methods on MQ2008 (LETOR 4.0) in five folds: figures 13 to 15 and 18 to 23 of Wu et al. 2016 in layout.

Figures 13 to 15 have simulated crowds over the training queries. Figures 19 to 23 have the eight annotators of
table I, which are rankers themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Features, read_features
from crowdrank.errors import InputError, Remedy, count_noun
from crowdrank.progress import announce
from crowdrank.rankers.labeled import label_documents
from crowdrank.reproduce.annotators import MEASURE, annotators
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.ltrma_methods import (
    D_SAMPLES,
    LREGMA,
    MLE,
    S1,
    S3,
    Corpus,
    D,
    Method,
    available,
    choose_lists,
    run,
)
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import differences, draws, mean_and_error, paired_p
from crowdrank.simulate import simulate

FOLDS = 5
CUTS = tuple(range(1, 11))
MEASURES = (*(f"nDCG@{cut}" for cut in CUTS), "AP")
SHOWN = ("nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "AP")
TOP = 10
"""How many documents a short list has."""
CROWDS = {"poor": "0.3,0.05,-0.1", "better": "1,0.5,0.3,0.2,0.1"}
"""The annotators' thetas of the simulated crowds, with the sign of this library."""
FULL = Method("ListMLE-full", "listmle")
TOP10 = Method("ListMLE-top10", "listmle", {"k": TOP})
SUPERVISED = (FULL, TOP10)
DEFAULTS = Method("LTRMA-MLE, defaults", "ltrma-mle")
LISTS = ("full", "top 10")
_ERRORS = "An error is the standard error of the mean over folds and draws."
_P = (
    "p: two-sided paired t-tests of nDCG@10 over folds and draws against LTRMA-MLE. The training queries of folds "
    "overlap, so a p is rather too small."
)
_QUERIES = "A query without a relevant document counts 0; gains are 2^label - 1."


@dataclass(frozen=True)
class Folds:
    """The folds to run: fold i tests on part i and trains on the next three, as LETOR does.

    ``most``: only so many queries of each part, for a quick look; None: all.
    """

    data: Path | None
    folds: Sequence[int] = range(FOLDS)
    most: int | None = None

    def files(self) -> list[Path]:
        """The five parts of MQ2008."""
        folder = (self.data or Path("../shared/data")) / "MQ2008"
        found = [folder / f"S{number}.txt.gz" for number in range(1, FOLDS + 1)]
        if not all(file.exists() for file in found):
            raise InputError(
                "The MQ2008 data was not found.", source=str(folder),
                hint=("Name the folder that holds MQ2008/: ", Remedy("data", "DIR"), ", or set CROWDRANK_DATA."),
            )  # fmt: skip
        return found

    def training_files(self, fold: int) -> list[Path]:
        """The files that train."""
        return [self.files()[(fold + place) % FOLDS] for place in (1, 2, 3)]

    def training(self, fold: int) -> Features:
        """The documents that train."""
        return self._few(read_features([str(file) for file in self.training_files(fold)]))

    def test(self, fold: int) -> Features:
        """The documents that test."""
        return self._few(read_features(str(self.files()[fold])))

    def _few(self, features: Features) -> Features:
        assert features.query is not None
        if self.most is None:
            return features
        return features.take(np.flatnonzero(features.query < self.most))


def labels_of(features: Features) -> pl.DataFrame:
    """query, item, label of the labeled documents."""
    assert features.label is not None
    return features.ids().with_columns(label=features.label).filter(pl.col("label").is_not_nan())


@lru_cache(maxsize=1)
def crowd_corpus(folds: Folds, fold: int, crowd: str, lists: str, seed: int) -> Corpus:
    """A simulated crowd over the training queries of a fold."""
    features = folds.training(fold)
    files = ",".join(str(file) for file in folds.training_files(fold))
    made = simulate("ltrma-letor", seed=seed, file=files, thetas=CROWDS[crowd], top=0 if lists == "full" else TOP)
    labels = labels_of(features)
    judgments = made.judgments.join(labels, on=["query", "item"], how="semi", maintain_order="left")
    return Corpus(
        features=features,
        judgments=judgments,
        gold=labels,
        test=label_documents(folds.test(fold), None),
        workers=made.workers,
        true=choose_lists(judgments["query"], seed),
        unranked=None if lists == "full" else "below",
    )


@lru_cache(maxsize=1)
def annotator_corpus(folds: Folds, fold: int, lists: str, seed: int) -> Corpus:
    """The eight annotators of table I over the documents with an even number of the training queries."""
    found = annotators(folds.training(fold), seed)
    judgments = found.judgments if lists == "full" else found.judgments.filter(pl.col("rank") <= TOP)
    return Corpus(
        features=found.features,
        judgments=judgments,
        gold=labels_of(found.features),
        test=label_documents(folds.test(fold), None),
        workers=found.workers.select("worker", theta=MEASURE),
        true=choose_lists(judgments["query"], seed),
        unranked=None if lists == "full" else "below",
    )


@dataclass(frozen=True, eq=False)
class LetorExperiment:
    """Methods on crowds over MQ2008. A draw is a fold and a seed.

    ``crowds``: the simulated crowds, or only None for the annotators of table I.
    """

    name: str
    crowds: Sequence[str | None]
    methods: Sequence[Method]
    folds: Folds
    seeds: int
    ledger: Ledger

    def fill(self) -> None:
        """Compute what is missing."""
        groups = [(crowd, lists) for crowd in self.crowds for lists in LISTS]
        keys = [
            self.key(crowd, lists, fold, seed, method)
            for crowd, lists in groups
            for fold in self.folds.folds
            for seed in draws(self.seeds)
            for method in self.methods
        ]
        self.ledger.fill(keys, self._compute)

    def key(self, crowd: str | None, lists: str, fold: int, seed: int, method: Method) -> Key:
        """The key of a cell. What learns from labels depends on no simulated crowd."""
        few = {} if self.folds.most is None else {"most": self.folds.most}
        where = {"experiment": self.name, **few, "fold": fold, "method": method.name}
        if method in SUPERVISED:
            return where
        return {**where, **({} if crowd is None else {"crowd": crowd}), "lists": lists, "seed": seed}

    def _compute(self, key: Key) -> dict[str, Any]:
        lists, seed = key.get("lists", "full"), key.get("seed", 0)
        method = next(own for own in self.methods if own.name == key["method"])
        if self.crowds[0] is None:
            corpus = annotator_corpus(self.folds, key["fold"], lists, seed)
        else:
            corpus = crowd_corpus(self.folds, key["fold"], key.get("crowd", self.crowds[0]), lists, seed)
        if lists != "full" and method.ranker.startswith("ltrma"):
            method = replace(method, settings={**method.settings, "k": TOP})
        return run(method, corpus, MEASURES, seed=seed, cuts=(1, 3, 5, 8))

    def values(self, crowd: str | None, lists: str, method: Method, name: str) -> list[Any]:
        """A value of each draw."""
        return [
            self.ledger[self.key(crowd, lists, fold, seed, method)].get(name)
            for fold in self.folds.folds
            for seed in draws(self.seeds)
        ]

    def rows(self, crowd: str | None, workers: Sequence[str]) -> list[tuple[Any, ...]]:
        """The rows of a crowd: measures, the error of nDCG@10, its difference to ListMLE-full, p, annotators."""
        found: list[tuple[Any, ...]] = []
        for lists in LISTS:
            full, mle = (self.values(crowd, lists, method, "nDCG@10") for method in (FULL, MLE))
            for method in self.methods:
                own = self.values(crowd, lists, method, "nDCG@10")
                means = [mean_and_error(self.values(crowd, lists, method, name))[0] for name in SHOWN]
                order = [mean_and_error(self.values(crowd, lists, method, name))[0] for name in workers]
                away = mean_and_error(differences(own, full))
                found.append(
                    (lists, method.name, *means, mean_and_error(own)[1], *away, paired_p(own, mle), *order)
                )
        return found


COLUMNS = ("lists", "method", *SHOWN[:-1], "MAP", "error", "less full", "its error", "p")


def mq2008(
    seeds: int, data: Path | None, *, ledger: Ledger, folds: Sequence[int] = range(FOLDS), most: int | None = None
) -> PaperTable:
    """Figures 13 to 15 in layout: simulated crowds over MQ2008."""
    methods, left = available((*SUPERVISED, LREGMA, D, D_SAMPLES, MLE, S1))
    own = LetorExperiment("ltrma-mq2008", tuple(CROWDS), methods, Folds(data, tuple(folds), most), seeds, ledger)
    own.fill()
    rows = [(crowd, *row) for crowd in CROWDS for row in own.rows(crowd, ("workers nDCG@3",))]
    crowds = "; ".join(f"{name} {_paper_sign(thetas)}" for name, thetas in CROWDS.items())
    remarks = [
        f"Theta of the annotators, in the paper's sign (negative is expert): {crowds}.",
        "Top 10: annotators give their first ten documents, the others are below, and LTRMA has k=10. "
        "Less full: nDCG@10 less that of ListMLE-full. order@3: nDCG@3 of the estimated order of the annotators "
        "(figure 15).",
        "LTRMA-S1 knows the labels of a quarter of the training queries. ListMLE learns from the labels of all.",
        _QUERIES, _ERRORS, _P, "The paper has OHSUMED, 5 to 15 annotators, and plots without numbers.", *left,
    ]  # fmt: skip
    title = f"LTRMA figures 13 to 15 in layout: MQ2008, {len(own.folds.folds)} folds, {seeds} draws of each crowd"
    return PaperTable(title, ("crowd", *COLUMNS, "order@3"), 3, rows, remarks)


def figure_annotators(
    seeds: int, data: Path | None, *, ledger: Ledger, folds: Sequence[int] = range(FOLDS), most: int | None = None
) -> PaperTable:
    """Figures 19 to 23: the eight annotators of table I over MQ2008."""
    methods, left = available((*SUPERVISED, LREGMA, *map(_by_worker, (D, MLE, S1, S3)), DEFAULTS))
    own = LetorExperiment("ltrma-annotators", (None,), methods, Folds(data, tuple(folds), most), seeds, ledger)
    own.fill()
    names = tuple(f"workers nDCG@{cut}" for cut in (1, 3, 5))
    remarks = [
        "Each annotator is a ListMLE ranker with one group of features (table I). It ranks the documents with an "
        "even number of the training queries. All methods train on these documents, with all 46 features.",
        "The true order of the annotators is by their nDCG@10 on the documents with an odd number, and order@n is "
        "nDCG@n of the estimated order (figures 20 and 23), in which equal thetas share their places. LTRMA-S3 "
        "knows who is truly best; in the paper this is always function 8.",
        "LTRMA-S1 knows the labels of a quarter of the training queries.",
        "Each annotator has a theta of its own, as in the paper. Groups of them make nearly the same errors, and "
        "no list can tell which group is right: with short lists LTRMA may follow the wrong one, unless "
        "something is known (S1, S3). The defaults weight look-alikes only among ten annotators or more.",
        "Half of a query of MQ2008 has more than ten documents in one of four queries.",
        _QUERIES, _ERRORS, _P, "The paper has longer lists, and plots without numbers.", *left,
    ]  # fmt: skip
    columns = (*COLUMNS, *(f"order@{cut}" for cut in (1, 3, 5)))
    title = f"LTRMA figures 19 to 23 in layout: annotators that are rankers, MQ2008, {len(own.folds.folds)} folds"
    return PaperTable(title, columns, 2, own.rows(None, names), remarks)


def _by_worker(method: Method) -> Method:
    """The same method with a theta for each worker."""
    return replace(method, settings={**method.settings, "dispersion": "by-worker"})


def _paper_sign(thetas: str) -> str:
    """Thetas with the sign of the paper."""
    return ", ".join(f"{-float(theta):g}" for theta in thetas.split(","))


# ---------------------------------------------------------------------------------------- figures 18 and 21

BINS = (1, 6, 9, 13, 21, 41, 81, 122)
"""The least documents of each bin, and one more than the most."""
WIDTH = 40
"""The length of the longest bar."""


def figure18(seeds: int, data: Path | None) -> PaperTable:
    """Figures 18 and 21: how many documents the queries have."""
    files = [str(file) for file in Folds(data).files()]
    announce(f"reading {count_noun(len(files), 'file')}", 0, 1)
    features = read_features(files)
    assert features.query is not None
    return histogram(np.bincount(features.query))


def histogram(sizes: Any) -> PaperTable:
    """How many queries have how many documents."""
    edges = [*BINS[:-1], max(BINS[-1], int(sizes.max()) + 1)]
    counts = np.histogram(sizes, edges)[0]
    rows = [
        (f"{low} to {high - 1}", int(count), "#" * round(WIDTH * count / counts.max()))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    remarks = [
        f"{len(sizes)} queries with {sizes.min()} to {sizes.max()} documents, median {np.median(sizes):g}. "
        "In the paper most queries have more than 500 documents, of which MQ2008 labels only these."
    ]
    title = "LTRMA figures 18 and 21: documents per query, MQ2008"
    return PaperTable(title, ("documents", "queries", "share"), 3, rows, remarks)
