"""The qualities of workers in CrowdAgg: how many votes count, the prior, spammers and malicious workers."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowd_agg_by_hand import both, lists_of
from crowdrank.measures import pairwise_accuracy
from crowdrank.models.lists.crowd_agg import crowd_prior, shrink
from helpers import random_votes


def test_dependent_votes_have_the_variance_of_kendall_and_of_mann_and_whitney():
    """Four variances: 1/4 V of tosses, (2 m + 5) / 18 m (m - 1) of a list, (k + l + 1) / 12 k l of two labels."""
    tosses = pl.DataFrame({"worker": ["w"] * 4, "winner": list("aceg"), "loser": list("bdfh")})
    ranked = pl.DataFrame({"worker": ["w"] * 9, "item": list("abcdefghi"), "rank": range(9)})
    labels = pl.DataFrame({"worker": ["w"] * 9, "item": list("abcdefghi"), "label": [1] * 3 + [0] * 6})
    found = [float(lists_of(cr.CrowdAggRBP, frame).independent_votes[0]) for frame in (tosses, ranked, labels)]
    assert [1 / (4 * count) for count in found] == pytest.approx([1 / 16, 23 / (18 * 9 * 8), 10 / (12 * 3 * 6)])


def test_the_prior_of_the_crowd():
    """Shares that vary no more than tosses become their mean; others keep what they vary beyond that."""
    count = np.array([40.0, 60.0, 50.0, 80.0, 20.0])
    mean, strength = crowd_prior(0.8 * count, count)
    assert (mean, strength) == (pytest.approx(0.8), np.inf)
    assert shrink(0.8 * count, count, "estimated") == pytest.approx(np.full(5, 0.8))
    share = np.array([0.92, 0.66, 0.88, 0.85, 0.7])
    mean, strength = crowd_prior(share * count, count)
    middle = share @ count / count.sum()
    spread = middle * (1 - middle)
    assert strength > 10
    assert ((share - mean) ** 2 / (spread / (strength + 1) + spread / count)).sum() == pytest.approx(4)
    wanted = (strength * mean + share * count) / (strength + count)
    assert shrink(share * count, count, "estimated") == pytest.approx(wanted)
    assert crowd_prior(0.3 * count, count) == (0.6, np.inf)


def labels_of_a_crowd(seed, accuracy, items, each):
    """Binary labels: each worker k labels ``each[k]`` random items, and is right in ``accuracy[k]`` of them."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.random(items) < 0.4, []
    for worker, (right, count) in enumerate(zip(accuracy, each, strict=True)):
        for item in rng.choice(items, count, replace=False):
            label = truth[item] == (rng.random() < right)
            rows.append((f"w{worker}", f"i{item}", int(label)))
    return pl.DataFrame(rows, schema=["worker", "item", "label"], orient="row"), truth


def label_accuracy(fitted, truth):
    table = fitted.ranking_.polars()
    return pairwise_accuracy(
        table["score"].to_numpy(), truth[[int(item[1:]) for item in table["item"]]].astype(float)
    )


@both
def test_a_busy_spammer_does_not_take_over(model):
    """By equation 17 the spammer's quality is above .9, because most of the ranking is the spammer's own."""
    frame, truth = labels_of_a_crowd(0, [0.5, *[0.85] * 24], items=80, each=[80, *[15] * 24])
    fitted, equal, printed = (model(**given).fit(frame) for given in ({}, {"quality": "equal"}, {"prior": None}))
    assert printed.workers_.polars()["quality"][0] > 0.9
    assert fitted.workers_.polars()["quality"][0] < 0.65
    assert label_accuracy(fitted, truth) > label_accuracy(equal, truth) + 0.15


def test_workers_of_one_quality_lose_nothing():
    """Poor labels by workers of one quality. Equation 17 with the same prior lost more than .05 here."""
    lost = []
    for seed in range(8):
        each = 10 + 60 // np.arange(1, 16)
        frame, truth = labels_of_a_crowd(seed, [0.6] * 15, items=70, each=each)
        own, equal = (
            label_accuracy(cr.CrowdAggNDCG(quality=kind).fit(frame), truth) for kind in ("estimated", "equal")
        )
        lost.append(equal - own)
    assert np.mean(lost) < 0.01


def test_the_step_of_eta_may_lower_the_objective():
    falls = 0
    for seed in range(20):
        path = cr.CrowdAggNDCG(prior=None).fit(random_votes(seed=seed, votes=60)).fit_.details["objectives"]
        falls += (np.diff(path) < 0).any()
    assert falls > 0


def test_equal_quality_is_one_round_with_the_plain_shares():
    frame = random_votes(seed=4)
    model = cr.CrowdAggNDCG(quality="equal", prior=None).fit(frame)
    assert model.fit_.iterations == 1
    assert not {"cycle", "not-converged"} & {note.code for note in model.fit_.warnings}
    score = dict(zip(*model.ranking_.polars()["item", "score"], strict=True))
    decided = frame.filter(pl.col("label") != "tie", worker="w0").to_dicts()
    right = np.mean(
        [(row["label"] == row["left"]) == (score[row["left"]] > score[row["right"]]) for row in decided]
    )
    assert model.workers_.polars()["quality"][0] == pytest.approx(right)


def test_a_worker_of_quality_one_half_says_nothing_and_a_worse_one_counts_reversed():
    frame = pl.DataFrame({"worker": ["w"], "winner": ["a"], "loser": ["b"]})
    lists = lists_of(cr.CrowdAggNDCG, frame)
    assert lists.values(np.array([0.5])).total == pytest.approx([0, 0])
    good, bad = (lists.values(np.array([eta])).total for eta in (0.9, 0.1))
    assert good[0] > 0 > good[1]
    np.testing.assert_allclose(good, bad[::-1])


def test_a_repeated_vote_is_one_opinion_but_two_votes_of_quality():
    frame = pl.DataFrame({"worker": ["x", "x", "y"], "winner": ["a", "b", "a"], "loser": ["b", "c", "c"]})
    one, two = (cr.CrowdAggNDCG(quality="equal").fit(own) for own in (frame, pl.concat([frame, frame])))
    np.testing.assert_allclose(one.ranking_.score, two.ranking_.score, atol=1e-12)
    one, two = (cr.CrowdAggNDCG(prior=(20, 5)).fit(own) for own in (frame, pl.concat([frame, frame])))
    assert one.workers_.quality.tolist() == pytest.approx([22 / 27, 21 / 26])
    again = 3 * 2**2 / (2 + 2 * 2**2)  # a vote that is repeated, in independent votes
    more = 3 * 4**2 / (4 + 2 * 2**2)
    assert two.workers_.quality.tolist() == pytest.approx([(20 + more) / (25 + more), (20 + again) / (25 + again)])


def test_malicious_workers_are_found_and_turned_round():
    rng = np.random.default_rng(0)
    rows = []
    for worker in range(12):
        for _ in range(60):
            a, b = sorted(rng.choice(10, 2, replace=False))
            good = worker < 9
            right = rng.random() < (0.9 if good else 0.1)
            rows.append((f"w{worker:02d}", *((a, b) if right else (b, a))))
    frame = pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")
    model = cr.CrowdAggNDCG(prior=(2, 1)).fit(frame)
    assert model.ranking_.polars()["item"].to_list() == [str(k) for k in range(10)]
    assert model.workers_.polars()["verdict"].to_list() == ["reliable"] * 9 + ["malicious"] * 3


def test_nobody_is_reliable_for_the_priors_sake():
    rows = [("x", "a", "b"), ("x", "b", "c")] + [(w, a, b) for w in "yz" for a, b in combinations("abcdefg", 2)]
    model = cr.CrowdAggNDCG(prior=(20, 5)).fit(
        pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")
    )
    people = model.workers_.polars()
    assert people["verdict"].to_list() == ["unsure", "reliable", "reliable"]
    assert people["quality"][0] == pytest.approx(22 / 27)
