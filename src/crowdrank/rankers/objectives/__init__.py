"""What a ranker is trained to do, as derivatives by the score of each document."""

from crowdrank.rankers.objectives.base import Derivatives, Objective, Targets
from crowdrank.rankers.objectives.lambda_rank import LambdaRank
from crowdrank.rankers.objectives.list_mle import ListLikelihood
from crowdrank.rankers.objectives.regression import SquaredError

__all__ = ["Derivatives", "LambdaRank", "ListLikelihood", "Objective", "SquaredError", "Targets"]
