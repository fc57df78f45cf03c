"""Ratings and rankings on disk: the same tables, results and errors as in memory."""

import contextlib
import gc
import importlib

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from cases import drawn, single_models
from crowdrank.data import pair_stream
from crowdrank.data.spool import sort
from crowdrank.errors import InputError
from shards import small_shards

COLUMNS = {"lists": ("item", "rank", "list"), "labels": ("item", "label")}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(importlib.import_module("crowdrank.data.io.spooled"), "BATCH_ROWS", 16)
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


SHORT = ("borda", "elo", "majority-vote", "dawid-skene", "ordinal", "plackett-luce", "rrf")
ON_DISK = {"majority-vote", "average", "dawid-skene", "glad", "ordinal", "plackett-luce", "rrf", "root-rank"}
"""Models of labels and lists that need no more than passes over shards."""
KINDS = {"lists": "rankings", "lists with items below": "rankings", "labels": "ratings"}


@pytest.mark.parametrize("queries", [0, 3])
@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        pytest.param(
            entry, kind, id=f"{entry.name}, {kind}", marks=[] if entry.name in SHORT else [pytest.mark.long]
        )
        for entry in single_models()
        for kind in KINDS
        if KINDS[kind] in entry.kinds
    ],
)
def test_the_same_result_to_the_bit(entry, kind, queries):
    frame = drawn(kind, queries).with_columns(weight=0.1 + pl.int_range(pl.len()) % 3)
    with small_shards(20):
        other = entry.make().fit(on_disk(frame))
        same(entry.make().fit(frame), other)
    if entry.name in ON_DISK or "pairs" in entry.kinds:
        assert "read-back" not in {note.code for note in other.fit_.warnings}


def test_a_model_that_needs_all_rows_says_so():
    fitted = cr.MedianRank().fit(on_disk(drawn("lists", 3)))
    (note,) = [note for note in fitted.fit_.warnings if note.code == "read-back"]
    count = cr.read(drawn("lists", 3)).rows
    assert note.message == f"median-rank needs all rankings in memory, so the {count} on disk were read back."


def test_plackett_luce_reads_rows_back_only_where_it_must():
    frame = drawn("lists", 0)
    for parameters in ({"slope": "by-worker"}, {"direction": "bottom"}):
        other = cr.PlackettLuce(**parameters).fit(on_disk(frame))
        same(cr.PlackettLuce(**parameters).fit(frame), other)
        assert ("read-back" in {note.code for note in other.fit_.warnings}) == ("direction" in parameters)


def test_known_labels_calibrate_alike():
    frame = drawn("labels", 0)
    known = frame.unique("item", maintain_order=True).select("item", "label").head(6)
    same(cr.DawidSkene().fit(frame, anchors=known), cr.DawidSkene().fit(on_disk(frame), anchors=known))


@pytest.mark.long
@pytest.mark.parametrize(("model", "kind"), [("dawid-skene", "labels"), ("plackett-luce", "lists")])
def test_the_same_on_a_cluster(model, kind, tmp_path):
    frame, entry = drawn(kind, 3), next(entry for entry in single_models() if entry.name == model)
    with small_shards(20), contextlib.closing(cr.DaskEngine(workers=2)) as engine:
        same(entry.make().fit(frame), entry.make().fit(on_disk(frame, spool=tmp_path), engine=engine))


def test_repeated_ratings_are_averaged_in_whole_groups():
    frame = pl.concat([drawn("labels", 3), drawn("labels", 3).head(30)])
    for model in (cr.Borda, cr.PlackettLuce):
        same(model().fit(frame), model().fit(on_disk(frame)))


def test_pairs_in_batches_are_those_of_the_conversion():
    for kind in KINDS:
        for table in (cr.read(drawn(kind, 3)), on_disk(drawn(kind, 3))):
            stream, whole = pair_stream.stream_pairs(table), cr.to_pairs(table)
            assert isinstance(stream, pair_stream.ConvertedPairs)
            assert stream.notes == whole.notes
            assert stream.rows == whole.rows
            for column in ("left", "right", "outcome", "worker", "query"):
                found = np.concatenate([getattr(batch, column) for batch in stream.batches()])
                assert found.tolist() == getattr(whole, column).tolist()


def test_odd_ids_and_a_weight_of_zero():
    odd = ["a,b", "é", " x", "10", "9", "", "日本"]
    frame = drawn("lists", 3).with_columns(
        item=pl.col("item").replace({"i1": odd[0], "i2": odd[1], "i3": odd[2], "i4": odd[6]}),
        worker=pl.col("worker").replace({"w1": odd[5], "w2": odd[3], "w3": odd[4]}),
        weight=(pl.int_range(pl.len()) % 5 > 0).cast(pl.Float64),
    )
    whole, spooled = cr.read(frame), on_disk(frame)
    assert spooled.summary() == whole.summary()
    assert spooled.notes == whole.notes
    same(cr.PlackettLuce().fit(whole), cr.PlackettLuce().fit(spooled))


@pytest.mark.parametrize(("kind", "column", "value"), [("labels", "label", "good"), ("lists", "rank", "-1")])
def test_the_row_of_a_mistake_in_a_late_batch_is_that_of_the_file(kind, column, value, tmp_path):
    frame = drawn(kind, 3).with_columns(pl.col(column).cast(pl.String))
    last = frame.height - 2
    frame[last, column] = value
    frame.write_csv(tmp_path / "rows.csv")
    (tmp_path / "spool").mkdir()
    with pytest.raises(InputError, match=rf"rows.csv, row {last + 1}, column '{column}'.*Got '{value}'"):
        on_disk(tmp_path / "rows.csv", spool=tmp_path / "spool")
    gc.collect()
    assert not any((tmp_path / "spool").iterdir())


def test_an_item_ranked_twice_in_batches_far_apart(tmp_path):
    frame = drawn("lists", 3)
    pl.concat([frame, frame[3:4]]).write_csv(tmp_path / "rows.csv")
    for memory in (None, 0):
        with pytest.raises(InputError, match=rf"rows.csv, row {frame.height + 1}, column 'item'.*ranked twice"):
            cr.read(tmp_path / "rows.csv", memory=memory)


def test_the_folder_goes_with_the_judgments_even_after_an_interruption(tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    for kind, model in (("labels", cr.DawidSkene), ("lists", cr.PlackettLuce)):
        table = on_disk(drawn(kind, 3), spool=tmp_path)
        with pytest.raises(KeyboardInterrupt):
            model().fit(table, progress=interrupt)
        assert any(tmp_path.iterdir())
        del table
        gc.collect()
        assert not any(tmp_path.iterdir())


def test_no_rank_at_all():
    frame = drawn("lists", 0).with_columns(rank=pl.lit(None, pl.Float64))
    with pytest.raises(InputError, match="no usable rows"):
        on_disk(frame)


def test_what_a_missing_item_means_can_be_chosen():
    frame = drawn("lists", 3)
    one, other = (
        cr.read(frame, missing="below", pairs="adjacent"),
        on_disk(frame, missing="below", pairs="adjacent"),
    )
    assert one.summary() == other.summary()
    same(cr.Borda().fit(one), cr.Borda().fit(other))


class TestSamples:
    """Long lists on disk: the same sample of their pairs."""

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("queries", [0, 3])
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_same_pairs(self, kind, queries, weighted):
        frame = drawn(kind, queries)
        if kind == "labels":
            frame = pl.concat([frame, frame.head(9)])  # repeats, which are averaged
        if weighted:
            frame = frame.with_columns(weight=0.1 + pl.int_range(pl.len()) % 3)
        whole = cr.to_pairs(cr.read(frame, pairs=3))
        assert whole.notes[-1].code == "pairs-sampled"
        for table in (cr.read(frame, pairs=3), on_disk(frame, pairs=3)):
            stream = pair_stream.stream_pairs(table)
            assert isinstance(stream, pair_stream.ConvertedPairs)
            assert stream.notes == whole.notes
            assert stream.rows == whole.rows
            for column in ("left", "right", "outcome", "worker", "weight", *(["query"] if queries else [])):
                found = np.concatenate([getattr(batch, column) for batch in stream.batches()])
                assert found.tolist() == getattr(whole, column).tolist()

    @pytest.mark.parametrize("model", [cr.Borda, cr.BradleyTerry, cr.CrowdBT])
    def test_the_same_result(self, model):
        for kind in KINDS:
            frame = drawn(kind, 3)
            same(model().fit(cr.read(frame, pairs=3)), model().fit(on_disk(frame, pairs=3)))

    def test_a_model_that_needs_every_pair_has_them(self, monkeypatch):
        monkeypatch.setattr("crowdrank.data.expand.LONG", 4)
        frame = drawn("labels", 0)
        fitted = cr.Condorcet().fit(on_disk(frame))
        same(cr.Condorcet().fit(frame), fitted)
        assert "pairs-sampled" not in {note.code for note in fitted.fit_.warnings}
        assert "pairs-sampled" in {note.code for note in cr.Borda().fit(on_disk(frame)).fit_.warnings}


class TestTextLabels:
    """Labels that are text on disk: names, or numbers by their order."""

    names = ("bad", "fair", "good", "great", "best")

    def frame(self):
        places = dict(zip(range(1, 6), self.names, strict=True))
        frame = drawn("labels", 3)
        assert set(frame["label"].unique()) <= set(places)
        return frame.with_columns(label=pl.col("label").replace_strict(places, return_dtype=pl.String))

    @pytest.mark.parametrize("model", [cr.MajorityVote, cr.DawidSkene, cr.GLAD])
    @pytest.mark.parametrize("order", [None, names])
    def test_the_same_result(self, model, order):
        whole, spooled = cr.read(self.frame(), order=order), on_disk(self.frame(), order=order)
        assert spooled.summary() == whole.summary()
        assert spooled.load().names == whole.names
        with small_shards(20):
            same(model().fit(whole), model().fit(spooled))

    @pytest.mark.parametrize("model", [cr.Average, cr.Borda, cr.PlackettLuce, cr.MedianRank])
    def test_models_that_need_an_order(self, model):
        with pytest.raises(InputError, match="needs labels that are numbers, or have an order"):
            model().fit(on_disk(self.frame()))
        same(
            model().fit(cr.read(self.frame(), order=self.names)),
            model().fit(on_disk(self.frame(), order=self.names)),
        )

    def test_text_in_some_batches_and_numbers_in_others(self, tmp_path):
        frame = self.frame()
        mixed = frame.with_columns(label=pl.when(pl.int_range(pl.len()) < 40).then(pl.lit("3")).otherwise("label"))
        mixed.write_csv(tmp_path / "rows.csv")
        errors = set()
        for memory in (None, 0):
            with pytest.raises(InputError, match=r"rows.csv, row 41, column 'label'") as caught:
                cr.read(tmp_path / "rows.csv", memory=memory)
            errors.add(str(caught.value))
        assert len(errors) == 1


def codes_of(frame):
    whole, spooled = cr.read(frame), on_disk(frame)
    assert spooled.notes == whole.notes
    return [note.code for note in spooled.notes]


def test_what_looks_like_a_mistake_is_noted():
    lists = drawn("lists", 0)
    assert "one-rank" in codes_of(lists.with_columns(rank=pl.lit(1)))
    assert "time-weights" in codes_of(lists.with_columns(weight=pl.lit(1_700_000_000)))
    labels = drawn("labels", 0)
    assert "worker-per-row" in codes_of(labels.with_columns(worker=pl.format("w{}", pl.int_range(pl.len()))))
    assert "similar-ids" in codes_of(labels.with_columns(item=pl.col("item").replace({"i05": "I06"})))
    with pytest.raises(InputError, match=r"Every one of the .* ranks is 1"):
        cr.PlackettLuce().fit(on_disk(lists.with_columns(rank=pl.lit(1))))


def test_queries_that_split_one_ranking_are_noted():
    rows = [(f"q{query}", f"w{worker}", f"i{item}", (item + query + worker) % 4)
            for query in range(3) for worker in range(3) for item in range(5)]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["query", "worker", "item", "label"], orient="row")
    assert "split-queries" in codes_of(frame)
