"""Figures 2 to 4 of Ustinovskiy et al. 2016: what P learns, and trees as features; what each addition brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crowdrank.rankers.remap.remap import Remap
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.remap import ERRORS, FULL, QUICK, SEEN, Test, draw, fit, options_of
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import NONE, differences, draws, mean_and_error, paired_p
from crowdrank.simulate import Crowd


def learned_draw(key: Key) -> dict[str, Any]:
    """Figure 2 or 3 on one draw: the value by rigor, or the weight by quality."""
    rigor = key["figure"] == 2
    usual = {"target": 200, "validation": 200}
    crowd = draw("remap-rigor" if rigor else "remap-quality", key["seed"], {**usual, **options_of(key)})
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
    start = gain_over_start(crowd, ranker)
    return {"means": {f"{level:g}": value for level, value in means.iter_rows()}, **start}


def gain_over_start(crowd: Crowd, ranker: Remap) -> dict[str, float]:
    """DCG@10 on test queries of a ranker, and of P at its start."""
    test = Test(crowd)
    start = fit(crowd, **QUICK, iterations=0, start="label")
    return {"ours": test.ranker(ranker)[FULL][-1], "start": test.ranker(start)[FULL][-1]}


def figure_learned(
    seeds: int, data: Path | None, *, ledger: Ledger, figure: int, options: Mapping[str, Any] | None = None
) -> PaperTable:
    """Figures 2 and 3: what P learns about workers of known rigor or quality."""
    where = {"experiment": "remap-figures", "figure": figure, **(options or {})}
    keys = [{**where, "seed": seed} for seed in draws(seeds)]
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
        ERRORS,
    ]
    return PaperTable(
        f"Remap figure {figure}: {what} by {by}, {seeds} draws", (by, what, "error"), 1, rows, remarks
    )


TREES = (0, 100, 200, 400)


def trees_draw(key: Key) -> dict[str, Any]:
    """Figure 4 on one draw: DCG@10 of the ridge ranker with this many trees as features."""
    crowd = draw(f"remap-{key['crowd']}", key["seed"], options_of(key))
    settings = {**QUICK, "mu": "auto", "trees": key["trees"]}
    ranker = fit(crowd, **settings)
    measured = ranker.fit_.details["measured"]["ranker"]["DCG@10"]
    return {"test": Test(crowd).ranker(ranker)[FULL][-1], "validation": measured}


def figure4(
    seeds: int, data: Path | None, *, ledger: Ledger, crowds: Sequence[str] = ("heur40", "real"),
    trees: Sequence[int] = TREES, options: Mapping[str, Any] | None = None,
) -> PaperTable:  # fmt: skip
    """Figure 4: how many trees become features."""
    rows = []
    for crowd in crowds:
        where = {"experiment": "remap-figure4", "crowd": crowd, **(options or {})}
        keys = {count: [{**where, "trees": count, "seed": seed} for seed in draws(seeds)] for count in trees}
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
        ERRORS,
    ]
    return PaperTable(f"Remap figure 4: trees as features, {seeds} draws", columns, 2, rows, remarks)


# ------------------------------------------------------------------------------- what each addition brings

FORMS: dict[str, dict[str, Any]] = {
    "no step": {"iterations": 0, "guard": 0.0, "start": "label"},
    "as in the paper": {"guard": 0.0, "start": "label"},
    "with the guard": {"start": "label"},
    "and the start near the consensus": {},
    "and the target's documents": {"target_weight": 3.0},
}
"""The ridge ranker of P, one addition after the other."""


def form_draw(key: Key) -> dict[str, Any]:
    """DCG@10 of one form on one draw."""
    crowd = draw(f"remap-{key['crowd']}", key["seed"], options_of(key))
    ranker = fit(crowd, **{**QUICK, "mu": "auto", **FORMS[key["form"]]})
    return {"test": Test(crowd).ranker(ranker)[FULL][-1]}


def additions(
    seeds: int, data: Path | None, *, ledger: Ledger, crowds: Sequence[str] = ("heur40", "real"),
    options: Mapping[str, Any] | None = None,
) -> PaperTable:  # fmt: skip
    """What each addition to the paper brings."""
    rows: list[tuple[Any, ...]] = []
    for crowd in crowds:
        before: list[float] | None = None
        for form in FORMS:
            where = {"experiment": "remap-additions", "crowd": crowd, "form": form, **(options or {})}
            keys = [{**where, "seed": seed} for seed in draws(seeds)]
            ledger.fill(keys, form_draw)
            own = [ledger[key]["test"] for key in keys]
            away = (NONE, NONE, NONE)
            if before is not None:
                away = (*mean_and_error(differences(own, before)), paired_p(own, before))  # type: ignore[assignment]
            rows.append((crowd, form, *mean_and_error(own), *away))
            before = own
    columns = ("crowd", "form", "DCG@10", "error", "less the one above", "error of this", "p")
    remarks = [
        SEEN, ERRORS,
        "The ridge ranker of P (rw+rm) without trees; mu is chosen on the validation queries. No step: P at its "
        "start, the average label. As in the paper: but with standardized label features and slopes that do not "
        "depend on the scale of the scores.",
    ]  # fmt: skip
    return PaperTable(f"Remap: what each addition brings, {seeds} draws", columns, 2, rows, remarks)


def _text(number: Any) -> str:
    return f"{number:.4f}" if isinstance(number, float) else str(number)
