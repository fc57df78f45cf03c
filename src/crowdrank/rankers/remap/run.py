"""One run of remap: label features, the climb of P with several penalties and trees, learners on its output."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdrank.data import Floats, Integers, Scored, summed
from crowdrank.engine import Engine
from crowdrank.errors import Note
from crowdrank.models.parameters import flag, number, whole
from crowdrank.prepared.documents import Documents
from crowdrank.rankers.base import Progress, TrainedRanker
from crowdrank.rankers.labeled import Labeled
from crowdrank.rankers.objectives import LabelObjective, LambdaRank, SoftRank, SquaredError, Targets
from crowdrank.rankers.preparation import flat_notes, learn_preparation
from crowdrank.rankers.remap.baselines import Baselines
from crowdrank.rankers.remap.books import Books, Done
from crowdrank.rankers.remap.climb import Climb, Climbed, TargetSide
from crowdrank.rankers.remap.consensus import Consensus
from crowdrank.rankers.remap.label_columns import read_label_columns
from crowdrank.rankers.remap.label_features import (
    CROWD_LABEL,
    RawFeatures,
    choose_names,
    cross,
    raw_features,
)
from crowdrank.rankers.remap.learners import LEARNERS, PENALTIES, Held, Learned, Learners
from crowdrank.rankers.remap.processing import Processing, raw_moments
from crowdrank.rankers.remap.samples import CrowdLabels, Source
from crowdrank.rankers.scorers import Function
from crowdrank.rankers.scorers.extended import ExtendedFunction, TreeFeatures
from crowdrank.rankers.scorers.linear import LinearFunction
from crowdrank.rankers.scorers.trees import Trees, TreesFunction
from crowdrank.rankers.scoring import ScoringFunction
from crowdrank.rankers.tasks import open_task
from crowdrank.rankers.validation import one_measure, paired_difference

if TYPE_CHECKING:
    from crowdrank.rankers.remap.remap import Remap

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
class Given:
    """What a run is given: the source with its labels, the target, validation queries, and what is known."""

    source: Source
    labels: CrowdLabels
    target: Labeled | None
    held: Labeled | None
    gold: Scored | None
    processing: Processing | None
    own: Any


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


@dataclass(eq=False)
class Remapping:
    """One run: what is prepared once, the climbs, the learners and the books."""

    ranker: Remap
    given: Given
    engine: Engine
    progress: Progress | None
    notes: list[Note] = field(default_factory=list)

    # --------------------------------------------------------------------------------- what is prepared

    def _prepare(self) -> None:
        ranker, source = self.ranker, self.given.source
        self.measure = one_measure(ranker.measure)
        self.scorer = ranker.make_scorer()
        raw = source.features.take(source.rows)
        self.preparation, notes = learn_preparation(
            raw,
            np.ones(len(source.rows)),
            standardize=ranker.standardize,
            impute=ranker.impute,
            takes_missing=False,
        )
        self.notes += notes
        self.documents = source.documents(self.preparation)
        self.notes += flat_notes(self.preparation, raw, self.documents.values)
        self.held = None
        if self.given.held is not None:
            self.held = Held(self.given.held, self.given.held.prepare(self.preparation).values, self.measure)
        self.consensus = Consensus(self.given.labels, self.engine)
        self.consensus_labels = self.consensus.documents(source.ids())
        self.notes += self.consensus.notes()

    @cached_property
    def raw(self) -> RawFeatures:
        """The raw label features: those of table 1, the user's own, and the ranking features if they are named."""
        source, ranker = self.given.source, self.ranker
        found = raw_features(self.given.labels, self.consensus, source.samples, ranker.probability)
        if self.given.own is not None:
            found = found.with_columns("own", read_label_columns(self.given.own, source.samples))
        names = f"{ranker.weight_features},{ranker.value_features}"
        if "ranking" in names:
            values = self.documents.values[source.document].astype(np.float64)
            columns = {f"x_{name}": values[:, place] for place, name in enumerate(self.preparation.names)}
            found = found.with_columns("ranking", columns)
        return found

    def _cross(self, given: Any, parameter: str) -> tuple[tuple[str, ...], Floats]:
        """Standardized label features."""
        chosen = choose_names(self.raw, given, parameter)
        crossed = flag("crossed", self.ranker.crossed)
        return cross(self.standard, self.given.labels, self.given.source.samples, chosen, crossed=crossed)

    @cached_property
    def standard(self) -> RawFeatures:
        """The raw label features, standardized as in training."""
        if self.given.processing is not None:
            return self.given.processing.standardize(self.raw)
        moments = raw_moments(self.raw, self.given.source.weight)
        return self.raw.standardized({name: (own.mean, own.sd) for name, own in moments.items()})

    @cached_property
    def by_weight(self) -> tuple[tuple[str, ...], Floats]:
        """The names and values of the label features of weights."""
        return self._cross(self.ranker.weight_features, "weight_features")

    @cached_property
    def by_value(self) -> tuple[tuple[str, ...], Floats]:
        """The names and values of the label features of values."""
        if self.ranker.value_features == self.ranker.weight_features:
            return self.by_weight
        return self._cross(self.ranker.value_features, "value_features")

    # -------------------------------------------------------------------------------------- the climbs

    def learn_processing(self) -> tuple[Processing, Tried, list[Tried]]:
        """Climb with each penalty and number of trees; the one that is best on the validation queries.

        Trees are grown on the output of the best P without them, unless another label is named, and their climbs
        begin at that P.
        """
        blank = self._blank()
        tried = list[Tried]()
        counts = self._numbers("trees", AUTO_TREES, whole)
        for count in dict.fromkeys([0, *counts] if self.ranker.grow_on == REMAP else counts):
            plain = self._best(tried)
            starts = self._starts(blank) if plain is None else {plain.start: self._at(blank, plain)}
            features, lists = self.grow(count, next(iter(starts.values()))) if count else (None, None)
            values = self.documents.values if features is None else features.extend(self.documents.values)
            session, documents = self.open_samples(values, lists)
            target = self._target_side(features)
            for name, start in starts.items():
                for mu in self._numbers("mu", PENALTIES, number):
                    climbed = self._climb(session, documents, target, mu, features, start)
                    tried.append(Tried(mu, count, name, climbed, features, lists))
        best = self._best([own for own in tried if own.trees in counts])
        assert best is not None
        return self._at(blank, best), best, tried

    def _starts(self, blank: Processing) -> dict[str, Processing]:
        """Where climbs begin: the paper's start, and values near the labels that Dawid-Skene expects.

        The latter needs Pr(label = c) of Dawid-Skene among the label features. With e = sum_c c Pr(label = c), its
        values are sigma(``STEEP`` (e - mean of e) / sd of e).
        """
        found = {"label": blank, "consensus": self._consensus_start(blank)}
        wanted = self.ranker.start
        return {name: own for name, own in found.items() if own is not None and wanted in ("auto", name)} or {
            "label": blank
        }

    def _consensus_start(self, blank: Processing) -> Processing | None:
        values = self.given.labels.values
        scale = (values - values[0]) / (values[-1] - values[0])
        names = [f"ds_says_{value:g}" for value in values]
        if "rm" not in self.ranker.method or self.ranker.probability != "posterior":
            return None
        chosen = {name.partition("|")[0] for name in blank.value_names}
        if not chosen.issuperset(names):
            return None
        expected = scale @ np.stack([self.raw.columns[name] for name in names])
        spread = float(expected.std()) or 1.0
        slope = {name: own * blank.crowd[name].sd / spread for name, own in zip(names, scale, strict=True)}
        beta = np.array([STEEP * slope.get(name.partition("|")[0], 0.0) for name in blank.value_names])
        return replace(blank, beta=beta)

    @staticmethod
    def _best(tried: list[Tried]) -> Tried | None:
        return max(tried, key=lambda one: one.climbed.value) if tried else None

    @staticmethod
    def _at(blank: Processing, tried: Tried) -> Processing:
        return replace(blank, alpha=tried.climbed.alpha, beta=tried.climbed.beta)

    def learn_again(self, best: Tried, order: Integers) -> Learned:
        """The same climb with the label features of other samples, for the placebo."""
        blank, features = self._blank(), best.features
        values = self.documents.values if features is None else features.extend(self.documents.values)
        session, documents = self.open_samples(values, best.lists, order)
        climbed = self._climb(session, documents, self._target_side(features), best.mu, features, blank)
        function = replace(best, climbed=climbed).function
        return Learned("ridge", function, climbed.step, climbed.value, climbed.curve)

    def _numbers(self, name: str, automatic: Sequence[Any], check: Any) -> Sequence[Any]:
        given = getattr(self.ranker, name)
        return automatic if given == "auto" else [check(name, given, low=0)]

    def _blank(self) -> Processing:
        """P at its start: alpha = 0, and beta is 1 for the crowd label, 0 for all others."""
        weight_names, value_names = self.by_weight[0], self.by_value[0]
        settings = ("weight_features", "value_features", "crossed", "probability")
        return Processing(
            values=tuple(self.given.labels.values),
            weight_names=weight_names,
            value_names=value_names,
            alpha=np.zeros(len(weight_names)),
            beta=np.array([float(name == CROWD_LABEL) for name in value_names]),
            crowd=raw_moments(self.raw, self.given.source.weight),
            settings={name: getattr(self.ranker, name) for name in settings},
        )

    def open_samples(
        self, values: Floats, lists: Integers | None, order: Integers | None = None
    ) -> tuple[Any, int]:
        """A session over the samples of some queries, and how many documents they have.

        ``order``: takes label features from other samples, for the placebo.
        """
        by_weight, by_value = self.by_weight[1], self.by_value[1]
        if order is not None:
            same = by_value is by_weight
            by_weight = by_weight[order]
            by_value = by_weight if same else by_value[order]
        shards = self.given.source.shards(values, by_weight, by_value, lists)
        return self.engine.open(shards), sum(len(shard.values) for shard in shards)

    def _climb(
        self,
        session: Any,
        documents: int,
        target: TargetSide,
        mu: float,
        features: TreeFeatures | None,
        start: Processing,
    ) -> Climbed:
        ranker = self.ranker
        assert self.held is not None
        held = self.held
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
        target, ranker = self.given.target, self.ranker
        assert target is not None
        values = target.prepare(self.preparation).values
        values = values if features is None else features.extend(values)
        k, most = None if ranker.k is None else whole("k", ranker.k, low=1), float(target.label.max())
        objective: LabelObjective[Any] = LambdaRank(ranker.objective, k, "exp", False, most)
        if ranker.gradient == "softrank":
            objective = SoftRank(ranker.objective, k, "exp")
        plan = objective.plan(Targets(target.start, target.label, target.weight))
        return TargetSide(np.asarray(values, np.float64), objective, plan, target.start)

    def grow(self, count: int, processing: Processing) -> tuple[TreeFeatures, Integers]:
        """Trees grown on a part of the source's queries, and the lists of the rest."""
        grown, rest = self.given.source.split(GROW_SHARE, whole("seed", self.ranker.seed))
        if self.ranker.grow_on == REMAP:
            label, weight = self.process(processing)
        else:
            label, weight = self.consensus_labels[self.ranker.grow_on], np.ones(len(self.documents.label))
        documents = take_lists(replace(self.documents, label=label, weight=weight / weight.mean()), grown)
        task = open_task(self.engine, documents, SquaredError("query"), seed=whole("seed", self.ranker.seed))
        trees = Trees(rounds=count).improve(task).function
        assert isinstance(trees, TreesFunction)
        plain = TreeFeatures(trees, np.ones(trees.booster.num_trees()))
        spread = plain.values(self.documents.values).std(axis=0)
        return TreeFeatures(trees, np.where(spread > 0, spread, 1.0)), rest

    # ------------------------------------------------------------------------------ labels of documents

    def process(self, processing: Processing) -> tuple[Floats, Floats]:
        """The label and the weight of each document: sum of w l / sum of w, and sum of w."""
        source = self.given.source
        weight = source.weight * processing.weights(self.by_weight[1])
        value = processing.remap(self.by_value[1])
        mass = summed(source.document, weight, len(source.rows))
        return summed(source.document, weight * value, len(source.rows)) / np.maximum(mass, 1e-300), mass

    # ------------------------------------------------------------------------------------- the whole run

    def train(self, began: float) -> TrainedRanker:
        """Train, compare, choose, and keep the books."""
        self._prepare()
        best, tried = None, list[Tried]()
        if self.given.processing is None:
            self.processing, best, tried = self.learn_processing()
        else:
            self.processing = self._take_processing(self.given.processing)
        patience, seed = whole("patience", self.ranker.patience, low=1), whole("seed", self.ranker.seed)
        self.learners = Learners(self.engine, self.documents, self.held, self.scorer, patience, seed)
        mine = self._learn(best)
        baselines = Baselines(self).train(best)
        chosen, name = self._choose(mine, baselines)
        done = Done(chosen, name, mine, baselines, best, tuple(tried))
        return Books(self, done).trained(time.perf_counter() - began)

    def _take_processing(self, given: Processing) -> Processing:
        """A P that was trained before, after a look at whether the crowd is like its own."""
        given.check_labels(self.given.labels)
        for name, value in given.settings.items():
            self.ranker.set_params(**{name: value})
        given.require(self.raw)
        self.notes += given.unlike_notes(self.raw, self.given.source.weight)
        return given

    def _learn(self, best: Tried | None) -> dict[str, Learned]:
        """The learners on the output of P."""
        label, weight = self.process(self.processing)
        asked = LEARNERS if self.ranker.learner == "auto" else (self.ranker.learner,)
        if self.held is None and self.ranker.learner == "auto":
            asked = ("ridge",)
        found = {}
        for learner in asked:
            if learner == "ridge" and best is not None:
                details = {"mu": best.mu, "trees": best.trees}
                found[learner] = Learned(
                    "ridge",
                    best.function,
                    best.climbed.step,
                    best.climbed.value,
                    best.climbed.curve,
                    details=details,
                )
            else:
                found[learner] = self.learners.train(learner, label, weight)
        return found

    def _choose(self, mine: dict[str, Learned], others: dict[str, Learned]) -> tuple[Learned, str]:
        """The learner on P's output that is kept; or a consensus that is better on the validation queries.

        Few queries decide, so what is simpler is kept unless another leads it by more than a standard error.
        """
        best = next(iter(mine.values()))
        for other in list(mine.values())[1:]:
            best = other if self._leads(other, best) else best
        rivals = {key: own for key, own in others.items() if key.partition(",")[0] in self.consensus_labels}
        if self.held is None or not rivals:
            return best, REMAP
        key = max(rivals, key=lambda one: rivals[one].value)
        if not self._leads(rivals[key], best):
            return best, REMAP
        message = (
            f"On the validation queries the plain consensus was enough: {key} reaches {self.measure.text} "
            f"{rivals[key].value:.4f}, and remap {best.value:.4f}. The ranker is that of the consensus."
        )
        self.notes.append(Note("fallback", message))
        return rivals[key], key

    def _leads(self, one: Learned, other: Learned) -> bool:
        """Whether one leads the other on the validation queries by more than the standard error of the lead."""
        if self.held is None:
            return False
        lead = paired_difference(self._by_query(one), self._by_query(other))
        return lead["stderr"] is not None and bool(lead["mean"] > lead["stderr"])

    def _by_query(self, learned: Learned) -> Floats:
        assert self.held is not None
        return self.held.by_query(learned.function.scores(self.held.values))

    def scoring(self, learned: Learned) -> ScoringFunction:
        """A trained function with the preparation of its features."""
        trees = isinstance(learned.function, TreesFunction)
        return ScoringFunction(learned.function, self.preparation, trees and self.preparation.fill is None)


def take_lists(documents: Documents, lists: Integers) -> Documents:
    """The documents of these lists."""
    rows = np.concatenate([np.arange(documents.start[one], documents.start[one + 1]) for one in lists])
    start = np.append(0, np.cumsum(np.diff(documents.start)[lists]))
    return Documents(
        documents.values[rows], start, documents.label[rows], documents.weight[rows], documents.rows[rows]
    )
