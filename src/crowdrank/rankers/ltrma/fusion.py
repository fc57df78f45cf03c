"""Features and judgments of new queries together.

If each worker has an expertise, the score of a document is the expected number of documents below it,

    y ~ PL(y | s) prod_j e^(-theta_j d(y_j, y))

which is the E-step of LTRMA at the expertise that training found. If the workers share their errors
(``dispersion`` "weighted"), this would count their errors several times. Then the score is the mean of two, each
standardized within the query: that of the features, and the weighted mean of the lists' scores as crowd-lists has
them. A worker who was not seen in training has the mean expertise of the crowd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crowdrank.data import (
    Features,
    Floats,
    Integers,
    Judgments,
    Pairs,
    Rankings,
    feature_rows,
    read,
    summed,
    to_lists,
)
from crowdrank.engine import LocalEngine, one_blas_thread
from crowdrank.errors import InputError, Note, count_noun
from crowdrank.models.lists.crowd_lists import savage_scores
from crowdrank.prepared.documents import Documents
from crowdrank.prepared.lists import Lists
from crowdrank.rankers.crowd_training import shards_of
from crowdrank.rankers.judged import LISTS, Judged, join_judgments, read_judgments
from crowdrank.rankers.ltrma.expectation import EXTRAS, Expectancy, Expectation
from crowdrank.rankers.preparation import standardize_within
from crowdrank.rankers.scoring import CrowdExpertise

SWEEPS, BURN, MOST_TURNS = 60, 15, 64
"""The draws of the mean order, those before it, and the most turns of a sweep of a long list."""


def fuse_judgments(
    features: Features, scores: Floats, judgments: Any, crowd: CrowdExpertise, *, columns: Any = None
) -> tuple[Floats, tuple[Note, ...]]:
    """The scores of all rows, those of judged queries by features and judgments together; and notes.

    Queries without judgments keep the scores by features alone. Judged items without features are left out.
    """
    tables = _read_as_in_training(judgments, columns, crowd)
    judged = join_judgments(features, tables, missing="drop", whole_queries=True)
    fused, rows = scores.copy(), judged.documents.rows
    names = [name for name, kind in judged.voices.names() if name not in crowd.known[kind]]
    notes = [note for note in judged.notes if note.code != "unused-features"]
    notes += _strangers_note(names)
    if crowd.dispersion == "weighted":
        fused[rows] = _mean_of_two(features, scores, tables, judged, crowd)
    else:
        fused[rows] = _expected_order(scores[rows], judged, crowd)
    left = features.rows - len(rows)
    if left:
        of = f"of {count_noun(features.rows, 'document')} "
        words = count_noun(left, of + "is in a query", of + "are in queries")
        message = f"{words} without judgments, and scored by features alone."
        notes.append(Note("unjudged-queries", message))
    return fused, tuple(notes)


def _read_as_in_training(judgments: Any, columns: Any, crowd: CrowdExpertise) -> list[Judgments]:
    """The judgments; in lists that are read here, an unranked document means what it meant in training."""
    many = isinstance(judgments, Sequence) and not isinstance(judgments, str)
    tables = []
    for given in judgments if many else [judgments]:
        (table,) = read_judgments(given, columns=columns)
        fresh = isinstance(table, Rankings) and given is not table and crowd.unranked is not None
        tables.append(read(table, missing=crowd.unranked) if fresh else table)
    return tables


class _Column:
    """Scores that are known already, as the only column of the values."""

    def scores(self, values: Any) -> Floats:
        """The column."""
        return np.asarray(values[:, 0])


def _expected_order(scores: Floats, judged: Judged, crowd: CrowdExpertise) -> Floats:
    """The expected number of documents below each document of the judged queries."""
    theta = np.array([_theta_of(name, kind, crowd) for name, kind in judged.voices.names()])
    own = judged.documents
    documents = Documents(scores[:, None], own.start, own.label, own.weight, own.rows)
    expectation = Expectation(len(theta))
    at = Expectancy(_Column(), np.append(theta, EXTRAS), 0, 0, SWEEPS, turns=MOST_TURNS)
    with one_blas_thread():
        session = LocalEngine().open(shards_of(judged, documents), start=expectation.start, seed=0)
        session.advance(expectation.draw, replace(at, step=1, sweeps=BURN, every=BURN))
        return session.advance(expectation.spread, at).score


def _mean_of_two(
    features: Features, scores: Floats, tables: Sequence[Judgments], judged: Judged, crowd: CrowdExpertise
) -> Floats:
    """The mean of the scores by features and by lists, both standardized within the query."""
    total, weight = np.zeros(features.rows), np.zeros(features.rows)
    for table in tables:
        for part, values in zip((total, weight), _list_scores(features, table, crowd), strict=True):
            part += values
    by_lists = total / np.maximum(weight, 1e-300)
    both = np.stack([scores, by_lists], axis=1)[judged.documents.rows]
    return standardize_within(both, judged.documents.start).mean(axis=1)


def _list_scores(features: Features, table: Judgments, crowd: CrowdExpertise) -> tuple[Floats, Floats]:
    """For each row of the features, the weighted sum of its scores in lists, and the sum of the weights."""
    if isinstance(table, Pairs):
        raise InputError(
            "these judgments are pairs. This ranker learned from workers who share their errors, and takes only "
            "their lists or ratings."
        )
    lists = Lists(to_lists(table))
    names = None if lists.index.workers is None else lists.index.workers.to_list()
    theta = np.array([_theta_of(name, LISTS, crowd) for name in names or [""]])
    own = lists.weight * theta[np.zeros(len(lists), np.int64) if lists.worker is None else lists.worker]
    rows = _rows_of(features, lists)
    kept = rows[lists.node] >= 0
    at, by_row = rows[lists.node][kept], own[lists.list][kept]
    total = summed(at, by_row * savage_scores(lists)[kept], features.rows)
    return total, summed(at, by_row, features.rows)


def _rows_of(features: Features, lists: Lists) -> Integers:
    """The row of the features of each node of the lists, -1 if there is none."""
    queries = lists.index.queries
    asked = None if queries is None else queries.gather(lists.nodes.query)
    return feature_rows(features, asked, lists.index.items.gather(lists.nodes.item))


def _theta_of(worker: str, kind: str, crowd: CrowdExpertise) -> float:
    """The expertise of a worker, or the mean of the crowd."""
    found = crowd.known[kind].get(worker, crowd.average[kind])
    if found is None:
        raise InputError(
            f"these judgments are {kind}, but the ranker learned from others and cannot tell how good {kind} are."
        )
    return found


def _strangers_note(names: Sequence[str]) -> list[Note]:
    """A note on workers that training did not see."""
    strangers = sorted(set(names))
    if not strangers:
        return []
    shown = ", ".join(strangers[:3]) + (", ..." if len(strangers) > 3 else "")
    count = "1 worker was not seen in training and counts"
    if len(strangers) > 1:
        count = f"{len(strangers)} workers were not seen in training and count"
    return [Note("unseen-workers", f"{count} as average: {shown}.")]
