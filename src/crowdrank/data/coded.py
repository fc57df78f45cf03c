"""Columns of a frame in the codes and numbers of a table of judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats


def code_columns(
    frame: pl.DataFrame, codes: Mapping[str, NDArray[np.int32]], *items: str
) -> dict[str, NDArray[Any]]:
    """The columns of ids as codes, and the optional numbers: arguments for a table of judgments.

    ``items`` are the columns that hold items; ``codes`` maps, for each sort of id, a number to its code.
    """
    sorts = {**dict.fromkeys(items, "item"), **{sort: sort for sort in codes if sort != "item"}}
    coded = {column: codes[sort][frame[column].to_physical().to_numpy()] for column, sort in sorts.items()}
    numbers = [name for name in ("weight", "timestamp") if name in frame.columns]
    return {**coded, **{name: frame[name].to_numpy() for name in numbers}}


def label_numbers(frame: pl.DataFrame, names: Sequence[str]) -> Floats:
    """The labels as numbers; those that are text have a column ``name``, and are places in ``names``."""
    if "name" not in frame.columns:
        return frame["label"].to_numpy()
    places = pl.Series(range(len(names)), dtype=pl.Float64)
    return frame["name"].replace_strict(list(names), places).to_numpy()
