"""Majority vote: the shares of the votes are the posterior of the label."""

from __future__ import annotations

import numpy as np

from crowdrank.data import summed
from crowdrank.models.base import LabelsModel, Outcome, Run, number
from crowdrank.models.labels.consensus import (
    Counted,
    against_the_others,
    moments,
    of_correlation,
    placed,
    told,
)
from crowdrank.prepared.label_rows import normalize_counts
from crowdrank.prepared.labels import Labels


class MajorityVote(LabelsModel):
    """P_i(l) = (votes of i for l + s / K) / (votes of i + s), and the score is the expected label.

    ``smoothing``: s, as if each item had that many labels more, spread evenly over the K labels; with 0 the
    posterior is the votes alone. Every worker counts the same. Of labels with as many votes the smaller one is
    taken.
    """

    name = "majority-vote"

    def __init__(self, *, smoothing: float = 1.0, seed: int = 0) -> None:
        self.smoothing = smoothing
        self.seed = seed

    def _fit(self, labels: Labels, run: Run) -> Outcome:
        smoothing = number("smoothing", self.smoothing, low=0)
        posterior = normalize_counts(labels.counts + smoothing / len(labels.values))
        people = None
        if labels.index.workers is not None:
            chance = labels.weight * posterior[labels.node, labels.label]
            accuracy = summed(labels.worker, chance, labels.people) / np.maximum(
                labels.judgments_of_workers, 1e-300
            )
            r, _ = against_the_others(labels)
            people = of_correlation(labels, r, told(labels) * labels.judgments_of_workers, {"accuracy": accuracy})
        return Outcome(
            spread=placed(labels, *moments(posterior, labels.values)),
            workers=people,
            notes=tuple(labels.notes()),
            predictor=Counted(posterior, posterior.mean(axis=0)),
            tables={"labels": labels.posterior(posterior)},
        )
