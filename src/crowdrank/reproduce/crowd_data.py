"""The data of CrowdAgg's tables, or the closest available."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from crowdrank.data import Floats, Judgments, Scored, read, read_ranking, to_pairs
from crowdrank.errors import InputError, Remedy
from crowdrank.measures import MeasureSpec, evaluate_queries, parse
from crowdrank.models.base import Model

GRADED = "nDCG@3 nDCG@5 nDCG@7 nDCG@9 nDCG@10"
BINARY = "P@3 P@5 P@7 P@9 P@10 AP RBP(p=0.95)"


@dataclass(frozen=True)
class GoldData:
    """Judgments with graded gold, and the same gold as relevant or not."""

    votes: Judgments
    graded: Scored
    binary: Scored

    def measure(self, model: Model, measures: str = f"{GRADED} {BINARY}") -> dict[str, float]:
        """The mean of each measure over the queries in which it is defined."""
        return {word: float(np.nanmean(values)) for word, values in self.measure_queries(model, measures).items()}

    def measure_queries(self, model: Model, measures: str = f"{GRADED} {BINARY}") -> dict[str, Floats]:
        """The measures of a fitted model in each query: P, AP and RBP use binary relevance, the others use grades.

        Items without gold are left out of the list.
        """
        found = model.ranking_.polars().select("query", "item", "score")
        known = found.join(self.graded.frame.select("query", "item"), on=["query", "item"], nulls_equal=True)
        ranking = read_ranking(known)
        values: dict[str, Floats] = {}
        for measure in map(_as_in_the_paper, parse(measures)):
            gold = self.binary if measure.text in BINARY.split() else self.graded
            values |= evaluate_queries(ranking, gold, [measure])
        return values


def _as_in_the_paper(measure: MeasureSpec) -> MeasureSpec:
    """The measure with gains of 2^grade - 1, also if grades exceed 10."""
    return (
        replace(measure, parameters={**measure.parameters, "gain": "exp"}) if measure.name == "ndcg" else measure
    )


def _folder(data: Path | None, name: str, file: str) -> Path:
    folder = (data or Path("../shared/data")) / name
    if not (folder / file).exists():
        raise InputError(
            f"The {name} data was not found.", source=str(folder),
            hint=(f"Name the folder that holds {name}/: ", Remedy("data", "DIR"), ", or set CROWDRANK_DATA."),
        )  # fmt: skip
    return folder


def _with_relevance(votes: Judgments, gold: pl.DataFrame) -> GoldData:
    """``gold`` has query, item, grade; relevant is a grade in the upper half of the query's range."""
    top, least = pl.col("grade").max().over("query"), pl.col("grade").min().over("query")
    graded = gold.select("query", "item", value=pl.col("grade").cast(pl.Float64))
    relevant = gold.select("query", "item", value=(pl.col("grade") > (top + least) / 2).cast(pl.Float64))
    return GoldData(votes, Scored(graded), Scored(relevant))


def mirex(data: Path | None) -> GoldData:
    """MIREX2005: 11 queries; the grade is max group + 1 - group."""
    folder = _folder(data, "mirex2005-crowd", "judgments.csv")
    votes = read(folder / "judgments.csv", columns="left=doc_a,right=doc_b,winner=answer")
    gold = pl.read_csv(folder / "mturk_qrel.csv", schema_overrides={"query": pl.String, "doc": pl.String})
    best = pl.col("group").max().over("query") + 1
    return _with_relevance(votes, gold.select("query", item="doc", grade=best - pl.col("group")))


def trec(data: Path | None) -> GoldData:
    """Relevance labels of the items that have gold, as one list because there are no topics.

    They become the pairs of equation 5, in which equal labels say nothing.
    """
    folder = _folder(data, "trec2010", "labels.csv")
    text = {"item": pl.String, "worker": pl.String}
    gold = pl.read_csv(folder / "gold.csv", schema_overrides=text)
    labels = pl.read_csv(folder / "labels.csv", schema_overrides=text).join(gold, on="item", how="semi")
    one = pl.lit(None, pl.String).alias("query")
    pairs = to_pairs(read(labels), ties="drop", pairs="all")
    return _with_relevance(pairs, gold.select(one, "item", grade=pl.col("gold") - 1))


def reading_level(data: Path | None) -> GoldData:
    """The reading-level votes: one list, grades 1 to 12."""
    folder = _folder(data, "readinglevel", "pairs.csv")
    gold = pl.read_csv(folder / "gold.csv", schema_overrides={"item": pl.String})
    return _with_relevance(
        read(folder / "pairs.csv"), gold.select(pl.lit(None, pl.String).alias("query"), "item", "grade")
    )
