"""Two answers of a model, side by side."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from crowdrank.results import Posterior

KEYS = ("query", "item", "worker", "domain", "true", "said")
ROLES = {"query": "query", "item": "item", "worker": "worker", "left": "item", "right": "item", "label": "item"}
"""The columns of ids, and what they name."""


def fit(entry, frame, **options):
    return entry.make().fit(frame, **options)


def codes(model):
    """The codes of a fitted model's warnings."""
    return {note.code for note in model.fit_.warnings}


def finite(model):
    """Every score has a bounded interval."""
    table = model.ranking_.polars()
    assert table.select(pl.col("score", "stderr", "low", "high").is_finite().all()).row(0) == (True,) * 4


def tables(model):
    """All tables of a fitted model by their names, sorted by what they are about."""
    found = {name: table.polars() for name, table in model.result_.tables.items()}
    if isinstance(model.posterior_, Posterior):
        found["posterior"] = model.posterior_.polars()
    return {name: by_keys(table) for name, table in found.items()}


def by_keys(table):
    return table.sort([key for key in KEYS if key in table.columns])


def translate(table, names):
    """The table with its ids replaced; ``names``: for "item", "worker" or "query" the new id of each."""
    ids = [column for column in table.columns if ROLES.get(column) in names and table[column].dtype == pl.String]
    return table.with_columns(pl.col(column).replace(names[ROLES[column]]) for column in ids)


def mirror(table):
    """A table of workers who saw the other side: whoever prefers the left side there prefers the right one here.

    That is the one column that sides change; every other is the same.
    """
    if "position" not in table.columns:
        return table
    low, high = -pl.col("position_high"), -pl.col("position_low")
    return table.with_columns(-pl.col("position"), position_low=low, position_high=high)


def close(one, other, tolerance, what):
    one, other = (np.array(value, dtype=float) for value in (one, other))  # None is NaN
    np.testing.assert_allclose(other, one, atol=tolerance, rtol=0, err_msg=what)


def same_table(name, one, other, tolerance):
    """Every column is equal. Items of the same score are ordered by their ids, so that these may change ranks."""
    assert one.columns == other.columns
    for column in one.columns:
        if not one[column].dtype.is_numeric():
            assert one[column].to_list() == other[column].to_list(), f"{name}, {column}"
            continue
        x, y = (table[column].to_numpy() for table in (one, other))
        if (name, column) == ("ranking", "rank"):
            tied = one.select(pl.struct("query", pl.col("score").round(9)).is_duplicated()).to_series().to_numpy()
            x, y = x[~tied], y[~tied]
        close(x, y, tolerance, f"{name}, {column}")


def votes_about(model, swapped=False):
    """A vote on each item of a fitted model and the next one in the order of their ids, by one worker after the
    other."""
    items = model.ranking_.polars().sort("query", "item").select("query", "item")
    pairs = items.with_columns(right=pl.col("item").shift(-1).over("query")).drop_nulls("right")
    left, right = ("right", "item") if swapped else ("item", "right")
    votes = pairs.select("query", left=left, right=right, label=left)
    if model.workers_ is not None:
        workers = sorted(model.workers_.worker)
        votes = votes.with_columns(worker=pl.Series(workers).gather(np.arange(len(votes)) % len(workers)))
    return votes if votes["query"].null_count() == 0 else votes.drop("query")


def lists_about(model):
    """For each query a list of all its items in the order of their ids, by one worker."""
    table = model.ranking_.polars().sort("query", "item").select("query", "item")
    for part in table.partition_by("query"):
        ranked = part.with_columns(rank=pl.int_range(1, len(part) + 1))
        if model.workers_ is not None:
            ranked = ranked.with_columns(worker=pl.lit(sorted(model.workers_.worker)[0]))
        yield ranked if ranked["query"].null_count() == 0 else ranked.drop("query")


def same_predictions(one, other, names, tolerance, swapped):
    """The two give the same probabilities of votes and of lists."""
    assert one.predicts == other.predicts
    if one.predicts:
        ours = one.predict_proba(votes_about(one))
        theirs = other.predict_proba(translate(votes_about(one, swapped), names))
        close(ours, theirs[:, ::-1] if swapped else theirs, tolerance, "probabilities")
    assert one.predicts_lists == other.predicts_lists
    if one.predicts_lists:
        for ranked in lists_about(one):
            ours, theirs = one.list_log_likelihood(ranked), other.list_log_likelihood(translate(ranked, names))
            close(ours, theirs, tolerance, "list_log_likelihood")


def same(one, other, names=None, tolerance=1e-9, swapped=False):
    """The two results are equal: every table, the likelihood, and what is predicted.

    ``names``: the ids of the first, and what the second calls them. ``swapped``: the second saw left as right.
    """
    names = names or {}
    back = {role: {new: old for old, new in own.items()} for role, own in names.items()}
    ours, theirs = tables(one), tables(other)
    assert ours.keys() == theirs.keys()
    for name, table in ours.items():
        found = by_keys(translate(theirs[name], back))
        same_table(name, table, mirror(found) if swapped else found, tolerance)
    assert one.fit_.converged == other.fit_.converged
    close(one.fit_.log_likelihood, other.fit_.log_likelihood, tolerance, "log likelihood")
    same_predictions(one, other, names, tolerance, swapped)


def held_to(entry, invariance, one, other, **options):
    """The two results are equal; or they differ, where the entry says so."""
    if invariance not in entry.varies:
        same(one, other, **options)
        return
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        same(one, other, **options)
