"""Training on labels: the ranker that learns from them, and the books of one run."""

from __future__ import annotations

import itertools
import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from crowdrank.engine import Engine, one_blas_thread, open_engine
from crowdrank.errors import InputError, Note, Remedy, UsageError
from crowdrank.kernels.segments import totals
from crowdrank.models.parameters import flag, whole
from crowdrank.prepared.documents import Documents
from crowdrank.progress import Progress
from crowdrank.rankers.arguments import LABELED, refuse_arrays
from crowdrank.rankers.base import Ranker, TrainedRanker, importance_table, shown_measures
from crowdrank.rankers.baselines import baseline_scores
from crowdrank.rankers.labeled import Labeled, overlap_notes, read_labeled, split_by_query
from crowdrank.rankers.objectives import LabelObjective
from crowdrank.rankers.preparation import flat_notes, learn_preparation, require_values
from crowdrank.rankers.scorers import Scorer
from crowdrank.rankers.scorers.base import Trained, Watch
from crowdrank.rankers.scoring import ScoringFunction
from crowdrank.rankers.tables import QueryMeasures, ValidationCurve
from crowdrank.rankers.tasks import open_task
from crowdrank.rankers.validation import one_measure, paired_difference
from crowdrank.results import Fit
from crowdrank.results.fit import versions


class LabelRanker(Ranker):
    """A ranker that learns from labels. A subclass says what training improves."""

    @abstractmethod
    def _objective(self, training: Labeled) -> LabelObjective[Any]:
        """What training improves. This is the one decision of a subclass."""

    def learns_across_queries(self, training: Labeled) -> bool:
        """Whether labels that are equal within each query can be learned from."""
        return False

    def fit(
        self,
        features: Any,
        y: None = None,
        *,
        gold: Any = None,
        validation: Any = None,
        columns: Any = None,
        missing: str = "error",
        engine: Engine | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on features (``Features``, or anything that ``read_features`` takes) and labels.

        Labels are those in the features, or ``gold`` (anything that gold is read from). ``validation``: features
        of other queries, with labels in them or in ``gold``, or a share of the queries, such as 0.2. ``columns``:
        the names of columns that are not features, as ``read_features`` takes them.
        ``missing``: whether an item of the gold without features is an error or is left out ("drop").
        ``engine``: where to compute. ``progress(step, objective, slope)`` is called after each step. ``y`` exists
        only so that a call with arrays gets an error that says what to give.
        """
        began = time.perf_counter()
        refuse_arrays(self.name, features, y, columns, LABELED)
        if y is not None:
            raise UsageError(f"{self.name} takes one table. Got a second one.", hint=LABELED)
        labeled, other = read_labeled(features, gold=gold, validation=validation, columns=columns, missing=missing)
        training, held = self._split(labeled, other)
        return self._fit_labeled(training, held, engine=engine, progress=progress, began=began)

    def _fit_labeled(
        self,
        training: Labeled,
        held: Labeled | None,
        *,
        engine: Engine | str | None = None,
        progress: Progress | None = None,
        began: float | None = None,
    ) -> Self:
        """Train on documents whose labels are known, and validate on ``held``."""
        start = time.perf_counter() if began is None else began
        with open_engine(engine) as place, one_blas_thread():
            self._trained = _Training(self, training, held, place, progress).run(start)
        return self

    def _split(self, labeled: Labeled, validation: Labeled | float | None) -> tuple[Labeled, Labeled | None]:
        """Training and validation documents. The latter are given, or a share of the queries is split off."""
        tune = flag("tune", self.tune)
        if validation is None:
            if tune:
                raise UsageError(
                    "Tuning needs validation queries.", hint=("Keep some: ", Remedy("validation", "0.2"))
                )
            return labeled, None
        if not isinstance(validation, Labeled):
            return split_by_query(labeled, float(validation), whole("seed", self.seed))
        most = max(labeled.most or 0.0, validation.most or 0.0)
        validation = replace(validation, most=most)
        own = tuple(replace(note, message=f"Validation: {note.message}") for note in validation.notes)
        notes = (*labeled.notes, *own, *overlap_notes(labeled, validation))
        return replace(labeled, notes=notes, most=most), validation


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A trained scorer with its validation curve. ``value``: the best value on validation queries, if there are
    any.
    """

    scorer: Scorer
    trained: Trained
    curve: tuple[tuple[int, float], ...]
    value: float


@dataclass(eq=False)
class _Training:
    """One run of training: preparation, the scorers that are tried, and the books of the best one."""

    ranker: LabelRanker
    training: Labeled
    held: Labeled | None
    engine: Engine
    progress: Progress | None
    notes: list[Note] = field(default_factory=list)

    def run(self, began: float) -> TrainedRanker:
        """Train and keep the books."""
        ranker, scorer = self.ranker, self.ranker.make_scorer()
        self.measure = one_measure(ranker.measure)
        self.notes += self._informative_notes()
        preparation, notes = learn_preparation(
            self.training.raw(),
            self.training.weight,
            standardize=ranker.standardize,
            impute=ranker.impute,
            takes_missing=scorer.takes_missing,
        )
        self.notes += [*self.training.notes, *notes]
        documents = self.training.prepare(preparation)
        self.notes += flat_notes(preparation, self.training.features, documents.values)
        if self.held is not None:
            require_values(self.held.raw(), preparation, takes_missing=scorer.takes_missing)
        held = None if self.held is None else self.held.prepare(preparation)
        if held is None and scorer.stops_early:
            message = "There were no validation queries to stop training, so it may have learned noise."
            self.notes.append(Note("no-validation", message, ("Keep some: ", Remedy("validation", "0.2"))))
        best = self._choose(scorer, documents, held)
        scoring = ScoringFunction(best.trained.function, preparation, scorer.takes_missing)
        details: dict[str, Any] = {"scorer_parameters": best.scorer.get_params()}
        details |= {"objective": best.trained.value, **best.trained.details}
        details["standardize"] = preparation.standardize
        shown = self.held or self.training
        scores = scoring.function.scores((held or documents).values)
        details["training"] = {"documents": len(self.training.rows), "queries": self.training.lists}
        details["measured"] = self._measured(shown, scores)
        fit = self._fit(best, details, time.perf_counter() - began)
        return TrainedRanker(
            scorer=scorer.name,
            scoring=scoring,
            fit=fit,
            importance=importance_table(best.trained.function, preparation, self.training.features.backend),
            validation=self._curve(best),
            queries=self._by_query(shown, scores),
        )

    def _informative_notes(self) -> list[Note]:
        """A note on queries whose labels are all equal. If no query has anything to learn from, an error."""
        silent = self.training.lists - self.training.informative
        if silent == self.training.lists and not self.ranker.learns_across_queries(self.training):
            raise InputError(
                "in each query all labels are equal, so there is no order to learn.",
                source=self.training.features.source,
                hint="Give queries with several documents and different labels.",
            )
        words = "1 query has" if silent == 1 else f"{silent} of {self.training.lists} queries have"
        return [Note("equal-labels", f"{words} only equal labels and no order to learn.")] if silent else []

    def _choose(self, scorer: Scorer, documents: Documents, held: Documents | None) -> _Candidate:
        """Train the scorer, or several with other parameters if they are to be tuned, and keep the best."""
        if not self.ranker.tune:
            return self._train(scorer, documents, held)
        names, given = list(scorer.tuned), scorer.get_params()
        choices = [dict.fromkeys((given[name], *values)) for name, values in scorer.tuned.items()]
        tried = []
        for values in itertools.product(*choices):
            own = scorer.clone().set_params(**dict(zip(names, values, strict=True)))
            tried.append(self._train(own, documents, held))
        best = max(tried, key=lambda candidate: candidate.value)
        table = [{**{name: one.scorer.get_params()[name] for name in names}, "value": one.value} for one in tried]
        return replace(best, trained=replace(best.trained, details={**best.trained.details, "tuned": table}))

    def _train(self, scorer: Scorer, documents: Documents, held: Documents | None) -> _Candidate:
        objective = self.ranker._objective(self.training)
        seed = whole("seed", self.ranker.seed)
        task = open_task(self.engine, documents, objective, seed=seed, progress=self.progress)
        curve: list[tuple[int, float]] = []
        watch = None
        if held is not None:
            assert self.held is not None
            measure = self.held.queries.function(self.measure)
            patience = whole("patience", self.ranker.patience, low=1)
            watch = Watch(held.values, measure, lambda step, value: curve.append((step, value)), patience)
        trained = scorer.by_position(self.training.features.names).improve(task, watch=watch)
        value = float("nan")
        if watch is not None:
            value = watch.measure(trained.function.scores(watch.values))
        return _Candidate(scorer, trained, tuple(curve), value)

    def _measured(self, shown: Labeled, scores: Any) -> dict[str, Any]:
        """Measures of the ranker and of the baselines on the shown queries, and the ranker's lead over each."""
        measures = shown_measures(self.measure)
        baselines = baseline_scores(self.training, shown, self.measure)
        values = {"ranker": ("", scores), **baselines}
        table: dict[str, dict[str, Any]] = {
            name: {
                "description": words,
                **{one.text: shown.queries.mean(one, own) for one in measures},
            }
            for name, (words, own) in values.items()
        }
        reached = shown.queries.by_query(self.measure, scores)
        for name, (_, own) in baselines.items():
            table[name]["lead"] = paired_difference(reached, shown.queries.by_query(self.measure, own))
        on = "training" if self.held is None else "validation"
        return {"queries_of": on, "queries": shown.lists, "measure": self.measure.text, **table}

    def _by_query(self, shown: Labeled, scores: Any) -> QueryMeasures:
        found = {one.text: shown.queries.by_query(one, scores) for one in shown_measures(self.measure)}
        relevant = totals(shown.label > 0, shown.start)
        backend = shown.features.backend
        return QueryMeasures(shown.query, np.diff(shown.start).astype(float), relevant, found, backend=backend)

    def _curve(self, best: _Candidate) -> ValidationCurve | None:
        if self.held is None:
            return None
        steps, values = zip(*best.curve, strict=True) if best.curve else ((), ())
        chosen = _chosen_step(steps, values, best.scorer)
        backend = self.training.features.backend
        return ValidationCurve(self.measure.text, steps, values, chosen, backend=backend)

    def _data(self) -> dict[str, Any]:
        return {"kind": "features", **self.training.features.summary(), "documents": len(self.training.rows)}

    def _fit(self, best: _Candidate, details: dict[str, Any], seconds: float) -> Fit:
        ranker, trained = self.ranker, best.trained
        given = {name: value for name, value in ranker.get_params().items() if name != "scorer"}
        return Fit(
            model=ranker.name,
            parameters={"scorer": best.scorer.name, **given},
            converged=trained.converged,
            iterations=trained.iterations,
            log_likelihood=None,
            warnings=(*self.notes, *trained.notes),
            seconds={"fit": seconds},
            seed=ranker.seed,
            engine=self.engine.name,
            versions=versions(),
            judgments=self._data(),
            details=details,
        )


def _chosen_step(steps: Sequence[int], values: Sequence[float], scorer: Scorer) -> int | None:
    """The step whose function is kept: the first with the best value, or the last if validation only watches.

    None if there was no step, or no value to choose by.
    """
    if not steps or np.isnan(values).all():
        return None
    return steps[int(np.nanargmax(values))] if scorer.stops_early else steps[-1]
