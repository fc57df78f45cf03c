"""The Multinomial Preference Model: the likelihood by enumeration, derivatives by finite differences."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models.pairs import mpm, multinomial_problem
from crowdrank.models.pairs.multinomial import Ballot, MultinomialPoint, Strengths
from crowdrank.models.pairs.multinomial_problem import (
    HeldInverse,
    MultinomialLook,
    MultinomialProblem,
    ScoresOut,
    WorkersOut,
)
from crowdrank.solve import NotPositiveError, newton
from helpers import random_votes

SCORES = np.array([0.3, -1.0, 0.8, 0.1, -0.4, 0.6])
THETA = np.array([1.6, 0.4, -0.2, 2.2])
STRENGTHS = Strengths(0.7, 1.3)


def two_queries():
    """Nodes 0 to 3 and 4 to 5; the last worker judged the first query only."""
    rng = np.random.default_rng(3)
    first = rng.integers(-3, 4, (4, 4)).astype(float)
    first -= first.mean(axis=1, keepdims=True)
    second = np.array([[1.0, -1.0], [2.0, -2.0], [0.0, 0.0]])
    return [
        Ballot(np.arange(4), np.arange(4), first, np.array([7.0, 5.5, 4.0, 6.0])),
        Ballot(np.array([4, 5]), np.arange(3), second, np.array([1.0, 4.0, 2.0])),
    ]


def at(x):
    return MultinomialLook(point(x), STRENGTHS)


def point(x):
    return MultinomialPoint(two_queries(), x[: len(SCORES)], x[len(SCORES) :])


def climb_from(x):
    return newton(MultinomialProblem(STRENGTHS), point(x), total_weight=30.0).look


def gradient(here):
    return np.concatenate([here.by_score, here.by_worker])


def information(here):
    """Minus the second derivatives as one matrix."""
    n, k = len(here.scores), len(here.theta)
    whole = np.diag(np.concatenate([np.full(n, here.strengths.scores), here.own]))
    for ballot, part in zip(here.ballots, here.parts, strict=True):
        whole[np.ix_(ballot.nodes, ballot.nodes)] += part.items
        whole[np.ix_(ballot.nodes, n + ballot.workers)] += part.coupling
    whole[n:, :n] = whole[:n, n:].T
    assert whole.shape == (n + k, n + k)
    return whole


def votes_of(rows):
    return pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")


def enumerated(rows, scores, theta):
    """The log probability of votes, every ordered pair of items written out."""
    total = 0.0
    for worker, winner, loser in rows:
        every = sum(
            math.exp(theta[worker] * (scores[one] - scores[other]))
            for one, other in itertools.permutations(scores, 2)
        )
        total += math.log(math.exp(theta[worker] * (scores[winner] - scores[loser])) / every)
    return total


def test_the_likelihood_is_a_draw_among_all_ordered_pairs():
    rows = [("u", "a", "b"), ("v", "a", "b"), ("w", "b", "a"), ("u", "b", "c"), ("v", "c", "d"), ("w", "d", "c")]
    model = cr.MPM().fit(votes_of(rows))
    scores = dict(model.ranking_.polars().select("item", "score").iter_rows())
    theta = dict(model.workers_.polars().select("worker", "adherence").iter_rows())
    assert model.fit_.log_likelihood == pytest.approx(enumerated(rows, scores, theta), abs=1e-10)


def test_a_tie_is_half_a_vote_for_either():
    frame = pl.DataFrame(
        {"worker": ["u", "u", "v"], "left": ["a", "a", "b"], "right": ["b", "b", "c"], "label": ["a", "tie", "b"]}
    )
    model = cr.MPM().fit(frame)
    scores = dict(model.ranking_.polars().select("item", "score").iter_rows())
    theta = dict(model.workers_.polars().select("worker", "adherence").iter_rows())
    halves = [enumerated([("u", *pair)], scores, theta) / 2 for pair in (("a", "b"), ("b", "a"))]
    expected = enumerated([("u", "a", "b"), ("v", "b", "c")], scores, theta) + sum(halves)
    assert model.fit_.log_likelihood == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_the_partition_function_is_the_sum_over_pairs(scale):
    ballot = two_queries()[0]
    logs = ballot.log_partition(scale * SCORES, THETA)[0]
    for theta, found in zip(THETA, logs, strict=True):
        every = [theta * scale * (SCORES[i] - SCORES[j]) for i, j in itertools.permutations(range(4), 2)]
        assert found == pytest.approx(np.logaddexp.reduce(every), rel=1e-13)


def test_gradient_and_curvature_match_finite_differences():
    x, h = np.concatenate([SCORES, THETA]), 1e-6
    steps = np.eye(len(x)) * h
    by_value = [(at(x + step).value - at(x - step).value) / (2 * h) for step in steps]
    np.testing.assert_allclose(gradient(at(x)), by_value, rtol=1e-6, atol=1e-7)
    by_gradient = [-(gradient(at(x + step)) - gradient(at(x - step))) / (2 * h) for step in steps]
    np.testing.assert_allclose(information(at(x)), by_gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [WorkersOut, ScoresOut])
def test_the_inverse_is_that_of_the_information_with_the_sum_held(kind):
    """U (U' I U)^-1 U' with columns U that leave the sum of the adherences as it is."""
    top = climb_from(np.concatenate([SCORES, np.ones(4)]))
    here, n = at(np.concatenate([top.scores + 0.01 * SCORES, top.theta])), len(SCORES)
    free = np.linalg.svd(np.concatenate([np.zeros(n), np.ones(4)])[None])[2][1:].T
    whole = free @ np.linalg.inv(free.T @ information(here) @ free) @ free.T
    found = kind(here, 0.0)
    step = np.concatenate(found.solve(here.by_score, here.by_worker))
    np.testing.assert_allclose(step, whole @ gradient(here), atol=1e-10)
    np.testing.assert_allclose(found.block(np.arange(4)), whole[:4, :4], atol=1e-10)
    np.testing.assert_allclose(found.score_variance(), whole.diagonal()[:n], atol=1e-10)
    np.testing.assert_allclose(found.worker_variance()[:, 0], whole.diagonal()[n:], atol=1e-10)


def test_both_eliminations_give_the_same_fit(monkeypatch):
    frame = random_votes(seed=5, queries=3, workers=20)
    one = cr.MPM().fit(frame)
    monkeypatch.setattr(multinomial_problem, "FEW_SCORES", 0)
    two = cr.MPM().fit(frame)
    for column in ("score", "stderr"):
        np.testing.assert_allclose(getattr(two.ranking_, column), getattr(one.ranking_, column), atol=1e-9)
    np.testing.assert_allclose(two.workers_.quality, one.workers_.quality, atol=1e-9)


def test_the_mean_adherence_is_one():
    for seed in range(3):
        found = cr.MPM().fit(random_votes(seed=seed)).workers_.further["adherence"]
        assert found.mean() == pytest.approx(1.0, abs=1e-12)


def test_the_fit_is_a_maximum_under_the_fixed_mean():
    frame = random_votes(seed=2)
    model = cr.MPM(precision=1.5, adherence_sd=0.6).fit(frame)
    assert model.fit_.converged
    assert model.fit_.details["priors"] == pytest.approx({"precision": 1.5, "adherence_sd": 0.6})
    search_sums = {"scores": model.ranking_.score, "theta": model.workers_.further["adherence"]}
    rng = np.random.default_rng(0)

    def value(scores, theta):
        by_item = dict(zip(model.ranking_.item, scores, strict=True))
        by_worker = dict(zip(model.workers_.worker, theta, strict=True))
        total = -0.75 * (scores**2).sum() - ((theta - 1) ** 2).sum() / (2 * 0.36)
        for worker, left, right, label in frame.iter_rows():
            every = np.subtract.outer(scores, scores) * by_worker[worker]
            np.fill_diagonal(every, -np.inf)
            won = {left: 1, right: -1}.get(label, 0)
            apart = by_worker[worker] * (by_item[left] - by_item[right])
            total += won * apart - np.logaddexp.reduce(every, axis=None)
        return total

    top = value(**search_sums)
    for _ in range(5):
        moved = {name: own + 0.01 * rng.normal(size=len(own)) for name, own in search_sums.items()}
        moved["theta"] += 1 - moved["theta"].mean()
        assert value(**moved) < top


def draws(rng, scores, theta, votes):
    """Votes drawn from the model itself."""
    rows = []
    pairs = list(itertools.permutations(range(len(scores)), 2))
    for worker, own in enumerate(theta):
        chance = np.exp([own * (scores[i] - scores[j]) for i, j in pairs])
        drawn = rng.choice(len(pairs), votes, p=chance / chance.sum())
        rows += [(f"w{worker:02d}", *(f"i{node:02d}" for node in pairs[place])) for place in drawn]
    return votes_of(rows)


def test_intervals_hold_the_truth_on_votes_of_the_model_itself():
    rng = np.random.default_rng(1)
    held, held_workers = [], []
    for _ in range(12):
        scores, theta = rng.normal(0, 0.7, 12), np.maximum(rng.normal(1, 0.5, 15), -0.5)
        fitted = cr.MPM().fit(draws(rng, scores, theta, 60))
        truth = (scores - scores.mean()) * theta.mean()
        table = fitted.ranking_.polars().sort("item")
        held += ((table["low"].to_numpy() <= truth) & (truth <= table["high"].to_numpy())).tolist()
        people, own = fitted.workers_.polars(), theta / theta.mean()
        low, high = people["adherence_low"].to_numpy(), people["adherence_high"].to_numpy()
        held_workers += ((low <= own) & (own <= high)).tolist()
    assert 0.84 < np.mean(held) < 0.96
    assert 0.84 < np.mean(held_workers) < 0.96


def test_liars_and_spammers_are_found():
    rng = np.random.default_rng(0)
    theta = np.array([1.5] * 6 + [0.0, -1.5])
    model = cr.MPM().fit(draws(rng, np.linspace(-1, 1, 8), theta, 600))
    people = model.workers_.polars()
    assert people["verdict"].to_list() == ["reliable"] * 6 + ["spammer", "malicious"]
    assert people["adherence"][7] < -0.5
    assert model.ranking_.polars()["item"].to_list()[0] == "i07"


def test_many_reversed_votes_are_said():
    rng = np.random.default_rng(0)
    theta = np.array([1.5] * 5 + [-1.5] * 3)
    model = cr.MPM().fit(draws(rng, np.linspace(-1, 1, 8), theta, 100))
    assert (model.workers_.further["adherence"] < 0).tolist() == [False] * 5 + [True] * 3
    assert any(note.code == "mirror" and "38% of the votes" in note.message for note in model.fit_.warnings)


def test_a_lone_worker_has_an_interval_that_says_nothing():
    model = cr.MPM().fit(votes_of([("w", "a", "b"), ("w", "b", "c"), ("w", "a", "c"), ("w", "c", "b")]))
    people = model.workers_.polars().row(0, named=True)
    assert people["adherence"] == pytest.approx(1.0)
    assert people["verdict"] == "unsure"
    assert (people["adherence_low"], people["adherence_high"]) == (-math.inf, math.inf)
    assert any(note.code == "one-worker" and "infinity" in note.message for note in model.fit_.warnings)


def test_infinite_intervals_without_a_maximum_are_explained(monkeypatch):
    class NoMaximum:
        @staticmethod
        def of(here):
            raise NotPositiveError

    monkeypatch.setattr(mpm, "HeldInverse", NoMaximum)
    model = cr.MPM(precision=1.0, adherence_sd=0.5).fit(random_votes(seed=6, votes=60))
    assert np.isinf(model.workers_.further["adherence_low"]).all()
    assert any(note.code == "no-intervals" and "infinity" in note.message for note in model.fit_.warnings)


def test_pairs_named_often_are_taken_as_clear():
    """The likelihood is not conditional on the pair: a pair that is named seldom is taken as a close one."""
    often = votes_of([("u", "a", "b")] * 8 + [("v", "a", "b")] * 8 + [("u", "b", "c"), ("v", "b", "c")])
    scores = dict(cr.MPM().fit(often).ranking_.polars().select("item", "score").iter_rows())
    assert scores["a"] - scores["b"] > 2 * (scores["b"] - scores["c"])


def test_predicts_by_the_pair_asked():
    frame = random_votes(seed=6)
    model = cr.MPM().fit(frame)
    scores = dict(model.ranking_.polars().select("item", "score").iter_rows())
    theta = dict(model.workers_.polars().select("worker", "adherence").iter_rows())
    worker, left, right, _ = frame.row(0)
    found = model.predict_proba(frame)[0]
    expected = 1 / (1 + math.exp(-2 * theta[worker] * (scores[left] - scores[right])))
    assert found[0] / (found[0] + found[2]) == pytest.approx(expected)
    assert found[1] == pytest.approx(((frame["label"] == "tie").sum() + 0.5) / (len(frame) + 1))


def test_bad_parameters_are_named():
    with pytest.raises(cr.UsageError, match="'precision' must be a number"):
        cr.MPM(precision=0).fit(random_votes())
    with pytest.raises(cr.UsageError, match="'adherence_sd' must be a number"):
        cr.MPM(adherence_sd="wide").fit(random_votes())


def test_damping_takes_over_where_the_curvature_is_not_that_of_a_maximum():
    top = climb_from(np.concatenate([0 * SCORES, np.ones(4)]))
    assert top.slope < 1e-7
    assert np.linalg.eigvalsh(HeldInverse.of(top).block(np.arange(4))).min() > 0
