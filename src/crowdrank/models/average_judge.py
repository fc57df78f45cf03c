"""Scores in units of the average judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdrank.models.ascent import Ascent, fixed_parameters
from crowdrank.solve import Covariance, Maximum, Rescaled


def rescale_to_average_judge(
    climb: Ascent, top: Maximum, covariance: Covariance | None
) -> tuple[Maximum, Covariance | None, float]:
    """The same in units of the average judge: scores times the mean slope, slopes divided by it.

    The votes determine only the products of slopes and scores. The slopes' prior has a mean of 1, but holds
    the mean of these judges' slopes only loosely. Also returns the scale.
    """
    place = next((place for place, column in enumerate(climb.columns) if column.is_slope), None)
    if place is None:
        return top, covariance, 1.0
    slope, point, people = climb.columns[place], top.point, slice(0, climb.members)
    scale, rate = slope.unit(float(point.workers[people, place].mean()))
    assert slope.divide is not None
    workers = point.workers.copy()
    workers[people, place] = slope.divide(workers[people, place], scale)
    moved = replace(top, point=replace(point, scores=scale * point.scores, workers=workers))
    if covariance is None:
        return moved, None, scale
    weights = np.zeros_like(workers)
    weights[people, place] = np.where(fixed_parameters(top)[people, place], 0.0, rate / climb.members)
    units = np.array([1.0 / scale if column.is_scaled else 1.0 for column in climb.columns])
    return moved, Rescaled(covariance, point.scores, scale, weights, units), scale
