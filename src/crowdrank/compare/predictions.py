"""Each fold predicted by a model that was fitted to the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.compare.scores import leading
from crowdrank.compare.split import Split
from crowdrank.data import Floats, Pairs, Rankings
from crowdrank.errors import InputError
from crowdrank.models.base import Model

Told = Callable[[str], None]
"""Called with a few words on what is being done."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """What was said of each vote by a model that had not seen it.

    ``probabilities`` (rows, 3) of left, tie and right; None where the model only orders. ``ahead`` is 1
    where it puts left first, -1 where right, 0 where neither. ``lists``: -ln P of each whole list that was
    held out with its weight, where the model gives such probabilities.
    """

    probabilities: Floats | None
    ahead: Floats
    lists: tuple[Floats, Floats] | None = None


def predict(model: Model, split: Split, told: Told | None = None, **options: Any) -> Predictions:
    """The votes of every fold, predicted from the other folds; ``options`` go to the fits."""
    asked = split.asked
    probabilities: Floats | None = np.full((asked.rows, 3), np.nan)
    ahead, lists = np.zeros(asked.rows), list[tuple[Floats, Floats]]()
    for place, number in enumerate(split.numbers):
        if told is not None:
            told(f"{model.name}: fold {place + 1} of {len(split.numbers)}")
        held = split.fold == number
        votes = asked.take(held)
        fitted = _plain(model).fit(split.given(number), **options)
        if probabilities is not None and fitted.predicts:
            probabilities[held] = fitted.probabilities(votes)
            ahead[held] = leading(probabilities[held])
        else:
            probabilities = None
            ahead[held] = _by_scores(fitted, votes)
        if fitted.predicts_lists and isinstance(split.judgments, Rankings):
            own = split.judgments.take(split.row_fold == number)
            lists.append(_list_losses(fitted, own))
    if not lists or any(np.isnan(losses).any() for losses, _ in lists):
        return Predictions(probabilities, ahead)
    losses, weight = (np.concatenate(parts) for parts in zip(*lists, strict=True))
    return Predictions(probabilities, ahead, (losses, weight))


def _list_losses(model: Model, held: Rankings) -> tuple[Floats, Floats]:
    """-ln P of each list held out, and its weight; NaN where the model has no probability for one of them."""
    present, first = np.unique(held.list, return_index=True)
    weight = np.ones(len(present)) if held.weight is None else held.weight[first]
    try:
        return -model.list_log_likelihood(held)[present], weight
    except InputError:  # an item that the others do not rank
        return np.full(len(present), np.nan), weight


def _plain(model: Model) -> Model:
    """An unfitted copy without resamples: predictions need no intervals."""
    copy = model.clone()
    return copy.set_params(intervals="information") if "intervals" in copy.settable() else copy


def _by_scores(model: Model, pairs: Pairs) -> Floats:
    """Which side has the larger score; 0 where the fit does not know both items."""
    scores = model.ranking_.polars().select("query", "item", "score")
    index = pairs.index
    query = None if index.queries is None or pairs.query is None else index.queries.gather(pairs.query)

    def of(side: NDArray[Any]) -> Floats:
        asked = pl.DataFrame({"item": index.items.gather(side)})
        named = asked.with_columns(query=pl.lit(None, pl.String) if query is None else query)
        found = named.join(scores, on=["query", "item"], how="left", nulls_equal=True, maintain_order="left")
        return found["score"].to_numpy()

    return np.nan_to_num(np.sign(of(pairs.left) - of(pairs.right)))
