"""Worker parameters that are integrated out: the averaged likelihood, predictions, and intervals that hold."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.compare import compare_models
from crowdrank.engine import LocalEngine
from crowdrank.kernels import LOGISTIC
from crowdrank.models import widening
from crowdrank.models.pairs.design import Design
from crowdrank.models.pairs.likelihood import Judge, PairedSums
from crowdrank.models.pairs.predict import Judged
from crowdrank.models.widening import shift_by_strength
from crowdrank.models.worker_parameters import SLOPE
from crowdrank.prepared.votes import Votes
from crowdrank.simulate import bt_crowd
from crowdrank.solve import At, Independent, Widened
from helpers import random_votes


def few_votes_per_worker(seed):
    """3,184 votes of 199 workers on 15 items; the workers' slopes are log-normal."""
    rng = np.random.default_rng(seed)
    score, slope = rng.normal(0, 1.5, 15), np.exp(rng.normal(0, 0.8, 199))
    worker, left = rng.integers(0, 199, 3184), rng.integers(0, 15, 3184)
    right = (left + rng.integers(1, 15, 3184)) % 15
    ahead = rng.random(3184) < 1 / (1 + np.exp(-slope[worker] * (score[left] - score[right])))
    names = np.array([f"i{place:02d}" for place in range(15)])
    label = np.where(ahead, names[left], names[right])
    return pl.DataFrame({"worker": worker.astype(str), "left": names[left], "right": names[right], "label": label})


class TestAveragedLikelihood:
    @pytest.fixture
    def sums(self):
        votes = Votes(cr.read(random_votes(votes=80)))
        rows = votes.count_votes("worker")
        return LocalEngine(1).open(rows.shards), PairedSums(LOGISTIC, "half", (SLOPE,)), rows

    def test_is_the_mean_of_two_points(self, sums):
        session, paired, rows = sums
        rng = np.random.default_rng(0)
        score, slope = rng.normal(0, 1, rows.nodes), rng.normal(1, 0.5, (rows.workers, 1))
        spread = rng.uniform(0, 0.4, (rows.workers, 1))

        def value(scores, slopes):
            return session.evaluate(paired.gradient, At(scores, slopes)).value

        found = session.evaluate(paired.curvature, At(score, slope, spread=spread))
        by_hand = 0.5 * (value(score, slope + spread) + value(score, slope - spread))
        assert found.value == pytest.approx(by_hand, rel=1e-12)
        for place in range(3):
            step = np.zeros_like(score)
            step[place] = 1e-5
            ends = [
                session.evaluate(paired.gradient, At(score + own, slope, spread=spread)) for own in (step, -step)
            ]
            assert found.scores[place] == pytest.approx((ends[0].value - ends[1].value) / 2e-5, rel=1e-6)
            second = (ends[0].scores[place] - ends[1].scores[place]) / 2e-5
            assert found.items.matrix[place, place] == pytest.approx(-second, rel=1e-6)

    def test_the_reported_likelihood_is_at_the_point_itself(self):
        frame = few_votes_per_worker(0)
        model = cr.JudgeBT(position="none").fit(frame)
        said = model.predict_proba(frame)
        assert model.fit_.log_likelihood > np.log(said[np.arange(len(said)), _outcome(frame)]).sum()


def _outcome(frame):
    return np.where(frame["label"] == frame["left"], 0, 2)


class TestPredictions:
    def test_average_over_the_posterior_of_the_worker(self):
        design = Design("half", (SLOPE,), frozenset({SLOPE}), "worker")
        root = np.array([[[0.4]], [[0.0]]])
        judged = Judged(
            LOGISTIC, design, np.array([1.0, 0.0]), np.array([[1.0], [1.0]]), np.ones(1), 0.0, root, np.eye(1)
        )
        found = judged(np.zeros(3, int), np.ones(3, int), np.array([0, 1, -1]), sided=False)[:, 0]
        drawn = np.random.default_rng(0).normal(1, [[0.4], [0.0], [1.0]], (3, 400_000))
        exact = (1 / (1 + np.exp(-drawn))).mean(axis=1)
        assert found == pytest.approx(exact, abs=2e-3)
        assert found[1] == pytest.approx(Judge().outcomes(LOGISTIC, "half", np.ones(1))[0].p[0])

    def test_workers_with_few_votes_do_no_harm(self):
        """Slopes that are fitted together with the scores predict worse than no slopes at all: .59 against .57."""
        found = {
            row.model: row.log_loss
            for row in compare_models(few_votes_per_worker(1), ["bt", "judge-bt"], folds=3).rows
        }
        assert found["judge-bt"] < found["bt"]


class TestIntervals:
    def test_hold_with_few_votes_per_worker(self):
        held = []
        for seed in range(6):
            crowd = bt_crowd(seed=seed, items=15, workers=200, votes=3000, spammers=0)
            table = cr.CrowdBT().fit(crowd.judgments).ranking_.polars().join(crowd.gold, on="item")
            truth = table["grade"] - table["grade"].mean()
            held.append(((table["low"] <= truth) & (truth <= table["high"])).mean())
        assert np.mean(held) > 0.8  # .57 by the information at the joint maximum

    def test_hold_with_few_one_sided_votes(self):
        held = []
        for seed in range(100, 112):
            crowd = bt_crowd(seed=seed, items=20, workers=10, votes=100, spread=3.0, alpha=1e9, beta=1, spammers=0)
            table = cr.BradleyTerry().fit(crowd.judgments).ranking_.polars().join(crowd.gold, on="item")
            truth = table["grade"] - table["grade"].mean()
            held.append(((table["low"] <= truth) & (truth <= table["high"])).mean())
        assert np.mean(held) > 0.8  # .65 by the information alone

    def test_few_votes_stretch_intervals_but_not_ranks(self):
        """The outer end of an interval reaches farther; the inner end, standard errors and ranks stay."""
        crowd = bt_crowd(seed=1, items=20, workers=10, votes=100, spread=3.0, spammers=0)
        fitted = cr.BradleyTerry().fit(crowd.judgments)
        given = cr.BradleyTerry(regularization=fitted.fit_.details["priors"]["regularization"])
        wide, plain = (model.ranking_.polars() for model in (fitted, given.fit(crowd.judgments)))
        kept = ["item", "rank", "rank_low", "rank_high", "tier"]
        assert wide[kept].equals(plain[kept])
        assert wide["stderr"].to_numpy() == pytest.approx(plain["stderr"].to_numpy(), rel=1e-6)
        first, last = 0, -1
        assert wide["high"][first] > plain["high"][first] + 0.5
        assert wide["low"][first] == pytest.approx(plain["low"][first], abs=1e-6)
        assert wide["low"][last] < plain["low"][last] - 0.5
        assert wide["high"][last] == pytest.approx(plain["high"][last], abs=1e-6)

    def test_lists_of_two_have_the_intervals_of_votes(self):
        frame = bt_crowd(seed=1, items=20, workers=10, votes=100, spread=3.0, spammers=0).judgments
        left = pl.col("label") == pl.col("left")
        lists = frame.select(
            list=pl.int_range(pl.len()),
            item=pl.concat_list("left", "right"),
            rank=pl.when(left).then([1, 2]).otherwise([2, 1]),
        )
        models = cr.BradleyTerry().fit(frame), cr.PlackettLuce().fit(lists.explode("item", "rank"))
        votes, pairs = (model.ranking_.polars().sort("item").select("low", "high").to_numpy() for model in models)
        assert pairs == pytest.approx(votes, abs=0.05)  # the estimates of lambda differ by their tolerance

    @pytest.mark.parametrize("model", [cr.BradleyTerry(), cr.BradleyTerry(position="shared"), cr.Thurstone()])
    def test_the_shift_by_the_strength_is_its_derivative(self, model, monkeypatch):
        judgments = bt_crowd(seed=3, items=8, workers=5, votes=60).judgments
        found = []

        def record(climb, top):
            found.append(shift_by_strength(climb, top))
            return found[-1]

        monkeypatch.setattr(widening, "shift_by_strength", record)
        strength = model.fit(judgments).fit_.details["priors"]["regularization"]
        up, down = (
            model.clone().set_params(regularization=strength * np.exp(step)).fit(judgments).ranking_.polars()
            for step in (1e-4, -1e-4)
        )
        slope = (up.sort("item")["score"] - down.sort("item")["score"]).to_numpy() / 2e-4
        assert slope == pytest.approx(found[0] - found[0].mean(), rel=1e-4)

    def test_widened_draws_have_the_widened_covariance(self):
        score = np.array([2.0, 0.0, 1.0, 5.0, 4.0])
        parts = [np.array([0, 1, 2]), np.array([3, 4])]
        wide = Widened(Independent(np.array([1.0, 2.0, 0.5, 1.0, 3.0])), score, 1.5, 0.2)
        drawn, _ = wide.sample(parts, 200_000, np.random.default_rng(0))
        for nodes in parts:
            assert np.cov(drawn[:, nodes].T) == pytest.approx(wide.block(nodes), abs=0.05)
        centered = np.array([1.0, -1.0, 0.0])
        assert wide.block(parts[0]) == pytest.approx(
            np.diag([1.5, 3.0, 0.75]) + 0.2 * np.outer(centered, centered)
        )
