"""Average: the mean label of each item."""

from __future__ import annotations

import numpy as np

from crowdrank.models.base import LabelProbabilities, LabelsModel, Outcome, Run
from crowdrank.models.labelled import Labels
from crowdrank.models.labels.consensus import Counted, against_the_others, of_correlation, placed, told
from crowdrank.models.labels.rows import normalised


class Average(LabelsModel):
    """score_i = mean label of i, with the standard error sqrt(v / n_i).

    v is the variance of labels around the mean of their item, over all items together, for a single item's
    own labels are too few to tell; where every item has one label it is the variance of all labels. The
    posterior of an item's label is the shares of its votes.
    """

    name = "average"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def _fit(self, labels: Labels, run: Run) -> Outcome:
        votes = normalised(labels.counts)
        mean = labels.counts @ labels.values / labels.judgments
        people = None
        if labels.index.workers is not None:
            r, bias = against_the_others(labels)
            people = of_correlation(labels, r, told(labels) * labels.given, {"bias": bias})
        return Outcome(
            spread=placed(labels, mean, _variance(labels, mean) / labels.judgments, bounded=False),
            workers=people,
            notes=tuple(labels.notes()),
            predictor=Counted(normalised(labels.counts + votes.mean(axis=0)), votes.mean(axis=0)),
            labels=LabelProbabilities(labels.values, votes),
        )


def _variance(labels: Labels, mean: np.ndarray) -> float:
    """The variance of labels within items; of all labels where no item has two."""
    free = float(labels.weight.sum()) - len(mean)
    if free > 0:
        return float((labels.counts * (labels.values - mean[:, None]) ** 2).sum()) / free
    return float(np.cov(labels.values[labels.label], aweights=labels.weight, ddof=0))
