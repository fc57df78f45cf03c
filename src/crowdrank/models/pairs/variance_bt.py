"""Variance-BT: Bradley-Terry with a scale for each worker (Volkovs & Zemel 2012, as Crowd-BT section 5.2 has it).

    P(i beats j, said by k) = F(a_k (s_i - s_j))

A sharp worker has a large slope a, a careless one a slope near 0. With ``signed`` a slope may be negative; the
votes of that worker count reversed. The data determine only the products a_k s_i, so the prior keeps the geometric
mean of the slopes (signed: their mean) at about 1.
"""

from __future__ import annotations

import numpy as np

from crowdrank.errors import UsageError
from crowdrank.kernels import LOGISTIC
from crowdrank.models.pairs.estimator import PairedModel
from crowdrank.models.parameters import estimable
from crowdrank.models.priors import ColumnPrior, NormalPrior
from crowdrank.models.worker_parameters import LOG_SLOPE, SLOPE, SLOPE_LIMIT, WorkerParameter, limit_slope


class VarianceBT(PairedModel):
    """Bradley-Terry with a slope for each worker.

        max  sum over votes ln F(a_k (s_winner - s_loser)) + lambda sum_i ln F(s_i) F(-s_i) + ln prior(a)

    Volkovs & Zemel 2012; Chen et al. 2013, section 5.2.

    ``signed``: whether slopes may be negative.
    ``slope_sd``: the standard deviation of the normal prior on ln a with mean 0 (if ``signed``, on a with mean 1).
    A number, ``"estimated"`` or None for no prior; the default is ``"estimated"``.
    ``slope_limit``: slopes stay between 1/slope_limit and slope_limit (``signed``: between -slope_limit and it),
    before they are divided by their geometric mean (``signed``: mean). Without a prior, or with a wide one, the
    best slope of a worker who agrees with the order in every vote is infinite; a note counts the workers at the
    limit.
    ``regularization``: lambda, the virtual wins and losses of every item. A number, ``"estimated"``, ``"gold"``
    (the one of several that orders most gold pairs correctly) or None for none; the default is ``"estimated"``.
    ``ties``: ``"rao-kupper"`` or ``"davidson"``, either also with ``-by-worker``, or ``"half"`` (half a win for
    each item). The default ``"auto"`` is Rao-Kupper if there are ties, with a threshold for each worker if the
    model has worker parameters.
    ``position``: a bias towards the left item, ``"none"``, ``"shared"`` or ``"by-worker"``. The default ``"auto"``
    is ``"none"``.
    ``anchor_weight``: how many votes each gold pair counts as.
    ``intervals``: ``"information"``, or from refits ``"bootstrap"`` (votes are resampled) or
    ``"bootstrap-workers"`` (workers are resampled with all their votes).
    ``resamples``: how many refits a bootstrap takes.

    >>> import crowdrank as cr
    >>> pairs = ["ab", "ac", "ad", "bc", "bd", "cd"] * 3
    >>> votes = [("ann", i, j) for i, j in pairs]  # bob reverses every third vote
    >>> votes += [("bob", *(pair if n % 3 else pair[::-1])) for n, pair in enumerate(pairs)]
    >>> cr.VarianceBT().fit(votes).workers_.frame()["slope"].round(2).to_list()
    [1.51, 0.66]
    """

    name = "variance-bt"
    needs_workers = True
    link = LOGISTIC

    def __init__(
        self,
        *,
        signed: bool = False,
        slope_sd: float | str | None = "estimated",
        slope_limit: float = SLOPE_LIMIT,
        regularization: float | str | None = "estimated",
        ties: str = "auto",
        position: str = "auto",
        anchor_weight: float = 1.0,
        intervals: str = "information",
        resamples: int = 1000,
        seed: int = 0,
    ) -> None:
        self.signed = signed
        self.slope_sd = slope_sd
        self.slope_limit = slope_limit
        self.regularization = regularization
        self.ties = ties
        self.position = position
        self.anchor_weight = anchor_weight
        self.intervals = intervals
        self.resamples = resamples
        self.seed = seed

    @property
    def columns(self) -> tuple[WorkerParameter, ...]:
        """The slope itself, or its logarithm."""
        if not isinstance(self.signed, bool):
            raise UsageError(f"The parameter 'signed' must be true or false. Got {self.signed!r}.")
        return (limit_slope(SLOPE if self.signed else LOG_SLOPE, self.slope_limit),)

    def _priors(self) -> dict[WorkerParameter, ColumnPrior]:
        sd = estimable("slope_sd", self.slope_sd, low=1e-6, none=np.inf)
        if sd is None:
            return {}
        (slope,) = self.columns
        return {slope: NormalPrior(slope.perfect, sd)}
