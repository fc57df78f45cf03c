"""What a run of remap prepares once: documents, validation queries, the consensus of the crowd, label features."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdrank.data import Floats, Integers, Scored, summed
from crowdrank.engine import Engine
from crowdrank.errors import Note
from crowdrank.models.parameters import flag, whole
from crowdrank.prepared.documents import Documents
from crowdrank.rankers.labeled import Labeled
from crowdrank.rankers.preparation import flat_notes, learn_preparation
from crowdrank.rankers.remap.consensus import Consensus
from crowdrank.rankers.remap.label_columns import read_label_columns
from crowdrank.rankers.remap.label_features import RawFeatures, choose_names, cross, raw_features
from crowdrank.rankers.remap.learners import Held, Learners
from crowdrank.rankers.remap.processing import Processing, raw_moments
from crowdrank.rankers.remap.samples import CrowdLabels, Source
from crowdrank.rankers.scorers import Function
from crowdrank.rankers.scorers.trees import TreesFunction
from crowdrank.rankers.scoring import ScoringFunction
from crowdrank.rankers.validation import one_measure

if TYPE_CHECKING:
    from crowdrank.rankers.remap.remap import Remap


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


@dataclass(frozen=True)
class AskedFeatures:
    """Which label features there are, and how they are made; the parameters of these names."""

    weight_features: Any
    value_features: Any
    crossed: bool
    probability: str

    @classmethod
    def of(cls, ranker: Remap, processing: Processing | None) -> AskedFeatures:
        """Those of a P that was trained before, or of the ranker's parameters."""
        if processing is not None:
            return cls(**processing.settings)
        crossed = flag("crossed", ranker.crossed)
        return cls(ranker.weight_features, ranker.value_features, crossed, ranker.probability)

    def as_dict(self) -> dict[str, Any]:
        """By name."""
        return asdict(self)


@dataclass(eq=False)
class Setup:
    """What is prepared once, and what everything else asks for."""

    ranker: Remap
    given: Given
    engine: Engine
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        ranker, source = self.ranker, self.given.source
        self.measure, self.scorer = one_measure(ranker.measure), ranker.make_scorer()
        self.seed = whole("seed", ranker.seed)
        self.asked = AskedFeatures.of(ranker, self.given.processing)
        raw = source.features.take(source.rows)
        self.preparation, notes = learn_preparation(
            raw,
            np.ones(len(source.rows)),
            standardize=ranker.standardize,
            impute=ranker.impute,
            takes_missing=False,
        )
        self.documents = source.documents(self.preparation)
        self.consensus = Consensus(self.given.labels, self.engine)
        self.consensus_labels = self.consensus.documents(source.ids())
        self.notes += [*notes, *flat_notes(self.preparation, raw, self.documents.values), *self.consensus.notes()]

    @cached_property
    def held(self) -> Held | None:
        """The validation queries."""
        labeled = self.given.held
        return None if labeled is None else Held(labeled, labeled.prepare(self.preparation).values, self.measure)

    @cached_property
    def learners(self) -> Learners:
        """The learners on the documents of the source."""
        patience = whole("patience", self.ranker.patience, low=1)
        return Learners(self.engine, self.documents, self.held, self.scorer, patience, self.seed)

    @cached_property
    def raw(self) -> RawFeatures:
        """The raw label features: those of table 1, the user's own, and the ranking features if they are named."""
        source, asked = self.given.source, self.asked
        found = raw_features(self.given.labels, self.consensus, source.samples, asked.probability)
        if self.given.own is not None:
            found = found.with_columns("own", read_label_columns(self.given.own, source.samples))
        names = f"{asked.weight_features},{asked.value_features}"
        if "ranking" in names:
            values = self.documents.values[source.document].astype(np.float64)
            columns = {f"x_{name}": values[:, place] for place, name in enumerate(self.preparation.names)}
            found = found.with_columns("ranking", columns)
        return found

    def _cross(self, given: Any, parameter: str) -> tuple[tuple[str, ...], Floats]:
        """Standardized label features."""
        chosen, samples = choose_names(self.raw, given, parameter), self.given.source.samples
        return cross(self.standard, self.given.labels, samples, chosen, crossed=self.asked.crossed)

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
        return self._cross(self.asked.weight_features, "weight_features")

    @cached_property
    def by_value(self) -> tuple[tuple[str, ...], Floats]:
        """The names and values of the label features of values."""
        if self.asked.value_features == self.asked.weight_features:
            return self.by_weight
        return self._cross(self.asked.value_features, "value_features")

    def scoring(self, function: Function) -> ScoringFunction:
        """A trained function with the preparation of its features."""
        trees = isinstance(function, TreesFunction)
        return ScoringFunction(function, self.preparation, trees and self.preparation.fill is None)

    def process(self, processing: Processing) -> tuple[Floats, Floats]:
        """The label and the weight of each document: sum of w l / sum of w, and sum of w."""
        source = self.given.source
        weight = source.weight * processing.weights(self.by_weight[1])
        value = processing.remap(self.by_value[1])
        mass = summed(source.document, weight, len(source.rows))
        return summed(source.document, weight * value, len(source.rows)) / np.maximum(mass, 1e-300), mass


def take_lists(documents: Documents, lists: Integers) -> Documents:
    """The documents of these lists."""
    rows = np.concatenate([np.arange(documents.start[one], documents.start[one + 1]) for one in lists])
    start = np.append(0, np.cumsum(np.diff(documents.start)[lists]))
    return Documents(
        documents.values[rows], start, documents.label[rows], documents.weight[rows], documents.rows[rows]
    )
