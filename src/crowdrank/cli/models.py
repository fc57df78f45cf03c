"""crowdrank models: the list of models."""

from __future__ import annotations

import json as json_module
import sys
from typing import Annotated

import typer

NAME = "models"


def command(json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """List the models: name, kinds of input, need for workers, summary, paper, and what may change the answer."""
    from crowdrank.models.registry import entries

    columns = ("model", "kinds", "workers", "what", "paper", "varies with")
    rows = [
        (
            entry.name,
            " ".join(entry.kinds),
            entry.workers,
            entry.summary,
            entry.paper,
            " ".join(sorted(entry.varies)) or "-",
        )
        for entry in entries().values()
    ]
    if json:
        print(json_module.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=2))
    elif sys.stdout.isatty():
        from crowdrank.cli.terminal import table

        table("", columns, rows, left=columns)
    else:
        for row in (columns, *rows):
            print("\t".join(row))
