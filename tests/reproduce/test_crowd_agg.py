"""CrowdAgg's tables and figures as a user makes them."""

import json

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.reproduce import crowd_agg, reproduce
from crowdrank.reproduce.crowd_agg import RATIOS, divergence, spammers


@pytest.fixture
def made(crowdrank, real):
    """Run a target as a command of its own; its rows."""

    def run(target, *words):
        ran = crowdrank("reproduce", target, "--data", real, "--json", *words)
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    return run


def test_table2b_has_ours_above_the_print_and_pooled_qualities_help(made):
    found = made("crowdagg-table2b")
    ours = {row["method"]: row for row in found["rows"] if row["whose"] == "ours"}
    printed = {row["method"]: row for row in found["rows"] if row["whose"] == "print"}
    assert printed["CrowdAggNDCG"]["nDCG@3"] == 0.955
    assert set(printed) <= set(ours)
    for measure in ("AP", "nDCG@10", "RBP(p=0.95)"):
        assert ours["CrowdAggNDCG"][measure] > ours["CrowdAggNDCG, eq. 17"][measure]
        assert all(0 < row[measure] <= 1 for row in ours.values())
    assert ours["CrowdAggNDCG"]["nDCG@10"] > 0.9
    assert any("another source" in remark for remark in found["remarks"])


def test_the_reading_level_table(made):
    rows = made("crowdagg-readinglevel")["rows"]
    assert {row["whose"] for row in rows} == {"ours"}
    assert {"CrowdAggNDCG", "CrowdAggRBP", "BradleyTerry"} <= {row["method"] for row in rows}


def test_figure1_shows_quality_on_and_off(made):
    rows = made("crowdagg-figure1")["rows"]
    assert len(rows) == 5 * 4
    for row in rows:
        assert row["change"] == f"{row['estimated'] / row['equal'] - 1:+.1%}"
    assert {row["print"] for row in rows} == {"", "+10.3%", "+56.0%", "+11.1%"}


def test_figure2_has_the_divergences_beside_the_print(made):
    rows = {row["method"]: row for row in made("crowdagg-figure2")["rows"]}
    assert [rows[name]["print"] for name in ("CrowdAggNDCG", "MPM", "EMEloRating", "Crowd-BT")] == [
        1.43, 1.93, 2.14, 2.86
    ]  # fmt: skip
    own = {name: row["by the model's own quality"] for name, row in rows.items()}
    assert min(own, key=own.get) == "CrowdAggNDCG, eq. 17"  # as in the print, CrowdAgg's own is the nearest
    assert max(own, key=own.get) == "Crowd-BT"


@pytest.mark.parametrize(("figure", "theirs"), [(3, 0.0216), (4, 0.0099)])
def test_figures_3_and_4_at_three_ratios(real, monkeypatch, figure, theirs):
    monkeypatch.setattr(crowd_agg, "RATIOS", np.array([0.0, 0.5, 1.0]))
    monkeypatch.setattr(crowd_agg, "SHOWN", (0, 2))
    found = json.loads(reproduce(f"crowdagg-figure{figure}", seeds=1, data=real).to_json())
    own = {(row["method"], row["measure"]): row for row in found["rows"]}
    assert own["CrowdAggNDCG", "nDCG@10"]["its print"] == theirs
    assert all(row["variation"] > 0 for row in found["rows"])
    bt = own["BradleyTerry", "AP"]
    assert bt["1"] < bt["0"]
    if figure == 4:
        assert bt["1"] < 0.9 * bt["0"]


def test_divergence_by_hand():
    found, real = np.array([0.05, 0.05]), np.array([0.05, 0.95])
    p, q = np.array([2.5] + [0.5] * 9) / 7, np.array([1.5] + [0.5] * 8 + [1.5]) / 7
    assert divergence(found, real) == pytest.approx((p * np.log(p / q)).sum())
    assert divergence(real, real) == 0


class TestSpammers:
    votes = pl.DataFrame(
        {
            "query": ["q"] * 6,
            "worker": list("uuvvww"),
            "left": list("ababab"),
            "right": list("bcbcbc"),
            "said": [1, 0, 1, 1, -1, 1],
        }
    )
    gold = pl.DataFrame({"query": ["q"] * 3, "item": list("abc"), "value": [2.0, 1.0, 1.0]})

    def test_the_malicious_say_the_opposite_where_gold_tells_the_two_apart(self):
        added = spammers(self.votes, self.gold, 1.0, "malicious", 0)
        assert added["worker"].n_unique() == 3
        assert added.select("left", "right", "said").unique().rows() == [("a", "b", -1)]

    def test_none_are_added_at_the_ratio_0_and_draws_can_be_repeated(self):
        assert len(spammers(self.votes, self.gold, 0.0, "random", 0)) == 0
        one, two = (spammers(self.votes, self.gold, 1.0, "random", 5) for _ in range(2))
        assert one.equals(two)

    def test_random_ones_toss_a_coin(self):
        many = pl.concat([spammers(self.votes, self.gold, float(ratio), "random", 1) for ratio in RATIOS])
        assert set(many["said"]) == {1, -1}


def test_missing_data_is_named(tmp_path):
    for target in ("crowdagg-table2a", "crowdagg-table2b", "crowdagg-readinglevel"):
        with pytest.raises(cr.InputError, match="was not found"):
            reproduce(target, data=tmp_path)
