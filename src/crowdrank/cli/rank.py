"""crowdrank rank: judgments in, a ranking out."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from crowdrank.cli.declare import Option
from crowdrank.cli.messages import inform, warn
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
from crowdrank.cli.output import Folder, check_format, describe_fit, finish_stdout, write_result
from crowdrank.cli.sources import Sources
from crowdrank.cli.track import track
from crowdrank.errors import count_noun

if TYPE_CHECKING:
    from crowdrank.data import AnyJudgments, Scored
    from crowdrank.measures import Evaluation
    from crowdrank.models.base import Model

MANY_PAIRS = 1_000_000
CLASSES = 20
"""Ratings with more distinct values than this are numbers, not classes."""


def command(
    judgments: Judgments,
    model: Annotated[str | None, Option(help="A name from `crowdrank models`.", names="models")] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="A parameter of the model, name=value.", names="parameters"),
    ] = None,
    columns: Columns = None,
    outcomes: Outcomes = None,
    allow_dropped: AllowDropped = False,
    anchors: Annotated[
        str | None,
        Option(
            help="File of gold pairs, of workers with known quality, of items with known label, or of true lists."
        ),
    ] = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    measures: Measures = "",
    engine: Place = "local",
    missing: Missing = None,
    pairs: PairsOfLists = None,
    memory: Memory = None,
    spool: SpoolFolder = None,
    seed: Annotated[int, Option(help="Seed of everything random.")] = 0,
    out: Annotated[Path | None, Option(help="Folder for ranking, workers, fit.json, report.")] = None,
    form: Annotated[str, Option("--format", help="csv, parquet or json.", names="csv|parquet|json")] = "csv",
) -> None:
    """Rank items by the judgments of a crowd.

    With --out DIR the folder gets ranking.csv, workers.csv, fit.json, and a report as report.html,
    report.md and report.json; some models add labels.csv, confusion.csv (what workers say of each true
    label), easiness.csv (of items), reliability.csv (how often known labels are right), queries.csv
    (difficulty, domain) and skills.csv (workers by domain).
    Without --out the ranking goes to stdout: a table on a terminal, CSV in a pipe. Warnings go to stderr.
    """
    from crowdrank.models.registry import find

    check_format(form)
    parameters = {"seed": seed, **parse_settings(settings or [])}
    own = find(model).load().parameters() if model else ()
    sources = Sources(
        judgments, join_columns(columns), gold, join_columns(gold_columns), memory, spool, missing, pairs,
        ",".join(outcomes or []), allow_dropped, take_order(parameters, own),
    )  # fmt: skip
    require_gold(gold, measures, gold_columns)
    request = _Request(sources, model, parameters, anchors, measures, engine, form)
    with nullcontext() if out is None else Folder(out, [*judgments, *(gold or []), anchors]) as folder:
        _rank(request, folder)


@dataclass(frozen=True)
class _Request:
    """The user's request."""

    sources: Sources
    model: str | None
    parameters: dict[str, Any]
    anchors: str | None
    measures: str
    engine: str
    form: str


def _rank(asked: _Request, folder: Folder | None) -> None:
    from crowdrank.cli.terminal import print_frame, print_measured, print_ranking
    from crowdrank.data import Anchors
    from crowdrank.engine import open_engine
    from crowdrank.models.registry import make

    # made before any file is read, so that a wrong name fails first
    named = None if asked.model is None else make(asked.model, asked.parameters)
    with open_engine(asked.engine) as engine:
        began = time.perf_counter()
        with track("reading"):
            table, grades = asked.sources.read()
            known = None if asked.anchors is None else Anchors.read(asked.anchors)
        reading = time.perf_counter() - began
        estimator = named or make(_default_model(table), asked.parameters)
        _announce_conversion(estimator, table)
        with track(estimator.name) as shown:
            estimator.fit(table, anchors=known, engine=engine, progress=shown)
    measured = _measure(estimator, grades, asked.measures)
    result = estimator.result_.with_seconds(read=reading).with_details(*(measured.notes if measured else ()))
    warn(result.fit.warnings)
    if measured is not None:
        print_measured(measured)
    if folder is not None:
        write_result(folder, result, measured, asked.form)
        return
    if sys.stdout.isatty() and asked.form == "csv":
        print_ranking(result.ranking.polars())
    else:
        print_frame(result.ranking.polars(), asked.form)
    finish_stdout(describe_fit(result), "the ranking is")


def _announce_conversion(estimator: Model, table: AnyJudgments) -> None:
    """Say on stderr that a conversion to pairs will take a while."""
    from crowdrank.data import Rankings, Ratings, count_pairs, size_in_words
    from crowdrank.models.registry import find

    if not isinstance(table, Ratings | Rankings) or "pairs" not in find(estimator.name).kinds:
        return
    count = count_pairs(table)
    if count > MANY_PAIRS:
        inform(f"Comparing {size_in_words(table)} as {count_noun(count, 'pair')} takes a while.")


def _default_model(table: AnyJudgments) -> str:
    """The model if none is named.

    `auto` for pairs, Plackett-Luce for rankings, Dawid-Skene for ratings in a few classes by known workers, and
    the average for other ratings. Labels without an order have no average, but a majority.
    """
    from crowdrank.data import Rankings, Ratings, SpooledRankings, SpooledRatings

    if isinstance(table, Rankings | SpooledRankings):
        return "plackett-luce"
    if isinstance(table, Ratings | SpooledRatings) and not table.ordered:
        return "dawid-skene" if table.index.workers is not None else "majority-vote"
    if isinstance(table, Ratings | SpooledRatings):
        return "dawid-skene" if table.index.workers is not None and table.classes <= CLASSES else "average"
    return "auto"


def _measure(estimator: Model, grades: Scored | None, measures: str) -> Evaluation | None:
    if grades is None:
        return None
    from crowdrank.compare import measure_by_gold
    from crowdrank.measures import GOLD_MEASURES

    return measure_by_gold(estimator, grades, measures or GOLD_MEASURES)
