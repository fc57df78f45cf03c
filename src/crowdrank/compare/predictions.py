"""Predictions of each fold by a model fitted to the other folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.compare.split import Split
from crowdrank.data import Floats, Rankings
from crowdrank.errors import InputError
from crowdrank.measures.votes import likelier_side
from crowdrank.models.base import Model
from crowdrank.models.predictions import compare_scores
from crowdrank.progress import announce, part


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions for each vote by a model that had not seen it.

    ``probabilities`` (rows, 3) of left, tie and right; None if the model only orders items. ``ahead`` is 1
    if the model puts left first, -1 if right, 0 if neither. ``lists``: -ln P of each whole held-out list and
    its weight, if the model gives such probabilities.
    """

    probabilities: Floats | None
    ahead: Floats
    lists: tuple[Floats, Floats] | None = None


def predict(model: Model, split: Split, **options: Any) -> Predictions:
    """Predict the votes of every fold from the other folds; ``options`` go to the fits."""
    asked = split.asked
    probabilities: Floats | None = np.full((asked.rows, 3), np.nan)
    ahead, lists = np.zeros(asked.rows), list[tuple[Floats, Floats]]()
    folds = len(split.numbers)
    for place, number in enumerate(split.numbers):
        announce(f"{model.name}: fold {place + 1} of {folds}", place, folds)
        held = split.fold == number
        votes = asked.take(held)
        with part(place, place + 1, folds):
            fitted = _without_resamples(model).fit(split.given(number), **options)
        if probabilities is not None and fitted.predicts:
            probabilities[held] = fitted.predict_proba(votes)
            ahead[held] = likelier_side(probabilities[held])
        else:
            probabilities = None
            ahead[held] = compare_scores(fitted.result_, votes)
        if fitted.predicts_lists and isinstance(split.judgments, Rankings):
            own = split.judgments.take(split.row_fold == number)
            lists.append(_list_losses(fitted, own))
    if not lists or any(np.isnan(losses).any() for losses, _ in lists):
        return Predictions(probabilities, ahead)
    losses, weight = (np.concatenate(parts) for parts in zip(*lists, strict=True))
    return Predictions(probabilities, ahead, (losses, weight))


def _list_losses(model: Model, held: Rankings) -> tuple[Floats, Floats]:
    """-ln P of each held-out list, and its weight; NaN if the model has no probability for one of them."""
    present, first = np.unique(held.list, return_index=True)
    weight = np.ones(len(present)) if held.weight is None else held.weight[first]
    try:
        return -model.list_log_likelihood(held)[present], weight
    except InputError:  # an item that the other lists do not rank
        return np.full(len(present), np.nan), weight


def _without_resamples(model: Model) -> Model:
    """An unfitted copy without resamples: predictions need no intervals."""
    copy = model.clone()
    return copy.set_params(intervals="information") if "intervals" in copy.get_params() else copy
