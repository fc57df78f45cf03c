"""Training on the judgments of a crowd: the ranker that learns from them, and the books of one run."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from crowdrank.data import Anchors, Features, Floats, Judgments, Scored, read_features, read_gold
from crowdrank.data.ids import UNKNOWN_WORKER
from crowdrank.data.side_info import SideInfo
from crowdrank.engine import Engine, one_blas_thread, open_engine
from crowdrank.engine.threads import engine_threads
from crowdrank.errors import InputError, Note, Remedy, UsageError, count_noun
from crowdrank.kernels.segments import totals
from crowdrank.measures import MeasureSpec
from crowdrank.models.parameters import whole
from crowdrank.prepared.documents import Documents, DocumentShard, StoredShard
from crowdrank.prepared.statements import cut_blocks
from crowdrank.progress import Progress
from crowdrank.random import generator
from crowdrank.rankers.arguments import JUDGED, refuse_arrays, without_equal_labels
from crowdrank.rankers.base import Ranker, TrainedRanker, importance_table, shown_measures
from crowdrank.rankers.baselines import baseline_scores
from crowdrank.rankers.judged import Judged, join_judgments, read_judgments
from crowdrank.rankers.labeled import Labeled, label_documents
from crowdrank.rankers.preparation import Preparation, flat_notes, learn_preparation, require_values
from crowdrank.rankers.scorers import Function, Scorer
from crowdrank.rankers.scorers.base import Task
from crowdrank.rankers.scoring import CrowdExpertise, ScoringFunction, unknown_notes
from crowdrank.rankers.tables import QueryMeasures, ValidationCurve
from crowdrank.rankers.validation import one_measure, paired_difference
from crowdrank.results import Fit, Table
from crowdrank.results.fit import versions

WORK = 12
"""A shard has fewer documents by this factor than one of labels: orders are drawn for each of them."""
SHARE = 30
"""In how many steps a scorer that stops early may use all of its own steps."""


@dataclass(frozen=True, eq=False)
class Found:
    """What the method of a subclass found.

    ``tables``: its tables by name, such as the workers. ``values``: of the held-out lists, their log likelihood
    per list; with ``chance``, the same if all scores were equal. ``curve``: what validation saw after each step.
    """

    function: Function
    converged: bool
    iterations: int
    log_likelihood: float | None
    notes: tuple[Note, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    expertise: CrowdExpertise | None = None
    curve: tuple[tuple[int, float], ...] = ()
    values: Floats | None = None
    chance: Floats | None = None


class CrowdRanker(Ranker):
    """A ranker that learns from the judgments of a crowd, without true labels. A subclass says how."""

    iterations: int
    k: int | None

    @abstractmethod
    def _learn(self, run: CrowdRun) -> Found:
        """Learn from the crowd. This is the one decision of a subclass."""

    def _use_anchors(self, anchors: Anchors, side_info: SideInfo | None) -> list[Note]:
        """Notes on what is known beforehand, but has no effect here."""
        if not anchors.workers:
            return []
        hint = ("Say what is known about workers as ", Remedy("side_info", "FILE"), ".")
        return [Note("anchors", f"{self.name} does not use the quality of workers in the anchors.", hint)]

    def fit(
        self,
        features: Any,
        judgments: Any,
        *,
        anchors: Any = None,
        side_info: Any = None,
        gold: Any = None,
        validation: Any = None,
        columns: Any = None,
        judgment_columns: Any = None,
        missing: str = "error",
        unranked: str | None = None,
        engine: Engine | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on features and judgments: lists, ratings or pairs, or a sequence of these.

        ``anchors``: true lists, labels or pairs (``Anchors``, or what it reads). ``side_info``: what is known
        about the workers (``SideInfo``, or what it reads). ``gold``: labels that only measure. ``validation``:
        features of other queries, or a share of the judged queries, such as 0.2. Validation is by the measure if
        there is gold for these queries, otherwise by the likelihood of their lists. ``columns``,
        ``judgment_columns``: names of columns of the features and of the judgments. ``missing``: whether a judged
        item without features is an error or is left out ("drop"). ``unranked``: what it means if a list does not
        rank a document of its query, "below" or "unknown"; the default is that of ``crowdrank.read``. ``engine``:
        where to compute. ``progress(step, objective, change)`` is called after each step.
        """
        began = time.perf_counter()
        refuse_arrays(self.name, features, judgments, columns, JUDGED)
        given = Anchors() if anchors is None else Anchors.read(anchors)
        known = None if side_info is None else SideInfo.read(side_info)
        notes = self._use_anchors(given, known)
        tables = read_judgments(judgments, columns=judgment_columns, unranked=unranked)
        table = without_equal_labels(read_features(features, columns=columns))
        grades = _own_labels(table) if gold is None else gold if isinstance(gold, Scored) else read_gold(gold)
        held, source = _read_validation(validation, table, columns)
        training = join_judgments(table, tables, given, missing=missing, elsewhere=source, observed=grades)
        held_out: Judged | None = None
        if isinstance(held, float):
            training, held_out = _split_lists(training, held, whole("seed", self.seed))
        elif source is not None:
            held_out = _join_held(source, tables)
        notes += [
            *table.notes,
            *(() if source is None else source.notes),
            *training.notes,
            *_unnamed_note(training),
        ]
        with open_engine(engine) as place, one_blas_thread():
            run = CrowdRun(self, training, held_out, source, tables, known, grades, place, progress, notes)
            run.require_validation()
            self._trained = run.train(began)
        return self


def _own_labels(features: Features) -> Scored | None:
    """The labels in the features, which only measure here."""
    if features.label is None or np.isnan(features.label).all():
        return None
    known = np.flatnonzero(~np.isnan(features.label))
    frame = features.take(known).ids().with_columns(value=pl.Series(np.asarray(features.label)[known]))
    return Scored(frame)


def _read_validation(given: Any, table: Features, columns: Any) -> tuple[Any, Features | None]:
    """A share of the lists, or features of other queries, whose unknown features are noted."""
    if given is None or (isinstance(given, int | float) and not isinstance(given, bool)):
        return (None if given is None else float(given)), None
    other = read_features(given, columns=columns, only=table.names)
    notes = (*other.notes, *unknown_notes(other, table.names))
    return None, without_equal_labels(replace(other.select(table.names), notes=notes))


def _unnamed_note(judged: Judged) -> list[Note]:
    """A note if judgments name no worker, unless the rows without one were noted already."""
    known = any(note.code == "unknown-workers" for note in judged.notes)
    if known or UNKNOWN_WORKER not in judged.voices.workers:
        return []
    which = "Some judgments" if judged.voices.named else "The judgments"
    return [Note("unknown-workers", f"{which} name no worker, so they share one expertise.")]


def _join_held(source: Features, tables: list[Judgments]) -> Judged | None:
    """The judgments of validation queries, if there are any."""
    try:
        return join_judgments(source, tables, missing="drop")
    except InputError:
        return None


def _split_lists(judged: Judged, share: float, seed: int) -> tuple[Judged, Judged]:
    """Training and validation lists: a ``share`` of the lists, drawn by ``seed``, is kept for validation."""
    count = len(judged.keys)
    if not 0 < share < 1:
        raise UsageError(f"The share of validation queries must be between 0 and 1. Got {share!r}.")
    held = round(share * count)
    if not 0 < held < count:
        raise InputError(f"{count_noun(count, 'query')} cannot be split with a share of {share:g} for validation.")
    order = judged.documents.by_name[generator(seed, key=1).permutation(count)]
    return replace(judged.take(order[held:]), notes=judged.notes), judged.take(order[:held])


@dataclass(eq=False)
class CrowdRun:
    """One run of training: prepared features, shards, the scorer, and the books."""

    ranker: CrowdRanker
    judged: Judged
    held: Judged | None
    held_features: Features | None
    tables: list[Judgments]
    side_info: SideInfo | None
    gold: Scored | None
    engine: Engine
    progress: Progress | None
    notes: list[Note] = field(default_factory=list)

    def train(self, began: float) -> TrainedRanker:
        """Train and keep the books."""
        self.scorer: Scorer = self.ranker.make_scorer()
        self.measure: MeasureSpec = one_measure(self.ranker.measure)
        documents = self.judged.documents
        self.preparation: Preparation
        self.preparation, notes = learn_preparation(
            documents.raw(),
            documents.weight,
            standardize=self.ranker.standardize,
            impute=self.ranker.impute,
            takes_missing=self.scorer.takes_missing,
        )
        self.notes += notes
        self.documents: Documents = documents.prepare(self.preparation)
        self.notes += flat_notes(self.preparation, documents.features, self.documents.values)
        for other in (None if self.held is None else self.held.documents.raw(), self.held_features):
            if other is not None:
                require_values(other, self.preparation, takes_missing=self.scorer.takes_missing)
        found = self.ranker._learn(self)
        if not found.function.importance().any():
            message = "All documents have the same score: no feature helps to tell them apart."
            self.notes.append(Note("tied-scores", message))
        scoring = ScoringFunction(found.function, self.preparation, self.scorer.takes_missing, found.expertise)
        details: dict[str, Any] = {
            "scorer_parameters": self.scorer.get_params(),
            "standardize": self.preparation.standardize,
            "training": {"documents": len(documents.rows), "queries": documents.lists},
            **found.details,
        }
        if self.held is not None:
            details["validation_queries"] = self.held.documents.lists
        measured, queries = self._measured(scoring, found)
        if measured:
            details["measured"] = measured
        return TrainedRanker(
            scorer=self.scorer.name,
            scoring=scoring,
            fit=self._fit(found, details, time.perf_counter() - began),
            importance=importance_table(found.function, self.preparation, documents.features.backend),
            validation=self._curve(found),
            queries=queries,
            tables=found.tables,
        )

    def require_validation(self) -> None:
        """Raise an error if there are validation queries, but nothing to validate by."""
        if self.held_features is not None and self.held is None and self.held_labels is None:
            raise InputError(
                "the validation queries have neither judgments nor labels.",
                source=self.held_features.source,
                hint=("Keep some of the judged queries instead: ", Remedy("validation", "0.2")),
            )

    @property
    def seed(self) -> int:
        """The seed."""
        return whole("seed", self.ranker.seed)

    @cached_property
    def shards(self) -> list[DocumentShard | StoredShard]:
        """The training lists: prepared features, and what was said about them."""
        return shards_of(self.judged, self.documents)

    def task(self, session: Any, objective: Any, steps: int | None = None) -> Task:
        """What the scorer improves."""
        return Task(
            session=session,
            objective=objective,
            rows=len(self.documents.label),
            width=self.documents.width,
            weight=float(len(self.documents.label)),
            values=None if hasattr(self.documents.values, "spool") else self.documents.values,
            threads=getattr(self.engine, "threads", engine_threads()),
            seed=self.seed,
            steps=steps,
        )

    def improver(self, session: Any, objective: Any) -> _Improver:
        """Some steps of the scorer from where it stands, for an objective that changes after each call."""
        return _Improver(self, session, objective, steps_of(self.scorer))

    def held_documents(self) -> Documents | None:
        """The prepared documents of the validation lists."""
        return None if self.held is None else self.held.documents.prepare(self.preparation)

    @cached_property
    def held_labels(self) -> Labeled | None:
        """The labeled documents of the validation queries, if there is gold for them."""
        if self.gold is None and (self.held_features is None or self.held_features.label is None):
            return None
        if self.held_features is not None:
            return self._labels_of(self.held_features, None)
        if self.held is not None:
            return self._labels_of(self.held.documents.features, self.held.documents.query)
        return None

    @cached_property
    def shown_labels(self) -> Labeled | None:
        """The labeled documents that are measured: those of validation queries, otherwise of training queries."""
        if self.held_labels is not None or self.gold is None:
            return self.held_labels
        return self._labels_of(self.judged.documents.features, self.judged.documents.query)

    def _labels_of(self, features: Features, queries: pl.Series | None) -> Labeled | None:
        try:
            labeled = label_documents(features, self.gold, missing="drop")
        except InputError:
            return None
        if queries is None or queries.null_count():
            return labeled
        chosen = np.flatnonzero(labeled.query.is_in(queries.to_list()).to_numpy())
        return labeled.take(chosen) if len(chosen) else None

    def _measured(self, scoring: ScoringFunction, found: Found) -> tuple[dict[str, Any], QueryMeasures | None]:
        """Measures by gold, of the ranker and of the mean feature; without gold, the held-out list likelihood."""
        shown = self.shown_labels
        if shown is None:
            return _list_likelihood(found), None
        scores = scoring.scores(shown.raw())[0]
        measures = shown_measures(self.measure)
        baselines = {
            name: own
            for name, own in baseline_scores(shown, shown, self.measure).items()
            if name == "mean_feature"
        }
        values = {"ranker": ("", scores), **baselines}
        table: dict[str, dict[str, Any]] = {
            name: {"description": words, **{one.text: shown.queries.mean(one, own) for one in measures}}
            for name, (words, own) in values.items()
        }
        reached = shown.queries.by_query(self.measure, scores)
        for name, (_, own) in baselines.items():
            table[name]["lead"] = paired_difference(reached, shown.queries.by_query(self.measure, own))
        by_query = {one.text: shown.queries.by_query(one, scores) for one in measures}
        queries = QueryMeasures(
            shown.query,
            np.diff(shown.start).astype(float),
            totals(shown.label > 0, shown.start),
            by_query,
            backend=shown.features.backend,
        )
        on = "training" if self.held_labels is None else "validation"
        return {"queries_of": on, "queries": shown.lists, "measure": self.measure.text, **table}, queries

    def _curve(self, found: Found) -> ValidationCurve | None:
        if not found.curve:
            return None
        steps, values = zip(*found.curve, strict=True)
        best = steps[int(np.nanargmax(values))] if self.scorer.stops_early else steps[-1]
        name = self.measure.text if self.held_labels is not None else LIKELIHOOD
        return ValidationCurve(name, steps, values, best, backend=self.judged.documents.features.backend)

    def _fit(self, found: Found, details: dict[str, Any], seconds: float) -> Fit:
        given = {name: value for name, value in self.ranker.get_params().items() if name != "scorer"}
        features = self.judged.documents.features
        return Fit(
            model=self.ranker.name,
            parameters={"scorer": self.scorer.name, **given},
            converged=found.converged,
            iterations=found.iterations,
            log_likelihood=found.log_likelihood,
            warnings=(*self.notes, *found.notes),
            seconds={"fit": seconds},
            seed=self.ranker.seed,
            engine=self.engine.name,
            versions=versions(),
            judgments={
                "kind": "+".join(["features", *sorted(self.judged.kinds)]),
                **features.summary(),
                "documents": len(self.judged.documents.rows),
                "workers": len(self.judged.voices.workers) if self.judged.voices.named else 0,
                "judgments": self.judged.kinds,
                **self.judged.counts(),
            },
            details=details,
        )


LIKELIHOOD = "list likelihood"
"""What validation looks at without gold: the log likelihood of a query's judgments, a mean over the queries."""


def _list_likelihood(found: Found) -> dict[str, Any]:
    """The likelihood of the held-out lists beside that by equal scores, as measures by gold are kept."""
    if found.values is None or found.chance is None or not len(found.values):
        return {}
    equal = {"description": "all scores equal", LIKELIHOOD: float(found.chance.mean())}
    return {
        "queries_of": "validation",
        "queries": len(found.values),
        "measure": LIKELIHOOD,
        "ranker": {"description": "", LIKELIHOOD: float(found.values.mean())},
        "equal_scores": {**equal, "lead": paired_difference(found.values, found.chance)},
    }


def shards_of(judged: Judged, documents: Documents) -> list[DocumentShard | StoredShard]:
    """Lists in shards: prepared features, and what was said about them."""

    def blocks(low: int, high: int) -> Any:
        return cut_blocks(judged.statements, (low, high), judged.documents.start, judged.judged, judged.keys)

    return documents.cut(blocks, work=WORK)


def steps_of(scorer: Scorer) -> int:
    """How many steps a scorer takes before the objective changes: one, or its part of all steps it may take."""
    if scorer.steps is None:
        return 1
    return max(int(scorer.get_params()[scorer.steps]) // SHARE, 1)


@dataclass(eq=False)
class _Improver:
    """Trains a scorer for some steps at a time, up to the most steps that it may take in all."""

    run: CrowdRun
    session: Any
    objective: Any
    steps: int
    done: int = 0

    @property
    def exhausted(self) -> bool:
        """Whether the scorer has taken the most steps that it may take; never if there is no such limit."""
        scorer = self.run.scorer
        return scorer.steps is not None and self.done >= scorer.get_params()[scorer.steps]

    def __call__(self, function: Function | None) -> Function:
        scorer = self.run.scorer
        if function is not None and self.exhausted:
            return function
        self.done += self.steps
        return scorer.improve(self.run.task(self.session, self.objective, self.steps), start=function).function
