"""Plackett-Luce and Mallows on lists: against brute force, across shards, and on data with a known order."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from answers import same
from crowdrank.engine import LocalEngine
from crowdrank.kernels import mallows as kernel
from crowdrank.measures import kendall_tau
from crowdrank.models.list_sums import ListSums
from crowdrank.models.lists.mallows import Mallows, _drops
from crowdrank.models.lists.plackett_luce import PlackettLuce
from crowdrank.prepared.list_shards import shards, tie_share
from crowdrank.prepared.lists import Lists
from crowdrank.solve import NO_WORKERS, At
from helpers import frame_of, random_lists
from shards import small_shards

MODELS = [PlackettLuce, Mallows]


def lists_of(frame, **options):
    return Lists(cr.read(frame, **options))


def crowd_of(theta, n=10, lists=1, seed=0):
    """``lists`` lists of each worker, drawn from Mallows around the order a, b, c, ..."""
    drawn = kernel.sample(np.repeat(theta, lists), n, np.random.default_rng(seed))
    orders = [[chr(97 + item) for item in order] for order in drawn.tolist()]
    return frame_of(orders, np.repeat(np.arange(len(theta)), lists).tolist())


class TestLuceSums:
    @pytest.fixture(params=["ties", "below"])
    def lists(self, request):
        return lists_of(random_lists(seed=3, items=9, ties=0.4, queries=2, below=request.param == "below"))

    def test_derivatives_are_those_of_the_value(self, lists):
        rng, h = np.random.default_rng(0), 1e-5
        (shard,) = shards(lists)
        sums, n, k = ListSums(by_worker=True), len(lists.nodes), lists.n_workers
        z = np.concatenate([rng.normal(0, 1, n), rng.normal(0, 0.4, k)])

        def at(z):
            return sums.curvature(shard, At(z[:n], z[n:, None]))

        def gradient(found):
            return np.concatenate([found.scores, found.workers[:, 0]])

        here = at(z)
        whole = np.block(
            [
                [here.items, here.coupling],
                [here.coupling.T, np.diag(here.workers_curvature[:, 0, 0])],
            ]
        )
        for place in range(n + k):
            step = h * (np.arange(n + k) == place)
            up, down = at(z + step), at(z - step)
            assert gradient(here)[place] == pytest.approx((up.value - down.value) / (2 * h), abs=1e-6)
            np.testing.assert_allclose(whole[place], (gradient(down) - gradient(up)) / (2 * h), atol=1e-6)

    def test_large_matrices_are_the_same(self, lists, monkeypatch):
        from crowdrank.models import list_sums
        from crowdrank.solve import matrices

        (shard,) = shards(lists)
        at = At(np.linspace(-1, 1, len(lists.nodes)), NO_WORKERS)
        dense = ListSums().curvature(shard, at).items
        monkeypatch.setattr(matrices, "DENSE_CELLS", 4)
        squares = ListSums().curvature(shard, at).items
        np.testing.assert_allclose(squares.toarray(), dense, atol=1e-12)
        monkeypatch.setattr(list_sums, "DENSE_CELLS", -(1 << 40))
        entries = ListSums().curvature(shard, at).items
        np.testing.assert_allclose(entries.toarray(), dense, atol=1e-12)


@pytest.mark.parametrize("below", [False, True])
def test_shards_change_nothing_for_workers_with_a_slope(below):
    frame = random_lists(seed=8, queries=3, below=below)
    model = PlackettLuce(slope="by-worker")
    whole = model.clone().fit(frame)
    with small_shards(20):
        assert len(shards(lists_of(frame))) > 3
        one, two = (model.clone().fit(frame, engine=LocalEngine(threads)) for threads in (1, 3))
    same(one, two, tolerance=0)
    same(whole, one)


class TestPlackettLuce:
    def test_is_bradley_terry_on_lists_of_two(self):
        rng = np.random.default_rng(1)
        votes = [tuple(rng.choice(list("abcde"), 2, replace=False)) for _ in range(80)]
        luce = PlackettLuce(regularization=0.7).fit(frame_of(votes)).ranking_.polars().sort("item")
        pairs = cr.Pairs.from_votes(winner=[a for a, _ in votes], loser=[b for _, b in votes])
        bt = cr.BradleyTerry(regularization=0.7).fit(pairs).ranking_.polars().sort("item")
        for column in ("score", "stderr", "rank_low", "rank_high"):
            np.testing.assert_allclose(luce[column].to_numpy(), bt[column].to_numpy(), atol=1e-9)

    def test_is_the_maximum(self):
        from scipy.optimize import minimize

        frame = frame_of([["a", "b", "c", "d"], ["b", "a", "d"], ["c", ("a", "b"), "d"], ["d", "c", "b", "a"]])
        model = PlackettLuce(regularization=0.4).fit(frame)
        items = "abcd"

        def log_p(s, order):
            rate = np.exp([s[items.index(item)] for item in order])
            return np.log(rate / np.cumsum(rate[::-1])[::-1]).sum()

        def minus(s):
            value = log_p(s, "abcd") + log_p(s, "bad") + log_p(s, "dcba")
            value += np.log(np.exp(log_p(s, "cabd")) + np.exp(log_p(s, "cbad")))
            return -value - 0.4 * np.sum(-np.logaddexp(0, s) - np.logaddexp(0, -s))

        best = minimize(minus, np.zeros(4), tol=1e-12).x
        have = model.ranking_.polars().sort("item")["score"].to_numpy()
        np.testing.assert_allclose(have, best - best.mean(), atol=1e-5)
        assert model.fit_.log_likelihood == pytest.approx(model.list_log_likelihood(frame).sum())

    def test_filled_from_the_bottom(self):
        rng = np.random.default_rng(3)
        scores = np.linspace(-2, 2, 7)
        # the worst item of those that are left is taken out first
        orders = [[f"i{k}" for k in np.argsort(-(-scores + rng.gumbel(0, 1, 7)))[::-1]] for _ in range(300)]
        frame = frame_of(orders, [0] * 300)
        top, bottom, auto = (PlackettLuce(direction=name).fit(frame) for name in ("top", "bottom", "auto"))
        assert auto.fit_.details["direction"] == "bottom"
        assert auto.fit_.log_likelihood == bottom.fit_.log_likelihood > top.fit_.log_likelihood + 10
        assert (auto.ranking_.score == bottom.ranking_.score).all()
        table = bottom.ranking_.polars().sort("item")
        np.testing.assert_allclose(table["score"], scores, atol=0.3)
        assert bottom.list_log_likelihood(frame).sum() == pytest.approx(bottom.fit_.log_likelihood)
        turned = PlackettLuce().fit(frame.with_columns(rank=9 - pl.col("rank"))).ranking_.polars().sort("item")
        np.testing.assert_allclose(turned["score"], -table["score"].to_numpy(), atol=1e-9)

    def test_precise_workers_are_found(self):
        rng = np.random.default_rng(4)
        scores, precision = np.linspace(-1.5, 1.5, 8), np.repeat([0.2, 1.0, 3.0], 4)
        orders, workers = [], []
        for worker, own in enumerate(precision):
            for _ in range(25):
                order = np.argsort(-(own * scores + rng.gumbel(0, 1, 8)))
                orders.append([f"i{item}" for item in order])
                workers.append(worker)
        model = PlackettLuce(slope="by-worker").fit(frame_of(orders, workers))
        people = model.workers_.polars().sort(pl.col("worker").str.slice(1).cast(int))
        found = people["slope"].to_numpy()
        assert np.exp(np.log(found).mean()) == pytest.approx(1)  # scores are in units of the average worker
        assert found[:4].max() < found[4:8].min() <= found[4:8].max() < found[8:].min()
        assert (people["slope_low"] < people["slope"]).all()
        assert people["quality"].to_numpy()[:4].max() < people["quality"].to_numpy()[8:].min()

    def test_no_finite_maximum_is_an_error(self):
        with pytest.raises(cr.FitError, match=r"no finite maximum.*: a"):
            PlackettLuce(regularization=0).fit(frame_of([["a", "b", "c"], ["a", "c", "b"]]))
        cyclic = frame_of([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])
        assert np.ptp(PlackettLuce(regularization=0).fit(cyclic).ranking_.score) == pytest.approx(0, abs=1e-9)

    def test_intervals_cover(self):
        rng, inside = np.random.default_rng(5), []
        scores = np.linspace(-1, 1, 6)
        for _ in range(60):
            orders = [[f"i{k}" for k in np.argsort(-(scores + rng.gumbel(0, 1, 6)))] for _ in range(30)]
            table = PlackettLuce(regularization=0.01).fit(frame_of(orders)).ranking_.polars().sort("item")
            inside.append(((table["low"].to_numpy() < scores) & (scores < table["high"].to_numpy())).mean())
        assert 0.85 < np.mean(inside) < 0.95

    def test_bad_parameters(self):
        frame = random_lists()
        with pytest.raises(cr.UsageError, match="'slope' must be none or by-worker"):
            PlackettLuce(slope="sometimes").fit(frame)
        with pytest.raises(cr.UsageError, match="'direction' must be one of top, bottom, auto"):
            PlackettLuce(direction="left").fit(frame)
        with pytest.raises(cr.InputError, match="needs to know who ranked"):
            PlackettLuce(slope="by-worker").fit(frame_of([["a", "b"]]).drop("worker"))


class TestMallows:
    def test_is_the_best_of_all_orders(self):
        frame = crowd_of([0.3, 0.6, 0.1, 0.5, 0.2, 0.9], n=5, lists=2, seed=2)
        lists = lists_of(frame)
        model = Mallows(dispersion="shared").fit(frame)
        level = {row: lists.level[row] for row in range(len(lists.level))}

        def far(place):
            return sum(
                level[i] < level[j] and place[lists.node[i]] > place[lists.node[j]]
                for low, high in pairwise(lists.start)
                for i in range(low, high)
                for j in range(low, high)
            )

        best = min(far(place) for place in permutations(range(5)))
        place = np.argsort(np.argsort(model.ranking_.rank))
        assert far(place) == best
        theta = model.fit_.details["theta"]
        mean = -kernel.log_normalizers(np.array([theta]), 5)[1][0, 5]
        # 12 lists and the pair that is half wrong
        pair = 1 / (1 + np.exp(theta))
        assert 12 * mean + pair == pytest.approx(best + 0.5)

    def test_the_shared_theta_is_the_fitted_one(self):
        frame = crowd_of([0.4] * 4, n=5, lists=3, seed=4)
        model = Mallows(dispersion="shared").fit(frame)
        fitted, lists = model.fit_.details["theta"], lists_of(frame)
        log_z = kernel.log_normalizers(np.array([fitted]), 5)[0][0, 5]
        place = np.argsort(np.argsort(model.ranking_.rank))
        far = sum(
            lists.level[i] < lists.level[j] and place[lists.node[i]] > place[lists.node[j]]
            for low, high in pairwise(lists.start)
            for i in range(low, high)
            for j in range(low, high)
        )
        assert model.fit_.log_likelihood == pytest.approx(-fitted * far - 12 * log_z)

    @pytest.mark.parametrize("names", ["abcd", "acbd", "dbca"])
    @pytest.mark.parametrize("dispersion", ["shared", "by-worker"])
    def test_items_tied_by_every_list_get_the_same(self, names, dispersion):
        frame = pl.DataFrame({"worker": ["w"] * 4, "item": list(names), "rank": [1, 2, 2, 3]})
        found = Mallows(dispersion=dispersion).fit(frame).ranking_.polars()
        by_item = {row["item"]: row for row in found.to_dicts()}
        rows = [by_item[name] for name in names]
        assert rows[1]["score"] == pytest.approx(rows[2]["score"], abs=1e-12)
        assert rows[1]["tier"] == rows[2]["tier"]
        assert rows[0]["score"] > rows[1]["score"] > rows[3]["score"]

    def test_orders_that_only_ids_decide_are_noted(self):
        # a beats c twice and d once, b beats c once and d twice, and neither a and b nor c and d differ
        frame = frame_of([list(pair) for pair in ["ab", "ba", "ac", "ac", "ad", "bc", "bd", "bd", "cd", "dc"]])
        tied = Mallows(dispersion="shared").fit(cr.read(frame, missing="unknown"))
        assert [note.message for note in tied.fit_.warnings if note.code == "tied-consensus"] == [
            "The lists do not decide between the two orders of 2 pairs of neighbors in the consensus; the ids do."
        ]
        decided = Mallows().fit(frame_of([list("abc"), [("a", "b"), "c"]]))
        assert "tied-consensus" not in {note.code for note in decided.fit_.warnings}

    def test_a_worker_at_chance_is_at_the_bound(self):
        model = Mallows(shrinkage=0.01).fit(frame_of([list("abcde")] * 4 + [list("edcba")]))
        assert model.workers_.polars()["theta"].min() == 0
        assert "The theta of 1 of 5 workers is at its lower bound of 0." in [
            note.message for note in model.fit_.warnings
        ]

    def test_dispersions_are_found(self):
        theta = [0.0, 0.0, 0.2, 0.2, 1.0, 1.0, 1.0]
        model = Mallows().fit(crowd_of(theta, n=12, lists=12, seed=1))
        people = model.workers_.polars()
        np.testing.assert_allclose(people["theta"], theta, atol=0.2)
        assert people["verdict"].to_list() == [*["spammer"] * 2, *["unsure"] * 2, *["reliable"] * 3]
        assert model.ranking_.polars()["item"].to_list() == [chr(97 + k) for k in range(12)]
        assert model.fit_.details["gap"] == 0

    def test_few_lists_shrink_to_the_crowd(self):
        frame = crowd_of([0.8] * 6, n=6, seed=5)
        free, held = (Mallows(shrinkage=shrinkage).fit(frame) for shrinkage in (0.01, 50))
        spread = [np.ptp(model.workers_.polars()["theta"].to_numpy()) for model in (free, held)]
        assert spread[1] < 0.1 * spread[0]

    def test_an_exchange_costs_what_it_costs(self):
        rng = np.random.default_rng(6)
        margin = rng.normal(0, 1, (6, 6))
        margin = np.triu(margin, 1) + np.abs(np.triu(margin, 1)) * 2
        margin = margin - margin.T
        drops = _drops(margin)

        def agreed(order):
            return np.triu(margin[np.ix_(order, order)]).sum() / 2

        for a in range(6):
            for b in range(a + 1, 6):
                order = np.arange(6)
                order[[a, b]] = order[[b, a]]
                assert drops[a, b] == pytest.approx(agreed(np.arange(6)) - agreed(order))
                assert drops[b, a] == -drops[a, b]

    def test_rank_intervals_hold_the_true_ranks(self):
        inside = []
        for seed in range(40):
            model = Mallows(dispersion="shared").fit(crowd_of([0.25] * 12, n=8, seed=seed))
            low, high = model.ranking_.polars().sort("item").select("rank_low", "rank_high").to_numpy().T
            inside.append(((low <= np.arange(1, 9)) & (np.arange(1, 9) <= high)).mean())
        assert np.mean(inside) > 0.85

    def test_a_long_cycle_is_noted(self):
        items = [f"i{k:02d}" for k in range(15)]
        model = Mallows().fit(frame_of([items[k:] + items[:k] for k in range(15)]))
        assert model.fit_.details["largest_cycle"] == 15
        assert model.fit_.details["gap"] > 0
        assert "consensus-gap" in {note.code for note in model.fit_.warnings}

    def test_bad_parameters(self):
        with pytest.raises(cr.UsageError, match="'dispersion' must be by-worker or shared"):
            Mallows(dispersion="none").fit(random_lists())
        with pytest.raises(cr.UsageError, match="'shrinkage'"):
            Mallows(shrinkage=-1).fit(random_lists())

    def test_too_many_items(self, monkeypatch):
        from crowdrank.models.lists import mallows

        monkeypatch.setattr(mallows, "MOST_ITEMS", 3)
        with pytest.raises(cr.InputError, match="at most 3 items"):
            Mallows().fit(random_lists())


@pytest.mark.parametrize("model", MODELS)
class TestListLogLikelihood:
    def test_all_orders_sum_to_one(self, model):
        fitted = model().fit(random_lists(seed=2, items=5, most=5))
        every = [[f"i{item}" for item in order] for order in permutations(range(5))]
        found = fitted.list_log_likelihood(frame_of(every, [99] * 120))  # by a worker who was not seen
        assert np.exp(found).sum() == pytest.approx(1)

    def test_all_top_two_lists_sum_to_one(self, model):
        fitted = model().fit(random_lists(seed=2, items=5, most=5))
        every = [[f"i{item}" for item in order] for order in permutations(range(5), 2)]
        below = cr.read(frame_of(every, [99] * 20), missing="below")
        assert np.exp(fitted.list_log_likelihood(below)).sum() == pytest.approx(1)
        few = cr.read(frame_of(every[:1], [99]), missing="below")  # the fit knows the other items
        assert fitted.list_log_likelihood(few)[0] == pytest.approx(fitted.list_log_likelihood(below)[0])

    def test_of_the_lists_fitted_is_the_log_likelihood(self, model):
        frame = random_lists(seed=4, queries=2, below=True)
        fitted = model().fit(frame)
        assert fitted.list_log_likelihood(frame).sum() == pytest.approx(fitted.fit_.log_likelihood)

    def test_by_worker(self, model):
        frame = random_lists(seed=4)
        options = {"slope": "by-worker"} if model is PlackettLuce else {}
        fitted = model(**options).fit(frame)
        assert fitted.list_log_likelihood(frame).sum() == pytest.approx(fitted.fit_.log_likelihood)
        unknown = frame.with_columns(worker=pl.lit("nobody"), list=pl.col("worker") + pl.col("list"))
        assert fitted.list_log_likelihood(unknown).sum() != pytest.approx(fitted.fit_.log_likelihood)

    def test_a_list_that_orders_nothing_is_certain(self, model):
        fitted = model().fit(random_lists())
        given = frame_of([[("i0", "i1")], ["i0", "i1"], ["i2"]])
        found = fitted.list_log_likelihood(given)
        assert found[0] == found[2] == 0
        assert found[1] < 0

    def test_before_a_fit_is_an_error(self, model):
        with pytest.raises(cr.UsageError, match="not fitted"):
            model().list_log_likelihood(random_lists())


@pytest.mark.parametrize("model", MODELS)
class TestPredictions:
    def test_follow_the_order_and_add_up(self, model):
        fitted = model().fit(crowd_of([0.7] * 10, n=5, lists=3))
        table = fitted.ranking_.polars()["item"].to_list()
        votes = cr.Pairs.from_votes(winner=table[:-1], loser=table[1:], worker=["w1"] * 4)
        found = fitted.predict_proba(votes)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert (found[:, 0] > found[:, 2]).all()

    def test_a_pair_of_a_list_is_as_likely_as_in_all_lists(self, model):
        whole = random_lists(seed=2, items=4, most=4, ties=0).filter(pl.len().over("worker", "list") == 4)
        fitted = model().fit(whole)
        every = [[f"i{item}" for item in order] for order in permutations(range(4))]
        chance = np.exp(fitted.list_log_likelihood(frame_of(every, [99] * 24)))
        wanted = sum(p for p, order in zip(chance, every, strict=True) if order.index("i0") < order.index("i3"))
        left, tie, right = fitted.predict_proba(cr.Pairs.from_votes(winner=["i0"], loser=["i3"]))[0]
        assert left / (left + right) == pytest.approx(wanted)
        assert 0 < tie < 0.1

    def test_lists_of_a_few_of_many_items_do_not_make_pairs_certain(self, model):
        """Votes of a crowd that puts the better item above with a probability of .75, as lists of three of 60."""
        rng, lists = np.random.default_rng(3), []
        for _ in range(600):
            seen = np.sort(rng.choice(60, 3, replace=False))
            order = [f"i{seen[k]:02d}" for k in np.argsort(np.arange(3) + rng.gumbel(0, 0.9, 3))]
            lists.append(order)
        fitted = model().fit(frame_of(lists[:400]))
        held = cr.to_pairs(cr.read(frame_of(lists[400:])))
        said = fitted.predict_proba(held)
        loss = -np.log(np.where(held.outcome == 0, said[:, 0], said[:, 2])).mean()
        assert loss < np.log(2)

    def test_an_unseen_item_is_an_average_one(self, model):
        fitted = model().fit(random_lists())
        left, _, right = fitted.predict_proba(cr.Pairs.from_votes(winner=["new"], loser=["newer"]))[0]
        assert left == right


class TestNotes:
    @pytest.mark.parametrize("model", MODELS)
    def test_never_above_or_below_another(self, model):
        fitted = model().fit(frame_of([["a", "b", "c"], ["a", "c", "b"], ["a", "b", "d"]]))
        codes = {note.code: note.message for note in fitted.fit_.warnings}
        assert ": d." in codes["winless"]
        assert ": a." in codes["unbeaten"]

    def test_the_share_of_ties(self):
        lists = lists_of(frame_of([["a", ("b", "c")], ["a", "b"]]))
        assert tie_share(lists) == pytest.approx(1.5 / 5)


class TestRealData:
    @pytest.mark.parametrize(
        ("model", "name", "least"),
        [
            (PlackettLuce(direction="bottom"), "visual", 0.968),
            (PlackettLuce(direction="bottom"), "weighing", 0.968),
            (PlackettLuce(), "visual", 0.915),
            (PlackettLuce(), "weighing", 0.957),
            (Mallows(dispersion="shared"), "visual", 0.947),
            (Mallows(), "visual", 0.926),
            (Mallows(), "weighing", 0.978),
        ],
    )
    def test_potatoes(self, real, model, name, least):
        wide = pl.read_csv(real / "potato-beach" / f"potato_{name}.csv")
        truth = dict(pl.read_csv(real / "potato-beach" / "potato_true_ranking.csv").rows())
        frame = wide.rename({"dim_0": "worker"}).unpivot(index="worker", variable_name="item", value_name="rank")
        table = model.clone().fit(frame).ranking_.polars()
        true = np.array([-truth[item] for item in table["item"]])
        assert kendall_tau(-table["rank"].to_numpy().astype(float), true) >= least

    @pytest.mark.parametrize("model", MODELS)
    def test_dots_and_puzzles_in_their_true_order(self, real, model):
        files = sorted((real / "preflib-mturk").glob("*.soc"))
        assert len(files) == 8
        for file in files:
            lines = file.read_text().splitlines()
            names = [line.split(":")[1].strip() for line in lines if line.startswith("# ALTERNATIVE NAME")]
            assert model().fit(file).ranking_.polars()["item"].to_list() == names
