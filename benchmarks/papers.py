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

Written by `python -m benchmarks.papers write` from the targets of `crowdrank reproduce`: our figures beside those
in print. The remarks below a table say what is compared, and which methods are not the paper's. Active selection
is on [its own page](../asking/figures.md), TPP's tables are on [that of tpp](tpp.md).
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
