"""Tables 2(a) and 2(b) and figures 1 to 4 of Niu et al., Listwise Approach for Rank Aggregation in
Crowdsourcing, CIKM 2015, and the same table for the reading-level votes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import LEFT, TIE, Floats, Judgments, Pairs, read
from crowdrank.models.registry import make
from crowdrank.reproduce.crowd_data import GRADED, GoldData, mirex, reading_level, trec
from crowdrank.reproduce.result import PaperTable

COLUMNS = ("P@3", "P@5", "P@7", "P@9", "P@10", "AP", *GRADED.split(), "RBP(p=0.95)")
CURVES = ("P@10", "AP", "nDCG@10", "RBP(p=0.95)")
METHODS = {
    "CondorcetFuse": "condorcet",
    "GreedyOrder": "greedy-order",
    "BradleyTerry": "bt",
    "MPM": "mpm",
    "Crowd-BT": "crowd-bt",
    "EMEloRating": "em-elo",
    "CrowdAggNDCG": "crowdagg-ndcg",
    "CrowdAggRBP": "crowdagg-rbp",
}
PAPERS: dict[str, Any] = {"prior": None, "pool": False}
"""CrowdAgg's own estimate of quality: equation 17 as printed, separately for each query."""
TABLE2A: dict[str, tuple[float, ...]] = {
    "CondorcetFuse": (0.597, 0.604, 0.621, 0.626, 0.621, 0.560, 0.591, 0.597, 0.609, 0.613, 0.611, 0.564),
    "GreedyOrder": (0.710, 0.698, 0.674, 0.661, 0.657, 0.604, 0.713, 0.704, 0.688, 0.679, 0.676, 0.621),
    "BradleyTerry": (0.373, 0.370, 0.386, 0.378, 0.377, 0.326, 0.377, 0.375, 0.384, 0.379, 0.379, 0.345),
    "MPM": (0.690, 0.690, 0.671, 0.663, 0.657, 0.570, 0.687, 0.687, 0.676, 0.671, 0.667, 0.580),
    "Crowd-BT": (0.403, 0.416, 0.416, 0.422, 0.417, 0.534, 0.404, 0.412, 0.413, 0.417, 0.414, 0.473),
    "EMEloRating": (0.690, 0.666, 0.673, 0.654, 0.649, 0.588, 0.691, 0.676, 0.679, 0.667, 0.663, 0.602),
    "CrowdAggNDCG": (0.713, 0.694, 0.680, 0.673, 0.673, 0.635, 0.715, 0.702, 0.692, 0.687, 0.686, 0.657),
    "CrowdAggRBP": (0.680, 0.684, 0.686, 0.679, 0.674, 0.636, 0.683, 0.686, 0.686, 0.682, 0.679, 0.658),
}
TABLE2B: dict[str, tuple[float, ...]] = {
    "CondorcetFuse": (0.364, 0.455, 0.468, 0.434, 0.418, 0.472, 0.523, 0.596, 0.514, 0.478, 0.414, 0.170),
    "GreedyOrder": (0.273, 0.418, 0.455, 0.424, 0.409, 0.459, 0.444, 0.525, 0.490, 0.462, 0.399, 0.171),
    "BradleyTerry": (0.242, 0.400, 0.429, 0.424, 0.499, 0.441, 0.412, 0.496, 0.460, 0.447, 0.385, 0.170),
    "MPM": (0.485, 0.509, 0.494, 0.475, 0.446, 0.516, 0.695, 0.693, 0.612, 0.576, 0.501, 0.179),
    "Crowd-BT": (0.576, 0.564, 0.507, 0.465, 0.446, 0.608, 0.814, 0.801, 0.640, 0.578, 0.496, 0.200),
    "EMEloRating": (0.364, 0.436, 0.455, 0.424, 0.409, 0.495, 0.606, 0.629, 0.568, 0.511, 0.436, 0.203),
    "CrowdAggNDCG": (0.697, 0.600, 0.546, 0.485, 0.455, 0.712, 0.955, 0.880, 0.703, 0.621, 0.532, 0.214),
    "CrowdAggRBP": (0.697, 0.600, 0.546, 0.485, 0.455, 0.713, 0.955, 0.879, 0.702, 0.620, 0.531, 0.215),
}
GIVEN: dict[str, dict[str, Any]] = {
    "BradleyTerry": {"regularization": 0.5},
    "MPM": {"precision": 1.0, "adherence_sd": 0.5},
    "Crowd-BT": {"regularization": 0.5, "prior": (4.0, 2.0)},
}
EQUAL: dict[str, tuple[str, dict[str, Any]]] = {
    "MPM": ("mpm", {"adherence_sd": 1e-3}),
    "Crowd-BT": ("bt", {}),
    "EMEloRating": ("em-elo", {"prior": (3e6, 1e6)}),
    "CrowdAggNDCG": ("crowdagg-ndcg", {"quality": "equal"}),
}
"""The same methods without qualities, all workers equal, for figure 1."""
CHANGES = {("Crowd-BT", "nDCG@10"): 0.103, ("CrowdAggNDCG", "AP"): 0.56, ("CrowdAggNDCG", "P@10"): 0.111}
"""What the text says about the bars of figure 1, which have no numbers."""
DIVERGENCES = {"CrowdAggNDCG": 1.43, "MPM": 1.93, "EMEloRating": 2.14, "Crowd-BT": 2.86}
BINS = 10
RATIOS = np.linspace(0.0, 1.0, 21)
SHOWN = (0, 5, 10, 15, 20)
LEGEND = ("GreedyOrder", "CondorcetFuse", "BradleyTerry", "MPM", "Crowd-BT", "EMEloRating", "CrowdAggNDCG")
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


# -------------------------------------------------------------------------------------- table 2


def _table(
    data: GoldData,
    printed: dict[str, tuple[float, ...]],
    title: str,
    remarks: list[str],
    settings: dict[str, dict[str, Any]] | None = None,
) -> PaperTable:
    """The rows of table 2, ours above the paper's; ``settings`` are parameters by method."""
    given = settings or {}
    rows: list[tuple[object, ...]] = []
    runs = [(name, make(METHODS[name], given.get(name, {}))) for name in METHODS]
    papers = [(f"{name}, eq. 17", make(METHODS[name], PAPERS)) for name in ("CrowdAggNDCG", "CrowdAggRBP")]
    for name, model in (*runs, *papers):
        found = data.measure(model.fit(data.votes))
        rows.append((name, "ours", *(found[column] for column in COLUMNS)))
        if name in printed:
            rows.append((name, "print", *printed[name]))
    return PaperTable(title, ("method", "whose", *COLUMNS), 2, rows, remarks)


_EQ17 = (
    "Rows with eq. 17 are CrowdAgg as in its paper: a worker's quality is the plain share of agreeing votes, "
    "separately for each query. The others pool the queries and shrink the share by a Beta(20, 5) prior."
)
_HALF = "Relevant means a grade in the upper half of its query's range; nDCG has gains of 2^grade - 1."


def table2a(seeds: int, data: Path | None) -> PaperTable:
    """The layout of table 2(a) on other labels."""
    return _table(
        trec(data),
        TABLE2A,
        "CrowdAgg table 2(a): relevance labels by a crowd (trec2010)",
        [
            "The paper uses CS-TREC2011, which is not available: 100 topics of 190 documents, and the mean over "
            "the topics. Ours are the labels of trec2010 on its documents with gold, without topics: one list, "
            "so documents of different topics share one order, and a measure at a small cutoff rests on a few "
            "documents. The paper's rows show the layout and should not be compared.",
            "The priors of BradleyTerry, MPM and Crowd-BT are fixed, not estimated, to save time: "
            + "; ".join(f"{name} {own}" for name, own in GIVEN.items())
            + ".",
            _EQ17,
        ],
        GIVEN,
    )


def table2b(seeds: int, data: Path | None) -> PaperTable:
    """Table 2(b)."""
    own = mirex(data)
    relevant = float(own.binary.frame["value"].sum()) / own.binary.frame["query"].n_unique()
    return _table(
        own,
        TABLE2B,
        "CrowdAgg table 2(b): MIREX2005",
        [
            "The paper's gold is five grades from another source. Ours is the groups made from these same votes "
            "with all workers equal, so methods without qualities (CondorcetFuse, GreedyOrder, BradleyTerry) "
            "have an advantage here but not in the paper.",
            f"{_HALF} That is {relevant:.1f} items per query here, and at least "
            f"{10 * TABLE2B['CrowdAggNDCG'][4]:.1f} in the paper, judging by its best P@10.",
            "The paper's nDCG@10 is below its nDCG@3 because queries with fewer than 10 items count 0 there; "
            "ours is the standard measure.",
            'In CrowdAgg a "same" vote says nothing about the order; in the others it is half a vote for each.',
            _EQ17,
        ],
    )


def table_reading_level(seeds: int, data: Path | None) -> PaperTable:
    """The layout of table 2 on the reading-level votes."""
    return _table(
        reading_level(data),
        {},
        "CrowdAgg's table 2 on the reading-level votes",
        [
            "Not in the paper. One list of 490 texts with grades 1 to 12. " + _HALF,
            "CrowdAgg sums over workers, so an item that was judged more often is further from the middle; "
            "likelihood models divide by the amount of information.",
            _EQ17,
        ],
    )


# ------------------------------------------------------------------------------------- figures 1 and 2


def figure1(seeds: int, data: Path | None) -> PaperTable:
    """Qualities on and off."""
    own = mirex(data)
    rows: list[tuple[object, ...]] = []
    runs: list[tuple[str, str, dict[str, Any]]] = [(name, name, {}) for name in EQUAL] + [
        ("CrowdAggNDCG, eq. 17", "CrowdAggNDCG", PAPERS)
    ]
    for label, name, parameters in runs:
        model, equal = EQUAL[name]
        without = own.measure(make(model, equal).fit(own.votes), " ".join(CURVES))
        found = own.measure(make(METHODS[name], parameters).fit(own.votes), " ".join(CURVES))
        for measure in CURVES:
            change = found[measure] / without[measure] - 1.0
            printed = CHANGES.get((label, measure))
            rows.append(
                (label, measure, without[measure], found[measure], f"{change:+.1%}",
                 "" if printed is None else f"{printed:+.1%}")
            )  # fmt: skip
    return PaperTable(
        "CrowdAgg figure 1: MIREX2005 without and with worker quality",
        ("method", "measure", "equal", "estimated", "change", "print"),
        2,
        rows,
        [
            "The paper shows a plot; its text gives three of the changes.",
            "Equal: MPM with all adherences 1, Bradley-Terry for Crowd-BT, EM-Elo with one accuracy for all, "
            "CrowdAgg with eta = 1. The gold was made from these votes with all workers equal, which is why "
            "leaving out qualities does well here.",
        ],
    )


def _votes(pairs: Judgments) -> pl.DataFrame:
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


def _with_truth(votes: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The votes with ``true``: 1, 0 or -1 if left, neither or right has the larger value.

    ``scores`` has query, item, value.
    """
    for side in ("left", "right"):
        own = scores.rename({"item": side, "value": f"{side}_value"})
        votes = votes.join(own, on=["query", side], how="left", maintain_order="left")
    return votes.with_columns(true=(pl.col("left_value") - pl.col("right_value")).sign()).drop(
        "left_value", "right_value"
    )


def _agreement(votes: pl.DataFrame, scores: pl.DataFrame) -> Floats:
    """For each worker the share of decided votes that agree with the values; a tie in value counts half."""
    decided = _with_truth(votes.filter(pl.col("said") != 0), scores)
    agrees = (0.5 + pl.col("said") * pl.col("true") / 2).mean()
    return decided.group_by("worker", maintain_order=True).agg(agrees=agrees)["agrees"].to_numpy()


def divergence(found: Floats, real: Floats) -> float:
    """KL(found || real) of histograms over 10 equal bins of [0, 1], with half a worker added to every bin."""
    p, q = (np.histogram(values, BINS, (0.0, 1.0))[0] + 0.5 for values in (found, real))
    p, q = p / p.sum(), q / q.sum()
    return float((p * np.log(p / q)).sum())


def figure2(seeds: int, data: Path | None) -> PaperTable:
    """How the workers' qualities are distributed in each topic, estimated and real."""
    own = mirex(data)
    gold, votes = own.graded.frame, _votes(own.votes)
    decided_by_gold = _with_truth(votes, gold).filter(pl.col("true") != 0).drop("true")
    runs = {name: make(METHODS[name], {}) for name in DIVERGENCES}
    runs["CrowdAggNDCG, eq. 17"] = make("crowdagg-ndcg", PAPERS)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for topic in votes["query"].unique(maintain_order=True):
        asked = votes.filter(query=topic)
        real = _agreement(decided_by_gold.filter(query=topic), gold)
        for name, model in runs.items():
            fitted = model.clone().fit(_table_of(asked))
            assert fitted.workers_ is not None
            ranking = fitted.ranking_.polars().select("query", "item", value="score")
            found[name].append(
                (divergence(_agreement(asked, ranking), real), divergence(fitted.workers_.quality, real))
            )
    rows: list[tuple[object, ...]] = [
        (name, *np.mean(values, axis=0).tolist(), DIVERGENCES.get(name, "")) for name, values in found.items()
    ]
    return PaperTable(
        "CrowdAgg figure 2: KL divergence of the estimated from the real qualities, mean over the 11 topics",
        ("method", "by the ranking found", "by the model's own quality", "print"),
        1,
        rows,
        [
            "Real: the share of a worker's decided votes that agree with gold, pairs of equal grade left out. By "
            "the ranking found: the same with the fitted ranking in place of gold, each topic fitted alone.",
            "The paper gives neither its bins nor its treatment of empty ones, and the figure depends on both. We "
            f"use {BINS} bins and add half a worker to each. Gold differs too (see table 2b), so only the order "
            "of the methods can be compared.",
        ],
    )


# ------------------------------------------------------------------------------------- figures 3 and 4


def _table_of(votes: pl.DataFrame) -> Judgments:
    """The frame of ``_votes`` as judgments."""
    chosen = pl.when(pl.col("said") == 0).then(pl.lit("tie"))
    label = chosen.when(pl.col("said") > 0).then("left").otherwise("right")
    return read(votes.select("query", "worker", "left", "right", label=label))


def spammers(votes: pl.DataFrame, gold: pl.DataFrame, ratio: float, kind: str, seed: int) -> pl.DataFrame:
    """Votes of added workers: in each query, ``ratio`` times the number of its workers.

    Each added worker gets the pairs of a worker drawn from the query, if gold distinguishes the two items,
    and answers against gold (``malicious``) or by a coin toss (``random``).
    """
    rng = np.random.default_rng([seed, round(100 * ratio)])
    decided_by_gold = _with_truth(votes, gold).filter(pl.col("true") != 0)
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


def _robustness(kind: str, seeds: int, data: Path | None, figure: int, remarks: list[str]) -> PaperTable:
    own = mirex(data)
    votes, gold = _votes(own.votes), own.graded.frame
    runs: dict[str, tuple[str, dict[str, Any]]] = {name: (METHODS[name], {}) for name in LEGEND}
    runs["CrowdAggNDCG, eq. 17"] = ("crowdagg-ndcg", PAPERS)
    found = {name: np.zeros((len(RATIOS), len(CURVES))) for name in runs}
    for place, ratio in enumerate(RATIOS):
        draws = seeds if ratio else 1
        for seed in range(draws):
            table = _table_of(pl.concat([votes, spammers(votes, gold, float(ratio), kind, seed)]))
            for name, (model, parameters) in runs.items():
                values = own.measure(make(model, parameters).fit(table), " ".join(CURVES))
                found[name][place] += np.array([values[measure] for measure in CURVES]) / draws
    rows: list[tuple[object, ...]] = []
    for name, curves in found.items():
        for measure, curve in zip(CURVES, curves.T, strict=True):
            printed = VARIATION[kind].get(measure) if name in LEGEND else None
            theirs = printed[LEGEND.index(name)] if printed else ""
            variation = float(curve.std(ddof=1) / curve.mean())
            rows.append((name, measure, *(float(curve[place]) for place in SHOWN), variation, theirs))
    shown = tuple(f"{RATIOS[place]:g}" for place in SHOWN)
    return PaperTable(
        f"CrowdAgg figure {figure}: MIREX2005 with {kind} workers added, by their ratio, {seeds} draws",
        ("method", "measure", *shown, "variation", "its print"),
        2,
        rows,
        [
            f"Variation: the standard deviation divided by the mean, over the {len(RATIOS)} ratios from 0 to 1 by "
            ".05; the paper's are those of its text.",
            "An added worker gets the pairs of a random worker of the query, if gold distinguishes the two items; "
            "the paper does not say what its added workers judge.",
            *remarks,
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
        "A malicious worker here always contradicts gold. At ratio 1 they cast as many votes as the others, "
        "who are not always right, so most votes on the pairs that gold distinguishes are wrong."
    )
    return _robustness("malicious", seeds, data, 4, [remark])
