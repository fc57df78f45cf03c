"""What a simulation gives: judgments, and the truth behind them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, eq=False)
class Crowd:
    """``judgments`` (worker, left, right, label), ``gold`` (item, grade), ``workers`` (worker, and what is true
    of each), and gold pairs (left, right, label) that every worker was also asked, where there are some."""

    judgments: pl.DataFrame
    gold: pl.DataFrame
    workers: pl.DataFrame
    gold_pairs: pl.DataFrame | None = None

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by the names of their files."""
        named = {"judgments": self.judgments, "gold": self.gold, "workers": self.workers}
        return named if self.gold_pairs is None else {**named, "gold_pairs": self.gold_pairs}
