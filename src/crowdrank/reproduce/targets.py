"""What can be reproduced, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from crowdrank.errors import UsageError
from crowdrank.reproduce import crowd_bt
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
    )
}


def reproduce(name: str, *, seeds: int = 20, data: Path | None = None) -> Result:
    """The table of that name; an unknown name is an error that lists the names."""
    if name not in TARGETS:
        raise UsageError(f"There is no target {name!r}.", hint=f"The targets are {', '.join(TARGETS)}.")
    return TARGETS[name].make(seeds, data)
