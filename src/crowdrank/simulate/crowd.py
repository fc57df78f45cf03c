"""The result of a simulation: judgments, and the truth behind them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

EXPERT = ("target", "validation", "test")
"""The parts of the queries that experts grade."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """Judgments and the truth behind them.

    ``judgments`` has worker, left, right, label, or query, worker, item, rank if the workers give lists; ``gold``
    has item, grade; ``workers`` has worker and the worker's true parameters. Some generators also give
    ``gold_pairs`` (left, right, label) that every worker judged, the truth about ``queries`` or their part (train,
    validation, test), the workers' ``skills`` in each domain, and ``features`` of the items.

    If a crowd labels some queries and experts grade the others, ``judgments`` has query, item, worker, label (0 or
    1), and the parts are source, target, validation and test. The crowd judges the source. ``honeypots`` (query,
    item, label) are documents of the source with a known label.
    """

    judgments: pl.DataFrame
    gold: pl.DataFrame
    workers: pl.DataFrame
    gold_pairs: pl.DataFrame | None = None
    queries: pl.DataFrame | None = None
    skills: pl.DataFrame | None = None
    features: pl.DataFrame | None = None
    honeypots: pl.DataFrame | None = None

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by file name.

        If there are target queries, ``features`` are those of the source, and each part that experts grade is a
        table of its own: the features, with the grade as label.
        """
        named = {own.name: getattr(self, own.name) for own in fields(self)}
        tables = {name: table for name, table in named.items() if table is not None}
        if self.queries is None or "part" not in self.queries or "target" not in set(self.queries["part"]):
            return tables
        return {**tables, "features": self.part("source"), **{part: self.labeled(part) for part in EXPERT}}

    def part(self, name: str) -> pl.DataFrame:
        """The features of a part of the queries."""
        assert self.queries is not None
        assert self.features is not None
        return self.features.join(self.queries.filter(part=name), on="query", how="semi", maintain_order="left")

    def labeled(self, name: str) -> pl.DataFrame:
        """The features of a part of the queries, with the grade as label."""
        label = self.gold.rename({"grade": "label"})
        rows = self.part(name).join(label, on=["query", "item"], maintain_order="left")
        return rows.select("query", "item", "label", pl.exclude("query", "item", "label"))


def ids(word: str, count: int) -> NDArray[Any]:
    """word-1 .. word-count, with zero-padded numbers."""
    width = len(str(count))
    return np.array([f"{word}-{number:0{width}d}" for number in range(1, count + 1)])
