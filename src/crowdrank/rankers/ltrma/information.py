"""What the judgments tell about expertise and ranker together: the observed information (Louis 1982).

    I = information if the true orders were known - covariance of the slopes over the drawn orders

by the thetas and by the weights of a linear ranker, plus prior, side information and penalty. Its inverse has the
standard errors. It also shows the way: EM is slow if little is known about the true orders, because it steps as if
they were known. A step by I instead goes all the way to the maximum.
"""

from __future__ import annotations

import numpy as np

from crowdrank.data import Floats, summed
from crowdrank.rankers.ltrma.expectation import Spread
from crowdrank.rankers.ltrma.expertise import Expertise

LEAST = 0.01
"""In no direction is the information less than this part of what it would be if the true orders were known."""
LEAST_STEP = 0.05
"""The same for steps, which are shorter if the information is uncertain."""


def theta_errors(expertise: Expertise, spread: Spread, weights: Floats, penalty: float) -> Floats:
    """The standard error of each theta; of one that several voices share, if ``weights`` multiply it."""
    inverse = _inverse(expertise, spread, weights, penalty, LEAST)
    return np.asarray(np.sqrt(np.diag(inverse))[expertise.group])


def newton_step(
    expertise: Expertise, spread: Spread, weights: Floats, penalty: float, theta: Floats, ranker: Floats
) -> tuple[Floats, Floats]:
    """The Newton step of the thetas of the voices and of a linear ranker's weights.

    ``expertise``: the solution of the EM step from ``theta``. Its distance from theta times the information is the
    slope there.
    """
    group, groups = expertise.group, int(expertise.group.max()) + 1
    complete = summed(group, expertise.information, groups) + expertise.prior
    known = weights > 0
    away = np.zeros(groups)
    away[group[known]] = (expertise.theta - theta)[known] / weights[known]
    slope = np.concatenate([complete * away, spread.slope - penalty * ranker])
    step = _inverse(expertise, spread, weights, penalty, LEAST_STEP) @ slope
    return step[:groups][group] * weights, step[groups:]


def _inverse(
    expertise: Expertise,
    spread: Spread,
    weights: Floats,
    penalty: float,
    least: float,
) -> Floats:
    """The inverse of the observed information by groups of thetas and by the ranker."""
    group, voices = expertise.group, len(expertise.group)
    groups, others = int(group.max()) + 1, len(spread.curvature)
    side = np.asarray(expertise.side.toarray() if hasattr(expertise.side, "toarray") else expertise.side)
    known = np.zeros((groups + others, groups + others))
    known[:groups, :groups] = side[:groups, :groups]
    known[:groups, :groups] += np.diag(summed(group, expertise.information, groups) + expertise.prior)
    known[groups:, groups:] = spread.curvature + penalty * np.eye(others)
    pool = np.zeros((groups + others, voices + others))
    pool[group, np.arange(voices)] = weights
    pool[groups:, voices:] = np.eye(others)
    scale = np.sqrt(np.maximum(np.diag(known), 1e-300))
    value, vector = np.linalg.eigh((known - pool @ spread.covariance @ pool.T) / np.outer(scale, scale))
    return np.asarray((vector / np.maximum(value, least)) @ vector.T / np.outer(scale, scale))
