"""What a run of remap prepares once: documents, validation queries, the consensus of the crowd, label features."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Features, Floats, Integers, Scored, summed
from crowdrank.engine import Engine
from crowdrank.errors import InputError, Note, parameter
from crowdrank.kernels.segments import totals
from crowdrank.measures import MeasureSpec
from crowdrank.models.parameters import flag, number, whole
from crowdrank.prepared.documents import Documents
from crowdrank.rankers.labeled import Labeled
from crowdrank.rankers.preparation import Preparation, flat_notes, learn_preparation
from crowdrank.rankers.remap.consensus import Consensus
from crowdrank.rankers.remap.label_columns import LabelColumns
from crowdrank.rankers.remap.label_features import RawFeatures, choose_names, cross, raw_features
from crowdrank.rankers.remap.learners import Held, Learners
from crowdrank.rankers.remap.processing import Processing, raw_moments
from crowdrank.rankers.remap.samples import CrowdLabels, Source, dense_documents
from crowdrank.rankers.scorers import Function, Scorer
from crowdrank.rankers.scorers.trees import TreesFunction
from crowdrank.rankers.scoring import ScoringFunction
from crowdrank.rankers.validation import one_measure

if TYPE_CHECKING:
    from crowdrank.rankers.remap.remap import Remap

LEAST = 1e-12
"""No label weighs less: documents of weight 0 would have no label."""


@dataclass(frozen=True, eq=False)
class Given:
    """What a run is given: the source with its labels, the target, validation queries, and what is known."""

    source: Source
    labels: CrowdLabels
    target: Labeled | None
    held: Labeled | None
    gold: Scored | None
    processing: Processing | None
    own: LabelColumns | None


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
        self.measure: MeasureSpec = one_measure(ranker.measure)
        self.scorer: Scorer = ranker.make_scorer()
        self.seed: int = whole("seed", ranker.seed)
        self.asked: AskedFeatures = AskedFeatures.of(ranker, self.given.processing)
        raw = source.features.take(source.rows)
        self.preparation: Preparation
        self.preparation, notes = _learn_preparation(raw, ranker)
        self.documents: Documents = source.documents(self.preparation)
        self.consensus: Consensus = Consensus(self.given.labels, self.engine)
        self.consensus_labels: dict[str, Floats] = self.consensus.documents(source.keys())
        self.notes += [*notes, *flat_notes(self.preparation, raw, self.documents.values), *self.consensus.notes()]

    @cached_property
    def held(self) -> Held | None:
        """The validation queries."""
        labeled = self.given.held
        if labeled is None:
            return None
        held = Held(labeled, self.prepare(labeled, "validation queries").values, self.measure)
        if np.isnan(held.by_query(np.zeros(len(labeled.label)))).all() or labeled.informative == 0:
            raise InputError(
                f"no validation query has an order for {self.measure.text} to measure.",
                source=labeled.features.source,
                hint="Give queries with several documents and different labels.",
            )
        return held

    @cached_property
    def target(self) -> Documents | None:
        """The documents of the target, with experts' labels as parts of the largest one."""
        labeled = self.given.target
        if labeled is None:
            return None
        found = self.prepare(labeled, "target")
        return replace(found, label=found.label / max(float(found.label.max()), 1e-300))

    def prepare(self, labeled: Labeled, what: str) -> Documents:
        """Labeled documents of other queries, as learners take them. A missing value is an error."""
        found = dense_documents(labeled.prepare(self.preparation))
        if np.isnan(found.values).any():
            raise InputError(
                f"the {what} have missing values." if what.endswith("s") else f"the {what} has missing values.",
                source=labeled.features.source,
                hint=("Fill them: ", parameter("impute", "mean")),
            )
        return found

    @cached_property
    def learners(self) -> Learners:
        """The learners on the documents of the source."""
        patience = whole("patience", self.ranker.patience, low=1)
        penalty = None if self.ranker.mu == "auto" else number("mu", self.ranker.mu, low=0.0)
        if penalty is None and self.given.processing is not None:
            penalty = self.given.processing.mu
        return Learners(self.engine, self.documents, self.held, self.scorer, patience, self.seed, penalty)

    def with_target(self, label: Floats, weight: Floats) -> Documents:
        """The documents of the source with these labels and weights, and those of the target.

        A document of the target counts ``target_weight`` times an average one of the source. The experts' labels
        are scaled to the spread that the labels of the source have within queries.
        """
        source = replace(self.documents, label=label, weight=weight)
        times = number("target_weight", self.ranker.target_weight, low=0.0)
        if self.target is None or not times:
            return source
        scale = spread_within(label, source.start) / max(
            spread_within(self.target.label, self.target.start), 1e-12
        )
        count = len(self.target.label)
        return Documents(
            np.vstack([source.values, self.target.values]),
            np.concatenate([source.start, source.start[-1] + self.target.start[1:]]),
            np.concatenate([label, scale * self.target.label]),
            np.concatenate([weight, np.full(count, times * float(weight.mean()))]),
            np.concatenate([source.rows, self.target.rows]),
        )

    @cached_property
    def raw(self) -> RawFeatures:
        """The raw label features: those of table 1, the user's own, and the ranking features if they are named."""
        source, asked = self.given.source, self.asked
        found = raw_features(self.given.labels, self.consensus, source.samples, asked.probability)
        if self.given.own is not None:
            own, notes = self.given.own.read(source.samples)
            self.notes += notes
            taken = [name for name in own if name in found.columns]
            if taken:
                raise InputError(
                    f"the column {taken[0]!r} has the name of another label feature.", hint="Rename it."
                )
            found = found.with_columns("own", own)
        names = f"{asked.weight_features},{asked.value_features}"
        if "ranking" in names:
            values = self.documents.values[source.document].astype(np.float64)
            columns = {f"x_{name}": values[:, place] for place, name in enumerate(self.preparation.names)}
            found = found.with_columns("ranking", columns)
        return found

    def _cross(self, kind: str) -> tuple[tuple[str, ...], Floats]:
        """The standardized label features of a ``kind``, "weight" or "value"; those of a given P in its order."""
        parameter_name = f"{kind}_features"
        chosen = choose_names(self.raw, getattr(self.asked, parameter_name), parameter_name)
        samples = self.given.source.samples
        found = cross(self.standard, self.given.labels, samples, chosen, crossed=self.asked.crossed)
        return found if self.given.processing is None else self.given.processing.pick(kind, *found)

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
        return self._cross("weight")

    @cached_property
    def by_value(self) -> tuple[tuple[str, ...], Floats]:
        """The names and values of the label features of values."""
        if self.asked.value_features == self.asked.weight_features:
            return self.by_weight
        return self._cross("value")

    def scoring(self, function: Function) -> ScoringFunction:
        """A trained function with the preparation of its features."""
        trees = isinstance(function, TreesFunction)
        return ScoringFunction(function, self.preparation, trees and self.preparation.fill is None)

    def process(self, processing: Processing) -> tuple[Floats, Floats]:
        """The label and the weight of each document: sum of w l / sum of w, and sum of w."""
        source = self.given.source
        weight = np.maximum(source.weight * processing.weights(self.by_weight[1]), LEAST)
        value = processing.remap(self.by_value[1])
        mass = summed(source.document, weight, len(source.rows))
        return summed(source.document, weight * value, len(source.rows)) / mass, mass


def _learn_preparation(raw: Features, ranker: Remap) -> tuple[Preparation, tuple[Note, ...]]:
    """The preparation of the source's features. Missing values must be filled, for trees too."""
    ones = np.ones(raw.rows)
    try:
        return learn_preparation(
            raw, ones, standardize=ranker.standardize, impute=ranker.impute, takes_missing=False
        )
    except InputError as error:
        if "missing values" in str(error):
            error.hint = ("Fill them: ", parameter("impute", "mean"))
        raise


def spread_within(values: Floats, start: Integers) -> float:
    """The standard deviation within queries."""
    sizes = np.diff(start)
    return float(np.sqrt(np.mean((values - np.repeat(totals(values, start) / sizes, sizes)) ** 2)))


def take_rows(documents: Documents, kept: NDArray[np.bool_]) -> Documents:
    """Some of the documents; queries of which none is left are gone."""
    sizes = totals(kept, documents.start).astype(np.int64)
    start = np.append(0, np.cumsum(sizes[sizes > 0]))
    return Documents(
        documents.values[kept], start, documents.label[kept], documents.weight[kept], documents.rows[kept]
    )


def take_lists(documents: Documents, lists: Integers) -> Documents:
    """The documents of these lists."""
    rows = np.concatenate([np.arange(documents.start[one], documents.start[one + 1]) for one in lists])
    start = np.append(0, np.cumsum(np.diff(documents.start)[lists]))
    return Documents(
        documents.values[rows], start, documents.label[rows], documents.weight[rows], documents.rows[rows]
    )
