"""Average: the mean label of each item."""

from __future__ import annotations

import numpy as np

from crowdrank.data import Floats
from crowdrank.models.base import LabelsModel, Outcome, Run
from crowdrank.models.labels.consensus import (
    SharePredictor,
    correlation_with_others,
    informative_share,
    label_spread,
    workers_by_correlation,
)
from crowdrank.prepared.label_rows import normalize_counts
from crowdrank.prepared.labels import Labels


class Average(LabelsModel):
    """score_i = mean label of i, with the standard error sqrt(v / n_i).

    v is the variance of labels around the mean of their item, pooled over all items, because a single item has too
    few labels. If every item has one label, v is the variance of all labels. The posterior of an item's label
    is the shares of its votes.

    >>> import crowdrank as cr
    >>> labels = {"item": ["tea", "tea", "milk", "milk"], "worker": [1, 2, 1, 2], "label": [5, 4, 2, 1]}
    >>> cr.Average().fit(labels).ranking_
    Ranking: 2 items
    rank  ranks   item  score    low   high
       1  1 to 1  tea   4.500  3.678  5.322
       2  2 to 2  milk  1.500  0.678  2.322
    """

    name = "average"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def _fit(self, labels: Labels, run: Run) -> Outcome:
        votes = normalize_counts(labels.counts)
        mean, variance = _means(labels)
        people = None
        if labels.index.workers is not None:
            r, bias = correlation_with_others(labels)
            people = workers_by_correlation(
                labels, r, informative_share(labels) * labels.judgments_of_workers, {"bias": bias}
            )
        return Outcome(
            spread=label_spread(labels, mean, variance, bounded=False),
            workers=people,
            notes=tuple(labels.notes()),
            predictor=SharePredictor(normalize_counts(labels.counts + votes.mean(axis=0)), votes.mean(axis=0)),
            tables={"labels": labels.posterior(votes)},
        )


def _means(labels: Labels) -> tuple[Floats, Floats]:
    """The mean label of each node and its variance; an item without labels has those of all labels."""
    counts, number = labels.counts, labels.judgments_of_nodes
    total = float(number.sum())
    overall = float(counts.sum(axis=0) @ labels.values) / total
    spread = float(counts.sum(axis=0) @ (labels.values - overall) ** 2) / total
    judged = number > 0
    mean = np.where(judged, counts @ labels.values / np.where(judged, number, 1.0), overall)
    free = total - int(judged.sum())
    within = float((counts * (labels.values - mean[:, None]) ** 2).sum()) / free if free > 0 else spread
    return mean, np.where(judged, within / np.where(judged, number, 1.0), spread)
