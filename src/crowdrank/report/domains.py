"""Results of a model with domains: the difficulty and domain of each query, and the skills of each worker."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from crowdrank.report.content import Skill, SkillMap, SkillRow
from crowdrank.report.rounding import round_finite, significant, tidy
from crowdrank.results import Queries, Skills


def query_traits(queries: Queries | None) -> dict[str | None, dict[str, Any]]:
    """The fields of a ``Query`` on its difficulty and domain, by query name."""
    if queries is None:
        return {}
    several = queries.domain.shape[1] > 1
    return {row["query"]: _traits(row, several) for row in queries.polars().iter_rows(named=True)}


def _traits(row: dict[str, Any], several: bool) -> dict[str, Any]:
    return {
        "difficulty": significant(row["difficulty"]),
        "difficulty_low": significant(row["low"]),
        "difficulty_high": significant(row["high"]),
        "domain": row["domain"] if several else None,
        "probability": round(row["probability"], 2) if several else None,
    }


def skill_map(skills: Skills | None, queries: Queries | None, most: int) -> SkillMap | None:
    """Workers by domain, with at most ``most`` cells; None for a single domain, which the workers table covers."""
    if skills is None or queries is None or queries.domain.shape[1] == 1:
        return None
    domains = queries.domain.shape[1]
    rows = (
        skills.polars()
        .with_columns(total=pl.col("judgments").sum().over("worker"))
        .sort("total", "worker", "domain", descending=[True, False, False])
    )
    shown = rows.head(domains * max(most // domains, 1)).iter_slices(domains)
    return SkillMap(
        queries=tuple(np.bincount(queries.domain.argmax(axis=1), minlength=domains).tolist()),
        workers=rows["worker"].n_unique(),
        rows=tuple(_skill_row(part) for part in shown),
    )


def _skill_row(part: pl.DataFrame) -> SkillRow:
    skills = tuple(_skill(row) for row in part.iter_rows(named=True))
    return SkillRow(part["worker"][0], tidy(part["total"][0]), skills)


def _skill(row: dict[str, Any]) -> Skill:
    return Skill(
        judgments=tidy(row["judgments"]),
        quality=round(row["quality"], 2),
        low=round_finite(row["low"], 2),
        high=round_finite(row["high"], 2),
        verdict=row["verdict"],
    )
