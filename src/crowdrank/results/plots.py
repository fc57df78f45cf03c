"""The charts of result tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdrank.charts import Cell, Chart, Dot, Interval, draw_heatmap, draw_intervals, draw_workers, short_share
from crowdrank.errors import UsageError, name_hint

if TYPE_CHECKING:
    from crowdrank.results.posterior import Posterior
    from crowdrank.results.tables import LabelPosterior, Ranking


def plot_ranking(ranking: Ranking, query: str | None, most: int) -> Chart:
    """The first items of a query with their intervals."""
    rows = _of_query(ranking.polars(), query)
    apart = "group" in rows.columns and rows["group"].n_unique() > 1  # no tier is below one of another group
    tier = pl.lit(1) if apart else pl.col("tier")
    shown = rows.head(_at_least_one(most)).select("item", "score", "low", "high", tier)
    return draw_intervals([Interval(*row) for row in shown.iter_rows()], rows.height)


def plot_workers(people: pl.DataFrame) -> Chart:
    """The workers by their number of judgments and their quality."""
    columns = people.select("worker", "judgments", "quality", "low", "high", "verdict")
    return draw_workers([Dot(*row) for row in columns.iter_rows()])


def plot_ahead(posterior: Posterior, query: str | None, most: int) -> Chart:
    """P(row is better than column) among the first items of a query."""
    frame = pl.DataFrame({"query": posterior.query, "item": posterior.item, "score": posterior.score})
    rows = _of_query(frame.with_row_index("place"), query).sort("score", descending=True, maintain_order=True)
    shown = rows.head(_at_least_one(most))
    names = shown["item"].to_list()
    chance = posterior.ahead(shown["place"].to_numpy().astype(np.int64))
    cells = [
        [
            None if i == j else ahead_cell(chance[i, j], f"P({one} is better than {other})")
            for j, other in enumerate(names)
        ]
        for i, one in enumerate(names)
    ]  # fmt: skip
    words = (
        f"Probability that the row is better than the column, {len(names):,} of {rows.height:,} items, best first"
    )
    columns = [f"{place}" for place in range(1, len(names) + 1)]
    rows_named = [f"{place}. {name}" for place, name in enumerate(names, 1)]
    return draw_heatmap(
        cells,
        rows_named,
        columns,
        beside="P(row is better than column)",
        above="column, by rank",
        description=words,
    )


def ahead_cell(chance: float, words: str) -> Cell:
    """A cell for the probability of being ahead: the color is stronger the further it is from 1/2."""
    return Cell(2.0 * chance - 1.0, short_share(chance), f"{words} = {chance:.2f}")


def plot_labels(labels: LabelPosterior, query: str | None, most: int) -> Chart:
    """The probability of each label for the items whose label is least certain."""
    rows = _of_query(labels.polars(), query).sort("probability", maintain_order=True)
    shown = rows.head(_at_least_one(most))
    columns = [name for name in shown.columns if name.startswith("p_")]
    cells = [
        [
            Cell(row[name], short_share(row[name]), f"{row['item']}: label {name[2:]} with {row[name]:.2f}")
            for name in columns
        ]
        for row in shown.iter_rows(named=True)
    ]
    words = f"Probability of each label for the {shown.height:,} least certain of {rows.height:,} items"
    return draw_heatmap(
        cells,
        shown["item"].to_list(),
        [name[2:] for name in columns],
        beside="Item",
        above="Label",
        description=words,
    )


def _of_query(frame: pl.DataFrame, query: str | None) -> pl.DataFrame:
    """The rows of a query; of the first one if none is named."""
    known = frame["query"].unique(maintain_order=True).to_list()
    if query is not None and query not in known:
        raise _no_such_query(query, [f"{name}" for name in known if name is not None])
    return frame.filter(pl.col("query").eq_missing(pl.lit(known[0] if query is None else query)))


def _no_such_query(query: str, names: list[str]) -> UsageError:
    """The error for an unknown query, also if it is the name of a file to save the chart in."""
    if str(query).lower().endswith((".svg", ".png")):
        problem = f"The first parameter of plot is a query, not a file. Got {query!r}."
        return UsageError(problem, hint=f'To save the chart: plot().save("{query}")')
    if not names:
        return UsageError(
            f"There is no query {query!r}: the judgments have no queries.", hint="Leave it out: plot()"
        )
    return UsageError(f"There is no query {query!r}.", hint=name_hint(str(query), names, "The queries are"))


def _at_least_one(most: int) -> int:
    if most < 1:
        raise UsageError(f"At least one row must be shown. Got most={most}.")
    return most
