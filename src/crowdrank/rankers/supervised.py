"""Rankers that learn from labels: ListMLE, LambdaMART and pointwise regression."""

from __future__ import annotations

from typing import Any

from crowdrank.errors import UsageError
from crowdrank.models.parameters import flag, whole
from crowdrank.rankers.label_training import LabelRanker
from crowdrank.rankers.labeled import Labeled
from crowdrank.rankers.objectives import LambdaRank, ListLikelihood, SquaredError
from crowdrank.rankers.objectives.lambda_rank import MEASURES
from crowdrank.rankers.scorers import Scorer

MOST_EXP = 10.0
"""Labels above this take a linear gain: 2^label would leave only the largest one."""


class ListMLE(LabelRanker):
    """The order of each list by label is made likely under Plackett-Luce (Xia et al. 2008, eq. 5).

    L = sum over places of (s_i - ln sum of e^s_j over the documents that remain). ``k``: only the first k places
    count, each against all that remain; None: the whole list. Documents with equal labels share a place.
    """

    scorer: str | Scorer
    k: int | None
    standardize: str | None
    impute: Any
    measure: str
    patience: int
    tune: bool
    seed: int

    name = "listmle"

    def __init__(
        self,
        *,
        scorer: str | Scorer = "linear",
        k: int | None = None,
        standardize: str | None = "auto",
        impute: Any = None,
        measure: str = "nDCG@10",
        patience: int = 50,
        tune: bool = False,
        seed: int = 0,
    ) -> None:
        self.scorer, self.k, self.standardize, self.impute = scorer, k, standardize, impute
        self.measure, self.patience, self.tune, self.seed = measure, patience, tune, seed

    def _objective(self, training: Labeled) -> ListLikelihood:
        return ListLikelihood(place_limit(self.k))


class LambdaMART(LabelRanker):
    """Pairs of documents weighted by what exchanging them changes in a measure (Burges 2010); trees by default.

    ``target``: the measure whose change weights a pair: "ndcg", "dcg" or "err". ``k``: only its first k places
    count. ``gain``: "exp" (2^label - 1), "linear", or "auto": linear if a label is above 10. ``normalize``:
    lists with many pairs do not outweigh the others. Labels may be fractions, and every document may have a
    weight.
    """

    scorer: str | Scorer
    target: str
    k: int | None
    gain: str
    normalize: bool
    standardize: str | None
    impute: Any
    measure: str
    patience: int
    tune: bool
    seed: int

    name = "lambdamart"

    def __init__(
        self,
        *,
        scorer: str | Scorer = "trees",
        target: str = "ndcg",
        k: int | None = None,
        gain: str = "auto",
        normalize: bool = True,
        standardize: str | None = "auto",
        impute: Any = None,
        measure: str = "nDCG@10",
        patience: int = 50,
        tune: bool = False,
        seed: int = 0,
    ) -> None:
        self.scorer, self.target, self.k, self.gain, self.normalize = scorer, target, k, gain, normalize
        self.standardize, self.impute = standardize, impute
        self.measure, self.patience, self.tune, self.seed = measure, patience, tune, seed

    def _objective(self, training: Labeled) -> LambdaRank:
        if self.target not in MEASURES:
            raise UsageError(f"The parameter 'target' must be one of {', '.join(MEASURES)}. Got {self.target!r}.")
        if self.gain not in ("auto", "exp", "linear"):
            raise UsageError(f"The parameter 'gain' must be auto, exp or linear. Got {self.gain!r}.")
        most = float(training.label.max())
        gain = self.gain if self.gain != "auto" else "linear" if most > MOST_EXP else "exp"
        return LambdaRank(self.target, place_limit(self.k), gain, flag("normalize", self.normalize), most)


class Regression(LabelRanker):
    """The score of a document approaches its label by least squares: minimize sum_i w_i (y_i - s_i)^2.

    ``center``: "query" subtracts the mean label of each query first, as the order within a query does not depend
    on it; "all" subtracts one mean.
    """

    scorer: str | Scorer
    center: str
    standardize: str | None
    impute: Any
    measure: str
    patience: int
    tune: bool
    seed: int

    name = "regression"

    def __init__(
        self,
        *,
        scorer: str | Scorer = "linear",
        center: str = "query",
        standardize: str | None = "auto",
        impute: Any = None,
        measure: str = "nDCG@10",
        patience: int = 50,
        tune: bool = False,
        seed: int = 0,
    ) -> None:
        self.scorer, self.center, self.standardize, self.impute = scorer, center, standardize, impute
        self.measure, self.patience, self.tune, self.seed = measure, patience, tune, seed

    def _objective(self, training: Labeled) -> SquaredError:
        if self.center not in ("query", "all"):
            raise UsageError(f"The parameter 'center' must be query or all. Got {self.center!r}.")
        mean = float(training.weight @ training.label / training.weight.sum())
        return SquaredError(self.center, mean)

    def learns_across_queries(self, training: Labeled) -> bool:
        """With one mean for all queries, labels may differ between queries alone."""
        return self.center == "all" and bool((training.label != training.label[0]).any())


def place_limit(k: Any) -> int | None:
    """The parameter ``k``: how many places count; None: all."""
    return None if k is None else whole("k", k, low=1)
