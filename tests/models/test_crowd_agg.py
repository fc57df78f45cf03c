"""CrowdAgg against its definition: all contests, all permutations, the assignment problem."""

from collections import Counter
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linear_sum_assignment

import crowdrank as cr
from crowd_agg_by_hand import both, discount, every_pair, gain, lists_of, utilities
from crowdrank.data import to_pairs
from crowdrank.kernels.rank_distribution import rank_distribution
from crowdrank.models.lists import crowd_agg, judge_contests
from crowdrank.models.lists.expected import RBP, ExpectedLists
from crowdrank.models.lists.judge_contests import PAIRS, JudgeContests
from crowdrank.prepared.votes import Votes
from helpers import random_votes


@both
@every_pair
def test_expected_discounts_are_those_of_algorithm_1(model, pair):
    frame = random_votes(seed=3, items=7, workers=4, votes=60, ties=0.2)
    lists = lists_of(model, frame, pair)
    eta = np.array([1.0, 0.8, 0.3, 0.5])
    values = lists.values(eta)
    wanted = utilities(model, frame, pair, {f"w{k}": own for k, own in enumerate(eta)})
    level = lists.measure.level(7)
    found = level * (4 + values.alone.sum() + values.total)
    np.testing.assert_allclose(found, wanted.sum(axis=0), rtol=1e-12)


@both
@every_pair
def test_the_ranking_is_the_best_of_all_permutations_and_of_the_assignment_problem(model, pair):
    frame = random_votes(seed=5, items=6, workers=5, votes=40, ties=0.1)
    lists = lists_of(model, frame, pair)
    eta = np.array([1.0, 0.9, 0.6, 0.4, 0.7])
    values = lists.values(eta)
    ours = lists.objective(values, lists.ranks(values)).sum()
    totals = utilities(model, frame, pair, {f"w{k}": own for k, own in enumerate(eta)}).sum(axis=0)
    profit = np.outer(totals, gain(model, 6))
    assert ours == pytest.approx(profit[linear_sum_assignment(profit, maximize=True)].sum(), rel=1e-12)
    best = max(sum(profit[item, place] for item, place in enumerate(order)) for order in permutations(range(6)))
    assert ours == pytest.approx(best, rel=1e-12)


@both
@pytest.mark.parametrize("seed", range(5))
def test_the_ranking_step_never_lowers_the_objective(model, seed):
    frame = random_votes(seed=seed, items=8, workers=6, votes=60, queries=2)
    lists = lists_of(model, frame)
    rng = np.random.default_rng(seed)
    judges = len(lists.contests.worker)
    rank = lists.ranks(lists.values(np.ones(judges)))
    for _ in range(10):
        values = lists.values(rng.random(judges))
        better = lists.ranks(values)
        assert (lists.objective(values, better) >= lists.objective(values, rank) - 1e-12).all()
        rank = better


def decided_votes(frame, worker):
    """The (better, worse) items of a worker's votes."""
    rows = frame.filter((pl.col("worker") == worker) & (pl.col("label") != "tie")).to_dicts()
    return [
        (row["left"], row["right"]) if row["label"] == row["left"] else (row["right"], row["left"]) for row in rows
    ]


def independent(votes):
    """The number of tosses with the variance of these votes' agreement with an unrelated order."""
    net = Counter()
    for better, worse in votes:
        net[better] += 1
        net[worse] -= 1
    return min(len(votes), 3 * len(votes) ** 2 / (len(votes) + sum(own**2 for own in net.values())))


@both
@pytest.mark.parametrize("prior", [(20, 5), None])
def test_the_whole_loop_by_hand(model, prior):
    """eta = 1, rank, eta by the others' ranking and the prior (or by equation 17), until eta comes back."""
    frame = random_votes(seed=8, items=6, workers=5, votes=80, ties=0.1)
    items, workers = sorted({*frame["left"], *frame["right"]}), sorted(set(frame["worker"]))
    eta, before = dict.fromkeys(workers, 1.0), None
    while eta != before:
        before = dict(eta)
        f = utilities(model, frame, "direct", eta)
        totals = f.sum(axis=0)
        order = np.argsort(-totals).tolist()
        for worker, own in zip(workers, f, strict=True):
            votes = decided_votes(frame, worker)
            score = dict(zip(items, totals - own if prior else totals, strict=True))
            count, (a, b) = independent(votes) if prior else len(votes), prior or (0, 0)
            share = np.mean([score[better] > score[worse] for better, worse in votes])
            eta[worker] = (a + count * share) / (a + b + count)
    fitted = model(prior=prior).fit(frame)
    assert fitted.ranking_.polars()["item"].to_list() == [items[k] for k in order]
    assert dict(zip(*fitted.workers_.polars()["worker", "quality"], strict=True)) == pytest.approx(eta)
    wanted = totals[order] @ gain(model, 6)
    assert fitted.fit_.details["objective"] == pytest.approx(wanted, rel=1e-12)
    fair = rank_distribution(np.full(5, 0.5)) @ discount(model, 6)
    np.testing.assert_allclose(fitted.ranking_.polars()["score"], totals[order] / 5 / fair - 1, atol=1e-12)


@every_pair
def test_equation_6_ranks_backwards_as_printed(pair):
    """One win more than another among n items: the printed probability to be above it is 1/n."""
    frame = pl.DataFrame({"worker": ["w", "w"], "winner": ["a", "c"], "loser": ["b", "d"]})
    score = dict(zip(*cr.CrowdAggNDCG(pair=pair).fit(frame).ranking_.polars()["item", "score"], strict=True))
    assert score["a"] == pytest.approx(score["c"])
    assert (score["a"] < score["b"]) == (pair == "printed")


def test_a_cycle_is_said_and_its_best_ranking_is_given():
    """Without a prior rankings and qualities may come back in turns; found by trying small crowds."""
    for seed in range(200):
        frame = random_votes(seed=seed, items=5, workers=6, votes=24, ties=0)
        model = cr.CrowdAggNDCG(prior=None).fit(frame)
        if model.fit_.details["cycle"]:
            break
    assert model.fit_.details["cycle"] >= 2
    assert model.fit_.converged
    assert "cycle" in {note.code for note in model.fit_.warnings}
    path = model.fit_.details["objectives"]
    assert model.fit_.details["objective"] == max(path[-model.fit_.details["cycle"] :])


def test_a_search_that_hardly_moves_ends_with_its_best_round(monkeypatch):
    """With a band of 1 every search ends after the first rounds, before it would repeat."""
    frame = random_votes(seed=4, items=9, workers=6, votes=200, queries=3)
    plain = cr.CrowdAggNDCG(prior=(2, 1)).fit(frame)
    assert plain.fit_.iterations > 4
    for name, value in (("CALM_ROUNDS", 2), ("CALM_BAND", 1.0)):
        monkeypatch.setattr(crowd_agg, name, value)
    for pool in (True, False):
        model = cr.CrowdAggNDCG(prior=(2, 1), pool=pool).fit(frame)
        assert model.fit_.iterations == 3
        assert model.fit_.converged
        assert model.fit_.details["cycle"] == 0
        assert "small-changes" in {note.code for note in model.fit_.warnings}
    path = cr.CrowdAggNDCG(prior=(2, 1)).fit(frame).fit_.details
    assert path["objective"] == max(path["objectives"][1:])


def test_the_same_cells_in_several_queries_are_computed_once_if_qualities_are_pooled():
    rows = [
        (f"q{query}", f"w{worker}", f"i{(item + worker) % 6}", item)
        for query in range(4)
        for worker in range(2)
        for item in range(6)
    ]
    frame = pl.DataFrame(rows, schema=["query", "worker", "item", "rank"], orient="row")
    votes = Votes(to_pairs(cr.read(frame)))
    for pool, wanted in ((True, 2 * 6), (False, 4 * 2 * 6)):
        contests = JudgeContests.of(votes, "direct", pool=pool)
        assert sum(len(cells.won) for cells in contests.groups) == wanted
        values = ExpectedLists(contests, RBP(0.95), votes).values(np.tile([0.9, 0.7], (4, 1)).T.ravel())
        np.testing.assert_allclose(values.total.reshape(4, 6), values.total[:6] * np.ones((4, 1)))


def test_sparse_crowds_have_the_same_cells(monkeypatch):
    """Cells are numbered through a table of all items of all judges, or by sorting if that would be large."""
    frame = random_votes(seed=3, items=7, workers=4, votes=60, ties=0.2, queries=2)
    dense = lists_of(cr.CrowdAggNDCG, frame).contests
    monkeypatch.setattr(judge_contests, "DENSE", 0)
    sparse = lists_of(cr.CrowdAggNDCG, frame).contests
    for name in ("cell_judge", "cell_node", "first", "second"):
        np.testing.assert_array_equal(getattr(dense, name), getattr(sparse, name))


def test_each_query_apart_is_each_query_alone():
    frame = random_votes(seed=4, items=6, votes=200, queries=3)
    together = cr.CrowdAggNDCG(pool=False).fit(frame).ranking_.polars()
    for query in ("q0", "q1", "q2"):
        alone = cr.CrowdAggNDCG().fit(frame.filter(query=query).drop("query")).ranking_.polars()
        own = together.filter(query=query)
        assert own["item"].to_list() == alone["item"].to_list()
        np.testing.assert_allclose(own["score"], alone["score"], atol=1e-12)


def test_more_agreeing_workers_tell_items_apart():
    def crowd(workers):
        rows = [(f"w{k}", a, b) for k in range(workers) for a, b in ("ab", "bc", "ac")]
        return cr.CrowdAggNDCG().fit(pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row"))

    assert crowd(1).ranking_.tier.tolist() == [1, 1, 1]
    assert crowd(20).ranking_.tier.tolist() == [1, 2, 3]
    assert (crowd(20).ranking_.stderr < crowd(1).ranking_.stderr).all()


def test_the_variance_is_the_last_equation():
    frame = random_votes(seed=2, items=5, workers=6, votes=60, ties=0)
    found = cr.CrowdAggNDCG(quality="equal").fit(frame).ranking_
    f = utilities(cr.CrowdAggNDCG, frame, "direct", dict.fromkeys(set(frame["worker"]), 1.0))
    fair = rank_distribution(np.full(4, 0.5)) @ discount(cr.CrowdAggNDCG, 5)
    a = f / fair - 1
    b = a.sum(axis=0) / 7
    won, lost = (rank_distribution([0.5] * 3 + [p]) @ discount(cr.CrowdAggNDCG, 5) for p in (1.0, 0.0))
    v = ((won - lost) / (2 * fair)) ** 2
    np.testing.assert_allclose(found.stderr, np.sqrt((((a - b) ** 2).sum(axis=0) + b**2 + v) / 36), rtol=1e-9)


@both
@every_pair
def test_every_option_is_free_of_names_and_rows(model, pair):
    frame = random_votes(seed=6, votes=300, queries=2)
    names = {f"i{k}": f"x{(7 * k) % 12:02d}" for k in range(12)}
    other = frame.with_columns(pl.col("left", "right", "label").replace(names)).sample(
        fraction=1, shuffle=True, seed=0
    )
    one = model(pair=pair).fit(frame).ranking_.polars().with_columns(pl.col("item").replace(names))
    two = model(pair=pair).fit(other).ranking_.polars()
    joined = one.join(two, on=["query", "item"])
    np.testing.assert_allclose(joined["score"], joined["score_right"], atol=1e-9)
    np.testing.assert_allclose(joined["stderr"], joined["stderr_right"], atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pair": "eq6"}, "'pair' must be direct or logistic"),
        ({"pair": ["direct"]}, "'pair' must be direct or logistic"),
        ({"quality": "none"}, "'quality' must be estimated or equal"),
        ({"prior": 3}, "'prior' must be two numbers"),
        ({"prior": (-1, 2)}, "'prior' must be a number of at least 0"),
        ({"pool": "no"}, "'pool' must be true or false"),
    ],
)
def test_bad_parameters_are_named(parameters, message, votes):
    with pytest.raises(cr.UsageError, match=message):
        cr.CrowdAggNDCG(**parameters).fit(votes)


@pytest.mark.parametrize("p", [0, 1, 1.5])
def test_the_persistence_lies_between_0_and_1(p, votes):
    with pytest.raises(cr.UsageError, match="'p' must"):
        cr.CrowdAggRBP(p=p).fit(votes)


def test_direct_is_the_best_pair_probability_on_mirex(real):
    """Pairwise accuracy with equal qualities, "same" as no vote, mean over the 11 queries."""
    from crowdrank.reproduce.crowd_data import mirex

    found = {}
    for pair in PAIRS:
        data = mirex(real)
        found[pair] = data.measure(cr.CrowdAggNDCG(pair=pair, quality="equal").fit(data.votes), "acc")["acc"]
    assert found["direct"] == pytest.approx(0.834, abs=5e-4)
    assert found["logistic"] == pytest.approx(0.828, abs=5e-4)
    assert found["centred"] == pytest.approx(0.762, abs=2e-3)
    assert found["printed"] < 0.3
