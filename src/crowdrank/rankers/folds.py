"""Cross-validation of a ranker: every query is scored by a ranker that did not see it.

The queries are dealt into parts. For each part a ranker is trained on other parts, and tested on this one. The
part before it is for validation, as in the folds of LETOR; or a share of the training queries is.

What the folds learned is then used for a ranker that is trained on all queries, if that one has no validation
queries of its own. It takes the median of the folds' best numbers of steps, if validation stops the scorer. If
parameters are tuned, it takes those that most folds chose, and the median over these folds. All queries are more
queries than a fold has, which might bear a few more steps; the median of the folds is the careful side.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean, median
from typing import Any, Literal

import numpy as np
import polars as pl

from crowdrank.data import Floats, Integers
from crowdrank.engine import Engine, open_engine
from crowdrank.errors import Note, Remedy, UsageError
from crowdrank.kernels.segments import segment_of, totals
from crowdrank.models.parameters import whole
from crowdrank.progress import Progress, Status, announce, part, watching
from crowdrank.rankers.base import shown_measures
from crowdrank.rankers.baselines import baseline_scores
from crowdrank.rankers.label_training import LabelRanker
from crowdrank.rankers.labeled import Labeled, read_labeled
from crowdrank.rankers.parts import Dealt, Parts, deal_queries
from crowdrank.rankers.tables import QueryMeasures, Scores
from crowdrank.rankers.validation import one_measure, paired_difference
from crowdrank.results import Table

PREVIOUS: Literal["previous"] = "previous"
"""Validation on the part before the one that is tested."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold: how many queries it has, and how well its ranker does on the test queries.

    ``step``: the best step on the validation queries, if validation stops this scorer. ``chosen``: the parameters
    that tuning chose, with the value of each choice in ``tried``. ``feature``: the best single feature of the
    training queries, with its own measures on the test queries in ``baseline``.
    """

    training: int
    validation: int
    test: int
    measures: dict[str, float]
    step: int | None = None
    chosen: dict[str, Any] = field(default_factory=dict)
    tried: tuple[dict[str, Any], ...] = ()
    feature: str = ""
    baseline: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Table):
    """What cross-validation found; ``frame()`` has a row for each fold.

    ``scores``: of every document, by a ranker that did not see its query. ``queries``: their measures by query.
    ``settings``: the parameters that the folds suggest for a ranker that is trained on all queries. ``leads``: how
    far the rankers are ahead of each baseline over all queries, with intervals.

    >>> import crowdrank as cr
    >>> docs = {"query": [n // 3 for n in range(18)], "item": [*"abc"] * 6, "label": [2, 1, 0] * 6}
    >>> docs["length"] = [9, 5, 1, 8, 6, 2] * 3
    >>> found = cr.cross_validate(cr.ListMLE(), docs, 3)
    >>> found.measure, len(found.folds)
    ('nDCG@10', 3)
    >>> len(found.scores)  # each by a ranker that did not see the query
    18
    """

    measure: str
    folds: tuple[Fold, ...]
    scores: Scores
    queries: QueryMeasures
    settings: dict[str, Any]
    leads: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    def polars(self) -> pl.DataFrame:
        """fold, its numbers of queries, best step, each measure, and the best single feature with its measure."""
        rows = [
            {
                "fold": number,
                **{f"{name}_queries": getattr(fold, name) for name in ("training", "validation", "test")},
                "step": fold.step,
                **fold.measures,
                "best_feature": fold.feature or None,
                f"best_feature_{self.measure}": fold.baseline.get(self.measure),
            }
            for number, fold in enumerate(self.folds, 1)
        ]
        types = {"step": pl.Int64, "best_feature": pl.String, f"best_feature_{self.measure}": pl.Float64}
        return pl.DataFrame(rows, schema_overrides=types)

    def summary(self) -> dict[str, dict[str, float]]:
        """For each measure the mean over queries and over folds, each with its standard error.

        ``best_feature`` is the mean over queries of the best single feature.
        """
        found = {}
        for name, values in self.queries.measures.items():
            queries, folds = _mean_error(values), _mean_error([fold.measures[name] for fold in self.folds])
            found[name] = {
                "mean": queries[0],
                "stderr": queries[1],
                "mean_of_folds": folds[0],
                "stderr_of_folds": folds[1],
                "best_feature": _baseline_mean(self.folds, name),
            }
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as in fit.json: measures, leads, folds and settings."""
        found = {"measure": self.measure, "measures": self.summary(), "leads": self.leads}
        return {**found, "folds": self.polars().to_dicts(), "settings": self.settings}


def cross_validate(
    ranker: LabelRanker,
    features: Any,
    parts: Parts = 5,
    *,
    gold: Any = None,
    validation: Any = PREVIOUS,
    missing: str = "error",
    engine: Engine | str | None = None,
    status: Status | None = None,
) -> CrossValidation:
    """Test a ranker on each part of the queries after training on others.

    ``parts``: how many parts the queries are dealt into by the ranker's seed, or the queries of each part.
    ``validation``: "previous", the part before the tested one; or what ``Ranker.fit`` takes: a share of the
    training queries, features of other queries, or None. The other arguments are those of ``Ranker.fit``.

    >>> import crowdrank as cr
    >>> docs = {"query": [n // 3 for n in range(18)], "item": [*"abc"] * 6, "label": [2, 1, 0] * 6}
    >>> docs["length"] = [9, 5, 1, 8, 6, 2] * 3
    >>> found = cr.cross_validate(cr.ListMLE(), docs, 3)
    >>> found.frame()["nDCG@10"].to_list()
    [1.0, 1.0, 1.0]
    """
    before = isinstance(validation, str) and validation == PREVIOUS
    labeled, held = read_labeled(features, gold=gold, validation=None if before else validation, missing=missing)
    dealt = deal_queries(labeled, parts, whole("seed", ranker.seed))
    if before and dealt.parts < 3:
        raise UsageError(
            "Two parts are too few: one is for testing and one for validation.",
            hint=("Validate on a share of the training queries: ", Remedy("validation", "0.2")),
        )
    split = _split_before(dealt) if before else _split_rest(ranker, dealt, held)
    work = _Folds(ranker, dealt, split)
    with open_engine(engine) as place:
        for number in range(dealt.parts):
            with watching(status):
                announce(f"{ranker.name}: fold {number + 1} of {dealt.parts}", number, dealt.parts)
            with part(number, number + 1, dealt.parts):
                work.run(number, place)
    return work.result()


def train_on_all(
    ranker: LabelRanker,
    features: Any,
    found: CrossValidation,
    *,
    gold: Any = None,
    validation: Any = None,
    missing: str = "error",
    engine: Engine | str | None = None,
    progress: Progress | None = None,
) -> LabelRanker:
    """A ranker that is trained on all queries after ``cross_validate``. The given one does not change.

    Without ``validation`` it takes the settings that the folds suggest. Its ``fit_.details["folds"]`` tell how
    well the folds did.

    >>> import crowdrank as cr
    >>> docs = {"query": [n // 3 for n in range(18)], "item": [*"abc"] * 6, "label": [2, 1, 0] * 6}
    >>> docs["length"] = [9, 5, 1, 8, 6, 2] * 3
    >>> found = cr.cross_validate(cr.ListMLE(), docs, 3)
    >>> ranker = cr.train_on_all(cr.ListMLE(), docs, found)
    >>> ranker.score({"item": ["x", "y"], "length": [2, 8]}).score.round(2)
    array([-0.62,  0.62])
    >>> ranker.fit_.details["folds"]["measures"]["nDCG@10"]["mean"]
    1.0
    """
    own = ranker.clone()
    if validation is None:
        own.set_params(**found.settings)
    own.fit(features, gold=gold, validation=validation, missing=missing, engine=engine, progress=progress)
    notes = own.fit_.warnings
    if validation is None and found.settings:
        settled = ("not-converged", "no-validation")  # the folds say when to stop
        notes = (*(note for note in notes if note.code not in settled), _settings_note(found.settings))
    fit = replace(own.fit_, warnings=notes, details={**own.fit_.details, "folds": found.as_dict()})
    own._trained = replace(own.trained_, fit=fit)
    return own


def _settings_note(settings: dict[str, Any]) -> Note:
    shown = ", ".join(f"{name}={value!r}" for name, value in settings.items() if name != "tune")
    return Note("from-folds", f"The ranker is trained on all queries with what the folds found best: {shown}.")


_Split = Callable[[int], tuple[Labeled, Labeled | None]]
"""From the number of the tested part to the training and the validation documents."""


def _split_before(dealt: Dealt) -> _Split:
    """Validation on the part before the tested one."""

    def split(number: int) -> tuple[Labeled, Labeled | None]:
        before = (number - 1) % dealt.parts
        return dealt.lists(*(own for own in range(dealt.parts) if own not in (number, before))), dealt.lists(
            before
        )

    return split


def _split_rest(ranker: LabelRanker, dealt: Dealt, validation: Labeled | float | None) -> _Split:
    """Validation as ``Ranker.fit`` takes it, on the parts that are not tested."""

    def split(number: int) -> tuple[Labeled, Labeled | None]:
        rest = dealt.lists(*(own for own in range(dealt.parts) if own != number))
        return ranker._split(rest, validation)

    return split


class _Folds:
    """The folds so far: scores of documents, measures of queries."""

    def __init__(self, ranker: LabelRanker, dealt: Dealt, split: _Split) -> None:
        self.ranker, self.dealt, self.labeled, self.split = ranker, dealt, dealt.labeled, split
        self.measure = one_measure(ranker.measure)
        self.measures = shown_measures(self.measure)
        self.scored: list[tuple[Integers, Floats]] = []
        self.tested: list[tuple[Labeled, dict[str, Floats]]] = []
        self.folds: list[Fold] = []
        self.baselines: dict[str, list[Floats]] = {}
        self.notes: dict[str, list[Note]] = {}

    def run(self, number: int, engine: Engine) -> None:
        """Train without one part and test on it."""
        training, held = self.split(number)
        ranker = self.ranker.clone()._fit_labeled(training, held, engine=engine)
        for note in ranker.fit_.warnings:
            self.notes.setdefault(note.code, []).append(note)
        test, rows = self.dealt.lists(number), self.dealt.documents(number)
        scores, _ = ranker.trained_.scoring.scores(self.labeled.features.take(rows))
        self.scored.append((rows, scores))
        place = np.searchsorted(rows, test.rows) if self.dealt.row_part is not None else np.arange(len(rows))
        by_query = {one.text: test.queries.by_query(one, scores[place]) for one in self.measures}
        self.tested.append((test, by_query))
        self.folds.append(self._fold(ranker, training, held, test, by_query))

    def _fold(
        self, ranker: LabelRanker, training: Labeled, held: Labeled | None, test: Labeled, found: dict[str, Floats]
    ) -> Fold:
        baselines = baseline_scores(training, test, self.measure)
        for name, (_, scores) in baselines.items():
            self.baselines.setdefault(name, []).append(test.queries.by_query(self.measure, scores))
        feature, single = baselines.get("best_feature", ("", None))
        tried = ranker.fit_.details.get("tuned", ())
        parameters = ranker.fit_.details["scorer_parameters"]
        return Fold(
            training=training.lists,
            validation=0 if held is None else held.lists,
            test=test.lists,
            measures={name: _mean_error(values)[0] for name, values in found.items()},
            step=_best_step(ranker),
            chosen={name: parameters[name] for name in ranker.make_scorer().tuned} if tried else {},
            tried=tuple(tried),
            feature=feature,
            baseline={} if single is None else {one.text: test.queries.mean(one, single) for one in self.measures},
        )

    def result(self) -> CrossValidation:
        """All folds together."""
        queries = self._queries()
        reached = queries.measures[self.measure.text]
        return CrossValidation(
            measure=self.measure.text,
            folds=tuple(self.folds),
            scores=self._scores(),
            queries=queries,
            settings=_settings(self.ranker, self.folds),
            leads={name: paired_difference(reached, np.concatenate(own)) for name, own in self.baselines.items()},
            notes=tuple(_fold_note(notes, len(self.folds)) for notes in self.notes.values()),
            backend=self.labeled.features.backend,
        )

    def _scores(self) -> Scores:
        """By row of the features; by query if these have none, because a row may count in several queries."""
        rows = np.concatenate([rows for rows, _ in self.scored])
        scores = np.concatenate([scores for _, scores in self.scored])
        table = self.labeled.features
        frame = table.take(rows).ids().with_columns(score=pl.Series(scores), row=pl.Series(rows))
        if self.dealt.row_part is None:
            names = [test.query.gather(segment_of(test.start)) for test, _ in self.tested]
            frame = frame.with_columns(query=pl.concat(names)).sort("query", "row")
        else:
            frame = frame.sort("row")
        return Scores(frame["query"], frame["item"], frame["score"].to_numpy(), backend=table.backend)

    def _queries(self) -> QueryMeasures:
        tests = [test for test, _ in self.tested]
        return QueryMeasures(
            query=pl.concat([test.query for test in tests]),
            documents=np.concatenate([np.diff(test.start).astype(float) for test in tests]),
            relevant=np.concatenate([totals(test.label > 0, test.start) for test in tests]),
            measures={
                one.text: np.concatenate([found[one.text] for _, found in self.tested]) for one in self.measures
            },
            backend=self.labeled.features.backend,
        )


def _best_step(ranker: LabelRanker) -> int | None:
    """The step that validation kept, if it stops this scorer."""
    curve = ranker.validation_
    return curve.chosen if curve is not None and ranker.make_scorer().stops_early else None


def _settings(ranker: LabelRanker, folds: Sequence[Fold]) -> dict[str, Any]:
    """Parameters for a ranker of all queries: those that most folds chose, and the median of their best steps."""
    settings: dict[str, Any] = {}
    alike = list(folds)
    if ranker.tune:
        groups: dict[str, list[Fold]] = {}
        for fold in folds:
            groups.setdefault(json.dumps(fold.chosen, default=str), []).append(fold)
        alike = max(groups.values(), key=lambda own: (len(own), _mean_value(own[0].chosen, folds)))
        settings |= {**alike[0].chosen, "tune": False}
    steps = [fold.step for fold in alike if fold.step is not None]
    name = ranker.make_scorer().steps
    if steps and name is not None:
        settings[name] = max(round(median(steps)), 1)
    return settings


def _mean_value(chosen: dict[str, Any], folds: Sequence[Fold]) -> float:
    """The mean over the folds of the validation measure with these parameters."""
    return mean(
        one["value"]
        for fold in folds
        for one in fold.tried
        if all(one[name] == value for name, value in chosen.items())
    )


def _mean_error(values: Any) -> tuple[float, float]:
    """The mean of the known values, and its standard error."""
    known = np.asarray(values, float)
    known = known[~np.isnan(known)]
    if not len(known):
        return float("nan"), float("nan")
    error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else float("nan")
    return float(known.mean()), error


def _baseline_mean(folds: Sequence[Fold], name: str) -> float:
    """The mean over queries of the best single feature."""
    known = [fold for fold in folds if name in fold.baseline]
    total = sum(fold.test for fold in known)
    return sum(fold.baseline[name] * fold.test for fold in known) / total if total else float("nan")


def _fold_note(notes: Sequence[Note], folds: int) -> Note:
    if len(notes) == folds:
        return replace(notes[0], message=f"In each of {folds} folds: {notes[0].message}")
    return replace(notes[0], message=f"In {len(notes)} of {folds} folds: {notes[0].message}")
