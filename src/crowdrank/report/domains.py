"""Results of a model with domains: difficulty and domain of each query, their map, and the skills of workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from crowdrank.charts import Cell, Chart, Run, draw_heatmap, draw_shares, short_share
from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import count_noun
from crowdrank.report.domain_content import Domain, DomainMap, QueryRun, Skill, SkillMap, SkillRow
from crowdrank.report.rounding import round_finite, significant, tidy
from crowdrank.results import Queries, Skills

SURE = 0.95
"""A query belongs to its domain almost certainly if the probability is at least this."""
NAMED = 40
"""Up to this many queries, the map has a row with the name of each."""
RUNS = 120
"""About how many runs of queries a map has if there are more."""
EXAMPLES = 3


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


def domain_map(queries: Queries | None) -> DomainMap | None:
    """Queries by domain; None for a single domain."""
    if queries is None or queries.domain.shape[1] == 1:
        return None
    likely, chance = queries.domain.argmax(axis=1), queries.domain.max(axis=1)
    names = queries.query.to_list()
    order = np.lexsort(
        (-np.round(chance, 2), likely)
    )  # stable: equally sure ones stay in the order of their names
    parts = [order[likely[order] == domain] for domain in range(queries.domain.shape[1])]
    length = 1 if len(order) <= NAMED else -(-len(order) // RUNS)
    return DomainMap(
        domains=tuple(_domain(part, chance, names) for part in parts),
        runs=tuple(
            _query_run(part[start : start + length], queries.domain, names)
            for part in parts
            for start in range(0, len(part), length)
        ),
    )


def _domain(part: Integers, chance: Floats, names: list[str]) -> Domain:
    """A domain from its queries, surest first."""
    return Domain(
        queries=len(part),
        sure=int((chance[part] >= SURE).sum()),
        probability=round(float(chance[part].mean()), 2) if len(part) else None,
        examples=tuple(names[place] for place in part[:EXAMPLES]),
    )


def _query_run(part: Integers, chance: Floats, names: list[str]) -> QueryRun:
    ends = [names[part[0]], names[part[-1]]]
    shares = tuple(round(share, 2) for share in chance[part].mean(axis=0).tolist())
    return QueryRun(tuple(ends if len(part) > 1 else ends[:1]), len(part), shares)


def explain_domains(found: DomainMap) -> str:
    """What the map shows, in sentences."""
    sure = sum(domain.sure for domain in found.domains)
    total = found.queries
    known = "Every one of" if sure == total else "None of" if not sure else f"{sure:,} of"
    return (
        f"A domain is a group of queries that the same workers know well. {known} the {total:,} queries "
        f"{'belongs' if sure in (0, 1, total) else 'belong'} to one of the {len(found.domains)} domains almost "
        f"certainly, with a probability of at least {SURE:g}."
    )


def draw_domains(found: DomainMap) -> Chart:
    """The map: a row for each query if there are few, otherwise a row for each domain."""
    if found.queries > NAMED:
        runs = [Run(run.queries, run.shares, _run_words(run)) for run in found.runs]
        return draw_shares(runs, group="Domain", noun="queries", description=explain_domains(found))
    names = [run.names[0] for run in found.runs]
    columns = [f"{place}" for place in range(1, len(found.domains) + 1)]
    cells = [
        [
            Cell(share, short_share(share), f"Query {run.names[0]}: domain {place} with {share:.2f}")
            for place, share in enumerate(run.shares, 1)
        ]
        for run in found.runs
    ]
    return draw_heatmap(cells, names, columns, beside="Query", above="Domain", description=explain_domains(found))


def _run_words(run: QueryRun) -> str:
    if run.queries == 1:
        return f"Query {run.names[0]}"
    return f"{count_noun(run.queries, 'query', 'queries')}, {run.names[0]} to {run.names[-1]}"


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
