"""Two answers of a model, side by side."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

NUMBERS = ("score", "stderr", "low", "high", "rank", "rank_low", "rank_high", "tier")
WORKER_NUMBERS = ("judgments", "quality", "low", "high")


def fit(entry, frame, **options):
    return entry.make().fit(frame, **options)


def codes(model):
    """The codes of a fitted model's warnings."""
    return {note.code for note in model.fit_.warnings}


def finite(model):
    """Every score has a bounded interval."""
    table = model.ranking_.polars()
    assert table.select(pl.col("score", "stderr", "low", "high").is_finite().all()).row(0) == (True,) * 4


def same(one, other, items=None, workers=None, queries=None, tolerance=1e-9):
    """The two results are equal, the second one's names being translated back."""

    def plain(table, keys, maps):
        for key, names in zip(keys, maps, strict=True):
            if names:
                table = table.with_columns(pl.col(key).replace(names))
        return table.sort(keys)

    a = one.ranking_.polars().sort("query", "item")
    b = plain(other.ranking_.polars(), ["query", "item"], [queries, items])
    assert a["item"].to_list() == b["item"].to_list()
    # items of exactly the same score are ordered by their ids at last, and may change places
    tied = a.select(pl.struct("query", pl.col("score").round(9)).is_duplicated()).to_series().to_numpy()
    for column in NUMBERS:
        compared = ~tied if column == "rank" else slice(None)
        x, y = (table[column].to_numpy()[compared] for table in (a, b))
        np.testing.assert_allclose(y, x, atol=tolerance, rtol=0, err_msg=column)
    if one.workers_ is None:
        assert other.workers_ is None
        return
    a, b = one.workers_.polars().sort("worker"), plain(other.workers_.polars(), ["worker"], [workers])
    for column in WORKER_NUMBERS:
        np.testing.assert_allclose(b[column], a[column], atol=tolerance, rtol=0, err_msg=column)


def held_to(entry, invariance, one, other, *names, **options):
    """The two results are equal; or they differ, where the entry says so."""
    if invariance not in entry.varies:
        same(one, other, *names, **options)
        return
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        same(one, other, *names, **options)
