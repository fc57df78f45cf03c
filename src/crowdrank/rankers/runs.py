"""Scores as a TREC run: ``query Q0 item rank score tag``."""

from __future__ import annotations

import polars as pl

from crowdrank.errors import InputError, Note, Remedy
from crowdrank.rankers.tables import Scores

TAG = "crowdrank"


def to_run(scores: Scores) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """The columns of a run, best first within each query, and a note if documents are tied.

    Tools for TREC runs ignore the rank and sort by score, then by id, the last id first. The ranks here follow
    the same rule. trec_eval keeps scores in single precision, so scores that are equal there count as tied.
    """
    frame = scores.polars()
    _check_ids(frame)
    frame = (
        frame.with_row_index("row")
        .with_columns(row=pl.col("row").min().over("query"))
        .sort("row", "score", "item", descending=[False, True, True])
    )
    tied = int(frame.select(pl.struct("query", pl.col("score").cast(pl.Float32)).is_duplicated().sum()).item())
    run = frame.select(
        "query",
        pl.lit("Q0").alias("Q0"),
        "item",
        pl.int_range(1, pl.len() + 1).over("query").alias("rank"),
        "score",
        pl.lit(TAG).alias("tag"),
    )
    return run, (_tied_note(tied),) if tied else ()


def _check_ids(frame: pl.DataFrame) -> None:
    """A run has fields between spaces, and needs a query."""
    other = ("Write a table: ", Remedy("format", "csv"))
    if frame["query"].null_count():
        raise InputError(
            "a TREC run needs queries, and these features have none.",
            hint=("Name their column: ", Remedy("columns", "query=NAME"), ", or write a table: ", other[1]),
        )
    for name in ("query", "item"):
        bad = frame[name].cast(pl.String).str.contains(r"\s|^$")
        if bad.any():
            raise InputError(
                f"a TREC run has spaces between its fields, so an id cannot have one. Got the {name} "
                f"{frame[name].filter(bad)[0]!r}.",
                hint=other,
            )


def _tied_note(tied: int) -> Note:
    return Note(
        "tied-scores",
        f"{tied} documents have the same score as another one of their query. TREC tools order them by id; "
        "crowdrank evaluate takes the mean over their orders.",
    )
