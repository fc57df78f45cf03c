"""What a fit returns: one frozen Result with the ranking, the workers, the posterior and further tables."""

from crowdrank.results.beliefs import QUALITY, VARIANCE, Beliefs, beta_of_moments
from crowdrank.results.evidence import Agreement, Evidence
from crowdrank.results.fit import Fit, to_plain
from crowdrank.results.levels import LEVEL, Z, agreement_interval, verdicts
from crowdrank.results.posterior import (
    EXACT_LIMIT,
    Covariance,
    Difference,
    NormalPosterior,
    Posterior,
    Sample,
    center,
)
from crowdrank.results.result import ListPredictor, Predictor, Result
from crowdrank.results.tables import (
    Confusion,
    Easiness,
    Frame,
    LabelPosterior,
    Queries,
    Ranking,
    Reliability,
    Skills,
    Table,
    Workers,
)

__all__ = [
    "EXACT_LIMIT",
    "LEVEL",
    "QUALITY",
    "VARIANCE",
    "Agreement",
    "Beliefs",
    "Confusion",
    "Covariance",
    "Difference",
    "Easiness",
    "Evidence",
    "Fit",
    "Frame",
    "LabelPosterior",
    "ListPredictor",
    "NormalPosterior",
    "Posterior",
    "Predictor",
    "Queries",
    "Ranking",
    "Reliability",
    "Result",
    "Sample",
    "Skills",
    "Table",
    "Workers",
    "Z",
    "agreement_interval",
    "beta_of_moments",
    "center",
    "to_plain",
    "verdicts",
]
