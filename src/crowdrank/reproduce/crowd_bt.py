"""Tables 1 to 3 and figure 4 of Chen et al., Pairwise Ranking Aggregation in a Crowdsourced Setting, WSDM 2013."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from crowdrank.data import Anchors, Pairs, Scored, read, read_gold, read_ranking
from crowdrank.errors import InputError, Remedy
from crowdrank.measures import evaluate
from crowdrank.models.base import Model
from crowdrank.models.pairs.bradley_terry import BradleyTerry
from crowdrank.models.pairs.crowd_bt import CrowdBT
from crowdrank.models.pairs.majority_bt import MajorityBT
from crowdrank.models.pairs.variance_bt import VarianceBT
from crowdrank.models.worker_parameters import SLOPE_LIMIT
from crowdrank.progress import announce, in_steps
from crowdrank.reproduce.result import PaperTable
from crowdrank.simulate import Crowd, flip_crowd

PRIOR = (1.0, 1.0)
"""The paper's flat prior on qualities."""
QUALITIES = ((10, 1), (5, 1), (2, 1), (2, 2), (1, 2), (1, 5))
TABLE1 = {
    "BT": (0.882, 0.890, 0.800, 0.542, 0.171, 0.144),
    "Crowd-BT-One": (0.899, 0.918, 0.869, 0.849, 0.109, 0.122),
    "Crowd-BT-Gold": (0.899, 0.917, 0.869, 0.850, 0.897, 0.878),
}
DESIGNS = ((4000, 1), (400, 10), (200, 20))
STRENGTHS2 = (0.1, 0.5, 1.0)
TABLE2 = {
    "BT accuracy": (0.849, 0.849, 0.849, 0.803, 0.804, 0.804, 0.745, 0.748, 0.749),
    "Crowd-BT accuracy": (0.955, 0.946, 0.936, 0.893, 0.894, 0.883, 0.793, 0.803, 0.810),
    "quality correlation": (0.956, 0.950, 0.945, 0.957, 0.950, 0.947, 0.972, 0.970, 0.967),
}
STRENGTHS3 = (0.1, 0.5, 1.0, 10.0, 50.0)
TABLE3 = {
    "BT": (0.6760, 0.6796, 0.6815, 0.6802, 0.6629),
    "Majority-Vote-BT": (0.6686, 0.6700, 0.6688, 0.6483, 0.6409),
    "Variance-BT, no prior": (0.6790, 0.6835, 0.6862, 0.6828, 0.6658),
    "Variance-BT, sd 1": (0.6790, 0.6835, 0.6862, 0.6828, 0.6658),
    "Crowd-BT": (0.6924, 0.6961, 0.6978, 0.6874, 0.6690),
}
SLOPES3: dict[str, float | None] = {"Variance-BT, no prior": None, "Variance-BT, sd 1": 1.0}
"""The standard deviation of the prior on the logarithm of a slope."""
FIGURE4_STRENGTH = 1.0


def accuracy(model: Model, gold: Scored) -> float:
    """The pairwise accuracy of a fitted model."""
    return evaluate(read_ranking(model.ranking_.polars()), gold, "acc")["acc"]


def _gold(crowd: Crowd) -> Scored:
    return Scored(crowd.gold.select(query=pl.lit(None, pl.String), item="item", value="grade"))


def _summary(label: tuple[str, ...], values: list[float], printed: float) -> tuple[object, ...]:
    """A row: our mean and deviation over the draws, the paper's figure, and how many deviations apart they are."""
    mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    away = abs(printed - mean) / deviation if deviation else float("nan")
    return (*label, mean, deviation, printed, f"{away:.1f}")


def table1(seeds: int, data: Path | None) -> PaperTable:
    """Accuracy against the distribution of quality, lambda = 0.5, over simulated draws."""
    found: dict[tuple[str, tuple[int, int]], list[float]] = {}
    cells = list(product(QUALITIES, range(seeds)))
    drawn = in_steps(cells, lambda own: _draw1(*own[0], own[1]), lambda own: f"Beta{own[0]}, draw {own[1] + 1}")
    for (quality, _), values in zip(cells, drawn, strict=True):
        for name, value in values.items():
            found.setdefault((name, quality), []).append(value)
    rows = [
        _summary((name, f"Beta({a},{b})"), found[name, (a, b)], printed[place])
        for name, printed in TABLE1.items()
        for place, (a, b) in enumerate(QUALITIES)
    ]
    columns = ("model", "quality", "ours", "deviation", "print", "deviations away")
    return PaperTable(
        f"Crowd-BT table 1: pairwise accuracy, {seeds} draws, lambda 0.5",
        columns,
        2,
        rows,
        [
            "The paper's figures are from a single draw. "
            "Crowd-BT-Gold also sees each worker's answers to the 5 gold pairs."
        ],
    )


def _draw1(alpha: float, beta: float, seed: int) -> dict[str, float]:
    crowd = flip_crowd(seed=seed, alpha=alpha, beta=beta, gold_pairs=5)
    gold = _gold(crowd)
    with_gold = read(crowd.judgments)
    asked = read(crowd.judgments.head(4000))  # the answers to the gold pairs come last
    printed = CrowdBT(prior=PRIOR, regularization=0.5)
    return {
        "BT": accuracy(BradleyTerry(regularization=0.5).fit(asked), gold),
        "Crowd-BT-One": accuracy(printed.fit(asked), gold),
        "Crowd-BT-Gold": accuracy(printed.fit(with_gold, anchors=Anchors.read(crowd.gold_pairs)), gold),
    }


def table2(seeds: int, data: Path | None) -> PaperTable:
    """Regularization: n pairs with 4000 / n workers each, quality Beta(2, 1), over simulated draws."""
    found: dict[tuple[str, int], list[float]] = {}
    cells = [(design, strength) for design in DESIGNS for strength in STRENGTHS2]
    every = list(product(range(len(cells)), range(seeds)))
    drawn = in_steps(
        every, lambda own: _draw2(*cells[own[0]], own[1]), lambda own: _words2(*cells[own[0]], own[1])
    )
    for (place, _), values in zip(every, drawn, strict=True):
        for name, value in values.items():
            found.setdefault((name, place), []).append(value)
    rows = [
        _summary((name, f"{pairs} x {labels}", f"{strength:g}"), found[name, place], printed[place])
        for name, printed in TABLE2.items()
        for place, ((pairs, labels), strength) in enumerate(cells)
    ]
    columns = ("figure", "pairs x workers", "lambda", "ours", "deviation", "print", "deviations away")
    title = f"Crowd-BT table 2: regularization, {seeds} draws, quality Beta(2,1)"
    return PaperTable(title, columns, 3, rows, ["The paper's figures are from a single draw."])


def _words2(design: tuple[int, int], strength: float, seed: int) -> str:
    return f"{design[0]} pairs x {design[1]}, lambda {strength:g}, draw {seed + 1}"


def _draw2(design: tuple[int, int], strength: float, seed: int) -> dict[str, float]:
    crowd = flip_crowd(seed=seed, pairs=design[0], labels=design[1], alpha=2, beta=1)
    votes, gold = read(crowd.judgments), _gold(crowd)
    model = CrowdBT(prior=PRIOR, regularization=strength).fit(votes)
    assert model.workers_ is not None
    joined = model.workers_.polars().join(crowd.workers, on="worker", suffix="_true")
    correlation = np.corrcoef(joined["eta"].to_numpy(), joined["quality_true"].to_numpy())[0, 1]
    return {
        "BT accuracy": accuracy(BradleyTerry(regularization=strength).fit(votes), gold),
        "Crowd-BT accuracy": accuracy(model, gold),
        "quality correlation": float(correlation),
    }


def reading_level(data: Path | None) -> tuple[Pairs, Scored]:
    """The reading-level votes and the grades of the documents."""
    folder = (data or Path("../shared/data")) / "readinglevel"
    if not (folder / "pairs.csv").exists():
        raise InputError(
            "The reading-level data was not found.", source=str(folder),
            hint=("Name the folder that holds readinglevel/: ", Remedy("data", "DIR"), ", or set CROWDRANK_DATA."),
        )  # fmt: skip
    votes = read(folder / "pairs.csv")
    assert isinstance(votes, Pairs)
    return votes, read_gold(folder / "gold.csv")


def _model3(name: str, strength: float) -> Model:
    if name == "Crowd-BT":
        return CrowdBT(prior=PRIOR, regularization=strength)
    if name in SLOPES3:
        return VarianceBT(slope_sd=SLOPES3[name], regularization=strength)
    return (BradleyTerry if name == "BT" else MajorityBT)(regularization=strength)


def table3(seeds: int, data: Path | None) -> PaperTable:
    """Accuracy on the reading-level votes, for every lambda in the paper."""
    votes, gold = reading_level(data)
    cells = [
        (name, strength, theirs)
        for name, printed in TABLE3.items()
        for strength, theirs in zip(STRENGTHS3, printed, strict=True)
    ]

    def row(cell: tuple[str, float, float]) -> tuple[object, ...]:
        name, strength, theirs = cell
        model = _model3(name, strength).fit(votes)
        ours = accuracy(model, gold)
        return name, f"{strength:g}", ours, theirs, f"{ours - theirs:+.4f}", _workers_at_bounds(model)

    rows = in_steps(cells, row, lambda cell: f"{cell[0]}, lambda {cell[1]:g}")
    columns = ("model", "lambda", "ours", "print", "difference", "workers at a bound")
    title = f"Crowd-BT table 3: pairwise accuracy on reading level, {votes.rows} votes"
    remarks = [
        "Majority-Vote-BT: 80 of the 1,418 pairs have even votes; here they are half a win for each side. If they "
        "are broken at random, the figures move by .003 to .004, so the paper's choice decides the third digit.",
        "Variance-BT without a prior on the slopes has no maximum: workers who agree with the order in every vote "
        f"fit better the larger their slope is. The slopes stay between 1/{SLOPE_LIMIT:g} and {SLOPE_LIMIT:g}; "
        "the last column counts the workers at either bound. With sd 1, ln slope has a standard normal prior, and "
        "the maximum exists. The paper does not say how it limited its slopes.",
    ]
    return PaperTable(title, columns, 2, rows, remarks)


def _workers_at_bounds(model: Model) -> int:
    """How many workers have a slope or a quality at a bound."""
    if "at_bounds" not in model.fit_.details:
        return 0
    return sum(sum(ends) for ends in model.fit_.details["at_bounds"].values())


def figure4(seeds: int, data: Path | None) -> PaperTable:
    """A histogram of the qualities that Crowd-BT finds on the reading-level votes."""
    votes, _ = reading_level(data)
    announce("Crowd-BT", 0, 1)
    model = CrowdBT(prior=(1.0, 1.0), regularization=FIGURE4_STRENGTH).fit(votes)
    assert model.workers_ is not None
    eta = model.workers_.further["eta"]
    counts, edges = np.histogram(eta, bins=20, range=(0.0, 1.0))
    rows: list[tuple[object, ...]] = [
        (f"{low:.2f} to {high:.2f}", int(count))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    perfect = float(np.mean(eta == 1.0))
    return PaperTable(
        f"Crowd-BT figure 4: the quality of {len(eta)} workers on reading level, lambda {FIGURE4_STRENGTH:g}",
        ("eta", "workers"),
        1,
        rows,
        [
            f'{perfect:.1%} of the workers are at eta = 1; the paper sees "about half".',
            "The paper shows a plot without numbers and does not give its lambda; ours is the best of table 3.",
        ],
    )
