"""Tables and figures of Ustinovskiy et al. 2016 (remapping and reweighting) on simulated crowds.

Their data are not public. The crowds label documents of a simulated search engine with five grades, or of MQ2008
(LETOR 4.0). Everything is measured on test queries that no method saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdrank.data import Features, Floats, read_features
from crowdrank.rankers.labeled import Labeled, label_documents
from crowdrank.rankers.remap.remap import Remap
from crowdrank.rankers.validation import one_measure
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import NONE, differences, draws, mean_and_error, paired_p, signed_rank_p
from crowdrank.simulate import Crowd, simulate

MEASURES = ("DCG@1", "DCG@5", "DCG@10")
FULL = "remap, chosen"
"""The whole method: rw+rm, with the learner and the number of trees that validation chooses."""
QUICK: dict[str, Any] = {"learner": "ridge", "trees": 0, "mu": 0.1, "baselines": "none", "target_weight": 0.0}
"""P and its ridge ranker alone; the target only finds P, as in the paper."""
PRINTED = {
    "majority, regression": 0.0, "average, regression": 1.58, "dawid-skene, regression": 1.38,
    "glad, regression": -0.08, "reweighting by deviations, regression": -0.84, "majority, lambdamart": 4.27,
    "average, lambdamart": 5.16, "dawid-skene, lambdamart": 5.32, "glad, lambdamart": 3.64, "rw, ridge": 4.05,
    "rm, ridge": 4.80, "remap, ridge": 5.97,
}  # fmt: skip
"""Table 4 of the paper: the gain in DCG@10 over majority labels with regression, in percent."""
SEEN = "DCG@k of test queries that no method saw, with gains 2^grade - 1: 15, 7, 3, 1, 0."
ERRORS = "An error is the standard error of the mean over the draws, each with documents and a crowd of its own."


# ------------------------------------------------------------------------------------------- one draw


def draw(preset: str, seed: int, options: Mapping[str, Any]) -> Crowd:
    """A crowd. In simulated ones the relevance depends on the features in another way in each draw."""
    world = {} if "file" in options else {"world": seed}
    return simulate(preset, seed=seed, **{**world, **options})


def options_of(key: Key) -> dict[str, Any]:
    """The options of the simulation in a cell's key."""
    own = ("experiment", "crowd", "seed", "figure", "trees", "form")
    return {name: value for name, value in key.items() if name not in own}


def fit(crowd: Crowd, *, oracle: bool = False, given: Mapping[str, Any] | None = None, **settings: Any) -> Remap:
    """Remap on the source, target and validation queries of a crowd."""
    return Remap(**settings).fit(
        crowd.part("source"),
        crowd.judgments,
        target=crowd.labeled("target"),
        validation=crowd.labeled("validation"),
        honeypots=crowd.honeypots,
        gold=crowd.gold if oracle else None,
        **(given or {}),
    )


class Test:
    """The test queries of a crowd."""

    def __init__(self, crowd: Crowd) -> None:
        self.labeled: Labeled = label_documents(read_features(crowd.labeled("test")), None)

    @property
    def features(self) -> Features:
        """Their documents."""
        return self.labeled.features

    def measure(self, scores: Floats) -> list[float]:
        """DCG@1, @5 and @10."""
        own = scores[self.labeled.rows]
        return [self.labeled.queries.mean(one_measure(name), own) for name in MEASURES]

    def ranker(self, ranker: Remap) -> dict[str, list[float]]:
        """The measures of everything that was trained."""
        each = {name: own.scores(self.features)[0] for name, own in ranker.trained_.candidates.items()}
        each[FULL] = ranker.trained_.scoring.scores(self.features)[0]
        return {name: self.measure(scores) for name, scores in each.items()}


# ------------------------------------------------------------------------------------------- table 4


def compare_draw(key: Key) -> dict[str, Any]:
    """Everything on one draw: remap, weights alone, values alone, and all baselines."""
    crowd = draw(f"remap-{key['crowd']}", key["seed"], options_of(key))
    test, ranker = Test(crowd), fit(crowd, oracle=True)
    found: dict[str, Any] = {"values": test.ranker(ranker)}
    for method in ("rw", "rm"):
        own = test.ranker(fit(crowd, method=method, baselines="none"))
        found["values"] |= {f"{method}, {name.partition(', ')[2]}": values for name, values in own.items()}
    details = ranker.fit_.details
    found |= {"chosen": details["chosen"], "learner": details["learner"], "trees": details["processing"]["trees"]}
    return found


def comparison_keys(crowd: str, seeds: int, options: Mapping[str, Any]) -> list[Key]:
    """The cells of a crowd."""
    return [{"experiment": "remap-table4", "crowd": crowd, **options, "seed": seed} for seed in draws(seeds)]


def table4(
    seeds: int, data: Path | None, *, ledger: Ledger, crowd: str, options: Mapping[str, Any] | None = None
) -> PaperTable:
    """Every method with every learner on one kind of crowd."""
    keys = comparison_keys(crowd, seeds, options or {})
    ledger.fill(keys, compare_draw)
    cells = [ledger[key]["values"] for key in keys]
    names = [name for name in cells[0] if all(name in cell for cell in cells)]
    last = MEASURES.index("DCG@10")
    means = {name: float(np.mean([cell[name][last] for cell in cells])) for name in names}
    base = means.get("majority, regression", np.nan)
    rows = []
    for name in sorted(names, key=lambda name: -means[name]):
        own, full = ([cell[which][last] for cell in cells] for which in (name, FULL))
        rows.append((
            *name.split(", "), *(mean_and_error([cell[name][place] for cell in cells])[0] for place in range(3)),
            mean_and_error(own)[1], f"{100 * (means[name] / base - 1):+.1f} %",
            f"{PRINTED[name]:+.2f} %" if name in PRINTED else NONE,
            *mean_and_error(differences(full, own)), paired_p(full, own), signed_rank_p(full, own),
        ))  # fmt: skip
    columns = (
        "labels", "learner", *MEASURES, "error", "over MV", "print", "full less it", "error of this", "p",
        "p by ranks",
    )  # fmt: skip
    return PaperTable(
        f"Remap table 4: crowd {crowd}, {seeds} draws", columns, 2, rows, _table4_remarks(keys, ledger)
    )


def _table4_remarks(keys: Sequence[Key], ledger: Ledger) -> list[str]:
    chosen = [f"{ledger[key]['chosen']}, {ledger[key]['learner']}".replace("remap, ", "") for key in keys]
    counts = ", ".join(
        f"{name} {chosen.count(name)}" for name in sorted(set(chosen), key=lambda one: -chosen.count(one))
    )
    trees = sum(ledger[key]["trees"] > 0 for key in keys)
    return [
        SEEN, ERRORS,
        "Rw learns weights alone, Rm values alone, remap both. The learners on their output train on the target's "
        "documents too, which the paper's do not. Chosen: the learner, or the plain consensus, that "
        f"the validation queries choose; for remap: {counts}. P with trees as features was chosen in {trees} of "
        f"{len(keys)} draws.",
        "Over MV: DCG@10 beside that of majority labels with regression. Print: the same in the paper, on its own "
        "data. Its Rw, Rm and Rw+Rm have the linear ranker with 300 trees as features.",
        "Full less it: DCG@10 of the whole method (remap, chosen) less that of the row. p: two-sided paired "
        "t-test, and Wilcoxon's signed-rank test, over the draws.",
        "Naive bayes knows how each worker errs on honeypots. The oracle has experts' labels of the source. The "
        "placebo has the label features of other labels.",
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------- table 5

GROUPS = {"basic": "basic", "basic + GLAD": "basic,glad", "basic + DS": "basic,ds", "all": "all"}
METHODS = ("rw", "rm", "rw+rm")
PRINTED5 = {
    ("basic + GLAD", "rw"): 2.12, ("basic + DS", "rw"): 3.29, ("all", "rw"): 4.05, ("basic + GLAD", "rm"): 3.20,
    ("basic + DS", "rm"): 3.81, ("all", "rm"): 4.80, ("basic + GLAD", "rw+rm"): 4.01,
    ("basic + DS", "rw+rm"): 5.38, ("all", "rw+rm"): 5.97,
}  # fmt: skip


def ablate_draw(key: Key) -> dict[str, Any]:
    """DCG@10 of the ridge ranker with some label features."""
    crowd = draw(f"remap-{key['crowd']}", key["seed"], options_of(key))
    test = Test(crowd)
    found = {}
    for name, groups in GROUPS.items():
        for method in METHODS:
            ranker = fit(crowd, **QUICK, method=method, weight_features=groups, value_features=groups)
            found[f"{name}|{method}"] = test.ranker(ranker)[FULL][-1]
    found["start"] = test.ranker(fit(crowd, **QUICK, iterations=0, start="label"))[FULL][-1]
    return found


def table5(
    seeds: int,
    data: Path | None,
    *,
    ledger: Ledger,
    crowd: str = "heur40",
    options: Mapping[str, Any] | None = None,
) -> PaperTable:
    """The ablation of label features by group."""
    where = {"experiment": "remap-table5", "crowd": crowd, **(options or {})}
    keys = [{**where, "seed": seed} for seed in draws(seeds)]
    ledger.fill(keys, ablate_draw)
    start = [ledger[key]["start"] for key in keys]
    rows = []
    for name in GROUPS:
        for method in METHODS:
            own = [ledger[key][f"{name}|{method}"] for key in keys]
            best = [ledger[key][f"all|{method}"] for key in keys]
            gain = 100 * (float(np.mean(own)) / float(np.mean(start)) - 1)
            printed = PRINTED5.get((name, method))
            rows.append((
                name, method, *mean_and_error(own), f"{gain:+.1f} %",
                NONE if printed is None else f"{printed:+.2f} %",
                *mean_and_error(differences(own, best)), paired_p(own, best),
            ))  # fmt: skip
    columns = (
        "label features", "method", "DCG@10", "error", "over the start", "print", "less all", "error of this", "p",
    )  # fmt: skip
    remarks = [
        SEEN, ERRORS,
        "The ridge ranker without trees, mu = 0.1. Over the start: beside P at its start, which is the average "
        "label. Print: the paper's gain over majority labels, on its own data. Basic features include honeypots.",
    ]  # fmt: skip
    return PaperTable(f"Remap table 5: label features, crowd {crowd}, {seeds} draws", columns, 2, rows, remarks)
