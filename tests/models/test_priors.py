"""Strengths of priors from data: known where the draws are from the prior itself."""

import numpy as np
import polars as pl
import pytest
from scipy.special import psi

import crowdrank as cr
from crowdrank.kernels import LOGISTIC
from crowdrank.measures import kendall_tau
from crowdrank.models.ascent import STRENGTH_TOLERANCE, Ascent
from crowdrank.models.priors import BETA_RANGE, MOST, BetaPrior, NormalPrior, Priors, VirtualNode, _match_beta
from crowdrank.models.worker_parameters import LOG_SLOPE, SLOPE
from crowdrank.simulate import bt_crowd


@pytest.mark.parametrize("strength", [0.2, 1.0, 5.0])
def test_the_virtual_node_is_the_prior_of_a_logit_of_a_beta_variable(strength):
    """(F(s) F(-s))^lambda is the density of the logit of a Beta(lambda, lambda) variable."""
    expected = 2 * (psi(strength) - psi(2 * strength))
    assert VirtualNode(LOGISTIC, 0.5)._prior_moments(strength)[0] == pytest.approx(expected, rel=1e-6)


def test_the_strength_of_the_scores_that_were_drawn_from_it():
    p = np.random.default_rng(0).beta(2.0, 2.0, 20_000)
    scores = np.log(p) - np.log1p(-p)
    found = VirtualNode(LOGISTIC, 0.5).estimate(scores, np.zeros_like(scores))
    assert found.strength == pytest.approx(2.0, rel=0.03)


def test_uncertain_scores_are_wider_than_they_look():
    scores = np.random.default_rng(0).normal(0, 1, 500)
    sure, unsure = (VirtualNode(LOGISTIC, 0.5).estimate(scores, np.full(500, v)).strength for v in (0.0, 1.0))
    assert unsure < 0.7 * sure


def test_the_width_of_a_normal_column_is_a_fixed_point_of_em():
    """w = shrunken observations of deviations with sd 0.8, each observed with noise of variance 0.5."""
    rng = np.random.default_rng(1)
    seen = rng.normal(0, 0.8, 50_000) + rng.normal(0, 0.5**0.5, 50_000)
    prior = NormalPrior(0.0, 0.5, estimated=True)
    for _ in range(200):
        share = prior.sd**2 / (prior.sd**2 + 0.5)
        w, variance = share * seen, np.full(len(seen), share * 0.5)
        prior = prior.estimate(w, variance)
    assert prior.sd == pytest.approx(0.8, rel=0.02)
    assert prior.sd**2 == pytest.approx(np.mean(w**2 + variance), rel=1e-4)


def test_a_slope_is_measured_in_units_of_the_mean_slope():
    prior = NormalPrior(1.0, 0.5, estimated=True, slope=SLOPE)
    w = np.random.default_rng(2).normal(1.0, 0.3, 5000)
    one, twice = (prior.estimate(scale * w, np.zeros(5000)).sd for scale in (1.0, 2.0))
    assert one == pytest.approx(0.3, rel=0.05)
    assert twice == pytest.approx(one, rel=1e-3)


def test_the_logarithm_of_a_slope_has_no_unit():
    prior = NormalPrior(0.0, 0.5, estimated=True, slope=LOG_SLOPE)
    w = np.random.default_rng(2).normal(0.0, 0.3, 5000)
    one, shifted = (prior.estimate(w + shift, np.zeros(5000)).sd for shift in (0.0, 1.5))
    assert one == pytest.approx(0.3, rel=0.05)
    assert shifted == pytest.approx(one, rel=1e-9)


def test_a_beta_prior_of_the_qualities_that_were_drawn_from_it():
    eta = np.random.default_rng(3).beta(6.0, 2.0, 20_000)
    found = BetaPrior(4.0, 1.5, estimated=True).estimate(eta, np.zeros_like(eta))
    assert (found.a, found.b) == pytest.approx((6.0, 2.0), rel=0.05)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (4.0, 1.5), (1.0, 30.0), (300.0, 80.0)])
def test_a_beta_distribution_is_found_by_its_expectations(a, b):
    assert _match_beta(psi(a) - psi(a + b), psi(b) - psi(a + b), (2.0, 2.0)) == pytest.approx((a, b), rel=1e-6)


@pytest.mark.parametrize("start", [(2.0, 2.0), (1000.0, 0.1), (500.0, 0.1), (0.1, 1000.0), (1000.0, 1000.0)])
@pytest.mark.parametrize(("up", "down"), [(-0.34074709, -1.24216566), (-1.15661504, -0.37775468), (-9.0, -9.0)])
def test_a_beta_distribution_beyond_its_range_is_found_from_any_start(up, down, start):
    """At the best point of the range, the log likelihood of a and b rises only outward."""
    found = np.array(_match_beta(up, down, start))
    slope = np.array([up, down]) - (psi(found) - psi(found.sum()))
    outward = ((found == BETA_RANGE[0]) & (slope < 0)) | ((found == BETA_RANGE[1]) & (slope > 0))
    assert outward.any()
    np.testing.assert_allclose(np.where(outward, 0.0, slope), 0.0, atol=1e-9)


def test_a_strength_at_the_end_of_its_range_is_named():
    node = VirtualNode(LOGISTIC, MOST)
    assert Priors(node, estimates_strength=True).at_bounds() == ["regularization, 1e+04"]
    assert Priors(node).at_bounds() == []
    beta = BetaPrior(4.0, BETA_RANGE[0], estimated=True)
    assert Priors(VirtualNode(LOGISTIC, 1.0), (beta,), estimates_strength=True).at_bounds() == [
        "b of the prior, 0.1"
    ]


@pytest.mark.parametrize("model", [cr.BradleyTerry, cr.CrowdBT, cr.JudgeBT])
def test_costly_variances_lead_to_the_same_strengths(model, monkeypatch):
    """Conditional variances that are scaled and confirmed, and steps by conjugate gradients."""
    from crowdrank.models import ascent
    from crowdrank.solve import arrow

    monkeypatch.setattr(ascent, "STRENGTH_TOLERANCE", 1e-5)
    votes = bt_crowd(seed=3, items=15, workers=12, votes=900).judgments
    exact = model().fit(votes)
    monkeypatch.setattr(ascent, "COSTLY_SCORES", 1)
    monkeypatch.setattr(arrow, "MANY_ROWS", 1)
    scaled = model().fit(votes)
    for name in ("score", "stderr"):
        one, other = (fitted.ranking_.polars().sort("item")[name].to_numpy() for fitted in (exact, scaled))
        np.testing.assert_allclose(one, other, rtol=2e-3)
    assert scaled.fit_.converged


def test_nearly_perfect_workers_do_not_keep_the_priors_from_converging():
    rng = np.random.default_rng(0)
    truth, rows = rng.normal(size=80), []
    for worker in range(12):
        noise = 0.05 if worker < 8 else 1.0
        for item in rng.choice(80, 40, replace=False):
            label = np.clip(np.round(2 * (truth[item] + noise * rng.normal())) + 3, 1, 5)
            rows.append((f"w{worker}", f"i{item}", int(label)))
    ratings = pl.DataFrame(rows, schema=["worker", "item", "label"], orient="row")
    model = cr.CrowdBT().fit(ratings)
    assert model.workers_.polars()["eta"].max() > 0.999
    assert model.fit_.converged
    assert model.fit_.iterations < 60


def test_estimated_priors_do_not_turn_a_crowd_of_many_workers_around():
    crowd = bt_crowd(seed=5, workers=400, votes=1200)
    scores = cr.CrowdBT().fit(crowd.judgments).ranking_.polars().sort("item")["score"].to_numpy()
    assert kendall_tau(scores, crowd.gold.sort("item")["grade"].to_numpy()) > 0.6


def test_the_mirror_of_a_fit_has_the_mirror_of_its_prior():
    votes = bt_crowd(seed=5, workers=400, votes=1200).judgments
    swapped = votes.with_columns(
        label=pl.when(pl.col("label") == pl.col("left")).then(pl.col("right")).otherwise(pl.col("left"))
    )
    best, worst = cr.CrowdBT().fit(votes), cr.CrowdBT().fit(swapped)
    scores = [model.ranking_.polars().sort("item")["score"].to_numpy() for model in (best, worst)]
    np.testing.assert_allclose(scores[0], -scores[1], atol=0.02)


WIDE = {"items": 30, "workers": 100, "votes": 2000}


@pytest.mark.parametrize(
    "crowd",
    [
        {"spread": 6.0},
        {"workers": 400, "votes": 1200},
        {"spread": 4.0, **WIDE},  # workers whom two sets of parameters describe nearly as well
        {"spread": 8.0, **WIDE},
    ],
    ids=str,
)
def test_the_widths_of_judges_converge(crowd):
    assert cr.JudgeBT().fit(bt_crowd(seed=5, **crowd).judgments).fit_.converged


def test_the_strengths_of_crowd_bt_reproduce_themselves(monkeypatch):
    """At the end of a fit, one more estimate changes none of them by more than the tolerance."""
    ends, fit_priors = [], Ascent.fit_priors
    monkeypatch.setattr(
        Ascent, "fit_priors", lambda climb, at: ends.append((climb, fit_priors(climb, at))) or ends[-1][1]
    )
    cr.CrowdBT().fit(bt_crowd(seed=1, items=3, workers=3, votes=3000, spread=1.0).judgments)
    climb, top = ends[-1]
    np.testing.assert_allclose(
        climb.estimate_priors(top).strengths(), climb.priors.strengths(), atol=STRENGTH_TOLERANCE
    )


@pytest.mark.parametrize("seed", [2, 17, 43])
def test_qualities_near_their_bounds_are_averaged_within_them(seed):
    """Good workers and one who answers in reverse: a step must not carry the average beyond a quality of 1."""
    made = bt_crowd(seed=seed, items=5, workers=5, votes=300, spread=3.0, alpha=30.0, beta=1.0, spammers=0.0)
    other = pl.when(pl.col("label") == pl.col("left")).then("right").otherwise("left")
    reverses = pl.col("worker") == made.judgments["worker"].min()
    votes = made.judgments.with_columns(label=pl.when(reverses).then(other).otherwise("label"))
    assert cr.CrowdBT().fit(votes).fit_.converged
