"""Variance-BT: Bradley-Terry with a scale for each worker (Volkovs & Zemel 2012, as Crowd-BT section 5.3 has it).

    P(i beats j, said by k) = F(a_k (s_i - s_j))

A sharp worker has a large slope a, a careless one a slope near 0. With ``signed`` a slope may be
negative: a worker whose votes count reversed. Only the products a_k s_i are in the data, so the
slopes have a geometric mean (signed: a mean) of about 1 by their prior.
"""

from __future__ import annotations

import numpy as np

from crowdrank.errors import UsageError
from crowdrank.kernels import LOGISTIC
from crowdrank.models.pairs.estimator import PairedModel
from crowdrank.models.parameters import estimable
from crowdrank.models.priors import ColumnPrior, NormalPrior
from crowdrank.models.worker_parameters import LOG_SLOPE, SLOPE, WorkerParameter


class VarianceBT(PairedModel):
    """Bradley-Terry with a slope for each worker.

        max  sum over votes ln F(a_k (s_winner - s_loser)) + lambda sum_i ln F(s_i) F(-s_i) + ln prior(a)

    ``slope_sd``: the standard deviation of ln a (of a itself where ``signed``) around its mean of 0 (of 1),
    estimated from the votes where it is not given. The other parameters are BradleyTerry's. Volkovs &
    Zemel 2012; Chen et al. 2013, section 5.3.
    """

    name = "variance-bt"
    needs_workers = True
    link = LOGISTIC

    def __init__(
        self,
        *,
        signed: bool = False,
        slope_sd: float | str | None = "estimated",
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
        return (SLOPE,) if self.signed else (LOG_SLOPE,)

    def _priors(self) -> dict[WorkerParameter, ColumnPrior]:
        sd = estimable("slope_sd", self.slope_sd, low=1e-6, none=np.inf)
        if sd is None:
            return {}
        (slope,) = self.columns
        return {slope: NormalPrior(slope.perfect, sd)}
