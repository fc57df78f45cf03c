"""What the report says about a ranker that weighs and values the labels of a crowd (remap)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from crowdrank.report.assemble import COMMON, crowd_summary
from crowdrank.report.content import CrowdSummary, Span
from crowdrank.report.rounding import round_finite, round_to
from crowdrank.report.training.content import Annotator, Cloud, Strip, Weighing
from crowdrank.report.training.crowd import WORKERS

if TYPE_CHECKING:
    from crowdrank.rankers.base import Ranker
    from crowdrank.results import Workers

DOTS = 500
"""The most workers that are drawn."""
DECIMALS = 3
NO_BASELINES = ("remap", "oracle")
"""What is no baseline: other learners on the same labels, and experts' labels that training does not have."""
VALUE = "value_"
AGAINST = {"quality": "Quality", "honeypots_right": "Share of right honeypots"}
"""What weights are drawn against, and its name on the axis."""


def uses_target(fit: Mapping[str, Any]) -> bool:
    """Whether a ranker learned from labels of a crowd and of experts."""
    return "chosen" in fit["details"]


def is_baseline(name: str) -> bool:
    """Whether what was trained under this name, "labels, learner", is a baseline."""
    return name.partition(",")[0] not in NO_BASELINES


def chosen_name(details: Mapping[str, Any]) -> str:
    """The name of what is kept, among all that was trained."""
    kept = str(details["chosen"])
    return f"{kept}, {details['learner']}" if kept == "remap" else kept


def describe(name: str) -> str:
    """What was trained under a name, as a sentence says it."""
    return name.replace(", ", " with ")


def order_measured(details: Mapping[str, Any]) -> dict[str, Any] | None:
    """The measures of everything that was trained: the ranker, then all others, the best first."""
    found = details.get("measured")
    if found is None:
        return None
    kept, measure = chosen_name(details), found["measure"]
    tables = {name: own for name, own in found.items() if isinstance(own, Mapping)}
    ranker = tables.pop("ranker")
    tables.pop(kept, None)
    order = sorted(tables, key=lambda name: (tables[name][measure] is None, -(tables[name][measure] or 0.0)))
    facts = {name: own for name, own in found.items() if not isinstance(own, Mapping)}
    return {
        **facts,
        "ranker": {**ranker, "description": describe(kept)},
        **{name: {**tables[name], "description": describe(name)} for name in order},
    }


def weighing_of(ranker: Ranker) -> Weighing | None:
    """Weights and values by worker; None for another kind of ranker, and for one from a folder."""
    if ranker.workers_ is None or not uses_target(ranker.fit_.as_dict()):
        return None
    people = _people(ranker.workers_)
    drawn = people.head(DOTS)
    values = [name for name in people.columns if name.startswith(VALUE)]
    against = [name for name in AGAINST if name in people.columns]
    return Weighing(
        workers=_workers(people),
        drawn=drawn.height,
        strips=tuple(strip for name in values if (strip := _strip(drawn[name]))),
        clouds=tuple(cloud for name in against if (cloud := _cloud(drawn, name))),
    )


def _people(found: Workers) -> pl.DataFrame:
    """The workers with the most judgments first, and only what is said about their labels."""
    people = found.polars()
    own = [name for name in people.columns if name in ("weight", "honeypots_right") or name.startswith(VALUE)]
    people = people.select(*COMMON, *own).with_columns(pl.col(own).fill_nan(None))
    return people.sort("judgments", "worker", descending=[True, False])


def _workers(people: pl.DataFrame) -> CrowdSummary:
    names = {
        name: name.replace(VALUE, "value of ").replace("_", " ") for name in people.columns if name not in COMMON
    }
    shown = crowd_summary(people.fill_null(float("nan")).rename(names))
    rows = tuple(Annotator(**vars(row), intervals={}) for row in shown.rows[:WORKERS])
    return replace(shown, rows=rows)


def _strip(values: pl.Series) -> Strip | None:
    known = values.drop_nulls().sort()
    if not known.len():
        return None
    shown = tuple(round_to(value, DECIMALS) for value in known)
    middle = round_to(float(known.median() or 0.0), DECIMALS)  # type: ignore[arg-type]
    return Strip(values.name.removeprefix(VALUE), shown, Span(shown[0], middle, shown[-1]))


def _cloud(people: pl.DataFrame, name: str) -> Cloud | None:
    """The weight of each worker against another column."""
    known = people.select(name, "weight").drop_nulls()
    if not known.height:
        return None
    points = tuple((round_to(x, DECIMALS), round_to(y, DECIMALS)) for x, y in known.iter_rows())
    together = known.select(pl.corr(name, "weight", method="spearman")).item() if known.height > 2 else None
    return Cloud(AGAINST[name], points, None if together is None else round_finite(together, 2))
