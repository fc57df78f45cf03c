"""The tables and figures of the TPP paper that can be made."""

from __future__ import annotations

from functools import partial

from crowdrank.reproduce import tpp, tpp_figures, tpp_lists
from crowdrank.reproduce.target import Target

TPP_TARGETS = (
    Target("tpp-table2", "TPP table II: simulated, the variants and CrowdBT", tpp.table2, 5, keeps=True),
    Target(
        "tpp-table2-gibbs",
        "TPP table II, the variants by the collapsed sampler",
        partial(tpp.table2, methods=tpp.COLLAPSED),
        2,
        keeps=True,
    ),
    Target(
        "tpp-table2-printed",
        "TPP table II by the paper's sampler as printed, beside the other inferences",
        partial(tpp.table2, methods=tpp.INFERENCES),
        2,
        keeps=True,
    ),
    Target(
        "tpp-table2-text",
        "TPP table II on the generator as printed",
        partial(tpp.table2, preset="tpp-text"),
        5,
        keeps=True,
    ),
    Target("tpp-table3", "TPP table III: more workers, sparser votes", tpp.table3, 5, keeps=True),
    Target("tpp-figure3", "TPP figure 3: domains of queries found", tpp_figures.figure3, 10, keeps=True),
    Target("tpp-figure4", "TPP figure 4: lists of retrieval systems (needs its data)", tpp_lists.figure4, 3),
    Target("tpp-figure5", "TPP figure 5: malicious workers found", tpp_figures.figure5, 5, keeps=True),
)
