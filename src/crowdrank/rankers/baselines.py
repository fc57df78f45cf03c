"""What a ranker must beat: the best single feature, and the mean of the standardized features."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdrank.data import Floats
from crowdrank.measures import MeasureSpec
from crowdrank.rankers.labeled import Labeled
from crowdrank.rankers.preparation import standardize_within

MOST_LISTS = 2000
"""The best feature is chosen on at most this many lists."""
MOST_FEATURES = 2000
"""There is no baseline for more features than this."""


def baseline_scores(training: Labeled, shown: Labeled, measure: MeasureSpec) -> dict[str, tuple[str, Floats]]:
    """The scores of the baselines on the ``shown`` documents, each with a description.

    The best feature, and whether larger or smaller is better, is chosen on training queries.
    """
    if len(training.features.names) > MOST_FEATURES:
        return {}
    chosen = training.take(range(min(training.lists, MOST_LISTS)))
    name, place, sign = _best_feature(chosen, measure)
    values = _dense(shown)
    single = np.nan_to_num(sign * values[:, place].astype(np.float64), nan=-np.inf)
    mean = _known_mean(standardize_within(values.astype(np.float64), shown.start))
    return {
        "best_feature": (f"feature {name}, {'larger' if sign > 0 else 'smaller'} = better", single),
        "mean_feature": ("mean of the features, each standardized within the query", mean),
    }


def _best_feature(chosen: Labeled, measure: MeasureSpec) -> tuple[str, int, float]:
    values, queries, names = _dense(chosen), chosen.queries, chosen.features.names
    best = (-np.inf, 0, 1.0)
    for place in range(len(names)):
        for sign in (1.0, -1.0):
            scores = np.nan_to_num(sign * values[:, place].astype(np.float64), nan=-np.inf)
            found = queries.mean(measure, scores)
            if found > best[0]:
                best = (found, place, sign)
    return names[best[1]], best[1], best[2]


def _dense(labeled: Labeled) -> Any:
    return labeled.features.dense(labeled.rows)


def _known_mean(values: Floats) -> Floats:
    known = ~np.isnan(values)
    return np.where(known, values, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
