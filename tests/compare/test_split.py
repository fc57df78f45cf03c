"""Judgments dealt into folds."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.compare.split import sample_queries, sample_units, split
from helpers import random_labels, random_lists, random_votes

ALL = 10**9


@pytest.mark.parametrize(
    "frame",
    [random_votes(queries=2), random_lists(queries=2), random_lists(below=True), random_labels(labels=300)],
    ids=["pairs", "lists", "top lists", "labels"],
)
class TestEveryKind:
    def test_nothing_is_predicted_from_itself(self, frame):
        table = cr.read(frame)
        dealt = split(table, 4, 0, "keep", ALL)
        assert set(dealt.numbers) == {0, 1, 2, 3}
        whole = cr.to_pairs(table)
        for number in dealt.numbers:
            given = dealt.given(number)
            asked = int((dealt.fold == number).sum())
            assert cr.to_pairs(given).rows + asked <= whole.rows
            assert given.kind == table.kind

    def test_the_order_of_the_rows_does_not_matter(self, frame):
        one, other = (
            split(cr.read(rows), 4, 0, "keep", ALL)
            for rows in (frame, frame.sample(fraction=1, shuffle=True, seed=5))
        )
        names = [sorted(dealt.asked.index.items) for dealt in (one, other)]
        assert names[0] == names[1]
        for number in range(4):
            counts = [int((dealt.fold == number).sum()) for dealt in (one, other)]
            assert counts[0] == counts[1]


def test_lists_of_a_worker_about_a_query_stay_together_and_her_queries_are_spread():
    table = cr.read(random_lists(seed=1, queries=8))
    dealt = split(table, 4, 0, "keep", ALL)
    frame = pl.DataFrame({"worker": table.worker, "query": table.query, "fold": dealt.row_fold})
    assert frame.group_by("worker", "query").agg(pl.col("fold").n_unique())["fold"].to_list() == [1] * 56
    assert (frame.group_by("worker").agg(pl.col("fold").n_unique())["fold"] == 4).all()


def test_lists_that_nobody_signed_are_told_apart_by_what_they_say():
    frame = random_lists(seed=2).with_columns(list=pl.col("worker") + pl.col("list")).drop("worker")
    again = pl.concat([frame, frame.with_columns(list="x" + pl.col("list"))])
    dealt = split(cr.read(again), 3, 0, "keep", ALL)
    assert np.bincount(dealt.row_fold).min() > 0


def test_a_part_of_the_votes_is_asked_about():
    dealt = split(cr.read(random_lists(queries=6)), 3, 0, "keep", 300)
    assert 150 < dealt.asked.rows < 450


@pytest.mark.parametrize("frame", [random_lists(queries=4), random_labels()], ids=["lists", "labels"])
def test_a_part_of_it(frame):
    table = cr.read(frame)
    part = sample_units(table, 0.5)
    assert 0.2 * table.rows < part.rows < 0.8 * table.rows


def test_what_stands_below_does_so_whatever_else_is_held_out():
    """Runs that name only what they rank are dealt as the same runs with the others named."""
    runs = random_lists(seed=8, queries=3)
    named = pl.concat(
        [
            runs,
            runs.select("query", "worker", "list")
            .unique()
            .join(runs.select("query", "item").unique(), on="query")
            .join(runs, on=["query", "worker", "list", "item"], how="anti")
            .with_columns(rank=pl.lit(None, pl.Int64))
            .select(runs.columns),
        ]
    )
    one, other = (split(cr.read(frame, missing="below"), 3, 0, "keep", ALL) for frame in (runs, named))
    assert one.asked.rows == other.asked.rows
    found = [
        cr.compare_models(cr.read(frame, missing="below"), ["bt"], folds=3).rows[0] for frame in (runs, named)
    ]
    assert found[0].log_loss == pytest.approx(found[1].log_loss)


def test_too_few():
    frame = pl.DataFrame({"worker": ["w", "w"], "item": ["a", "b"], "rank": [1, 2]})
    with pytest.raises(cr.InputError, match="too few"):
        split(cr.read(frame), 3, 0, "keep", ALL)
    with pytest.raises(cr.UsageError, match="at least 2"):
        split(cr.read(frame), 1, 0, "keep", ALL)


def test_no_folds_compare_by_gold_and_time():
    frame = random_lists(seed=4, queries=3)
    gold = frame.select("query", "item").unique().with_columns(grade=pl.col("item").str.slice(1).cast(pl.Int64))
    found = cr.compare_models(frame, ["rrf", "median-rank", "crowd-lists"], folds=0, gold=gold, measures="tau AP")
    assert found.votes == found.folds == 0
    assert [row.log_loss for row in found.rows] == [None] * 3
    taus = [row.gold["tau"] for row in found.rows]
    assert taus == sorted(taus, reverse=True)
    assert all(set(row.gold) == {"tau", "AP"} for row in found.rows)
    with pytest.raises(cr.UsageError, match="nothing to compare by"):
        cr.compare_models(frame, ["rrf"], folds=0)


def test_whole_lists_are_scored_where_a_model_gives_their_probability():
    frame = random_lists(seed=4, queries=4)
    found = {row.model: row for row in cr.compare_models(frame, ["plackett-luce", "rrf"], folds=3).rows}
    assert found["rrf"].list_loss is None
    dealt = split(cr.read(frame), 3, 0, "keep", ALL)
    total, lists = 0.0, 0
    for number in range(3):
        held = dealt.judgments.take(dealt.row_fold == number)
        own = cr.PlackettLuce().fit(dealt.given(number)).list_log_likelihood(held)
        total -= own.sum()
        lists += len(np.unique(held.list))
    assert found["plackett-luce"].list_loss == pytest.approx(total / lists)


def test_fewer_queries_with_all_that_was_judged_in_them():
    table = cr.read(random_lists(queries=12))
    part = sample_queries(table, 0.5)
    kept = np.unique(part.query)
    assert 2 <= len(kept) <= 10
    assert part.rows == int(np.isin(table.query, kept).sum())
    alone = cr.read(random_lists())
    assert sample_queries(alone, 0.5).rows == sample_units(alone, 0.5).rows


def test_folds_of_ties_alone_are_not_asked_about():
    rows = [(f"w{k}", item, 1) for k in range(9) for item in "abc"]
    rows += [("x", "a", 1), ("x", "b", 2), ("x", "c", 3)]
    table = cr.read(pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row"))
    dealt = split(table, 3, 0, "drop", ALL)
    assert len(dealt.numbers) == 1
    assert dealt.asked.rows == 3
