"""Each loop written once: iterate (EM), maximise (Newton), and the information with what follows from it."""

from crowdrank.solve.arrow import Arrow, Covariance, NotPositiveError
from crowdrank.solve.intervals import Spread, highest_density, spread
from crowdrank.solve.iterate import iterate
from crowdrank.solve.maximise import Bounds, Maximum, Penalty, Point, Terms, maximise

__all__ = [
    "Arrow",
    "Bounds",
    "Covariance",
    "Maximum",
    "NotPositiveError",
    "Penalty",
    "Point",
    "Spread",
    "Terms",
    "highest_density",
    "iterate",
    "maximise",
    "spread",
]
