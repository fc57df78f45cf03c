"""Features and judgments side by side: which row of the features belongs to each (query, item)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdrank.data.arrays import Floats, Integers, Ints
from crowdrank.data.features import Features, shown_ids
from crowdrank.data.gold import Scored
from crowdrank.data.index import translate_ids
from crowdrank.errors import InputError, Note, Remedy, UsageError

MISSING = ("error", "drop")


@dataclass(frozen=True, eq=False)
class Aligned:
    """Gold beside features: ``values[i]`` belongs to row ``rows[i]`` of the features.

    ``query`` are codes into ``queries``: those of the gold or, if it has none, of the features. If neither has
    any, there is one query, whose id is null. If the features have no queries, a row of them may occur in several.
    """

    rows: Integers
    values: Floats
    query: Ints
    queries: pl.Series
    notes: tuple[Note, ...] = ()


def align(features: Features, scored: Scored, *, missing: str = "error") -> Aligned:
    """Join gold to features by (query, item), or by item if either of them has no queries.

    A graded item without features is an error, or with ``missing="drop"`` it is left out with a note. Features
    without a grade are left out with a note. The order is that of the gold.
    """
    frame = scored.frame
    asked = None if frame["query"].null_count() == frame.height else frame["query"]
    rows = feature_rows(features, asked, frame["item"])
    notes = check_rows(features, rows, frame, "graded", missing=missing)
    keep = rows >= 0
    rows, values = rows[keep], frame["value"].to_numpy().astype(np.float64)[keep]
    if asked is not None or features.query is None:
        queries = frame["query"].unique().sort()
        query = _codes_of(frame["query"], queries)[keep]
    else:
        assert features.index.queries is not None
        queries, query = features.index.queries, features.query[rows]
    return Aligned(rows, values, query, queries, notes)


def _codes_of(ids: pl.Series, index: pl.Series) -> Ints:
    """The code of each id, a null included, which sorts first."""
    first = index.null_count()
    return np.where(ids.is_null().to_numpy(), 0, translate_ids(ids, index[first:]) + first).astype(np.int32)


def feature_rows(features: Features, query_ids: pl.Series | None, item_ids: pl.Series) -> Integers:
    """The row of the features for each (query, item); -1 if there is none.

    If the features have no queries, or none are given, the items alone decide. Then an item of several queries of
    the features is an error: it is not known which of its rows is meant.
    """
    item = translate_ids(item_ids, features.index.items).astype(np.int64)
    if features.query is None:
        keys, wanted = features.item.astype(np.int64), item
    elif query_ids is None:
        keys, wanted = features.item.astype(np.int64), item
        _require_one_query(features, item)
    else:
        width = len(features.index.items)
        query = translate_ids(query_ids, features.index.queries).astype(np.int64)
        keys = features.query.astype(np.int64) * width + features.item
        wanted = np.where((query < 0) | (item < 0), -1, query * width + item)
    order = np.argsort(keys, kind="stable")
    place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    return np.where(keys[order[place]] == wanted, order[place], -1)


def _require_one_query(features: Features, wanted: Integers) -> None:
    """Raise an error if one of these items has features in several queries."""
    counts = np.bincount(features.item, minlength=len(features.index.items))
    several = np.unique(wanted[(wanted >= 0) & (counts[wanted] > 1)])
    if len(several):
        shown = ", ".join(map(repr, features.index.items.gather(several[:3])))
        count = "1 item has" if len(several) == 1 else f"{len(several)} items have"
        raise InputError(
            f"{count} features in several queries, but what is joined to them names no query: {shown}"
            f"{', ...' if len(several) > 3 else ''}.",
            source=features.source,
            hint=("Name the column of queries: ", Remedy("columns", "query=NAME")),
        )


def check_rows(
    features: Features, rows: Integers, ids: pl.DataFrame, done: str, *, missing: str = "error"
) -> tuple[Note, ...]:
    """Raise an error if rows (as of ``feature_rows`` for these ids) lack features, and note what is left out.

    ``done`` says what happened to the items: "graded", "judged".
    """
    if missing not in MISSING:
        raise UsageError(f"missing must be 'error' or 'drop'. Got {missing!r}.")
    lacking = ids.filter(pl.Series(rows < 0))
    if lacking.height == ids.height:
        raise InputError(
            f"the features have no item in common with what is {done}: features of {_first(features)}, but {done} "
            f"{shown_ids(ids)}.",
            source=features.source,
            hint="Ids are text: '01' is not '1'. Queries are compared too if both sides have them.",
        )
    notes = list[Note]()
    if lacking.height:
        lacking = lacking.unique(["query", "item"], maintain_order=True)
        shown = shown_ids(lacking)
        count = f"1 {done} item has" if lacking.height == 1 else f"{lacking.height} {done} items have"
        if missing == "error":
            raise InputError(
                f"{count} no features: {shown}.",
                source=features.source,
                hint=("To leave them out: ", Remedy("missing", "drop")),
            )
        left = "is left out" if lacking.height == 1 else "are left out"
        notes.append(Note("no-features", f"{features.source}: {count} no features and {left}: {shown}."))
    used = np.zeros(features.rows, bool)
    used[rows[rows >= 0]] = True
    unused = int((~used).sum())
    if unused:
        shown = shown_ids(features.take(np.flatnonzero(~used)[:4]).ids())
        rest = "1 row of features is" if unused == 1 else f"{unused} rows of features are"
        left = "is left out" if unused == 1 else "are left out"
        notes.append(Note("unused-features", f"{features.source}: {rest} not {done} and {left}: {shown}."))
    return tuple(notes)


def _first(features: Features) -> str:
    return shown_ids(features.take(np.arange(min(features.rows, 4))).ids())
