"""A report's content from a model's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.charts.axes import axis_of
from crowdrank.errors import count_noun
from crowdrank.measures import Coverage
from crowdrank.report.agreement import crowd_confusion, worker_agreement
from crowdrank.report.connections import chances, connections, matrix, pairs_of
from crowdrank.report.content import VERDICTS, CrowdSummary, Item, Matrix, Query, Report, TableRows, Worker
from crowdrank.report.contest import choice
from crowdrank.report.domains import domain_map, query_traits, skill_map
from crowdrank.report.next_votes import next_pairs
from crowdrank.report.notes import cautions
from crowdrank.report.reliability import label_trust
from crowdrank.report.rounding import round_finite, round_to, significant, tidy
from crowdrank.report.suggestions import MOST, NextRows, suggestions
from crowdrank.report.words import headline
from crowdrank.results import (
    Confusion,
    Evidence,
    Fit,
    LabelPosterior,
    Posterior,
    Queries,
    Ranking,
    Reliability,
    Result,
    Skills,
    to_plain,
)

ROWS = 20_000
"""The most ranking rows, and the most workers, that a report holds."""
VIEWS = ("labels", "queries", "skills", "reliability", "confusion")
"""Tables that the report shows within other parts; every other table is shown unchanged."""
TOP = 5
"""Each query that is shown has at least this many items, however many queries there are."""
BINS = 10
UPCOMING = 30
"""How many of the next votes are shown."""


def build(result: Result, gold: Mapping[str, float] | None = None, coverage: Coverage | None = None) -> Report:
    """The content of a report from a fit's result, the gold measures, and what the gold covers."""
    ranking, fit, evidence, further = result.ranking, result.fit, result.evidence, result.further
    labels, queries, skills, reliability, confusion = (further.get(name) for name in VIEWS)
    assert labels is None or isinstance(labels, LabelPosterior)
    assert queries is None or isinstance(queries, Queries)
    assert skills is None or isinstance(skills, Skills)
    assert confusion is None or isinstance(confusion, Confusion)
    assert reliability is None or isinstance(reliability, Reliability)
    rows = _with_evidence(ranking, evidence, labels)
    sizes = rows.group_by("query", maintain_order=True).agg(pl.len(), groups=pl.col("part").n_unique())
    upcoming = _next_rows(result, rows)
    crowd_says = crowd_confusion(confusion, result.workers)
    shown = VIEWS if crowd_says is not None else [name for name in VIEWS if name != "confusion"]
    people = None if result.workers is None else result.workers.polars().sort("quality", "worker")
    return Report(
        title=_title(fit),
        facts=_facts(fit),
        cautions=cautions(fit.warnings),
        items=fit.judgments["items"],
        queries_total=len(sizes),
        queries=_queries(rows, result, len(sizes), query_traits(queries), _ranks_by_query(upcoming)),
        crowd=None if people is None else crowd_summary(people),
        skills=skill_map(skills, queries, ROWS),
        connections=connections(rows, sum(pairs_of(size) for size in sizes["len"]), evidence.unit),
        split_queries=sizes.filter(pl.col("groups") > 1).height,
        suggestions=suggestions(rows, people, evidence.unit, upcoming[:MOST], _one_sided(fit)),
        choice=choice(fit),
        fit=fit.as_dict(),
        gold=to_plain(dict(gold or {})),
        gold_coverage=None if coverage is None else str(coverage),
        unit=evidence.unit,
        trust=label_trust(reliability, fit),
        confusion=crowd_says,
        agreement=worker_agreement(evidence.agreement, result.index.workers),
        domain_map=domain_map(queries),
        tables=tuple(_table(name, own.polars()) for name, own in further.items() if name not in shown),
    )


def _one_sided(fit: Fit) -> frozenset[str]:
    """The workers who nearly always chose one side."""
    return frozenset(worker for note in fit.warnings if note.code == "one-sided" for worker in note.workers)


def _next_rows(result: Result, rows: pl.DataFrame) -> list[NextRows]:
    """The pairs that the next votes should be about, as rows."""
    if result.evidence.unit != "votes":
        return []
    row = np.argsort(rows["own"].to_numpy())
    found = next_pairs(result, UPCOMING)
    return [
        (rows.row(int(row[own.one]), named=True), rows.row(int(row[own.other]), named=True), own) for own in found
    ]


def _ranks_by_query(upcoming: Sequence[NextRows]) -> dict[Any, list[tuple[int, int]]]:
    """The ranks of the pairs to ask about, by query."""
    found: dict[Any, list[tuple[int, int]]] = {}
    for one, other, _ in upcoming:
        found.setdefault(one["query"], []).append((one["rank"], other["rank"]))
    return found


def _table(name: str, frame: pl.DataFrame) -> TableRows:
    """The rows of a table that has no view of its own."""
    shown = frame.head(ROWS)
    rows = tuple(tuple(_cell(value) for value in row) for row in shown.iter_rows())
    return TableRows(name, tuple(frame.columns), frame.height, rows)


def _cell(value: Any) -> Any:
    return significant(value) if isinstance(value, float) else value


def _with_evidence(ranking: Ranking, evidence: Evidence, labels: LabelPosterior | None) -> pl.DataFrame:
    """The ranking's rows, best first, with the evidence on each item, and its label if there is one."""
    further = {name: getattr(evidence, name) for name in ("comparisons", "opponents", "part")}
    further["own"] = np.arange(len(ranking.item))  # the row of the ranking
    further["group"] = ranking.group
    if labels is not None:
        further |= {"label": labels.label, "probability": labels.probability.max(axis=1)}
    order = pl.DataFrame({"query": ranking.query, "rank": ranking.rank, **further}).sort("query", "rank")
    return ranking.polars().drop("group", strict=False).hstack(order.select(*further))


def _title(fit: Fit) -> str:
    queries = fit.judgments["queries"]
    inside = f" in {queries:,} queries" if queries > 1 else ""
    return f"Ranking of {count_noun(fit.judgments['items'], 'item')}{inside} by {fit.model}"


def _facts(fit: Fit) -> tuple[str, ...]:
    judged = fit.judgments
    facts = [_judged(judged)]
    if judged["workers"]:
        facts.append(count_noun(judged["workers"], "worker"))
    facts.append(count_noun(judged["items"], "item"))
    if judged["queries"] > 1:
        facts.append(count_noun(judged["queries"], "query", "queries"))
    return (*facts, f"model {fit.model}")


def _judged(judged: Mapping[str, Any]) -> str:
    if judged["kind"] == "rankings":
        return f"{count_noun(judged['lists'], 'list')} of {count_noun(judged['rows'], 'ranked item')}"
    return count_noun(judged["rows"], judged["kind"].removesuffix("s"))


def _queries(
    rows: pl.DataFrame, result: Result, total: int, known: Mapping[Any, Mapping[str, Any]],
    upcoming: Mapping[Any, Sequence[tuple[int, int]]],
) -> tuple[Query, ...]:  # fmt: skip
    """The queries in the order of their ids, with as many queries and rows as a report may hold.

    ``known``: what a model says about a query besides its ranking. ``upcoming``: pairs to ask about, by ranks.
    """
    most = max(TOP, ROWS // total)
    certain = not any(note.code == "no-intervals" for note in result.fit.warnings)
    number = {name: code for code, name in enumerate(result.ranking.query.unique(maintain_order=True))}
    queries = []
    for (name,), part in rows.group_by("query", maintain_order=True):
        drawn = _matrices(result, part["own"].to_numpy(), number[name])
        more = {**drawn, **known.get(name, {}), "next_pairs": tuple(upcoming.get(name, ()))}
        tied = more["first_tier"] = part.filter(group=1, tier=1).height
        compared = part["group"].n_unique() == 1
        names = part["item"][:2].to_list()
        more["headline"] = headline(names, tied, len(part), certain=certain, compared=compared)
        queries.append(_query(part, most, name, result.evidence.unit, more))
        if len(queries) * most >= ROWS:
            break
    return tuple(queries)


def _matrices(result: Result, places: NDArray[np.int64], query: int) -> dict[str, Matrix | None]:
    """Who met whom, and who is better with which probability. ``places``: the rows of the ranking, best first."""
    met, posterior = matrix(result.evidence, query), result.posterior
    if met is None or not isinstance(posterior, Posterior):
        return {"matrix": met}
    return {"matrix": met, "ahead": chances(posterior, places, met.side)}


def _query(part: pl.DataFrame, most: int, name: Any, unit: str, more: Mapping[str, Any]) -> Query:
    shown = part.head(most).to_dicts()
    axis = axis_of(row[name] for row in shown for name in ("score", "low", "high"))
    return Query(
        name=name,
        items=len(part),
        tiers=part["tier"].n_unique(),
        rows=tuple(_item(row, axis.decimals) for row in shown),
        axis=axis,
        connections=connections(part, pairs_of(len(part)), unit),
        **more,
    )


def _item(row: dict[str, Any], decimals: int) -> Item:
    return Item(
        item=row["item"],
        rank=row["rank"],
        tier=row["tier"],
        score=round_to(row["score"], decimals),
        low=round_finite(row["low"], decimals),
        high=round_finite(row["high"], decimals),
        rank_low=row["rank_low"],
        rank_high=row["rank_high"],
        comparisons=tidy(row["comparisons"]),
        opponents=row["opponents"],
        group=row["group"],
        label=_label(row.get("label")),
        probability=None if "label" not in row else round(row["probability"], 2),
    )


def _label(value: float | str | None) -> float | str | None:
    """A label for display: whole numbers become integers."""
    return int(value) if isinstance(value, float) and value == int(value) else value


COMMON = ("worker", "judgments", "quality", "low", "high", "verdict")
"""Columns that every model's workers have. The intervals of other columns are only in workers.csv."""


def crowd_summary(people: pl.DataFrame) -> CrowdSummary:
    """The workers, in the order of the frame, and how their quality is distributed."""
    own = [name for name in people.columns if name not in COMMON and not name.endswith(("_low", "_high"))]
    counts = dict(people["verdict"].value_counts().iter_rows())
    return CrowdSummary(
        workers=len(people),
        rows=tuple(_worker(row, own) for row in people.head(ROWS).iter_rows(named=True)),
        verdicts={verdict: counts[verdict] for verdict in VERDICTS if verdict in counts},
        bins={
            verdict: _bins(people.filter(verdict=verdict)["quality"]) for verdict in VERDICTS if verdict in counts
        },
    )


def _worker(row: dict[str, Any], own: list[str]) -> Worker:
    return Worker(
        worker=row["worker"],
        judgments=tidy(row["judgments"]),
        quality=round(row["quality"], 3),
        low=round_finite(row["low"], 3),
        high=round_finite(row["high"], 3),
        verdict=row["verdict"],
        further={name: round_finite(row[name], 3) for name in own},
    )


def _bins(quality: pl.Series) -> tuple[int, ...]:
    """How many workers have a quality in each tenth from 0 to 1."""
    return tuple(np.histogram(quality.to_numpy(), BINS, (0.0, 1.0))[0].tolist())
