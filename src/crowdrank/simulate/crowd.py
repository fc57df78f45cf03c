"""The result of a simulation: judgments, and the truth behind them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Crowd:
    """Judgments and the truth behind them.

    ``judgments`` has worker, left, right, label, or query, worker, item, rank if the workers give lists; ``gold``
    has item, grade; ``workers`` has worker and the worker's true parameters. Some generators also give
    ``gold_pairs`` (left, right, label) that every worker judged, the truth about ``queries`` or their part (train,
    validation, test), the workers' ``skills`` in each domain, and ``features`` of the items.
    """

    judgments: pl.DataFrame
    gold: pl.DataFrame
    workers: pl.DataFrame
    gold_pairs: pl.DataFrame | None = None
    queries: pl.DataFrame | None = None
    skills: pl.DataFrame | None = None
    features: pl.DataFrame | None = None

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by file name."""
        named = {own.name: getattr(self, own.name) for own in fields(self)}
        return {name: table for name, table in named.items() if table is not None}


def ids(word: str, count: int) -> NDArray[Any]:
    """word-1 .. word-count, with zero-padded numbers."""
    width = len(str(count))
    return np.array([f"{word}-{number:0{width}d}" for number in range(1, count + 1)])
