"""How the comparisons connect the items, from the evidence on each item."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.report.content import Connections, Matrix, Span
from crowdrank.report.rounding import tidy
from crowdrank.results import Evidence, Posterior


def connections(rows: pl.DataFrame, possible: int, unit: str) -> Connections | None:
    """The figures for these rows of a ranking; ``possible`` is how many pairs could have been compared.

    None for labels: they are on one scale and need no connection.
    """
    if unit == "labels":
        return None
    return Connections(
        groups=rows["part"].n_unique(),
        pairs=int(rows["opponents"].sum()) // 2,
        possible=possible,
        comparisons=_span(rows["comparisons"]),
        opponents=_span(rows["opponents"]),
    )


def pairs_of(items: int) -> int:
    """The number of pairs among this many items."""
    return items * (items - 1) // 2


def matrix(evidence: Evidence, query: int) -> Matrix | None:
    """The matrix of a query's comparisons; None if it was not counted or has nothing to show."""
    counted = evidence.matrix(query)
    if counted is None or len(counted) < 2:
        return None
    upper = counted[np.triu_indices(len(counted))]
    return Matrix(len(counted), tuple(tidy(value) for value in upper.tolist()))


def chances(posterior: Posterior, places: NDArray[np.int64], side: int) -> Matrix:
    """P(row is better than column) of a query's items, given as positions in the posterior, best first.

    With more items than ``side``, the item in the middle of each run of neighbors stands for the run.
    """
    ends = -(-np.arange(side + 1) * len(places) // side)
    shown = places[(ends[:-1] + ends[1:] - 1) // 2]
    upper = posterior.ahead(shown)[np.triu_indices(side)]
    return Matrix(side, tuple(round(value, 2) for value in upper.tolist()))


def _span(values: pl.Series) -> Span:
    found: list[Any] = [values.min(), values.median(), values.max()]
    return Span(*map(tidy, found))
