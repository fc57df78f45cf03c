"""CrowdAgg's tables and figures as a user makes them."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel

import crowdrank as cr
from crowdrank.reproduce import crowd_agg_robustness, reproduce
from crowdrank.reproduce.crowd_agg_methods import METHODS, best_of_ours, how_they_differ, judgments_of
from crowdrank.reproduce.crowd_agg_quality import agreement, divergence, divergences, real_qualities
from crowdrank.reproduce.crowd_agg_robustness import RATIOS, spammers, variation, variation_p
from crowdrank.reproduce.crowd_data import mirex


@pytest.fixture
def made(crowdrank, real):
    """Run a target as a command of its own; its rows."""

    def run(target, *words):
        ran = crowdrank("reproduce", target, "--data", real, "--json", *words)
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    return run


def rows_of(found, whose):
    return {row["method"]: row for row in found["rows"] if row["whose"] == whose}


def test_table2b(made, real):
    """Ours above the print, leads tested over the queries, and every method that is not the paper's is named."""
    found = made("crowdagg-table2b")
    ours, printed, leads, tests = (rows_of(found, whose) for whose in ("ours", "print", "lead", "p"))
    assert printed["CrowdAggNDCG"]["nDCG@3"] == 0.955
    assert set(printed) <= set(ours)
    for measure in ("AP", "nDCG@10", "RBP(p=0.95)"):
        for name in ("CrowdAggNDCG", "CrowdAggRBP"):
            assert ours[name][measure] > ours[f"{name}, eq. 17"][measure]
        assert all(0 < row[measure] <= 1 for row in ours.values())
    assert ours["CrowdAggNDCG"]["nDCG@10"] > 0.9
    assert ours["CondorcetFuse"]["nDCG@10"] != ours["CondorcetFuse, Copeland"]["nDCG@10"]

    own = mirex(real)
    names = ("CrowdAggNDCG", "BradleyTerry")
    best, bt = (own.measure_queries(METHODS[name].make().fit(own.votes), "AP")["AP"] for name in names)
    assert leads.keys() == tests.keys() == ours.keys() - {"CrowdAggNDCG"}
    assert leads["BradleyTerry"]["AP"] == pytest.approx(ours["CrowdAggNDCG"]["AP"] - ours["BradleyTerry"]["AP"])
    assert tests["BradleyTerry"]["AP"] == pytest.approx(ttest_rel(best, bt).pvalue)

    assert any("another source" in remark for remark in found["remarks"])
    for name in ("CondorcetFuse", "MPM", "EMEloRating", "BradleyTerry", "CrowdAggNDCG"):
        assert METHODS[name].differs.startswith(name)
    assert set(how_they_differ(METHODS)) <= set(found["remarks"])


def test_the_reading_level_table(made):
    found = made("crowdagg-readinglevel")
    assert {row["whose"] for row in found["rows"]} == {"ours"}
    assert {"CrowdAggNDCG", "CrowdAggRBP", "BradleyTerry"} <= {row["method"] for row in found["rows"]}
    assert any("no queries over which" in remark for remark in found["remarks"])


def test_figure1_shows_quality_on_and_off(made):
    rows = made("crowdagg-figure1")["rows"]
    own = {(row["method"], row["measure"]): row for row in rows}
    assert len(rows) == 7 * 4
    for row in rows:
        assert row["change"] == f"{row['estimated'] / row['equal'] - 1:+.1%}"
        best = max(own[name, row["measure"]]["estimated"] for name, _ in own if METHODS[name].ours)
        assert row["lead"] == pytest.approx(best - row["estimated"])
    assert {row["print"] for row in rows} == {"", "+10.3%", "+56.0%", "+11.1%"}
    for name in ("CrowdAggNDCG", "CrowdAggRBP"):
        assert own[f"{name}, eq. 17", "AP"]["equal"] == own[name, "AP"]["equal"]
        assert own[f"{name}, eq. 17", "AP"]["p"] < 0.05


def test_figure2_has_the_divergences_beside_the_print(made):
    rows = {row["method"]: row for row in made("crowdagg-figure2")["rows"]}
    assert [rows[name]["print"] for name in ("CrowdAggNDCG", "MPM", "EMEloRating", "Crowd-BT")] == [
        1.43, 1.93, 2.14, 2.86
    ]  # fmt: skip
    own = rows["CrowdAggNDCG, eq. 17"]
    assert own["eq. 18"] == pytest.approx(own["own quality"])  # its quality is equation 18 by its ranking


class TestRealQualities:
    """Worker v has decided votes, but none on items of different grades; x has no decided vote at all."""

    votes = pl.DataFrame(
        {
            "query": ["q"] * 7,
            "worker": list("uuvwwxu"),
            "left": list("abbaaaa"),
            "right": list("bccbcbc"),
            "said": [1, 1, 1, -1, 1, 0, 0],
        }
    )
    gold = pl.DataFrame({"query": ["q"] * 3, "item": list("abc"), "value": [2.0, 1.0, 1.0]})

    def test_equation_18_by_gold_is_over_pairs_of_different_grades(self):
        assert dict(real_qualities(self.votes, self.gold).rows()) == {"u": 1.0, "w": 0.5}

    def test_equation_18_by_a_ranking_is_over_all_decided_votes(self):
        ranking = self.gold.with_columns(value=pl.Series([1.0, 3.0, 3.0]))
        assert dict(agreement(self.votes, ranking).rows()) == {"u": 0.25, "v": 0.5, "w": 0.5}

    def test_both_columns_are_over_the_workers_who_have_a_real_quality(self):
        model = cr.CrowdAggNDCG(prior=None, pool=False)
        fitted = model.clone().fit(judgments_of(self.votes))
        ranking = fitted.ranking_.polars().select("query", "item", value="score")
        found = agreement(self.votes, ranking).filter(pl.col("worker").is_in(["u", "w"]))
        by_hand = divergence(found["quality"].to_numpy(), np.array([1.0, 0.5]))
        assert divergences(self.votes, self.gold, model) == pytest.approx((by_hand, by_hand))


@pytest.mark.parametrize(("figure", "theirs"), [(3, 0.0216), (4, 0.0099)])
def test_figures_3_and_4_at_two_ratios(real, monkeypatch, figure, theirs):
    monkeypatch.setattr(crowd_agg_robustness, "RATIOS", np.array([0.0, 1.0]))
    monkeypatch.setattr(crowd_agg_robustness, "SHOWN", (0, 1))
    found = json.loads(reproduce(f"crowdagg-figure{figure}", seeds=2, data=real).to_json())
    own = {(row["method"], row["measure"]): row for row in found["rows"]}
    assert own["CrowdAggNDCG", "nDCG@10"]["its print"] == theirs
    assert all(row["variation"] > 0 for row in found["rows"])
    bt = own["BradleyTerry", "AP"]
    assert bt["1"] < bt["0"]
    if figure == 4:
        assert bt["1"] < 0.9 * bt["0"]
    ours = [own[name, "AP"] for name in ("CrowdAggNDCG", "CrowdAggNDCG, eq. 17")]
    assert bt["lead"] == pytest.approx(max(row["mean"] for row in ours) - bt["mean"])
    assert bt["excess"] == pytest.approx(bt["variation"] - min(row["variation"] for row in ours))
    assert 0 < bt["p of lead"] < 1
    assert 0 < bt["p of excess"] < 1


def test_variation_is_that_of_the_mean_curve_and_its_p_is_the_jackknifes():
    rng = np.random.default_rng(2)
    flat, steep = (rng.normal(0.8, 0.01, (12, 5)) + slope * np.arange(5) for slope in (0.0, -0.1))
    curve = steep.mean(axis=0)
    assert variation(steep) == pytest.approx(curve.std(ddof=1) / curve.mean())
    assert variation_p(steep, flat) < 1e-6
    again = flat + rng.normal(0, 1e-4, flat.shape)
    assert variation_p(again, flat) > 0.01
    assert variation_p(flat, flat) == "-"
    assert variation_p(flat[:1], steep[:1]) == "-"


def test_the_best_form_of_crowdagg_is_chosen_among_its_own_rows():
    means = {"BradleyTerry": [0.9, 1.0], "CrowdAggNDCG": [0.5, 0.7], "CrowdAggNDCG, eq. 17": [0.4, 0.7]}
    assert best_of_ours(means) == "CrowdAggNDCG"
    assert best_of_ours(means, least=True) == "CrowdAggNDCG, eq. 17"


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
