"""What a report says, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crowdrank.results import Fit, Ranking, Workers


@dataclass(frozen=True)
class Report:
    """Everything that a page shows: plain values, no arrays."""

    fit: dict[str, Any]
    queries: list[dict[str, Any]]  # name, rows, and the ends of its axis of scores
    workers: list[dict[str, Any]]
    gold: dict[str, float]


def build(ranking: Ranking, workers: Workers | None, fit: Fit, gold: Mapping[str, float] | None = None) -> Report:
    """The content of a report from a model's results; ``gold`` holds measures by a gold standard."""
    queries = [
        _query(key[0], part.to_dicts()) for key, part in ranking.polars().group_by(["query"], maintain_order=True)
    ]
    people = [] if workers is None else workers.polars().sort("quality", "worker").to_dicts()
    return Report(fit.as_dict(), queries, people, dict(gold or {}))


def _query(name: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    finite = [value for row in rows for value in (row["low"], row["high"]) if abs(value) < float("inf")]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    return {"name": name, "rows": rows, "low": low, "high": high if high > low else low + 1.0}
