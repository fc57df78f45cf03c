"""What moved between two results, and whether noise explains it.

The scores of the items that both results rank are centered in each query, and divided by their standard deviation
if the models differ. With scores s and standard errors e before and after, the change of an item is

    d = s' - s,    with the standard error sqrt(e^2 + e'^2),

and its p value that of a normal d / error. Of all items, those are beyond the noise whose p value passes the
step-up test of Benjamini and Hochberg (1995) at 10 %: at most a tenth of them is expected to be noise, if standard
errors are right. Those of plain models are too small with few votes on items that are far apart. If the two
results share votes, their errors are not independent. Groups of items that nothing links have no common level of
scores, so with such groups no move can be told from noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from crowdrank.charts import Axis, axis_of
from crowdrank.data.arrays import Floats
from crowdrank.errors import count_noun
from crowdrank.report.content import Caution, Page
from crowdrank.report.rounding import significant
from crowdrank.report.saved_result import SavedResult
from crowdrank.report.words import list_words, quote_name, signed
from crowdrank.results import Z

FALSE_SHARE = 0.1
"""The expected share of noise among what is called beyond the noise."""
ROWS = 1000
NAMES = 5


@dataclass(frozen=True)
class Change:
    """An item in both results. ``change`` of the score with its 90 % interval, which is None if it is not known.

    ``verdict``: "up", "down" (both beyond the noise), "noise", or "unknown" if a model gives no standard errors.
    Ranks are those among the items of both results.
    """

    query: str | None
    item: str
    before: int
    after: int
    change: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True)
class WorkerChange:
    """A worker whose verdict differs, or whose intervals of quality are apart."""

    worker: str
    before: float
    after: float
    verdict_before: str
    verdict_after: str
    apart: bool


@dataclass(frozen=True)
class ChangeReport(Page):
    """Two results side by side. ``rows`` are the changes, beyond the noise first; ``counts`` are by verdict.

    ``gone`` and ``new`` are items of only one result, by query and item. ``tau`` is Kendall's tau of the two
    orders, a mean over the queries.
    """

    before: str
    after: str
    headline: tuple[str, ...]
    counts: dict[str, int]
    tau: float | None
    rows: tuple[Change, ...]
    axis: Axis | None
    gone: tuple[tuple[str | None, str], ...]
    new: tuple[tuple[str | None, str], ...]
    workers: tuple[WorkerChange, ...]
    explanation: str

    @property
    def several(self) -> bool:
        """Whether there are queries."""
        return any(row.query is not None for row in self.rows)


def build_changes(before: SavedResult, after: SavedResult) -> ChangeReport:
    """The content of a page from two results."""
    joined = before.ranking.join(
        after.ranking, on=["query", "item"], how="inner", suffix="_after", nulls_equal=True
    )
    rescaled = before.fit["model"] != after.fit["model"]
    linked = not any(_has_groups(own) for own in (before, after))
    moved = _judge(_changes(joined, rescaled=rescaled, linked=linked)) if joined.height else joined
    counts = _counts(moved)
    gone, new = (_only(one, other) for one, other in ((before, after), (after, before)))
    workers = _worker_changes(before.workers, after.workers)
    tau = _tau(moved) if moved.height else None
    rows = tuple(_change(row) for row in moved.head(ROWS).iter_rows(named=True))
    spans = [value for row in rows for value in (row.low, row.high) if value is not None]
    return ChangeReport(
        title="What moved between two rankings",
        facts=tuple(f"{word}: {_describe(own)}" for word, own in (("before", before), ("after", after))),
        cautions=_cautions(moved, linked=linked),
        before=before.name,
        after=after.name,
        headline=(*_headline(moved, counts, tau, gone, new), *_other_model(before, after)),
        counts=counts,
        tau=tau,
        rows=rows,
        axis=axis_of([0.0, *spans]) if spans else None,
        gone=tuple(gone),
        new=tuple(new),
        workers=workers,
        explanation=_explain(rescaled=rescaled),
    )


def _has_groups(result: SavedResult) -> bool:
    """Whether a result says that some items are compared with none of the others."""
    return any(note.get("code") == "disconnected" for note in result.fit.get("warnings", ()))


def _changes(joined: pl.DataFrame, *, rescaled: bool, linked: bool) -> pl.DataFrame:
    """Ranks among the common items, and the change of the score with its standard error, which is null if not
    all items are ``linked``."""
    spread = pl.col("score").std().over("query") if rescaled else pl.lit(1.0)
    spread_after = pl.col("score_after").std().over("query") if rescaled else pl.lit(1.0)
    return joined.with_columns(
        before=pl.col("rank").rank("ordinal").over("query").cast(pl.Int64),
        after=pl.col("rank_after").rank("ordinal").over("query").cast(pl.Int64),
        own=(pl.col("score") - pl.col("score").mean().over("query")) / spread,
        own_after=(pl.col("score_after") - pl.col("score_after").mean().over("query")) / spread_after,
        error=((pl.col("stderr") / spread) ** 2 + (pl.col("stderr_after") / spread_after) ** 2).sqrt()
        if linked
        else pl.lit(None, pl.Float64),
    ).with_columns(change=pl.col("own_after") - pl.col("own"))


def _judge(changes: pl.DataFrame) -> pl.DataFrame:
    """The verdict on each change, beyond the noise first, then by the size of the change over its error."""
    from scipy.special import ndtr

    change, error = (changes[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("change", "error"))
    known = np.isfinite(change) & np.isfinite(error) & (error > 0)
    size = np.where(known, np.abs(change) / np.where(known, error, 1.0), 0.0)
    beyond = np.zeros(len(change), bool)
    beyond[known] = step_up(2.0 * ndtr(-size[known]), FALSE_SHARE)
    verdict = np.where(known, np.where(beyond, np.where(change > 0, "up", "down"), "noise"), "unknown")
    judged = changes.with_columns(verdict=pl.Series(verdict), size=pl.Series(size), beyond=pl.Series(beyond))
    moves = (pl.col("after") - pl.col("before")).abs()
    return judged.sort("beyond", "size", moves, "query", "item", descending=[True, True, True, False, False])


def step_up(p: Floats, share: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which p values pass the test of Benjamini and Hochberg: the k smallest, for the last k with
    p_(k) <= share k / n.

    >>> step_up(np.array([0.5, 0.01, 0.04, 0.9]), 0.1).tolist()
    [False, True, True, False]
    """
    order = np.argsort(p)
    passed = np.flatnonzero(p[order] <= share * np.arange(1, len(p) + 1) / max(len(p), 1))
    found = np.zeros(len(p), bool)
    found[order[: passed[-1] + 1 if len(passed) else 0]] = True
    return found


def _change(row: dict[str, Any]) -> Change:
    known = row["verdict"] != "unknown"
    half = Z * row["error"] if known else None
    return Change(
        query=row["query"],
        item=row["item"],
        before=row["before"],
        after=row["after"],
        change=significant(row["change"]) if known else None,
        low=None if half is None else significant(row["change"] - half),
        high=None if half is None else significant(row["change"] + half),
        verdict=row["verdict"],
    )


def _counts(moved: pl.DataFrame) -> dict[str, int]:
    found = dict(moved["verdict"].value_counts().iter_rows()) if moved.height else {}
    return {verdict: found[verdict] for verdict in ("up", "down", "noise", "unknown") if verdict in found}


def _tau(moved: pl.DataFrame) -> float | None:
    """The mean over the queries of the share of pairs in the same order, less the share in the other one."""
    from crowdrank.kernels.kendall import inversions

    found = []
    for _, part in moved.sort("before").group_by("query"):
        size = part.height
        if size > 1:
            wrong = inversions(part["after"].to_numpy(), np.array([0, size]))[0]
            found.append(1.0 - 4.0 * wrong / (size * (size - 1)))
    return round(float(np.mean(found)), 4) if found else None


def _only(one: SavedResult, other: SavedResult) -> list[tuple[str | None, str]]:
    """Items that only the first result ranks."""
    left = one.ranking.join(other.ranking, on=["query", "item"], how="anti", nulls_equal=True)
    return list(left.sort("query", "rank").select("query", "item").iter_rows())


def _worker_changes(before: pl.DataFrame | None, after: pl.DataFrame | None) -> tuple[WorkerChange, ...]:
    """The workers whose verdict differs or whose intervals are apart, the largest change first."""
    if before is None or after is None:
        return ()
    both = before.join(after, on="worker", suffix="_after").with_columns(
        apart=(pl.col("low") > pl.col("high_after")) | (pl.col("high") < pl.col("low_after")),
    )
    changed = both.filter(pl.col("apart") | (pl.col("verdict") != pl.col("verdict_after")))
    by_size = changed.sort(
        "apart", (pl.col("quality_after") - pl.col("quality")).abs(), "worker", descending=[True, True, False]
    )
    return tuple(
        WorkerChange(
            row["worker"], round(row["quality"], 3), round(row["quality_after"], 3), row["verdict"],
            row["verdict_after"], row["apart"],
        )
        for row in by_size.head(ROWS).iter_rows(named=True)
    )  # fmt: skip


def _describe(result: SavedResult) -> str:
    judged = result.fit.get("judgments", {})
    rows = f", {judged['rows']:,} rows of {judged['kind']}" if {"rows", "kind"} <= set(judged) else ""
    return f"{result.name} ({result.fit['model']}{rows})"


def _headline(
    moved: pl.DataFrame, counts: dict[str, int], tau: float | None,
    gone: list[tuple[str | None, str]], new: list[tuple[str | None, str]],
) -> list[str]:  # fmt: skip
    """What moved, in sentences."""
    if not moved.height:
        return ["The two rankings have no item in common, so nothing can be compared."]
    beyond = counts.get("up", 0) + counts.get("down", 0)
    of = count_noun(moved.height, "item")
    if counts.get("unknown", 0) == moved.height:
        found = [f"Whether noise explains the moves of {of} that both rank is not known."]
    elif not beyond:
        found = [f"Nothing moved beyond the noise, of {of} that both rank."]
    else:
        what = "score of 1 item" if beyond == 1 else f"scores of {beyond:,} items"
        ways = [f"{counts[way]:,} {way}" for way in ("up", "down") if way in counts]
        found = [f"The {what} moved beyond the noise ({list_words(ways)}), of {of} that both rank."]
    found += _first_places(moved)
    if tau is not None:
        found.append(
            f"The two orders have a Kendall's tau of {signed(tau, 3)}: 1 is the same order, −1 the reverse."
        )
    for items, where in ((gone, "before"), (new, "after")):
        if items:
            names = ", ".join(quote_name(item) for _, item in items[:NAMES])
            more = f" and {len(items) - NAMES:,} more" if len(items) > NAMES else ""
            found.append(f"Only the ranking {where} has {count_noun(len(items), 'item')}: {names}{more}.")
    return found


def _other_model(before: SavedResult, after: SavedResult) -> list[str]:
    """A sentence if the two rankings are by different models."""
    one, other = before.fit["model"], after.fit["model"]
    if one == other:
        return []
    return [f"The models differ, {one} before and {other} after, so moves may come from the model as well."]


def _first_places(moved: pl.DataFrame) -> list[str]:
    """Whether the first place changed, of one query or of how many."""
    first = moved.filter(pl.col("before") == 1).select("query", one="item")
    both = first.join(
        moved.filter(pl.col("after") == 1).select("query", other="item"), on="query", nulls_equal=True
    )
    changed = both.filter(pl.col("one") != pl.col("other"))
    if both.height > 1:
        return [f"The first place changed in {changed.height:,} of {both.height:,} queries."]
    if changed.height:
        return [f"The first place went from {quote_name(changed['one'][0])} to {quote_name(changed['other'][0])}."]
    return [f"{quote_name(both['one'][0])} is first in both."]


def _cautions(moved: pl.DataFrame, *, linked: bool) -> tuple[Caution, ...]:
    unknown = moved.filter(verdict="unknown").height if moved.height else 0
    if not unknown:
        return ()
    if not linked:
        message = (
            "In one of the rankings, no judgment links some groups of items, so their scores have no common level."
        )
        advice = "Compare rankings in which judgments link all items."
        return (Caution("disconnected", "Moves cannot be told from noise", (message,), advice),)
    message = f"{count_noun(unknown, 'item')} of {moved.height:,} have no standard error in one of the rankings."
    advice = "Their moves may be noise; rank both with a model that has intervals."
    return (Caution("no-intervals", "Noise is not known for some items", (message,), advice),)


def _explain(*, rescaled: bool) -> str:
    scale = (
        "Because the models differ, scores are compared in standard deviations of the items that both rank. "
        if rescaled
        else "Scores are centered on the items that both rank. "
    )
    return (
        f"{scale}The bar holds the true change with a probability of 90 %, so some bars miss 0 by chance. Among "
        "the moves beyond the noise, at most a tenth is expected to be chance, if the standard errors are right; "
        "with few votes those of plain models are too small."
    )
