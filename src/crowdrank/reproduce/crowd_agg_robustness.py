"""Figures 3 and 4 of Niu et al. 2015: random and malicious workers added to MIREX2005."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from crowdrank.data import Floats
from crowdrank.progress import in_steps
from crowdrank.reproduce.crowd_agg_methods import (
    CURVES,
    METHODS,
    Method,
    best_of_ours,
    how_they_differ,
    judgments_of,
    lead,
    votes_frame,
    with_truth,
)
from crowdrank.reproduce.crowd_data import mirex
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import Number, draws, paired_p

RATIOS = np.linspace(0.0, 1.0, 21)
SHOWN = (0, 5, 10, 15, 20)
LEGEND = ("GreedyOrder", "CondorcetFuse", "BradleyTerry", "MPM", "Crowd-BT", "EMEloRating", "CrowdAggNDCG")
PRIORS = {
    f"CrowdAggNDCG, {words}": Method(f"CrowdAggNDCG, {words}", "crowdagg-ndcg", parameters)
    for words, parameters in (
        ("equal", {"quality": "equal"}),
        ("prior (2, 1)", {"prior": (2.0, 1.0)}),
        ("no prior", {"prior": None}),
    )
}
"""Other priors on pooled qualities. They are not among the forms of CrowdAgg from which the best is chosen."""
VARIATION = {
    "random": {
        "nDCG@10": (0.0147, 0.0174, 0.3347, 0.0228, 0.0406, 0.3238, 0.0216),
        "RBP(p=0.95)": (0.0227, 0.0245, 0.0436, 0.0330, 0.0312, 0.0191, 0.0185),
    },
    "malicious": {
        "nDCG@10": (0.0100, 0.0122, 0.0112, 0.0186, 0.0498, 0.0175, 0.0099),
        "RBP(p=0.95)": (0.0118, 0.0174, 0.0218, 0.0407, 0.0382, 0.0275, 0.0116),
    },
}


def spammers(votes: pl.DataFrame, gold: pl.DataFrame, ratio: float, kind: str, seed: int) -> pl.DataFrame:
    """Votes of added workers: in each query, ``ratio`` times the number of its workers.

    Each added worker gets the pairs of a worker drawn from the query, if gold distinguishes the two items,
    and answers against gold (``malicious``) or by a coin toss (``random``).
    """
    rng = np.random.default_rng([seed, round(100 * ratio)])
    decided_by_gold = with_truth(votes, gold).filter(pl.col("true") != 0)
    drawn = []
    for query in votes["query"].unique(maintain_order=True):
        workers = votes.filter(query=query)["worker"].unique(maintain_order=True)
        count = round(ratio * len(workers))
        some = workers.gather(rng.integers(0, len(workers), count))
        names = [f"{kind} {number} of {query}" for number in range(count)]
        drawn.append(
            pl.DataFrame({"query": [query] * count, "worker": some, "name": names}, schema_overrides=_TEXT)
        )
    added = pl.concat(drawn).join(decided_by_gold, on=["query", "worker"], maintain_order="left_right")
    with_gold = rng.random(len(added)) < 0.5 if kind == "random" else np.zeros(len(added), bool)
    said = np.where(with_gold, 1, -1) * added["true"].to_numpy()
    return (
        added.select("query", "left", "right", worker="name")
        .with_columns(said=pl.Series(said.astype(np.int64)))
        .select(votes.columns)
    )


_TEXT = {"query": pl.String, "worker": pl.String, "name": pl.String}


def measure_draws(kind: str, seeds: int, data: Path | None, runs: Mapping[str, Method]) -> dict[str, Floats]:
    """For each method, its measures by draw, ratio and measure. At the ratio 0 all draws are the same."""
    own = mirex(data)
    votes, gold = votes_frame(own.votes), own.graded.frame
    found = {name: np.zeros((seeds, len(RATIOS), len(CURVES))) for name in runs}

    def draw(cell: tuple[int, int]) -> None:
        place, seed = cell
        ratio, number = float(RATIOS[place]), draws(seeds).index(seed)
        table = judgments_of(pl.concat([votes, spammers(votes, gold, ratio, kind, seed)]))
        for name, method in runs.items():
            values = own.measure(method.make().fit(table), " ".join(CURVES))
            found[name][number if ratio else slice(None), place] = [values[measure] for measure in CURVES]

    cells = [(place, seed) for place, ratio in enumerate(RATIOS) for seed in draws(seeds if ratio else 1)]
    in_steps(cells, draw, lambda cell: f"{RATIOS[cell[0]]:g} {kind} workers for each worker, seed {cell[1]}")
    return found


def variation(curves: Floats) -> float:
    """The deviation divided by the mean, over the ratios, of the mean curve of these draws (draws, ratios)."""
    curve = curves.mean(axis=0)
    return float(curve.std(ddof=1) / curve.mean())


def variation_p(ours: Floats, theirs: Floats) -> Number:
    """The p-value of a t-test that two variations are equal, by the jackknife over the draws.

    A variation is one number for all draws, so the draws enter by the pseudo-values n T - (n - 1) T_-i of the
    difference T, with T_-i the difference without draw i.
    """
    count = len(ours)
    if count < 2:
        return paired_p([0.0], [0.0])
    whole = variation(ours) - variation(theirs)
    without = [
        variation(np.delete(ours, draw, axis=0)) - variation(np.delete(theirs, draw, axis=0))
        for draw in range(count)
    ]
    return paired_p([count * whole - (count - 1) * one for one in without], [0.0] * count)


def _methods(kind: str) -> dict[str, Method]:
    """The rows of a figure; with malicious workers also other priors on the qualities, which matter there."""
    shown = {name: METHODS[name] for name in (*LEGEND, "CrowdAggNDCG, eq. 17")}
    return shown if kind == "random" else {**shown, **PRIORS}


def _rows(found: Mapping[str, Floats], kind: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for place, measure in enumerate(CURVES):
        curves = {name: values[:, :, place] for name, values in found.items()}
        forms = {name: own for name, own in curves.items() if name not in PRIORS}
        best = best_of_ours({name: own.mean(axis=1) for name, own in forms.items()})
        steadiest = best_of_ours({name: [variation(own)] for name, own in forms.items()}, least=True)
        for name, own in curves.items():
            printed = VARIATION[kind].get(measure) if name in LEGEND else None
            rows.append(
                (name, measure, *own.mean(axis=0)[list(SHOWN)].tolist(), float(own.mean()),
                 *lead(curves[best].mean(axis=1), own.mean(axis=1)), variation(own),
                 variation(own) - variation(curves[steadiest]), variation_p(own, curves[steadiest]),
                 printed[LEGEND.index(name)] if printed else "")
            )  # fmt: skip
    return rows


def _robustness(kind: str, seeds: int, data: Path | None, figure: int, remarks: list[str]) -> PaperTable:
    runs = _methods(kind)
    found = measure_draws(kind, seeds, data, runs)
    shown = tuple(f"{RATIOS[place]:g}" for place in SHOWN)
    more = ("mean", "lead", "p of lead", "variation", "excess", "p of excess", "its print")
    return PaperTable(
        f"CrowdAgg figure {figure}: MIREX2005 with {kind} workers added, by their ratio, {seeds} draws",
        ("method", "measure", *shown, *more),
        2,
        _rows(found, kind),
        [
            f"Mean: over the {len(RATIOS)} ratios from 0 to 1. Lead: the mean of the form of CrowdAgg that has "
            "the largest one in the measure, less that of the method; p: a two-sided paired t-test over the "
            "draws.",
            "Variation: the standard deviation divided by the mean, over the ratios, of the mean curve of all "
            "draws; the paper's are those of its text. Excess: the variation less that of the form of CrowdAgg "
            "that varies least; p: a t-test by the jackknife over the draws. No p is corrected for the number "
            "of tests. They are about other draws of added workers, not about other votes.",
            "An added worker gets the pairs of a random worker of the query, if gold distinguishes the two items; "
            "the paper does not say what its added workers judge.",
            *remarks,
            *how_they_differ(name for name in runs if name not in PRIORS),
        ],
    )


def figure3(seeds: int, data: Path | None) -> PaperTable:
    """Random workers added."""
    remark = (
        "The paper's .33 for the nDCG@10 of BradleyTerry and EMEloRating is more than its own plot allows: "
        "the axis runs from .35 to .55."
    )
    return _robustness("random", seeds, data, 3, [remark])


def figure4(seeds: int, data: Path | None) -> PaperTable:
    """Malicious workers added."""
    remark = (
        "Rows with equal, prior (2, 1) and no prior show other priors on pooled qualities; leads and excesses "
        "are not over them. A malicious worker here always contradicts gold. At ratio 1 they cast as many "
        "votes as the others, who are not always right, so most votes on the pairs that gold distinguishes are "
        "wrong."
    )
    return _robustness("malicious", seeds, data, 4, [remark])
