"""Lists with a quality for each worker: the scores by finite differences, and what copies and spammers do."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.measures import kendall_tau
from crowdrank.models.agreement import variance_between
from crowdrank.models.lists.crowd_lists import (
    CrowdLists,
    _WorkerScores,
    savage_scores,
    weigh_workers,
)
from crowdrank.prepared.lists import Lists
from helpers import random_lists


def log_likelihood(strength, ranked, rest):
    """Plackett-Luce of a list, item by item."""
    left = [*ranked, *rest]
    total = 0.0
    for item in ranked:
        total += strength[item] - np.log(np.exp(strength[left]).sum())
        left.remove(item)
    return total


@pytest.mark.parametrize(("ranked", "rest"), [([2, 0, 1, 3], []), ([3, 1], [0, 2]), ([1], [0, 2, 3])])
def test_scores_are_the_gradient_at_equal_strengths(ranked, rest):
    rows = [("w", f"i{item}", place) for place, item in enumerate(ranked, 1)]
    rows += [("w", f"i{item}", None) for item in rest]
    lists = Lists(cr.read(pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row")))
    found = np.zeros(4)
    found[lists.node] = savage_scores(lists)
    step = 1e-6
    for item in range(4):
        up, down = (np.where(np.arange(4) == item, sign * step, 0.0) for sign in (1, -1))
        slope = (log_likelihood(up, ranked, rest) - log_likelihood(down, ranked, rest)) / (2 * step)
        assert found[item] == pytest.approx(slope, abs=1e-8)
    assert found.sum() == pytest.approx(0, abs=1e-12)


def test_tied_items_share_their_mean():
    frame = pl.DataFrame({"worker": list("www"), "item": list("abc"), "rank": [1, 1, 2]})
    scores = savage_scores(Lists(cr.read(frame)))
    assert scores[0] == scores[1] == pytest.approx((2 / 3 + 1 / 6) / 2)


def crowd(seed, items=30, queries=12, good=6, bad=4, twins=0):
    """Lists of good workers, of workers who know little, and of copies of the first of the bad ones."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.normal(0, 1, (queries, items)), []
    for query in range(queries):
        noisy = [(f"good{k}", truth[query] + rng.normal(0, 0.7, items)) for k in range(good)]
        noisy += [(f"bad{k}", 0.2 * truth[query] + rng.normal(0, 1, items)) for k in range(bad)]
        _, first_bad = noisy[good]
        noisy += [(f"twin{k}", first_bad + rng.normal(0, 0.05, items)) for k in range(twins)]
        for worker, seen in noisy:
            rows += [(f"q{query}", worker, f"i{i}", r + 1) for r, i in enumerate(np.argsort(-seen))]
    frame = pl.DataFrame(rows, schema=["query", "worker", "item", "rank"], orient="row")
    return frame, truth


def accuracy(model, truth):
    table = model.ranking_.polars()
    taus = []
    for (query,), part in table.group_by("query"):
        own = truth[int(query[1:])][[int(item[1:]) for item in part["item"]]]
        taus.append(kendall_tau(part["score"].to_numpy(), own))
    return np.mean(taus)


def test_good_workers_count_for_more():
    frame, truth = crowd(0)
    fitted, equal = CrowdLists().fit(frame), CrowdLists(quality="equal").fit(frame)
    people = fitted.workers_.polars()
    good = people["worker"].str.starts_with("good")
    assert people.filter(good)["weight"].min() > 2 * people.filter(~good)["weight"].max()
    assert accuracy(fitted, truth) > accuracy(equal, truth) + 0.02


def test_twins_do_not_take_over():
    frame, truth = crowd(1)
    many, _ = crowd(1, twins=12)
    plain, fooled, fitted = (
        accuracy(model.fit(given), truth)
        for model, given in ((CrowdLists(), frame), (CrowdLists(quality="equal"), many), (CrowdLists(), many))
    )
    assert fooled < plain - 0.1
    assert fitted > plain - 0.02
    model = CrowdLists().fit(many)
    assert "look-alikes" in {note.code for note in model.fit_.warnings}
    copies = model.workers_.polars().filter(pl.col("worker").str.starts_with("twin"))["copies"]
    assert copies.min() > 6


def test_exact_copies_count_once():
    frame, _ = crowd(2, queries=30)
    again = pl.concat(
        [frame, *(frame.filter(worker="bad0").with_columns(worker=pl.lit(f"copy{k}")) for k in range(4))]
    )
    once, many = (CrowdLists().fit(given).workers_.polars() for given in (frame, again))
    alone = once.filter(worker="bad0")["weight"].item()
    together = many.filter(pl.col("worker").str.contains("bad0|copy"))["weight"].sum()
    assert together == pytest.approx(alone, rel=0.1)  # how far weights are trusted also depends on the lists
    assert many.filter(worker="copy1")["copies"].item() == pytest.approx(5, rel=0.02)


def test_popular_orders_of_few_items_are_not_copies():
    rng = np.random.default_rng(0)
    rows = []
    for worker in range(300):
        order = np.argsort(-(np.array([2, 1, 0, -1]) + rng.gumbel(0, 1, 4)))
        rows += [(f"w{worker}", f"i{item}", place) for place, item in enumerate(order, 1)]
    model = CrowdLists().fit(pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row"))
    assert model.workers_.polars()["copies"].max() < 1.1
    assert model.ranking_.polars()["item"].to_list() == ["i0", "i1", "i2", "i3"]


def test_the_weights_are_a_fixed_point():
    lists = Lists(cr.read(random_lists(seed=3, queries=4)))
    fitted = CrowdLists().fit(random_lists(seed=3, queries=4))
    people = fitted.workers_.polars()
    everyone = _WorkerScores.of(lists, savage_scores(lists))
    quality, copies = people["agreement"].to_numpy(), people["copies"].to_numpy()
    alike = everyone.shared_errors(quality)
    found = everyone.agreement(quality / copies * (1 - alike))
    shrunk = (everyone.items * found + 10 * found.mean()) / (everyone.items + 10)
    np.testing.assert_allclose(np.maximum(shrunk, 0), quality, atol=1e-9)
    np.testing.assert_allclose((alike**8).sum(axis=1), people["copies"], atol=1e-9)


def test_quality_is_shrunk_by_what_one_worker_less_would_change():
    """The variance by leaving out each worker in turn, the shrinkage by its definition; some items are missing."""
    rng = np.random.default_rng(0)
    frame, _ = crowd(7, items=12, queries=3, good=3, bad=3)
    frame = frame.filter(pl.Series(rng.random(len(frame)) < 0.8))
    lists = Lists(cr.read(frame))
    everyone, found = _WorkerScores.of(lists, savage_scores(lists)), weigh_workers(lists)
    alike, weight = everyone.shared_errors(found.quality), found.quality / found.copies
    q = everyone.agreement(weight * (1 - alike))
    degrees = frame.group_by("worker", "query").len().group_by("worker").agg(pl.col("len").sum() - pl.len())
    s2 = (1 - q**2) ** 2 / degrees.sort("worker")["len"].to_numpy()
    without = np.zeros((6, 6))
    for v in range(6):
        less = everyone.agreement(np.where(np.arange(6) == v, 0, weight) * (1 - alike))
        without[:, v] = np.maximum(less, 0)
        s2 += 2 * np.where(np.arange(6) == v, 0, (q - without[:, v]) ** 2)
    np.testing.assert_allclose(everyone.without_each(weight * (1 - alike)), without, rtol=1e-9)
    tau2, mu = variance_between(q, s2)
    assert tau2 > 0
    assert ((q - mu) ** 2 / (tau2 + s2)).sum() == pytest.approx(5)
    trust = tau2 / (tau2 + s2)
    own = mu + trust[:, None] * (without - mu)
    gains = np.zeros(6)
    for w in range(6):  # nobody is a copy here
        better, plain = (
            everyone.agreement(np.where(np.arange(6) == w, 0, part))[w] for part in (own[:, w], np.ones(6))
        )
        gains[w] = better - plain
    assert found.copies == pytest.approx(np.ones(6), abs=1e-3)
    helps = 1 - gains.var(ddof=1) / 6 / gains.mean() ** 2
    assert 0 < helps < 1
    np.testing.assert_allclose(found.weight, mu + helps * trust * (q - mu), rtol=1e-3)


def noisy_lists(seed, deviations, shared=(), items=20, queries=1):
    """Lists with these deviations from the truth; the workers ``shared`` have 4/5 of their errors in common."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.normal(0, 1, (queries, items)), []
    for query in range(queries):
        common = rng.normal(0, 1, items)
        for worker, deviation in enumerate(deviations):
            error = rng.normal(0, 1, items)
            if worker in shared:
                error = np.sqrt(0.8) * common + np.sqrt(0.2) * error
            order = np.argsort(-(truth[query] + deviation * error))
            rows += [(f"q{query}", f"w{worker}", f"i{item}", place) for place, item in enumerate(order, 1)]
    return pl.DataFrame(rows, schema=["query", "worker", "item", "rank"], orient="row"), truth


def gain(**given):
    """How much the weights gain over equal ones, in Kendall's tau, over 8 draws."""
    gains = []
    for seed in range(8):
        frame, truth = noisy_lists(seed, **given)
        own, equal = (accuracy(CrowdLists(quality=kind).fit(frame), truth) for kind in ("estimated", "equal"))
        gains.append(own - equal)
    return np.mean(gains)


def test_equal_workers_count_the_same():
    """The weights of the fixed point lose .03 here."""
    assert gain(deviations=[2.0] * 6) > -0.01
    model = CrowdLists().fit(noisy_lists(0, [2.0] * 6)[0])
    assert "equal-weights" in {note.code for note in model.fit_.warnings}
    assert np.ptp(model.workers_.polars()["weight"].to_numpy()) == pytest.approx(0, abs=1e-12)


def test_poor_workers_who_share_their_errors_do_not_outvote_the_others():
    """Half of the workers vouch for each other; the weights of the fixed point lose .07 here."""
    assert gain(deviations=[1.0] * 3 + [2.0] * 3, shared=(3, 4, 5), queries=8) > -0.005


def test_weights_stay_where_workers_differ():
    assert gain(deviations=[0.7] * 6 + [5.0] * 4) > 0.015
    assert gain(deviations=[0.7] * 6 + [5.0] * 4, queries=6) > 0.07


def test_agreement_is_a_correlation_with_the_others():
    """By hand, one query, nobody alike."""
    frame, _ = crowd(4, queries=1, good=3, bad=1)
    lists = Lists(cr.read(frame))
    value = savage_scores(lists)
    scores = np.zeros((30, 4))
    scores[lists.node, lists.worker[lists.list]] = value
    weight = np.array([0.5, 1.0, 2.0, 0.3])
    found = _WorkerScores.of(lists, value).agreement(weight * (1 - np.eye(4)))
    for worker in range(4):
        others = scores @ np.where(np.arange(4) == worker, 0, weight)
        assert found[worker] == pytest.approx(np.corrcoef(scores[:, worker], others)[0, 1])


def test_workers_who_contradict_each_other():
    rows = [("v", "a", 1), ("v", "b", 2), ("w", "a", 2), ("w", "b", 1)]
    model = CrowdLists().fit(pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row"))
    assert "no-agreement" in {note.code for note in model.fit_.warnings}
    assert np.ptp(model.ranking_.score) == pytest.approx(0, abs=1e-12)


def test_a_wrong_parameter():
    with pytest.raises(cr.UsageError, match="'estimated' or 'equal'"):
        CrowdLists(quality="good").fit(random_lists())


@pytest.mark.parametrize("seed", range(6))
def test_workers_who_share_one_item_or_none(seed):
    """A correlation over one item is 1 or -1, and rounding may take it beyond."""
    rng, rows = np.random.default_rng(seed), []
    for worker in range(20):
        rows += [(f"w{worker}", f"i{item}", place) for place, item in enumerate(rng.permutation(12)[:4], 1)]
    model = CrowdLists().fit(pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row"))
    assert model.fit_.converged
    assert np.isfinite(model.ranking_.score).all()
    assert (
        model.workers_.polars().select(pl.col("agreement", "weight", "copies").is_finite().all()).row(0)
        == (True,) * 3
    )


def test_more_workers_than_can_be_told_apart(monkeypatch):
    from crowdrank.models.lists import crowd_lists

    frame, truth = crowd(5)
    some = CrowdLists().fit(frame)
    monkeypatch.setattr(crowd_lists, "MOST_WORKERS", 3)
    many = CrowdLists().fit(frame)
    assert "look-alikes" in {note.code for note in many.fit_.warnings}
    assert accuracy(many, truth) == pytest.approx(accuracy(some, truth), abs=0.02)
