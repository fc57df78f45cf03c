"""What every ranker that learns from a crowd does with every scorer: the same answer for the same content."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

from crowdrank.engine import LocalEngine
from crowdrank.rankers.crowd_training import WORK
from crowdrank.rankers.registry import INVARIANCES, ranker_entries
from crowdrank.rankers.saved import load
from rankers.crowds import as_pairs, each, each_ranker, features, frames, make, tables
from rankers.made import scores_by_id
from shards import CountingEngine, small_shards

TOLERANCE = 1e-9


@cache
def trained(name, scorer):
    """The ranker on the usual lists; nobody may change it."""
    return make(name, scorer).fit(features(), tables(), engine=LocalEngine(1))


def holds(name, scorer, change):
    """Whether the entry promises that this change leaves the answer the same."""
    assert change in INVARIANCES
    return change not in ranker_entries()[name].varies[scorer]


def same(name, scorer, change, one, two, worker_ids=lambda ids: ids):
    """Scores and workers of two rankers are the same if the entry says so; ``worker_ids`` renames those of one."""
    scores = [scores_by_id(ranker, features()) for ranker in (one, two)]
    assert np.isfinite(scores).all()
    if not holds(name, scorer, change):
        return
    np.testing.assert_allclose(scores[0], scores[1], atol=TOLERANCE, rtol=0)
    first, second = (ranker.workers_.polars() for ranker in (one, two))
    first = first.with_columns(worker_ids(pl.col("worker"))).sort("worker")
    assert first["worker"].to_list() == second.sort("worker")["worker"].to_list()
    for column in first.select(pl.col(pl.Float64)).columns:
        np.testing.assert_allclose(first[column], second.sort("worker")[column], rtol=TOLERANCE, err_msg=column)


@each
def test_names(name, scorer):
    def rename(frame):
        return frame.with_columns(
            query=pl.col("query").str.replace("q", "z").str.reverse(),
            item=pl.col("item").str.replace("d", "").str.reverse(),
            **({"worker": pl.col("worker").str.reverse()} if "worker" in frame.columns else {}),
        )

    again = make(name, scorer).fit(rename(features()), tables(rename))
    same(name, scorer, "names", trained(name, scorer), again, lambda ids: ids.str.reverse())


@each
def test_rows_in_another_order(name, scorer):
    def shuffle(frame):
        return frame.sample(fraction=1.0, shuffle=True, seed=5)

    again = make(name, scorer).fit(shuffle(features()), tables(shuffle)[::-1])
    same(name, scorer, "rows", trained(name, scorer), again)


@each
def test_shards_and_threads(name, scorer):
    engines = [CountingEngine(threads) for threads in (1, 2)]
    with small_shards(WORK * 14):
        one, two = (make(name, scorer).fit(features(), tables(), engine=own) for own in engines)
    assert min(engines[0].counts) > 2
    assert (scores_by_id(one, features()) == scores_by_id(two, features())).all(), "threads"
    assert one.workers_.polars().equals(two.workers_.polars())
    same(name, scorer, "shards", trained(name, scorer), one)


@each
def test_a_list_in_two_tables_is_a_list_of_weight_2(name, scorer):
    chosen = pl.col("query").is_in(["q001", "q004"])
    full = frames()[1]["full"]
    weighted = full.with_columns(weight=pl.when(chosen).then(2.0).otherwise(1.0))
    one, two = (make(name, scorer).fit(features(), own) for own in (weighted, [full, full.filter(chosen)]))
    same(name, scorer, "weights", one, two)


@each
def test_a_pair_twice_is_a_pair_of_weight_2(name, scorer):
    pairs = as_pairs(frames()[1]["full"])
    chosen = pl.col("query").is_in(["q001", "q004"])
    weighted = pairs.with_columns(weight=pl.when(chosen).then(2.0).otherwise(1.0))
    one, two = (
        make(name, scorer).fit(features(), own) for own in (weighted, pl.concat([pairs, pairs.filter(chosen)]))
    )
    same(name, scorer, "weights", one, two)


@each_ranker
def test_fractions_of_a_pair_in_another_order(name):
    """0.1 + 0.2 + 0.3 is 0.6 or 0.6000000000000001, and what is drawn may not depend on that."""
    pairs = as_pairs(frames()[1]["full"])
    parts = pl.concat([pairs.with_columns(weight=pl.lit(part)) for part in (0.1, 0.2, 0.3)])
    one, two = (make(name, "linear").fit(features(), own) for own in (parts, parts.reverse()))
    same(name, "linear", "rows", one, two)


@each
def test_saved_loaded_and_scored(name, scorer, tmp_path):
    trained(name, scorer).save(tmp_path / "ranker")
    again = load(tmp_path / "ranker")
    assert (scores_by_id(again, features()) == scores_by_id(trained(name, scorer), features())).all()
    assert again.fit_.as_dict() == trained(name, scorer).fit_.as_dict()
    assert again.importance_.polars().equals(trained(name, scorer).importance_.polars())


@each
def test_the_truth_is_learned(name, scorer):
    if scorer != "net":  # which has hardly begun after so few steps
        assert trained(name, scorer).importance_.polars()["feature"][0] == "f0"
    found = trained(name, scorer).workers_.polars()
    quality = dict(zip(found["worker"], found["quality"], strict=True))
    assert quality["ann"] > quality["cy"]
    assert found["judgments"].to_list() == [8.0] * 4


@each_ranker
def test_gold_only_measures(name):
    gold = features().select("query", "item", label=(pl.col("f0") > 0).cast(pl.Int64))
    ranker, usual = make(name, "linear").fit(features(), tables(), gold=gold), trained(name, "linear")
    assert (scores_by_id(ranker, features()) == scores_by_id(usual, features())).all()
    assert ranker.workers_.polars().equals(usual.workers_.polars())
    assert ranker.fit_.log_likelihood == pytest.approx(usual.fit_.log_likelihood)
    assert ranker.fit_.warnings == usual.fit_.warnings
    assert ranker.fit_.details["measured"]["queries"] == 8


@each
def test_validation(name, scorer):
    ranker = make(name, scorer).fit(features(), tables(), validation=0.3)
    assert np.isfinite(scores_by_id(ranker, features())).all()
    if name != "ltrma-d":  # its ranker is trained in the end
        assert ranker.validation_.polars()["value"].is_finite().all()
