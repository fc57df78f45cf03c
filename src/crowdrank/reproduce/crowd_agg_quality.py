"""Figures 1 and 2 of Niu et al. 2015: what the workers' qualities are worth, and how close they are to the real
ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Floats
from crowdrank.models.base import Model
from crowdrank.models.registry import make
from crowdrank.progress import in_steps
from crowdrank.reproduce.crowd_agg_methods import (
    CURVES,
    METHODS,
    best_of_ours,
    how_they_differ,
    judgments_of,
    lead,
    votes_frame,
    with_truth,
)
from crowdrank.reproduce.crowd_data import GoldData, mirex
from crowdrank.reproduce.result import PaperTable

EQUAL: dict[str, tuple[str, dict[str, Any]]] = {
    "MPM": ("mpm", {"adherence_sd": 1e-3}),
    "Crowd-BT": ("bt", {}),
    "EMEloRating": ("bt", {"regularization": 0.5}),
    "CrowdAggNDCG": ("crowdagg-ndcg", {"quality": "equal"}),
    "CrowdAggRBP": ("crowdagg-rbp", {"quality": "equal"}),
}
"""The same methods without qualities, all workers equal. Elo's steps on all votes have Bradley-Terry as limit."""
ORDERS = 50
CHANGES = {("Crowd-BT", "nDCG@10"): 0.103, ("CrowdAggNDCG", "AP"): 0.56, ("CrowdAggNDCG", "P@10"): 0.111}
"""What the text says about the bars of figure 1, which have no numbers."""
DIVERGENCES = {"CrowdAggNDCG": 1.43, "MPM": 1.93, "EMEloRating": 2.14, "Crowd-BT": 2.86}
BINS = 10

# ------------------------------------------------------------------------------------------- figure 1


def figure1(seeds: int, data: Path | None) -> PaperTable:
    """Qualities on and off."""
    own = mirex(data)
    runs = [*EQUAL, *(f"{name}, eq. 17" for name in ("CrowdAggNDCG", "CrowdAggRBP"))]
    models = [(f"{name}, equal", make(*EQUAL[name])) for name in EQUAL]
    models += [(f"{name}, estimated", METHODS[name].make()) for name in runs]
    curves = in_steps(models, lambda each: _curves(own, each[1]), lambda each: each[0])
    without = dict(zip(EQUAL, curves, strict=False))
    found = dict(zip(runs, curves[len(EQUAL) :], strict=True))
    rows: list[tuple[object, ...]] = []
    for name in runs:
        plain = without[name.removesuffix(", eq. 17")]
        for measure in CURVES:
            best = best_of_ours({other: values[measure] for other, values in found.items()})
            before, after = float(plain[measure].mean()), float(found[name][measure].mean())
            printed = CHANGES.get((name, measure))
            rows.append(
                (name, measure, before, after, f"{after / before - 1.0:+.1%}",
                 lead(found[name][measure], plain[measure])[1], *lead(found[best][measure], found[name][measure]),
                 "" if printed is None else f"{printed:+.1%}")
            )  # fmt: skip
    queries = len(without["MPM"]["AP"])
    return PaperTable(
        "CrowdAgg figure 1: MIREX2005 without and with worker quality",
        ("method", "measure", "equal", "estimated", "change", "p", "lead", "p of lead", "print"),
        2,
        rows,
        [
            "The paper shows a plot; its text gives three of the changes.",
            "Equal: MPM with all adherences 1, Bradley-Terry for Crowd-BT, the limit of Elo's steps on all "
            "votes for EMEloRating (Bradley-Terry with lambda 0.5), CrowdAgg with eta = 1. " + _played(own),
            "The gold was made from these votes with all workers equal, which is why leaving out qualities "
            "does well here.",
            f"p: a two-sided paired t-test of the change over the {queries} queries. Lead: the form of CrowdAgg "
            "that is best in the measure, qualities estimated, less the method; its p likewise. No p is "
            "corrected for the number of tests.",
            *how_they_differ(runs),
        ],
    )


def _curves(own: GoldData, model: Model) -> dict[str, Floats]:
    return own.measure_queries(model.fit(own.votes), " ".join(CURVES))


def _played(own: GoldData) -> str:
    """What the steps of Elo give in place of their limit."""
    found = _curves(own, make("elo", {"orders": ORDERS}))
    values = ", ".join(f"{measure} {found[measure].mean():.4f}" for measure in CURVES)
    return f"The paper plays all votes one after the other; the mean over {ORDERS} random orders gives {values}."


# ------------------------------------------------------------------------------------------- figure 2


def agreement(votes: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """Equation 18: for each ``worker`` the share of decided votes that agree with the values, ``quality``.

    A tie in value counts half.
    """
    decided = with_truth(votes.filter(pl.col("said") != 0), scores)
    agrees = (0.5 + pl.col("said") * pl.col("true") / 2).mean()
    return decided.group_by("worker", maintain_order=True).agg(quality=agrees)


def real_qualities(votes: pl.DataFrame, gold: pl.DataFrame) -> pl.DataFrame:
    """Equation 18 by gold, over the pairs whose grades differ. Other workers are not in the frame."""
    return agreement(with_truth(votes, gold).filter(pl.col("true") != 0).drop("true"), gold)


def divergence(found: Floats, real: Floats) -> float:
    """KL(found || real) of histograms over 10 equal bins of [0, 1], with half a worker added to every bin."""
    p, q = (np.histogram(values, BINS, (0.0, 1.0))[0] + 0.5 for values in (found, real))
    p, q = p / p.sum(), q / q.sum()
    return float((p * np.log(p / q)).sum())


def divergences(asked: pl.DataFrame, gold: pl.DataFrame, model: Model) -> tuple[float, float]:
    """The divergence of a topic's qualities by equation 18 with the fitted ranking, and of the model's own ones.

    Both are over the workers who have a real quality.
    """
    fitted = model.clone().fit(judgments_of(asked))
    assert fitted.workers_ is not None
    real = real_qualities(asked, gold)
    by_ranking = agreement(asked, fitted.ranking_.polars().select("query", "item", value="score"))
    own = fitted.workers_.polars()
    both = [
        real.join(found.select("worker", found="quality"), on="worker", validate="1:1", maintain_order="left")
        for found in (by_ranking, own)
    ]
    assert all(len(joined) == len(real) for joined in both)
    first, second = (divergence(joined["found"].to_numpy(), joined["quality"].to_numpy()) for joined in both)
    return first, second


def figure2(seeds: int, data: Path | None) -> PaperTable:
    """How the workers' qualities are distributed in each topic, estimated and real."""
    own = mirex(data)
    gold, votes = own.graded.frame, votes_frame(own.votes)
    runs = [*DIVERGENCES, "CrowdAggNDCG, eq. 17"]
    topics = votes.partition_by("query", maintain_order=True)

    def by_topic(name: str) -> Floats:
        return np.array([divergences(asked, gold, METHODS[name].make()) for asked in topics])

    found = dict(zip(runs, in_steps(runs, by_topic), strict=True))
    best = [
        best_of_ours({name: values[:, place] for name, values in found.items()}, least=True) for place in (0, 1)
    ]
    rows: list[tuple[object, ...]] = []
    for name, values in found.items():
        cells: list[object] = []
        for place in (0, 1):
            more, p = lead(values[:, place], found[best[place]][:, place])
            cells += [float(values[:, place].mean()), more, p]
        rows.append((name, *cells, DIVERGENCES.get(name, "")))
    workers = [len(real_qualities(asked, gold)) for asked in topics]
    return PaperTable(
        f"CrowdAgg figure 2: KL divergence of estimated from real qualities, mean over {len(topics)} topics",
        ("method", "eq. 18", "excess", "p", "own quality", "its excess", "its p", "print"),
        1,
        rows,
        [
            "Real: equation 18 by gold, the share of a worker's decided votes that agree with it, over pairs "
            "of different grades. Eq. 18: the same share of all decided votes with the fitted ranking in place "
            "of gold, one measure for all methods, as in the paper. Own quality: what the model says about the "
            "worker. Each topic is fitted alone.",
            "All figures are over the same workers, those with a decided vote on a pair of different grades: "
            f"{min(workers)} to {max(workers)} in a topic.",
            "Excess: the divergence less that of the form of CrowdAgg with the smallest one (eq. 18: "
            f"{best[0]}; own quality: {best[1]}); p: a two-sided paired t-test over the topics.",
            "The paper gives neither its bins nor its treatment of empty ones, and the figure depends on both. We "
            f"use {BINS} bins and add half a worker to each. Gold differs too (see table 2b), so only the order "
            "of the methods can be compared.",
            *how_they_differ(runs),
        ],
    )
