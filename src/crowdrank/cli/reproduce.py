"""crowdrank reproduce: a paper's table, our figures next to the printed ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.messages import finish, keep, warn_about
from crowdrank.cli.track import track
from crowdrank.errors import UsageError

if TYPE_CHECKING:
    from crowdrank.reproduce.result import PaperTable


def command(
    target: Annotated[
        str | None, Argument(help="A table or figure. Without it, the targets are listed.", names="targets")
    ] = None,
    seeds: Annotated[
        int | None,
        Option(help="Number of simulated draws or random orders; each table has its own default.", min=1),
    ] = None,
    data: Annotated[
        Path | None, Option(envvar="CROWDRANK_DATA", help="Folder with the papers' real data.")
    ] = None,
    work: Annotated[
        Path | None,
        Option(
            help="Folder that keeps each finished part of a long table. With the same folder, a run that was cut "
            "off goes on, and more seeds only add to it."
        ),
    ] = None,
    json: Annotated[bool, Option("--json", help="As JSON.")] = False,
) -> None:
    """Reproduce a table of a paper: our figures next to the printed ones."""
    from crowdrank.reproduce import TARGETS, reproduce

    if target is None:
        width = max(map(len, TARGETS))
        for name, own in TARGETS.items():
            print(f"{name:<{width}}  {own.summary}")
        return
    if work is not None and work.exists() and not work.is_dir():
        raise UsageError(f"--work {work}: cannot be written to (it is a file).")
    keeps = work is not None and target in TARGETS and TARGETS[target].keeps
    if keeps:
        keep(f"finished parts are in {work}")
    with track(target):
        found = reproduce(target, seeds=seeds, data=data, work=work)
    if json:
        print(found.to_json())
    else:
        _show(found)
    sys.stdout.flush()
    if work is not None and not keeps:
        warn_about(f"{target} is computed in one piece, so nothing is kept in {work}.")
    kept = f"; its parts are in {work}" if keeps else ""
    finish(f"Reproduced {target}{kept}", **({"folder": str(work)} if keeps else {}))


def _show(found: PaperTable) -> None:
    from crowdrank.cli.terminal import table

    table(found.title, found.columns, found.text_rows(), left=found.columns[: found.labels])
    for remark in found.remarks:
        print(remark)
