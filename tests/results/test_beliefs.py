"""What a posterior says of every item and judge on its own."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.results import Beliefs, beta_of_moments
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
    more = beliefs.variance - posterior.stderr**2
    size = np.bincount(posterior.part)[posterior.part]
    assert more == pytest.approx(beliefs.new_variance / size)
