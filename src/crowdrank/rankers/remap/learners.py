"""Rankers of documents that have a label and a weight each: ridge, boosted regression, LambdaMART.

What follows P, and what follows a consensus of the crowd: all learners stop, or choose their penalty, by the same
validation queries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logit

from crowdrank.data import Floats
from crowdrank.engine import Engine
from crowdrank.measures import MeasureSpec
from crowdrank.prepared.documents import Documents
from crowdrank.prepared.plan import cut
from crowdrank.rankers.labeled import Labeled
from crowdrank.rankers.objectives import LabelObjective, LambdaRank, SquaredError
from crowdrank.rankers.remap.climb import factor
from crowdrank.rankers.remap.ridge import Point, RidgeSums, SampleShard
from crowdrank.rankers.scorers import Function, Scorer
from crowdrank.rankers.scorers.base import Watch
from crowdrank.rankers.scorers.linear import LinearFunction
from crowdrank.rankers.tasks import open_task

LEARNERS = ("ridge", "regression", "lambdamart")
PENALTIES = (0.03, 0.1, 0.3, 1.0)
"""The values of mu to try, each times the number of documents."""


@dataclass(frozen=True, eq=False)
class Held:
    """Validation queries: their documents with prepared features, and the measure."""

    labeled: Labeled
    values: Floats
    measure: MeasureSpec

    def value(self, scores: Floats) -> float:
        """The mean measure of these scores."""
        return self.labeled.queries.mean(self.measure, scores)

    def by_query(self, scores: Floats) -> Floats:
        """The measure of each query."""
        return self.labeled.queries.by_query(self.measure, scores)


@dataclass(frozen=True, eq=False)
class Learned:
    """A trained function, how often it was improved, and its value on the validation queries."""

    learner: str
    function: Function
    iterations: int
    value: float
    curve: tuple[tuple[int, float], ...] = ()
    converged: bool = True
    details: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Learners:
    """Trains learners on the documents of one source. Without validation queries all rounds are taken."""

    engine: Engine
    documents: Documents
    held: Held | None
    scorer: Scorer
    patience: int
    seed: int
    penalty: float | None = None

    def train(self, learner: str, label: Floats, weight: Floats, *, grades: bool = False) -> Learned:
        """Train on a label, from 0 to 1 unless they are ``grades``, and a weight of each document."""
        if learner == "ridge":
            return self._ridge(label / max(float(label.max()), 1.0), weight)
        documents = replace(self.documents, label=label, weight=weight / max(float(weight.mean()), 1e-300))
        objective: LabelObjective[Any] = SquaredError("query")
        if learner == "lambdamart":
            objective = LambdaRank("ndcg", None, "exp" if grades else "linear", True, float(label.max()))
        task = open_task(self.engine, documents, objective, seed=self.seed)
        curve: list[tuple[int, float]] = []
        watch = None
        if self.held is not None:
            watch = Watch(
                self.held.values, self.held.value, lambda step, value: curve.append((step, value)), self.patience
            )
        trained = self.scorer.improve(task, watch=watch)
        value = np.nan if self.held is None else self.held.value(trained.function.scores(self.held.values))
        return Learned(learner, trained.function, trained.iterations, value, tuple(curve), trained.converged)

    def _ridge(self, label: Floats, weight: Floats) -> Learned:
        """The ridge ranker, with the penalty that is best on the validation queries."""
        session = self.engine.open(document_shards(self.documents, label, weight))
        found = session.evaluate(RidgeSums().system, Point(np.ones(1), np.ones(1)))
        tried = []
        for share in PENALTIES if self.penalty is None and self.held is not None else (self.penalty or 0.1,):
            function = LinearFunction(solve(found.gram, found.right, share * float(weight.sum())))
            value = np.nan if self.held is None else self.held.value(function.scores(self.held.values))
            tried.append(Learned("ridge", function, 1, value, details={"mu": share}))
        return max(tried, key=lambda one: -np.inf if np.isnan(one.value) else one.value)


def solve(gram: Floats, right: Floats, penalty: float) -> Floats:
    """The ridge ranker of a system."""
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve(factor(gram, penalty), right))


def document_shards(documents: Documents, label: Floats, weight: Floats) -> list[SampleShard]:
    """Documents as samples with a fixed weight and value: sigma(inf) = 1, sigma(logit(label)) = label."""
    shards = []
    for low, high in cut(documents.start[1:], width=max(documents.width // 8, 1)):
        rows = slice(int(documents.start[low]), int(documents.start[high]))
        count = rows.stop - rows.start
        shards.append(
            SampleShard(
                documents.values[rows],
                documents.start[low : high + 1] - rows.start,
                np.arange(count),
                weight[rows],
                np.full((count, 1), np.inf),
                logit(label[rows])[:, None],
                np.zeros(count, np.int64),
                1,
            )
        )
    return shards
