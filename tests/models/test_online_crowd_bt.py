"""Online Crowd-BT: the fold, the bank of filters, anchors, ties, sides, and going on from a batch fit."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import Anchors, to_pairs
from crowdrank.kernels import LOGISTIC, PROBIT
from crowdrank.kernels.filtering import learn_vote
from crowdrank.models.pairs.filter_bank import Bank, FilterState, fold_compiled, fold_votes
from crowdrank.results import Beliefs
from crowdrank.simulate import simulate
from helpers import random_votes


def votes_of(*rows, **more):
    frame = pl.DataFrame(rows, schema=["worker", "left", "right", "label"], orient="row")
    return frame.with_columns(**{name: pl.Series(values) for name, values in more.items()})


def scores(model):
    return dict(model.ranking_.polars().select("item", "score").iter_rows())


def worker(model, name):
    return model.workers_.polars().filter(worker=name).row(0, named=True)


def test_two_votes_by_hand():
    frame = votes_of(("v", "a", "b", "a"), ("w", "b", "c", "c"))
    model = cr.OnlineCrowdBT(variance=1.0, prior=(10, 1), draw=0.0).fit(frame)
    rules = (False, 0.0, False, False)
    a, b, _, vb, alpha, beta, *_ = learn_vote(0.0, 0.0, 1.0, 1.0, 10.0, 1.0, 0.0, 0.0, 1, 1.0, *rules)
    b, c, *_ = learn_vote(b, 0.0, vb, 1.0, 10.0, 1.0, 0.0, 0.0, -1, 1.0, *rules)
    middle = (a + b + c) / 3
    assert scores(model) == pytest.approx({"a": a - middle, "b": b - middle, "c": c - middle}, abs=1e-12)
    assert worker(model, "v")["eta"] == pytest.approx(alpha / (alpha + beta))


@pytest.mark.parametrize("settings", [{}, {"variance": 4.0, "prior": (10, 1)}, {"rule": "printed"}])
def test_a_vote_of_weight_ten_is_ten_votes(settings):
    """Even one that surprises: a has won six times before."""
    rows = [("v", "a", "b", "a")] * 6 + [("v", "c", "b", "c")] * 3
    ten = cr.OnlineCrowdBT(**settings, draw=0.0).fit(votes_of(*rows, *[("w", "b", "a", "b")] * 10))
    weighted = votes_of(*rows, ("w", "b", "a", "b")).with_columns(weight=pl.Series([1.0] * 9 + [10.0]))
    one = cr.OnlineCrowdBT(**settings, draw=0.0).fit(weighted)
    assert scores(one) == pytest.approx(scores(ten), abs=1e-12)
    assert worker(one, "w")["eta"] == pytest.approx(worker(ten, "w")["eta"], abs=1e-12)
    assert one.fit_.log_likelihood == pytest.approx(ten.fit_.log_likelihood)


@pytest.mark.parametrize("position", ["none", "shared", "by-worker"])
@pytest.mark.parametrize(("printed", "link"), [(False, LOGISTIC), (True, LOGISTIC), (False, PROBIT)])
@pytest.mark.parametrize("given", [(None, None), (1.0, (10.0, 1.0))])
def test_the_compiled_loop_is_the_plain_one(position, printed, link, given):
    rng = np.random.default_rng(5)
    left = rng.integers(0, 20, 300)
    right = (left + rng.integers(1, 20, 300)) % 20
    said, who = np.where(rng.random(300) < 0.2, 0, np.sign(right - left)), rng.integers(-1, 6, 300)
    weight = rng.choice([1.0, 2.0, 0.5, 3.25], 300)
    if position == "by-worker":
        who = np.maximum(who, 0)
    states = []
    for compiled in (False, True):
        state = FilterState(Bank.of(*given), link, printed=printed, position=position, threshold=0.1)
        state.grow(20, 6)
        state.gold = {(1, 2): 1, (3, 7): -1, (0, 19): 1}
        if compiled:
            fold_compiled(state, left, right, said, weight, who)
        else:
            columns = (column.tolist() for column in (left, right, said, weight, who))
            fold_votes(state, zip(*columns, strict=True))
        states.append(state)
    for name in ("scores", "qualities", "sides", "evidence"):
        plain, fast = (getattr(state, name) for state in states)
        assert fast == pytest.approx(plain, rel=1e-9, abs=1e-9)


def test_many_votes_take_the_compiled_loop_and_the_answer_is_the_same(monkeypatch):
    frame = random_votes(np.random.default_rng(0), items=8, workers=5, votes=400)
    plain = cr.OnlineCrowdBT().fit(frame)
    monkeypatch.setattr("crowdrank.models.pairs.online_crowd_bt.COMPILED_FROM", 10)
    fast = cr.OnlineCrowdBT().fit(frame)
    assert scores(fast) == pytest.approx(scores(plain), abs=1e-9)
    assert fast.fit_.log_likelihood == pytest.approx(plain.fit_.log_likelihood, abs=1e-9)


def test_start_update_posterior_give_what_a_fit_gives():
    frame = random_votes(np.random.default_rng(1), items=6, workers=4, votes=60)
    model = cr.OnlineCrowdBT()
    fitted = cr.OnlineCrowdBT(draw=0.1).fit(frame)
    state = cr.OnlineCrowdBT(draw=0.1).start()
    for who, left, right, label in frame.select("worker", "left", "right", "label").iter_rows():
        model.update(state, state.vote(left, right, winner=None if label == "tie" else label, worker=who))
    posterior = model.posterior(state)
    found = dict(zip(posterior.item, posterior.score, strict=True))
    assert found == pytest.approx(scores(fitted), abs=1e-9)
    eta = dict(zip(posterior.worker, posterior.worker_mean[:, 0], strict=True))
    assert eta == pytest.approx(dict(fitted.workers_.polars().select("worker", "eta").iter_rows()), abs=1e-9)


def test_the_evidence_is_the_product_of_the_predictions():
    frame = random_votes(np.random.default_rng(2), items=5, workers=3, votes=30)
    pairs = to_pairs(cr.read(frame))
    total = 0.0
    model = cr.OnlineCrowdBT(variance=2.0, prior=(4, 1.5), draw=0.1)
    for row in range(1, pairs.rows):
        fitted = model.clone().fit(pairs.take(np.arange(row)))
        total += np.log(fitted.predict_proba(pairs.take([row]))[0][[0, 2, 1][pairs.outcome[row]]])
    first = model.clone().fit(pairs.take([0])).fit_.log_likelihood
    assert model.fit(pairs).fit_.log_likelihood == pytest.approx(first + total, abs=1e-9)


def test_the_bank_weights_filters_by_their_evidence():
    frame = random_votes(np.random.default_rng(3), items=6, workers=4, votes=200)
    given = [
        cr.OnlineCrowdBT(variance=variance, prior=(10, 1)).fit(frame).fit_.log_likelihood
        for variance in (0.02, 0.1, 0.4, 1.0, 2.5, 6.0, 15.0, 50.0)
    ]
    weight = np.exp(given - np.max(given)) * np.array([3, 1, 1, 1, 1, 1, 1, 1])
    model = cr.OnlineCrowdBT(prior=(10, 1)).fit(frame)
    variances = np.array([0.02, 0.1, 0.4, 1.0, 2.5, 6.0, 15.0, 50.0])
    assert model.fit_.details["prior_variance"] == pytest.approx(weight @ variances / weight.sum(), rel=1e-9)


def test_coin_tosses_choose_the_prior_that_says_that_all_items_are_alike():
    rng = np.random.default_rng(4)
    left = rng.integers(0, 20, 1500)
    right = (left + rng.integers(1, 20, 1500)) % 20
    wins = rng.random(1500) < 0.5
    votes = cr.Pairs.from_votes(
        winner=np.where(wins, left, right).astype(str),
        loser=np.where(wins, right, left).astype(str),
        worker=rng.integers(0, 10, 1500).astype(str),
    )
    model = cr.OnlineCrowdBT().fit(votes)
    assert model.fit_.details["prior_variance"] < 0.05
    assert np.abs(list(scores(model).values())).max() < 0.3


def test_a_vote_on_a_gold_pair_is_right_or_wrong_whatever_the_scores_are():
    frame = votes_of(("v", "a", "b", "a"), ("v", "b", "a", "a"), ("w", "a", "b", "b"), ("w", "a", "c", "a"))
    gold = pl.DataFrame({"left": ["a"], "right": ["b"], "label": ["a"]})
    model = cr.OnlineCrowdBT(variance=1.0, prior=(4, 2), draw=0.0).fit(frame, anchors=Anchors.read(gold))
    assert worker(model, "v")["eta"] == pytest.approx(6 / 8)
    alone = cr.OnlineCrowdBT(variance=1.0, prior=(4, 2), draw=0.0).fit(frame.head(3), anchors=Anchors.read(gold))
    first = learn_vote(0.0, 0.0, 1.0, 1.0, 1e9, 1e-3, 0.0, 0.0, 1, 1.0, False, 0.0, False, False)
    assert scores(alone) == pytest.approx({"a": (first[0] - first[1]) / 2, "b": (first[1] - first[0]) / 2})


def test_known_workers_keep_their_quality():
    frame = random_votes(np.random.default_rng(6), items=5, workers=3, votes=90)
    name = frame["worker"][0]
    known = pl.DataFrame({"worker": [name], "quality": [0.2]})
    model = cr.OnlineCrowdBT().fit(frame, anchors=Anchors.read(known))
    assert worker(model, name)["eta"] == pytest.approx(0.2, abs=1e-6)


def test_a_flat_prior_needs_gold_pairs():
    frame = votes_of(("v", "a", "b", "a"), ("w", "b", "c", "c"))
    with pytest.raises(cr.FitError, match="no vote says"):
        cr.OnlineCrowdBT(prior=None).fit(frame)
    gold = pl.DataFrame({"left": ["a"], "right": ["b"], "label": ["a"]})
    model = cr.OnlineCrowdBT(prior=None, variance=1.0).fit(frame, anchors=Anchors.read(gold))
    assert worker(model, "v")["eta"] == pytest.approx(2 / 3)


def test_a_bias_towards_the_left_is_found_and_corrected():
    crowd = simulate("judge-crowd", seed=1, votes=4000, bias=0.8, sides=0.05, ties=0.0, lapses=0.0)
    plain = cr.OnlineCrowdBT().fit(crowd.judgments)
    sided = cr.OnlineCrowdBT(position="shared").fit(crowd.judgments)
    assert sided.fit_.details["position"]["bias"] == pytest.approx(0.8, abs=0.25)
    assert sided.fit_.log_likelihood > plain.fit_.log_likelihood + 50


def test_ties_pull_two_items_together_and_say_nothing_of_the_worker():
    frame = votes_of(("v", "a", "b", "a"), ("w", "a", "b", "tie"))
    apart = cr.OnlineCrowdBT(variance=1.0, prior=(10, 1), draw=0.3).fit(frame.head(1))
    model = cr.OnlineCrowdBT(variance=1.0, prior=(10, 1), draw=0.3).fit(frame)
    assert 0 < scores(model)["a"] < scores(apart)["a"]
    assert worker(model, "w")["eta"] == pytest.approx(10 / 11)


def test_going_on_from_a_batch_fit():
    frame = random_votes(np.random.default_rng(8), items=6, workers=4, votes=120)
    posterior = cr.CrowdBT().fit(frame).posterior_
    model = cr.OnlineCrowdBT()
    state = model.resume(posterior)
    beliefs, found = Beliefs.of(posterior), model.posterior(state)
    assert found.score == pytest.approx(posterior.score, abs=1e-9)
    assert state.scores[:, 1, 0] == pytest.approx(beliefs.variance)
    model.update(state, state.vote("new", frame["left"][0], winner="new", worker="someone"))
    assert len(model.posterior(state).item) == 7


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"rule": "magic"}, "rule"),
        ({"link": "cauchit"}, "link"),
        ({"position": "left"}, "position"),
        ({"variance": 0}, "variance"),
        ({"rule": "printed", "link": "probit"}, "printed"),
        ({"prior": (0.5, 1)}, "prior"),
    ],
)
def test_bad_parameters(parameters, problem):
    with pytest.raises(cr.UsageError, match=problem):
        cr.OnlineCrowdBT(**parameters).fit(votes_of(("v", "a", "b", "a")))
