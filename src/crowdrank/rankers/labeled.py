"""Labeled documents: features joined with labels, list by list, split by query and prepared for a scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data import (
    Features,
    Floats,
    Integers,
    Scored,
    align,
    feature_rows,
    read_features,
    read_gold,
)
from crowdrank.data.spool.features import FeatureFile
from crowdrank.data.spool.folder import writing
from crowdrank.errors import InputError, Note, Remedy, UsageError, count_noun
from crowdrank.kernels.segments import segment_of
from crowdrank.prepared.documents import Documents, list_starts, runs, sort_by_content
from crowdrank.random import generator
from crowdrank.rankers.preparation import BLOCK, Preparation
from crowdrank.rankers.scoring import unknown_notes
from crowdrank.rankers.validation import LabeledQueries

MOST_LABEL = 1e12
"""Labels above this have no exact differences in training."""


@dataclass(frozen=True, eq=False)
class Labeled:
    """Documents with labels, list by list: ``rows`` of the features, the start of each list, its query's id."""

    features: Features
    rows: Integers
    start: Integers
    label: Floats
    weight: Floats
    query: pl.Series
    notes: tuple[Note, ...] = ()
    most: float | None = None
    """The largest label, also of queries that were split off."""

    @property
    def lists(self) -> int:
        """The number of queries."""
        return len(self.start) - 1

    @property
    def informative(self) -> int:
        """The number of queries with different labels."""
        begins = self.start[:-1]
        low, high = (function.reduceat(self.label, begins) for function in (np.minimum, np.maximum))
        return int((low < high).sum())

    @cached_property
    def queries(self) -> LabeledQueries:
        """The labels by query, for measures."""
        return LabeledQueries(self.start, self.label, self.most)

    @cached_property
    def by_name(self) -> Integers:
        """The lists in the order of their queries' ids."""
        return self.query.arg_sort().to_numpy().astype(np.int64)

    def take(self, lists: Sequence[int] | Integers) -> Labeled:
        """Only these lists, in their order."""
        chosen = np.zeros(self.lists, bool)
        chosen[np.asarray(lists, np.int64)] = True
        inside = chosen[segment_of(self.start)]
        sizes = np.diff(self.start)[chosen]
        return replace(
            self,
            rows=self.rows[inside],
            start=np.append(0, np.cumsum(sizes)),
            label=self.label[inside],
            weight=self.weight[inside],
            query=self.query.filter(pl.Series(chosen)),
            notes=(),
        )

    def raw(self) -> Features:
        """The features of these documents, in this order."""
        if len(self.rows) == self.features.rows and bool((np.diff(self.rows) == 1).all()):
            return self.features
        return self.features.take(self.rows)

    def prepare(self, preparation: Preparation) -> Documents:
        """The documents as a scorer takes them.

        Features are standardized within the query over all its documents, also those without a label: when new
        documents are scored, nobody knows which of them would have one.
        """
        if preparation.standardize == "query" and len(self._candidates) > len(self.rows):
            return self._documents(self._prepare_candidates(preparation))
        raw = self.raw()
        if isinstance(raw.values, FeatureFile):
            return self._documents(_prepare_file(raw, self.start, preparation))
        return self._documents(preparation.apply(raw.values, self.start))

    def _documents(self, values: Any) -> Documents:
        return Documents(values, self.start, self.label, self.weight, self.rows)

    @cached_property
    def _candidates(self) -> Integers:
        """The rows of all documents of these queries; only the labeled ones if features have no queries."""
        query = self.features.query
        return self.rows if query is None else np.flatnonzero(np.isin(query, np.unique(query[self.rows])))

    def _prepare_candidates(self, preparation: Preparation) -> NDArray[np.float32]:
        """The prepared values of the labeled documents, among all documents of their queries."""
        every = self._candidates
        query, alike = np.asarray(self.features.query, np.int64), np.zeros(len(every))
        every = every[_order(self.features, every, query[every], alike, alike)]
        start = list_starts(query[every])
        place = np.full(self.features.rows, -1)
        place[self.rows] = np.arange(len(self.rows))
        found = np.empty((len(self.rows), len(self.features.names)), np.float32)
        for low, high in runs(start, BLOCK):
            rows = every[start[low] : start[high]]
            values = preparation.apply(self.features.dense(rows), start[low : high + 1] - start[low])
            inside = place[rows] >= 0
            found[place[rows[inside]]] = values[inside]
        return found


def read_labeled(
    features: Any, *, gold: Any, validation: Any, missing: str, columns: Any = None
) -> tuple[Labeled, Labeled | float | None]:
    """The labeled documents, and the validation: labeled documents too, a share, or None.

    If gold has labels of both, each side takes its own.
    """
    table = read_features(features, columns=columns)
    grades = None if gold is None else gold if isinstance(gold, Scored) else read_gold(gold)
    if validation is None or (isinstance(validation, int | float) and not isinstance(validation, bool)):
        return label_documents(table, grades, missing=missing), validation
    other = read_features(validation, columns=columns, only=table.names)
    held = replace(other.select(table.names), notes=(*other.notes, *unknown_notes(other, table.names)))
    mine, theirs = (None, None) if grades is None else _divide_gold(grades, table, held)
    return label_documents(table, mine, missing=missing), label_documents(held, theirs, missing=missing)


def _divide_gold(gold: Scored, training: Features, validation: Features) -> tuple[Scored, Scored]:
    """The gold of training and that of validation. Items that have features in neither stay with training."""
    frame = gold.frame
    query = None if frame["query"].null_count() == frame.height else frame["query"]
    here, there = (feature_rows(table, query, frame["item"]) >= 0 for table in (training, validation))
    mine = Scored(frame.filter(pl.Series(here | ~there)))
    return mine, Scored(frame.filter(pl.Series(there))) if there.any() else gold


def label_documents(features: Features, gold: Scored | None, *, missing: str = "error") -> Labeled:
    """Join features with the labels in them, or with ``gold`` if it is given.

    Documents without a label, with a label below 0 (not judged) or with the weight 0 are left out with a note.
    ``missing``: whether an item of the gold without features is an error or is left out ("drop").
    """
    if gold is None:
        rows, label, notes = _own_labels(features)
        query = np.zeros(features.rows, np.int64) if features.query is None else features.query
        query, names = query[rows], _query_names(features)
    else:
        found = align(features, gold, missing=missing)
        rows, label, notes, query, names = found.rows, found.values, list(found.notes), found.query, found.queries
    weight = np.ones(len(rows)) if features.weight is None else np.asarray(features.weight)[rows]
    keep = (label >= 0) & (weight > 0)
    notes += _left_out(int((label < 0).sum()), int(((weight <= 0) & (label >= 0)).sum()))
    if not keep.any():
        why = "every weight is 0." if (label >= 0).any() else "every label is below 0, which means not judged."
        raise InputError(f"there is no document to learn from: {why}", source=features.source)
    if features.weight is not None and np.ptp(weight[keep]) > 0:
        notes.append(Note("weights", "The column weight says how much each document counts."))
    if names.null_count():
        notes.append(Note("one-query", f"There is no query column: all {len(rows)} documents count as one query."))
    rows, label, weight, query = rows[keep], label[keep], weight[keep], query[keep].astype(np.int64)
    order = _order(features, rows, query, label, weight)
    start = list_starts(query[order])
    ids = names.gather(query[order][start[:-1]])
    most = float(label.max())
    if most > MOST_LABEL:
        raise InputError(f"the label {most:g} is too large to learn from.", source=features.source)
    every = (*features.notes, *notes)
    return Labeled(features, rows[order], start, label[order], weight[order], ids, every, most)


def split_by_query(labeled: Labeled, share: float, seed: int) -> tuple[Labeled, Labeled]:
    """Training and validation documents: a ``share`` of the queries, drawn by ``seed``, is kept for validation.

    The draw is among the ids in sorted order, so that other features of the same queries give the same split.
    """
    if not 0 < share < 1:
        raise UsageError(f"The share of validation queries must be between 0 and 1. Got {share!r}.")
    count = round(share * labeled.lists)
    if not 0 < count < labeled.lists:
        raise InputError(
            f"{count_noun(labeled.lists, 'query')} cannot be split with a share of {share:g} for validation."
        )
    order = labeled.by_name[generator(seed, key=1).permutation(labeled.lists)]
    return replace(labeled.take(order[count:]), notes=labeled.notes), labeled.take(order[:count])


def overlap_notes(training: Labeled, validation: Labeled) -> tuple[Note, ...]:
    """A note if queries are in both."""
    both = training.query.filter(training.query.is_in(validation.query.to_list()))
    if not len(both) or training.query.null_count():
        return ()
    return (
        Note(
            "validation-overlap",
            f"{count_noun(len(both), 'query is', 'queries are')} both in training and in validation.",
        ),
    )


def _own_labels(features: Features) -> tuple[Integers, Floats, list[Note]]:
    if features.label is None or np.isnan(features.label).all():
        raise InputError(
            "there are no labels to learn from.",
            source=features.source,
            hint=("Give them in a column named label, or in a file of their own: ", Remedy("gold", "FILE")),
        )
    rows = np.flatnonzero(~np.isnan(features.label))
    unlabeled = features.rows - len(rows)
    of = f"of {count_noun(features.rows, 'document')} "
    words = count_noun(unlabeled, of + "has no label and is", of + "have no label and are")
    notes = [Note("unlabeled", f"{words} left out.")]
    return rows, np.asarray(features.label)[rows], notes if unlabeled else []


def _query_names(features: Features) -> pl.Series:
    if features.index.queries is None:
        return pl.Series("query", [None], pl.String)
    return features.index.queries.rename("query")


def _left_out(negative: int, weightless: int) -> list[Note]:
    notes = []
    if negative:
        words = count_noun(
            negative,
            "label is below 0, which means not judged, and is",
            "labels are below 0, which means not judged, and are",
        )
        notes.append(Note("not-judged", f"{words} left out."))
    if weightless:
        words = count_noun(weightless, "document has the weight 0 and is", "documents have the weight 0 and are")
        notes.append(Note("weight-0", f"{words} left out."))
    return notes


def _order(features: Features, rows: Integers, query: Integers, label: Floats, weight: Floats) -> Integers:
    """List by list. What is in a file keeps its order within a list: to sort it by content, it would be read
    twice.
    """
    if isinstance(features.values, FeatureFile):
        return np.argsort(query, kind="stable")
    whole = len(rows) == features.rows and bool((np.diff(rows) == 1).all())
    return sort_by_content(features.values if whole else features.values[rows], query, label, weight)


def _prepare_file(raw: Features, start: Integers, preparation: Preparation) -> FeatureFile:
    """Write the prepared values to a file, some queries at a time."""
    assert isinstance(raw.values, FeatureFile)
    spool = raw.values.spool
    path = spool.folder("prepared") / "values"
    with writing(path), path.open("wb") as file:
        for low, high in runs(start, BLOCK):
            values = raw.dense(slice(int(start[low]), int(start[high])))
            file.write(np.ascontiguousarray(preparation.apply(values, start[low : high + 1] - start[low])).data)
    return FeatureFile(path=path, rows=raw.rows, width=raw.values.width, spool=spool)
