"""CrowdAgg against its definition: all contests, all permutations, the assignment problem."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linear_sum_assignment

import crowdrank as cr
from crowdrank.data import to_pairs
from crowdrank.kernels.rank_distribution import rank_distribution
from crowdrank.measures import pairwise_accuracy
from crowdrank.models.lists import crowd_agg, equality, judge_contests
from crowdrank.models.lists.crowd_agg import crowd_prior, shrink
from crowdrank.models.lists.expected import NDCG, RBP, ExpectedLists
from crowdrank.models.lists.judge_contests import PAIRS, JudgeContests
from crowdrank.prepared.votes import Votes
from crowdrank.simulate import bt_crowd
from helpers import random_votes

MODELS = [cr.CrowdAggNDCG, cr.CrowdAggRBP]
both = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
every_pair = pytest.mark.parametrize("pair", PAIRS)
VOTES = ["query", "worker", "left", "right", "label"]


def discount(model, n):
    return 1 / np.log2(2 + np.arange(n)) if model is cr.CrowdAggNDCG else 0.95 ** np.arange(n)


def gain(model, n):
    kappa = (n - np.arange(n)) / n
    if model is cr.CrowdAggRBP:
        return 0.05 * kappa
    return (2**kappa - 1) / ((2**kappa - 1) @ discount(model, n))


def verdicts(frame, worker, items):
    """tau(s, t) of a worker: the share of the votes for s, a tie being half; NaN where there are none."""
    won, voted = np.zeros((2, len(items), len(items)))
    for row in frame.filter(worker=worker).iter_rows(named=True):
        s, t = items.index(row["left"]), items.index(row["right"])
        share = 0.5 if row["label"] == "tie" else float(row["label"] == row["left"])
        for a, b, own in ((s, t, share), (t, s, 1 - share)):
            won[a, b] += own
            voted[a, b] += 1
    return np.where(voted > 0, won / np.maximum(voted, 1), np.nan)


def chances(tau, pair):
    """P(s above t) by the formulas of contests.py."""
    n = len(tau)
    told = ~np.isnan(tau) & (tau != 0.5)
    won = np.where(told, tau, 0).sum(axis=1)
    lost = np.where(told, 1 - tau, 0).sum(axis=1)
    ahead, net = won[:, None] - won, (won - lost)[:, None] - (won - lost)
    if pair == "logistic":
        return 1 / (1 + np.exp(-net))
    if pair == "direct":
        found = tau
    elif pair == "centred":
        found = 0.5 + ahead / (2 * n)
    else:
        ahead = np.round(ahead, 9)
        found = np.where(ahead > 0, ahead / n, np.where(ahead < 0, 1 + ahead / n, 0.5))
    return np.where(told, found, 0.5)


def utilities(model, frame, pair, eta):
    """f_ij of every worker and item by algorithm 1, one contest after the other."""
    items = sorted({*frame["left"], *frame["right"]})
    found = []
    for worker in sorted(set(frame["worker"])):
        p = chances(verdicts(frame, worker, items), pair)
        p = eta[worker] * p + (1 - eta[worker]) * (1 - p)
        found.append(
            [rank_distribution(np.delete(p[j], j)) @ discount(model, len(items)) for j in range(len(items))]
        )
    return np.array(found)


def lists_of(model, frame, pair="direct", pool=True):
    votes = Votes(to_pairs(cr.read(frame)))
    contests = JudgeContests.of(votes, pair, pool=pool)
    most = {n: n - 1 for n in np.bincount(votes.nodes.query).tolist()}
    measure = NDCG(most) if model is cr.CrowdAggNDCG else RBP(0.95)
    return ExpectedLists(contests, measure, votes)


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


def test_dependent_votes_have_the_variance_of_kendall_and_of_mann_and_whitney():
    """Four variances: 1/4 V of tosses, (2 m + 5) / 18 m (m - 1) of a list, (k + l + 1) / 12 k l of two labels."""
    tosses = pl.DataFrame({"worker": ["w"] * 4, "winner": list("aceg"), "loser": list("bdfh")})
    ranked = pl.DataFrame({"worker": ["w"] * 9, "item": list("abcdefghi"), "rank": range(9)})
    labels = pl.DataFrame({"worker": ["w"] * 9, "item": list("abcdefghi"), "label": [1] * 3 + [0] * 6})
    found = [float(lists_of(cr.CrowdAggRBP, frame).independent_votes[0]) for frame in (tosses, ranked, labels)]
    assert [1 / (4 * count) for count in found] == pytest.approx([1 / 16, 23 / (18 * 9 * 8), 10 / (12 * 3 * 6)])


def test_the_prior_of_the_crowd():
    """Shares that vary no more than tosses become their mean; others keep what they vary beyond that."""
    count = np.array([40.0, 60.0, 50.0, 80.0, 20.0])
    mean, strength = crowd_prior(0.8 * count, count)
    assert (mean, strength) == (pytest.approx(0.8), np.inf)
    assert shrink(0.8 * count, count, "estimated") == pytest.approx(np.full(5, 0.8))
    share = np.array([0.92, 0.66, 0.88, 0.85, 0.7])
    mean, strength = crowd_prior(share * count, count)
    middle = share @ count / count.sum()
    spread = middle * (1 - middle)
    assert strength > 10
    assert ((share - mean) ** 2 / (spread / (strength + 1) + spread / count)).sum() == pytest.approx(4)
    wanted = (strength * mean + share * count) / (strength + count)
    assert shrink(share * count, count, "estimated") == pytest.approx(wanted)
    assert crowd_prior(0.3 * count, count) == (0.6, np.inf)


def labels_of_a_crowd(seed, accuracy, items, each):
    """Binary labels: each worker k labels ``each[k]`` random items, and is right in ``accuracy[k]`` of them."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.random(items) < 0.4, []
    for worker, (right, count) in enumerate(zip(accuracy, each, strict=True)):
        for item in rng.choice(items, count, replace=False):
            label = truth[item] == (rng.random() < right)
            rows.append((f"w{worker}", f"i{item}", int(label)))
    return pl.DataFrame(rows, schema=["worker", "item", "label"], orient="row"), truth


def label_accuracy(fitted, truth):
    table = fitted.ranking_.polars()
    return pairwise_accuracy(
        table["score"].to_numpy(), truth[[int(item[1:]) for item in table["item"]]].astype(float)
    )


@both
def test_a_busy_spammer_does_not_take_over(model):
    """By equation 17 the spammer's quality is above .9, because most of the ranking is the spammer's own."""
    frame, truth = labels_of_a_crowd(0, [0.5, *[0.85] * 24], items=80, each=[80, *[15] * 24])
    fitted, equal, printed = (model(**given).fit(frame) for given in ({}, {"quality": "equal"}, {"prior": None}))
    assert printed.workers_.polars()["quality"][0] > 0.9
    assert fitted.workers_.polars()["quality"][0] < 0.65
    assert label_accuracy(fitted, truth) > label_accuracy(equal, truth) + 0.15


def test_workers_of_one_quality_lose_nothing():
    """Poor labels by workers of one quality. Equation 17 with the same prior lost more than .05 here."""
    lost = []
    for seed in range(8):
        each = 10 + 60 // np.arange(1, 16)
        frame, truth = labels_of_a_crowd(seed, [0.6] * 15, items=70, each=each)
        own, equal = (
            label_accuracy(cr.CrowdAggNDCG(quality=kind).fit(frame), truth) for kind in ("estimated", "equal")
        )
        lost.append(equal - own)
    assert np.mean(lost) < 0.01


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


def test_the_step_of_eta_may_lower_the_objective():
    falls = 0
    for seed in range(20):
        path = cr.CrowdAggNDCG(prior=None).fit(random_votes(seed=seed, votes=60)).fit_.details["objectives"]
        falls += (np.diff(path) < 0).any()
    assert falls > 0


def test_each_query_apart_is_each_query_alone():
    frame = random_votes(seed=4, items=6, votes=200, queries=3)
    together = cr.CrowdAggNDCG(pool=False).fit(frame).ranking_.polars()
    for query in ("q0", "q1", "q2"):
        alone = cr.CrowdAggNDCG().fit(frame.filter(query=query).drop("query")).ranking_.polars()
        own = together.filter(query=query)
        assert own["item"].to_list() == alone["item"].to_list()
        np.testing.assert_allclose(own["score"], alone["score"], atol=1e-12)


def test_equal_quality_is_one_round_with_the_plain_shares():
    frame = random_votes(seed=4)
    model = cr.CrowdAggNDCG(quality="equal", prior=None).fit(frame)
    assert model.fit_.iterations == 1
    assert not {"cycle", "not-converged"} & {note.code for note in model.fit_.warnings}
    score = dict(zip(*model.ranking_.polars()["item", "score"], strict=True))
    decided = frame.filter(pl.col("label") != "tie", worker="w0").to_dicts()
    right = np.mean(
        [(row["label"] == row["left"]) == (score[row["left"]] > score[row["right"]]) for row in decided]
    )
    assert model.workers_.polars()["quality"][0] == pytest.approx(right)


def test_a_worker_of_quality_one_half_says_nothing_and_a_worse_one_counts_reversed():
    frame = pl.DataFrame({"worker": ["w"], "winner": ["a"], "loser": ["b"]})
    lists = lists_of(cr.CrowdAggNDCG, frame)
    assert lists.values(np.array([0.5])).total == pytest.approx([0, 0])
    good, bad = (lists.values(np.array([eta])).total for eta in (0.9, 0.1))
    assert good[0] > 0 > good[1]
    np.testing.assert_allclose(good, bad[::-1])


def test_a_repeated_vote_is_one_opinion_but_two_votes_of_quality():
    frame = pl.DataFrame({"worker": ["x", "x", "y"], "winner": ["a", "b", "a"], "loser": ["b", "c", "c"]})
    one, two = (cr.CrowdAggNDCG(quality="equal").fit(own) for own in (frame, pl.concat([frame, frame])))
    np.testing.assert_allclose(one.ranking_.score, two.ranking_.score, atol=1e-12)
    one, two = (cr.CrowdAggNDCG(prior=(20, 5)).fit(own) for own in (frame, pl.concat([frame, frame])))
    assert one.workers_.quality.tolist() == pytest.approx([22 / 27, 21 / 26])
    again = 3 * 2**2 / (2 + 2 * 2**2)  # a vote that is repeated, in independent votes
    more = 3 * 4**2 / (4 + 2 * 2**2)
    assert two.workers_.quality.tolist() == pytest.approx([(20 + more) / (25 + more), (20 + again) / (25 + again)])


def test_malicious_workers_are_found_and_turned_round():
    rng = np.random.default_rng(0)
    rows = []
    for worker in range(12):
        for _ in range(60):
            a, b = sorted(rng.choice(10, 2, replace=False))
            good = worker < 9
            right = rng.random() < (0.9 if good else 0.1)
            rows.append((f"w{worker:02d}", *((a, b) if right else (b, a))))
    frame = pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")
    model = cr.CrowdAggNDCG(prior=(2, 1)).fit(frame)
    assert model.ranking_.polars()["item"].to_list() == [str(k) for k in range(10)]
    assert model.workers_.polars()["verdict"].to_list() == ["reliable"] * 9 + ["malicious"] * 3


def test_nobody_is_reliable_for_the_priors_sake():
    rows = [("x", "a", "b"), ("x", "b", "c")] + [(w, a, b) for w in "yz" for a, b in combinations("abcdefg", 2)]
    model = cr.CrowdAggNDCG(prior=(20, 5)).fit(
        pl.DataFrame(rows, schema=["worker", "winner", "loser"], orient="row")
    )
    people = model.workers_.polars()
    assert people["verdict"].to_list() == ["unsure", "reliable", "reliable"]
    assert people["quality"][0] == pytest.approx(22 / 27)


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


def contradicted(seed, liars, queries=8):
    """Votes of 6 honest workers in all queries, right in two of three votes, and of liars with 5 votes each in one
    query, who are always wrong. Of two items, the one that comes first in the alphabet is the better one."""
    rng, rows = np.random.default_rng(seed), []
    names = [f"i{item}" for item in range(8)]
    for query in range(queries):
        for worker, count in [
            *((f"w{k}", 15) for k in range(6)),
            *((f"liar {query} {k}", 5) for k in range(liars)),
        ]:
            for _ in range(count):
                better, worse = np.sort(rng.choice(8, 2, replace=False))
                right = rng.random() < 2 / 3 and worker.startswith("w")
                label = names[better if right else worse]
                rows.append((f"q{query}", worker, names[better], names[worse], label))
    return pl.DataFrame(rows, schema=VOTES, orient="row")


class TestEquality:
    """Qualities may refine the ranking of equal workers, but not overturn it."""

    def right(self, model):
        """The share of pairs in the right order."""
        parts = model.ranking_.polars().partition_by("query")
        orders = [[int(item[1:]) for item in part["item"]] for part in parts]
        return np.mean([one < other for order in orders for one, other in combinations(order, 2)])

    def codes(self, model):
        return {note.code for note in model.fit_.warnings}

    @both
    def test_liars_with_few_votes_do_not_turn_the_ranking(self, model):
        for seed in (61, 62, 63):
            frame = contradicted(seed, liars=6)
            equal, fitted = model(quality="equal").fit(frame), model().fit(frame)
            assert self.right(fitted) == self.right(equal)
            assert fitted.ranking_.polars().equals(equal.ranking_.polars())
            assert fitted.workers_.polars().equals(equal.workers_.polars())
            assert "equal-weights" in self.codes(fitted)
            assert fitted.fit_.details["objective"] == equal.fit_.details["objective"]

    @both
    def test_without_the_rule_they_would(self, model, monkeypatch):
        monkeypatch.setattr(equality, "OVERTURNED", -2.0)
        gains = []
        for seed in (61, 62, 63):
            frame = contradicted(seed, liars=6)
            gains.append(self.right(model().fit(frame)) - self.right(model(quality="equal").fit(frame)))
        assert max(gains) < -0.1

    @both
    def test_qualities_stay_if_they_refine_the_ranking(self, model):
        fitted = model().fit(bt_crowd(seed=68, items=15, workers=12, votes=900, spammers=0.3).judgments)
        assert "equal-weights" not in self.codes(fitted)
        assert np.ptp(fitted.workers_.quality) > 0.1

    def test_which_queries_are_overturned(self):
        """Qualities of 0 reverse a query. If all share them, more than one of ten queries must be reversed."""
        frame = contradicted(67, liars=0, queries=10)
        lists = lists_of(cr.CrowdAggNDCG, frame, pool=False)
        for count, all_of_them in ((0, False), (1, False), (2, True)):
            eta = np.where(lists.contests.query < count, 0.0, 1.0)
            found = equality.overturned_queries(lists, eta, pool=False)
            assert found.tolist() == [query < count for query in range(10)]
            assert equality.overturned_queries(lists, eta, pool=True).tolist() == [all_of_them] * 10

    def test_a_small_query_does_not_decide_for_all(self):
        """Reversing the last one of five queries, in which one worker judged one pair, changes next to nothing."""
        small = pl.DataFrame([["small", "w0", "i0", "i1", "i0"]], schema=VOTES, orient="row")
        lists = lists_of(cr.CrowdAggNDCG, pl.concat([contradicted(67, liars=0, queries=4), small]), pool=False)
        eta = np.where(lists.contests.query == 4, 0.0, 1.0)
        assert equality.overturned_queries(lists, eta, pool=False).tolist() == [False] * 4 + [True]
        assert not equality.overturned_queries(lists, eta, pool=True).any()

    def test_correlations_of_queries(self):
        lists = lists_of(cr.CrowdAggNDCG, random_votes(seed=4, items=5, votes=40, queries=2))
        one = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 7.0, 7.0, 7.0, 7.0])
        other = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0])
        assert lists.sizes.tolist() == [5, 5]
        assert equality.correlations(lists, one, other) == pytest.approx([-1.0, np.nan], nan_ok=True)
