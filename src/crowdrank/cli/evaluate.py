"""crowdrank evaluate: a ranking against gold."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.output import FORMATS

if TYPE_CHECKING:
    from crowdrank.measures import Evaluation

DEFAULT = "nDCG@10 RBP(p=0.95) AP tau acc"


def command(
    ranking: Annotated[
        str, Argument(help="A ranking: [query,] item and score or rank; a TREC run; or what `rank --out` wrote.")
    ],
    gold: Annotated[
        str, Argument(help="Gold: [query,] item and grade, gold, label, true_rank or rank; or qrels.")
    ],
    measures: Annotated[str, Option(help="Measures, separated by spaces.", names="measures")] = DEFAULT,
    gold_columns: Annotated[str, Option(help="Column names of the gold: item=doc,grade=rel.")] = "",
    json: Annotated[bool, Option("--json", help="As JSON: {measure: value}.")] = False,
) -> None:
    """Score a ranking against a gold standard: the mean of each measure over the gold's queries.

    A TREC run may hold several systems: each is scored. How much of the ranking the gold covers goes to
    stderr, and so do warnings.
    """
    from crowdrank.cli.messages import warn
    from crowdrank.data import note_contradictions, read_gold, read_rankings
    from crowdrank.measures import examine, parse

    chosen = parse(measures)
    systems, known = read_rankings(ranking_file(ranking)), read_gold(gold, columns=gold_columns)
    found = {system: examine(own, known, chosen) for system, own in systems.items()}
    warn(note_contradictions(ranking_file(ranking)))
    _say_notes(found)
    if json:
        clean = {system: _plain_values(one) for system, one in found.items()}
        print(json_module.dumps(clean if len(clean) > 1 else next(iter(clean.values())), indent=2))
    else:
        _print_values(found)


def _say_notes(found: Mapping[str, Evaluation]) -> None:
    """Print notes and coverage; what does not hold for all systems with the name of its system."""
    from crowdrank.cli.messages import inform, warn

    first = next(iter(found.values()))
    common = [note for note in first.notes if all(note in one.notes for one in found.values())]
    warn(common)
    for system, one in found.items():
        warn(replace(note, message=f"{system}: {note.message}") for note in one.notes if note not in common)
    covered = {system: f"gold has {one.coverage}" for system, one in found.items()}
    if len(set(covered.values())) == 1:
        covered = {"": next(iter(covered.values()))}
    for system, words in covered.items():
        inform(f"{system}: {words}" if system else words)


def _print_values(found: Mapping[str, Evaluation]) -> None:
    """Print a measure per line, or, if there are several systems, a system per line."""
    from crowdrank.cli.terminal import figure, print_aligned

    if len(found) == 1:
        values = next(iter(found.values())).values
        width = max(map(len, values))
        for name, value in values.items():
            print(f"{name:<{width}}  {figure(value)}")
        return
    columns = ["system", *next(iter(found.values())).values]
    print_aligned(columns, [[own, *map(figure, one.values.values())] for own, one in found.items()], ["system"])


def _plain_values(one: Evaluation) -> dict[str, float | None]:
    return {name: None if value != value else value for name, value in one.values.items()}


def ranking_file(given: str) -> str:
    """The ranking in a folder that `crowdrank rank --out` wrote; a file is itself."""
    written = [str(Path(given) / f"ranking.{form}") for form in FORMATS]
    return next((file for file in written if Path(file).exists()), given)
