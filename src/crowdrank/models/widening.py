"""Wider intervals for models whose workers have parameters, because the information leaves something out.

The information at the maximum takes the strengths of the priors as known, and the posteriors as normal. With few
votes for each item and worker both are wrong: in crowds drawn from the models, up to four of ten true scores lay
outside of their 90 % intervals. So the variance of a centered score s becomes

    (1 + (a items + b workers) / votes) variance + (c workers / votes) s^2

c is for models with a quality eta: pairs that all workers find hard, and workers who err on all pairs, explain the
same votes, so the scale of the scores is hardly known. a, b and c were chosen on simulated crowds;
``benchmarks.coverage`` shows the coverage on others, and on halves of real votes.
"""

from __future__ import annotations

from collections.abc import Collection

from crowdrank.data import Floats
from crowdrank.models.ascent import Ascent
from crowdrank.models.worker_parameters import ETA, WorkerParameter
from crowdrank.solve import Covariance, Widened

BY_ETA = (22.0, 0.0, 0.6)
BY_SLOPE = (12.0, 3.0, 0.0)
"""a, b and c."""


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
    if covariance is None or not any(column.affects_quality for column in varying):
        return covariance
    a, b, c = BY_ETA if ETA in varying else BY_SLOPE
    votes = max(climb.total - gold, 1e-300)
    items, workers = (count / votes for count in (int(climb.judged.sum()), climb.members))
    return Widened(covariance, scores, 1.0 + a * items + b * workers, c * workers)
