"""crowdrank compare: models side by side, by how well they predict held-out votes."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crowdrank.cli.declare import Option
from crowdrank.cli.messages import inform, warn_about
from crowdrank.cli.options import (
    AllowDropped,
    Columns,
    Gold,
    GoldColumns,
    Judgments,
    Measures,
    Memory,
    Missing,
    Outcomes,
    PairsOfLists,
    Place,
    SpoolFolder,
    join_columns,
    parse_settings,
    require_gold,
    take_order,
)
from crowdrank.cli.output import Folder, present
from crowdrank.cli.sources import Sources
from crowdrank.cli.track import track
from crowdrank.errors import count_noun
from crowdrank.progress import announce

if TYPE_CHECKING:
    from crowdrank.compare import Comparison, Row

AS_GOOD = "as good: vote by vote, the mean difference from the best is within two standard errors"
"""What the mark in the table means. The two losses alone do not show it."""


def command(
    judgments: Judgments,
    models: Annotated[
        str,
        Option(
            help="Names from `crowdrank models`, separated by commas. Default: all that can run.", names="models,"
        ),
    ] = "",
    folds: Annotated[
        int, Option(help="Number of parts to deal the judgments into. 0: compare only by gold and time.")
    ] = 5,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="A parameter, name=value, for the models that have it.", names="parameters"),
    ] = None,
    columns: Columns = None,
    outcomes: Outcomes = None,
    allow_dropped: AllowDropped = False,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    measures: Measures = "",
    ties: Annotated[str, Option(help="keep tied votes, or drop them first.", names="keep|drop")] = "keep",
    sample: Annotated[int | None, Option(help="Compare on about this many votes.")] = None,
    engine: Place = "local",
    missing: Missing = None,
    pairs: PairsOfLists = None,
    memory: Memory = None,
    spool: SpoolFolder = None,
    seed: Annotated[int, Option(help="Seed of the folds and of everything random.")] = 0,
    json: Annotated[bool, Option("--json", help="As JSON.")] = False,
    out: Annotated[Path | None, Option(help="Folder for compare.json and a report.")] = None,
) -> None:
    """Compare models by how well they predict unseen votes.

    Votes, lists or labels are dealt into folds. Every model predicts the votes of each fold after a fit to the
    other folds. Prints log loss and accuracy with their standard errors, gold measures if gold is given, and
    seconds, best model first. With --out DIR the folder gets compare.json, report.html and report.md.
    """
    from crowdrank.compare import compare_models
    from crowdrank.engine import open_engine
    from crowdrank.measures import GOLD_MEASURES
    from crowdrank.models.registry import find

    names = [name.strip() for name in models.split(",") if name.strip()]
    for name in names:
        find(name)  # report a wrong name before reading any file
    require_gold(gold, measures, gold_columns)
    own = parse_settings(settings or [])
    order = take_order(own)
    with nullcontext() if out is None else Folder(out, [*judgments, *(gold or [])]) as folder:
        with open_engine(engine) as place, track("comparing"):
            table, grades = Sources(
                judgments, join_columns(columns), gold, join_columns(gold_columns), memory, spool, missing, pairs,
                ",".join(outcomes or []), allow_dropped, order,
            ).read()  # fmt: skip
            announce("comparing")
            found = compare_models(
                table, names or None, folds=folds, gold=grades, measures=measures or GOLD_MEASURES, settings=own,
                ties=ties, sample=sample, seed=seed, engine=place,
            )  # fmt: skip
        if found.coverage is not None:
            inform(f"gold has {found.coverage}")
        what = f"Compared {count_noun(len(found.rows), 'model')}"
        present(found, what, "compare.json", folder, lambda: _pages(found), None if json else lambda: _show(found))


def _pages(found: Comparison) -> tuple[str, str]:
    """The page as HTML and as Markdown."""
    from crowdrank.report import build_contest, contest_to_html, contest_to_markdown

    report = build_contest(found)
    return contest_to_html(report), contest_to_markdown(report)


def _show(found: Comparison) -> None:
    """Print a table on a terminal, aligned text in a pipe."""
    from crowdrank.cli.terminal import print_aligned, table

    measures = list(dict.fromkeys(name for row in found.rows for name in row.gold))
    held_out = ("log loss", "±", "accuracy", "±") if found.folds else ()
    if any(row.list_loss is not None for row in found.rows):
        held_out = (*held_out, "list loss", "±")
    columns = ("model", *held_out, *measures, "seconds", "")
    rows = [_cells(row, measures, found, len(held_out)) for row in found.rows]
    if not any(row[-1] for row in rows):  # nothing is held out, so none is best
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if sys.stdout.isatty():
        table("", columns, rows, left=("model", ""))
    else:
        print_aligned(columns, rows, left=("model", ""))
    if any(row.tied_with_best and row is not found.best for row in found.rows):
        inform(AS_GOOD)
    for row in found.rows:
        if row.error is not None:
            warn_about(f"{row.model} failed: {row.error}")


def _cells(row: Row, measures: list[str], found: Comparison, held_out: int) -> list[str]:
    every = (row.log_loss, row.log_loss_se, row.accuracy, row.accuracy_se, row.list_loss, row.list_loss_se)
    figures = (*every[:held_out], *(row.gold.get(measure) for measure in measures))
    mark = "failed" if row.error else "best" if row is found.best else "as good" if row.tied_with_best else ""
    seconds = "-" if row.seconds is None else f"{row.seconds:.2f}"
    return [row.model, *("-" if value is None else f"{value:.4f}" for value in figures), seconds, mark]
