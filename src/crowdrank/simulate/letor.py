"""Annotators who rank the documents of a file with features and labels, such as LETOR's."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdrank.errors import UsageError
from crowdrank.simulate.crowd import Crowd, ids
from crowdrank.simulate.documents import read_labeled
from crowdrank.simulate.lists import assign, parse_numbers
from crowdrank.simulate.orders import draw_lists


def letor_crowd(
    *,
    seed: int = 0,
    file: str = "",
    thetas: str = "0.3,0.05,-0.1",
    top: int = 0,
    share: float = 1.0,
    labels: int = 0,
) -> Crowd:
    """Lists by annotators with these ``thetas``, over the queries of a file of features with labels.

    ``file`` names one file that ``read_features`` takes, or several separated by commas. The true order of a query
    is by label. The seed breaks ties, so it is one of the perfect orders (LTRMA, section 6.1.2). Each query is
    ranked by ``labels`` random annotators, or by all of them if that is 0. An annotator sees a ``share`` of its
    documents, at least 2, and ranks the ``top`` of these, or all if that is 0. Documents without a label and
    queries with fewer than two documents are in no list. Every query is part "train".
    """
    theta = parse_numbers("thetas", thetas)
    if not 0 < share <= 1:
        raise UsageError(f"The share of the documents must be above 0 and at most 1. Got share={share}.")
    if labels > len(theta):
        raise UsageError(f"labels must be at most the number of annotators, {len(theta)}. Got labels={labels}.")
    features, label, query = read_labeled(file)
    assert features.index.queries is not None
    rng = np.random.default_rng(seed)
    known = np.flatnonzero(~np.isnan(label))
    order = known[np.lexsort((rng.random(len(known)), -label[known], query[known]))]
    counts = np.bincount(query[known], minlength=len(features.index.queries))
    ranked = np.flatnonzero(counts >= 2)
    asked, worker = assign(len(ranked), len(theta), labels or len(theta), rng)
    rows = draw_lists(counts[ranked[asked]], theta[worker], rng, share=share, top=top)
    begins = (np.cumsum(counts) - counts)[ranked[asked]]
    keys, people = features.ids(), ids("worker", len(theta))
    given = keys[order[begins[rows.list] + rows.place]]
    return Crowd(
        judgments=given.select(
            "query", pl.Series("worker", people[worker[rows.list]]), "item", pl.Series("rank", rows.rank)
        ),
        gold=keys[known].with_columns(grade=label[known]),
        workers=pl.DataFrame({"worker": people, "theta": theta}),
        queries=keys.select(pl.col("query").unique(maintain_order=True), part=pl.lit("train")),
        features=keys.hstack(pl.DataFrame(features.dense(), schema=list(features.names))),
    )
