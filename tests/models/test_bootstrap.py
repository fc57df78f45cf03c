"""Bootstrap intervals: against refits by the public model, by hand, under odd data, from the command line."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import Anchors, read, to_pairs
from crowdrank.engine import LocalEngine
from crowdrank.models.base import Run
from crowdrank.models.pairs.batch_refit import BatchRefit
from crowdrank.models.pairs.bootstrap import Bootstrap
from crowdrank.models.pairs.climb import PairedClimb
from crowdrank.models.pairs.vote_sampler import VoteSampler
from crowdrank.prepared.votes import Votes
from crowdrank.random import generator
from crowdrank.simulate import bt_crowd
from crowdrank.solve import spread_resamples
from helpers import random_votes

MODELS = [cr.BradleyTerry, cr.Thurstone, cr.CrowdBT, cr.CrowdThurstone, cr.VarianceBT, cr.JudgeBT]
NUMBERS = ("score", "stderr", "low", "high", "rank", "rank_low", "rank_high", "tier")


def climbed(model, frame, gold=None):
    votes = Votes(to_pairs(read(frame)))
    if gold is not None:
        votes = votes.with_gold(np.array(gold), 2.0)
    run = Run(Anchors(), LocalEngine(1), 3, None)
    climb = PairedClimb(
        model.link, model._design(votes), votes, run, strength=model._strength(votes), columns=model._priors()
    )
    return climb, climb.fit()


def as_frame(climb, sampler, drawn):
    """A resample as weighted votes: one for each row and outcome."""
    rows, names = sampler.rows, climb.votes.pairs.index.items
    left, right = (names.gather(climb.votes.nodes.item[codes]) for codes in (rows.i, rows.j))
    parts = [
        pl.DataFrame({"left": left, "right": right, "label": label, "weight": counts}).filter(pl.col("weight") > 0)
        for label, counts in zip((left, right, pl.repeat("tie", len(rows), eager=True)), drawn.counts, strict=True)
    ]
    return pl.concat(parts)


def centred(scores):
    return scores - scores.mean(axis=-1, keepdims=True)


def numbers(model):
    table = model.ranking_.polars().sort("query", "item")
    return {name: table[name].to_numpy() for name in NUMBERS}


def codes(model):
    return {note.code for note in model.fit_.warnings}


class TestRefits:
    """Each resample's scores are those of the public model fitted to it."""

    @pytest.mark.parametrize(
        "model",
        [
            cr.BradleyTerry(regularization=0, ties="half"),
            cr.Thurstone(regularization=0, ties="half"),
            cr.BradleyTerry(regularization=0, ties="rao-kupper"),
            cr.BradleyTerry(regularization=0, ties="davidson"),
            cr.BradleyTerry(regularization=0, ties="rao-kupper", position="shared"),
        ],
        ids=repr,
    )
    def test_of_the_pooled_models(self, model):
        frame = random_votes(seed=5, items=8, votes=600)
        climb, top = climbed(model, frame)
        bootstrap = Bootstrap(climb, top)
        together = BatchRefit.of(climb, top, bootstrap.sampler)
        drawn = [bootstrap.sampler.draw(number) for number in range(5)]
        z, found = together.refit(drawn)
        assert found.all()
        # the weak prior of a threshold has its middle at the share of ties, which a refit counts anew
        tolerance = 1e-8 if model.ties == "half" else 1e-4
        for own, scores in zip(drawn, z[:, :8], strict=True):
            table = model.clone().fit(as_frame(climb, bootstrap.sampler, own)).ranking_.polars().sort("item")
            np.testing.assert_allclose(centred(scores), table["score"].to_numpy(), atol=tolerance)

    @pytest.mark.parametrize("ties", ["half", "rao-kupper"])
    @pytest.mark.parametrize("gold", [None, [[0, 1], [4, 2]]], ids=["", "gold"])
    def test_many_at_once_are_those_one_by_one(self, ties, gold):
        model = cr.BradleyTerry(ties=ties, position="shared" if ties != "half" else "none")
        climb, top = climbed(model, random_votes(seed=6, votes=300), gold)
        bootstrap = Bootstrap(climb, top)
        together = BatchRefit.of(climb, top, bootstrap.sampler)
        drawn = [bootstrap.sampler.draw(number) for number in range(6)]
        z, found = together.refit(drawn)
        plain = np.concatenate([bootstrap._refit_one(own) for own in drawn])
        assert found.all()
        np.testing.assert_allclose(z[:, : plain.shape[1]], plain, atol=1e-8)

    def test_with_drawn_virtual_votes_by_another_optimiser(self):
        from scipy.optimize import minimize

        climb, top = climbed(cr.BradleyTerry(regularization=0.4), random_votes(seed=7, votes=200, ties=0))
        bootstrap = Bootstrap(climb, top)
        drawn = bootstrap.sampler.draw(0)
        rows = bootstrap.sampler.rows
        (wins, losses, _), (up, down) = drawn

        def loss(s):
            d = s[rows.i] - s[rows.j]
            value = wins @ np.logaddexp(0, -d) + losses @ np.logaddexp(0, d)
            return value + up @ np.logaddexp(0, -s) + down @ np.logaddexp(0, s)

        found = minimize(loss, top.point.scores, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000}).x
        np.testing.assert_allclose(bootstrap._refit_one(drawn)[0], found, atol=1e-5)

    def test_of_a_model_with_workers(self):
        frame = random_votes(seed=8, items=6, workers=4, votes=900, ties=0)
        model = cr.VarianceBT(regularization=0, slope_sd=0.5)
        climb, top = climbed(model, frame)
        bootstrap = Bootstrap(climb, top)
        drawn = bootstrap.sampler.draw(1)
        rows = bootstrap.sampler.rows
        names = climb.votes.pairs.index.workers.gather(rows.worker)
        both = as_frame(climb, bootstrap.sampler, drawn)
        worker = pl.concat([names.filter(pl.Series(counts > 0)) for counts in drawn.counts])
        table = model.clone().fit(both.with_columns(worker=worker)).ranking_.polars().sort("item")
        np.testing.assert_allclose(centred(bootstrap._refit_one(drawn))[0], table["score"].to_numpy(), atol=1e-6)


class TestDraws:
    def test_every_resample_has_all_votes(self):
        climb, _ = climbed(cr.BradleyTerry(), random_votes(votes=300), gold=[[0, 1]])
        sampler = VoteSampler.of(climb, by_worker=False)
        gold = sampler.rows.worker == 1
        for number in range(5):
            counts = sampler.draw(number).counts
            assert counts.sum() == pytest.approx(300 + 2)
            assert counts[:, gold].sum() == 2

    def test_means_are_the_counts(self):
        climb, _ = climbed(cr.BradleyTerry(regularization=0.5), random_votes(items=3, votes=300))
        sampler = VoteSampler.of(climb, by_worker=False)
        drawn = [sampler.draw(number) for number in range(2000)]
        mean = np.mean([own.counts for own in drawn], axis=0)
        np.testing.assert_allclose(mean, sampler.counts, atol=5 * np.sqrt(sampler.counts.max() / 2000))
        virtual = np.mean([own.virtual for own in drawn], axis=0)
        np.testing.assert_allclose(virtual, 0.5, atol=5 * np.sqrt(0.5 / 2000))

    def test_weights_that_are_not_whole_keep_their_total(self):
        frame = random_votes(votes=100).with_columns(weight=pl.lit(0.37))
        climb, _ = climbed(cr.BradleyTerry(), frame)
        assert VoteSampler.of(climb, by_worker=False).draw(0).counts.sum() == pytest.approx(37)

    @pytest.mark.parametrize("model", [cr.BradleyTerry(), cr.JudgeBT(), cr.BradleyTerry(ties="half")], ids=repr)
    def test_workers_are_drawn_with_all_their_votes(self, model):
        frame = random_votes(seed=1, workers=5, votes=200)
        climb, _ = climbed(model, frame, gold=[[0, 1]])
        sampler = VoteSampler.of(climb, by_worker=True)
        own = dict(frame.group_by("worker").len().iter_rows())
        sizes = [own[f"w{code}"] for code in range(5)]
        rng = generator(3, 4)
        times = rng.multinomial(5, np.full(5, 0.2))
        assert sampler.draw(4).counts.sum() == pytest.approx(times @ sizes + 2)


class TestResampled:
    QUERY = np.zeros(4, np.int32)

    def test_by_hand(self):
        # b is ahead of a in one of ten, c and d never change
        samples = np.tile([3.0, 2.0, -1.0, -4.0], (10, 1))
        samples[0, :2] = 2.0, 3.0
        found = spread_resamples(samples[1], samples, self.QUERY, [np.arange(4)])
        assert found.rank.tolist() == [1, 2, 3, 4]
        assert found.rank_low.tolist() == [1, 1, 3, 4]
        assert found.rank_high.tolist() == [2, 2, 3, 4]
        assert found.tier.tolist() == [1, 1, 2, 3]
        np.testing.assert_allclose(found.stderr, [0.3, 0.3, 0, 0], atol=1e-12)
        np.testing.assert_allclose(found.low, np.quantile(samples, 0.05, axis=0))

    def test_items_of_other_parts_may_be_anywhere(self):
        samples = np.tile([3.0, 2.0, 1.0, 0.0], (30, 1))
        found = spread_resamples(samples[0], samples, self.QUERY, [np.array([0, 2]), np.array([1]), np.array([3])])
        assert found.rank_low.tolist() == [1, 1, 2, 1]
        assert found.rank_high.tolist() == [3, 4, 4, 4]
        assert np.isinf(found.stderr).tolist() == [False, True, False, True]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
class TestEveryModel:
    def test_gives_intervals_near_those_of_the_information(self, model):
        frame = random_votes(seed=9, items=6, workers=5, votes=900)
        plain = numbers(model().fit(frame))
        fitted = model(intervals="bootstrap", resamples=60).fit(frame)
        ours = numbers(fitted)
        assert fitted.fit_.details["intervals"] == "bootstrap of the votes, 60 resamples"
        np.testing.assert_allclose(ours["score"], plain["score"])
        assert 0.6 < np.mean(ours["stderr"] / plain["stderr"]) < 1.6
        assert (ours["low"] <= ours["score"]).all()
        assert (ours["score"] <= ours["high"]).all()
        assert (ours["rank_low"] <= ours["rank"]).all()
        assert (ours["rank"] <= ours["rank_high"]).all()
        assert (ours["rank_low"][ours["tier"] > 1] > 1).all()

    def test_is_the_same_on_any_number_of_threads(self, model):
        frame = random_votes(seed=10, items=5, workers=4, votes=200)
        one, two = (
            numbers(model(intervals="bootstrap", resamples=20, seed=2).fit(frame, engine=LocalEngine(threads)))
            for threads in (1, 2)
        )
        for name in NUMBERS:
            np.testing.assert_array_equal(one[name], two[name])
        other = numbers(model(intervals="bootstrap", resamples=20, seed=3).fit(frame))
        assert (other["stderr"] != one["stderr"]).any()


class TestOddData:
    def test_a_winless_item_is_uncertain(self):
        votes = cr.Pairs.from_votes(winner=[*"ab" * 100, *"ab" * 5], loser=[*"ba" * 100, *"cc" * 5])
        ours = numbers(cr.BradleyTerry(intervals="bootstrap", resamples=200).fit(votes))
        assert ours["stderr"][2] > 1.0 > ours["stderr"][0]
        assert (ours["rank_low"][2], ours["rank_high"][2]) == (3, 3)

    def test_a_winless_item_under_a_weak_prior(self):
        votes = cr.Pairs.from_votes(winner=[*"ab" * 100, *"ab" * 5], loser=[*"ba" * 100, *"cc" * 5])
        model = cr.BradleyTerry(intervals="bootstrap", resamples=100, regularization=1e-3).fit(votes)
        assert numbers(model)["low"][2] < -5
        assert "rough-intervals" not in codes(model)

    def test_one_vote_decides_nothing(self):
        votes = cr.Pairs.from_votes(winner=["a"], loser=["b"])
        ours = numbers(cr.BradleyTerry(intervals="bootstrap", resamples=200).fit(votes))
        assert ours["rank_low"].tolist() == [1, 1]
        assert ours["rank_high"].tolist() == [2, 2]
        assert ours["tier"].tolist() == [1, 1]
        assert (ours["stderr"] > 0.2).all()

    def test_disconnected_groups_are_never_told_apart(self):
        votes = cr.Pairs.from_votes(winner=[*"a" * 40, *"c" * 40, *"b", *"d"], loser=[*"b" * 40, *"d" * 40, *"ac"])
        ours = numbers(cr.BradleyTerry(intervals="bootstrap", resamples=100).fit(votes))
        assert ours["rank_low"].tolist() == [1, 2, 1, 2]
        assert ours["rank_high"].tolist() == [3, 4, 3, 4]

    def test_resamples_without_a_finite_maximum_are_left_out_and_said(self):
        votes = cr.Pairs.from_votes(winner=[*"ab" * 20, *"aac"], loser=[*"ba" * 20, *"cca"])
        model = cr.BradleyTerry(regularization=0, intervals="bootstrap", resamples=100).fit(votes)
        assert "rough-intervals" in codes(model)
        kept = int(model.fit_.details["intervals"].split(", ")[1].split()[0])
        assert 20 <= kept < 100
        assert np.isfinite(numbers(model)["stderr"]).all()

    def test_several_queries(self):
        frame = random_votes(seed=4, votes=900, queries=3)
        ours = numbers(cr.BradleyTerry(intervals="bootstrap", resamples=50).fit(frame))
        assert np.isfinite(ours["stderr"]).all()
        assert ours["rank_high"].max() == 12

    def test_more_scores_than_fit_together(self, monkeypatch):
        frame = random_votes(seed=4, votes=300)
        model = cr.BradleyTerry(intervals="bootstrap", resamples=20)
        together = numbers(model.clone().fit(frame))
        monkeypatch.setattr("crowdrank.models.pairs.bootstrap.MAX_PARAMETERS", 3)
        one_by_one = numbers(model.clone().fit(frame))
        np.testing.assert_allclose(one_by_one["stderr"], together["stderr"], rtol=1e-6)

    def test_progress_is_called(self):
        calls = []
        model = cr.BradleyTerry(intervals="bootstrap", resamples=50)
        model.fit(random_votes(), progress=lambda *said: calls.append(said))
        assert calls[-1][0] == 50


class TestWorkers:
    def test_are_drawn_where_their_votes_resemble_each_other(self):
        """Each worker has a taste of its own: more votes of the same few say no more."""
        rng = np.random.default_rng(0)
        winner, loser, worker = [], [], []
        for code in range(12):
            taste = rng.normal(0, 1.5, 5)
            for _ in range(200):
                i, j = rng.choice(5, 2, replace=False)
                wins = rng.random() < 1 / (1 + np.exp(taste[j] - taste[i]))
                winner.append(f"i{i if wins else j}")
                loser.append(f"i{j if wins else i}")
                worker.append(f"w{code}")
        votes = cr.Pairs.from_votes(winner=winner, loser=loser, worker=worker)
        by_vote = cr.BradleyTerry(intervals="bootstrap", resamples=200).fit(votes)
        by_worker = cr.BradleyTerry(intervals="bootstrap-workers", resamples=200).fit(votes)
        assert by_worker.fit_.details["intervals"] == "bootstrap of the workers, 200 resamples"
        assert numbers(by_worker)["stderr"].mean() > 2 * numbers(by_vote)["stderr"].mean()

    def test_few_of_them_are_said(self):
        model = cr.CrowdBT(intervals="bootstrap-workers", resamples=20)
        assert "rough-intervals" in codes(model.fit(random_votes(workers=4, votes=200)))

    def test_unknown_workers_are_an_error(self):
        frame = random_votes().drop("worker")
        with pytest.raises(cr.InputError, match="do not say who judged"):
            cr.BradleyTerry(intervals="bootstrap-workers").fit(frame)


def test_votes_on_disk(tmp_path):
    path = tmp_path / "votes.csv"
    random_votes(seed=3, votes=2000).write_csv(path)
    spooled = cr.read(path, memory="1KB", spool=tmp_path)
    assert isinstance(spooled, cr.SpooledPairs)
    model = cr.BradleyTerry(intervals="bootstrap", resamples=30)
    there, here = numbers(model.clone().fit(spooled)), numbers(model.clone().fit(cr.read(path)))
    np.testing.assert_allclose(there["stderr"], here["stderr"])
    with pytest.raises(cr.UsageError, match="in memory"):
        cr.CrowdBT(intervals="bootstrap").fit(spooled)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"intervals": "jackknife"}, "one of information, bootstrap"), ({"resamples": 3}, "at least 20")],
)
def test_bad_parameters(given, message):
    with pytest.raises(cr.UsageError, match=message):
        cr.BradleyTerry(**given).fit(random_votes())


def test_the_intervals_hold():
    """Nine tenths, on crowds drawn from the model."""
    held = []
    for seed in range(8):
        crowd = bt_crowd(seed=seed, items=15, workers=10, votes=400, alpha=1e9, beta=1.0, spammers=0.0)
        model = cr.BradleyTerry(intervals="bootstrap", resamples=200).fit(crowd.judgments)
        table = model.ranking_.polars().join(crowd.gold, on="item")
        truth = table["grade"] - table["grade"].mean()
        held.append(((table["low"] <= truth) & (truth <= table["high"])).mean())
    assert 0.8 < np.mean(held) < 0.98


def test_from_the_command_line(tmp_path):
    path = tmp_path / "votes.csv"
    random_votes(seed=2).write_csv(path)
    words = ["rank", str(path), "--model", "bt", "--set", "intervals=bootstrap", "--set", "resamples=50"]
    start = "from crowdrank.cli import main; main()"
    command = [sys.executable, "-c", start, *words, "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    fit = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert fit["details"]["intervals"] == "bootstrap of the votes, 50 resamples"
    assert fit["parameters"]["resamples"] == 50
