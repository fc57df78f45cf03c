"""Each loop written once: iterate (EM), maximise (Newton), and the information with what follows from it."""

from crowdrank.results import Covariance
from crowdrank.solve.arrow import Arrow, Independent, Inverse, Rescaled, Scaled
from crowdrank.solve.intervals import Density, Spread, by_probability, highest_density, resampled, spread
from crowdrank.solve.iterate import accelerate, extrapolated, iterate
from crowdrank.solve.matrices import NotPositiveError, accumulate
from crowdrank.solve.maximise import (
    NO_WORKERS,
    Bounds,
    Maximum,
    Penalty,
    Point,
    Terms,
    frozen_workers,
    information,
    maximise,
)

__all__ = [
    "NO_WORKERS",
    "Arrow",
    "Bounds",
    "Covariance",
    "Density",
    "Independent",
    "Inverse",
    "Maximum",
    "NotPositiveError",
    "Penalty",
    "Point",
    "Rescaled",
    "Scaled",
    "Spread",
    "Terms",
    "accelerate",
    "accumulate",
    "by_probability",
    "extrapolated",
    "frozen_workers",
    "highest_density",
    "information",
    "iterate",
    "maximise",
    "resampled",
    "spread",
]
