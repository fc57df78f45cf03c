"""Models side by side: how well each predicts unseen votes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdrank.compare.contestants import Contestant, contestants
from crowdrank.compare.figures import Comparison, Row
from crowdrank.compare.folds import sample_votes
from crowdrank.compare.predictions import Predictions, predict
from crowdrank.compare.split import Split, sample_units, split
from crowdrank.data import (
    TIE,
    AnyJudgments,
    Floats,
    Judgments,
    Pairs,
    Rankings,
    Ratings,
    Scored,
    SpooledPairs,
    SpooledRankings,
    SpooledRatings,
    count_pairs,
    read,
    read_gold,
    read_ranking,
)
from crowdrank.errors import FitError, InputError, Note, Remedy, UsageError, count_noun
from crowdrank.measures import GOLD_MEASURES, Evaluation, MeasureSpec, examine, label_accuracy, parse
from crowdrank.measures.votes import Figure, calibration, figure, hits, log_losses
from crowdrank.models.base import Model
from crowdrank.models.parameters import whole
from crowdrank.models.registry import Entry, entries
from crowdrank.progress import Status, announce, part, watching

FAILURES = (FitError, InputError, ArithmeticError, np.linalg.LinAlgError)
"""Errors of a fit that do not end the comparison. A wrong parameter does end it."""
ABOUT_MODELS = ("row-order",)
"""What a fit says that is about the model, and not only about its ranking."""
SEPARATION = 2.0
"""A model differs from the best if its mean loss is behind by more than this many standard errors."""
MANY = 1_000_000
"""The most votes to compare on if the judgments do not fit in memory."""
TRIAL, PATIENCE = 20_000, 600.0
"""Unless models are named, one is left out if a trial on ``TRIAL`` votes predicts over ``PATIENCE`` seconds."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A model's predictions of held-out votes, or why there are none."""

    model: str
    predictions: Predictions | None = None
    seconds: float | None = None
    by_gold: Evaluation | None = None
    error: str | None = None
    notes: tuple[Note, ...] = ()

    @property
    def gold(self) -> dict[str, float | None]:
        """The gold measures; None if a measure is undefined."""
        values = {} if self.by_gold is None else self.by_gold.values
        return {name: _finite_or_none(value) for name, value in values.items()}


def compare_models(
    judgments: Any,
    models: Contestant | Iterable[Contestant] | None = None,
    *,
    folds: int = 5,
    gold: Any = None,
    measures: str = GOLD_MEASURES,
    settings: Mapping[str, Any] | None = None,
    ties: str = "keep",
    sample: int | None = None,
    seed: int = 0,
    engine: Any = None,
    status: Status | None = None,
) -> Comparison:
    """Fit each model to all folds but one and let it predict that one. The best model comes first.

    ``models``: names, models with their parameters (fitted or not; they stay as they are) or classes; by
    default all that can run on these judgments, and `auto`. If models of one name differ, the table shows their
    parameters, as in ``crowd-bt (prior=null)``. ``folds``: how many; 0 holds nothing out and compares only gold
    measures and time. ``gold``: grades that score the fit to all judgments, by ``measures``; models of labels
    also get the share of correct labels. ``settings``: parameters, each for the models that have it and are
    given by name or class; so is ``seed``. ``ties``: "keep", or "drop" tied votes first. ``sample``: compare on
    about this many votes. ``status`` is called before each step with a few words (``progress.Step``).

    Lists are held out whole, ratings label by label; models predict every pair of held-out items.

    >>> import crowdrank as cr
    >>> votes = [("a", "b"), ("b", "c"), ("a", "c"), ("b", "a"), ("c", "b"), ("a", "c")] * 5
    >>> found = cr.compare_models(votes, ["bt", "borda"], gold={"item": [*"abc"], "grade": [2, 1, 0]})
    >>> {row.model: row.gold["tau"] for row in found.rows}
    {'bt': 1.0, 'borda': 1.0}
    """
    asked = contestants(models, settings or {}, whole("seed", seed))
    table, notes = _judgments(read(judgments), ties, sample, seed)
    able, left_out = runnable(asked, table)
    ready = {name: asked[name] for name in able}
    for name, model in ready.items():
        model.name = name
    if models is None:
        ready, slow = _quick_models(ready, table, whole("folds", folds), seed, engine)
        left_out += slow
    if not ready:
        raise InputError(
            "No model can be compared on these judgments.", hint=" ".join(n.message for n in left_out)
        )
    most = MANY if sample is None else whole("sample", sample)
    dealt = split(table, whole("folds", folds), seed, ties, most) if folds else None
    names = table.names if isinstance(table, Ratings) else ()
    grades = gold if gold is None or isinstance(gold, Scored) else read_gold(gold, names=names)
    if grades is not None:
        grades.require_common(table.index)
    elif dealt is None:
        raise UsageError(
            "Without folds and without gold there is nothing to compare by.",
            hint=("Give ", Remedy("gold", "FILE")),
        )
    with watching(status):
        trials = _Trials(table, dealt, grades, parse(measures), engine).of_all(list(ready.values()))
    found = score_trials(trials, dealt)
    known = [own.by_gold for own in trials if own.by_gold is not None]
    covered = known[0].coverage if known else None
    every_note = (*notes, *left_out, *_notes_on_models(trials), *_shared_notes(known))
    return replace(found, seed=seed, notes=every_note, coverage=covered, backend=table.backend)


def _notes_on_models(trials: Sequence[Trial]) -> list[Note]:
    """What the fits to all judgments say about the models, each note once, with the models that it is about."""
    models: dict[Note, list[str]] = {}
    for trial in trials:
        for note in trial.notes:
            models.setdefault(note, []).append(trial.model)
    return [replace(note, message=f"{', '.join(names)}: {note.message}") for note, names in models.items()]


def _shared_notes(known: Sequence[Evaluation]) -> list[Note]:
    """What is noted of the gold with every model. What only some models show says more about these models."""
    codes = [{note.code for note in own.notes} for own in known]
    return [note for note in known[0].notes if all(note.code in own for own in codes)] if known else []


def runnable(models: Mapping[str, Model], table: Judgments) -> tuple[list[str], list[Note]]:
    """The names of the models that accept these judgments, and one note on those that do not, by reason."""
    reasons: dict[str, list[str]] = {}
    for name, model in models.items():
        reasons.setdefault(_obstacle(entries().get(model.name), table), []).append(name)
    able = reasons.pop("", [])
    if not reasons:
        return able, []
    count = len(models) - len(able)
    parts = [f"{why}: {', '.join(own)}" for why, own in reasons.items()]
    message = f"{count} {'model is' if count == 1 else 'models are'} left out. {'; '.join(parts)}."
    return able, [Note("left-out", message)]


def _obstacle(entry: Entry | None, table: Judgments) -> str:
    """Why a model cannot run on these judgments; empty if it can, or if it is not registered."""
    if entry is None:
        return ""
    if table.kind not in entry.kinds:
        return f"Not for {table.kind}"
    if entry.workers == "needed" and table.index.workers is None:
        return "Must know who judged"
    return "" if entry.installed else f"Needs the package {entry.package}"


def attempt(model: Model, dealt: Split, **options: Any) -> Trial:
    """The model's predictions. A failed fit is reported in the trial; a wrong parameter is an error."""
    try:
        return Trial(model.name, predict(model, dealt, **options))
    except FAILURES as error:
        return Trial(model.name, error=str(error))
    except UsageError as error:
        raise UsageError(f"{model.name}: {error.message}", hint=error.hint) from None


def score_trials(trials: Sequence[Trial], dealt: Split | None) -> Comparison:
    """The trials as a table, best first, with a mark on models that cannot be distinguished from the best.

    If nothing was held out, the first gold measure decides the order.
    """
    if dealt is None:
        rows = [_row(trial, {}, None, None) for trial in trials]
        return Comparison(tuple(sorted(rows, key=_sort_key)), 0, 0, ties=False)
    pairs = dealt.asked
    ties = bool((pairs.outcome == TIE).any())
    losses = {
        trial.model: log_losses(trial.predictions.probabilities, pairs.outcome, ties=ties)
        for trial in trials
        if trial.predictions is not None and trial.predictions.probabilities is not None
    }
    failed = {trial.model for trial in trials if trial.error is not None}
    means = {name: figure(loss, pairs.weight).mean for name, loss in losses.items() if name not in failed}
    best = min(means, key=means.__getitem__) if means else None
    rows = [_row(trial, losses, best, pairs) for trial in trials]
    return Comparison(tuple(sorted(rows, key=_sort_key)), len(dealt.numbers), pairs.rows, ties)


def _row(trial: Trial, losses: Mapping[str, Floats], best: str | None, pairs: Pairs | None) -> Row:
    row = Row(trial.model, seconds=trial.seconds, gold=trial.gold, error=trial.error)
    if trial.predictions is None or pairs is None:
        return row
    accuracy = _accuracy(trial.predictions, pairs)
    row = replace(row, accuracy=_finite_or_none(accuracy.mean), accuracy_se=_finite_or_none(accuracy.error))
    if trial.predictions.lists is not None:
        whole_lists = figure(*trial.predictions.lists)
        row = replace(
            row, list_loss=_finite_or_none(whole_lists.mean), list_loss_se=_finite_or_none(whole_lists.error)
        )
    if trial.model not in losses or best is None:
        return row
    assert trial.predictions.probabilities is not None
    loss = figure(losses[trial.model], pairs.weight)
    behind = figure(losses[trial.model] - losses[best], pairs.weight)
    return replace(
        row,
        log_loss=_finite_or_none(loss.mean),
        log_loss_se=_finite_or_none(loss.error),
        behind=_finite_or_none(behind.mean),
        behind_se=_finite_or_none(behind.error),
        tied_with_best=not behind.mean > SEPARATION * behind.error,  # an unknown error separates nothing
        calibration=calibration(trial.predictions.probabilities, pairs.outcome, pairs.weight),
    )


def _accuracy(predictions: Predictions, pairs: Pairs) -> Figure:
    decided = pairs.outcome != TIE
    weight = None if pairs.weight is None else pairs.weight[decided]
    return figure(hits(predictions.ahead[decided], pairs.outcome[decided]), weight)


def _sort_key(row: Row) -> tuple[bool, float, float, float]:
    loss = math.inf if row.log_loss is None else row.log_loss
    accuracy = math.inf if row.accuracy is None else -row.accuracy
    first = next(iter(row.gold.values()), None)
    return row.error is not None, loss, accuracy, math.inf if first is None else -first


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def measure_by_gold(
    model: Model, gold: Scored, measures: str | Sequence[MeasureSpec] = GOLD_MEASURES
) -> Evaluation:
    """The gold measures of a fitted model: ``measures`` of its ranking, and the share of correct labels."""
    found = examine(read_ranking(model.ranking_.polars()), gold, measures)
    if model.labels_ is None:
        return found
    right = label_accuracy(replace(model.labels_, names=()).polars(), gold)  # grades are numbers
    unknown = (Note("undefined", "labels is undefined: no item with a label has a grade."),)
    notes = found.notes if math.isfinite(right) else (*found.notes, *unknown)
    return replace(found, values={**found.values, "labels": right}, notes=notes)


@dataclass(frozen=True, eq=False)
class _Trials:
    """The judgments, folds and gold on which every model is tried."""

    table: Judgments
    dealt: Split | None
    gold: Scored | None
    measures: Sequence[MeasureSpec]
    engine: Any

    def of_all(self, models: Sequence[Model]) -> list[Trial]:
        """A trial of each model, one after the other."""
        trials = []
        for number, model in enumerate(models):
            with part(number, number + 1, len(models)):
                trials.append(self.of(model))
        return trials

    def of(self, model: Model) -> Trial:
        """The model's predictions, then its time and gold measures from a fit to all judgments."""
        found, folds = Trial(model.name), 0
        if self.dealt is not None:
            folds = len(self.dealt.numbers)
            with part(0, folds, folds + 1):
                found = attempt(model, self.dealt, engine=self.engine)
        announce(f"{model.name}: all judgments", folds, folds + 1)
        try:
            fitted = model.clone().fit(self.table, engine=self.engine)
        except FAILURES as error:
            return replace(found, error=str(error))
        known = None if self.gold is None else measure_by_gold(fitted, self.gold, self.measures)
        said = tuple(note for note in fitted.fit_.warnings if note.code in ABOUT_MODELS)
        return replace(found, seconds=fitted.fit_.seconds["fit"], by_gold=known, notes=said)


def _judgments(
    table: AnyJudgments, ties: str, sample: int | None, seed: int
) -> tuple[Pairs | Rankings | Ratings, list[Note]]:
    """The judgments to compare on, and notes on what was left out."""
    if ties not in ("keep", "drop"):
        raise UsageError(f"ties must be 'keep' or 'drop'. Got {ties!r}.")
    if isinstance(table, SpooledRatings | SpooledRankings):
        table = table.load()
    notes = list(table.notes)
    if isinstance(table, Rankings | Ratings):
        return table, notes
    every = MANY if isinstance(table, SpooledPairs) else table.rows
    chosen = sample_votes(table, every if sample is None else whole("sample", sample), seed)
    if chosen.rows < table.rows:
        notes.append(
            Note("sampled", f"The comparison uses {chosen.rows} of {table.rows} votes, chosen by a hash.")
        )
    if ties == "drop":
        decided = chosen.outcome != TIE
        if not decided.all():
            dropped = count_noun(int((~decided).sum()), "tie was", "ties were")
            notes.append(Note("ties-dropped", f"{dropped} dropped, of {count_noun(chosen.rows, 'vote')}."))
        chosen = chosen.take(decided)
    if not chosen.rows:
        raise InputError("No vote is left to compare on.")
    return chosen.compact(), notes


def _quick_models(
    models: Mapping[str, Model], table: Pairs | Rankings | Ratings, folds: int, seed: int, engine: Any
) -> tuple[dict[str, Model], list[Note]]:
    """The models that will not take too long, judging by their time on a sample of the votes."""
    votes = table.rows if isinstance(table, Pairs) else count_pairs(table)
    if votes <= 5 * TRIAL:
        return dict(models), []
    part = (
        sample_votes(table, TRIAL, seed) if isinstance(table, Pairs) else sample_units(table, TRIAL / votes, seed)
    )
    part = part.compact()
    quick, notes = {}, []
    for name, model in models.items():
        seconds = _seconds(model, part, engine) * (folds + 1) * votes / TRIAL
        if seconds <= PATIENCE:
            quick[name] = model
        else:
            message = (
                f"{name} is left out: it would take about {seconds / 60:.0f} minutes. Name it to wait for it."
            )
            notes.append(Note("left-out", message))
    return quick, notes


def _seconds(model: Model, table: Judgments, engine: Any) -> float:
    """How long a fit takes. A failed fit counts as 0: it will fail again in the trial, which reports it."""
    try:
        return model.clone().fit(table, engine=engine).fit_.seconds["fit"]
    except FAILURES:
        return 0.0
