"""Features beside gold and judgments."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import Scored, align, feature_rows, read_gold


def features(rows, queries=True):
    """Features with the row's number as the only value, from (query, item) pairs."""
    own = {"query": [query for query, _ in rows]} if queries else {}
    return cr.read_features(
        pl.DataFrame({**own, "item": [item for _, item in rows], "x": np.arange(len(rows), dtype=float)})
    )


def gold(*rows):
    return Scored(
        pl.DataFrame(rows, schema={"query": pl.String, "item": pl.String, "value": pl.Float64}, orient="row")
    )


def joined(table, aligned):
    """(query, item, value, the value of the feature) of each aligned row, by the ids."""
    item = table.take(aligned.rows).ids()["item"].to_list()
    query = [aligned.queries[int(code)] for code in aligned.query]
    return list(zip(query, item, aligned.values.tolist(), table.dense(aligned.rows)[:, 0].tolist(), strict=True))


def test_by_query_and_item():
    table = features([("q2", "b"), ("q1", "a"), ("q1", "b")])
    found = align(table, gold(("q1", "b", 2), ("q2", "b", 1), ("q1", "a", 0)))
    assert joined(table, found) == [("q1", "b", 2, 2), ("q2", "b", 1, 0), ("q1", "a", 0, 1)]
    assert found.notes == ()


def test_as_a_loop_over_all_rows():
    rng = np.random.default_rng(0)
    rows = [(f"q{code // 30}", f"i{code % 30}") for code in rng.permutation(600)[:400]]
    asked = [(f"q{code // 40}", f"i{code % 40}") for code in rng.permutation(1000)[:500]]
    table = features(rows)
    place = {pair: row for row, pair in enumerate(rows)}
    query, item = (pl.Series(column) for column in zip(*asked, strict=True))
    assert feature_rows(table, query, item).tolist() == [place.get(pair, -1) for pair in asked]


def test_features_without_queries_serve_every_query():
    table = features([(None, "b"), (None, "a")], queries=False)
    found = align(table, gold(("q2", "a", 2), ("q1", "b", 1), ("q1", "a", 0)))
    assert joined(table, found) == [("q2", "a", 2, 1), ("q1", "b", 1, 0), ("q1", "a", 0, 1)]


def test_gold_without_queries_takes_those_of_the_features():
    table = features([("q2", "b"), ("q1", "a")])
    found = align(table, gold((None, "a", 2), (None, "b", 1)))
    assert joined(table, found) == [("q1", "a", 2, 1), ("q2", "b", 1, 0)]
    with pytest.raises(cr.InputError, match=r"1 item has features in several queries.*: 'a'"):
        align(features([("q1", "a"), ("q2", "a")]), gold((None, "a", 2)))


def test_no_queries_at_all():
    table = features([(None, "b"), (None, "a")], queries=False)
    assert joined(table, align(table, gold((None, "a", 2), (None, "b", 1)))) == [
        (None, "a", 2, 1),
        (None, "b", 1, 0),
    ]


def test_nothing_in_common():
    table = features([("q1", "a"), ("q1", "b"), ("q1", "c"), ("q1", "d")])
    for missing in ("error", "drop"):
        with pytest.raises(cr.InputError, match=r"no item in common.*\('q1', 'a'\).*graded \('q2', 'a'\)"):
            align(table, gold(("q2", "a", 1)), missing=missing)


def test_graded_items_without_features():
    table, truth = features([("q", "a")]), gold(("q", "a", 1), *(("q", f"x{row}", 0) for row in range(5)))
    shown = r"5 graded items have no features: \('q', 'x0'\), \('q', 'x1'\), \('q', 'x2'\), \.\.\."
    with pytest.raises(cr.InputError, match=shown) as caught:
        align(table, truth)
    assert caught.value.hint[1].value == "drop"
    found = align(table, truth, missing="drop")
    assert joined(table, found) == [("q", "a", 1, 0)]
    assert [note.code for note in found.notes] == ["no-features"]
    assert "5 graded items have no features and are left out" in found.notes[0].message


def test_features_without_a_grade_are_left_out():
    table = features([("q", "a"), ("q", "b"), ("q", "c")])
    found = align(table, gold(("q", "b", 1)))
    assert joined(table, found) == [("q", "b", 1, 1)]
    assert [note.code for note in found.notes] == ["unused-features"]
    assert "2 rows of features are not graded and are left out: ('q', 'a'), ('q', 'c')." in found.notes[0].message
    with pytest.raises(cr.UsageError, match="missing must be"):
        align(table, gold(("q", "b", 1)), missing="skip")


def test_real_features_and_judgments(real):
    table = cr.read_features(real / "MQ2008" / "S1.txt.gz")
    found = align(table, read_gold(real / "MQ2008" / "S1.txt.gz"))
    assert found.rows.tolist() == list(range(table.rows))
    assert found.values.tolist() == table.label.tolist()
    ranks = cr.read(real / "MQ2008-agg" / "S1.txt.gz")
    rows = feature_rows(table, ranks.index.queries.gather(ranks.query), ranks.index.items.gather(ranks.item))
    assert (rows >= 0).all()
    assert len(set(rows.tolist())) == table.rows
