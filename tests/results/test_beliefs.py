"""What a posterior says of every item and judge on its own."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.results import Beliefs, beta_of_moments
from crowdrank.results.beliefs import independent_variances
from helpers import random_votes


def test_a_beta_distribution_has_the_given_moments():
    mean, variance = np.array([0.9, 0.5, 0.2]), np.array([0.005, 0.02, 0.001])
    alpha, beta = beta_of_moments(mean, variance)
    total = alpha + beta
    assert alpha / total == pytest.approx(mean)
    assert alpha * beta / (total**2 * (total + 1)) == pytest.approx(variance)


def test_moments_that_no_beta_distribution_has_are_cut():
    alpha, beta = beta_of_moments(np.array([1.0, 0.5]), np.array([0.0, 0.4]))
    assert (alpha > 0).all()
    assert (beta > 0).all()
    assert alpha[1] == beta[1] == pytest.approx(0.5)


def test_an_online_posterior_gives_back_the_state():
    model = cr.OnlineCrowdBT(variance=1.0, prior=(10, 1), draw=0.1)
    state = model.start()
    for who, left, right, label in random_votes(1, items=5, workers=3, votes=40).iter_rows():
        model.update(state, state.vote(left, right, winner=None if label == "tie" else label, worker=who))
    beliefs = Beliefs.of(model.posterior(state))
    assert beliefs.alpha == pytest.approx(state.qualities[:, 0, 0], rel=1e-6)
    assert beliefs.beta == pytest.approx(state.qualities[:, 1, 0], rel=1e-6)


@pytest.mark.parametrize("model", [cr.BradleyTerry, cr.CrowdBT, cr.JudgeBT, cr.VarianceBT, cr.Thurstone, cr.Elo])
def test_every_posterior_has_beliefs(model):
    frame = random_votes(2, items=6, workers=4, votes=200)
    beliefs = Beliefs.of(model().fit(frame).posterior_)
    for values in (beliefs.variance, beliefs.slope, beliefs.alpha, beliefs.beta):
        assert np.isfinite(values).all()
        assert (values > 0).all()
    assert len(beliefs.mean) == 6
    assert len(beliefs.alpha) == 4


def test_a_judge_who_answers_in_reverse_has_a_quality_below_one_half():
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(1500):
        i, j = rng.choice(6, 2, replace=False)
        who = int(rng.integers(5))
        better, worse = max(i, j), min(i, j)
        right = rng.random() < 0.9
        winner = better if right != (who == 0) else worse
        rows.append((f"w{who}", f"i{i}", f"i{j}", f"i{winner}"))
    frame = pl.DataFrame(rows, schema=["worker", "left", "right", "label"], orient="row")
    for model in (cr.CrowdBT(), cr.JudgeBT()):
        beliefs = Beliefs.of(model.fit(frame).posterior_)
        eta = beliefs.alpha / (beliefs.alpha + beliefs.beta)
        assert eta[0] < 0.4
        assert (eta[1:] > 0.6).all()


def test_unconnected_parts_have_a_level_that_nothing_fixes():
    rows = [("a", "b"), ("b", "a"), ("a", "b"), ("x", "y"), ("y", "x"), ("x", "z"), ("z", "y")]
    frame = pl.DataFrame(rows, schema=["winner", "loser"], orient="row")
    posterior = cr.BradleyTerry().fit(frame).posterior_
    beliefs = Beliefs.of(posterior)
    size = np.bincount(posterior.part)[posterior.part]
    more = beliefs.variance - beliefs.new_variance / size
    assert more[:2] == pytest.approx(2 * posterior.stderr[:2] ** 2)  # of a part of two: see below


def test_queries_have_no_level():
    """Items of different queries are never compared, so that of each query cancels."""
    rows = [(query, *own) for query in "pq" for own in [("a", "b"), ("b", "a"), ("a", "b")] * 20]
    posterior = (
        cr.BradleyTerry().fit(pl.DataFrame(rows, schema=["query", "winner", "loser"], orient="row")).posterior_
    )
    beliefs = Beliefs.of(posterior)
    exact = posterior.difference("a", "b", query="p").stderr
    assert np.sqrt(beliefs.variance[0] + beliefs.variance[1]) == pytest.approx(exact)


@pytest.mark.parametrize("count", [2, 3, 7, 40])
def test_centering_is_undone(count):
    variance = np.random.default_rng(count).uniform(1.0, 1.5, count)
    variance = np.full(2, variance.mean()) if count == 2 else variance
    away = np.eye(count) - 1 / count
    centered = np.diag(away @ np.diag(variance) @ away)
    assert independent_variances(centered) == pytest.approx(variance)


def test_a_blunt_judge_has_a_lower_quality_without_a_slope():
    rng = np.random.default_rng(3)
    scores, slope = np.linspace(-2, 2, 12), np.array([0.15] * 5 + [1.8] * 5)
    rows = []
    for _ in range(3000):
        i, j = rng.choice(12, 2, replace=False)
        who = int(rng.integers(10))
        left = rng.random() < 1 / (1 + np.exp(-slope[who] * (scores[i] - scores[j])))
        rows.append((f"w{who}", f"i{i:02}", f"i{j:02}", f"i{i if left else j:02}"))
    model = cr.JudgeBT().fit(pl.DataFrame(rows, schema=["worker", "left", "right", "label"], orient="row"))
    beliefs = Beliefs.of(model.posterior_)
    flat = beliefs.without_slopes()
    eta = flat.alpha / (flat.alpha + flat.beta)
    assert (flat.slope == 1).all()
    assert eta[:5].max() < 0.7 < 0.9 < eta[5:].min()
    assert min(beliefs.alpha.min(), beliefs.beta.min()) >= 0.5 - 1e-12
    assert 0.6 < beliefs.new_quality[0] / sum(beliefs.new_quality) < 0.9  # between the two kinds
    state = cr.OnlineCrowdBT().resume(model.posterior_)
    assert state.qualities[:5, 0, 0] / state.qualities[:5].sum(axis=1)[:, 0] == pytest.approx(eta[:5])
