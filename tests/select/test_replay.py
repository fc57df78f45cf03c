"""Replays: recorded votes are used once, curves, refits, and what simulated judges do."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import Scored
from crowdrank.errors import InputError, UsageError
from crowdrank.models.pairs.online_crowd_bt import OnlineCrowdBT
from crowdrank.select.gains import GAIN, pair_gain
from crowdrank.select.loop import Loop
from crowdrank.select.policy import SELECTORS, Policy
from crowdrank.select.pool import Pool
from crowdrank.select.recorded import Recorded
from crowdrank.select.replay import (
    Curve,
    Plan,
    Truth,
    mean_curve,
    predicted_accuracy,
    replay_recorded,
    replay_simulated,
)
from crowdrank.select.study import replay
from crowdrank.simulate import bt_crowd
from crowdrank.simulate.respondents import CROWDS, Respondents

CROWD = {"items": 40, "workers": 20}


@pytest.fixture(scope="module")
def crowd():
    return bt_crowd(seed=2, items=12, workers=6, votes=300, spammers=0.2)


def gold_of(crowd):
    return Scored(crowd.gold.select(query=pl.lit(None, pl.String), item="item", value="grade"))


def recorded(rng, votes=60, items=8, judges=4):
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    return Recorded(left, right, rng.choice([1, -1], votes), rng.integers(0, judges, votes), items, judges)


@pytest.mark.parametrize("select", SELECTORS)
def test_every_recorded_vote_is_used_once(select):
    votes = recorded(np.random.default_rng(0))
    loop = Loop(8, 4, Policy(select=select))
    pool = Pool(votes, Policy(select=select))
    taken = [pool.take(loop.live_beliefs()) for _ in range(60)]
    assert sorted(taken) == sorted(zip(*(column.tolist() for column in votes[:4]), strict=True))
    assert pool.take(loop.live_beliefs()) is None


def test_the_pool_chooses_the_largest_gain():
    rng = np.random.default_rng(1)
    votes = recorded(rng, votes=200)
    loop = Loop(8, 4, Policy(), model=OnlineCrowdBT(variance=1.0, prior=(10, 1)))
    pool = Pool(votes, Policy(gamma=2.0, cold=0))
    for _ in range(40):
        own, free = loop.live_beliefs(), pool.free.copy()
        i, j, k = pool.left, pool.right, pool.judge
        gains = pair_gain(
            GAIN, own.mean[i] - own.mean[j], own.variance[i], own.variance[j], 1.0, own.slope[k], own.alpha[k],
            own.beta[k], 2.0,
        )  # fmt: skip
        vote = pool.take(own)
        chosen = np.flatnonzero(free & ~pool.free)
        assert gains[chosen[0]] == pytest.approx(gains[free].max(), abs=1e-12)
        assert vote == (i[chosen[0]], j[chosen[0]], pool.said[chosen[0]], k[chosen[0]])
        loop.record(*vote)


def test_a_replay_of_all_votes_ends_where_a_fit_ends(crowd):
    table = cr.read(crowd.judgments)
    study = replay(table, gold=gold_of(crowd), budget=300, selects=["gain"], seeds=1, rank="refit", look=100)
    fitted = cr.CrowdBT().fit(table)
    scores = dict(fitted.ranking_.polars().select("item", "score").iter_rows())
    truth = dict(crowd.gold.iter_rows())
    names = sorted(truth)
    expected = Truth(np.array([truth[name] for name in names])).accuracy(
        np.array([scores[name] for name in names])
    )
    assert study.runs[0].curves[0].accuracy[-1] == pytest.approx(expected)
    assert study.reach == pytest.approx(expected)


def test_active_selection_needs_fewer_votes_than_random():
    study = replay(simulate="beta-5-1", budget=300, seeds=4, selects=["random", "gain"], look=100, settings=CROWD)
    last = {run.select: run.curves for run in study.runs}
    means = {name: np.mean([curve.accuracy[-1] for curve in curves]) for name, curves in last.items()}
    assert means["gain"] > means["random"] + 0.02


def test_refits_take_the_place_of_the_online_state():
    people = Respondents.make("bt", seed=3, items=10, workers=4)
    curve = replay_simulated(people, Policy(), Plan(120, 40, refit=40), seed=3)
    loop = Loop(10, 4, Policy(), refit=40)
    rng = np.random.default_rng(0)
    for _ in range(40):
        i, j = rng.choice(10, 2, replace=False)
        loop.record(int(i), int(j), 1 if i > j else -1, int(rng.integers(4)))
    score, variance = loop.place(loop.fit_batch())
    assert loop.desk.mean == pytest.approx(score)
    assert loop.desk.variance == pytest.approx(variance)
    assert len(curve.votes) == 3


def test_questions_in_flight():
    people = Respondents.make("bt", seed=1, items=12, workers=30)
    curve = replay_simulated(people, Policy(), Plan(200, 50), seed=1, flight=20)
    assert curve.votes.tolist() == [50, 100, 150, 200]
    assert people.answered.sum() == 200


def test_the_curve_says_when_a_level_was_first_reached():
    curve = Curve(np.array([10, 20, 30]), np.array([0.5, 0.9, 0.8]), np.zeros(3))
    assert curve.first(0.9) == 20
    assert curve.first(0.95) == np.inf


def test_accuracy_by_query_and_with_gaps():
    truth = Truth(np.array([1.0, 2.0, np.nan, 1.0, 2.0]), np.array([0, 0, 0, 1, 1]))
    assert truth.accuracy(np.array([0.0, 1.0, 9.0, 1.0, 0.0])) == 0.5


def test_the_predicted_accuracy_is_the_mean_over_pairs():
    assert predicted_accuracy(np.array([0.0, 0.0]), np.ones(2)) == pytest.approx(0.5)
    assert predicted_accuracy(np.array([0.0, 100.0]), np.ones(2)) == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    score, variance = rng.normal(0, 1, 700), rng.uniform(0.1, 1, 700)
    i, j = np.triu_indices(700, 1)
    from scipy.special import ndtr

    exact = ndtr(np.abs(score[i] - score[j]) / np.sqrt(variance[i] + variance[j])).mean()
    assert predicted_accuracy(score, variance) == pytest.approx(exact, abs=0.003)  # from 200,000 of the pairs


def test_json_has_what_is_promised(crowd):
    found = replay(cr.read(crowd.judgments), gold=gold_of(crowd), budget=100, seeds=2).as_dict()
    assert [run["select"] for run in found["selectors"]] == ["random", "even", "gain"]
    for run in found["selectors"]:
        assert {"select", "votes", "accuracy", "predicted", "to", "enough_at", "enough_share"} <= run.keys()
        assert set(run["to"]) == {"0.90", "0.95", "0.98"}
        assert len(run["votes"]) == len(run["accuracy"]) == len(run["predicted"])


def test_gold_in_a_frame_or_a_file(crowd, tmp_path):
    crowd.gold.write_csv(tmp_path / "gold.csv")
    found = [
        replay(cr.read(crowd.judgments), gold=own, budget=40, seeds=1, selects=["even"]).as_dict()
        for own in (gold_of(crowd), crowd.gold, tmp_path / "gold.csv")
    ]
    assert found[0] == found[1] == found[2]
    assert found[0]["selectors"][0]["accuracy_se"] is None
    assert found[0]["settings"] == {"first_seed": 0, "look": 1, "refit": None, "who": "arrives", "flight": 1}


def test_a_replay_is_the_same_for_the_same_seed():
    one, two = (replay(simulate="bt", budget=60, seeds=2, settings={"items": 8, "workers": 3}) for _ in range(2))
    assert one.as_dict() == two.as_dict()


def test_replays_that_cannot_be(crowd):
    table, gold = cr.read(crowd.judgments), gold_of(crowd)
    with pytest.raises(UsageError, match="needs recorded votes"):
        replay(table)
    with pytest.raises(UsageError, match="not both"):
        replay(table, simulate="bt")
    with pytest.raises(UsageError, match="truth of its own"):
        replay(gold=gold, simulate="bt")
    with pytest.raises(UsageError, match="for simulated crowds"):
        replay(table, gold=gold, flight=3)
    with pytest.raises(UsageError, match="beta-5-1 only"):
        replay(simulate="bt", settings={"alpha": 3})
    with pytest.raises(UsageError, match="'spread'"):
        replay(simulate="bt", settings={"spread": "x"})
    with pytest.raises(UsageError, match="once"):
        replay(simulate="bt", selects=["gain", "gain"])
    with pytest.raises(UsageError, match="no crowd"):
        replay(simulate="angels")
    with pytest.raises(UsageError, match="no setting 'depth'"):
        replay(simulate="bt", settings={"depth": 3})
    with pytest.raises(UsageError, match="recorded"):
        replay(table, gold=gold, settings={"items": 3})
    with pytest.raises(UsageError, match="'rank'"):
        replay(simulate="bt", rank="guess")
    with pytest.raises(UsageError, match="'who'"):
        replay(simulate="bt", who="me")
    with pytest.raises(UsageError, match="'pair_cap' has no effect"):
        replay(table, gold=gold, settings={"pair_cap": 3})
    with pytest.raises(UsageError, match="'own' has no effect"):
        replay(simulate="bt", settings={"own": "team"})
    with pytest.raises(UsageError, match="gamma by gold pairs"):
        replay(simulate="bt", settings={"gamma": "gold"})
    with pytest.raises(UsageError, match="no question at all"):
        replay(simulate="bt", seeds=1, settings={"floor": 0.99, "variance": 0.1})
    other = Scored(
        pl.DataFrame({"query": [None], "item": ["zzz"], "value": [1.0]}, schema_overrides={"query": pl.String})
    )
    with pytest.raises(InputError, match="orders no two"):
        replay(table, gold=other)


def test_a_replay_that_runs_out_of_questions_ends_there_and_says_so():
    study = replay(simulate="bt", budget=100, seeds=2, look=4, settings={"items": 5, "workers": 3, "pair_cap": 1})
    assert {int(curve.votes[-1]) for run in study.runs for curve in run.curves} == {10}
    assert [note.code for note in study.notes] == ["fewer-questions"] * 3
    assert study.as_dict()["selectors"][0]["votes"] == [4, 8, 10]


def test_curves_that_share_no_look_are_compared_at_their_ends():
    one, two = (Curve(np.array([count]), np.array([0.1 * count]), np.zeros(1)) for count in (6, 8))
    votes, accuracy, error, _ = mean_curve([one, two])
    assert votes.tolist() == [7]
    assert accuracy == pytest.approx([0.7])
    assert error == pytest.approx([0.1])


def test_a_tie_brings_two_items_closer():
    loop = Loop(2, 1, Policy(), ties=0.1)
    loop.record(0, 1, 1, 0)
    apart = loop.desk.mean[0] - loop.desk.mean[1]
    loop.record(0, 1, 0, 0)
    assert 0 < loop.desk.mean[0] - loop.desk.mean[1] < apart


def test_gold_pairs_move_the_scores_before_the_first_vote():
    loop = Loop(4, 2, Policy(), gold=np.array([[2, 0]]))
    assert loop.desk.mean[2] > 0 > loop.desk.mean[0]
    before = loop.desk.mean.copy()
    loop.record(0, 2, 1, 1)
    assert loop.desk.mean == pytest.approx(before)  # a vote on it is about the judge alone
    assert loop.beliefs().beta[1] == pytest.approx(2.0)


def test_votes_without_workers_can_be_replayed(crowd):
    table = cr.read(crowd.judgments.drop("worker"))
    assert replay(table, gold=gold_of(crowd), budget=40, seeds=1).budget == 40


class TestRespondents:
    @pytest.mark.parametrize("name", CROWDS)
    def test_answers_have_the_stated_probability(self, name):
        people = Respondents.make(name, seed=1, items=6, workers=3)
        if name == "drift":
            people.answered[:] = 1000  # at the end of the drift
        ahead = people.scores[0] - people.scores[1]
        wins = float(ahead > 0) if people.blind else 1 / (1 + np.exp(-(ahead + people.bias[2])))
        eta = 0.6 if name == "drift" else people.quality[2]
        chance = eta * wins + (1 - eta) * (1 - wins)
        said = np.mean([people.answer(2, 0, 1) == 1 for _ in range(4000)])
        assert said == pytest.approx(chance, abs=0.03)

    def test_a_drifting_judge_gets_worse(self):
        people = Respondents.make("drift", items=2, workers=1, spread=50.0)
        better, worse = int(np.argmax(people.scores)), int(np.argmin(people.scores))
        early = np.mean([people.answer(0, better, worse) == 1 for _ in range(20)])
        people.answered[0] = 100
        late = np.mean([people.answer(0, better, worse) == 1 for _ in range(1000)])
        assert early > 0.85
        assert late == pytest.approx(0.6, abs=0.05)

    def test_crowds_that_cannot_be(self):
        for settings in ({"items": 1}, {"workers": 0}, {"spread": 0}):
            with pytest.raises(UsageError, match="needs two items"):
                Respondents.make("bt", **settings)


@pytest.mark.long
def test_recorded_votes_by_a_rogue_are_undone_by_refits():
    """A judge who answers in reverse casts the first tenth of the votes."""
    lost = []
    for seed in range(3):
        people = Respondents.make("bt", seed=seed, items=20, workers=10)
        rng = np.random.default_rng(seed)
        rows = []
        for number in range(600):
            i, j = rng.choice(20, 2, replace=False)
            judge = 10 if number < 60 else int(rng.integers(10))
            said = people.answer(0 if judge == 10 else judge, int(i), int(j))
            rows.append((int(i), int(j), -said if judge == 10 else said, judge))
        left, right, said, judge = np.array(rows).T
        votes = Recorded(left, right, said, judge, 20, 11)
        clean = Recorded(left[60:], right[60:], said[60:], judge[60:], 20, 11)
        plan = Plan(10_000, 540, "refit", refit=100)
        ends = [
            replay_recorded(own, Truth(people.scores), Policy(select="random"), plan, seed=seed).accuracy[-1]
            for own in (votes, clean)
        ]
        lost.append(ends[1] - ends[0])
    assert np.mean(lost) < 0.03
