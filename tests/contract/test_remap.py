"""What remap does with other names, rows, shards, threads and weights: the same answer for the same content."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from crowdrank.engine import LocalEngine
from crowdrank.errors import CrowdrankError
from crowdrank.rankers.registry import ranker_entries
from crowdrank.rankers.saved import load
from rankers.remap.made import QUICK, crowd, fit, fitted
from shards import CountingEngine, small_shards

TOLERANCE = 1e-9
FULL = {"learner": "auto", "trees": 10, "baselines": "few", "iterations": 12}
"""Trees, learners and a consensus too."""
SETTINGS = pytest.mark.parametrize("settings", [QUICK, FULL], ids=["ridge", "everything"])
VARIES = ranker_entries()["remap"].varies["trees"]


def scores(ranker, frame=None):
    found = ranker.score(crowd().part("test") if frame is None else frame).polars()
    return found["score"].to_numpy()


def same(settings, change, one, two):
    if settings is FULL and change in VARIES:
        assert np.isfinite(two).all()
        return
    np.testing.assert_allclose(one, two, atol=TOLERANCE, rtol=0)


@SETTINGS
def test_names(settings):
    def rename(frame):
        ids = [name for name in ("query", "item", "worker") if name in frame.columns]
        return frame.with_columns(pl.col(ids).str.reverse())

    same(settings, "names", scores(fitted(**settings)), scores(fit(crowd(), rename, **settings)))


@SETTINGS
def test_rows_in_another_order(settings):
    def shuffle(frame):
        return frame.sample(fraction=1.0, shuffle=True, seed=3)

    same(settings, "rows", scores(fitted(**settings)), scores(fit(crowd(), shuffle, **settings)))


@SETTINGS
def test_shards_and_threads(settings):
    with small_shards(400):
        engines = [CountingEngine(threads) for threads in (1, 2)]
        one, two = (scores(fit(crowd(), given={"engine": engine}, **settings)) for engine in engines)
    assert max(engines[0].counts) > 2
    assert (one == two).all(), "threads"
    same(settings, "shards", scores(fitted(**settings)), one)


@SETTINGS
def test_a_label_twice_is_a_label_of_weight_2(settings):
    made = crowd()
    chosen = pl.col("worker").is_in(["worker-03", "worker-05"])
    weighted = made.judgments.with_columns(weight=pl.when(chosen).then(2.0).otherwise(1.0))
    twice = pl.concat([made.judgments, made.judgments.filter(chosen)])
    one, two = (scores(fit(replace(made, judgments=own), **settings)) for own in (weighted, twice))
    same(settings, "weights", one, two)


@SETTINGS
def test_saved_and_loaded(settings, tmp_path):
    ranker = fitted(**settings)
    ranker.save(tmp_path / "ranker")
    again = load(tmp_path / "ranker")
    assert (scores(again) == scores(ranker)).all()
    assert again.fit_.as_dict() == ranker.fit_.as_dict()


def test_nothing_given_is_written_to():
    made = crowd()
    before = made.judgments.clone(), made.part("source").clone()
    ranker = fit(made)
    assert ranker.get_params()["iterations"] == 60
    assert made.judgments.equals(before[0])
    assert made.part("source").equals(before[1])


class TestOddCrowds:
    def only(self, rows, **more):
        return replace(crowd(), judgments=crowd().judgments.filter(rows), **more)

    def test_one_worker(self):
        worker = crowd().judgments["worker"][0]
        ranker = fit(self.only(pl.col("worker") == worker), given={"honeypots": None})
        assert np.isfinite(scores(ranker)).all()

    def test_one_document_in_a_query(self):
        first = crowd().judgments.unique("query", keep="first", maintain_order=True)
        lone = self.only(pl.col("item").is_in(first["item"].to_list()))
        assert np.isfinite(scores(fit(lone, given={"honeypots": None}))).all()

    def test_an_empty_and_a_useless_table(self):
        with pytest.raises(CrowdrankError):
            fit(self.only(pl.lit(False)))
        with pytest.raises(CrowdrankError, match="every label"):
            fit(self.only(pl.col("label") == 1))

    def test_labels_that_are_missing_features(self):
        stranger = pl.DataFrame(
            {"query": ["query-001"], "item": ["nobody"], "worker": ["worker-01"], "label": [1]}
        )
        made = replace(crowd(), judgments=pl.concat([crowd().judgments, stranger], how="vertical_relaxed"))
        with pytest.raises(CrowdrankError, match="nobody"):
            fit(made)
        ranker = fit(made, given={"missing": "drop"})
        assert "no-features" in {note.code for note in ranker.fit_.warnings}

    def test_a_missing_feature_value(self):
        def cut(frame):
            if "f01" not in frame.columns:
                return frame
            return frame.with_columns(f01=pl.when(pl.col("f01") > 1.5).then(None).otherwise(pl.col("f01")))

        with pytest.raises(CrowdrankError, match="f01"):
            fit(crowd(), cut)
        assert np.isfinite(scores(fit(crowd(), cut, impute="mean"))).all()


@pytest.mark.long
def test_on_a_cluster():
    """One process besides this one; the answer is the same to the bit."""
    from crowdrank.engine.dask import DaskEngine

    engine = DaskEngine(workers=1)
    try:
        found = scores(fit(crowd(), given={"engine": engine}, iterations=6))
    finally:
        engine.close()
    assert (found == scores(fit(crowd(), given={"engine": LocalEngine(1)}, iterations=6))).all()
