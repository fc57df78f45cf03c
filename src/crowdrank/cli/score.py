"""crowdrank score: a saved ranker and features in, scores out."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crowdrank.cli.declare import Argument, Option
from crowdrank.cli.judgment_files import COLUMNS, JudgmentFiles, naming_columns
from crowdrank.cli.options import (
    AllowDropped,
    FeatureColumns,
    FeatureFiles,
    JudgmentColumns,
    JudgmentOption,
    Memory,
    Missing,
    Outcomes,
    SpoolFolder,
    join_columns,
)
from crowdrank.cli.output import File, check_format
from crowdrank.cli.ranker_files import saved_files
from crowdrank.errors import Remedy, UsageError, count_noun

if TYPE_CHECKING:
    import polars as pl

SLICE = 1 << 17
"""How many rows are written at a time."""


def command(
    ranker: Annotated[Path, Argument(help="The folder that `crowdrank train` wrote.")],
    features: FeatureFiles,
    judgments: JudgmentOption = None,
    columns: FeatureColumns = None,
    judgment_columns: JudgmentColumns = None,
    outcomes: Outcomes = None,
    allow_dropped: AllowDropped = False,
    missing: Missing = None,
    memory: Memory = None,
    spool: SpoolFolder = None,
    form: Annotated[
        str,
        Option(
            "--format",
            help="csv: query, item, score in the order of the features; or trec: a run.",
            names="csv|trec",
        ),
    ] = "csv",
    out: Annotated[Path | None, Option(help="File for the scores. Default: standard output.")] = None,
) -> None:
    """Score documents with a saved ranker: larger = better.

    CSV has query, item, score, or item, score if the features have no queries. A TREC run has
    `query Q0 item rank score crowdrank`. With --judgments, a ranker that learned how expert the workers are
    scores by features and judgments together.
    """
    check_format(form, ("csv", "trec"))
    crowd = JudgmentFiles(
        judgments or [], join_columns(judgment_columns), missing, ",".join(outcomes or []), allow_dropped
    )
    _check_judgments(crowd)
    inputs: list[str | Path] = [*features, *(judgments or []), *saved_files(ranker)]
    with nullcontext() if out is None else File(out, inputs=inputs) as file:
        from crowdrank.cli.messages import finish, warn
        from crowdrank.cli.track import track
        from crowdrank.data import read_features
        from crowdrank.rankers.runs import to_run
        from crowdrank.rankers.saved import load

        saved = load(ranker)
        with track("scoring"):
            learned = saved.trained_.scoring.crowd
            tables = crowd.read(None if learned is None else learned.unranked) if crowd.files else None
            table = read_features(
                features,
                columns=join_columns(columns),
                memory=memory,
                spool=spool,
                only=saved.trained_.scoring.preparation.names,
            )
            with naming_columns(COLUMNS):
                found = saved.score(table, tables)
        notes = found.notes
        if form == "trec":
            frame, more = to_run(found)
            notes = (*notes, *more)
        else:
            frame = found.polars()
            frame = frame if frame["query"].null_count() == 0 else frame.drop("query")
        warn(notes)
        if file is None:
            _print(frame, form)
        else:
            file.write(lambda path: _write(frame, path, form))
            finish(f"The scores of {count_noun(len(frame), 'document')} are in {out}", files=[str(out)])


def _check_judgments(crowd: JudgmentFiles) -> None:
    """Raise an error if options of judgments come without any."""
    named = {
        "--judgment-columns": crowd.columns,
        "--outcomes": crowd.outcomes,
        "--allow-dropped": crowd.allow_dropped,
        f"--missing {crowd.unranked}": crowd.unranked,
    }
    for option, value in named.items():
        if value and not crowd.files:
            raise UsageError(f"{option} needs judgments.", hint=("Give them: ", Remedy("judgments", "FILE")))


def _write(frame: pl.DataFrame, path: Path, form: str) -> None:
    if form == "csv":
        frame.write_csv(path)
    else:
        frame.write_csv(path, include_header=False, separator=" ", quote_style="never")


def _print(frame: pl.DataFrame, form: str) -> None:
    """Print some rows at a time, so that the text of a large table is never whole in memory."""
    for number, rows in enumerate(frame.iter_slices(SLICE)):
        if form == "csv":
            sys.stdout.write(rows.write_csv(include_header=number == 0))
        else:
            sys.stdout.write(rows.write_csv(include_header=False, separator=" ", quote_style="never"))
