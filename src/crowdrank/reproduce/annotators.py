"""Table I of Wu et al. (LTRMA): eight annotators who are rankers, each with one group of features.

The paper's groups are those of OHSUMED, whose documents have an abstract and a "title + abstract". On LETOR 4.0
(MQ2007, MQ2008; 46 features) the whole document takes the place of "title + abstract". The title takes the place
of the abstract by default. With the body, four annotators would nearly be copies of the other four: on MQ2008 the
body and the whole document lead to almost the same lists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdrank.data import Features, Scored
from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import InputError, UsageError, name_hint
from crowdrank.measures import evaluate
from crowdrank.rankers.supervised import ListMLE

MEASURE = "nDCG@10"

FIELDS: dict[str, dict[str, tuple[int, ...]]] = {
    "body": {"TFIDF": (1, 11), "BM25": (21,), "LMIR": (22, 23, 24)},
    "anchor": {"TFIDF": (2, 12), "BM25": (25,), "LMIR": (26, 27, 28)},
    "title": {"TFIDF": (3, 13), "BM25": (29,), "LMIR": (30, 31, 32)},
    "url": {"TFIDF": (4, 14), "BM25": (33,), "LMIR": (34, 35, 36)},
    "document": {"TFIDF": (5, 15), "BM25": (37,), "LMIR": (38, 39, 40)},
}
"""The numbers of the features of each field: TF and TF*IDF; BM25; LMIR.ABS, LMIR.DIR and LMIR.JM.

LETOR's list of features has 21 to 40 by function (BM25 of all fields first), but the files have them by field: 25,
29 and 33 are 0 for exactly the documents with a TF of 0 in anchor, title and URL. IDF (6 to 10) is left out, as it
is the same for all documents of a query.
"""


def feature_groups(abstract: str = "title") -> dict[str, tuple[int, ...]]:
    """The features of the eight annotators of table I, with this field in the place of the abstract."""
    if abstract not in FIELDS:
        raise UsageError(f"There is no field {abstract!r}.", hint=name_hint(abstract, FIELDS, "The fields are"))
    part, whole = FIELDS[abstract], FIELDS["document"]
    return {
        "function-1": part["TFIDF"],
        "function-2": whole["TFIDF"],
        "function-3": part["TFIDF"] + part["BM25"],
        "function-4": part["TFIDF"] + part["LMIR"],
        "function-5": whole["TFIDF"] + whole["BM25"],
        "function-6": whole["TFIDF"] + whole["LMIR"],
        "function-7": part["TFIDF"] + part["BM25"] + part["LMIR"],
        "function-8": tuple(number for field in (part, whole) for group in field.values() for number in group),
    }


@dataclass(frozen=True, eq=False)
class Annotators:
    """The lists of the eight annotators, and how good each is.

    ``judgments`` has query, worker, item, rank. ``workers`` has worker, features (how many) and nDCG@10, the best
    first. ``features``: the half of the documents that the lists rank.
    """

    judgments: pl.DataFrame
    workers: pl.DataFrame
    features: Features


def annotators(features: Features, seed: int = 0, *, abstract: str = "title") -> Annotators:
    """Eight annotators over the labeled documents of a LETOR 4.0 file (section 6.2.1).

    The documents with an even number within their query train a ListMLE ranker for each group of features, and
    each of the eight rankers orders them. The documents with an odd number only measure the rankers: nDCG@10 on
    these gives the order of the annotators. ``seed`` breaks ties between equal scores. Queries with fewer than two
    documents to rank get no list. ``abstract``: the field that takes the place of the abstract.
    """
    groups = feature_groups(abstract)
    even, odd = split_by_number(features)
    lists, quality = [], []
    rng = np.random.default_rng(seed)
    for name, group in groups.items():
        columns = [str(number) for number in group]
        ranker = ListMLE(seed=seed).fit(even.select(columns))
        lists.append(_rank(even, ranker.score(even.select(columns)).score, name, rng))
        quality.append(_measure(odd, ranker.score(odd.select(columns)).score))
    workers = {"worker": list(groups), "features": [len(group) for group in groups.values()], MEASURE: quality}
    return Annotators(
        judgments=pl.concat(lists),
        workers=pl.DataFrame(workers).sort(MEASURE, descending=True, maintain_order=True),
        features=even,
    )


def split_by_number(features: Features) -> tuple[Features, Features]:
    """The documents with an even and those with an odd number; they are numbered from 1 within their query."""
    if features.query is None:
        raise InputError("the features have no queries.", source=features.source)
    number = np.zeros(features.rows, np.int64)
    order = np.argsort(features.query, kind="stable")
    number[order] = 1 + _places(features.query[order].astype(np.int64))
    return features.take(np.flatnonzero(number % 2 == 0)), features.take(np.flatnonzero(number % 2 == 1))


def _places(query: Integers) -> Integers:
    """The place of each row within its query, from 0; the rows are sorted by query."""
    begins = np.flatnonzero(np.diff(query, prepend=-1))
    return np.arange(len(query)) - np.repeat(begins, np.diff(begins, append=len(query)))


def _rank(features: Features, scores: Floats, worker: str, rng: np.random.Generator) -> pl.DataFrame:
    """The documents of each query by score."""
    assert features.query is not None
    query = features.query.astype(np.int64)
    order = np.lexsort((rng.random(len(scores)), -scores, query))
    ranks = pl.Series("rank", 1 + _places(query[order]))
    ranked = features.ids()[order].select("query", pl.lit(worker).alias("worker"), "item", ranks)
    return ranked.filter(pl.len().over("query") >= 2)


def _measure(features: Features, scores: Floats) -> float:
    """The mean nDCG@10 over the queries."""
    assert features.label is not None
    keys = features.ids()
    gold = keys.with_columns(value=features.label).filter(pl.col("value").is_not_nan())
    return evaluate(Scored(keys.with_columns(value=scores)), Scored(gold), MEASURE)[MEASURE]
