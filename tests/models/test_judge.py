"""judge-bt, variance-bt and majority-bt: what they find on crowds of known judges, ties and sides."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.measures import kendall_tau
from crowdrank.models.worker_parameters import THRESHOLD
from crowdrank.simulate import bt_crowd, judge_crowd
from helpers import random_votes


def joined(model, crowd):
    return model.workers_.polars().join(crowd.workers, on="worker", suffix="_true")


def tau(model, crowd):
    both = model.ranking_.polars().join(crowd.gold, on="item")
    return kendall_tau(both["score"].to_numpy(), both["grade"].to_numpy())


def codes(model):
    return {note.code for note in model.fit_.warnings}


@pytest.fixture(scope="module")
def crowd():
    return judge_crowd(seed=1, items=20, workers=30, votes=20_000, bias=0.3)


@pytest.fixture(scope="module")
def judged(crowd):
    return cr.JudgeBT().fit(crowd.judgments)


class TestJudgeBT:
    @pytest.mark.parametrize("column", ["slope", "position", "threshold"])
    def test_finds_what_the_judges_are(self, crowd, judged, column):
        both = joined(judged, crowd)
        assert np.corrcoef(both[column], both[f"{column}_true"])[0, 1] > 0.9
        inside = (both[f"{column}_low"] <= both[f"{column}_true"]) & (
            both[f"{column}_true"] <= both[f"{column}_high"]
        )
        assert inside.mean() > 0.7

    def test_the_average_judge_has_slope_one(self, judged):
        assert judged.workers_.further["slope"].mean() == pytest.approx(1.0)

    def test_finds_how_far_they_differ(self, judged):
        priors = judged.fit_.details["priors"]
        assert priors["slope"] == pytest.approx(0.4, abs=0.15)
        assert priors["position"] == pytest.approx(0.3, abs=0.12)
        assert priors["threshold"] == pytest.approx(0.5, abs=0.2)

    def test_finds_the_side_and_says_so(self, judged):
        position = judged.fit_.details["position"]
        assert position["low"] < 0.3 < position["high"]
        assert position["left"] == pytest.approx(1 / (1 + np.exp(-position["bias"])))
        assert "position" in codes(judged)
        assert tau(judged, judge_crowd(seed=1, items=20, workers=30, votes=20_000, bias=0.3)) > 0.95

    def test_sides_turned_round_turn_the_bias_round(self, crowd, judged):
        turned = cr.JudgeBT().fit(crowd.judgments.rename({"left": "right", "right": "left"}))
        assert turned.fit_.details["position"]["bias"] == pytest.approx(-judged.fit_.details["position"]["bias"])

    def test_where_all_are_alike_it_is_bradley_terry(self):
        alike = judge_crowd(seed=2, sharpness=0, lapses=0, bias=0, sides=0, ties=0, votes=8000)
        one, other = (
            kind().fit(alike.judgments).ranking_.polars().sort("item") for kind in (cr.JudgeBT, cr.BradleyTerry)
        )
        np.testing.assert_allclose(one["score"], other["score"], atol=0.2)
        assert np.corrcoef(one["score"], other["score"])[0, 1] > 0.999

    def test_a_judge_who_votes_against_the_truth(self):
        crowd = bt_crowd(seed=3, items=15, workers=12, votes=6000, spammers=0, malicious=0.25, alpha=1e6, beta=1)
        both = joined(cr.JudgeBT().fit(crowd.judgments), crowd)
        liars = both.filter(pl.col("quality_true") < 0.5)
        assert (liars["slope"] < 0).all()
        assert (liars["verdict"] == "malicious").all()

    def test_a_one_sided_judge_is_found_and_said(self):
        crowd = judge_crowd(seed=4, votes=4000, bias=0.0, sides=0.0, ties=0.0)
        lazy = crowd.judgments.head(200).with_columns(worker=pl.lit("lazy"), label=pl.col("left"))
        model = cr.JudgeBT().fit(pl.concat([crowd.judgments, lazy]))
        row = model.workers_.polars().filter(pl.col("worker") == "lazy").to_dicts()[0]
        assert row["position"] > 2
        assert row["quality"] < 0.65
        assert any("lazy chose left in 200 of 200" in note.message for note in model.fit_.warnings)

    def test_without_sides_there_is_no_bias(self):
        votes = random_votes(seed=1, ties=0.0)
        lost = pl.when(pl.col("label") == pl.col("left")).then("right").otherwise("left")
        sideless = votes.select("worker", winner="label", loser=lost)
        model = cr.JudgeBT().fit(sideless)
        assert "position" not in model.fit_.details
        assert "unsided" not in codes(model)
        assert "unsided" in codes(cr.JudgeBT(position="shared").fit(sideless))


KINDS = (cr.BradleyTerry, cr.CrowdBT, cr.VarianceBT, cr.JudgeBT)


@pytest.mark.parametrize("kind", KINDS)
class TestTies:
    @pytest.mark.parametrize(
        "ties", ["half", "rao-kupper", "davidson", "rao-kupper-by-worker", "davidson-by-worker"]
    )
    def test_every_way_ranks(self, kind, ties, crowd):
        model = kind(ties=ties).fit(crowd.judgments.head(4000))
        assert model.fit_.converged
        assert tau(model, crowd) > 0.85
        table = model.predict_proba(crowd.judgments)
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
        share = (crowd.judgments["label"] == "tie").mean()
        assert table[:, 1].mean() == pytest.approx(share, abs=0.03)

    @pytest.mark.parametrize("position", ["shared", "by-worker"])
    def test_every_side_is_found(self, kind, position, crowd):
        model = kind(position=position).fit(crowd.judgments.head(6000))
        found = model.fit_.details["position"]
        assert found["low"] < found["bias"] < found["high"]
        assert 0.1 < found["bias"] < 0.6

    def test_held_out_votes_like_ties_as_an_outcome(self, kind, crowd):
        losses = {}
        for ties in ("half", None):
            rows = cr.compare_models(
                crowd.judgments.head(4000), [kind.name], settings={"ties": ties} if ties else {}
            )
            losses[ties] = rows.rows[0].log_loss
        assert losses[None] < losses["half"]

    def test_a_wrong_word_is_named(self, kind, crowd):
        with pytest.raises(cr.UsageError, match="'ties' must be auto or one of half"):
            kind(ties="coin").fit(crowd.judgments)
        with pytest.raises(cr.UsageError, match="'position' must be auto or one of none"):
            kind(position="top").fit(crowd.judgments)


def test_ties_that_need_workers_or_another_link(crowd):
    with pytest.raises(cr.InputError, match="needs to know who judged"):
        cr.BradleyTerry(ties="rao-kupper-by-worker").fit(crowd.judgments.drop("worker"))
    with pytest.raises(cr.InputError, match="needs to know who judged"):
        cr.BradleyTerry(position="by-worker").fit(crowd.judgments.drop("worker"))
    with pytest.raises(cr.UsageError, match="needs the logistic link"):
        cr.Thurstone(ties="davidson").fit(crowd.judgments)


def test_asked_for_ties_where_there_are_none():
    model = cr.BradleyTerry(ties="rao-kupper").fit(random_votes(ties=0.0))
    assert model.fit_.converged
    assert model.predict_proba(random_votes(ties=0.0))[:, 1].max() < 0.05


@pytest.fixture(scope="module")
def crowd_of_liars():
    """2,000 votes of 40 workers on 30 items, the scores of which rise; the first workers answer in reverse."""

    def votes(liars):
        rng = np.random.default_rng(51)
        slope = np.where(np.arange(40) < liars, -1, 1) * np.abs(rng.normal(1, 0.3, 40))
        worker, left = rng.integers(0, 40, 2000), rng.integers(0, 30, 2000)
        right = (left + rng.integers(1, 30, 2000)) % 30
        ahead = rng.random(2000) < 1 / (1 + np.exp(-0.15 * slope[worker] * (left - right)))
        names = np.array([f"i{place:02d}" for place in range(30)])
        label = np.where(ahead, names[left], names[right])
        return pl.DataFrame({"worker": worker, "left": names[left], "right": names[right], "label": label})

    return votes


class TestVarianceBT:
    def test_finds_the_slopes(self):
        crowd = judge_crowd(
            seed=5, items=20, workers=20, votes=20_000, sharpness=0.4, lapses=0, bias=0, sides=0, ties=0
        )
        for signed in (False, True):
            both = joined(cr.VarianceBT(signed=signed).fit(crowd.judgments), crowd)
            assert np.corrcoef(both["slope"], both["slope_true"])[0, 1] > 0.9

    def test_a_given_prior_is_kept(self, crowd):
        model = cr.VarianceBT(slope_sd=0.2, regularization=1.0).fit(crowd.judgments.head(3000))
        assert model.fit_.details["priors"]["log-slope"] == 0.2
        assert model.fit_.details["priors"]["regularization"] == 1.0

    def test_slopes_at_the_limit_are_counted(self):
        always_right = [("sure", a, b) for a, b in combinations("abcde", 2)]
        rows = [*always_right, *[("other", *pair) for pair in ("ab", "ba", "bc", "cd", "dc", "de", "ea")]]
        frame = pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")
        for limit in (50.0, 8.0):
            model = cr.VarianceBT(slope_sd=None, slope_limit=limit, regularization=0.5).fit(frame)
            assert model.fit_.details["at_bounds"]["log-slope"][1] == 1
            message = f"The slope of 1 of 2 workers is at its upper bound of {limit:g}."
            assert message in [note.message for note in model.fit_.warnings if note.code == "bound"]
            assert model.fit_.converged
        kept = cr.VarianceBT(slope_sd=1.0, regularization=0.5).fit(frame)
        assert "bound" not in codes(kept)
        assert cr.VarianceBT(slope_sd=1.0, slope_limit=1e4, regularization=0.5).fit(frame).ranking_.score == (
            pytest.approx(kept.ranking_.score, abs=1e-7)  # a prior gives a maximum that no limit decides
        )

    def test_a_quality_at_its_bound_is_counted(self):
        model = cr.CrowdBT(prior=(1, 1), regularization=0.5).fit(random_votes(votes=60))
        eta = model.workers_.further["eta"]
        assert model.fit_.details["at_bounds"]["eta"] == ((eta == 0).sum(), (eta == 1).sum())
        assert "bound" in codes(model)
        assert "bound" not in codes(cr.CrowdBT().fit(random_votes(votes=60)))

    @pytest.mark.parametrize(("liars", "said"), [(0, False), (8, False), (16, True)])
    def test_says_if_nearly_as_many_answer_in_reverse_as_not(self, crowd_of_liars, liars, said):
        """With 16 liars of 40, the slopes vary several times as much as their mean, which is the unit."""
        model = cr.VarianceBT(signed=True).fit(crowd_of_liars(liars))
        assert ("mirror" in codes(model)) == said
        if said:
            note = next(note for note in model.fit_.warnings if note.code == "mirror")
            assert "16 of 40 workers answer in reverse: 0, 1, 10 and 13 more. They gave" in note.message
            assert model.fit_.details["priors"]["slope"] > 3

    def test_a_single_reversed_worker_is_named_and_casts_no_doubt(self):
        """Four of five workers agree, so the direction is clear."""
        pairs = [*combinations("abcde", 2)] * 3
        rows = [(f"w{who}", *pair) for who in range(1, 5) for pair in pairs]
        model = cr.JudgeBT().fit(rows + [("w0", loser, winner) for winner, loser in pairs])
        (note,) = [note for note in model.fit_.warnings if note.code in ("mirror", "reversed-workers")]
        assert note.code == "reversed-workers"
        assert note.message.startswith("1 of 5 workers answers in reverse: w0. Their answers count the other way")
        assert note.workers == ("w0",)

    def test_gold_pairs_settle_who_answers_in_reverse(self, crowd_of_liars):
        gold = pl.DataFrame({"winner": ["i29"], "loser": ["i00"]})  # the columns that the hint names
        assert "mirror" not in codes(cr.VarianceBT(signed=True).fit(crowd_of_liars(16), anchors=gold))

    def test_wrong_parameters(self, crowd):
        with pytest.raises(cr.UsageError, match="'slope_limit' must be a number of at least 1"):
            cr.VarianceBT(slope_limit=0.5).fit(crowd.judgments)
        with pytest.raises(cr.UsageError, match="'slope_sd' must be a number"):
            cr.VarianceBT(slope_sd=0).fit(crowd.judgments)
        with pytest.raises(cr.UsageError, match="'signed' must be true or false"):
            cr.VarianceBT(signed="yes").fit(crowd.judgments)


class TestMajorityBT:
    def test_is_bradley_terry_on_verdicts(self):
        votes = cr.Pairs.from_votes(winner=list("aaabbcac"), loser=list("bbbacbcb"))
        verdicts = cr.Pairs.from_votes(winner=["a", "c", "a"], loser=["b", "b", "c"])
        one = cr.MajorityBT(regularization=0.5).fit(votes).ranking_.polars().sort("item")
        # b beat c once and c beat b twice; a beat b three times of four
        other = cr.BradleyTerry(regularization=0.5).fit(verdicts).ranking_.polars().sort("item")
        np.testing.assert_allclose(one["score"], other["score"], atol=1e-10)

    def test_even_votes_are_half_a_win_for_either(self):
        votes = cr.Pairs.from_votes(winner=["a", "b", "b", "c"], loser=["b", "a", "c", "b"])
        assert np.abs(cr.MajorityBT().fit(votes).ranking_.score).max() < 1e-9

    def test_rounding_breaks_no_even_votes(self):
        rows = [
            ("a", "b", 0.1),
            ("a", "b", 0.2),
            ("a", "b", 0.3),
            ("b", "a", 0.6),
            ("b", "c", 1.0),
            ("c", "a", 1.0),
        ]
        one, other = (
            cr.MajorityBT().fit(pl.DataFrame(order, schema=["winner", "loser", "weight"], orient="row"))
            for order in (rows, rows[::-1])
        )
        np.testing.assert_allclose(one.ranking_.score, other.ranking_.score, atol=1e-12)


@pytest.mark.parametrize("kind", [cr.BradleyTerry, cr.Thurstone])
def test_the_threshold_starts_where_equal_items_tie_as_often_as_they_did(kind):
    from crowdrank.kernels import chances
    from crowdrank.models.pairs.design import Design
    from crowdrank.prepared.votes import Votes

    votes = Votes(cr.read(random_votes(ties=0.3)))
    for ties in ("rao-kupper", "davidson") if kind is cr.BradleyTerry else ("rao-kupper",):
        design = Design.of((), ties, "none", votes, kind.link)
        theta = np.array([design.typical(THRESHOLD, votes)])
        tie = chances(kind.link, ties, np.zeros(1), theta)[2].p[0]
        assert tie == pytest.approx(votes.tie_share)


class TestWithoutRegularisation:
    def test_ties_join_what_wins_do_not(self):
        rows = [(w, "a", "b", "a") for w in "uvw"] + [(w, "b", "c", "b") for w in "uvw"]
        rows += [("u", "a", "b", "tie"), ("v", "b", "c", "tie"), ("w", "a", "c", "tie")]
        frame = pl.DataFrame(rows, schema=["worker", "left", "right", "label"], orient="row")
        known = cr.Anchors(workers={"u": 1.0, "v": 1.0, "w": 1.0})
        model = cr.CrowdBT(regularization=0).fit(frame, anchors=known)
        assert model.ranking_.polars()["item"].to_list() == ["a", "b", "c"]

    def test_sides_do_not_confuse_the_check(self):
        frame = bt_crowd(seed=3, items=8, workers=6, votes=2000, spammers=0).judgments
        model = cr.CrowdBT(regularization=0, position="shared").fit(frame)
        assert np.isfinite(model.ranking_.stderr).all()

    def test_scores_on_their_way_to_infinity_are_an_error(self):
        frame = random_votes(seed=1, votes=200, ties=0.0)
        with pytest.raises(cr.FitError, match="no finite maximum"):
            cr.CrowdBT(regularization=0, prior=(1, 1)).fit(frame)


class TestProbabilities:
    def test_queries_must_be_known_on_both_sides(self):
        with_queries, without = random_votes(queries=2), random_votes()
        with pytest.raises(cr.InputError, match=r"fitted with(out)? queries"):
            cr.BradleyTerry().fit(with_queries).predict_proba(without)
        with pytest.raises(cr.InputError, match=r"fitted with(out)? queries"):
            cr.BradleyTerry().fit(without).predict_proba(with_queries)

    def test_an_unfitted_model_says_so(self):
        with pytest.raises(cr.UsageError, match="not fitted"):
            cr.BradleyTerry().predict_proba(random_votes())


def test_gold_pairs_are_no_judgments_to_a_judges_quality():
    frame = random_votes(seed=2, votes=400)
    gold = pl.DataFrame({"winner": ["i1"], "loser": ["i2"]})
    light, heavy = (cr.JudgeBT(anchor_weight=w).fit(frame, anchors=gold) for w in (1, 50))
    assert heavy.workers_.judgments.sum() == light.workers_.judgments.sum() == 400
    assert heavy.fit_.details["perfect_quality"] < 0.9
