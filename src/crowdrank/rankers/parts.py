"""Queries dealt into parts, for cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from crowdrank.data import Features, Integers, translate_ids
from crowdrank.errors import InputError, UsageError, count_noun
from crowdrank.models.parameters import whole
from crowdrank.random import generator
from crowdrank.rankers.labeled import Labeled

_DEAL = 2
"""The key of the random numbers that deal queries into parts; validation shares are drawn by key 1."""

Parts = int | Sequence[Iterable[Any]]
"""The number of parts, or the queries of each one."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """The part of each list, and of each row of the features (None if they have no queries)."""

    labeled: Labeled
    parts: int
    part: Integers
    row_part: Integers | None

    def lists(self, *numbers: int) -> Labeled:
        """The labeled documents of these parts."""
        return self.labeled.take(np.flatnonzero(np.isin(self.part, numbers)))

    def documents(self, number: int) -> Integers:
        """The rows to score for this part: all those of its queries, or only the labeled ones."""
        if self.row_part is None:
            return self.lists(number).rows
        return np.flatnonzero(self.row_part == number)


def deal_queries(labeled: Labeled, parts: Parts, seed: int) -> Dealt:
    """Deal the queries into parts.

    ``parts``: their number, and ``seed`` decides which query goes where; or the queries of each part.
    """
    count = parts if isinstance(parts, int | float) else len(parts)
    if count < 2:
        raise UsageError(f"Cross-validation needs at least 2 parts. Got {count}.")
    count = whole("parts", count)
    if isinstance(parts, int | float):
        if labeled.lists < count:
            raise InputError(
                f"{count_noun(labeled.lists, 'query')} cannot be dealt into {count} parts.",
                source=labeled.features.source,
            )
        part = np.empty(labeled.lists, np.int64)
        order = labeled.by_name[generator(seed, key=_DEAL).permutation(labeled.lists)]
        part[order] = np.arange(labeled.lists) % count
        known = dict(zip(labeled.query.to_list(), part.tolist(), strict=True))
    else:
        known = _check_parts(parts)
        part = np.array([known.get(query, -1) for query in labeled.query.to_list()], np.int64)
        _check_coverage(labeled, part, count)
    return Dealt(labeled, count, part, _row_parts(labeled.features, known, count))


def _check_parts(parts: Sequence[Iterable[Any]]) -> dict[Any, int]:
    known: dict[Any, int] = {}
    for number, queries in enumerate(parts):
        for query in queries:
            if known.setdefault(query, number) != number:
                raise InputError(
                    f"the query {query!r} is in part {known[query] + 1} and in part {number + 1}.",
                    hint="A query must be in one part only: otherwise a ranker is tested on what it has seen.",
                )
    return known


def _check_coverage(labeled: Labeled, part: Integers, count: int) -> None:
    if (part < 0).any():
        lost = labeled.query.filter(pl.Series(part < 0))
        raise InputError(
            f"{count_noun(len(lost), 'query is', 'queries are')} in no part: {', '.join(map(repr, lost[:3]))}."
        )
    empty = np.flatnonzero(np.bincount(part, minlength=count) == 0)
    if len(empty):
        raise InputError(f"part {empty[0] + 1} has no query with a label.", source=labeled.features.source)


def _row_parts(features: Features, known: dict[Any, int], count: int) -> Integers | None:
    """The part of each row. Queries without a label were seen by no ranker, so any part will do."""
    if features.query is None or features.index.queries is None:
        return None
    names = features.index.queries
    place = np.arange(len(names), dtype=np.int64) % count
    codes = translate_ids(pl.Series(list(known), dtype=names.dtype), names)
    place[codes[codes >= 0]] = np.array(list(known.values()), np.int64)[codes >= 0]
    return np.asarray(place[features.query])
