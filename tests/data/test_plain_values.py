"""Judgments as plain Python values: dicts of lists, and lists of dicts or tuples."""

from collections import namedtuple

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import read_gold

Vote = namedtuple("Vote", "worker winner loser")
PLAIN = pl.DataFrame({"winner": ["a", "b", "a"], "loser": ["b", "c", "c"]})
SAID = PLAIN.with_columns(worker=pl.Series(["u", "v", "u"])).select("worker", "winner", "loser")


def votes(given, **options):
    """The votes of a table as (worker, winner, loser)."""
    table = cr.read(given, **options)
    items, workers = table.index.items, table.index.workers
    won = np.where(table.outcome == 1, table.right, table.left)
    lost = np.where(table.outcome == 1, table.left, table.right)
    who = [None] * table.rows if workers is None else workers.gather(table.worker).to_list()
    return list(zip(who, items.gather(won), items.gather(lost), strict=True))


@pytest.mark.parametrize(
    "given",
    [
        SAID.to_dict(as_series=False),
        {name: column.to_numpy() for name, column in SAID.to_dict().items()},
        SAID.to_dicts(),
        SAID.rows(),
        [list(row) for row in SAID.rows()],
        [Vote(*row) for row in SAID.rows()],
        np.array(SAID.rows()),
        [(who, won, lost, won) for who, won, lost in SAID.rows()],
        [(who, lost, won, won) for who, won, lost in SAID.rows()],
        [SAID[:1].to_dict(as_series=False), SAID[1:].to_dict(as_series=False)],
    ],
)
def test_votes_of_workers(given):
    assert votes(given) == votes(SAID)


@pytest.mark.parametrize(
    "given",
    [
        PLAIN.rows(),
        [(won, lost, won) for won, lost in PLAIN.rows()],
        [(lost, won, "right") for won, lost in PLAIN.rows()],
        [(won, lost) for won, lost in PLAIN.to_numpy()],
    ],
)
def test_votes_of_unknown_people(given):
    assert votes(given) == votes(PLAIN)


def test_numbers_are_ids_as_in_a_frame():
    rows = [(1, 2), (2, 3), (1, 3)]
    assert cr.BradleyTerry().fit(rows).ranking_.frame()["item"].to_list() == [1, 2, 3]
    assert cr.read([(1, 2, 1), (2, 3, "tie")]).outcome.tolist() == [0, 2]


def test_names_for_other_tuples():
    rows = [("u", "a", 3), ("v", "b", 2)]
    assert cr.read(rows, columns=["worker", "item", "label"]).kind == "ratings"
    assert cr.read([("u", "a", 3)], columns=["worker", "item", "rank"]).kind == "rankings"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([("u", "a", 3), ("v", "b", 2)], "not clear what these tuples of 3 values are"),
        ([(1, 2, 3), (3, 1, 2)], "not clear"),  # a worker and two items, or a worker, an item and a grade
        ([("a", "b", "c", "d", "e")], "tuples of 5 values"),
        ([("a", "b"), ("a",)], "rows, row 2: a tuple of 2 values"),
        ({"winner": ["a"], "loser": ["b", "c"]}, "'winner' has 1, 'loser' has 2"),
        ({"winner": "a", "loser": "b"}, "column 'winner': a list of values is needed"),
        ({"winner": [object()], "loser": ["b"]}, "not plain"),
        ({"a": [1, 2]}, "these columns are not judgments"),
        (5, "a path or a frame of pandas, Polars or PyArrow, or from plain lists or dicts. Got 'int'"),
    ],
)
def test_what_is_not_clear_is_an_error(given, said):
    with pytest.raises(cr.InputError, match=said):
        cr.read(given)


def test_the_hint_is_right():
    rows = [("u", "a", 3), ("v", "b", 2)]
    with pytest.raises(cr.InputError, match=r'columns=\["worker", "winner", "loser"\]'):
        cr.read(rows)
    with pytest.raises(cr.InputError, match="has 3 values, but 2 columns are named"):
        cr.read(rows, columns=["worker", "item"])
    with pytest.raises(cr.UsageError, match="for a list of tuples"):
        cr.read(SAID, columns=["worker", "item"])


def test_gold_and_features_take_them_too():
    assert read_gold([{"item": "a", "grade": 1}, {"item": "b", "grade": 0}]).frame["value"].to_list() == [1, 0]
    assert cr.read_features({"item": ["a", "b"], "x": [0.5, 1.5]}).names == ("x",)
