"""What can be reproduced, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from crowdrank.errors import UsageError
from crowdrank.reproduce import crowd_agg, crowd_bt
from crowdrank.reproduce.result import Result


@dataclass(frozen=True)
class Target:
    """A table of a paper and the function that makes it."""

    name: str
    summary: str
    make: Callable[[int, Path | None], Result]


TARGETS = {
    target.name: target
    for target in (
        Target("crowd-bt-table1", "Crowd-BT table 1: accuracy against the crowd's quality", crowd_bt.table1),
        Target("crowd-bt-table2", "Crowd-BT table 2: regularisation, simulated", crowd_bt.table2),
        Target("crowd-bt-table3", "Crowd-BT table 3: reading level (needs its data)", crowd_bt.table3),
        Target(
            "crowd-bt-table4", "Crowd-BT table 4: online methods, reading level (needs its data)", crowd_bt.table4
        ),
        Target(
            "crowd-bt-figure4",
            "Crowd-BT figure 4: workers' quality, reading level (needs its data)",
            crowd_bt.figure4,
        ),
        Target(
            "crowdagg-table2a", "CrowdAgg table 2(a): its layout on trec2010 (needs its data)", crowd_agg.table2a
        ),
        Target("crowdagg-table2b", "CrowdAgg table 2(b): MIREX2005 (needs its data)", crowd_agg.table2b),
        Target(
            "crowdagg-figure1",
            "CrowdAgg figure 1: qualities on and off, MIREX2005 (needs its data)",
            crowd_agg.figure1,
        ),
        Target(
            "crowdagg-figure2",
            "CrowdAgg figure 2: found and real qualities, MIREX2005 (needs its data)",
            crowd_agg.figure2,
        ),
        Target(
            "crowdagg-figure3",
            "CrowdAgg figure 3: random workers added, MIREX2005 (needs its data)",
            crowd_agg.figure3,
        ),
        Target(
            "crowdagg-figure4",
            "CrowdAgg figure 4: malicious workers added, MIREX2005 (needs its data)",
            crowd_agg.figure4,
        ),
        Target(
            "crowdagg-readinglevel",
            "CrowdAgg's table 2 on the reading-level votes (needs its data)",
            crowd_agg.table_reading_level,
        ),
    )
}


def reproduce(name: str, *, seeds: int = 20, data: Path | None = None) -> Result:
    """The table of that name; an unknown name is an error that lists the names."""
    if name not in TARGETS:
        raise UsageError(f"There is no target {name!r}.", hint=f"The targets are {', '.join(TARGETS)}.")
    return TARGETS[name].make(seeds, data)
