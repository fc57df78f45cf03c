"""Wider intervals, because the information leaves something out.

The information at the maximum takes the strengths of the priors as known, and the posteriors as normal. With few
votes for each item and worker both are wrong: in crowds drawn from the models, up to four of ten true scores lay
outside of their 90 % intervals. All constants were chosen on simulated crowds; ``benchmarks.coverage`` shows the
coverage on others, and on halves of real votes.

**Workers have parameters.** The variance of a centered score s becomes

    (1 + (a items + b workers) / votes) variance + (c workers / votes) s^2

c is for models with a quality eta: pairs that all workers find hard, and workers who err on all pairs, explain the
same votes, so the scale of the scores is hardly known.

**Workers are alike.** If votes are few and one-sided, the strength lambda of the scores' prior is estimated too
large, and all scores shrink. Their order stays, and so do standard errors, ranks and tiers; but the truth lies
farther out. So intervals reach farther out. With d = ds / d ln lambda, and r the share by which the scores s
shrink if ln lambda grows by 1, the outer end is at the distance

    z sqrt(variance + (c r d)^2)      r = -(s'd) / (s's)

as if ln lambda were too large by a normal error of standard deviation c r: the more the prior decides, the less is
known about it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from crowdrank.data import Floats
from crowdrank.models.ascent import Ascent, fixed_parameters
from crowdrank.models.worker_parameters import ETA, WorkerParameter
from crowdrank.results import Z
from crowdrank.solve import Covariance, Maximum, Spread, Widened

BY_ETA = (22.0, 0.0, 0.6)
BY_SLOPE = (12.0, 3.0, 0.0)
"""a, b and c of models whose workers have parameters."""
BY_LINK = {"logistic": 6.0, "probit": 7.0}
"""c of models whose workers are alike. That of Plackett-Luce is logistic: its lists of two items are votes."""


def widen(
    climb: Ascent,
    varying: Collection[WorkerParameter],
    covariance: Covariance | None,
    scores: Floats,
    gold: float = 0.0,
) -> Covariance | None:
    """The covariance of the scores, widened if the workers have parameters of their own.

    ``varying``: the parameters that differ between workers. ``gold``: the weight of gold pairs, not votes.
    """
    if covariance is None or not _differ(varying):
        return covariance
    a, b, c = BY_ETA if ETA in varying else BY_SLOPE
    votes = max(climb.total - gold, 1e-300)
    items, workers = (count / votes for count in (int(climb.judged.sum()), climb.members))
    return Widened(covariance, scores, 1.0 + a * items + b * workers, c * workers)


def _differ(varying: Collection[WorkerParameter]) -> bool:
    return any(column.affects_quality for column in varying)


def reach_outward(
    climb: Ascent, varying: Collection[WorkerParameter], top: Maximum, scores: Spread, factor: float
) -> Spread:
    """The same with intervals that reach farther out, if workers are alike and lambda is estimated.

    ``factor``: c, negative if the scores are those at the maximum with the opposite sign.
    """
    known = np.isfinite(scores.stderr).any()
    if not known or _differ(varying) or not climb.priors.estimates_strength:
        return scores
    own, shift = top.point.scores, shift_by_strength(climb, top)
    share = -float(own @ shift) / max(float(own @ own), 1e-300)
    centered = shift - (np.bincount(climb.part, weights=shift) / np.bincount(climb.part))[climb.part]
    return scores.reaching(-Z * factor * min(max(share, 0.0), 1.0) * centered)


def shift_by_strength(climb: Ascent, top: Maximum) -> Floats:
    """How the scores at the maximum change with ln lambda, the logarithm of the strength of their prior.

    The slopes of the likelihood and of the prior cancel there. With H the information and g the slope of the
    prior, which is proportional to lambda: ds / d ln lambda = H^-1 g.
    """
    slope = climb.priors(top.point).scores
    information = top.curvature.hold(fixed_parameters(top))
    return information.solve(slope, np.zeros_like(top.point.workers), np.zeros_like(top.point.common))[0]
