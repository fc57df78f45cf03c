"""TPP's figure 4: the lists of retrieval systems and pairs of them."""

import json

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.reproduce import reproduce, tpp_lists
from crowdrank.reproduce.tpp_lists import short, sparse
from helpers import random_lists


def test_short_keeps_whole_queries():
    some = random_lists(seed=1, items=4, most=4, queries=2)
    more = random_lists(seed=2, items=6, most=6).with_columns(query=pl.lit("q9"))
    kept = short(cr.read(pl.concat([some, more.select(some.columns)])), most=5)
    assert kept.index.queries.to_list() == ["q0", "q1"]
    assert kept.rows == len(some)
    assert kept.lists == some.select("query", "worker", "list").n_unique()


def test_sparse_keeps_a_share_of_every_systems_pairs():
    pairs = cr.to_pairs(cr.read(random_lists(seed=3, items=7, most=7, queries=3)))
    few, again, other = (sparse(pairs, 0.2, seed) for seed in (0, 0, 1))
    cells = [list(zip(table.query.tolist(), table.worker.tolist(), strict=True)) for table in (pairs, few)]
    for cell in set(cells[0]):
        assert cells[1].count(cell) == int(0.2 * cells[0].count(cell) + 1e-9)
    assert (few.left == again.left).all()
    assert len(few.left) == len(other.left)
    assert (few.left != other.left).any()
    assert sparse(pairs, 1.0, 0).rows == pairs.rows


@pytest.mark.parametrize("queries", [12, pytest.param(40, marks=pytest.mark.long)])
def test_figure4_on_a_few_queries(real, monkeypatch, queries):
    lists, gold = tpp_lists.runs(real)
    some = lists.take(lists.query < queries)
    own, code = np.unique(some.list, return_inverse=True)
    some = short(type(some)(**{**vars(some), "list": code.astype(np.int32), "lists": len(own)}), most=20)
    monkeypatch.setattr(tpp_lists, "runs", lambda data: (some, gold))
    monkeypatch.setattr(tpp_lists, "MOST_VOTES", {"CrowdBT": 125 * queries})
    found = json.loads(reproduce("tpp-figure4", seeds=1, data=real).to_json())
    assert {row["data"] for row in found["rows"]} == {"lists", "SR 1", "SR 0.2"}
    assert {"TRM", "BordaCount", "TPP, 1 domain", "CrowdBT"} <= {row["method"] for row in found["rows"]}
    assert all(0 < row["nDCG@8"] < 1 for row in found["rows"])
    assert any("takes too long" in remark for remark in found["remarks"])


def test_without_its_data_is_an_error(tmp_path):
    with pytest.raises(cr.InputError, match="MQ2008-agg data was not found"):
        reproduce("tpp-figure4", data=tmp_path)
