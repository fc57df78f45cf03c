"""What a ranker must beat: the best single feature, and the mean of the standardized features."""

from __future__ import annotations

import numpy as np

from crowdrank.data import Floats
from crowdrank.measures import MeasureSpec
from crowdrank.prepared.documents import runs
from crowdrank.rankers.labeled import Labeled
from crowdrank.rankers.preparation import BLOCK, standardize_within

MOST_DOCUMENTS = 50_000
"""The best feature is chosen on lists of about this many documents."""
MOST_FEATURES = 2000
"""There is no baseline for more features than this."""


def baseline_scores(training: Labeled, shown: Labeled, measure: MeasureSpec) -> dict[str, tuple[str, Floats]]:
    """The scores of the baselines on the ``shown`` documents, each with a description.

    The best feature, and whether larger or smaller is better, is chosen on training queries.
    """
    if len(training.features.names) > MOST_FEATURES:
        return {}
    _, end = next(runs(training.start, MOST_DOCUMENTS))
    name, place, sign = _best_feature(training.take(range(end)), measure)
    single, mean = np.empty(len(shown.rows)), np.empty(len(shown.rows))
    for low, high in runs(shown.start, BLOCK):
        rows = slice(int(shown.start[low]), int(shown.start[high]))
        values = shown.features.dense(shown.rows[rows]).astype(np.float64)
        single[rows] = _known_or_last(sign * values[:, place])
        mean[rows] = _known_mean(standardize_within(values, shown.start[low : high + 1] - shown.start[low]))
    return {
        "best_feature": (f"feature {name}, {'larger' if sign > 0 else 'smaller'} = better", single),
        "mean_feature": ("mean of the features, each standardized within the query", mean),
    }


def _best_feature(chosen: Labeled, measure: MeasureSpec) -> tuple[str, int, float]:
    values, queries, names = chosen.features.dense(chosen.rows), chosen.queries, chosen.features.names
    best = (-np.inf, 0, 1.0)
    for place in range(len(names)):
        for sign in (1.0, -1.0):
            found = queries.mean(measure, _known_or_last(sign * values[:, place].astype(np.float64)))
            if found > best[0]:
                best = (found, place, sign)
    return names[best[1]], best[1], best[2]


def _known_or_last(values: Floats) -> Floats:
    """Documents without the feature come last."""
    return np.where(np.isnan(values), -np.inf, values)


def _known_mean(values: Floats) -> Floats:
    known = ~np.isnan(values)
    return np.where(known, values, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
