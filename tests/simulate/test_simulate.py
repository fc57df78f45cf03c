import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.simulate import PRESETS, bt_crowd, flip_crowd, judge_crowd, simulate
from rankers.made import labeled_frame


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_judgments_with_their_truth(name, tmp_path):
    labeled_frame().write_csv(tmp_path / "features.csv")
    settings = {"ltrma-letor": {"file": tmp_path / "features.csv"}, "ltrma-long": {"documents": 50}}.get(name, {})
    if name.startswith("remap"):
        settings = {"source": 30, "test": 5}
    crowd = simulate(name, seed=1, **settings)
    table = cr.read(crowd.judgments)
    kinds = {"search": "ratings", "remap": "ratings", "ltrma": "rankings"}
    assert table.kind == kinds.get(name.partition("-")[0], "pairs")
    assert set(table.index.items) <= set(crowd.gold["item"])
    assert set(table.index.workers) <= set(crowd.workers["worker"])
    assert crowd.judgments.equals(simulate(name, seed=1, **settings).judgments)
    assert not crowd.judgments.equals(simulate(name, seed=2, **settings).judgments)


def test_section_511_by_the_numbers():
    crowd = flip_crowd(seed=0, alpha=5, beta=1)
    assert len(crowd.judgments) == 400 * 10
    pair = pl.concat_str(pl.min_horizontal("left", "right"), pl.max_horizontal("left", "right"), separator=" ")
    by_pair = crowd.judgments.group_by(pair).agg(pl.len(), pl.col("worker").n_unique().alias("workers"))
    assert len(by_pair) == 400
    assert (by_pair["workers"] == 10).all()
    assert sorted(crowd.gold["grade"]) == list(range(1, 101))


def test_workers_are_right_as_often_as_their_quality_says():
    crowd = flip_crowd(seed=0, workers=10, pairs=4000, labels=10, alpha=2, beta=1)
    grade = dict(crowd.gold.rows())
    frame = crowd.judgments.with_columns(
        right=pl.Series(
            [
                grade[row["label"]] > grade[row["right"] if row["label"] == row["left"] else row["left"]]
                for row in crowd.judgments.to_dicts()
            ]
        )
    )
    share = frame.group_by("worker").agg(pl.col("right").mean().alias("share")).join(crowd.workers, on="worker")
    assert np.abs(share["share"] - share["quality"]).max() < 4 * 0.5 / np.sqrt(4000)


def test_sides_do_not_give_the_winner_away():
    crowd = bt_crowd(seed=0, votes=20000)
    assert (crowd.judgments["label"] == crowd.judgments["left"]).mean() == pytest.approx(0.5, abs=0.02)


def test_judges_lean_left_and_call_ties_as_often_as_they_should():
    crowd = judge_crowd(seed=0, votes=50_000, spread=0.0, lapses=0.0, bias=0.5, sides=0.0, ties=0.4, readiness=0.0)
    left = (crowd.judgments["label"] == crowd.judgments["left"]).mean()
    tie = (crowd.judgments["label"] == "tie").mean()
    assert left == pytest.approx(1 / (1 + np.exp(0.4 - 0.5)), abs=0.01)
    assert tie == pytest.approx(1 / (1 + np.exp(-0.4 - 0.5)) - 1 / (1 + np.exp(0.4 - 0.5)), abs=0.01)
    assert not (judge_crowd(seed=0, ties=0.0).judgments["label"] == "tie").any()


def test_gold_pairs_are_true_and_asked_of_everybody():
    crowd = flip_crowd(seed=0, gold_pairs=5)
    grade = dict(crowd.gold.rows())
    for row in crowd.gold_pairs.to_dicts():
        other = row["right"] if row["label"] == row["left"] else row["left"]
        assert grade[row["label"]] > grade[other]
    assert len(crowd.judgments) == 4000 + 5 * 100


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("nope", {}, "no preset 'nope'"),
        ("bt-crowd", {"people": 3}, "no setting 'people'"),
        ("bt-crowd", {"votes": "many"}, "must be a whole number"),
        ("bt-crowd", {"items": 1}, "need two items"),
        ("bt-crowd", {"votes": 0}, "need two items"),
        ("bt-crowd", {"votes": -5}, "at least 0"),
        ("bt-crowd", {"votes": 2.5}, "must be a whole number"),
        ("bt-crowd", {"spread": float("inf")}, "must be a number"),
        ("bt-crowd", {"alpha": 0}, "must be above 0"),
        ("crowd-bt-quality", {"gold_pairs": 9999}, "need at least as many"),
        ("bt-crowd", {"seed": -1}, "seed must be"),
        ("bt-crowd", {"spammers": 2.0}, "must not exceed 1"),
        ("crowd-bt-quality", {"labels": 1000}, "need at least as many"),
        ("tpp", {"workers": 0}, "workers must be at least 1"),
        ("tpp", {"documents": 1}, "0 of the 0 pairs"),
        ("tpp", {"sparsity": 0.001}, "0 of the 435 pairs"),
        ("tpp", {"sparsity": 1.1}, "478 of the 435 pairs"),
        ("tpp", {"demographic": 4}, "1, 2 or 3"),
        ("tpp", {"scores": "normal"}, "'gaps' or 'uniform'"),
        ("tpp-text", {"spammer": 0}, "above 0"),
    ],
)
def test_wrong_settings_are_named(name, settings, words):
    with pytest.raises(cr.UsageError, match=words):
        simulate(name, **settings)
