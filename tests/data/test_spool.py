"""Judgments on disk: the same tables, tallies, results and errors as in memory."""

import errno
import gzip
import importlib
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdrank as cr
from cases import single_models
from crowdrank.data import SpooledPairs
from crowdrank.data.spool import sort
from crowdrank.data.spool.folder import Spool
from crowdrank.data.spool.memory import budget
from crowdrank.errors import CrowdrankError, InputError, UsageError
from crowdrank.prepared import runs
from crowdrank.prepared.comparisons import CodedVotes, plan, tally
from crowdrank.prepared.spooled import tally_batches, tally_spooled
from helpers import random_votes
from shards import cut_small


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(importlib.import_module("crowdrank.data.io.spooled"), "BATCH_ROWS", 64)
    monkeypatch.setattr(sort, "MERGE_ROWS", 100)
    monkeypatch.setattr(sort, "_SAMPLE", 8)


def on_disk(given, **options):
    table = cr.read(given, memory=0, **options)
    assert isinstance(table, SpooledPairs)
    return table


def joined(table, column):
    return np.concatenate([getattr(batch, column) for batch in table.batches()])


@pytest.mark.parametrize("queries", [0, 3])
def test_the_same_table_in_batches(queries, tmp_path):
    frame = random_votes(queries=queries).with_columns(weight=pl.int_range(1, pl.len() + 1))
    frame.write_csv(tmp_path / "votes.csv")
    whole, spooled = cr.read(tmp_path / "votes.csv"), on_disk(tmp_path / "votes.csv")
    assert len(list(spooled.batches())) > 3
    assert spooled.summary() == whole.summary()
    assert spooled.notes == whole.notes
    for column in ("left", "right", "outcome", "worker", "weight", *(["query"] if queries else [])):
        assert joined(spooled, column).tolist() == getattr(whole, column).tolist()


@pytest.mark.parametrize(
    "entry", [entry for entry in single_models() if "pairs" in entry.kinds], ids=lambda entry: entry.name
)
@pytest.mark.parametrize("queries", [0, 3])
def test_the_same_result_to_the_bit(entry, queries, tmp_path):
    frame = random_votes(seed=5, votes=900, queries=queries)
    gold = pl.DataFrame({"winner": ["i1"], "loser": ["i2"]}) if entry.load().anchors else None
    one = entry.make().fit(frame, anchors=gold)
    other = entry.make().fit(on_disk(frame), anchors=gold)
    assert one.ranking_.polars().equals(other.ranking_.polars())
    assert one.workers_.polars().equals(other.workers_.polars())
    messages = [note.message for note in one.fit_.warnings if note.code != "both-orders"]  # looked for in memory
    assert messages == [note.message for note in other.fit_.warnings]


@pytest.mark.parametrize("parameters", [{"start": "agreed"}, {"regularization": 0}])
def test_what_looks_at_all_rows_sees_them(parameters):
    frame = random_votes(seed=5, votes=4000, items=5)
    one = cr.CrowdBT(**parameters).fit(frame)
    other = cr.CrowdBT(**parameters).fit(on_disk(frame))
    assert one.ranking_.polars().equals(other.ranking_.polars())


votes = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=200
)


@given(votes, st.integers(1, 50), st.booleans())
def test_merged_runs_are_the_tally_of_everything(rows, size, by_worker):
    left, step, outcome, worker = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    whole = CodedVotes(left, (left + step) % 6, outcome.astype(np.int8), worker.astype(np.int32))
    batches = [
        CodedVotes(*(None if column is None else column[start : start + size] for column in whole))
        for start in range(0, len(left), size)
    ]
    workers = 4 if by_worker else 0
    wanted, spool = tally(6, whole, workers), Spool()
    found = cut_small(tally_spooled, 7, batches, 6, workers, spool)
    for mine, shard in zip(found, cut_small(plan, 7, wanted), strict=True):
        for name in ("i", "j", "wins", "losses", *(["worker"] if by_worker else [])):
            assert getattr(mine, name).tolist() == getattr(shard, name).tolist()
    if not by_worker:
        assert tally_batches(batches, 6, spool).wins.tolist() == wanted.wins.tolist()


def test_the_row_of_a_mistake_is_that_of_the_file(tmp_path):
    frame = random_votes(votes=300)
    frame[200, "label"] = "nobody"
    frame.write_csv(tmp_path / "votes.csv")
    with pytest.raises(InputError, match=r"votes.csv, row 201, column 'label'.*Got 'nobody'"):
        on_disk(tmp_path / "votes.csv")


def test_what_is_left_out_is_counted_over_all_batches():
    frame = random_votes(votes=300).with_columns(
        right=pl.when(pl.int_range(pl.len()) % 100 == 7).then("left").otherwise("right"),
        worker=pl.when(pl.int_range(pl.len()) % 150 == 8).then(pl.lit("")).otherwise("worker"),
    )
    frame = frame.with_columns(label=pl.when(pl.col("left") == pl.col("right")).then("left").otherwise("label"))
    assert [note.message for note in on_disk(frame).notes] == [
        "frame: 3 rows compare an item with itself and are left out.",
        "frame: 2 rows name no worker and are kept under one worker, (unknown).",
    ]


def test_a_weight_in_some_files_only(tmp_path):
    random_votes(votes=100).write_csv(tmp_path / "a.csv")
    random_votes(votes=100).with_columns(weight=2).write_csv(tmp_path / "b.csv")
    table = on_disk([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert joined(table, "weight").tolist() == [1.0] * 100 + [2.0] * 100


def test_a_folder_of_parquet_files(tmp_path):
    frame = random_votes(votes=300)
    (tmp_path / "deep").mkdir()
    frame[:100].write_parquet(tmp_path / "a.parquet")
    frame[100:].write_parquet(tmp_path / "deep" / "b.parquet")
    (tmp_path / "_temporary").mkdir()
    frame.write_parquet(tmp_path / "_temporary" / "c.parquet")  # what a writer has not finished
    (tmp_path / "_SUCCESS").touch()
    for table in (cr.read(tmp_path), on_disk(tmp_path)):
        assert table.rows == 300
        assert (
            cr.BradleyTerry().fit(table).ranking_.polars().equals(cr.BradleyTerry().fit(frame).ranking_.polars())
        )


def test_a_mistake_in_a_folder_names_the_file(tmp_path):
    random_votes(votes=30).write_parquet(tmp_path / "a.parquet")
    random_votes(votes=30).with_columns(label=pl.lit("x")).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b.parquet, row 1, column 'label'"):
        cr.read(tmp_path)


def test_a_folder_without_parquet_files(tmp_path):
    with pytest.raises(InputError, match="folder without Parquet"):
        cr.read(tmp_path)


def test_large_text_that_can_be_read_once_goes_to_disk(tmp_path):
    """Standard input and gzip: here by a budget that they exceed."""
    frame = random_votes(votes=300)
    frame.write_csv(tmp_path / "votes.csv")
    zipped = tmp_path / "votes.csv.gz"
    zipped.write_bytes(gzip.compress((tmp_path / "votes.csv").read_bytes()))
    assert on_disk(zipped).rows == 300
    code = "import crowdrank as cr; table = cr.read('-', memory=0); print(type(table).__name__, table.rows)"
    done = subprocess.run([sys.executable, "-c", code], input=zipped.read_bytes(), capture_output=True, check=True)
    assert done.stdout.split() == [b"SpooledPairs", b"300"]


def test_the_folder_goes_with_the_judgments(tmp_path):
    table = on_disk(random_votes(), spool=tmp_path)
    cr.CrowdBT().fit(table)
    assert any(tmp_path.iterdir())
    del table
    assert not any(tmp_path.iterdir())


def test_a_spool_that_cannot_be_written_to(tmp_path):
    with pytest.raises(UsageError, match=r"no folder .*nowhere"):
        cr.read(random_votes(), spool=tmp_path / "nowhere")
    with pytest.raises(CrowdrankError, match="Nothing can be written to /proc"):
        on_disk(random_votes(), spool="/proc")


def test_too_many_items_and_workers_for_the_merge_is_said(tmp_path):
    with pytest.raises(InputError, match="too many"):
        runs.TallyRuns(tmp_path, nodes=2**31, workers=4)


@pytest.mark.parametrize(("given", "expected"), [("8GB", 8e9), ("1.5 GiB", 1.5e9), (1000, 1000), ("20M", 20e6)])
def test_amounts_of_memory(given, expected):
    assert budget(given) == expected


def test_half_of_what_is_free_where_nothing_is_said():
    assert budget(None) > 10**6


def test_an_amount_that_is_none():
    with pytest.raises(UsageError, match="memory must be an amount"):
        budget("much")


def test_a_full_disk_is_said(monkeypatch, tmp_path):
    def full(*given, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(CrowdrankError, match=r"could not be written to .*MB free: .*No space left") as caught:
        on_disk(random_votes(), spool=tmp_path)
    assert caught.value.exit_code == 1
    assert "spool=DIR" in str(caught.value)


def test_a_copy_of_standard_input_goes_once_it_is_read(tmp_path):
    zipped = tmp_path / "votes.csv.gz"
    zipped.write_bytes(gzip.compress(random_votes(votes=300).write_csv().encode()))
    (tmp_path / "spool").mkdir()
    table = on_disk(zipped, spool=tmp_path / "spool")
    assert table.rows == 300
    assert not [path for path in (tmp_path / "spool").rglob("*") if path.name == "text" and path.is_file()]


def test_anchors_need_no_memory_to_spare(monkeypatch, tmp_path):
    monkeypatch.setattr("crowdrank.data.spool.memory._available", lambda: 0)
    pl.DataFrame({"winner": ["i1"], "loser": ["i2"]}).write_csv(tmp_path / "gold.csv")
    assert cr.Anchors.read(tmp_path / "gold.csv").pairs.rows == 1
