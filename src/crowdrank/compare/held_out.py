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
from crowdrank.data import Floats, Pairs
from crowdrank.models.base import Model

Told = Callable[[str], None]
"""Called with a few words on what is being done."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """What was said of each vote by a model that had not seen it.

    ``probabilities`` (rows, 3) of left, tie and right; None where the model only orders. ``ahead`` is 1
    where it puts left first, -1 where right, 0 where neither.
    """

    probabilities: Floats | None
    ahead: Floats


def predict(model: Model, split: Split, told: Told | None = None, **options: Any) -> Predictions:
    """The votes of every fold, predicted from the other folds; ``options`` go to the fits."""
    asked = split.asked
    probabilities: Floats | None = np.full((asked.rows, 3), np.nan)
    ahead = np.zeros(asked.rows)
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
    return Predictions(probabilities, ahead)


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
