"""The tables and figures of LTRMA (Wu et al. 2016) by name."""

from __future__ import annotations

from functools import partial

from crowdrank.reproduce import ltrma_figures, ltrma_hard, ltrma_letor, ltrma_systems
from crowdrank.reproduce.target import Target

FEW = (10, 20)
"""Few training lists: here what is known about the annotators could matter."""

LTRMA_TARGETS = (
    Target(
        "ltrma-figure9", "LTRMA figure 9: nDCG@3, synthetic lists",
        partial(ltrma_figures.figure_ndcg, cut=3), 10, keeps=True,
    ),
    Target(
        "ltrma-figure10", "LTRMA figure 10: nDCG@5, synthetic lists",
        partial(ltrma_figures.figure_ndcg, cut=5), 10, keeps=True,
    ),
    Target(
        "ltrma-figure11", "LTRMA figure 11: the order of the annotators, synthetic lists",
        ltrma_figures.figure11, 10, keeps=True,
    ),
    Target(
        "ltrma-figure12", "LTRMA figure 12: convergence, synthetic lists",
        ltrma_figures.figure12, 10, keeps=True,
    ),
    Target(
        "ltrma-h7", "LTRMA with three poor annotators",
        partial(ltrma_hard.hard_crowd, preset="ltrma-h7", lists=(*FEW, 50)), 20, keeps=True,
    ),
    Target(
        "ltrma-h5", "LTRMA with spammers and malicious annotators, one label per list",
        partial(ltrma_hard.hard_crowd, preset="ltrma-h5", lists=(*FEW, 100)), 20, keeps=True,
    ),
    Target("ltrma-long", "LTRMA on the top 10 of 500 documents", ltrma_hard.long_lists, 2, keeps=True),
    Target(
        "ltrma-mq2008", "LTRMA figures 13 to 15 on MQ2008, simulated crowds (needs its data)",
        ltrma_letor.mq2008, 2, keeps=True,
    ),
    Target(
        "ltrma-figure18", "LTRMA figures 18 and 21: documents per query (needs its data)", ltrma_letor.figure18, 1,
    ),
    Target(
        "ltrma-annotators", "LTRMA figures 19 to 23: annotators that are rankers, MQ2008 (needs its data)",
        ltrma_letor.figure_annotators, 1, keeps=True,
    ),
    Target(
        "ltrma-systems", "LTRMA figures 16 and 17 in layout: 25 systems, MQ2008 (needs its data)",
        ltrma_systems.figure_systems, 1, keeps=True,
    ),
)  # fmt: skip
