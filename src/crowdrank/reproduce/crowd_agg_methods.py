"""The methods of CrowdAgg's tables, how ours differ from the paper's, and tests of their differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import LEFT, TIE, Floats, Judgments, Pairs, read
from crowdrank.models.base import Model
from crowdrank.models.registry import make
from crowdrank.reproduce.summaries import Number, differences, paired_p

CURVES = ("P@10", "AP", "nDCG@10", "RBP(p=0.95)")
PAPERS: dict[str, Any] = {"prior": None, "pool": False}
"""CrowdAgg's own estimate of quality: equation 17 as printed, separately for each query."""


@dataclass(frozen=True)
class Method:
    """A row of a table: a model with its parameters, and how it differs from what the paper runs."""

    name: str
    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    differs: str = ""
    ours: bool = False
    """Whether it is a form of CrowdAgg."""

    def make(self, **more: Any) -> Model:
        """The unfitted model."""
        return make(self.model, {**self.parameters, **more})


_CLIMB = (
    "BradleyTerry and Crowd-BT: ours are at the maximum of a penalized likelihood with a prior on qualities. "
    "The paper takes gradient steps at a rate chosen by nDCG@10 on the gold."
)
_POOLED = (
    "CrowdAggNDCG and CrowdAggRBP: ours pool the queries and shrink the share of agreeing votes by a "
    "Beta(20, 5) prior. Rows with eq. 17 have the paper's quality: the plain share, separately for each query. "
    "In both, a judged pair has the probability 1 or 0 (pair=direct), because the paper's equation 6, taken "
    "literally, ranks backwards."
)
METHODS = {
    method.name: method
    for method in (
        Method(
            "CondorcetFuse",
            "condorcet",
            {"order": "majority-sort"},
            "CondorcetFuse: a sort by majority, as in Montague & Aslam, but by insertion from Copeland's "
            "order. The paper has Quicksort and does not say from which order; within a cycle of majorities "
            "the result depends on it.",
        ),
        Method(
            "CondorcetFuse, Copeland",
            "condorcet",
            {},
            "CondorcetFuse, Copeland: pairs won minus pairs lost, our default for condorcet, which is not the "
            "paper's method.",
        ),
        Method("GreedyOrder", "greedy-order"),
        Method("BradleyTerry", "bt", differs=_CLIMB),
        Method(
            "MPM",
            "mpm",
            differs="MPM: ours has the adherences of Volkovs & Zemel, with normal priors whose widths the "
            "votes choose, and any sign. It leaves out the variance of each item, and the strength of a "
            "preference by the difference of ranks (votes on pairs have no ranks).",
        ),
        Method("Crowd-BT", "crowd-bt", differs=_CLIMB),
        Method(
            "EMEloRating",
            "em-elo",
            differs="EMEloRating: ours has one accuracy for each worker with a Beta(4, 2) prior, takes each "
            "pair as one game with the outcome that EM finds, and gives the limit of Elo's steps. In the "
            "paper a confusion matrix for each worker filters the preferences, and Elo's steps rate those that "
            "remain, by the settings of Bashir et al., which it does not repeat.",
        ),
        Method("CrowdAggNDCG", "crowdagg-ndcg", {}, _POOLED, ours=True),
        Method("CrowdAggRBP", "crowdagg-rbp", {}, _POOLED, ours=True),
        Method("CrowdAggNDCG, eq. 17", "crowdagg-ndcg", PAPERS, _POOLED, ours=True),
        Method("CrowdAggRBP, eq. 17", "crowdagg-rbp", PAPERS, _POOLED, ours=True),
    )
}


def how_they_differ(names: Iterable[str]) -> list[str]:
    """For each of these rows that is not the paper's method, in which way; each remark once."""
    return list(dict.fromkeys(METHODS[name].differs for name in names if METHODS[name].differs))


def best_of_ours(values: Mapping[str, Sequence[float] | Floats], *, least: bool = False) -> str:
    """The form of CrowdAgg with the largest mean, or with the smallest."""
    means = {name: float(np.mean(own)) for name, own in values.items() if METHODS[name].ours}
    return (min if least else max)(means, key=lambda name: means[name])


def lead(best: Sequence[float] | Floats, other: Sequence[float] | Floats) -> tuple[float, Number]:
    """The mean of best - other over queries or draws, and the p-value of a two-sided paired t-test."""
    one, two = list(best), list(other)
    return float(np.mean(differences(one, two))), paired_p(one, two)


# -------------------------------------------------------------------------------------- votes as frames


def votes_frame(pairs: Judgments) -> pl.DataFrame:
    """The votes as a frame: query, worker, left, right, and 1, 0 or -1 for left, tie or right."""
    assert isinstance(pairs, Pairs)
    index = pairs.index
    assert pairs.query is not None
    assert pairs.worker is not None
    assert index.queries is not None
    assert index.workers is not None
    return pl.DataFrame(
        {
            "query": index.queries.gather(pairs.query),
            "worker": index.workers.gather(pairs.worker),
            "left": index.items.gather(pairs.left),
            "right": index.items.gather(pairs.right),
            "said": np.where(pairs.outcome == TIE, 0, np.where(pairs.outcome == LEFT, 1, -1)),
        }
    )


def with_truth(votes: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The votes with ``true``: 1, 0 or -1 if left, neither or right has the larger value.

    ``scores`` has query, item, value.
    """
    for side in ("left", "right"):
        own = scores.rename({"item": side, "value": f"{side}_value"})
        votes = votes.join(own, on=["query", side], how="left", maintain_order="left")
    return votes.with_columns(true=(pl.col("left_value") - pl.col("right_value")).sign()).drop(
        "left_value", "right_value"
    )


def judgments_of(votes: pl.DataFrame) -> Judgments:
    """The frame of ``votes_frame`` as judgments."""
    chosen = pl.when(pl.col("said") == 0).then(pl.lit("tie"))
    label = chosen.when(pl.col("said") > 0).then("left").otherwise("right")
    return read(votes.select("query", "worker", "left", "right", label=label))
