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

    >>> import crowdrank as cr
    >>> docs = {"query": [1, 1, 1, 2, 2, 2], "item": [*"abcdef"], "label": [2, 1, 0] * 2}
    >>> docs |= {"length": [9, 5, 1, 8, 6, 3], "age": [1, 2, 1, 2, 1, 1]}
    >>> ranker = cr.ListMLE().fit(docs)
    >>> ranker.importance_
    Importance: 2 features
    feature  importance  weight
    length        0.726   0.278
    age           0.274   0.105
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

        L = - sum over pairs with y_i > y_j of  v_ij ln(1 + e^-(s_i - s_j))
        v_ij = sqrt(w_i w_j) |change of the measure if i and j are exchanged|

    ``target``: the measure whose change weights a pair: "ndcg", "dcg" or "err". ``k``: only its first k places
    count. ``gain``: "exp" (2^label - 1), "linear", or "auto": linear if a label is above 10. ``normalize``:
    lists with many pairs do not outweigh the others. Labels may be fractions, and every document may have a
    weight.

    >>> import crowdrank as cr
    >>> docs = {"query": [n // 3 for n in range(90)], "item": [*"abc"] * 30, "label": [2, 1, 0] * 30}
    >>> docs["length"], docs["age"] = [7, 5, 1, 9, 6, 4] * 15, [1, 2, 1, 3, 2] * 18
    >>> ranker = cr.LambdaMART(k=3).fit(docs, validation=0.2)
    >>> ranker.importance_
    Importance: 2 features
    feature  importance
    length            1
    age               0
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

    Cossock & Zhang 2006.

    ``center``: "query" subtracts the mean label of each query first, as the order within a query does not depend
    on it; "all" subtracts one mean.

    >>> import crowdrank as cr
    >>> docs = {"query": [1, 1, 1, 2, 2], "item": [*"abcde"], "label": [4, 2, 1, 3, 0], "length": [8, 4, 2, 7, 1]}
    >>> ranker = cr.Regression(scorer=cr.Linear(penalty=0), standardize=None).fit(docs)
    >>> ranker.score({"item": ["x", "y"], "length": [10, 6]}).score.round(2)  # half of the length
    array([5., 3.])
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
