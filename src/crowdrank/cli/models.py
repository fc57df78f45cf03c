"""crowdrank models: the list of models and rankers."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import typer

NAME = "models"
COLUMNS = ("model", "kinds", "workers", "what", "paper", "varies with")
RANKER_COLUMNS = ("ranker", "learns from", "what", "paper", "varies with")


def command(json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """List the models: name, kinds of input, need for workers, summary, paper, and what may change the answer.

    Below them the rankers, which `crowdrank train` takes. In JSON a ranker is a model of the kind features.
    """
    from crowdrank.models.registry import entries
    from crowdrank.rankers.registry import ranker_entries

    rows = [
        (own.name, " ".join(own.kinds), own.workers, own.summary, own.paper, _words(own.varies))
        for own in entries().values()
    ]
    rankers = [
        (own.name, own.learns_from, own.summary, own.paper, "; ".join(_varies_with(own.varies)))
        for own in ranker_entries().values()
    ]
    if json:
        every = [*rows, *((name, "features", "-", *rest) for name, _, *rest in rankers)]
        print(json_module.dumps([dict(zip(COLUMNS, row, strict=True)) for row in every], indent=2))
        return
    _show(COLUMNS, rows)
    if not sys.stdout.isatty():
        print()
    _show(RANKER_COLUMNS, rankers)


def _words(names: Iterable[str]) -> str:
    return " ".join(sorted(names)) or "-"


def _varies_with(varies: Mapping[str, frozenset[str]]) -> list[str]:
    """What the scores vary with, scorer by scorer."""
    return [f"{scorer}: {_words(names)}" for scorer, names in varies.items()]


def _show(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A table on a terminal, tab-separated lines in a pipe."""
    if sys.stdout.isatty():
        from crowdrank.cli.terminal import table

        table("", columns, rows, left=columns)
        return
    for row in (columns, *rows):
        print("\t".join(row))
