"""LTRMA against enumeration of all orders, and its limits in the paper: ListMLE, known expertise, confidence."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from crowdrank.data import Anchors, SideInfo, read_features
from crowdrank.engine import LocalEngine
from crowdrank.errors import InputError, UsageError
from crowdrank.kernels.mallows import log_normalizers
from crowdrank.prepared.documents import Documents
from crowdrank.prepared.statements import cut_blocks
from crowdrank.rankers.crowd_training import shards_of
from crowdrank.rankers.judged import join_judgments, read_judgments
from crowdrank.rankers.ltrma import learning
from crowdrank.rankers.ltrma.expectation import EXTRAS, Expectancy, Expectation, power_nodes
from crowdrank.rankers.ltrma.expertise import solve_expertise
from crowdrank.rankers.ltrma.ltrma import LTRMA
from crowdrank.rankers.scorers.linear import Linear, LinearFunction
from crowdrank.rankers.supervised import ListMLE
from crowdrank.simulate import simulate
from rankers.annotated import ExactLists, corpus, join, says

PLAIN = {"standardize": None, "dispersion": "by-worker"}


def fitted(features, lists, *, penalty=1.0, fit=None, **settings):
    return LTRMA(scorer=Linear(penalty=penalty), **{**PLAIN, **settings}).fit(features, lists, **(fit or {}))


def weights(ranker):
    return ranker.trained_.scoring.function.weights


def thetas(ranker):
    return ranker.workers_.polars()["theta"].to_numpy()


def odd_lists(lists):
    """Ties by one worker, the first two places by another, a few lists of a part of the documents."""
    return lists.with_columns(
        rank=pl.when(pl.col("worker") == "w1").then((pl.col("rank") / 2).ceil()).otherwise("rank")
    ).filter((pl.col("worker") != "w2") | (pl.col("rank") <= 3) | (pl.col("query") < "q06"))


class TestExpectation:
    def session(self, judged, values, seed=0):
        own = judged.documents
        documents = Documents(values, own.start, own.label, own.weight, own.rows)
        expectation = Expectation(len(judged.voices))
        return expectation, LocalEngine(1).open(shards_of(judged, documents), start=expectation.start, seed=seed)

    def test_expected_distances_are_those_of_enumeration(self):
        """Minus the derivative of the log likelihood by theta, plus that of the normalizers."""
        features, lists, _ = corpus(seed=1, queries=4, sizes=(5, 4, 3))
        judged = join(features, odd_lists(lists))
        theta = np.array([0.7, -0.3, 0.4])
        scores = np.random.default_rng(0).normal(size=len(judged.documents.rows))
        step = 1e-5

        exact = ExactLists(judged)

        def total(own):
            return exact.log_likelihood(own, scores).sum()

        slopes = [(total(theta + move) - total(theta - move)) / (2 * step) for move in step * np.eye(3)]
        counts = judged.statements.shapes(judged.sizes)
        expected = -(counts * log_normalizers(theta, counts.shape[1] - 1)[1]).sum(axis=1)
        expectation, session = self.session(judged, scores[:, None])
        at = Expectancy(_Column(), np.append(theta, EXTRAS), 1, 0, sweeps=1500, every=1)
        found = session.advance(expectation.draw, at).distance[:3]
        np.testing.assert_allclose(found, expected - slopes, atol=0.03 * len(judged.keys))

    def test_log_likelihood_is_that_of_enumeration(self):
        features, lists, _ = corpus(seed=2, queries=5, sizes=(5, 3, 4))
        pairs = pl.DataFrame(
            {"query": ["q00"], "left": ["d0"], "right": ["d1"], "label": ["d0"], "worker": ["p"], "weight": [2.0]}
        )
        judged = join(features, odd_lists(lists), pairs)
        theta = np.array([0.9, -0.4, 0.5, 0.8, 0.0, 0.0])
        scores = np.random.default_rng(3).normal(size=len(judged.documents.rows))
        expectation, session = self.session(judged, scores[:, None])
        at = Expectancy(_Column(), theta, 7, 0, sweeps=450, every=1)
        energy = session.evaluate(expectation.temper, at).energy
        found = -energy - judged.statements.log_normalizers(theta, judged.sizes)
        np.testing.assert_allclose(found, ExactLists(judged).log_likelihood(theta, scores), atol=0.1)
        assert power_nodes()[1].sum() == pytest.approx(1.0)

    def test_truth_is_never_contradicted_and_ties_of_it_stay_open(self):
        features, lists, gold = corpus(seed=4, queries=3)
        truth = gold.with_columns(label=(pl.col("grade") / 2).floor()).drop("grade")
        judged = join(features, lists, anchors=Anchors.read(truth))
        expectation, session = self.session(judged, np.zeros((len(judged.documents.rows), 1)))
        at = Expectancy(None, np.append(np.zeros(3), EXTRAS), 0, 0, sweeps=40, every=1)
        assert session.advance(expectation.draw, at).distance[3] == 0
        said = judged.statements
        seen = np.zeros(0)
        for state in session._states:
            for block, plan in zip(session._shards[0].plan, state.plan.blocks, strict=True):
                seen = np.array([len({tuple(order) for order in own}) for own in plan.rows])
                assert block.judged.tolist() == [5, 5, 5]
        assert (seen > 1).all(), "documents of one grade change places"
        assert (says(said, int(np.flatnonzero(said.voice == 3)[0]), 5)[1]) != {}


class _Column:
    def scores(self, values):
        return np.asarray(values[:, 0])


@cache
def exact_fit():
    """A tiny corpus whose penalized likelihood is maximized by enumeration, and the fit to it."""
    features, lists, _ = corpus(seed=5, queries=60, documents=4, thetas=(0.9, -0.5))
    judged = join(features, lists)
    exact, own = ExactLists(judged), judged.documents
    x = own.features.dense(own.rows).astype(float)

    def loss(point):
        theta, w = point[:2], point[2:]
        value = exact.log_likelihood(theta, x @ w).sum()
        return -(value - 0.5 * w @ w - 0.5 * theta @ theta / 4.0)

    best = minimize(loss, np.array([0.5, -0.2, 1.0, -0.5]), method="BFGS", options={"gtol": 1e-3})
    ranker = fitted(features, lists, iterations=400)
    wanted = exact.log_likelihood(thetas(ranker), x @ weights(ranker)).sum()
    return best, ranker, loss, wanted


def test_em_ends_at_the_maximum_of_the_exact_likelihood():
    best, ranker, loss, _ = exact_fit()
    found = np.append(thetas(ranker), weights(ranker))
    assert loss(found) - best.fun < 0.15, "in log likelihood: far below what the data tell apart"
    np.testing.assert_allclose(found, best.x, atol=0.12)


def test_the_standard_errors_are_those_of_the_exact_likelihood():
    """From the second derivatives by theta and by the weights of the ranker."""
    best, ranker, loss, _ = exact_fit()
    step, at, matrix = 1e-3, best.x, np.zeros((4, 4))
    moves = step * np.eye(4)
    for (i, a), (j, b) in product(enumerate(moves), repeat=2):
        matrix[i, j] = (loss(at + a + b) - loss(at + a - b) - loss(at - a + b) + loss(at - a - b)) / (4 * step**2)
    wanted = np.sqrt(np.diag(np.linalg.inv(matrix)))[:2]
    frame = ranker.workers_.polars()
    found = (frame["theta_high"] - frame["theta_low"]).to_numpy() / (2 * 1.6449)
    np.testing.assert_allclose(found, wanted, rtol=0.12)


def test_log_likelihood_of_the_fit():
    """Up to the noise of the draws, of which each list has about .2."""
    _, ranker, _, wanted = exact_fit()
    assert ranker.fit_.log_likelihood == pytest.approx(wanted, abs=4.0)


@cache
def limit_data():
    return corpus(seed=6, queries=15, documents=5, thetas=(0.8, 0.4, -0.3))


class TestLimits:
    """Sections 4.2, 4.2.2, and equations 36, 45 and 51."""

    def test_all_lists_true_is_listmle(self):
        features, lists, gold = limit_data()
        truth = gold.rename({"grade": "label"})
        ranker = fitted(features, lists, fit={"anchors": truth}, iterations=60)
        wanted = ListMLE(scorer=Linear(penalty=1.0), standardize=None).fit(features, gold=gold)
        np.testing.assert_allclose(weights(ranker), weights(wanted), atol=1e-4)

    def test_a_large_known_expertise_is_listmle_on_these_lists(self):
        features, lists, _ = limit_data()
        known = pl.DataFrame({"worker": ["w1"], "kind": ["known"], "value": [30.0]})
        ranker = fitted(features, lists, fit={"side_info": known}, iterations=60)
        own = lists.filter(pl.col("worker") == "w1").select("query", "item", grade=-pl.col("rank") + 10)
        wanted = ListMLE(scorer=Linear(penalty=1.0), standardize=None).fit(features, gold=own)
        np.testing.assert_allclose(weights(ranker), weights(wanted), atol=1e-4)
        assert thetas(ranker)[1] == 30.0

    def test_confidence_0_is_no_side_information(self):
        features, lists, _ = limit_data()
        plain = fitted(features, lists, iterations=20)
        rows = {"worker": ["w0", "w2"], "kind": ["range", "order"], "low": [2.0, None], "high": [3.0, None]}
        unsure = pl.DataFrame({**rows, "than": [None, "*"], "confidence": [0.0, 0.0]})
        again = fitted(features, lists, fit={"side_info": unsure}, iterations=20)
        np.testing.assert_allclose(thetas(again), thetas(plain), atol=1e-8)
        np.testing.assert_allclose(weights(again), weights(plain), atol=1e-8)

    def test_a_large_confidence_is_a_hard_bound(self):
        features, lists, _ = limit_data()
        rows = {"worker": ["w0", "w2"], "kind": ["range", "order"], "low": [2.0, None], "high": [3.0, None]}
        hard = pl.DataFrame({**rows, "than": [None, "w1"]})
        soft = hard.with_columns(confidence=pl.lit(1e4))
        one, two = (fitted(features, lists, fit={"side_info": own}, iterations=20) for own in (hard, soft))
        np.testing.assert_allclose(thetas(one), thetas(two), atol=0.01)
        assert 2.0 <= thetas(one)[0] <= 3.0
        assert thetas(one)[2] >= thetas(one)[1]

    def test_true_lists_with_all_crowd_labels_kept(self):
        """True lists tell how expert workers are: the expected distance is their own distance."""
        features, lists, gold = limit_data()
        truth = gold.rename({"grade": "label"})
        ranker = fitted(features, lists, fit={"anchors": truth}, iterations=60, theta_sd=100.0)
        judged = join(features, lists)
        rank = dict(zip(zip(gold["query"], gold["item"], strict=True), gold["grade"], strict=True))
        distance = np.zeros(3)
        for (query, worker), own in lists.group_by("query", "worker"):
            grades = [rank[query, item] for item in own.sort("rank")["item"]]
            distance[int(worker[1])] += sum(a < b for i, a in enumerate(grades) for b in grades[i + 1 :])
        wanted = solve_expertise(judged.statements.shapes(judged.sizes), distance, None, 100.0).theta
        np.testing.assert_allclose(thetas(ranker), wanted, atol=1e-6)


class TestKnowledge:
    """A majority of reversers: what is known decides which side is right."""

    def data(self):
        return corpus(seed=21, queries=30, documents=5, thetas=(1.5, -0.8, -0.8), weights=(2.0, -1.0))

    def check(self, ranker):
        assert thetas(ranker)[0] > 0 > thetas(ranker)[1:].max()
        assert weights(ranker)[0] > 0 > weights(ranker)[1]

    @pytest.mark.parametrize("kind", ["lists", "pairs"])
    def test_by_true_lists_or_pairs_of_a_few_queries(self, kind):
        features, lists, gold = self.data()
        truth = gold.filter(pl.col("query") < "q03")
        if kind == "pairs":
            joined = truth.join(truth, on="query", suffix="_other").filter(pl.col("grade") > pl.col("grade_other"))
            anchors = joined.select("query", winner="item", loser="item_other")
        else:
            anchors = truth.rename({"grade": "label"})
        self.check(fitted(features, lists, iterations=60, fit={"anchors": anchors}))

    @pytest.mark.parametrize(
        "rows",
        [
            {"worker": ["w0"], "kind": ["order"], "than": ["*"]},
            {"worker": ["w0"], "kind": ["range"], "low": [0.5]},
        ],
    )
    def test_by_side_information(self, rows):
        features, lists, _ = self.data()
        self.check(fitted(features, lists, iterations=60, fit={"side_info": pl.DataFrame(rows)}))


class TestPairs:
    def as_pairs(self, lists, share=1.0, seed=0):
        """The pairs of each list, as votes of the same worker."""
        joined = lists.join(lists, on=["query", "worker"], suffix="_other").filter(
            pl.col("rank") < pl.col("rank_other")
        )
        chosen = joined.sample(fraction=share, seed=seed, shuffle=True) if share < 1 else joined
        return chosen.select("query", "worker", winner="item", loser="item_other")

    def test_all_pairs_give_the_posterior_of_the_lists_at_equal_theta(self):
        features, lists, _ = corpus(seed=7, queries=4, sizes=(5, 4))
        by_lists, by_pairs = join(features, lists), join(features, self.as_pairs(lists))
        theta = np.append([0.6, -0.2, 0.3], EXTRAS)
        odds = []
        for judged in (by_lists, by_pairs):
            own = judged.documents
            every = (0, len(judged.keys))
            blocks = cut_blocks(judged.statements, every, own.start, judged.judged, judged.keys)
            ids = own.features.take(own.rows).ids()
            cells = {}
            for block in blocks:
                for place, matrix in enumerate(block.log_odds(theta)):
                    n = block.size[place]
                    names = ids[int(block.first[place]) : int(block.first[place]) + int(n)]
                    for i, j in np.ndindex(n, n):
                        cells[names["query"][i], names["item"][i], names["item"][j]] = matrix[i, j]
            odds.append(cells)
        assert odds[0].keys() == odds[1].keys()
        assert all(odds[0][key] == pytest.approx(odds[1][key], abs=1e-12) for key in odds[0])

    def test_a_twentieth_of_the_pairs_is_enough_to_learn(self):
        crowd = simulate("ltrma-h7", seed=3, lists=80, test=40, thetas="0.5,0.3,0.1")
        few = self.as_pairs(crowd.judgments, 0.05)
        test = crowd.gold.join(crowd.queries.filter(pl.col("part") == "test"), on="query", how="semi")
        ranker = LTRMA(iterations=30).fit(crowd.features, few)
        found = ranker.score(crowd.features).polars().join(test, on=["query", "item"])
        tau = found.group_by("query").agg(pl.corr("score", "grade", method="spearman"))["score"].mean()
        assert tau > 0.6
        assert ranker.workers_.polars()["theta"].to_list()[0] > ranker.workers_.polars()["theta"].to_list()[2]

    def test_a_worker_with_lists_and_pairs_has_two_expertises(self):
        features, lists, _ = corpus(seed=8, queries=10, thetas=(0.9, 0.5))
        pairs = self.as_pairs(lists.filter(pl.col("worker") == "w0"))
        frame = fitted(features, [lists, pairs], iterations=30).workers_.polars()
        assert frame["worker"].to_list() == ["w0", "w1"]
        assert frame["theta_pairs"][0] > frame["theta"][0], "a pair by itself is easier than its place in a list"
        assert np.isnan(frame["theta_pairs"][1])


class TestCrowds:
    def test_a_reversed_crowd_is_mirrored(self):
        features, lists, _ = corpus(seed=9, queries=20, thetas=(0.9, 0.6, 0.5))
        reversed_ = lists.with_columns(rank=6 - pl.col("rank"))
        ranker = fitted(features, reversed_, iterations=40)
        assert (thetas(ranker) > 0).all(), "most workers are taken to be honest"

    def test_the_mirror_is_tried_if_most_judgments_contradict_the_orders(self, monkeypatch):
        features, lists, _ = corpus(seed=9, queries=20, thetas=(0.9, 0.6, 0.5))
        monkeypatch.setattr(learning, "START", -0.2)
        ranker = fitted(features, lists, iterations=60)
        assert (thetas(ranker) > 0).all()
        assert "mirror" in {note.code for note in ranker.fit_.warnings}

    def test_near_duplicates_share_one_expertise(self):
        thetas = (0.5, 0.4, 0.4, 0.3, 0.4, 0.5)
        features, lists, _ = corpus(seed=10, queries=20, documents=8, thetas=thetas)
        copies = [
            lists.filter(pl.col("worker") == "w3").with_columns(worker=pl.lit(f"copy{own}")) for own in range(6)
        ]
        plain = LTRMA(iterations=2).fit(features, lists)
        assert plain.fit_.details["dispersion"] == "by-worker"
        few = LTRMA(iterations=2).fit(features, pl.concat([lists, *copies[:3]]))
        assert few.fit_.details["dispersion"] == "by-worker", "nine may be experts as well as copies"
        crowded = LTRMA(iterations=2).fit(features, pl.concat([lists, *copies]))
        assert crowded.fit_.details["dispersion"] == "weighted"
        assert "look-alikes" in {note.code for note in crowded.fit_.warnings}
        frame = crowded.workers_.polars()
        weight = dict(zip(frame["worker"], frame["weight"], strict=True))
        assert 7 * weight["copy0"] < 2 * weight["w0"], "all copies together hardly count for more than one worker"
        own = LTRMA(iterations=2, dispersion="by-worker").fit(features, pl.concat([lists, *copies]))
        assert own.fit_.details["dispersion"] == "by-worker"

    @pytest.mark.parametrize("thetas", [(5.0, 5.0, -2.0, -2.0), (5.0, 5.0, 5.0, 0.0, 0.0, 0.0)])
    def test_experts_who_agree_are_no_copies(self, thetas):
        features, lists, _ = corpus(seed=1, queries=30, documents=8, thetas=thetas, weights=(1.5, -1.0))
        ranker = LTRMA(iterations=40, standardize=None).fit(features, lists)
        assert ranker.fit_.details["dispersion"] == "by-worker"
        np.testing.assert_array_equal(
            np.sign(np.round(ranker.workers_.polars()["theta"].to_numpy(), 0)), np.sign(thetas)
        )

    def test_one_expertise_for_all(self):
        features, lists, _ = corpus(seed=11, queries=12)
        ranker = fitted(features, lists, dispersion="shared", iterations=20)
        assert np.ptp(thetas(ranker)) == 0
        known = SideInfo.read(pl.DataFrame({"worker": ["w0"], "kind": ["known"], "value": [1.0]}))
        with pytest.raises(UsageError, match="each worker's expertise"):
            fitted(features, lists, dispersion="shared", fit={"side_info": known})

    @pytest.mark.parametrize(
        "settings",
        [{"inference": "metropolis", "train_on": "best"}, {"train_on": "best"}, {"k": 2}, {"method": "d"}],
    )
    def test_other_ways_learn_the_same_direction(self, settings):
        features, lists, _ = corpus(seed=12, queries=40, thetas=(1.0, 0.6), weights=(2.0, -1.0))
        ranker = fitted(features, lists, iterations=8 if "inference" in settings else 30, **settings)
        w = weights(ranker) / np.linalg.norm(weights(ranker))
        np.testing.assert_allclose(w, np.array([2.0, -1.0]) / np.sqrt(5.0), atol=0.3)
        assert ranker.name == f"ltrma-{settings.get('method', 'mle')}"

    def test_estimated_orders(self):
        features, lists, gold = corpus(seed=13, queries=10, thetas=(1.5, 1.2, 1.0))
        frame = fitted(features, lists, iterations=30).orders_.polars()
        assert frame.columns == ["query", "item", "rank", "score", "rank_low", "rank_high", "above_next"]
        best = frame.join(gold, on=["query", "item"])
        assert best.select(pl.corr("score", "grade", method="spearman")).item() > 0.8
        assert (frame["rank_low"] <= frame["rank_high"]).all()
        assert frame.filter(pl.col("rank") == 5)["above_next"].null_count() == 10
        assert frame.filter(pl.col("rank") < 5)["above_next"].min() >= 0.3


class TestTopLists:
    """Definition 1 of the paper."""

    def test_learns_direction_and_expertise(self):
        features, lists, _ = corpus(seed=15, queries=40, documents=6, thetas=(1.2, 0.6, -0.5))
        ranker = fitted(features, lists, k=3, distance="top-k", iterations=40)
        w = weights(ranker) / np.linalg.norm(weights(ranker))
        np.testing.assert_allclose(w, np.array([2.0, -1.0]) / np.sqrt(5.0), atol=0.25)
        assert thetas(ranker)[0] > thetas(ranker)[1] > 0 > thetas(ranker)[2]
        assert ranker.fit_.log_likelihood is None

    def test_needs_k_and_lists_without_ties(self):
        features, lists, _ = corpus(seed=15, queries=6, documents=6)
        with pytest.raises(UsageError, match="needs the length"):
            fitted(features, lists, distance="top-k")
        tied = lists.with_columns(rank=(pl.col("rank") / 2).ceil())
        with pytest.raises(InputError, match="tied there"):
            fitted(features, tied, distance="top-k", k=3)
        short = lists.filter(pl.col("rank") < 3)
        with pytest.raises(InputError, match="lists of fewer than 3"):
            fitted(features, short, distance="top-k", k=3)


def test_long_lists_of_which_few_documents_are_ranked():
    """A top-3 list of 40 documents: only what somebody ranked has cells of its own."""
    crowd = simulate("ltrma-long", seed=1, lists=12, test=12, documents=40, top=3)
    tables = read_judgments(crowd.judgments, unranked="below")
    judged = join_judgments(read_features(crowd.features), tables)
    assert (judged.sizes == 40).all()
    assert (judged.judged < 25).all()
    ranker = LTRMA(iterations=6, k=3).fit(crowd.features, crowd.judgments, unranked="below")
    test = crowd.gold.join(crowd.queries.filter(pl.col("part") == "test"), on="query", how="semi")
    found = ranker.score(crowd.features).polars().join(test, on=["query", "item"])
    tau = found.group_by("query").agg(pl.corr("score", "grade", method="spearman"))["score"].mean()
    assert tau > 0.4


def test_lists_at_scoring_time_help():
    crowd = simulate("ltrma-h7", seed=2, lists=60, test=0, thetas="1.0,0.8,0.6")
    queries = crowd.queries["query"]
    train, test = queries[:30].to_list(), queries[30:].to_list()
    parts = [
        [frame.filter(pl.col("query").is_in(own)) for frame in (crowd.features, crowd.judgments, crowd.gold)]
        for own in (train, test)
    ]
    (features, lists, _), (others, new, gold) = parts
    ranker = LTRMA(iterations=60).fit(features, lists)
    taus = []
    for given in (None, new):
        found = ranker.score(others, given).polars().join(gold, on=["query", "item"])
        taus.append(found.group_by("query").agg(pl.corr("score", "grade", method="spearman"))["score"].mean())
    assert taus[1] > taus[0] + 0.02
    strangers = new.with_columns(worker=pl.lit("x") + pl.col("worker"))
    assert "unseen-workers" in {note.code for note in ranker.score(others, strangers).notes}
    pairs = TestPairs().as_pairs(new)
    with pytest.raises(InputError, match="pairs"):
        ranker.score(others, pairs)
    with pytest.raises(UsageError, match="cannot score by judgments"):
        ListMLE().fit(features, gold=parts[0][2]).score(others, new)


class TestValidation:
    def parts(self):
        features, lists, gold = corpus(seed=16, queries=20)
        chosen = pl.col("query") < "q15"
        return features.filter(chosen), features.filter(~chosen), lists, gold

    def test_by_the_likelihood_of_held_out_lists(self):
        train, other, lists, _ = self.parts()
        by_file = fitted(train, lists, iterations=20, fit={"validation": other})
        curve = by_file.validation_.polars()
        assert by_file.validation_.measure == "list likelihood"
        assert curve["step"].to_list() == [5, 10, 15, 20]
        exact = ExactLists(join(other, lists, missing="drop"))
        own = exact.judged.documents
        scores = own.features.dense(own.rows) @ weights(by_file)
        wanted = exact.log_likelihood(thetas(by_file), scores).mean()
        assert curve["value"][-1] == pytest.approx(wanted, abs=0.15)
        by_share = fitted(train, lists.filter(pl.col("query") < "q15"), iterations=20, fit={"validation": 0.2})
        assert by_share.fit_.details["training"]["queries"] == 12

    def test_by_a_measure_if_there_is_gold(self):
        train, other, lists, gold = self.parts()
        ranker = fitted(train, lists, iterations=20, fit={"validation": other, "gold": gold})
        assert ranker.validation_.measure == "nDCG@10"
        assert ranker.fit_.details["measured"]["queries_of"] == "validation"
        assert ranker.fit_.details["measured"]["queries"] == 5
        assert ranker.trained_.tables["iterations"].polars()["distance"][-1] < 5, "of ten pairs, on average"

    def test_without_anything_to_validate_by(self):
        train, other, lists, _ = self.parts()
        with pytest.raises(InputError, match="neither judgments nor labels"):
            fitted(train, lists.filter(pl.col("query") < "q15"), fit={"validation": other})


def test_linear_function_is_what_is_saved():
    features, lists, _ = corpus(seed=14, queries=8)
    ranker = fitted(features, lists, iterations=8)
    assert isinstance(ranker.trained_.scoring.function, LinearFunction)
