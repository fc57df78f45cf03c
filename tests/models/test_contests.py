"""condorcet, greedy-order and svp against brute force."""

from itertools import permutations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

import crowdrank as cr
from crowdrank.data import to_pairs
from crowdrank.kernels.majority import components
from crowdrank.models.counting.contests import (
    ContestCovariance,
    majority,
    net_gains,
    share_variance,
    sign_variance,
)
from crowdrank.models.counting.svp import DIFFERENCES, AdditiveCovariance, complete
from crowdrank.prepared.votes import Votes
from helpers import random_votes


def votes_of(wins):
    """Votes as a matrix says: wins[a, b] of a over b."""
    rows = [(a, b, wins[a, b]) for a in range(len(wins)) for b in range(len(wins)) if wins[a, b] > 0]
    frame = pl.DataFrame(rows, schema=["winner", "loser", "weight"], orient="row")
    return frame.with_columns(pl.col("winner", "loser").cast(pl.String))


def random_wins(seed, items=5, votes=4, judged=1.0):
    rng = np.random.default_rng(seed)
    wins = np.zeros((items, items))
    for a in range(items):
        for b in range(a):
            if rng.random() < judged:
                wins[a, b] = rng.integers(0, votes + 1)
                wins[b, a] = votes - wins[a, b]
    return wins


def shares(wins):
    games = wins + wins.T
    return np.where(games > 0, wins / np.maximum(games, 1), 0.5)


def scores(model, wins):
    found = model.fit(votes_of(wins)).ranking_.polars()
    by_name = dict(zip(found["item"], found["score"], strict=True))
    return np.array([by_name[str(item)] for item in range(len(wins))])


def orders(items):
    return np.array(list(permutations(range(items))))


def agreement(pref, order):
    return sum(pref[above, below] for place, above in enumerate(order) for below in order[place + 1 :])


def expected_agreement(pref, score):
    """A pair that is tied in the order agrees by half."""
    ahead = (1 + np.sign(score[:, None] - score[None, :])) / 2
    return (ahead * pref)[~np.eye(len(pref), dtype=bool)].sum()


class TestCondorcet:
    @pytest.mark.parametrize("seed", range(30))
    def test_a_condorcet_order_is_found_where_there_is_one(self, seed):
        wins = random_wins(seed, items=4, votes=3)
        beats = wins > wins.T
        right = [
            order
            for order in orders(4)
            if all(beats[order[a], order[b]] for a in range(4) for b in range(a + 1, 4))
        ]
        found = np.argsort(-scores(cr.Condorcet(), wins))
        assert len(right) <= 1
        if right:
            assert (found == right[0]).all()

    @pytest.mark.parametrize("seed", range(20))
    @pytest.mark.parametrize("judged", [1.0, 0.6])
    def test_components_are_those_of_the_majority_graph(self, seed, judged):
        from scipy.sparse.csgraph import connected_components

        wins = random_wins(seed, items=6, votes=4, judged=judged)
        weakly = wins >= wins.T  # ties and unjudged pairs lead both ways
        count, label = connected_components(weakly, connection="strong")
        net = (np.sign(wins - wins.T)).sum(axis=1).astype(np.int64)
        own = components(net, np.zeros(6, np.int32))
        assert own.max() + 1 == count
        assert len({*zip(label, own, strict=True)}) == count
        above = own[:, None] < own[None, :]
        assert (wins > wins.T)[above].all()  # all of one beat all of the next

    def test_components_of_many_queries(self):
        net = np.array([-2, 2, 0, 0, 0, 1, -1, 0])  # a chain of three, a cycle of three, a pair, in turns
        query = np.array([0, 0, 0, 1, 1, 2, 2, 1], np.int32)
        order = np.argsort(query, kind="stable")
        assert components(net[order], query[order]).tolist() == [2, 0, 1, 0, 0, 0, 0, 1]

    def test_every_sort_by_the_majority_has_the_components_in_this_order(self):
        wins = random_wins(3, items=6, votes=3)
        beats = wins > wins.T
        own = components((2 * beats.sum(axis=1) - 5).astype(np.int64), np.zeros(6, np.int32))
        paths = [order for order in orders(6) if beats[order[:-1], order[1:]].all()]
        assert len(paths) > 1
        assert all((np.diff(own[order]) >= 0).all() for order in paths)

    def test_equal_items_are_told_apart_by_their_net_votes(self):
        wins = np.array([[0, 5, 0], [0, 0, 3], [1, 0, 0]], float)  # a cycle: 0 by 5, 1 by 3, 2 by 1
        found = scores(cr.Condorcet(), wins)
        net = wins.sum(axis=1) - wins.sum(axis=0)
        assert found == pytest.approx(net / (2 * 8))
        model = cr.Condorcet().fit(votes_of(wins))
        assert model.fit_.details["condorcet_winner"] is None
        assert model.fit_.details["largest_smith_set"] == 3
        assert "no-winner" in {note.code for note in model.fit_.warnings}

    def test_a_winner_is_named(self):
        wins = np.array([[0, 3, 3, 2], [0, 0, 3, 0], [0, 0, 0, 3], [1, 3, 0, 0]], float)
        model = cr.Condorcet().fit(votes_of(wins))
        assert model.fit_.details["condorcet_winner"] == "0"
        assert "no-winner" not in {note.code for note in model.fit_.warnings}

    def test_net_votes_never_overrule_a_pair_won(self):
        rng = np.random.default_rng(0)
        for _ in range(20):
            wins = rng.integers(0, 2, (6, 6)) * rng.integers(1, 1000, (6, 6)).astype(float)
            np.fill_diagonal(wins, 0)
            net = np.sign(wins - wins.T).sum(axis=1)
            found = scores(cr.Condorcet(), wins)
            ahead = net[:, None] > net[None, :]
            assert (found[:, None] > found[None, :])[ahead].all()

    @pytest.mark.parametrize("judged", [1.0, 0.6])
    def test_the_majority_sort_is_a_hamiltonian_path(self, judged):
        checked = 0
        for seed in range(30):
            wins = random_wins(seed, items=7, votes=5, judged=judged)
            found = scores(cr.Condorcet(order="majority-sort"), wins)
            order = np.argsort(-found)
            if len(np.unique(found.round(9))) == 7:  # a tied group counts as one item
                assert (wins[order[:-1], order[1:]] >= wins[order[1:], order[:-1]]).all()
                checked += 1
        assert checked > 20

    def test_copelands_order_is_not_a_path_where_the_sort_is(self):
        beats = {0: (1, 2, 3), 1: (2, 3), 2: (3, 4), 3: (4,), 4: (0, 1)}  # 4 beats 1, which beats more items
        wins = np.array([[float(b in beats[a]) for b in range(5)] for a in range(5)])
        wins[3, 4] = 3.0  # by which 3 is above 4
        wins[2, 4] = 0.5
        copeland, path = (scores(cr.Condorcet(order=order), wins) for order in ("copeland", "majority-sort"))
        order = np.argsort(-copeland)
        assert (wins[order[:-1], order[1:]] < wins[order[1:], order[:-1]]).any()
        order = np.argsort(-path)
        assert (wins[order[:-1], order[1:]] >= wins[order[1:], order[:-1]]).all()

    def test_the_majority_sort_does_not_depend_on_names_and_ties_what_nothing_tells_apart(self):
        rng = np.random.default_rng(3)
        for seed in range(20):
            wins = random_wins(seed, items=7, votes=2, judged=0.7)  # many equal scores
            found, names = scores(cr.Condorcet(order="majority-sort"), wins), rng.permutation(7)
            assert scores(cr.Condorcet(order="majority-sort"), wins[np.ix_(names, names)]) == pytest.approx(
                found[names], abs=1e-9
            )
        cycle = np.roll(np.eye(3), 1, axis=1)
        assert scores(cr.Condorcet(order="majority-sort"), cycle) == pytest.approx([0, 0, 0])

    def test_equal_items_are_sorted_by_the_majority_among_them(self):
        wins = np.zeros((4, 4))
        wins[[0, 1, 2], [1, 3, 0]] = 1.0  # 0 beats 1 and loses to 2, 1 beats 3: one pair won and one lost for both
        assert scores(cr.Condorcet(), wins) == pytest.approx([0, 0, 1.25, -1.25])
        assert np.argsort(-scores(cr.Condorcet(order="majority-sort"), wins)).tolist() == [2, 0, 1, 3]

    def test_an_unknown_order_is_named(self):
        with pytest.raises(cr.UsageError, match="'order' must be one of copeland, majority-sort"):
            cr.Condorcet(order="borda").fit(votes_of(random_wins(0)))

    def test_the_variance_of_a_sign(self):
        rows = Votes(to_pairs(cr.read(votes_of(np.array([[0, 3.0], [1.0, 0]]))))).comparisons
        p = np.linspace(0, 1, 200_001)[1:-1]
        density = p ** (rows.wins[0] - 0.5) * (1 - p) ** (rows.losses[0] - 0.5)
        right = density[p > 0.5].sum() / density.sum()
        assert sign_variance(rows)[0] == pytest.approx(1 - (2 * right - 1) ** 2, abs=1e-4)


class TestCovariances:
    def test_contests_by_simulation_of_independent_pairs(self):
        votes = Votes(to_pairs(cr.read(random_votes(votes=60))))
        rows = votes.comparisons
        variance = np.linspace(0.5, 2, len(rows))
        incidence = np.zeros((rows.nodes, len(rows)))
        incidence[rows.i, np.arange(len(rows))], incidence[rows.j, np.arange(len(rows))] = 1, -1
        direct = incidence @ np.diag(variance) @ incidence.T
        nodes = np.arange(rows.nodes)
        assert ContestCovariance(rows, votes.graph.part, variance).block(nodes) == pytest.approx(direct)
        inverse = np.linalg.pinv(incidence @ incidence.T)
        additive = AdditiveCovariance(rows, votes.graph.part, variance)
        assert additive.block(nodes) == pytest.approx(inverse @ direct @ inverse)

    def test_parts_are_kept_apart(self):
        frame = pl.concat([random_votes(votes=60, queries=3, seed=seed) for seed in range(2)])
        votes = Votes(to_pairs(cr.read(frame)))
        whole = ContestCovariance(votes.comparisons, votes.graph.part, share_variance(votes.comparisons))
        for nodes in votes.graph.members():
            block = whole.block(nodes)
            assert block.sum(axis=1) == pytest.approx(np.zeros(len(nodes)), abs=1e-12)
            assert block.diagonal() == pytest.approx(whole.variance(nodes))

    def test_large_parts_by_single_variances(self):
        votes = Votes(to_pairs(cr.read(random_votes(votes=2000))))
        additive = AdditiveCovariance(votes.comparisons, votes.graph.part, share_variance(votes.comparisons))
        nodes = np.arange(len(votes.nodes))
        assert additive.variance(nodes) == pytest.approx(additive.block(nodes).diagonal(), rel=0.3)


class TestGreedyOrder:
    @pytest.mark.parametrize("seed", range(20))
    def test_each_item_has_the_largest_potential_among_those_below(self, seed):
        wins = random_wins(seed, judged=0.85)
        pref, found = shares(wins), scores(cr.GreedyOrder(), wins)
        for item in range(5):
            left = [other for other in range(5) if found[other] <= found[item]]
            potentials = {a: sum(pref[a, b] - pref[b, a] for b in left) for a in left}
            assert potentials[item] == pytest.approx(max(potentials.values()))

    @pytest.mark.parametrize("components", [False, True])
    @pytest.mark.parametrize("seed", range(20))
    def test_the_agreement_is_at_least_half_of_the_best(self, seed, components):
        wins = random_wins(seed, votes=1)
        pref = shares(wins)
        found = scores(cr.GreedyOrder(components=components), wins)
        best = max(agreement(pref, order) for order in orders(5))
        assert best / 2 <= expected_agreement(pref, found) <= best

    def test_cost_and_bound(self):
        for seed in range(10):
            wins = random_wins(seed, votes=3)
            model = cr.GreedyOrder().fit(votes_of(wins))
            pref, details = shares(wins), model.fit_.details
            found = scores(cr.GreedyOrder(), wins)
            assert details["cost"] == pytest.approx(details["pairs"] - expected_agreement(pref, found))
            least = details["pairs"] - max(agreement(pref, order) for order in orders(5))
            assert details["lower_bound"] <= least + 1e-12
            assert least <= details["cost"] + 1e-12

    def test_components_first(self):
        # 0 beats each of the others narrowly; 1 beats 2 to 4 by far, and has the larger potential
        wins = np.zeros((5, 5))
        wins[0, 1:], wins[1:, 0] = 6, 5
        wins[1, 2:] = 10
        wins[[2, 3, 4], [3, 4, 2]] = 1
        assert np.argmax(scores(cr.GreedyOrder(), wins)) == 1
        found = scores(cr.GreedyOrder(components=True), wins)
        assert (np.argsort(-found)[:2] == [0, 1]).all()
        assert found[2] == found[3] == found[4]

    def test_what_is_equal_in_everything_is_tied(self):
        wins = np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]], float)
        assert scores(cr.GreedyOrder(), wins) == pytest.approx(np.zeros(3))

    def test_the_score_is_the_potential_where_it_falls_along_the_order(self):
        wins = np.array([[0, 3, 3], [0, 0, 3], [0, 0, 0]], float)
        assert scores(cr.GreedyOrder(), wins) == pytest.approx([2, 0, -2], abs=1e-5)

    def test_the_choice_must_be_a_choice(self):
        with pytest.raises(cr.UsageError, match=r"'components' must be true or false\. Got 'yes'"):
            cr.GreedyOrder(components="yes").fit(random_votes())


def entries(y, seen=None):
    """Rows of a skew-symmetric matrix: its entries, and the votes that name the pairs."""
    wins = np.ones_like(y) - np.eye(len(y)) if seen is None else seen.astype(float)
    rows = Votes(to_pairs(cr.read(votes_of(wins)))).comparisons
    assert rows.nodes == len(y) <= 10  # the order of the names is that of the numbers
    return rows, y[rows.i, rows.j]


def votes_without_the_extreme_pair():
    """Six votes for each pair of six items, except for the best and the worst item."""
    rng, s, rows = np.random.default_rng(7), np.linspace(-1, 1, 6), []
    for i in range(6):
        for j in range(i + 1, 6):
            if (i, j) == (0, 5):
                continue
            for _ in range(6):
                ahead = rng.random() < 1 / (1 + np.exp(s[j] - s[i]))
                rows.append((f"i{i}", f"i{j}") if ahead else (f"i{j}", f"i{i}"))
    return pl.DataFrame(rows, schema=["winner", "loser"], orient="row")


class TestSVP:
    def test_scores_that_make_the_differences_are_recovered(self):
        s = np.random.default_rng(1).normal(0, 1, 10)
        rows, y = entries(s[:, None] - s[None, :])
        found = complete(rows, y, np.zeros(10, np.int32), ridge=0, tol=1e-10, limit=100)
        assert found.score == pytest.approx(s - s.mean(), abs=1e-12)
        assert found.explained == pytest.approx(1)
        assert found.unfinished == 0

    def test_and_from_some_of_the_pairs(self):
        rng = np.random.default_rng(2)
        s, seen = rng.normal(0, 1, 10), np.triu(rng.random((10, 10)) < 0.8, 1)
        rows, y = entries(s[:, None] - s[None, :], seen)
        assert 17 < len(rows) < 45
        found = complete(rows, y, np.zeros(10, np.int32), ridge=0, tol=1e-12, limit=5000)
        assert found.score == pytest.approx(s - s.mean(), abs=1e-7)

    def test_a_complete_matrix_is_projected_to_rank_two(self):
        rng = np.random.default_rng(3)
        s, noise = rng.normal(0, 1, 10), rng.normal(0, 0.3, (10, 10))
        y = s[:, None] - s[None, :] + noise - noise.T
        left, size, right = np.linalg.svd(y)
        closest = (left[:, :2] * size[:2]) @ right[:2]
        assert closest == pytest.approx(-closest.T)
        rows, given = entries(y)
        found = complete(rows, given, np.zeros(10, np.int32), ridge=0, tol=1e-12, limit=1000)
        assert found.score == pytest.approx(closest.mean(axis=1), abs=1e-9)
        assert found.explained == pytest.approx((size[:2] ** 2).sum() / (size**2).sum())

    def test_projections_by_the_definition_end_at_the_same_matrix(self):
        rng = np.random.default_rng(4)
        s, noise = rng.normal(0, 1, 9), rng.normal(0, 0.3, (9, 9))
        y, seen = s[:, None] - s[None, :] + noise - noise.T, np.triu(rng.random((9, 9)) < 0.8, 1)
        both, x = seen | seen.T, np.zeros((9, 9))
        for _ in range(20_000):
            left, size, right = np.linalg.svd(x + both * (y - x))
            x = (left[:, :2] * size[:2]) @ right[:2]
        rows, given = entries(y, seen)
        found = complete(rows, given, np.zeros(9, np.int32), ridge=0, tol=1e-12, limit=20_000)
        assert found.score == pytest.approx(x.mean(axis=1), abs=1e-6)

    def test_a_missing_pair_does_not_run_away(self):
        frame = votes_without_the_extreme_pair()
        found = [cr.SVP(tol=tol, iterations=20_000).fit(frame) for tol in (1e-6, 1e-10)]
        assert all(model.fit_.converged for model in found)
        assert found[0].ranking_.score == pytest.approx(found[1].ranking_.score, abs=1e-4)
        assert np.abs(found[1].ranking_.score).max() < 1
        plain = cr.SVP(ridge=0, tol=1e-6, iterations=20_000).fit(frame)
        assert np.abs(plain.ranking_.score).max() > 30
        assert not plain.fit_.converged
        (note,) = [note for note in plain.fit_.warnings if note.code == "not-converged"]
        assert "no best matrix" in note.message

    def test_ends_at_the_minimum_of_its_objective(self):
        rows = Votes(to_pairs(cr.read(votes_without_the_extreme_pair()))).comparisons
        y, ridge = DIFFERENCES["mean"](rows)[0], 0.05
        found = complete(rows, y, np.zeros(6, np.int32), ridge=ridge, tol=1e-12, limit=20_000)

        def matrix(at):
            a, b = at.reshape(2, 6)
            return np.outer(a, b) - np.outer(b, a)

        def objective(at):
            x = matrix(at)
            return ((y - x[rows.i, rows.j]) ** 2).sum() + ridge * 14 / 15 * (np.triu(x) ** 2).sum()

        starts = np.random.default_rng(1).normal(0, 1, (12, 12))
        best = min(
            (minimize(objective, start, method="BFGS", tol=1e-10) for start in starts), key=lambda end: end.fun
        )
        assert found.score == pytest.approx((1 + ridge) * matrix(best.x).mean(axis=1), abs=1e-5)

    def test_a_query_does_not_depend_on_the_others(self):
        frame = random_votes(votes=900, queries=3)
        whole = cr.SVP().fit(frame).ranking_.polars()
        for (query,), own in frame.group_by("query"):
            alone = cr.SVP().fit(own).ranking_.polars().sort("item")
            same = whole.filter(query=query).sort("item")
            assert same["score"].to_numpy() == pytest.approx(alone["score"].to_numpy(), abs=1e-12)

    def test_what_a_pair_says(self):
        rows = Votes(to_pairs(cr.read(votes_of(np.array([[0, 3.0], [1.0, 0]]))))).comparisons
        assert DIFFERENCES["mean"](rows)[0] == pytest.approx([3 / 4 - 1 / 4])
        assert DIFFERENCES["logodds"](rows)[0] == pytest.approx([np.log(3.5 / 1.5)])
        assert DIFFERENCES["sign"](rows)[0].tolist() == [1]
        assert majority(rows).tolist() == [1]
        assert net_gains(rows, rows.wins - rows.losses).tolist() == [2, -2]

    @pytest.mark.parametrize("differences", DIFFERENCES)
    def test_a_pair_alone_has_half_the_difference(self, differences):
        wins = np.array([[0, 3.0], [1.0, 0]])
        rows = Votes(to_pairs(cr.read(votes_of(wins)))).comparisons
        y = DIFFERENCES[differences](rows)[0][0]
        assert scores(cr.SVP(differences=differences), wins) == pytest.approx([y / 2, -y / 2])

    def test_not_converged_and_undetermined_are_said(self):
        frame = random_votes(votes=14)
        model = cr.SVP(iterations=1, tol=0).fit(frame)
        codes = {note.code for note in model.fit_.warnings}
        assert {"not-converged", "undetermined"} <= codes
        assert not model.fit_.converged

    def test_the_choice_must_be_known(self):
        with pytest.raises(cr.UsageError, match=r"must be one of mean, logodds, sign\. Got 'odds'"):
            cr.SVP(differences="odds").fit(random_votes())


@pytest.mark.parametrize("model", [cr.Condorcet(), cr.GreedyOrder(), cr.SVP()], ids=lambda model: model.name)
def test_intervals_hold_what_they_say(model):
    """Over simulated crowds of known shares, 0.9 intervals of the score hold that of endless votes."""
    rng = np.random.default_rng(5)
    skill = np.linspace(-1.5, 1.5, 8)
    chance = 1 / (1 + np.exp(skill[None, :] - skill[:, None]))
    truth = scores(model.clone(), np.round(1e9 * chance * (1 - np.eye(8))))
    held = []
    for _ in range(60):
        wins = np.triu(rng.binomial(20, chance), 1).astype(float)
        wins += np.tril(20 - wins.T, -1)
        found = model.clone().fit(votes_of(wins)).ranking_.polars().sort("item")
        held.append((found["low"].to_numpy() - 1e-4 <= truth) & (truth <= found["high"].to_numpy() + 1e-4))
    assert 0.8 < np.mean(held) <= 1
