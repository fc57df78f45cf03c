"""The tables and figures of remapping and reweighting (Ustinovskiy et al. 2016) by name."""

from __future__ import annotations

from functools import partial

from crowdrank.reproduce import remap, remap_figures, remap_labels, remap_moved
from crowdrank.reproduce.target import Target

REMAP_TARGETS = (
    Target(
        "remap-table4", "Remap table 4: a crowd of whom 40 % follow a shallow cue",
        partial(remap.table4, crowd="heur40"), 20, keeps=True,
    ),
    Target(
        "remap-table4-real", "Remap table 4: an ordinary crowd with spammers",
        partial(remap.table4, crowd="real"), 20, keeps=True,
    ),
    Target(
        "remap-table4-both", "Remap table 4: workers of all rigors and qualities",
        partial(remap.table4, crowd="both"), 5, keeps=True,
    ),
    Target("remap-table5", "Remap table 5: label features by group", remap.table5, 5, keeps=True),
    Target(
        "remap-figure2", "Remap figure 2: the value of a label by the worker's rigor",
        partial(remap_figures.figure_learned, figure=2), 10, keeps=True,
    ),
    Target(
        "remap-figure3", "Remap figure 3: the weight of a label by the worker's quality",
        partial(remap_figures.figure_learned, figure=3), 10, keeps=True,
    ),
    Target("remap-figure4", "Remap figure 4: trees as features", remap_figures.figure4, 3, keeps=True),
    Target(
        "remap-additions", "Remap: what each addition to the paper brings", remap_figures.additions, 5, keeps=True
    ),
    Target("remap-transfer", "Remap section 7: P on another source", remap_moved.transfer, 5, keeps=True),
    Target(
        "remap-mq2008-real", "Remap table 4 on MQ2008, an ordinary crowd (needs its data)",
        partial(remap_moved.on_mq2008, remap.table4, crowd="real"), 5, keeps=True,
    ),
    Target(
        "remap-mq2008-heur40", "Remap table 4 on MQ2008, many follow a cue (needs its data)",
        partial(remap_moved.on_mq2008, remap.table4, crowd="heur40"), 5, keeps=True,
    ),
    Target(
        "remap-mq2008-transfer", "Remap section 7 on MQ2008 (needs its data)",
        partial(remap_moved.on_mq2008, remap_moved.transfer), 5, keeps=True,
    ),
    Target("remap-labels", "Remap's label features on real labels (needs data)", remap_labels.real_labels, 1),
)  # fmt: skip
