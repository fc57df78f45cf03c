"""LTRMA: a ranker from the lists of several annotators (Wu et al. 2016).

The true order y of a list is drawn by Plackett-Luce from the scores s of its documents, and what annotator j says
about it by Mallows' model (eq. 6 to 8):

    P(y, y_1, ..., y_G) = PL(y | s) prod_j e^(-theta_j d(y_j, y)) / Z(theta_j)

theta_j is the expertise: larger is more expert, 0 is random, and a negative one is malicious. (The paper has the
opposite sign.) Nobody sees y. LTRMA-MLE maximizes the likelihood of what was said by EM: draw true orders
(ltrma.expectation), then fit the expertise (ltrma.expertise) and the ranker (objectives.drawn_orders) to them.
LTRMA-D first finds the orders and the expertise without features, and then trains the ranker.

Full lists, ties, top-k lists, partial lists, ratings and pairs are one likelihood (kernels.mallows). A statement
about some documents is about their order within y.
"""

from __future__ import annotations

from typing import Any

from crowdrank.errors import UsageError
from crowdrank.rankers.crowd_training import CrowdRanker, CrowdRun, Found
from crowdrank.rankers.ltrma.learning import Learning
from crowdrank.rankers.scorers import Scorer
from crowdrank.rankers.scorers.linear import Linear

METHODS = ("mle", "d")
DISPERSIONS = ("auto", "by-worker", "shared", "weighted")
INFERENCES = ("insertion", "neighbors", "metropolis")
TRAIN_ON = ("samples", "best")
DISTANCES = ("pairs", "top-k")
PENALTY = 0.1
"""The linear scorer's penalty unless one is given. A large one biases the expertise of the workers."""


class LTRMA(CrowdRanker):
    """A ranker from the lists, ratings or pairs of several annotators, and how expert each of them is.

        max  sum over lists ln sum over orders y of  PL(y | s) prod_j e^(-theta_j d(y_j, y)) / Z(theta_j)

    Wu et al. 2016, eq. 9. ``method``: "mle", or "d" for the order first and the ranker afterwards (LTRMA-D).
    ``k``: only the first k places of the true order count in training; None: all. ``dispersion``: whose expertise
    it is: "by-worker", "shared" (one for all), "weighted" (one for all, and the workers are weighted as
    crowd-lists does), or "auto": by-worker unless workers share their errors. ``inference``: how orders are drawn:
    by "insertion" of documents, by exchanges of "neighbors", or by "metropolis" as in the paper. ``train_on``: all
    "samples" of the true order, or the "best" one as in the paper. ``distance``: "pairs" compares a worker's list
    with a true order of all documents; "top-k" compares its first k places with a true list of k documents
    (definition 1 of the paper), without ties. ``theta_sd``: standard deviation of theta among the workers a
    priori. ``iterations``: the most steps of EM.

    The other parameters are those of every ranker.

    >>> import crowdrank as cr
    >>> docs = {"query": [1] * 4 + [2] * 4, "item": [*"abcdefgh"], "length": [9, 7, 4, 1, 8, 6, 3, 2]}
    >>> lists = {"query": docs["query"] * 3, "item": docs["item"] * 3, "worker": [*"u" * 8 + "v" * 8 + "w" * 8]}
    >>> lists["rank"] = [1, 2, 3, 4] * 2 + [1, 2, 4, 3] * 2 + [4, 3, 2, 1] * 2  # w ranks in reverse
    >>> ranker = cr.LTRMA().fit(docs, lists)
    >>> ranker.workers_.frame()["worker", "verdict"].rows()
    [('u', 'reliable'), ('v', 'unsure'), ('w', 'malicious')]
    >>> ranker.score({"item": ["short", "long"], "length": [2, 8]}).frame().sort("score")["item"].to_list()
    ['short', 'long']
    """

    method: str
    scorer: str | Scorer
    k: int | None
    dispersion: str
    inference: str
    train_on: str
    distance: str
    theta_sd: float
    iterations: int
    standardize: str | None
    impute: Any
    measure: str
    patience: int
    seed: int
    name: str

    name = "ltrma-mle"

    def __init__(
        self,
        *,
        method: str = "mle",
        scorer: str | Scorer = "linear",
        k: int | None = None,
        dispersion: str = "auto",
        inference: str = "insertion",
        train_on: str = "samples",
        distance: str = "pairs",
        theta_sd: float = 2.0,
        iterations: int = 200,
        standardize: str | None = "auto",
        impute: Any = None,
        measure: str = "nDCG@10",
        patience: int = 50,
        seed: int = 0,
    ) -> None:
        self.method, self.scorer, self.k, self.dispersion = method, scorer, k, dispersion
        self.inference, self.train_on, self.distance = inference, train_on, distance
        self.theta_sd, self.iterations = theta_sd, iterations
        self.standardize, self.impute, self.measure = standardize, impute, measure
        self.patience, self.seed = patience, seed

    def make_scorer(self) -> Scorer:
        """The scorer. A linear one made from its name has a smaller penalty than elsewhere."""
        if self.scorer == "linear":
            return Linear(penalty=PENALTY)
        return super().make_scorer()

    def _learn(self, run: CrowdRun) -> Found:
        for name, allowed in (
            ("method", METHODS), ("dispersion", DISPERSIONS), ("inference", INFERENCES), ("train_on", TRAIN_ON),
            ("distance", DISTANCES),
        ):  # fmt: skip
            if getattr(self, name) not in allowed:
                raise UsageError(
                    f"The parameter {name!r} must be one of {', '.join(allowed)}. Got {getattr(self, name)!r}."
                )
        self.name = f"ltrma-{self.method}"
        return Learning(self, run).found()
