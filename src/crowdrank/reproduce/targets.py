"""What can be reproduced, by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from crowdrank.errors import UsageError, name_hint
from crowdrank.progress import Status, announce, watching
from crowdrank.reproduce import (
    asking,
    crowd_agg,
    crowd_agg_quality,
    crowd_agg_robustness,
    crowd_bt,
    crowd_bt_active,
)
from crowdrank.reproduce.chart import svg
from crowdrank.reproduce.ledger import Ledger
from crowdrank.reproduce.ltrma_targets import LTRMA_TARGETS
from crowdrank.reproduce.remap_targets import REMAP_TARGETS
from crowdrank.reproduce.result import PaperTable
from crowdrank.reproduce.target import Target
from crowdrank.reproduce.tpp_targets import TPP_TARGETS

TARGETS = {
    target.name: target
    for target in (
        Target("crowd-bt-table1", "Crowd-BT table 1: accuracy against the crowd's quality", crowd_bt.table1),
        Target("crowd-bt-table2", "Crowd-BT table 2: regularization, simulated", crowd_bt.table2),
        Target("crowd-bt-table3", "Crowd-BT table 3: reading level (needs its data)", crowd_bt.table3),
        Target(
            "crowd-bt-table4",
            "Crowd-BT table 4: online methods, reading level (needs its data)",
            crowd_bt_active.table4,
            50,
            keeps=True,
        ),
        Target(
            "crowd-bt-table5",
            "Crowd-BT table 5: votes needed, reading level (needs its data)",
            crowd_bt_active.table5,
            30,
            keeps=True,
        ),
        Target(
            "crowd-bt-figure2",
            "Crowd-BT figure 2: active selection, simulated",
            crowd_bt_active.figure2,
            10,
            keeps=True,
        ),
        Target(
            "crowd-bt-figure3",
            "Crowd-BT figure 3: area under the curve, simulated",
            crowd_bt_active.figure3,
            10,
            keeps=True,
        ),
        Target(
            "crowd-bt-figure5",
            "Crowd-BT figure 5: active selection, reading level (needs its data)",
            crowd_bt_active.figure5,
            30,
            keeps=True,
        ),
        Target(
            "crowd-bt-figure4",
            "Crowd-BT figure 4: workers' quality, reading level (needs its data)",
            crowd_bt.figure4,
        ),
        Target("asking-crowds", "Asking: votes needed in seven crowds", asking.crowds, 10, keeps=True),
        Target("asking-flight", "Asking: many judges at once", asking.flight, 10, keeps=True),
        Target("asking-exposure", "Asking: exposure, and an item that is added", asking.exposure, 10, keeps=True),
        Target("asking-rogue", "Asking: a judge in reverse who comes first", asking.rogue, 10, keeps=True),
        Target(
            "crowdagg-table2a", "CrowdAgg table 2(a): its layout on trec2010 (needs its data)", crowd_agg.table2a
        ),
        Target("crowdagg-table2b", "CrowdAgg table 2(b): MIREX2005 (needs its data)", crowd_agg.table2b),
        Target(
            "crowdagg-figure1",
            "CrowdAgg figure 1: qualities on and off, MIREX2005 (needs its data)",
            crowd_agg_quality.figure1,
        ),
        Target(
            "crowdagg-figure2",
            "CrowdAgg figure 2: found and real qualities, MIREX2005 (needs its data)",
            crowd_agg_quality.figure2,
        ),
        Target(
            "crowdagg-figure3",
            "CrowdAgg figure 3: random workers added, MIREX2005 (needs its data)",
            crowd_agg_robustness.figure3,
        ),
        Target(
            "crowdagg-figure4",
            "CrowdAgg figure 4: malicious workers added, MIREX2005 (needs its data)",
            crowd_agg_robustness.figure4,
        ),
        Target(
            "crowdagg-readinglevel",
            "CrowdAgg's table 2 on the reading-level votes (needs its data)",
            crowd_agg.table_reading_level,
        ),
        *TPP_TARGETS,
        *LTRMA_TARGETS,
        *REMAP_TARGETS,
    )
}


def reproduce(
    name: str,
    *,
    seeds: int | None = None,
    data: Path | None = None,
    work: Path | None = None,
    progress: Status | None = None,
) -> PaperTable:
    """The table with that name, with its default number of draws unless ``seeds`` is given.

    ``work``: a folder in which a table that takes long keeps its cells as they are computed. A second call
    computes only what is missing there. The curves of a figure are drawn there too, as ``NAME.svg``.
    ``progress(words)`` is called before each of these cells. An unknown name is an error that lists the names.
    """
    if name not in TARGETS:
        raise UsageError(f"There is no target {name!r}.", hint=name_hint(name, TARGETS, "The targets are"))
    target = TARGETS[name]
    draws = target.seeds if seeds is None else seeds
    if not target.keeps:
        with watching(progress):
            kept = "" if work is None else f"; nothing is kept in {work}"
            announce(f"{name} is computed in one piece{kept}.")
            return target.make(draws, data)
    ledger = Ledger(name, work, progress=progress)
    found = target.make(draws, data, ledger=ledger)
    more = [f"{ledger.outdated} cells of another version were computed anew."] if ledger.outdated else []
    if work is not None and found.panels:
        chart = work / f"{name}.svg"
        chart.write_text(svg(found.panels), encoding="utf-8")
        more.append(f"The chart is in {chart}.")
    return replace(found, remarks=[*found.remarks, *more])
