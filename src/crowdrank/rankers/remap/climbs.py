"""The climbs of P with several penalties, starts and numbers of trees; the validation queries choose one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdrank.data import Floats, Integers
from crowdrank.models.parameters import number, whole
from crowdrank.rankers.base import Progress
from crowdrank.rankers.objectives import LabelObjective, LambdaRank, SoftRank, SquaredError, Targets
from crowdrank.rankers.remap.climb import Climb, Climbed, TargetSide
from crowdrank.rankers.remap.label_features import CROWD_LABEL
from crowdrank.rankers.remap.learners import PENALTIES, Learned
from crowdrank.rankers.remap.processing import Processing, raw_moments
from crowdrank.rankers.remap.setup import Setup, take_lists
from crowdrank.rankers.scorers import Function
from crowdrank.rankers.scorers.extended import ExtendedFunction, TreeFeatures
from crowdrank.rankers.scorers.linear import LinearFunction
from crowdrank.rankers.scorers.trees import Trees, TreesFunction
from crowdrank.rankers.tasks import open_task

REMAP = "remap"
GROWN_ON = (REMAP, "soft dawid-skene", "average", "majority", "dawid-skene", "glad", "naive bayes")
"""The labels that may grow the trees of the feature extension: P's own, or those of a consensus."""
GROW_SHARE = 0.5
"""The share of the source's queries that grows the trees; P and the ridge ranker are fitted on the rest."""
STEEP = 2.0
"""How steeply the values of the consensus start rise."""
AUTO_TREES = (0, 100)
"""How many trees are tried if that is left to the validation queries."""


@dataclass(frozen=True, eq=False)
class Tried:
    """A climb with one penalty, one number of trees and one start."""

    mu: float
    trees: int
    start: str
    climbed: Climbed
    features: TreeFeatures | None
    lists: Integers | None = None

    @property
    def function(self) -> Function:
        """Its ridge ranker as a function of prepared features."""
        if self.features is None:
            return LinearFunction(self.climbed.ranker)
        return ExtendedFunction(self.features, self.climbed.ranker)


@dataclass(frozen=True, eq=False)
class Climbs:
    """The climbs of a run."""

    setup: Setup
    progress: Progress | None

    def learn_processing(self) -> tuple[Processing, Tried, tuple[Tried, ...]]:
        """Climb with each penalty and number of trees; the one that is best on the validation queries.

        Trees are grown on the output of the best P without them, unless another label is named, and their climbs
        begin at that P.
        """
        blank = self._blank()
        tried = list[Tried]()
        counts = self._numbers("trees", AUTO_TREES, whole)
        for count in dict.fromkeys([0, *counts] if self.setup.ranker.grow_on == REMAP else counts):
            plain = self._best(tried)
            starts = self._starts(blank) if plain is None else {plain.start: self._at(blank, plain)}
            features, lists = self.grow(count, next(iter(starts.values()))) if count else (None, None)
            values = (
                self.setup.documents.values if features is None else features.extend(self.setup.documents.values)
            )
            session, documents = self.open_samples(values, lists)
            target = self._target_side(features)
            for name, start in starts.items():
                for mu in self._numbers("mu", PENALTIES, number):
                    climbed = self._climb(session, documents, target, mu, features, start)
                    tried.append(Tried(mu, count, name, climbed, features, lists))
        best = self._best([own for own in tried if own.trees in counts])
        assert best is not None
        return self._at(blank, best), best, tuple(tried)

    def _starts(self, blank: Processing) -> dict[str, Processing]:
        """Where climbs begin: the paper's start, and values near the labels that Dawid-Skene expects.

        The latter needs Pr(label = c) of Dawid-Skene among the label features. With e = sum_c c Pr(label = c), its
        values are sigma(``STEEP`` (e - mean of e) / sd of e).
        """
        found = {"label": blank, "consensus": self._consensus_start(blank)}
        wanted = self.setup.ranker.start
        return {name: own for name, own in found.items() if own is not None and wanted in ("auto", name)} or {
            "label": blank
        }

    def _consensus_start(self, blank: Processing) -> Processing | None:
        values = self.setup.given.labels.values
        scale = (values - values[0]) / (values[-1] - values[0])
        names = [f"ds_says_{value:g}" for value in values]
        if "rm" not in self.setup.ranker.method or self.setup.asked.probability != "posterior":
            return None
        chosen = {name.partition("|")[0] for name in blank.value_names}
        if not chosen.issuperset(names):
            return None
        expected = scale @ np.stack([self.setup.raw.columns[name] for name in names])
        spread = float(expected.std()) or 1.0
        slope = {name: own * blank.crowd[name].sd / spread for name, own in zip(names, scale, strict=True)}
        beta = np.array([STEEP * slope.get(name.partition("|")[0], 0.0) for name in blank.value_names])
        return replace(blank, beta=beta)

    def _extended(self, features: TreeFeatures | None) -> Any:
        """The prepared features of the source, with trees if there are any."""
        values = self.setup.documents.values
        return values if features is None else features.extend(values)

    @staticmethod
    def _best(tried: list[Tried]) -> Tried | None:
        return max(tried, key=lambda one: one.climbed.value) if tried else None

    @staticmethod
    def _at(blank: Processing, tried: Tried) -> Processing:
        return replace(blank, alpha=tried.climbed.alpha, beta=tried.climbed.beta)

    def learn_again(self, best: Tried, order: Integers) -> Learned:
        """The same climb with the label features of other samples, for the placebo."""
        blank, features = self._blank(), best.features
        session, documents = self.open_samples(self._extended(features), best.lists, order)
        climbed = self._climb(session, documents, self._target_side(features), best.mu, features, blank)
        function = replace(best, climbed=climbed).function
        return Learned("ridge", function, climbed.step, climbed.value, climbed.curve)

    def _numbers(self, name: str, automatic: Sequence[Any], check: Any) -> Sequence[Any]:
        given = getattr(self.setup.ranker, name)
        return automatic if given == "auto" else [check(name, given, low=0)]

    def _blank(self) -> Processing:
        """P at its start: alpha = 0, and beta is 1 for the crowd label, 0 for all others."""
        weight_names, value_names = self.setup.by_weight[0], self.setup.by_value[0]
        return Processing(
            values=tuple(self.setup.given.labels.values),
            weight_names=weight_names,
            value_names=value_names,
            alpha=np.zeros(len(weight_names)),
            beta=np.array([float(name == CROWD_LABEL) for name in value_names]),
            crowd=raw_moments(self.setup.raw, self.setup.given.source.weight),
            settings=self.setup.asked.as_dict(),
        )

    def open_samples(
        self, values: Floats, lists: Integers | None, order: Integers | None = None
    ) -> tuple[Any, int]:
        """A session over the samples of some queries, and how many documents they have.

        ``order``: takes label features from other samples, for the placebo.
        """
        by_weight, by_value = self.setup.by_weight[1], self.setup.by_value[1]
        if order is not None:
            same = by_value is by_weight
            by_weight = by_weight[order]
            by_value = by_weight if same else by_value[order]
        shards = self.setup.given.source.shards(values, by_weight, by_value, lists)
        return self.setup.engine.open(shards), sum(len(shard.values) for shard in shards)

    def _climb(
        self,
        session: Any,
        documents: int,
        target: TargetSide,
        mu: float,
        features: TreeFeatures | None,
        start: Processing,
    ) -> Climbed:
        ranker = self.setup.ranker
        assert self.setup.held is not None
        held = self.setup.held
        values = held.values if features is None else features.extend(held.values)
        values = np.asarray(values, np.float64)
        climb = Climb(
            session=session,
            target=target,
            penalty=mu * documents,
            measure=lambda b: held.value(values @ b),
            step=number("step_size", ranker.step_size, low=0.0),
            rounds=whole("steps", ranker.steps, low=0),
            patience=whole("patience", ranker.patience, low=1),
            method=ranker.method,
            guard=number("guard", ranker.guard, low=0.0),
            report=self.progress,
        )
        return climb.run(start.alpha, start.beta)

    def _target_side(self, features: TreeFeatures | None) -> TargetSide:
        target, ranker = self.setup.given.target, self.setup.ranker
        assert target is not None
        values = target.prepare(self.setup.preparation).values
        values = values if features is None else features.extend(values)
        k, most = None if ranker.k is None else whole("k", ranker.k, low=1), float(target.label.max())
        objective: LabelObjective[Any] = LambdaRank(ranker.objective, k, "exp", False, most)
        if ranker.gradient == "softrank":
            objective = SoftRank(ranker.objective, k, "exp")
        plan = objective.plan(Targets(target.start, target.label, target.weight))
        return TargetSide(np.asarray(values, np.float64), objective, plan, target.start)

    def grow(self, count: int, processing: Processing) -> tuple[TreeFeatures, Integers]:
        """Trees grown on a part of the source's queries, and the lists of the rest."""
        grown, rest = self.setup.given.source.split(GROW_SHARE, self.setup.seed)
        if self.setup.ranker.grow_on == REMAP:
            label, weight = self.setup.process(processing)
        else:
            label, weight = (
                self.setup.consensus_labels[self.setup.ranker.grow_on],
                np.ones(len(self.setup.documents.label)),
            )
        documents = take_lists(replace(self.setup.documents, label=label, weight=weight / weight.mean()), grown)
        task = open_task(self.setup.engine, documents, SquaredError("query"), seed=self.setup.seed)
        trees = Trees(rounds=count).improve(task).function
        assert isinstance(trees, TreesFunction)
        plain = TreeFeatures(trees, np.ones(trees.booster.num_trees()))
        spread = plain.values(self.setup.documents.values).std(axis=0)
        return TreeFeatures(trees, np.where(spread > 0, spread, 1.0)), rest
