"""The Thurstonian ranking model: against its definition, the pair model, its own sampler and known truth."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.engine import LocalEngine
from crowdrank.measures import kendall_tau
from crowdrank.models.thurstonian.trm import TRM
from helpers import frame_of, random_lists
from shards import small_shards


def draw_orders(scores, lists, noise=1.0, seed=0):
    """Orders of scores perceived with noise."""
    rng = np.random.default_rng(seed)
    return [[f"i{k}" for k in np.argsort(-(scores + rng.normal(0, noise, len(scores))))] for _ in range(lists)]


class TestQuadrature:
    def test_is_thurstones_model_on_lists_of_two(self):
        rng = np.random.default_rng(1)
        votes = [tuple(rng.choice(list("abcde"), 2, replace=False)) for _ in range(80)]
        own = TRM(regularization=0.7).fit(frame_of(votes)).ranking_.polars().sort("item")
        pairs = cr.Pairs.from_votes(winner=[a for a, _ in votes], loser=[b for _, b in votes])
        theirs = cr.Thurstone(regularization=0.7).fit(pairs).ranking_.polars().sort("item")
        for column in ("score", "stderr", "rank_low", "rank_high"):
            np.testing.assert_allclose(own[column].to_numpy(), theirs[column].to_numpy(), atol=1e-7)

    def test_is_the_maximum(self):
        from scipy.optimize import minimize
        from scipy.special import log_ndtr
        from scipy.stats import multivariate_normal

        frame = frame_of([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"], ["a", ("b", "c")]])
        model = TRM(regularization=0.4).fit(frame)

        def log_p(u, steps):
            """All differences positive: (u_i - u_j) over the steps; neighboring steps share an item."""
            matrix = np.array([[(k == i) - (k == j) for k in range(3)] for i, j in steps], float)
            return multivariate_normal(-matrix @ u, matrix @ matrix.T).logcdf(np.zeros(len(steps)))

        def minus(u):
            lists = [((0, 1), (1, 2)), ((1, 0), (0, 2)), ((2, 0), (0, 1)), ((0, 1), (0, 2))]
            prior = log_ndtr(u / 2**0.5) + log_ndtr(-u / 2**0.5)
            return -sum(log_p(u, steps) for steps in lists) - 0.4 * prior.sum()

        best = minimize(minus, np.zeros(3), tol=1e-10).x
        have = model.ranking_.polars().sort("item")["score"].to_numpy()
        np.testing.assert_allclose(have, best - best.mean(), atol=1e-4)

    def test_scores_and_their_errors_are_found(self):
        truth = np.linspace(1.2, -1.2, 7)
        table = TRM().fit(frame_of(draw_orders(truth, 400))).ranking_.polars().sort("item")
        np.testing.assert_allclose(table["score"], truth, atol=0.2)
        inside = []
        for seed in range(25):
            found = TRM(regularization=0.01).fit(frame_of(draw_orders(truth, 25, seed=seed))).ranking_.polars()
            found = found.sort("item")
            inside.append(((found["low"].to_numpy() < truth) & (truth < found["high"].to_numpy())).mean())
        assert 0.84 < np.mean(inside) < 0.96

    def test_the_top_of_lists_is_enough(self):
        """Unranked items stand below: the same scores are found, with less certainty."""
        truth = np.linspace(1.5, -1.5, 6)
        full = frame_of(draw_orders(truth, 150, seed=2))
        cut = full.with_columns(rank=pl.when(pl.col("rank") < 3).then("rank"))
        whole, top = (TRM().fit(frame).ranking_.polars().sort("item") for frame in (full, cut))
        np.testing.assert_allclose(top["score"], whole["score"], atol=0.45)
        assert (top["stderr"] > whole["stderr"]).all()

    def test_no_finite_maximum_is_an_error(self):
        with pytest.raises(cr.FitError, match=r"no finite maximum.*: a"):
            TRM(regularization=0).fit(frame_of([["a", "b", "c"], ["a", "c", "b"]]))
        cyclic = frame_of([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])
        assert np.ptp(TRM(regularization=0).fit(cyclic).ranking_.score) == pytest.approx(0, abs=1e-7)

    def test_bad_parameters(self):
        with pytest.raises(cr.UsageError, match="'inference' must be quadrature or gibbs"):
            TRM(inference="guess").fit(random_lists())
        with pytest.raises(cr.UsageError, match="'rounds'"):
            TRM(rounds=1).fit(random_lists())


class TestGibbs:
    def test_finds_the_maximum(self):
        frame = random_lists(seed=3, workers=12, below=True)
        exact = TRM(regularization=0.5).fit(frame)
        drawn = TRM(inference="gibbs", rounds=2000).fit(frame)
        np.testing.assert_allclose(drawn.ranking_.score, exact.ranking_.score, atol=0.08)
        np.testing.assert_allclose(drawn.ranking_.stderr, exact.ranking_.stderr, rtol=0.1)
        assert exact.fit_.log_likelihood == pytest.approx(drawn.fit_.log_likelihood, abs=0.1)

    def test_depends_on_the_seed_alone(self):
        frame = random_lists(seed=4, queries=2)
        one, other = (TRM(inference="gibbs", rounds=20, seed=seed).fit(frame) for seed in (1, 2))
        assert (one.ranking_.score != other.ranking_.score).any()
        with small_shards(20):
            cut = TRM(inference="gibbs", rounds=20, seed=1).fit(frame, engine=LocalEngine(3))
        np.testing.assert_allclose(cut.ranking_.score, one.ranking_.score, atol=1e-12)


class TestDifficulty:
    def test_is_the_noise_against_the_spread_of_scores(self):
        truth, noise = np.linspace(1.4, -1.4, 9), {0: 0.4, 1: 0.8, 2: 1.6}
        orders, queries = [], []
        for query, own in noise.items():
            orders += draw_orders(truth, 60, own, seed=query)
            queries += [query] * 60
        table = TRM().fit(frame_of(orders, queries=queries)).queries_.polars()
        wanted = np.array([own**2 / truth.var(ddof=1) for own in noise.values()])
        np.testing.assert_allclose(table["difficulty"], wanted, rtol=0.35)
        assert ((table["low"] < table["difficulty"]) & (table["difficulty"] < table["high"])).all()
        assert table["judgments"].to_list() == [60, 60, 60]
        assert table["domain"].to_list() == [1, 1, 1]

    def test_of_one_query_without_a_name(self):
        table = TRM().fit(random_lists()).queries_.polars()
        assert table["query"].to_list() == [None]
        assert np.isfinite(table["high"][0])


class TestPredictions:
    def test_all_orders_sum_to_one(self):
        fitted = TRM().fit(random_lists(seed=2, items=5, most=5))
        every = frame_of([[f"i{item}" for item in order] for order in permutations(range(5))])
        chance = np.exp(fitted.list_log_likelihood(every))
        assert chance.sum() == pytest.approx(1, abs=1e-6)
        first = [order.index(0) < order.index(3) for order in permutations(range(5))]
        left, _, right = fitted.predict_proba(cr.Pairs.from_votes(winner=["i0"], loser=["i3"]))[0]
        assert left / (left + right) == pytest.approx(chance[first].sum(), abs=1e-6)

    def test_of_the_lists_fitted_is_the_log_likelihood(self):
        frame = random_lists(seed=4, queries=2, below=True)
        fitted = TRM().fit(frame)
        found = fitted.list_log_likelihood(frame)
        assert found.sum() == pytest.approx(fitted.fit_.log_likelihood)

    def test_before_a_fit_is_an_error(self):
        with pytest.raises(cr.UsageError, match="not fitted"):
            TRM().list_log_likelihood(random_lists())


class TestRealData:
    @pytest.mark.parametrize(("name", "least"), [("visual", 0.957), ("weighing", 0.968)])
    def test_potatoes(self, real, name, least):
        wide = pl.read_csv(real / "potato-beach" / f"potato_{name}.csv")
        truth = dict(pl.read_csv(real / "potato-beach" / "potato_true_ranking.csv").rows())
        frame = wide.rename({"dim_0": "worker"}).unpivot(index="worker", variable_name="item", value_name="rank")
        table = TRM().fit(frame).ranking_.polars()
        true = np.array([-truth[item] for item in table["item"]])
        assert kendall_tau(-table["rank"].to_numpy().astype(float), true) >= least

    def test_dots_and_puzzles_in_their_true_order(self, real):
        for file in sorted((real / "preflib-mturk").glob("*.soc")):
            lines = file.read_text().splitlines()
            names = [line.split(":")[1].strip() for line in lines if line.startswith("# ALTERNATIVE NAME")]
            assert TRM().fit(file).ranking_.polars()["item"].to_list() == names
