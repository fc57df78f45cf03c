"""What the report says about a crowd that a ranker learned from: workers, estimated orders, convergence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from crowdrank.report.assemble import crowd_summary
from crowdrank.report.content import CrowdSummary
from crowdrank.report.rounding import round_finite, significant
from crowdrank.report.training import crowd_words
from crowdrank.report.training.content import Annotator, Crowd, Curve, ListRow, OrderSummary

if TYPE_CHECKING:
    from crowdrank.rankers.base import Ranker
    from crowdrank.results import Table, Workers

WORKERS = 50
"""The most workers that are shown."""
LISTS = 10
"""The most lists that are shown."""


def crowd_of(ranker: Ranker) -> Crowd | None:
    """The crowd that a ranker learned from; None if it learned from labels."""
    fit = ranker.fit_.as_dict()
    if not crowd_words.learned_from_crowd(fit):
        return None
    tables = ranker.trained_.tables
    workers = ranker.workers_ if fit["judgments"]["workers"] else None
    steps = _steps(tables.get("iterations"))
    return Crowd(
        workers=None if workers is None else _workers(workers),
        meaning=crowd_words.explain_workers(fit),
        orders=None if ranker.orders_ is None else _orders(ranker.orders_),
        steps=steps,
        settled=crowd_words.settled(fit, steps),
    )


def _workers(found: Workers) -> CrowdSummary:
    people = found.polars().sort("quality", "worker")
    summary = crowd_summary(people)
    shown = zip(summary.rows[:WORKERS], people.head(WORKERS).iter_rows(named=True), strict=True)
    return replace(summary, rows=tuple(Annotator(**vars(row), intervals=_intervals(own)) for row, own in shown))


def _intervals(row: dict[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    """The intervals of the ranker's own parameters of a worker."""
    names = [name.removesuffix("_low") for name in row if name.endswith("_low")]
    return {name: (round_finite(row[f"{name}_low"], 3), round_finite(row[f"{name}_high"], 3)) for name in names}


def _orders(found: Table) -> OrderSummary | None:
    """How certain the estimated orders are: the mean over neighbors of the probability that they are right."""
    frame = found.polars()
    if "above_next" not in frame.columns:
        return None
    lists = frame.group_by("query", maintain_order=True).agg(pl.len(), pl.col("above_next").mean())
    known = lists.drop_nulls("above_next").sort("above_next", "query")
    rows = tuple(
        ListRow(None if query is None else str(query), documents, round(certainty, 2))
        for query, documents, certainty in known.head(LISTS).iter_rows()
    )
    middle = known["above_next"].to_numpy()
    median = round(float(pl.Series(middle).quantile(0.5, "midpoint") or 0.0), 2) if len(middle) else None
    return OrderSummary(lists.height, median, rows)


def _steps(found: Table | None) -> Curve | None:
    """The change of the expertise after each step, if at least two are known."""
    if found is None or "change" not in found.polars().columns:
        return None
    known = found.polars().drop_nulls("change").select("step", "change")
    if known.height < 2:
        return None
    values = tuple(significant(value) for value in known["change"])
    name = crowd_words.CHANGE
    return Curve(name, "step", tuple(known["step"].to_list()), values, None, {}, crowd_words.explain_change())
