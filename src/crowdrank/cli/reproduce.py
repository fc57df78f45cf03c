"""crowdrank reproduce: a paper's table, our figures next to the printed ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

NAME = "reproduce"


def command(
    target: Annotated[
        str | None, typer.Argument(help="A table or figure. Without it, the targets are listed.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Number of simulated draws or random orders; each table has its own default.", min=1),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(envvar="CROWDRANK_DATA", help="Folder with the papers' real data.")
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps each finished part of a long table. With the same folder, a run that was cut "
            "off goes on, and more seeds only add to it."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Reproduce a table of a paper: our figures next to the printed ones."""
    from crowdrank.reproduce import TARGETS, reproduce

    if target is None:
        width = max(map(len, TARGETS))
        for name, own in TARGETS.items():
            print(f"{name:<{width}}  {own.summary}")
        return
    from crowdrank.cli.terminal import status, table

    with status(target) as update:
        found = reproduce(target, seeds=seeds, data=data, work=work, progress=update)
    if json:
        print(found.to_json())
        return

    table(found.title, found.columns, found.text_rows(), left=found.columns[: found.labels])
    for remark in found.remarks:
        print(remark)
    sys.stdout.flush()
