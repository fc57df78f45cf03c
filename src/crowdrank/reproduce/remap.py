"""Tables and figures of Ustinovskiy et al. 2016 (remapping and reweighting) on simulated crowds.

Their data are not public. The crowds label documents of a simulated search engine with five grades, or of MQ2008
(LETOR 4.0). Everything is measured on test queries that no method saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Features, Floats, read_features
from crowdrank.rankers.labeled import Labeled, label_documents
from crowdrank.rankers.remap.remap import Remap
from crowdrank.rankers.validation import one_measure
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.ltrma_letor import Folds
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import NONE, differences, draws, mean_and_error, paired_p, signed_rank_p
from crowdrank.simulate import Crowd, simulate

MEASURES = ("DCG@1", "DCG@5", "DCG@10")
FULL = "remap, chosen"
"""The whole method: rw+rm, with the learner and the number of trees that validation chooses."""
QUICK: dict[str, Any] = {"learner": "ridge", "trees": 0, "mu": 0.1, "baselines": "none"}
"""P and its ridge ranker alone."""
PRINTED = {
    "majority, regression": 0.0, "average, regression": 1.58, "dawid-skene, regression": 1.38,
    "glad, regression": -0.08, "reweighting by deviations, regression": -0.84, "majority, lambdamart": 4.27,
    "average, lambdamart": 5.16, "dawid-skene, lambdamart": 5.32, "glad, lambdamart": 3.64, "rw, ridge": 4.05,
    "rm, ridge": 4.80, "remap, ridge": 5.97,
}  # fmt: skip
"""Table 4 of the paper: the gain in DCG@10 over majority labels with regression, in percent."""
_SEEN = "DCG@k of test queries that no method saw, with gains 2^grade - 1: 15, 7, 3, 1, 0."
_ERRORS = "An error is the standard error of the mean over the draws, each with documents and a crowd of its own."


# ------------------------------------------------------------------------------------------- one draw


def draw(preset: str, seed: int, options: Mapping[str, Any]) -> Crowd:
    """A crowd. In simulated ones the relevance depends on the features in another way in each draw."""
    world = {} if "file" in options else {"world": seed}
    return simulate(preset, seed=seed, **{**world, **options})


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
    options = {name: own for name, own in key.items() if name not in ("experiment", "crowd", "seed")}
    crowd = draw(f"remap-{key['crowd']}", key["seed"], options)
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
        _SEEN, _ERRORS,
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
    crowd = draw(f"remap-{key['crowd']}", key["seed"], {})
    test = Test(crowd)
    found = {}
    for name, groups in GROUPS.items():
        for method in METHODS:
            ranker = fit(crowd, **QUICK, method=method, weight_features=groups, value_features=groups)
            found[f"{name}|{method}"] = test.ranker(ranker)[FULL][-1]
    found["start"] = test.ranker(fit(crowd, **QUICK, iterations=0, start="label"))[FULL][-1]
    return found


def table5(seeds: int, data: Path | None, *, ledger: Ledger, crowd: str = "heur40") -> PaperTable:
    """The ablation of label features by group."""
    keys = [{"experiment": "remap-table5", "crowd": crowd, "seed": seed} for seed in draws(seeds)]
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
        _SEEN, _ERRORS,
        "The ridge ranker without trees, mu = 0.1. Over the start: beside P at its start, which is the average "
        "label. Print: the paper's gain over majority labels, on its own data. Basic features include honeypots.",
    ]  # fmt: skip
    return PaperTable(f"Remap table 5: label features, crowd {crowd}, {seeds} draws", columns, 2, rows, remarks)


# ------------------------------------------------------------------------------- figures 2, 3 and 4


def learned_draw(key: Key) -> dict[str, Any]:
    """Figure 2 or 3 on one draw: the value by rigor, or the weight by quality."""
    rigor = key["figure"] == 2
    crowd = draw("remap-rigor" if rigor else "remap-quality", key["seed"], {"target": 200, "validation": 200})
    column = "rigor" if rigor else "quality"
    own = crowd.judgments.join(crowd.workers, on="worker")
    levels = sorted(crowd.workers[column].unique().to_list())
    positive = pl.col("label") == 1 if rigor else pl.lit(True)
    table = own.select(
        "query", "item", "worker",
        *[
            ((pl.col(column) == level) & positive).cast(pl.Float64).alias(f"{column}_{level:g}")
            for level in levels
        ],
    )  # fmt: skip
    learned, fixed = ("value", "weight") if rigor else ("weight", "value")
    features: dict[str, Any] = {f"{learned}_features": "own", f"{fixed}_features": "label", "crossed": False}
    ranker = fit(crowd, given={"label_features": table}, **QUICK, **features, method="rm" if rigor else "rw")
    assert ranker.workers_ is not None
    people = ranker.workers_.polars().join(crowd.workers.select("worker", level=column), on="worker")
    name = "value_1" if rigor else "weight"
    means = people.filter(pl.col(name).is_not_nan()).group_by("level").agg(pl.col(name).mean())
    start = test_gain(crowd, ranker)
    return {"means": {f"{level:g}": value for level, value in means.iter_rows()}, **start}


def test_gain(crowd: Crowd, ranker: Remap) -> dict[str, float]:
    """DCG@10 on test queries of a ranker, and of P at its start."""
    test = Test(crowd)
    start = fit(crowd, **QUICK, iterations=0, start="label")
    return {"ours": test.ranker(ranker)[FULL][-1], "start": test.ranker(start)[FULL][-1]}


def figure_learned(seeds: int, data: Path | None, *, ledger: Ledger, figure: int) -> PaperTable:
    """Figures 2 and 3: what P learns about workers of known rigor or quality."""
    keys = [{"experiment": "remap-figures", "figure": figure, "seed": seed} for seed in draws(seeds)]
    ledger.fill(keys, learned_draw)
    levels = sorted(ledger[keys[0]]["means"], key=float)
    rows = [(level, *mean_and_error([ledger[key]["means"].get(level) for key in keys])) for level in levels]
    what, by = ("value of a positive label", "rigor") if figure == 2 else ("weight of a label", "quality")
    monotone = sum(bool((np.diff([ledger[key]["means"][level] for level in levels]) > 0).all()) for key in keys)
    ours, start = ([ledger[key][name] for key in keys] for name in ("ours", "start"))
    remarks = [
        f"The {what} that P learns, by the worker's {by}. It rises from each level to the next in {monotone} of "
        f"{seeds} draws.",
        f"DCG@10 on test queries: {np.mean(ours):.3f}, and {np.mean(start):.3f} with P at its start "
        f"(p {_text(paired_p(ours, start))}).",
        "Five grades, 600 source queries of 15 documents with one label each, 200 target queries. The label "
        "features say only the level. The paper shows a plot without numbers; it rises too.",
        _ERRORS,
    ]
    return PaperTable(
        f"Remap figure {figure}: {what} by {by}, {seeds} draws", (by, what, "error"), 1, rows, remarks
    )


TREES = (0, 50, 100, 200, 400)


def trees_draw(key: Key) -> dict[str, Any]:
    """Figure 4 on one draw: DCG@10 of the ridge ranker with this many trees as features."""
    crowd = draw(f"remap-{key['crowd']}", key["seed"], {})
    settings = {**QUICK, "mu": "auto", "trees": key["trees"]}
    ranker = fit(crowd, **settings)
    measured = ranker.fit_.details["measured"]["ranker"]["DCG@10"]
    return {"test": Test(crowd).ranker(ranker)[FULL][-1], "validation": measured}


def figure4(
    seeds: int, data: Path | None, *, ledger: Ledger, crowds: Sequence[str] = ("heur40", "real"),
    trees: Sequence[int] = TREES,
) -> PaperTable:  # fmt: skip
    """Figure 4: how many trees become features."""
    rows = []
    for crowd in crowds:
        keys = {
            count: [
                {"experiment": "remap-figure4", "crowd": crowd, "trees": count, "seed": seed}
                for seed in draws(seeds)
            ]
            for count in trees
        }
        for own in keys.values():
            ledger.fill(own, trees_draw)
        none = [ledger[key]["test"] for key in keys[trees[0]]]
        for count in trees:
            test = [ledger[key]["test"] for key in keys[count]]
            held = [ledger[key]["validation"] for key in keys[count]]
            away = differences(test, none)
            rows.append(
                (
                    crowd,
                    count,
                    *mean_and_error(held),
                    *mean_and_error(test),
                    *mean_and_error(away),
                    paired_p(test, none),
                )
            )
    columns = ("crowd", "trees", "validation", "error", "test", "its error", "less no trees", "error of this", "p")
    remarks = [
        "DCG@10 of the ridge ranker of P (rw+rm). Trees are grown on half of the source's queries, on the labels "
        "of P without trees; P and the ridge ranker are fitted on the other half. mu is chosen on the validation "
        "queries. The paper, on its own data, shows gains of about 1 % up to 300 trees.",
        _ERRORS,
    ]
    return PaperTable(f"Remap figure 4: trees as features, {seeds} draws", columns, 2, rows, remarks)


# ------------------------------------------------------------------------------- transfer and MQ2008


def transfer_draw(key: Key) -> dict[str, Any]:
    """P of one source on another source of the same search engine, with another crowd; everything by ridge."""
    options = {name: own for name, own in key.items() if name not in ("experiment", "crowd", "seed")}
    first = draw(f"remap-{key['crowd']}", key["seed"], options)
    again = {**options, **({} if "file" in options else {"world": key["seed"]})}
    second = simulate(f"remap-{key['crowd']}", seed=key["seed"] + 10_000, **again)
    ranker, test = fit(first, **{**QUICK, "mu": 0.1}), Test(second)
    moved = Remap(learner="ridge", mu=0.1, baselines="none").fit(
        second.part("source"), second.judgments, honeypots=second.honeypots,
        processing=read_processing(ranker),
    )  # fmt: skip
    own = test.ranker(fit(second, **{**QUICK, "baselines": "all"}))
    found = {name: values[-1] for name, values in own.items() if name.endswith("ridge")}
    codes = [note.code for note in moved.fit_.warnings]
    return {"values": {**found, "P of another source, ridge": test.ranker(moved)[FULL][-1]},
            "noted": "unlike-crowd" in codes}  # fmt: skip


def read_processing(ranker: Remap) -> Any:
    """The trained P of a ranker."""
    from crowdrank.rankers.remap.processing import FILE, Processing

    return Processing.read_text(ranker.trained_.texts[FILE])


def transfer(
    seeds: int, data: Path | None, *, ledger: Ledger, crowds: Sequence[str] = ("heur40", "real"),
    options: Mapping[str, Any] | None = None,
) -> PaperTable:  # fmt: skip
    """P applied to a new source without its target (section 7)."""
    rows = []
    noted = []
    for crowd in crowds:
        keys = [
            {"experiment": "remap-transfer", "crowd": crowd, **(options or {}), "seed": seed}
            for seed in draws(seeds)
        ]
        ledger.fill(keys, transfer_draw)
        cells = [ledger[key]["values"] for key in keys]
        noted.append(f"{crowd} {sum(ledger[key]['noted'] for key in keys)}")
        moved = [cell["P of another source, ridge"] for cell in cells]
        names = [name for name in cells[0] if all(name in cell for cell in cells)]
        for name in sorted(names, key=lambda name: -float(np.mean([cell[name] for cell in cells]))):
            own = [cell[name] for cell in cells]
            away = mean_and_error(differences(moved, own))
            rows.append((crowd, name.removesuffix(", ridge"), *mean_and_error(own), *away, paired_p(moved, own)))
    columns = ("crowd", "labels", "DCG@10", "error", "moved P less it", "error of this", "p")
    remarks = [
        "All labels with the ridge ranker, on the test queries of a second source: the same search engine, other "
        "queries and another crowd of the same kind. Remap is trained on the second source's own target.",
        f"Draws in which the new crowd was noted as unlike the old one: {', '.join(noted)}.",
        _ERRORS,
    ]
    return PaperTable(f"Remap section 7: P on another source, {seeds} draws", columns, 2, rows, remarks)


def on_mq2008(make: Any, seeds: int, data: Path | None, *, ledger: Ledger, **given: Any) -> PaperTable:
    """The same with documents and grades of MQ2008, split at random in each draw."""
    files = ",".join(str(file) for file in Folds(data).files())
    made: PaperTable = make(seeds, data, ledger=ledger, options={"file": files, "workers": 80}, **given)
    remark = (
        "Documents and grades 0 to 2 of MQ2008. Each draw splits its 784 queries anew: 60 % source, 30 target, 30 "
        "validation, the rest test. 80 workers. The draws share documents, so their errors are rather too small. "
        "If a second source is drawn, some of its test queries were in the target of the first one."
    )
    return PaperTable(f"{made.title}, MQ2008", made.columns, made.labels, made.rows, [remark, *made.remarks])


def _text(number: Any) -> str:
    return f"{number:.4f}" if isinstance(number, float) else str(number)
