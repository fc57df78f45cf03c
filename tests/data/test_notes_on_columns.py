"""Columns that could be read in two ways: a note says which was taken, and how to take the other."""

import polars as pl
import pytest

import crowdrank as cr

TWO = [
    ({"winner": ["a"], "loser": ["b"], "worker": ["x"], "annotator": ["y"]}, "'worker'", "worker=annotator"),
    ({"item": ["a"], "label": ["1"], "rating": ["2"]}, "'label'", "label=rating"),
    ({"left": ["a"], "right": ["b"], "label": ["a"], "winner": ["b"]}, "'label'", "winner=winner"),
    ({"item": ["a"], "label": ["1"], "query": ["q"], "qid": ["r"]}, "'query'", "query=qid"),
]


@pytest.mark.parametrize(("columns", "taken", "other"), TWO)
def test_two_columns_that_could_be_meant(columns, taken, other):
    table = cr.read(pl.DataFrame(columns))
    assert [note.code for note in table.notes] == ["two-columns"]
    said = table.notes[0].wording()
    assert f"the column {taken} was read" in said
    assert said.endswith(f'To use the other one: columns="{other}"')
    assert cr.read(pl.DataFrame(columns), columns=other).notes == ()


def test_the_other_column_is_read_if_it_is_named():
    columns, _, other = TWO[2]
    assert cr.read(pl.DataFrame(columns)).outcome.tolist() == [0]
    assert cr.read(pl.DataFrame(columns), columns=other).outcome.tolist() == [1]


def votes(items_of):
    rows = [(f"q{q}", f"{i}", f"{j}") for q in range(4) for i in items_of(q) for j in items_of(q) if i < j]
    return pl.DataFrame(rows, schema=["query", "winner", "loser"], orient="row")


def test_the_same_items_in_every_query():
    frame = votes(lambda _: ("m1", "m2", "m3"))
    (note,) = cr.read(frame).notes
    assert note.code == "split-queries"
    assert "one ranking for each of the 4 values of the column 'query'" in note.message
    assert note.wording().endswith('columns="query="')
    assert cr.read(frame, columns="query=").query is None
    assert cr.read(frame, columns="query=query").notes == ()


def test_items_of_their_own_in_every_query():
    assert cr.read(votes(lambda q: (f"{q}a", f"{q}b", f"{q}c"))).notes == ()
