"""crowdrank evaluate: a ranking against gold."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.output import FORMATS

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

    How much of the ranking the gold covers goes to stderr, and so do warnings.
    """
    from crowdrank.cli.messages import inform, warn
    from crowdrank.cli.terminal import figure
    from crowdrank.data import read_gold, read_ranking
    from crowdrank.measures import examine, parse

    chosen = parse(measures)
    found = examine(read_ranking(ranking_file(ranking)), read_gold(gold, columns=gold_columns), chosen)
    values = found.values
    warn(found.notes)
    inform(f"gold has {found.coverage}")
    if json:
        clean = {name: None if value != value else value for name, value in values.items()}
        print(json_module.dumps(clean, indent=2))
        return
    width = max(map(len, values))
    for name, value in values.items():
        print(f"{name:<{width}}  {figure(value)}")


def ranking_file(given: str) -> str:
    """The ranking in a folder that `crowdrank rank --out` wrote; a file is itself."""
    written = [str(Path(given) / f"ranking.{form}") for form in FORMATS]
    return next((file for file in written if Path(file).exists()), given)
