"""Crowd-Luce: against Crowd-BT on pairs, against brute force over orders, and on simulated choices from sets."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.measures import kendall_tau
from crowdrank.models.eta import OnGrid
from crowdrank.models.lists.luce_mixture import MixtureSums
from crowdrank.prepared.list_shards import reverse_lists, shards
from crowdrank.prepared.lists import Lists
from crowdrank.solve import At
from crowdrank.solve.sums import Draw
from helpers import frame_of, random_lists, random_votes

PAPER = {"prior": (1, 1), "regularization": 0.5}


def choices(seed=0, items=10, each=25, size=4, eta=(0.95,) * 6 + (0.5,) * 2 + (0.1,) * 2, worst=0.0):
    """True scores, and the choices of workers with these qualities from sets of ``size`` items.

    A share ``worst`` of the choices are of the worst of the set.
    """
    rng = np.random.default_rng(seed)
    scores, rows = rng.normal(0, 1.5, items), []
    for worker, own in enumerate(eta):
        for number in range(each):
            shown = rng.permutation(items)[:size]
            order = shown[np.argsort(-(scores[shown] + rng.gumbel(size=size)))]
            order = order if rng.random() < own else order[::-1]
            rank = [1] * (size - 1) + [2] if rng.random() < worst else [1] + [2] * (size - 1)
            rows += [
                (f"w{worker:02d}", number, f"i{item:02d}", place) for item, place in zip(order, rank, strict=True)
            ]
    return scores - scores.mean(), pl.DataFrame(rows, schema=["worker", "list", "item", "rank"], orient="row")


def scores_of(model):
    return model.ranking_.polars().sort("item")["score"].to_numpy()


def luce(order, scores):
    """The probability of an order under Plackett-Luce."""
    rate = np.exp([scores[item] for item in order])
    return float(np.prod(rate / np.cumsum(rate[::-1])[::-1]))


def brute_force(groups, scores, eta):
    """P_k of a list of tied groups: the sum over all orders that keep the groups in their order."""
    place = {item: level for level, group in enumerate(groups) for item in group}
    orders = [order for order in permutations(place) if [place[item] for item in order] == sorted(place.values())]
    return sum(eta * luce(order, scores) + (1 - eta) * luce(order[::-1], scores) for order in orders)


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("best", [True, False])
def test_a_choice_from_a_set_sums_over_all_orders(size, best):
    _, frame = choices(items=6, each=8, worst=0.5)
    model = cr.CrowdLuce(**PAPER).fit(frame)
    scores = dict(zip(sorted(set(frame["item"])), scores_of(model), strict=True))
    eta = dict(model.workers_.polars().select("worker", "eta").iter_rows())["w03"]
    assert 0 < eta < 1
    items = list(scores)[:size]
    total = 0.0
    for chosen in items:
        others = [item for item in items if item != chosen]
        groups = [[chosen], others] if best else [others, [chosen]]
        said = frame_of([[tuple(group) if len(group) > 1 else group[0] for group in groups]], ["03"])
        found = model.list_log_likelihood(said)[0]
        assert found == pytest.approx(np.log(brute_force(groups, scores, eta)), abs=1e-11)
        total += np.exp(found)
    assert total == pytest.approx(1.0, abs=1e-11)


def test_the_best_of_a_set_has_the_probability_of_the_paper():
    """With eta = 1: e^sX / (e^sX + e^sY + e^sZ), eq. 2."""
    shard = shards(Lists(cr.read(frame_of([["a", ("b", "c")]], ["w"]))))[0]
    s = np.array([0.3, -1.0, 0.8])
    assert MixtureSums().gradient(shard, At(s, np.ones((1, 1)))).value == pytest.approx(
        s[0] - np.log(np.exp(s).sum()), abs=1e-13
    )


@pytest.mark.parametrize("spread", [False, True])
def test_derivatives_are_those_of_the_value(spread):
    lists = Lists(cr.read(random_lists(seed=3, items=7, workers=4, ties=0.4, queries=2, below=True)))
    (shard,) = shards(lists)
    rng, h, sums, n, k = np.random.default_rng(0), 1e-5, MixtureSums(), len(lists.nodes), lists.n_workers
    z = np.concatenate([rng.normal(0, 1, n), rng.uniform(0.2, 0.9, k)])
    width = np.full((k, 1), 0.07) if spread else None

    def at(z):
        return sums.curvature(shard, At(z[:n], z[n:, None], spread=width))

    def gradient(found):
        return np.concatenate([found.scores, found.workers[:, 0]])

    here = at(z)
    whole = np.block([[here.items, here.coupling], [here.coupling.T, np.diag(here.workers_curvature[:, 0, 0])]])
    for place in range(n + k):
        step = h * (np.arange(n + k) == place)
        up, down = at(z + step), at(z - step)
        assert gradient(here)[place] == pytest.approx((up.value - down.value) / (2 * h), abs=1e-6)
        np.testing.assert_allclose(whole[place], (gradient(down) - gradient(up)) / (2 * h), atol=1e-6)


def test_the_noise_of_draws_has_the_covariance_of_the_gradients():
    lists = Lists(cr.read(random_lists(seed=3, workers=3)))
    (shard,) = shards(lists)
    n, k = len(lists.nodes), lists.n_workers
    point = np.linspace(-1, 1, n), np.full((k, 1), 0.8)
    noise = MixtureSums().information(shard, Draw(*point, 5)).noise
    gradients = []
    for number in range(len(lists)):
        alone = replace(shard, weight=1.0 * (np.arange(len(lists)) == number))
        found = MixtureSums().gradient(alone, At(*point))
        gradients.append(np.concatenate([found.scores, found.workers[:, 0]]))
    signs = np.linalg.lstsq(np.array(gradients).T, noise, rcond=None)[0]
    np.testing.assert_allclose(np.abs(signs), 1.0, atol=1e-9)
    assert abs(signs.mean()) < 0.2


def test_the_table_of_qualities_is_the_likelihood():
    lists = Lists(cr.read(random_lists(seed=4, workers=3)))
    (shard,) = shards(lists)
    scores, grid = np.linspace(-1, 1, len(lists.nodes)), np.array([[0.1, 0.6], [0.5, 1.0], [0.0, 0.8]])
    found = MixtureSums().table(shard, OnGrid(scores, grid[:, :1], grid))
    for place in range(2):
        value = MixtureSums().gradient(shard, At(scores, grid[:, place : place + 1])).value
        assert found.table[:, place].sum() == pytest.approx(value)
    assert 0.5 < found.agree / found.votes < 1


class TestOnPairs:
    """On lists of two it is Crowd-BT."""

    def same(self, one, two, keys, columns):
        one, two = (table.polars().sort(keys) for table in (one, two))
        assert one.select(keys).equals(two.select(keys))
        for name in columns:
            np.testing.assert_allclose(one[name].to_numpy(), two[name].to_numpy(), atol=1e-6)

    @pytest.mark.parametrize(
        "given", [PAPER, {"prior": (4, 1.5), "regularization": 0.7}, {"prior": None, "regularization": 2.0}, {}]
    )
    def test_it_is_crowd_bt(self, given):
        votes = random_votes(seed=2, votes=400, queries=2, ties=0).with_row_index("list")
        sides = [votes.select("query", "worker", "list", "label", item=side) for side in ("left", "right")]
        rank = pl.when(pl.col("item") == pl.col("label")).then(1).otherwise(2)
        lists = pl.concat(sides).with_columns(rank=rank).drop("label")
        bt, luce = cr.CrowdBT(**given).fit(votes.drop("list")), cr.CrowdLuce(**given).fit(lists)
        assert luce.fit_.log_likelihood == pytest.approx(bt.fit_.log_likelihood, abs=1e-6)
        self.same(bt.ranking_, luce.ranking_, ["query", "item"], ["score", "stderr", "low", "high"])
        self.same(bt.workers_, luce.workers_, ["worker"], ["eta", "eta_low", "eta_high", "quality"])


class TestChoices:
    def test_spammers_and_liars_are_found(self):
        truth, frame = choices(seed=0)
        model, plain = cr.CrowdLuce().fit(frame), cr.PlackettLuce().fit(frame)
        assert model.fit_.converged
        tau, equal = (kendall_tau(scores_of(own), truth) for own in (model, plain))
        assert tau > 0.8 > 0.65 > equal
        table = model.workers_.polars().sort("worker")
        honest, spammers, liars = np.split(table["eta"].to_numpy(), [6, 8])
        assert honest.mean() > 0.8 > 0.7 > spammers.max() > spammers.min() > 0.3 > liars.max()
        assert table["verdict"].to_list()[-2:] == ["malicious"] * 2

    def test_the_worst_of_a_set_says_as_much_from_the_other_end(self):
        truth, frame = choices(seed=1, worst=1.0, eta=(0.95,) * 5 + (0.5, 0.1))
        model = cr.CrowdLuce().fit(frame)
        assert kendall_tau(scores_of(model), truth) > 0.7
        eta = model.workers_.polars().sort("worker")["eta"].to_list()
        assert min(eta[:5]) > 0.7 > 0.3 > eta[-1]

    def test_most_workers_lie(self):
        """The order by the mean quality is that of the liars, and a note says that it was turned or may be."""
        truth, frame = choices(seed=2, eta=(0.05,) * 6 + (0.95,) * 2)
        model = cr.CrowdLuce().fit(frame)
        assert kendall_tau(scores_of(model), truth) < -0.7
        assert model.workers_.polars()["eta"].mean() > 0.5

    def test_the_best_of_several_starts_is_taken(self):
        """Liars who name the worst of six distort the scores of equal workers, from which the climb ends lower."""
        from crowdrank.models.lists import crowd_luce

        truth, frame = choices(seed=3, items=10, each=15, size=6, eta=(0.95,) * 4 + (0.5,) * 2 + (0.1,) * 3)
        model = cr.CrowdLuce(**PAPER).fit(frame)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(crowd_luce._Qualities, "_agreeing_workers", lambda self: [])
            alone = cr.CrowdLuce(**PAPER).fit(frame)
        assert model.fit_.log_likelihood > alone.fit_.log_likelihood + 1
        assert kendall_tau(scores_of(model), truth) > kendall_tau(scores_of(alone), truth) + 0.1

    def test_a_fit_that_starts_the_wrong_way_is_turned(self, monkeypatch):
        from crowdrank.models.lists import crowd_luce
        from crowdrank.solve import Point

        _, frame = choices(seed=3, each=15)
        first = crowd_luce._Qualities.first_point
        monkeypatch.setattr(
            crowd_luce._Qualities,
            "first_point",
            lambda self: Point(-(point := first(self)).scores, 1 - point.workers),
        )
        turned = cr.CrowdLuce(**PAPER).fit(frame)
        monkeypatch.undo()
        assert turned.fit_.details["mirror"]["turned"] == 1
        assert "mirror" in {note.code for note in turned.fit_.warnings}
        np.testing.assert_allclose(scores_of(turned), scores_of(cr.CrowdLuce(**PAPER).fit(frame)), atol=1e-6)

    def test_probabilities_of_pairs_and_lists(self):
        _, frame = choices(items=6, each=8)
        model = cr.CrowdLuce(**PAPER).fit(frame)
        assert model.list_log_likelihood(frame).sum() == pytest.approx(model.fit_.log_likelihood)
        eta = dict(model.workers_.polars().select("worker", "eta").iter_rows())
        s = dict(model.ranking_.polars().select("item", "score").iter_rows())
        vote = cr.Pairs.from_votes(winner=["i01", "i01"], loser=["i04", "i04"], worker=["w09", "new"])
        left, _, right = model.predict_proba(vote).T
        win = 1 / (1 + np.exp(s["i04"] - s["i01"]))
        own = np.array([eta["w09"], np.mean(list(eta.values()))])
        np.testing.assert_allclose(left / (left + right), own * win + (1 - own) * (1 - win))


class TestOddInputs:
    def test_one_worker(self):
        model = cr.CrowdLuce().fit(frame_of([["a", ("b", "c")], ["b", "c"]], ["w", "w"]))
        assert "one-worker" in {note.code for note in model.fit_.warnings}
        assert model.ranking_.item[0] == "a"

    def test_an_item_that_never_wins(self):
        frame = frame_of([["a", ("b", "c")], ["b", ("a", "c")], ["a", ("b", "c")]], ["w", "v", "u"])
        model = cr.CrowdLuce().fit(frame)
        assert "winless" in {note.code for note in model.fit_.warnings}
        assert model.ranking_.item[-1] == "c"
        with pytest.raises(cr.FitError, match=r"no finite maximum.*: a, b, c\."):
            cr.CrowdLuce(regularization=None).fit(frame)

    def test_without_regularization_if_a_maximum_exists(self):
        _, frame = choices(items=5, each=20, eta=(0.9, 0.85, 0.2))
        model = cr.CrowdLuce(regularization=None, prior=(4, 1.5)).fit(frame)
        assert model.fit_.converged

    @pytest.mark.parametrize("orders", [[["a"]], [[("a", "b")]]])
    def test_nothing_is_ordered(self, orders):
        with pytest.raises(cr.InputError, match="No list orders two items"):
            cr.CrowdLuce().fit(frame_of(orders, ["w"]))

    def test_workers_are_needed(self):
        with pytest.raises(cr.InputError, match="do not say who judged"):
            cr.CrowdLuce().fit(frame_of([["a", "b"]]).drop("worker"))

    @pytest.mark.parametrize("given", [{"prior": "flat"}, {"regularization": -1}])
    def test_wrong_parameters(self, given):
        with pytest.raises(cr.UsageError, match=next(iter(given))):
            cr.CrowdLuce(**given).fit(frame_of([["a", "b"]], ["w"]))

    def test_flat_priors_and_workers_who_always_agree(self):
        frame = frame_of([list("abcdefgh")] * 6 + [list("hgfedcba")], [f"w{k}" for k in range(7)])
        model = cr.CrowdLuce(**PAPER).fit(frame)
        eta = model.workers_.polars().sort("worker")["eta"].to_list()
        assert (eta[0], eta[-1]) == (1.0, 0.0)
        assert "bound" in {note.code for note in model.fit_.warnings}
        assert np.isfinite(model.ranking_.stderr).all()


def test_only_some_lists_are_reversed():
    lists = Lists(cr.read(frame_of([["a", ("b", "c")], ["c", "a"]], [1, 2])))
    turned, rows = reverse_lists(lists, np.array([True, False]))
    assert turned.level.tolist() == [0, 0, 1, 0, 1]
    assert turned.node.tolist() == lists.node[rows].tolist() == [2, 1, 0, 2, 0]
