"""Scores of documents by a trained function, in the order in which the documents were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data import Features, Floats, Integers
from crowdrank.errors import InputError, Note, parameter
from crowdrank.prepared.documents import list_starts, runs
from crowdrank.rankers.preparation import Preparation
from crowdrank.rankers.scorers import Function

CELLS = 1 << 22
"""How many values are prepared and scored at a time."""


@dataclass(frozen=True)
class CrowdExpertise:
    """How expert the workers of a crowd are, for lists of new queries.

    ``dispersion``: whose expertise it is (see ``LTRMA``). ``unranked``: what it meant in training if a list did
    not rank a document, "below" or "unknown"; None without lists. ``known``: for each kind of judgments the theta
    of each worker. ``average``: that of the crowd, for workers who are not known; None if the crowd gave no such
    judgments.
    """

    dispersion: str
    unranked: str | None
    known: dict[str, dict[str, float]]
    average: dict[str, float | None]


@dataclass(frozen=True, eq=False)
class ScoringFunction:
    """A trained function with the preparation of its features: all that is needed to score a document.

    ``crowd``: how expert the workers are, if the ranker learned from a crowd whose lists may be scored with it.
    """

    function: Function
    preparation: Preparation
    takes_missing: bool
    crowd: CrowdExpertise | None = None

    def scores(self, features: Features) -> tuple[Floats, tuple[Note, ...]]:
        """The score of each row, and what the user should know.

        The features are found by name. A missing name is an error; further features are ignored with a note.
        """
        names = self.preparation.names
        own, notes = features.select(names), unknown_notes(features, names)
        if self.preparation.standardize == "query" and own.query is None:
            notes.append(
                Note("one-query", f"There is no query column: all {own.rows} documents count as one query.")
            )
        values: Any = own.values
        if self._keeps_sparse(own) and not self._lacks(values.data):
            return self.function.scores(self.preparation.apply(own.values, np.array([0, own.rows]))), tuple(notes)
        query = np.zeros(own.rows, np.int64) if own.query is None else own.query.astype(np.int64)
        order = np.argsort(query, kind="stable")
        start = list_starts(query[order])
        if self.preparation.standardize == "query" and bool((np.diff(start) == 1).any()):
            notes.append(_lone_note(int((np.diff(start) == 1).sum())))
        scores = np.empty(own.rows)
        for low, high in runs(start, max(CELLS // max(len(names), 1), 1)):
            rows = order[start[low] : start[high]]
            scores[rows] = self._score_block(own, rows, start[low : high + 1] - start[low])
        return scores, tuple(notes)

    def _score_block(self, features: Features, rows: Integers, start: Integers) -> Floats:
        straight = len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all())
        values = features.dense(slice(int(rows[0]), int(rows[-1]) + 1) if straight else rows)
        if self._lacks(values):
            raise _missing_error(features, values, rows)
        return self.function.scores(self.preparation.apply(values, start))

    def _lacks(self, values: Any) -> bool:
        """Whether values are missing that nothing replaces."""
        return self.preparation.fill is None and not self.takes_missing and bool(np.isnan(values).any())

    def _keeps_sparse(self, features: Features) -> bool:
        sparse = features.summary()["storage"] == "sparse"
        return sparse and self.preparation.standardize in (None, "scale")


def unknown_notes(features: Features, names: Sequence[str]) -> list[Note]:
    """Notes on features that are not among these names, and on names that no row has."""
    extra, absent = features.extra(names), features.absent(names)
    return [*([_extra_note(extra)] if extra else []), *([_absent_note(absent)] if absent else [])]


def _extra_note(extra: tuple[str, ...]) -> Note:
    shown = ", ".join(map(repr, extra[:3])) + (", ..." if len(extra) > 3 else "")
    count = (
        "1 feature that the ranker does not know is"
        if len(extra) == 1
        else f"{len(extra)} features that the ranker does not know are"
    )
    return Note("extra-features", f"{count} ignored: {shown}.")


def _absent_note(absent: tuple[str, ...]) -> Note:
    shown = ", ".join(map(repr, absent[:3])) + (", ..." if len(absent) > 3 else "")
    count = "1 feature of the ranker is" if len(absent) == 1 else f"{len(absent)} features of the ranker are"
    return Note("absent-features", f"{count} in no row and counts as 0, as the file leaves out zeros: {shown}.")


def _lone_note(count: int) -> Note:
    queries = "1 query has" if count == 1 else f"{count} queries have"
    return Note(
        "lone-documents",
        f"{queries} only one document. Features are standardized within the query, so its score says nothing.",
    )


def _missing_error(features: Features, values: Any, rows: Integers) -> InputError:
    row, column = (int(one) for one in np.argwhere(np.isnan(values))[0])
    return InputError(
        "the value is missing, and this ranker was trained without a rule for missing values.",
        source=features.source,
        row=int(rows[row]) + 1,
        column=features.names[column],
        hint=("Train it with one: ", parameter("impute", "mean")),
    )
