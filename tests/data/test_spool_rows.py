"""Ratings and rankings on disk: the same tables, results and errors as in memory."""

import importlib

import polars as pl
import pytest

import crowdrank as cr
from cases import drawn, single_models
from crowdrank.data import pair_stream
from crowdrank.data.spool import sort
from shards import small_shards

COLUMNS = {"lists": ("item", "rank", "list"), "labels": ("item", "label")}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(importlib.import_module("crowdrank.data.io.read"), "BATCH_ROWS", 16)
    monkeypatch.setattr(pair_stream, "BATCH_PAIRS", 50)
    monkeypatch.setattr(sort, "MERGE_ROWS", 20)
    monkeypatch.setattr(sort, "_SAMPLE", 4)


def on_disk(given, **options):
    table = cr.read(given, memory=0, **options)
    assert isinstance(table, cr.SpooledRatings | cr.SpooledRankings)
    return table


@pytest.mark.parametrize("queries", [0, 3])
@pytest.mark.parametrize("kind", ["lists", "labels"])
def test_the_same_table_in_batches(kind, queries, tmp_path):
    frame = drawn(kind, queries).with_columns(weight=pl.int_range(1, pl.len() + 1) / 7)
    frame.write_csv(tmp_path / "rows.csv")
    whole, spooled = cr.read(tmp_path / "rows.csv"), on_disk(tmp_path / "rows.csv")
    assert len(list(spooled.batches())) > 3
    assert spooled.summary() == whole.summary()
    again = spooled.load()
    for column in ("worker", "weight", *COLUMNS[kind], *(["query"] if queries else [])):
        assert getattr(again, column).tolist() == getattr(whole, column).tolist()


def same(one, other):
    assert one.ranking_.polars().equals(other.ranking_.polars())
    assert (one.workers_ is None) == (other.workers_ is None)
    if one.workers_ is not None:
        assert one.workers_.polars().equals(other.workers_.polars())
    assert one.fit_.judgments == other.fit_.judgments
    assert one.fit_.log_likelihood == other.fit_.log_likelihood
    for mine, theirs in zip(one.result_.further.values(), other.result_.further.values(), strict=True):
        assert mine.polars().equals(theirs.polars())
    given, found = ([(note.code, note.message) for note in own.fit_.warnings] for own in (one, other))
    assert given == [note for note in found if note[0] != "read-back"]


@pytest.mark.parametrize("kind", ["lists", "labels"])
@pytest.mark.parametrize("queries", [0, 3])
@pytest.mark.parametrize("entry", single_models(), ids=lambda entry: entry.name)
def test_the_same_result_to_the_bit(entry, queries, kind):
    if {"lists": "rankings", "labels": "ratings"}[kind] not in entry.kinds:
        pytest.skip("another kind of judgments")
    frame = drawn(kind, queries).with_columns(weight=0.1 + pl.int_range(pl.len()) % 3)
    with small_shards(20):
        same(entry.make().fit(frame), entry.make().fit(on_disk(frame)))
