"""Each loop written once: until and rounds (EM), maximise (Newton); and the information with what follows."""

from crowdrank.solve.arrow import Arrow, Covariance, Independent, Inverse, Joint, Rescaled
from crowdrank.solve.em import accelerate, extrapolate, rounds, until
from crowdrank.solve.intervals import Density, Spread, by_probability, highest_density, resampled, spread
from crowdrank.solve.matrices import NotPositiveError, accumulate
from crowdrank.solve.maximise import (
    NO_WORKERS,
    Bounds,
    Maximum,
    Penalty,
    PenaltyTerms,
    Point,
    frozen_workers,
    information,
    maximise,
)
from crowdrank.solve.sums import At, Curvature, Draw, Gradient, Information, LikelihoodSums

__all__ = [
    "NO_WORKERS",
    "Arrow",
    "At",
    "Bounds",
    "Covariance",
    "Curvature",
    "Density",
    "Draw",
    "Gradient",
    "Independent",
    "Information",
    "Inverse",
    "Joint",
    "LikelihoodSums",
    "Maximum",
    "NotPositiveError",
    "Penalty",
    "PenaltyTerms",
    "Point",
    "Rescaled",
    "Spread",
    "accelerate",
    "accumulate",
    "by_probability",
    "extrapolate",
    "frozen_workers",
    "highest_density",
    "information",
    "maximise",
    "resampled",
    "rounds",
    "spread",
    "until",
]
