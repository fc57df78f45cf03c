"""P on another source (section 7 of Ustinovskiy et al. 2016), and tables with documents of MQ2008."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdrank.rankers.remap.processing import FILE, Processing
from crowdrank.rankers.remap.remap import Remap
from crowdrank.reproduce.ledger import Key, Ledger
from crowdrank.reproduce.ltrma_letor import Folds
from crowdrank.reproduce.remap import ERRORS, FULL, QUICK, Test, draw, fit, options_of
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.summaries import differences, draws, mean_and_error, paired_p
from crowdrank.simulate import simulate


def transfer_draw(key: Key) -> dict[str, Any]:
    """P of one source on another source of the same search engine, with another crowd; everything by ridge."""
    options = options_of(key)
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
        ERRORS,
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
