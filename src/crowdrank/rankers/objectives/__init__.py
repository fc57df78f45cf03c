"""What a ranker is trained to do, as derivatives by the score of each document."""

from crowdrank.rankers.objectives.base import Derivatives, LabelObjective, Objective, Targets
from crowdrank.rankers.objectives.drawn_orders import DrawnOrders
from crowdrank.rankers.objectives.lambda_rank import LambdaRank
from crowdrank.rankers.objectives.list_mle import ListLikelihood
from crowdrank.rankers.objectives.list_scores import ListScores, WeightedScores, score_lists
from crowdrank.rankers.objectives.regression import SquaredError
from crowdrank.rankers.objectives.soft_rank import SoftRank

__all__ = [
    "Derivatives",
    "DrawnOrders",
    "LabelObjective",
    "LambdaRank",
    "ListLikelihood",
    "ListScores",
    "Objective",
    "SoftRank",
    "SquaredError",
    "Targets",
    "WeightedScores",
    "score_lists",
]
