"""LTRMA's tables and figures, each on one small corpus."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.reproduce import TARGETS, ltrma_figures, ltrma_hard, ltrma_letor, ltrma_systems, reproduce
from crowdrank.reproduce.ledger import Ledger
from crowdrank.reproduce.ltrma_methods import (
    D_SAMPLES,
    MLE,
    S1,
    S2,
    S3,
    TRUTH,
    D,
    Method,
    available,
    choose_lists,
    measure_workers,
    side_information,
    train,
    with_settings,
)
from crowdrank.reproduce.ltrma_simulated import draw_corpus
from crowdrank.reproduce.summaries import mean_and_error, paired_p

SHORT = {"validation": 0, "test": 20, "documents": 6}
TINY = {**SHORT, "lists": 12}


def quick(method):
    """The method with a few iterations."""
    return replace(method, settings={**method.settings, "iterations": 6})


FEW = [TRUTH, quick(D), quick(MLE)]


@pytest.fixture
def ledger(tmp_path):
    return Ledger("tiny", tmp_path)


def rows_of(table):
    """The rows by name of the columns, as a user of JSON gets them."""
    return json.loads(table.to_json())["rows"]


def test_the_four_figures_share_their_fits(tmp_path, monkeypatch):
    monkeypatch.setattr(ltrma_figures, "METHODS", (*FEW, quick(S1)))
    settings = {"annotators": (4,), "options": TINY}
    nine = ltrma_figures.figure_ndcg(2, None, ledger=Ledger("nine", tmp_path), cut=3, **settings)
    assert len((tmp_path / "nine.jsonl").read_text().splitlines()) == 4 * 2
    ten = ltrma_figures.figure_ndcg(2, None, ledger=Ledger("ten", tmp_path), cut=5, **settings)
    eleven = ltrma_figures.figure11(2, None, ledger=Ledger("eleven", tmp_path), **settings)
    twelve = ltrma_figures.figure12(2, None, ledger=Ledger("twelve", tmp_path), **settings)
    assert [file.name for file in tmp_path.iterdir()] == ["nine.jsonl"]
    for table in (nine, ten):
        rows = {row["method"]: row for row in rows_of(table)}
        assert list(rows) == [method.name for method in (*FEW, S1)]
        assert rows[TRUTH.name]["less the truth's"] == 0
        assert all(0.9 < row[table.columns[2]] <= 1 for row in rows.values())
        assert all(row["error"] >= 0 for row in rows.values())
    assert all(0.5 < row["nDCG@5"] <= 1 for row in rows_of(eleven))
    assert TRUTH.name not in {row["method"] for row in rows_of(eleven)}
    for row in rows_of(twelve):
        assert row["after 1"] > row["last"]


def test_a_second_run_with_more_seeds_only_adds(tmp_path, monkeypatch):
    monkeypatch.setattr(ltrma_hard, "METHODS", FEW)
    options = {**SHORT, "features": 3}
    for seeds in (1, 2):
        made = Ledger("h7", tmp_path)
        found = ltrma_hard.hard_crowd(seeds, None, ledger=made, preset="ltrma-h7", lists=(8,), options=options)
        assert len((tmp_path / "h7.jsonl").read_text().splitlines()) == seeds * len(FEW)
    rows = {row["method"]: row for row in rows_of(found)}
    assert rows[MLE.name]["p nDCG"] == "-"
    assert 0 <= rows[D.name]["p nDCG"] <= 1
    assert rows[TRUTH.name]["theta off by"] == "-"
    assert any("paper's sign" in remark for remark in found.remarks)


def test_malicious_annotators_with_one_label_per_list(ledger, monkeypatch):
    monkeypatch.setattr(ltrma_hard, "METHODS", [TRUTH, replace(MLE, settings={"iterations": 60})])
    options = {**SHORT, "annotators": 5}
    found = ltrma_hard.hard_crowd(1, None, ledger=ledger, preset="ltrma-h5", lists=(30,), options=options)
    rows = {row["method"]: row for row in rows_of(found)}
    assert rows[MLE.name]["nDCG@5"] > 0.8
    assert rows[MLE.name]["error"] == "-"


def test_long_lists(ledger, monkeypatch):
    monkeypatch.setattr(ltrma_hard, "LONG", [TRUTH, quick(MLE)])
    options = {"lists": 6, "test": 6, "documents": 30, "top": 5, "features": 3}
    rows = rows_of(ltrma_hard.long_lists(1, None, ledger=ledger, options=options))
    assert [row["method"] for row in rows] == [TRUTH.name, MLE.name]
    assert all(0.5 < row["nDCG(gain=linear)@10"] <= 1 for row in rows)
    assert all(row["seconds"] > 0 for row in rows)


# ---------------------------------------------------------------------------------------- methods


@pytest.fixture
def corpus():
    return draw_corpus("ltrma-h7", 0, tuple(sorted({**TINY, "features": 3}.items())))


def test_rankers_that_are_not_registered_are_left_out():
    found, remarks = available([MLE, Method("Another", "no-such-ranker")])
    assert found == [MLE]
    assert remarks == ["Another is left out: this version has no ranker 'no-such-ranker'."]


def test_only_rankers_with_places_get_k():
    with_k, without = with_settings([MLE, Method("LRegMA", "lregma")], k=10, standardize="all")
    assert with_k.settings == {"k": 10, "standardize": "all"}
    assert without.settings == {"standardize": "all"}


def test_side_information_is_about_the_most_expert():
    workers = pl.DataFrame({"worker": ["a", "b", "c"], "theta": [0.1, 0.9, -0.2]})
    assert side_information((), workers) is None
    assert side_information(S2.knows, workers).rows() == [("b", "range", 0.9 - 0.25, 0.9 + 0.25)]
    assert side_information(S3.knows, workers).rows() == [("b", "order", "*")]
    assert side_information(("order",), workers).rows() == [("b", "order", "a"), ("a", "order", "c")]
    assert side_information(("theta",), workers)["value"].to_list() == [0.9, 0.1, -0.2]
    assert side_information(("ranges",), workers).height == 3


def test_true_lists_are_a_quarter_drawn_by_the_seed():
    queries = pl.Series([f"q{code:02d}" for code in range(20)] * 3)
    first, again, other = (choose_lists(queries, seed).to_list() for seed in (0, 0, 1))
    assert len(first) == 5
    assert first == again
    assert first != other
    assert len(choose_lists(pl.Series(["q"]), 0)) == 1


def test_what_is_known_is_used(corpus):
    theta = {method.name: train(quick(method), corpus).workers_.polars() for method in (MLE, S1, S2)}
    assert not theta[MLE.name].equals(theta[S1.name])
    best = corpus.workers.sort("theta")["worker"][-1]
    own = theta[S2.name].filter(worker=best)["theta"][0]
    assert 0.3 - 0.25 - 1e-9 <= own <= 0.3 + 0.25 + 1e-9


def test_d_on_the_best_sample_is_not_d_on_samples(corpus):
    best, samples = (train(quick(method), corpus).score(corpus.test.features).score for method in (D, D_SAMPLES))
    assert not np.allclose(best, samples)


def test_the_order_of_workers_is_measured_by_place():
    true = pl.DataFrame({"worker": ["a", "b", "c", "d"], "theta": [2.0, 1.0, 0.5, 0.0]})
    found = pl.DataFrame({"worker": ["a", "b", "c"], "theta": [1.0, 2.0, 0.5]})
    values = measure_workers(found, true, (1, 2))
    gains = {"a": 3, "b": 2, "c": 1}
    assert values["workers nDCG@1"] == pytest.approx(gains["b"] / gains["a"])
    discount = 1 / np.log2(3)
    assert values["workers nDCG@2"] == pytest.approx((2 + 3 * discount) / (3 + 2 * discount))
    assert values["workers spearman"] == pytest.approx(0.5)
    assert values["workers error"] == pytest.approx((1 + 1 + 0) / 3)
    by_quality = measure_workers(found.rename({"theta": "quality"}), true, (1,))
    assert by_quality["workers error"] is None
    assert by_quality["workers nDCG@1"] == values["workers nDCG@1"]


def test_summaries():
    assert mean_and_error([1.0, 3.0]) == (2.0, pytest.approx(np.sqrt(2.0) / np.sqrt(2.0)))
    assert mean_and_error([None, 3.0]) == (3.0, "-")
    assert mean_and_error([None]) == ("-", "-")
    from scipy.stats import ttest_rel

    ours, theirs = [0.9, 0.8, 0.95, 0.7], [0.8, 0.75, 0.97, 0.6]
    assert paired_p(ours, theirs) == pytest.approx(ttest_rel(ours, theirs).pvalue)
    assert paired_p(ours, [value + 1e-15 for value in ours]) == "-"
    assert paired_p([1.0], [0.5]) == "-"


# ---------------------------------------------------------------------------------------- MQ2008


@pytest.mark.long
def test_mq2008_on_a_few_queries(real, ledger, monkeypatch):
    for name in ("D_SAMPLES", "S1"):
        monkeypatch.setattr(ltrma_letor, name, Method("another", "no-such-ranker"))
    for name in ("D", "MLE"):
        monkeypatch.setattr(ltrma_letor, name, quick(getattr(ltrma_letor, name)))
    monkeypatch.setattr(ltrma_letor, "CROWDS", {"better": "1,0.5"})
    found = ltrma_letor.mq2008(1, real, ledger=ledger, folds=(0,), most=8)
    rows = rows_of(found)
    assert {row["lists"] for row in rows} == {"full", "top 10"}
    assert {"ListMLE-full", "ListMLE-top10", "LTRMA-D", "LTRMA-MLE"} <= {row["method"] for row in rows}
    assert all(0 < row["nDCG@10"] < 1 for row in rows)
    full = [row for row in rows if row["method"] == "ListMLE-full"]
    assert full[0]["nDCG@10"] == full[1]["nDCG@10"]
    assert full[0]["less full"] == 0
    assert any("better -1, -0.5" in remark for remark in found.remarks)


@pytest.mark.long
def test_the_annotators_on_a_few_queries(real, ledger, monkeypatch):
    for name in ("D", "S1", "DEFAULTS"):
        monkeypatch.setattr(ltrma_letor, name, Method("another", "no-such-ranker"))
    for name in ("MLE", "S3"):
        monkeypatch.setattr(ltrma_letor, name, quick(getattr(ltrma_letor, name)))
    found = ltrma_letor.figure_annotators(1, real, ledger=ledger, folds=(0,), most=8)
    rows = {(row["lists"], row["method"]): row for row in rows_of(found)}
    assert rows["full", "LTRMA-S3"]["order@1"] >= rows["full", "LTRMA-MLE"]["order@1"]
    assert all(0 < row["MAP"] < 1 for row in rows.values())


@pytest.mark.long
def test_the_systems_on_a_few_queries(real, ledger, monkeypatch):
    monkeypatch.setattr(ltrma_systems, "RANKERS", [quick(ltrma_systems.DEFAULT), ltrma_systems.RANKERS[-1]])
    rows = rows_of(ltrma_systems.figure_systems(1, real, ledger=ledger, folds=(0,), most=8))
    by = {(row["method"], row["scored by"], row["measure"]): row for row in rows}
    assert ("LTRMA", "features and lists", "MAP") in by
    assert ("ListMLE on all labels", "features and lists", "MAP") not in by
    assert by["root-rank", "lists", "MAP"]["less root-rank"].startswith("+0.0000")
    assert all(0 < row["mean"] < 1 for row in rows)


def test_documents_per_query(real):
    rows = rows_of(reproduce("ltrma-figure18", data=real))
    assert sum(row["queries"] for row in rows) == 784
    assert max(len(row["share"]) for row in rows) == ltrma_letor.WIDTH


def test_without_its_data_is_an_error(tmp_path):
    for name in ("ltrma-mq2008", "ltrma-figure18"):
        with pytest.raises(cr.InputError, match="MQ2008 data was not found"):
            reproduce(name, data=tmp_path)


# ---------------------------------------------------------------------------------------- the command


def test_the_command_keeps_its_cells(crowdrank, tmp_path, monkeypatch):
    table = ltrma_figures.figure_ndcg

    def tiny(seeds, data, *, ledger):
        monkeypatch.setattr(ltrma_figures, "METHODS", FEW)
        return table(seeds, data, ledger=ledger, cut=3, annotators=(3,), options=TINY)

    monkeypatch.setitem(
        TARGETS, "ltrma-figure9", type(TARGETS["ltrma-figure9"])("ltrma-figure9", "", tiny, keeps=True)
    )
    words = ("reproduce", "ltrma-figure9", "--seeds", "1", "--work", "kept", "--json")
    first = crowdrank(*words)
    assert first.code == 0, first.err
    assert first.err == "Reproduced ltrma-figure9; its parts are in kept\n"
    assert len((tmp_path / "kept" / "ltrma-figure9.jsonl").read_text().splitlines()) == len(FEW)
    monkeypatch.setattr("crowdrank.reproduce.ltrma_simulated.run", None)  # so that nothing can be computed
    assert crowdrank(*words).out == first.out


def test_a_table_in_one_piece_says_that_it_keeps_nothing(tmp_path, monkeypatch):
    own = TARGETS["ltrma-figure18"]
    made = ltrma_letor.histogram(np.array([3, 8, 8]))
    monkeypatch.setitem(TARGETS, own.name, type(own)(own.name, "", lambda seeds, data: made))
    said: list[str] = []
    assert reproduce(own.name, work=tmp_path, progress=said.append) == made
    assert "computed in one piece" in said[0]
