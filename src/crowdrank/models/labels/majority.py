"""Majority vote: the shares of the votes are the posterior of the label."""

from __future__ import annotations

import numpy as np

from crowdrank.data import Floats, add_by_code
from crowdrank.models.base import LabelsModel, Outcome, Run
from crowdrank.models.labels.consensus import (
    SharePredictor,
    correlation_with_others,
    informative_share,
    label_certainty,
    label_spread,
    moments,
    workers_by_confusion,
    workers_by_correlation,
)
from crowdrank.models.parameters import number
from crowdrank.prepared.label_rows import normalize_counts
from crowdrank.prepared.labels import Labels
from crowdrank.results import Workers


class MajorityVote(LabelsModel):
    """P_i(l) = (votes for l on i + s / K) / (votes on i + s), and the score is the expected label.

    ``smoothing``: s, as if each item had this many extra labels, spread evenly over the K labels. With 0 the
    posterior comes from the votes alone. All workers count the same. Among labels with equally many votes, the
    smallest wins.

    >>> import crowdrank as cr
    >>> labels = {"item": [*"aaab"], "worker": [*"uvwu"], "label": [1, 1, 0, 1]}
    >>> cr.MajorityVote(smoothing=0).fit(labels).labels_
    LabelPosterior: 2 rows
    item  label  probability    p_0    p_1
    a         1        0.667  0.333  0.667
    b         1        1.000  0.000  1.000
    """

    name = "majority-vote"
    needs_order = False

    def __init__(self, *, smoothing: float = 1.0, seed: int = 0) -> None:
        self.smoothing = smoothing
        self.seed = seed

    def _fit(self, labels: Labels, run: Run) -> Outcome:
        smoothing = number("smoothing", self.smoothing, low=0)
        posterior = normalize_counts(labels.counts + smoothing / len(labels.values))
        people = None
        if labels.index.workers is not None and labels.nominal:
            people = _workers_by_others(labels, smoothing, posterior.mean(axis=0))
        elif labels.index.workers is not None:
            right = np.zeros(labels.people)
            for part in labels.pieces():
                chance = part.weight * posterior[part.nodes][part.node, part.label]
                add_by_code(right, part.worker, chance)
            accuracy = right / np.maximum(labels.judgments_of_workers, 1e-300)
            r, _ = correlation_with_others(labels)
            people = workers_by_correlation(
                labels, r, informative_share(labels) * labels.judgments_of_workers, {"accuracy": accuracy}
            )
        return Outcome(
            spread=label_certainty(labels, posterior)
            if labels.nominal
            else label_spread(labels, *moments(posterior, labels.values)),
            workers=people,
            notes=tuple(labels.notes()),
            predictor=SharePredictor(posterior, posterior.mean(axis=0)),
            tables={"labels": labels.posterior(posterior)},
        )


def _workers_by_others(labels: Labels, smoothing: float, shares: Floats) -> Workers:
    """The workers by how their labels, which have no order, compare with what all others say of the same items."""
    size = len(labels.values)
    cells = np.zeros(labels.people * size * size)
    for part in labels.pieces():
        others = labels.counts[part.nodes][part.node]
        others[np.arange(len(part.node)), part.label] -= part.weight
        truth = normalize_counts(np.maximum(others, 0.0) + smoothing / size) * part.weight[:, None]
        place = (part.worker[:, None].astype(np.int64) * size + np.arange(size)) * size + part.label[:, None]
        add_by_code(cells, place.ravel(), truth.ravel())
    counts = cells.reshape(-1, size, size)
    confusion = normalize_counts(counts + 1.0 / size)
    return workers_by_confusion(labels, confusion, counts, shares, informative_share(labels), {})
