"""The climbs of P with several penalties, starts and numbers of trees; the validation queries choose one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers
from crowdrank.errors import Remedy, UsageError
from crowdrank.models.parameters import number, whole
from crowdrank.progress import Progress
from crowdrank.rankers.objectives import LabelObjective, LambdaRank, SoftRank, SquaredError, Targets
from crowdrank.rankers.remap.climb import Climb, Climbed, TargetSide
from crowdrank.rankers.remap.label_features import CROWD_LABEL
from crowdrank.rankers.remap.learners import PENALTIES, Learned, document_shards, solve
from crowdrank.rankers.remap.processing import Processing, label_moments, raw_moments
from crowdrank.rankers.remap.ridge import Point, RidgeSums, System
from crowdrank.rankers.remap.setup import Setup, take_lists, take_rows
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
FEWEST = 10
"""A source of fewer queries grows no trees."""
AUTO_TREES = (0, 100)
"""How many trees are tried if that is left to the validation queries."""


@dataclass(frozen=True, eq=False)
class Tried:
    """A climb with one penalty, one start and some trees. ``session``: of its samples; ``documents``: how many."""

    mu: float
    start: str
    climbed: Climbed
    features: TreeFeatures | None
    session: Any
    documents: int

    @property
    def trees(self) -> int:
        """How many trees are features."""
        return 0 if self.features is None else self.features.count


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
        counts = self._tree_counts()
        own = self.setup.ranker.grow_on == REMAP
        for count in dict.fromkeys([0, *counts] if own else counts):
            if count and tried:
                plain = best_of(tried)
                starts = {plain.start: self.processing_of(blank, plain)}
            else:
                starts = self._starts(blank)
            tried += self._climb_all(count, starts)
        wanted = [one for one in tried if bool(one.trees) == bool(max(counts))] if 0 not in counts else tried
        best = best_of(wanted)
        return self.processing_of(blank, best), best, tuple(tried)

    def _tree_counts(self) -> list[int]:
        """How many trees to try. A source of few queries has none to spare for growing them."""
        given = self.setup.ranker.trees
        counts = list(AUTO_TREES) if given == "auto" else [whole("trees", given)]
        return counts if self.setup.given.source.lists >= FEWEST else [0]

    def _climb_all(self, count: int, starts: Mapping[str, Processing]) -> list[Tried]:
        """The climbs with this many trees, from each start with each penalty."""
        features, lists = self.grow(count, next(iter(starts.values()))) if count else (None, None)
        session, documents = self.open_samples(self._extended(features), lists)
        target, found = self._target_side(features), []
        for name, start in starts.items():
            for mu in self._penalties():
                climbed = self._climb(session, documents, target, mu, features, start)
                found.append(Tried(mu, name, climbed, features, session, documents))
        return found

    def _penalties(self) -> Sequence[float]:
        given = self.setup.ranker.mu
        return PENALTIES if given == "auto" else [number("mu", given, low=0.0)]

    @staticmethod
    def processing_of(blank: Processing, tried: Tried) -> Processing:
        """P after the best step of a climb."""
        alpha, beta = tried.climbed.at(tried.climbed.step)
        return replace(blank, alpha=alpha, beta=beta, mu=tried.mu)

    # ----------------------------------------------------------------------------- the ridge ranker of P

    def learned(self, best: Tried, tried: Sequence[Tried]) -> Learned:
        """The ridge ranker of the best P, with the target's documents, and what it reaches.

        The validation queries have chosen among many steps, so their measures flatter. Hence each half of them is
        measured with the P that the other half would choose.
        """
        held = self.setup.held
        assert held is not None
        measured = np.empty(best.climbed.measured.shape[1])
        halves = np.arange(len(measured)) % 2 == 0
        own = [one for one in tried if bool(one.trees) == bool(best.trees)]
        for half in (halves, ~halves):
            chosen, step = best_step(own, ~half) if half.any() and (~half).any() else (best, best.climbed.step)
            measured[half] = held.by_query(self.finish(chosen, step).scores(held.values))[half]
        climbed = best.climbed
        details = {"mu": best.mu, "trees": best.trees}
        function = self.finish(best, climbed.step)
        return Learned("ridge", function, climbed.step, measured, climbed.curve, details=details)

    def finish(self, tried: Tried, step: int) -> Function:
        """The ridge ranker of P after a step, on the samples and on the target's documents."""
        alpha, beta = tried.climbed.at(step)
        found = tried.session.evaluate(RidgeSums().system, Point(alpha, beta))
        label, weight = self.setup.process(replace(self._blank(), alpha=alpha, beta=beta))
        joined = self.setup.with_target(label, weight)
        more = take_rows(joined, np.arange(len(joined.label)) >= len(label))
        if len(more.label):
            more = replace(more, values=self._extend(tried.features, more.values))
            top = max(float(more.label.max()), 1.0)
            session = self.setup.engine.open(document_shards(more, more.label / top, more.weight))
            expert = session.evaluate(RidgeSums().system, Point(np.ones(1), np.ones(1)))
            found = System(found.gram + expert.gram, found.right + top * expert.right)
        ranker = solve(found.gram, found.right, tried.mu * tried.documents)
        return LinearFunction(ranker) if tried.features is None else ExtendedFunction(tried.features, ranker)

    # ---------------------------------------------------------------------------------------- the climbs

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
        return self._extend(features, self.setup.documents.values)

    @staticmethod
    def _extend(features: TreeFeatures | None, values: Any) -> Any:
        return values if features is None else features.extend(values)

    def placebo(self, order: Integers) -> Learned:
        """P with the label features of other samples, without trees, with each penalty; its ridge ranker alone."""
        held, blank = self.setup.held, self._blank()
        assert held is not None
        session, documents = self.open_samples(self._extended(None), None, order)
        target = self._target_side(None)
        tried = [
            Tried(mu, "label", self._climb(session, documents, target, mu, None, blank), None, session, documents)
            for mu in self._penalties()
        ]
        best = best_of(tried)
        climbed = best.climbed
        found = session.evaluate(RidgeSums().system, Point(*climbed.at(climbed.step)))
        function = LinearFunction(solve(found.gram, found.right, best.mu * documents))
        measured = held.by_query(function.scores(held.values))
        return Learned("ridge", function, climbed.step, measured, climbed.curve)

    def _blank(self) -> Processing:
        """P at its start: alpha = 0, and beta is 1 for the crowd label, 0 for all others."""
        weight_names, value_names = self.setup.by_weight[0], self.setup.by_value[0]
        labels, source = self.setup.given.labels, self.setup.given.source
        said = source.samples["label"].to_numpy()
        return Processing(
            values=tuple(self.setup.given.labels.values),
            weight_names=weight_names,
            value_names=value_names,
            alpha=np.zeros(len(weight_names)),
            beta=np.array([float(name == CROWD_LABEL) for name in value_names]),
            crowd=raw_moments(self.setup.raw, source.weight),
            by_label=label_moments(self.setup.raw, labels.values.tolist(), said, source.weight),
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
        values = np.asarray(self._extend(features, held.values), np.float64)
        climb = Climb(
            session=session,
            target=target,
            penalty=mu * documents,
            measure=lambda b: held.by_query(values @ b),
            step=number("step_size", ranker.step_size, low=0.0),
            rounds=whole("iterations", ranker.iterations),
            patience=whole("patience", ranker.patience, low=1),
            method=ranker.method,
            guard=number("guard", ranker.guard, low=0.0),
            report=self.progress,
        )
        return climb.run(start.alpha, start.beta)

    def _target_side(self, features: TreeFeatures | None) -> TargetSide:
        target, ranker = self.setup.given.target, self.setup.ranker
        assert target is not None
        values = self._extend(features, self.setup.prepare(target, "target").values)
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
            label = self._consensus_label(self.setup.ranker.grow_on)
            weight = np.ones(len(label))
        documents = take_lists(replace(self.setup.documents, label=label, weight=weight / weight.mean()), grown)
        task = open_task(self.setup.engine, documents, SquaredError("query"), seed=self.setup.seed)
        trees = Trees(rounds=count).improve(task).function
        assert isinstance(trees, TreesFunction)
        plain = TreeFeatures(trees, np.ones(trees.booster.num_trees()))
        spread = plain.values(self.setup.documents.values).std(axis=0)
        return TreeFeatures(trees, np.where(spread > 0, spread, 1.0)), rest

    def _consensus_label(self, name: str) -> Floats:
        if name not in self.setup.consensus_labels:
            raise UsageError(
                f"grow_on={name!r} needs honeypots.", hint=("Give them: ", Remedy("honeypots", "FILE"))
            )
        return self.setup.consensus_labels[name]


def best_of(tried: Sequence[Tried]) -> Tried:
    """The climb with the best step; the first of several."""
    return max(tried, key=lambda one: one.climbed.value)


def best_step(tried: Sequence[Tried], queries: NDArray[np.bool_]) -> tuple[Tried, int]:
    """The climb and the step that are best on some of the validation queries."""
    found = []
    for own in tried:
        measured = own.climbed.measured[:, queries]
        known = ~np.isnan(measured).all(axis=0)
        means = measured[:, known].mean(axis=1) if known.any() else np.zeros(len(measured))
        step = int(np.argmax(means))
        found.append((float(means[step]), own, step))
    _, best, step = max(found, key=lambda one: one[0])
    return best, step
