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
from crowdrank.rankers.remap.samples import center_within
from crowdrank.rankers.scorers import Function, Scorer
from crowdrank.rankers.scorers.base import Watch
from crowdrank.rankers.scorers.linear import LinearFunction
from crowdrank.rankers.tasks import open_task

LEARNERS = ("ridge", "regression", "lambdamart")
PENALTIES = (0.03, 0.1, 0.3, 1.0)
"""The values of mu to try, each times the number of documents."""
USUAL = 0.1
"""mu if nothing chooses it."""


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
    """A trained function, how often it was improved, and the measure of each validation query, if there are any.

    The ridge ranker of P has measures of queries that did not choose its P; see ``Climbs.learned``.
    """

    learner: str
    function: Function
    iterations: int
    measured: Floats
    curve: tuple[tuple[int, float], ...] = ()
    converged: bool = True
    details: dict[str, Any] | None = None

    @property
    def value(self) -> float:
        """The mean over the validation queries; minus infinity without any."""
        known = self.measured[~np.isnan(self.measured)]
        return float(known.mean()) if len(known) else -np.inf


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

    def train(
        self,
        learner: str,
        label: Floats,
        weight: Floats,
        *,
        documents: Documents | None = None,
        grades: bool = False,
    ) -> Learned:
        """Train on a label, from 0 to 1 unless they are ``grades``, and a weight of each document.

        ``documents``: other ones than those of the source.
        """
        given = self.documents if documents is None else documents
        if learner == "ridge":
            return self._ridge(given, label / max(float(label.max()), 1.0), weight)
        given = replace(given, label=label, weight=weight / max(float(weight.mean()), 1e-300))
        objective: LabelObjective[Any] = SquaredError("query")
        if learner == "lambdamart":
            objective = LambdaRank("ndcg", None, "exp" if grades else "linear", True, float(label.max()))
        task = open_task(self.engine, given, objective, seed=self.seed)
        curve: list[tuple[int, float]] = []
        watch = None
        if self.held is not None:
            watch = Watch(
                self.held.values, self.held.value, lambda step, value: curve.append((step, value)), self.patience
            )
        trained = self.scorer.improve(task, watch=watch)
        measured = self._measure(trained.function)
        return Learned(learner, trained.function, trained.iterations, measured, tuple(curve), trained.converged)

    def _ridge(self, documents: Documents, label: Floats, weight: Floats) -> Learned:
        """The ridge ranker, with the given penalty or the one that is best on the validation queries."""
        session = self.engine.open(document_shards(documents, label, weight))
        found = session.evaluate(RidgeSums().system, Point(np.ones(1), np.ones(1)))
        choices = (self.penalty,) if self.penalty is not None else PENALTIES if self.held is not None else (USUAL,)
        tried = []
        for mu in choices:
            function = LinearFunction(solve(found.gram, found.right, mu * len(label)))
            tried.append(Learned("ridge", function, 1, self._measure(function), details={"mu": mu}))
        return max(tried, key=lambda one: one.value)

    def _measure(self, function: Function) -> Floats:
        return np.empty(0) if self.held is None else self.held.by_query(function.scores(self.held.values))


def solve(gram: Floats, right: Floats, penalty: float) -> Floats:
    """The ridge ranker of a system."""
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve(factor(gram, penalty), right))


def document_shards(documents: Documents, label: Floats, weight: Floats) -> list[SampleShard]:
    """Documents as samples with a fixed weight and value: sigma(inf) = 1, sigma(logit(label)) = label."""
    values = center_within(documents.values, documents.start)
    shards = []
    for low, high in cut(documents.start[1:], width=max(documents.width // 8, 1)):
        rows = slice(int(documents.start[low]), int(documents.start[high]))
        count = rows.stop - rows.start
        shards.append(
            SampleShard(
                values[rows],
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
