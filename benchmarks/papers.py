"""The tables and figures of Crowd-BT and CrowdAgg, ours beside the print.

`python -m benchmarks.papers write --work DIR` writes the page. DIR may hold tables that
`crowdrank reproduce TARGET --json > DIR/TARGET.json` left there; the other targets run.
"""

from __future__ import annotations

from benchmarks.page import FiguresPage

PAGE = FiguresPage(
    "papers",
    "models/figures.md",
    """# The papers' tables and figures

Do our models give what their papers say? Each table has our figures beside those in print, for the papers of
Crowd-BT (Chen et al. 2013) and CrowdAgg (Niu et al. 2015). The remarks below a table say what is compared, and
which methods are not the paper's.

Written by `python -m benchmarks.papers write` from the targets of `crowdrank reproduce`. The papers' tables on
choosing questions are on [another page](../asking/figures.md), and TPP's tables on [that of tpp](tpp.md).
""",
    (
        "crowd-bt-table1",
        "crowd-bt-table2",
        "crowd-bt-table3",
        "crowd-bt-figure4",
        "crowdagg-table2a",
        "crowdagg-table2b",
        "crowdagg-readinglevel",
        "crowdagg-figure1",
        "crowdagg-figure2",
        "crowdagg-figure3",
        "crowdagg-figure4",
    ),
    (),
)

if __name__ == "__main__":
    PAGE.main(__doc__)
