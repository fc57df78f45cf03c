"""The tables of a trained ranker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdrank.data.arrays import Floats
from crowdrank.errors import Note, count_noun
from crowdrank.results import Table
from crowdrank.results.overview import Interval, Overview


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Table):
    """How much each feature matters, as shares of the sum over all features; the largest first."""

    feature: tuple[str, ...]
    importance: Floats
    weight: Floats | None = None

    def polars(self) -> pl.DataFrame:
        """feature, importance (a share), and weight (of the prepared feature) if the function is linear."""
        total = float(self.importance.sum())
        share = self.importance / total if total > 0 else self.importance
        weight = {} if self.weight is None else {"weight": self.weight}
        frame = pl.DataFrame({"feature": list(self.feature), "importance": share, **weight})
        return frame.sort("importance", descending=True, maintain_order=True)

    def overview(self) -> Overview:
        """The features that matter most, with bars."""
        title = f"Importance: {count_noun(len(self.feature), 'feature')}"
        return Overview(title, table=self.polars(), interval=Interval("importance", None))


@dataclass(frozen=True, eq=False, repr=False)
class ValidationCurve(Table):
    """The measure on the validation queries after each step of training. ``chosen``: the step that is kept."""

    measure: str
    step: tuple[int, ...]
    value: tuple[float, ...]
    chosen: int | None = None

    @property
    def kept(self) -> float | None:
        """The measure of the step that is kept; None if no step is."""
        return None if self.chosen is None else self.value[self.step.index(self.chosen)]

    def polars(self) -> pl.DataFrame:
        """step, value."""
        return pl.DataFrame(
            {"step": self.step, "value": self.value}, schema={"step": pl.Int64, "value": pl.Float64}
        )


@dataclass(frozen=True, eq=False, repr=False)
class QueryMeasures(Table):
    """Measures of the ranker for each query, the worst first. ``query`` is null if there is only one.

    Queries without a relevant document (a label above 0) come last: no order of theirs is better than another.
    """

    query: pl.Series
    documents: Floats
    relevant: Floats
    measures: dict[str, Floats]

    def polars(self) -> pl.DataFrame:
        """query, documents, relevant (how many), and a column for each measure."""
        counts = {name: getattr(self, name).astype(np.int64) for name in ("documents", "relevant")}
        first = next(iter(self.measures))
        frame = pl.DataFrame({"query": self.query, **counts, **self.measures})
        return frame.sort(pl.col("relevant") == 0, first, "query", nulls_last=True)


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Table):
    """The score of each document, in the order in which the documents were given; larger = better.

    >>> import crowdrank as cr
    >>> docs = {"query": [1, 1, 1], "item": [*"abc"], "label": [2, 1, 0], "length": [9, 5, 1]}
    >>> cr.ListMLE().fit(docs).score({"query": ["new", "new"], "item": ["x", "y"], "length": [2, 8]})
    Scores: 2 rows
    query  item   score
    new    x     -0.162
    new    y      0.162
    """

    query: pl.Series
    item: pl.Series
    score: Floats
    notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        return len(self.item)

    def polars(self) -> pl.DataFrame:
        """query (null if there is only one), item, score."""
        return pl.DataFrame({"query": self.query, "item": self.item, "score": self.score})
