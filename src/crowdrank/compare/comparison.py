"""Models side by side: how well each predicts votes that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.compare.catalogue import catalogue, find, shared
from crowdrank.compare.folds import deal, sampled
from crowdrank.compare.held_out import Predictions, Told, predict
from crowdrank.compare.scores import Figure, figure, hits, log_losses
from crowdrank.data import TIE, Floats, Pairs, Scored, SpooledPairs, read, read_gold, read_ranking, to_pairs
from crowdrank.errors import FitError, InputError, Note, UsageError
from crowdrank.measures import GOLD_MEASURES, evaluate
from crowdrank.models.base import Model, whole
from crowdrank.results import plain

FAILURES = (FitError, InputError, ArithmeticError, np.linalg.LinAlgError)
"""What a fit may end with without ending the comparison; a wrong parameter does."""
TOLD_APART = 2.0
"""A model is told from the best where its mean loss is behind by more standard errors than this."""
MANY = 1_000_000
"""The most votes that are compared on where the judgments do not fit in memory."""
TRIAL, PATIENCE = 20_000, 600.0
"""Unless models are named, one that by a trial on so many votes would take more seconds is left out."""


@dataclass(frozen=True)
class Row:
    """A model's figures. None: the model has no such figure, or there is nothing to take it from.

    ``behind`` is its mean log loss less the best model's, ``behind_se`` the standard error of that
    difference, vote by vote. ``seconds`` and ``gold`` are those of the fit to all votes.
    """

    model: str
    log_loss: float | None = None
    log_loss_se: float | None = None
    accuracy: float | None = None
    accuracy_se: float | None = None
    seconds: float | None = None
    gold: dict[str, float | None] = field(default_factory=dict)
    behind: float | None = None
    behind_se: float | None = None
    tied_with_best: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Comparison:
    """Models, best first; those that give no probabilities follow by accuracy, those that failed come last.

    ``votes`` were dealt into ``folds``; ``ties``: some of them are ties, and the log loss is that of
    three outcomes. ``notes`` say what was left out.
    """

    rows: tuple[Row, ...]
    folds: int
    votes: int
    ties: bool
    seed: int = 0
    notes: tuple[Note, ...] = ()

    @property
    def best(self) -> Row | None:
        """The row of the smallest log loss; None where no model has one."""
        first = self.rows[0] if self.rows else None
        return None if first is None or first.log_loss is None or first.error is not None else first

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as ``crowdrank compare --json`` has them."""
        values = plain(asdict(self))
        return {"models": values.pop("rows"), **values}


@dataclass(frozen=True, eq=False)
class Trial:
    """A model's predictions of held-out votes, or why there are none."""

    model: str
    predictions: Predictions | None = None
    seconds: float | None = None
    gold: dict[str, float | None] = field(default_factory=dict)
    error: str | None = None


def compare_models(
    judgments: Any,
    models: Iterable[str] | None = None,
    *,
    folds: int = 5,
    gold: Any = None,
    settings: Mapping[str, Any] | None = None,
    ties: str = "keep",
    sample: int | None = None,
    seed: int = 0,
    engine: Any = None,
    told: Told | None = None,
) -> Comparison:
    """Fit each model to all folds but one and let it predict that one; best first.

    ``models``: names; where none are given all that can run here, and `auto`. ``folds``: how many.
    ``gold``: grades that score the fit to all votes. ``settings``: parameters, each for the models that
    have it. ``ties``: "keep", or "drop" tied votes first. ``sample``: compare on about so many votes.
    ``told`` is called with a few words on what is being done.

    >>> votes = [("a", "b"), ("b", "c"), ("a", "c"), ("b", "a"), ("c", "b"), ("a", "c")] * 5
    >>> winner, loser = zip(*votes)
    >>> found = compare_models(Pairs.from_votes(winner=winner, loser=loser), ["bt", "thurstone"])
    >>> sorted(row.model for row in found.rows)
    ['bt', 'thurstone']
    """
    asked = shared(_asked(models), {"seed": whole("seed", seed), **(settings or {})})
    pairs, notes = _votes(read(judgments), ties, sample, seed)
    able, left_out = runnable(list(asked), pairs)
    ready = {name: asked[name] for name in able}
    if models is None:
        ready, slow = _quick(ready, pairs, whole("folds", folds), engine)
        left_out += slow
    if not ready:
        raise InputError(
            "No model can be compared on these judgments.", hint=" ".join(n.message for n in left_out)
        )
    fold = dealt(pairs, whole("folds", folds), seed)
    grades = None if gold is None else read_gold(gold) if not isinstance(gold, Scored) else gold
    if grades is not None:
        grades.require_common(pairs.index)
    trials = [_trial(model, pairs, fold, grades, told, engine) for model in ready.values()]
    found = scored(trials, pairs, folds)
    return replace(found, seed=seed, notes=(*notes, *left_out))


def dealt(pairs: Pairs, folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of each vote; an error where all votes would fall into one."""
    fold = deal(pairs, folds, seed)
    if not pairs.rows or (fold == fold[0]).all():
        raise InputError("There are too few votes to hold some of them out.")
    return fold


def runnable(names: Sequence[str], pairs: Pairs | SpooledPairs) -> tuple[list[str], list[Note]]:
    """The models that take these votes, and a note on each that does not."""
    able, notes = [], []
    for name in names:
        entry = find(name)
        if "pairs" not in entry.kinds:
            notes.append(Note("left-out", f"{name} is left out: it does not take pairs."))
        elif entry.workers == "needed" and pairs.index.workers is None:
            notes.append(Note("left-out", f"{name} is left out: it needs to know who judged."))
        elif not entry.installed:
            notes.append(Note("left-out", f"{name} is left out: it needs the package {entry.package}."))
        else:
            able.append(name)
    return able, notes


def attempt(
    model: Model, pairs: Pairs, fold: NDArray[np.int64], told: Told | None = None, **options: Any
) -> Trial:
    """The model's predictions; a fit that fails is reported, a wrong parameter is an error."""
    try:
        return Trial(model.name, predict(model, pairs, fold, told, **options))
    except FAILURES as error:
        return Trial(model.name, error=str(error))
    except UsageError as error:
        raise UsageError(f"{model.name}: {error.message}", hint=error.hint) from None


def scored(trials: Sequence[Trial], pairs: Pairs, folds: int) -> Comparison:
    """The trials as a table, best first, with those marked that cannot be told from the best."""
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
    return Comparison(tuple(sorted(rows, key=_place)), folds, pairs.rows, ties)


def _row(trial: Trial, losses: Mapping[str, Floats], best: str | None, pairs: Pairs) -> Row:
    row = Row(trial.model, seconds=trial.seconds, gold=trial.gold, error=trial.error)
    if trial.predictions is None:
        return row
    accuracy = _accuracy(trial.predictions, pairs)
    row = replace(row, accuracy=_known(accuracy.mean), accuracy_se=_known(accuracy.error))
    if trial.model not in losses or best is None:
        return row
    loss = figure(losses[trial.model], pairs.weight)
    behind = figure(losses[trial.model] - losses[best], pairs.weight)
    return replace(
        row,
        log_loss=_known(loss.mean),
        log_loss_se=_known(loss.error),
        behind=_known(behind.mean),
        behind_se=_known(behind.error),
        tied_with_best=not behind.mean
        > TOLD_APART * behind.error,  # an error that is not known tells nothing apart
    )


def _accuracy(predictions: Predictions, pairs: Pairs) -> Figure:
    decided = pairs.outcome != TIE
    weight = None if pairs.weight is None else pairs.weight[decided]
    return figure(hits(predictions.ahead[decided], pairs.outcome[decided]), weight)


def _place(row: Row) -> tuple[bool, float, float]:
    accuracy = math.inf if row.accuracy is None else -row.accuracy
    return row.error is not None, math.inf if row.log_loss is None else row.log_loss, accuracy


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _trial(
    model: Model, pairs: Pairs, fold: NDArray[np.int64], gold: Scored | None, told: Told | None, engine: Any
) -> Trial:
    """The model's predictions; then its fit to all votes, for its time and its gold measures."""
    found = attempt(model, pairs, fold, told, engine=engine)
    if told is not None:
        told(f"{model.name}: all votes")
    try:
        fitted = model.clone().fit(pairs, engine=engine)
    except FAILURES as error:
        return replace(found, error=str(error))
    measured = {} if gold is None else evaluate(read_ranking(fitted.ranking_.polars()), gold, GOLD_MEASURES)
    own = {name: _known(value) for name, value in measured.items()}
    return replace(found, seconds=fitted.fit_.seconds["fit"], gold=own)


def _asked(models: Iterable[str] | None) -> list[str]:
    """The names asked for, each once; all where none are given."""
    names = list(catalogue()) if models is None else list(dict.fromkeys(models))
    if not names:
        raise UsageError("No model was named.", hint=f"The models are {', '.join(catalogue())}.")
    for name in names:
        find(name)
    return names


def _votes(table: Any, ties: str, sample: int | None, seed: int) -> tuple[Pairs, list[Note]]:
    """The votes that are compared on, and what was converted or left out."""
    pairs = to_pairs(table, ties=ties)
    notes = list(pairs.notes)
    every = MANY if isinstance(pairs, SpooledPairs) else pairs.rows
    most = every if sample is None else whole("sample", sample)
    chosen = sampled(pairs, most, seed)
    if chosen.rows < pairs.rows:
        notes.append(Note("sampled", f"{chosen.rows} of {pairs.rows} votes, chosen by a hash, are compared on."))
    if ties == "drop":
        decided = chosen.outcome != TIE
        if not decided.all():
            notes.append(
                Note("ties-dropped", f"{int((~decided).sum())} ties of {chosen.rows} votes were dropped.")
            )
        chosen = chosen.take(decided)
    if not chosen.rows:
        raise InputError("No vote is left to compare on.")
    return chosen.compact(), notes


def _quick(
    models: Mapping[str, Model], pairs: Pairs, folds: int, engine: Any
) -> tuple[dict[str, Model], list[Note]]:
    """The models that will not take too long, by the time that a part of many votes takes."""
    if pairs.rows <= 5 * TRIAL:
        return dict(models), []
    part = sampled(pairs, TRIAL).compact()
    quick, notes = {}, []
    for name, model in models.items():
        seconds = _seconds(model, part, engine) * (folds + 1) * pairs.rows / max(part.rows, 1)
        if seconds <= PATIENCE:
            quick[name] = model
        else:
            message = (
                f"{name} is left out: it would take about {seconds / 60:.0f} minutes. Name it to wait for it."
            )
            notes.append(Note("left-out", message))
    return quick, notes


def _seconds(model: Model, pairs: Pairs, engine: Any) -> float:
    """How long a fit takes; one that fails takes no time, and fails again where it is reported."""
    try:
        return model.clone().fit(pairs, engine=engine).fit_.seconds["fit"]
    except FAILURES:
        return 0.0
