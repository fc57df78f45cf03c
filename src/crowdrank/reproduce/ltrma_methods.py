"""The methods of LTRMA's experiments (Wu et al. 2016, section 6), and what one of them reaches on one corpus.

    LTRMA-D      the true orders and the expertise first, then a ranker trained on the best sample of each order
    LTRMA-MLE    everything together
    LTRMA-S1     MLE, with the true order of a quarter of the training lists; the crowd's lists are kept
    LTRMA-S2     MLE, with the range of one annotator's expertise
    LTRMA-S3     MLE, with the knowledge that one annotator is at least as expert as all others

The annotator of S2 and S3 is the most expert one of those who gave lists: in the paper's corpora the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Features
from crowdrank.errors import UsageError
from crowdrank.measures.listwise import ndcg
from crowdrank.measures.order import spearman
from crowdrank.rankers.base import Ranker
from crowdrank.rankers.labeled import Labeled
from crowdrank.rankers.registry import find_ranker, make_ranker
from crowdrank.rankers.validation import one_measure

SHARE = 0.25
"""The share of the training lists whose true order S1 knows."""
HALF_RANGE = 0.25
"""S2 knows theta up to this much. The paper does not say how wide its range is."""


@dataclass(frozen=True)
class Method:
    """A row: a registered ranker with settings, and what it knows beforehand.

    ``knows``: any of "lists" (S1), "range" (S2), "ranges" (S2 of every annotator), "best" (S3), "order" (S3, the
    whole order of the annotators), "theta" (the expertise of all).
    """

    name: str
    ranker: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    knows: tuple[str, ...] = ()


TRUTH = Method("ListMLE on the truth", "listmle")
LREGMA = Method("LRegMA", "lregma")
D = Method("LTRMA-D", "ltrma-d", {"train_on": "best"})
D_SAMPLES = Method("LTRMA-D on samples", "ltrma-d")
MLE = Method("LTRMA-MLE", "ltrma-mle")
MLE_BEST = Method("LTRMA-MLE on the best sample", "ltrma-mle", {"train_on": "best"})
S1 = Method("LTRMA-S1", "ltrma-mle", knows=("lists",))
S2 = Method("LTRMA-S2", "ltrma-mle", knows=("range",))
S3 = Method("LTRMA-S3", "ltrma-mle", knows=("best",))
S2_S3 = Method("LTRMA-S2+S3", "ltrma-mle", knows=("range", "best"))
S2_ALL = Method("LTRMA-S2, all ranges", "ltrma-mle", knows=("ranges",))
S3_ALL = Method("LTRMA-S3, whole order", "ltrma-mle", knows=("order",))
KNOWN = Method("LTRMA, theta known", "ltrma-mle", knows=("theta",))


@dataclass(frozen=True, eq=False)
class Corpus:
    """Training documents with the lists of a crowd and their true labels, and labeled test documents.

    ``gold`` has query, item, label of the training documents. ``workers`` has worker and theta, or another number
    that is larger for a better worker. ``unranked``: what it means if a list does not rank a document. ``true``:
    the queries whose true order S1 knows.
    """

    features: Features
    judgments: pl.DataFrame
    gold: pl.DataFrame
    test: Labeled
    workers: pl.DataFrame
    true: pl.Series
    unranked: str | None = None


def available(methods: Sequence[Method]) -> tuple[list[Method], list[str]]:
    """The methods whose rankers are registered, and a remark on each of the others."""
    found, remarks = [], []
    for method in methods:
        try:
            find_ranker(method.ranker)
        except UsageError:
            remarks.append(f"{method.name} is left out: this version has no ranker {method.ranker!r}.")
            continue
        found.append(method)
    return found, remarks


def with_settings(methods: Sequence[Method], *, k: int | None = None, **settings: Any) -> list[Method]:
    """The same methods with more settings; LRegMA takes no ``k``."""
    return [
        replace(own, settings={**own.settings, **settings, **({} if own.ranker == "lregma" else {"k": k})})
        for own in methods
    ]


def choose_lists(queries: pl.Series, seed: int) -> pl.Series:
    """A quarter of the queries, drawn by the seed, at least one."""
    names = queries.unique().sort()
    count = max(round(SHARE * len(names)), 1)
    return names.gather(np.sort(np.random.default_rng([seed, 3]).permutation(len(names))[:count]))


def side_information(knows: Sequence[str], workers: pl.DataFrame) -> pl.DataFrame | None:
    """What a method knows about the annotators, as rows of side information."""
    ranked = workers.sort("theta", descending=True, maintain_order=True)
    names, theta = ranked["worker"].to_list(), ranked["theta"].to_list()
    rows: list[dict[str, Any]] = []
    if "theta" in knows:
        rows += [{"worker": own, "kind": "known", "value": value} for own, value in zip(names, theta, strict=True)]
    if "range" in knows or "ranges" in knows:
        count = len(names) if "ranges" in knows else 1
        rows += [
            {"worker": own, "kind": "range", "low": value - HALF_RANGE, "high": value + HALF_RANGE}
            for own, value in zip(names[:count], theta[:count], strict=True)
        ]
    if "best" in knows:
        rows.append({"worker": names[0], "kind": "order", "than": "*"})
    if "order" in knows:
        rows += [{"worker": own, "kind": "order", "than": than} for own, than in pairwise(names)]
    return pl.from_dicts(rows, infer_schema_length=None) if rows else None


def train(method: Method, corpus: Corpus, seed: int = 0) -> Ranker:
    """The trained ranker of a method."""
    ranker: Any = make_ranker(method.ranker, None, {**method.settings, "seed": seed})
    if method.ranker == "listmle":
        return ranker.fit(corpus.features, gold=corpus.gold)
    known = pl.col("query").is_in(corpus.true.to_list())
    anchors = corpus.gold.filter(known) if "lists" in method.knows else None
    judges = corpus.workers.join(corpus.judgments, on="worker", how="semi", maintain_order="left")
    side_info = side_information(method.knows, judges)
    return ranker.fit(
        corpus.features,
        corpus.judgments,
        anchors=anchors,
        side_info=side_info,
        gold=corpus.gold,
        unranked=corpus.unranked,
    )


def measure(ranker: Ranker, test: Labeled, measures: Sequence[str]) -> dict[str, float]:
    """The means of these measures over the test lists."""
    scores = ranker.score(test.features).score[test.rows]
    return {name: test.queries.mean(one_measure(name), scores) for name in measures}


def measure_workers(found: pl.DataFrame, true: pl.DataFrame, cuts: Sequence[int]) -> dict[str, float | None]:
    """How well the expertise of the annotators was found.

    nDCG of their estimated order, with the place from the end in the true order as a linear gain; the rank
    correlation; and the mean absolute error if the ranker estimates theta. Annotators without lists do not count.
    """
    both = found.join(true.rename({"theta": "true"}), on="worker")
    estimate = both["theta" if "theta" in both.columns else "quality"].to_numpy()
    truth = both["true"].to_numpy()
    grade = both["true"].rank("average").to_numpy()
    values: dict[str, float | None] = {
        f"workers nDCG@{cut}": ndcg(estimate, grade, cut=cut, gain="linear") for cut in cuts
    }
    values["workers spearman"] = spearman(estimate, truth)
    values["workers error"] = float(np.abs(estimate - truth).mean()) if "theta" in both.columns else None
    return values


def run(
    method: Method, corpus: Corpus, measures: Sequence[str], *, seed: int = 0, cuts: Sequence[int] = (5,)
) -> dict[str, Any]:
    """Train and measure a method: measures on the test lists, of the annotators, and the distance by iteration."""
    ranker = train(method, corpus, seed)
    value: dict[str, Any] = measure(ranker, corpus.test, measures)
    if ranker.workers_ is not None:
        value |= measure_workers(ranker.workers_.polars(), corpus.workers, cuts)
    steps = ranker.trained_.tables.get("iterations")
    if steps is not None and "distance" in steps.polars().columns:
        value["distances"] = [round(own, 6) for own in steps.polars()["distance"].to_list()]
    return value
