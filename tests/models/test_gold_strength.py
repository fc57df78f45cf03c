"""Regularization chosen by gold pairs (Crowd-BT section 3.3), and qualities that start from them."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models.pairs.crowd_bt import _Qualities
from crowdrank.models.pairs.gold_strength import STRENGTHS
from crowdrank.simulate import flip_crowd


@pytest.fixture(scope="module")
def crowd():
    return flip_crowd(seed=3, items=30, workers=20, pairs=120, labels=2, gold_pairs=40)


def winners(frame):
    """(winner, loser) of each row."""
    return [(a, b) if label == a else (b, a) for a, b, label in frame.select("left", "right", "label").rows()]


def accuracy_on(gold, model):
    score = dict(model.ranking_.polars().select("item", "score").rows())
    ahead = np.array([score[better] - score[worse] for better, worse in winners(gold)])
    return float((1 + np.sign(ahead)).mean() / 2), float(-np.log(1 / (1 + np.exp(-ahead))).mean())


@pytest.mark.parametrize("kind", [cr.BradleyTerry, cr.CrowdBT])
def test_is_the_best_of_the_fits_that_do_not_see_the_gold_as_votes(crowd, kind):
    gold, votes = crowd.gold_pairs, crowd.judgments
    found = kind(regularization="gold").fit(votes, anchors=gold)
    by_hand = {}
    for strength in STRENGTHS:
        model = kind(regularization=strength, anchor_weight=0).fit(votes, anchors=gold)
        by_hand[strength] = accuracy_on(gold, model)
    best = max(STRENGTHS, key=lambda strength: (by_hand[strength][0], -by_hand[strength][1]))
    assert found.fit_.details["priors"]["regularization"] == best
    assert len({accuracy for accuracy, _ in by_hand.values()}) > 1
    for row in found.fit_.details["regularization_by_gold"]:
        assert (row["accuracy"], row["log_loss"]) == pytest.approx(by_hand[row["strength"]])
    chosen = kind(regularization=best).fit(votes, anchors=gold)
    assert found.ranking_.score.tolist() == chosen.ranking_.score.tolist()


def test_the_end_of_the_range_is_said():
    frame = pl.DataFrame({"winner": ["a", "b", "c"] * 4 + ["a"], "loser": ["b", "c", "a"] * 4 + ["c"]})
    gold = pl.DataFrame({"winner": ["a"], "loser": ["c"]})
    model = cr.BradleyTerry(regularization="gold").fit(frame, anchors=gold)
    assert "Gold pairs prefer the smallest regularization that was tried, 0.01." in [
        note.message for note in model.fit_.warnings
    ]


def test_without_gold_pairs_it_is_an_error(crowd):
    with pytest.raises(cr.InputError, match="needs gold pairs") as error:
        cr.BradleyTerry(regularization="gold").fit(crowd.judgments)
    assert "anchors" in str(error.value)


def test_qualities_start_at_the_share_of_right_answers(crowd, monkeypatch):
    starts = {}
    first = _Qualities._first_qualities

    def remember(self, gold):
        starts["eta"] = first(self, gold)
        return starts["eta"]

    monkeypatch.setattr(_Qualities, "_first_qualities", remember)
    model = cr.CrowdBT(regularization=0.5, prior=(1, 1)).fit(crowd.judgments, anchors=crowd.gold_pairs)
    better = set(winners(crowd.gold_pairs))
    for worker, eta in zip(model.workers_.polars()["worker"], starts["eta"], strict=False):
        own = winners(crowd.judgments.filter(worker=worker))
        right = sum(pair in better for pair in own)
        wrong = sum(pair[::-1] in better for pair in own)
        if right + wrong:
            assert eta == pytest.approx(right / (right + wrong))


@pytest.mark.parametrize("model", [cr.VarianceBT(regularization=5.0), cr.JudgeBT()])
def test_the_log_likelihood_is_that_of_the_votes_without_the_gold(crowd, model):
    model.set_params(anchor_weight=20.0).fit(crowd.judgments, anchors=crowd.gold_pairs)
    columns = model.workers_.further
    score = dict(model.ranking_.polars().select("item", "score").rows())
    slope = dict(zip(model.workers_.worker, columns["slope"], strict=True))
    lapse = dict(zip(model.workers_.worker, columns.get("lapse", np.zeros(len(slope))), strict=True))
    bias = dict(zip(model.workers_.worker, columns.get("position", np.zeros(len(slope))), strict=True))
    total = 0.0
    for worker, left, right, label in crowd.judgments.select("worker", "left", "right", "label").rows():
        win = 1 / (1 + np.exp(-(slope[worker] * (score[left] - score[right]) + bias[worker])))
        win = (1 - lapse[worker]) * win + lapse[worker] * (1 - win)
        total += np.log(win if label == left else 1 - win)
    assert model.fit_.log_likelihood == pytest.approx(total, rel=1e-9)
