"""LRegMA against a plain alternation, a general optimizer and special cases."""

from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

import crowdrank as cr
from crowdrank.errors import UsageError
from crowdrank.rankers.lregma import LEAST_VARIANCE, LRegMA
from crowdrank.rankers.registry import make_ranker
from rankers.made import WEIGHTS, judged_frames, labeled_frame

PENALTY = 2.0
FEATURES = ["f0", "f1", "f2", "f3"]


@cache
def frames():
    return judged_frames(seed=1)


def tables():
    """Full and partial lists, and lists whose other documents are below."""
    _, kinds = frames()
    above = [cr.read(kinds[kind], missing="unknown") for kind in ("full", "partial")]
    return [*above, cr.read(kinds["top"], missing="below")]


def fit(features, judgments, penalty=PENALTY, **given):
    return LRegMA(scorer=cr.Linear(penalty=penalty), standardize=None).fit(features, judgments, **given)


def weights(ranker):
    return ranker.trained_.scoring.function.weights


def precisions(ranker):
    found = ranker.workers_.polars()
    return dict(zip(found["worker"], found["precision"], strict=True))


def places_to_scores(ranks, size):
    """The score of each item of a list: the mean of 1/2 - (p + 1/2) / m over the places that its rank takes."""
    found = {}
    for item, rank in ranks.items():
        above = sum(other < rank for other in ranks.values())
        tied = sum(other == rank for other in ranks.values())
        places = range(above, above + tied)
        found[item] = np.mean([0.5 - (place + 0.5) / size for place in places])
    return found


def scored_lists(features, kinds):
    """Worker, features of the documents and their scores, for every list."""
    found = []
    for kind, frame in kinds.items():
        for (query, worker), own in frame.group_by("query", "worker", maintain_order=True):
            documents = features.filter(pl.col("query") == query)
            ranks = dict(zip(own["item"], own["rank"], strict=True))
            if kind == "top":
                ranks |= {item: 99 for item in documents["item"] if item not in ranks}
            scores = places_to_scores(ranks, len(ranks))
            x = {row["item"]: [row[name] for name in FEATURES] for row in documents.iter_rows(named=True)}
            found.append((worker, np.array([x[item] for item in ranks]), np.array([scores[i] for i in ranks])))
    return found


@cache
def lists():
    return scored_lists(*frames())


def center(x):
    return x - x.mean(axis=0)


def alternate(lists, penalty, turns=100):
    """Weighted ridge regression and mean squared errors in turn, list by list."""
    names = sorted({worker for worker, _, _ in lists})
    precision = dict.fromkeys(names, 1.0)
    for _ in range(turns):
        matrix, vector = penalty * np.eye(len(FEATURES)), np.zeros(len(FEATURES))
        for worker, x, y in lists:
            matrix += precision[worker] * center(x).T @ center(x)
            vector += precision[worker] * center(x).T @ y
        w = np.linalg.solve(matrix, vector)
        for name in names:
            own = [(x, y) for worker, x, y in lists if worker == name]
            square = sum(((y - center(x) @ w) ** 2).sum() for x, y in own)
            precision[name] = 1 / max(square / sum(len(y) - 1 for _, y in own), LEAST_VARIANCE)
    return w, precision


def log_likelihood(w, precision, lists):
    """ln of the density of the free scores of every list."""
    return sum(
        0.5 * (len(y) - 1) * np.log(precision[worker] / (2 * np.pi))
        - 0.5 * precision[worker] * ((y - center(x) @ w) ** 2).sum()
        for worker, x, y in lists
    )


@cache
def fitted():
    return fit(frames()[0], tables())


def test_the_fixed_point_is_that_of_a_plain_alternation():
    w, precision = alternate(lists(), PENALTY)
    assert fitted().fit_.converged
    np.testing.assert_allclose(weights(fitted()), w, atol=1e-8)
    assert precisions(fitted()) == pytest.approx(precision, rel=1e-7)
    assert fitted().fit_.log_likelihood == pytest.approx(log_likelihood(w, precision, lists()))


def test_it_is_the_maximum_of_the_penalized_likelihood():
    names = sorted(precisions(fitted()))

    def loss(x):
        w, precision = x[:4], dict(zip(names, np.exp(x[4:]), strict=True))
        return 0.5 * PENALTY * w @ w - log_likelihood(w, precision, lists())

    best = minimize(loss, np.append(np.zeros(4), np.full(len(names), 2.0)), method="BFGS")
    np.testing.assert_allclose(weights(fitted()), best.x[:4], atol=1e-4)
    assert precisions(fitted()) == pytest.approx(dict(zip(names, np.exp(best.x[4:]), strict=True)), rel=1e-3)


def test_the_likelihood_rises_with_every_turn():
    seen = []
    fit(frames()[0], tables(), penalty=0.0, progress=lambda step, value, change: seen.append(value))
    assert len(seen) > 5
    assert (np.diff(seen) >= -1e-9).all()


def full_lists(noise, seed=0, queries=30, documents=8):
    """Features, and full lists by workers with these amounts of noise."""
    features = labeled_frame(seed, queries, documents).drop("label")
    rng, x = np.random.default_rng(seed + 1), features.select(FEATURES).to_numpy().astype(float)
    found = []
    for worker, sd in noise.items():
        seen = x @ WEIGHTS + sd * rng.normal(size=len(x))
        found.append(features.select("query", "item").with_columns(worker=pl.lit(worker), seen=pl.Series(seen)))
    ranks = pl.col("seen").rank(descending=True).over("query", "worker").cast(pl.Int64).alias("rank")
    return features, pl.concat(found).with_columns(ranks).drop("seen")


def test_equal_lists_are_a_plain_regression():
    features, one = full_lists({"ann": 0.5})
    every = pl.concat([one.with_columns(worker=pl.lit(worker)) for worker in ("ann", "bob", "cy")])
    ranker = fit(features, every, penalty=0.0)
    labels = one.with_columns(label=1.0 - (pl.col("rank") - 0.5) / 8)  # the same scores, from 0 to 1
    plain = make_ranker("regression", "linear", {"penalty": 0.0, "standardize": None})
    plain.fit(features.join(labels.select("query", "item", "label"), on=["query", "item"]))
    np.testing.assert_allclose(weights(ranker), weights(plain), atol=1e-10)
    assert len({round(own, 9) for own in precisions(ranker).values()}) == 1


def test_the_noisier_the_less_precise():
    features, judgments = full_lists({"careful": 0.2, "usual": 1.0, "spammer": 50.0})
    found = precisions(fit(features, judgments))
    assert found["careful"] > 2 * found["usual"] > 4 * found["spammer"]
    table = fit(features, judgments).workers_.polars()
    assert dict(zip(table["worker"], table["verdict"], strict=True))["careful"] == "reliable"
    assert table["quality"].is_between(table["low"], table["high"]).all()
    assert table["judgments"].to_list() == [30.0] * 3


def test_quality_is_the_share_of_pairs_on_which_worker_and_ranker_agree():
    scores = fitted().score(frames()[0]).polars()
    agreed = ordered = 0.0
    for kind, frame in frames()[1].items():
        for (query, worker), own in frame.group_by("query", "worker"):
            fixed = dict(scores.filter(pl.col("query") == query).select("item", "score").iter_rows())
            ranks = dict(zip(own["item"], own["rank"], strict=True))
            if kind == "top":
                ranks |= {item: 99 for item in fixed if item not in ranks}
            if worker == "bob":
                pairs = [(a, b) for a in ranks for b in ranks if ranks[a] < ranks[b]]
                ordered, agreed = ordered + len(pairs), agreed + sum(fixed[a] > fixed[b] for a, b in pairs)
    table = fitted().workers_.polars()
    assert table.filter(pl.col("worker") == "bob")["quality"].item() == pytest.approx(agreed / ordered)


def test_unranked_documents_are_below_or_unknown_as_the_caller_says():
    features, kinds = frames()
    for unranked, kind in (("below", "top"), ("unknown", "full")):
        ranker = fit(features, kinds["top"], unranked=unranked)
        w, precision = alternate(scored_lists(features, {kind: kinds["top"]}), PENALTY)
        np.testing.assert_allclose(weights(ranker), w, atol=1e-8)
        assert precisions(ranker) == pytest.approx(precision, rel=1e-7)


def test_a_weight_of_2_is_the_same_list_in_two_tables():
    features, kinds = frames()
    first = pl.col("query").is_in(["q000", "q003"])
    weighted = kinds["full"].with_columns(weight=pl.when(first).then(2.0).otherwise(1.0))
    one, two = fit(features, weighted), fit(features, [kinds["full"], kinds["full"].filter(first)])
    np.testing.assert_allclose(weights(one), weights(two), atol=1e-12)
    assert precisions(one) == pytest.approx(precisions(two), rel=1e-12)


def test_a_pair_is_a_list_of_two():
    features, kinds = frames()
    two = kinds["full"].filter(pl.col("item").is_in(["d0", "d1"]))
    two = two.filter(pl.len().over("query", "worker") == 2, pl.col("rank").n_unique().over("query", "worker") == 2)
    sides = two.sort("rank").group_by("query", "worker", maintain_order=True).agg("item")
    pairs = sides.select("query", "worker", left=pl.col("item").list[0], right=pl.col("item").list[1])
    pairs = pairs.with_columns(label=pl.col("left"))
    lists, votes = fit(features, two), fit(features, pairs)
    np.testing.assert_allclose(weights(lists), weights(votes), atol=1e-12)
    assert precisions(lists) == pytest.approx(precisions(votes), rel=1e-9)
    both = fit(features, [kinds["partial"], pairs]).workers_.polars()
    assert both["precision_pairs"].drop_nans().len() == pairs["worker"].n_unique()
    assert both["worker"].n_unique() == both.height


def test_one_worker():
    features, judgments = full_lists({"ann": 1.0})
    ranker = fit(features, judgments)
    w, precision = alternate(scored_lists(features, {"full": judgments}), PENALTY)
    np.testing.assert_allclose(weights(ranker), w, atol=1e-8)
    assert precisions(ranker) == pytest.approx(precision, rel=1e-7)


def test_a_worker_whom_the_ranker_reproduces_has_the_largest_precision():
    features, rest = full_lists({"bob": 1.0}, documents=2)
    x = features.select(FEATURES).to_numpy().astype(float)
    exact = features.select("query", "item").with_columns(worker=pl.lit("ann"), seen=pl.Series(x[:, 0]))
    exact = exact.with_columns(pl.col("seen").rank(descending=True).over("query").cast(pl.Int64).alias("rank"))
    features = features.join(exact.select("query", "item", "rank"), on=["query", "item"]).rename({"rank": "place"})
    ranker = fit(features, pl.concat([exact.drop("seen"), rest], how="diagonal"), penalty=1e-3)
    assert precisions(ranker)["ann"] == 1 / LEAST_VARIANCE
    note = next(note for note in ranker.fit_.warnings if note.code == "bound")
    assert "1 worker" in note.message
    assert "ann" in note.message


def test_true_lists_outweigh_the_crowd_and_gold_has_no_effect():
    features, judgments = full_lists({"ann": 20.0, "bob": 20.0})
    _, truth = full_lists({"truth": 0.0})
    without, with_ = fit(features, judgments), fit(features, judgments, anchors=truth.drop("worker"))
    cosine = [
        own @ WEIGHTS / np.linalg.norm(own) / np.linalg.norm(WEIGHTS) for own in map(weights, (without, with_))
    ]
    assert cosine[1] > 0.99 > cosine[0]
    gold = labeled_frame(0, 30, 8).select("query", "item", "label")
    measured = fit(features, judgments, gold=gold)
    assert (weights(measured) == weights(without)).all()
    assert "ranker" in measured.fit_.details["measured"]


def test_side_information_is_an_error():
    features, judgments = full_lists({"ann": 1.0})
    known = pl.DataFrame({"worker": ["ann"], "kind": ["known"], "value": [1.0]})
    with pytest.raises(UsageError, match="which lregma does not have"):
        fit(features, judgments, side_info=known)


def test_judgments_at_scoring_time_are_an_error():
    with pytest.raises(UsageError, match=r"lregma scores documents by their features alone\."):
        fitted().score(frames()[0], frames()[1]["full"])


@pytest.mark.parametrize("scorer", ["linear", "trees", "net"])
def test_every_scorer_learns_and_validates(scorer):
    features, judgments = full_lists({"ann": 0.3, "bob": 1.0, "cy": 20.0})
    settings = {"linear": {}, "trees": {"rounds": 60, "min_rows": 5}, "net": {"hidden": [4, 2], "limit": 60}}[
        scorer
    ]
    ranker = make_ranker("lregma", scorer, settings).fit(features, judgments, validation=0.3)
    truth = features.select(FEATURES).to_numpy() @ WEIGHTS
    scores = ranker.score(features).polars()["score"].to_numpy()
    assert np.corrcoef(scores, truth)[0, 1] > 0.75
    curve = ranker.validation_.polars()["value"]
    assert curve[-1] > curve[0]
    found = precisions(ranker)
    assert found["ann"] > found["bob"] > found["cy"]


def test_too_few_turns_are_noted():
    ranker = LRegMA(iterations=2).fit(frames()[0], tables())
    assert not ranker.fit_.converged
    assert "not-converged" in {note.code for note in ranker.fit_.warnings}
