"""The loops, each written once: newton, em (until, rounds, accelerate), lbfgs. Also the information matrix and
the intervals that follow from it."""

from crowdrank.results import Covariance
from crowdrank.solve.arrow import Arrow, Inverse
from crowdrank.solve.arrow_problem import (
    NO_WORKERS,
    ArrowProblem,
    Bounds,
    Maximum,
    Penalty,
    PenaltyTerms,
    Point,
    freeze_workers,
    information,
    maximize,
)
from crowdrank.solve.em import Mixing, Tempered, accelerate, rounds, until
from crowdrank.solve.intervals import (
    Density,
    Spread,
    highest_density,
    spread,
    spread_probabilities,
    spread_resamples,
)
from crowdrank.solve.lbfgs import WeightsMaximum, lbfgs
from crowdrank.solve.matrices import NotPositiveError, accumulate
from crowdrank.solve.newton import Look, Problem, Step, Top, newton, newton_batch, newton_within, slope_goal
from crowdrank.solve.scaled import Independent, Rescaled, Scaled, Widened
from crowdrank.solve.sums import At, Curvature, Draw, Gradient, Information, LikelihoodSums

__all__ = [
    "NO_WORKERS",
    "Arrow",
    "ArrowProblem",
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
    "LikelihoodSums",
    "Look",
    "Maximum",
    "Mixing",
    "NotPositiveError",
    "Penalty",
    "PenaltyTerms",
    "Point",
    "Problem",
    "Rescaled",
    "Scaled",
    "Spread",
    "Step",
    "Tempered",
    "Top",
    "WeightsMaximum",
    "Widened",
    "accelerate",
    "accumulate",
    "freeze_workers",
    "highest_density",
    "information",
    "lbfgs",
    "maximize",
    "newton",
    "newton_batch",
    "newton_within",
    "rounds",
    "slope_goal",
    "spread",
    "spread_probabilities",
    "spread_resamples",
    "until",
]
