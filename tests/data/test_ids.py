"""The ids of a frame come back with the type that they had, so that results can be merged with it."""

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdrank as cr
from crowdrank.data.ids import TEXT_IDS, Backend, common_type, id_text

PAIRS = {"worker": [7, 8, 7, 9], "left": [10, 2, 3, 10], "right": [2, 3, 10, 3], "label": [10, 2, 10, 3]}


class TestFrames:
    @pytest.mark.parametrize("dtype", [pl.Int64, pl.Int16, pl.UInt8, pl.Float64])
    def test_numbers_come_back_with_their_type(self, dtype):
        frame = pl.DataFrame(PAIRS, schema_overrides=dict.fromkeys(("worker", "left", "right"), dtype))
        model = cr.CrowdBT().fit(frame)
        ranking, workers = model.ranking_.frame(), model.workers_.frame()
        assert ranking.schema["item"] == workers.schema["worker"] == dtype
        assert ranking.join(frame, left_on="item", right_on="left").height == len(frame)
        assert model.posterior_.frame().schema["item"] == dtype
        assert model.ranking_.polars()["item"].dtype == pl.String  # text within

    def test_pandas_frames_merge(self):
        frame = pd.DataFrame(PAIRS)
        model = cr.CrowdBT().fit(frame)
        assert len(frame.merge(model.workers_.frame(), on="worker")) == len(frame)
        assert len(frame.merge(model.ranking_.frame(), left_on="left", right_on="item")) == len(frame)

    def test_arrow_tables_keep_their_types(self):
        model = cr.BradleyTerry().fit(pa.table(PAIRS))
        assert model.ranking_.frame().schema.field("item").type == pa.int64()

    @pytest.mark.parametrize(
        "values",
        [
            pl.Series([dt.date(2024, 1, 1), dt.date(2024, 2, 1)]),
            pl.Series([dt.datetime(2024, 1, 1, 7, 30), dt.datetime(2024, 2, 1)]),
            pl.Series([True, False]),
            pl.Series(["x", "y"], dtype=pl.Categorical),
            pl.Series(["x", "y"], dtype=pl.Enum(["y", "x"])),
        ],
        ids=lambda values: str(values.dtype)[:9],
    )
    def test_other_types_of_queries(self, values):
        frame = pl.DataFrame({"query": values, "winner": ["a", "b"], "loser": ["b", "a"]})
        ranking = cr.BradleyTerry().fit(frame).ranking_.frame()
        assert ranking["query"].dtype == values.dtype
        assert set(ranking["query"]) == set(values)

    def test_a_column_of_ids_and_a_word_is_read(self):
        frame = pd.DataFrame({"left": [1, 2, 3], "right": [2, 3, 1], "winner": [1, "tie", 3]})
        assert cr.read(frame).outcome.tolist() == [0, 2, 0]
        assert cr.BradleyTerry().fit(frame).ranking_.frame()["item"].dtype == "int64"

    def test_an_unknown_worker_is_null(self):
        frame = pl.DataFrame({**PAIRS, "worker": [7, None, 7, 9]})
        assert cr.CrowdBT().fit(frame).workers_.frame()["worker"].to_list() == [None, 7, 9]

    def test_files_and_text_keep_text(self, tmp_path):
        pl.DataFrame({"winner": ["01", "1"], "loser": ["1", "01"]}).write_csv(tmp_path / "votes.csv")
        assert set(cr.WinRate().fit(tmp_path / "votes.csv").ranking_.frame()["item"]) == {"01", "1"}
        mixed = [tmp_path / "votes.csv", pl.DataFrame({"winner": [1], "loser": [2]})]
        assert set(cr.WinRate().fit(mixed).ranking_.frame()["item"]) == {"01", "1", "2"}

    def test_the_next_questions_can_be_merged_too(self):
        frame = pd.DataFrame(PAIRS)
        asked = cr.next_questions(frame, 2, judges=[7, 8]).frame()
        assert len(asked.merge(frame, on=["worker"])) > 0
        assert asked["left"].dtype == "int64"

    def test_a_posterior_takes_ids_as_given(self, tmp_path):
        posterior = cr.BradleyTerry().fit(pl.DataFrame(PAIRS)).posterior_
        assert posterior.difference(10, 2) == posterior.difference("10", "2")
        posterior.save(tmp_path / "posterior.npz")
        assert cr.Posterior.load(tmp_path / "posterior.npz").frame()["item"].dtype == pl.String

    def test_a_ranker_gives_documents_and_workers_back(self):
        items = list(range(12))
        features = pd.DataFrame({"query": [1, 2] * 6, "item": items, "f": [float(item) for item in items]})
        lists = pd.concat([features.assign(worker=worker, rank=features["item"]) for worker in (5, 6)])
        ranker = cr.LRegMA(iterations=2).fit(features, lists[["query", "worker", "item", "rank"]])
        assert len(ranker.workers_.frame().merge(lists, on="worker")) == len(lists)
        assert len(ranker.score(features).frame().merge(features, on=["query", "item"])) == len(features)


def test_ids_as_text():
    assert [id_text(value) for value in ("a", 7, 7.0, 0.5, True)] == ["a", "7", "7", "0.5", "true"]


def test_several_columns_have_one_type():
    assert common_type([pl.Int8(), pl.Int64()]) == pl.Int64
    assert common_type([pl.Int8(), pl.Float64()]) is None
    assert common_type([pl.Int8(), None]) is None
    assert Backend("pandas", item=pl.Int8()).joined(TEXT_IDS) == Backend("pandas")


def test_ids_that_do_not_fit_stay_text():
    texts = pl.Series(["1", "x"])
    assert Backend(item=pl.Int64()).ids("item", texts).to_list() == ["1", "x"]
