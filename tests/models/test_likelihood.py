"""The shared likelihood: gradients and Hessians against finite differences, values against direct sums."""

import numpy as np
import pytest

from crowdrank.data import CodedVotes, plan, tally
from crowdrank.engine import LocalEngine
from crowdrank.kernels import LOGISTIC, PROBIT
from crowdrank.models.paired.crowd_bt import BetaPrior, _Penalty
from crowdrank.models.paired.estimator import VirtualNode
from crowdrank.models.paired.likelihood import PairedSums, QualitySums
from crowdrank.solve import Point
from crowdrank.solve.draws import DRAWS
from crowdrank.solve.matrices import block_diagonal

N, K = 5, 3


def rows(workers=True, seed=0, votes=60):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, N, votes)
    right = (left + rng.integers(1, N, votes)) % N
    outcome = rng.integers(0, 3, votes).astype(np.int8)
    worker = rng.integers(0, K, votes).astype(np.int32)
    weight = rng.uniform(0.5, 2.0, votes)
    return tally(N, CodedVotes(left, right, outcome, worker, weight), K if workers else 0)


def evaluate(link, table, scores, eta, order=2, shard_rows=10**9):
    session = LocalEngine(2).open(PairedSums(link), plan(table, shard_rows))
    return session.evaluate({"scores": scores, "workers": eta[:, None], "order": order, "seed": 1}).shared


@pytest.fixture(params=[LOGISTIC, PROBIT], ids=lambda link: link.name)
def link(request):
    return request.param


SCORES = np.array([0.3, -1.0, 0.8, 0.1, -0.4])
ETA = np.array([0.9, 0.55, 0.2])


def test_value_is_the_sum_over_votes(link):
    table = rows()
    expected = 0.0
    for i, j, wins, losses, k in zip(table.i, table.j, table.wins, table.losses, table.worker, strict=True):
        win = link.values(np.array([SCORES[i] - SCORES[j]])).win[0]
        chance = ETA[k] * win + (1 - ETA[k]) * (1 - win)
        expected += wins * np.log(chance) + losses * np.log(1 - chance)
    assert evaluate(link, table, SCORES, ETA)["value"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("workers", [True, False])
def test_gradient_and_curvature_match_finite_differences(link, workers):
    table = rows(workers)
    eta = ETA if workers else np.zeros(0)
    x = np.concatenate([SCORES, eta])

    def at(x):
        return evaluate(link, table, x[:N], x[N:])

    def gradient(x):
        shared = at(x)
        return np.concatenate([shared["scores"], shared["workers"].ravel()])

    here, h = at(x), 1e-6
    steps = np.eye(len(x)) * h
    by_value = np.array([(at(x + s)["value"] - at(x - s)["value"]) / (2 * h) for s in steps])
    np.testing.assert_allclose(gradient(x), by_value, rtol=1e-6, atol=1e-7)
    by_gradient = -np.array([(gradient(x + s) - gradient(x - s)) / (2 * h) for s in steps])
    whole = np.block(
        [
            [here["items"], here["coupling"]],
            [here["coupling"].T, block_diagonal(here["workers_curvature"])],
        ]
    )
    np.testing.assert_allclose(whole, by_gradient, rtol=1e-5, atol=1e-6)


def test_expected_information_is_the_mean_of_the_observed(link):
    """Averaged over the outcomes of each row, the observed curvature is the Fisher information."""
    table = rows()
    expected = evaluate(link, table, SCORES, ETA, order="expected")
    total = np.zeros((N, N))
    for row in range(len(table)):
        one = table.take(slice(row, row + 1))
        votes = one.wins + one.losses
        win = link.values(SCORES[one.i] - SCORES[one.j]).win
        chance = ETA[one.worker] * win + (1 - ETA[one.worker]) * (1 - win)
        from dataclasses import replace

        mean = replace(one, wins=votes * chance, losses=votes * (1 - chance))
        total += evaluate(link, mean, SCORES, ETA)["items"]
    np.testing.assert_allclose(expected["items"], total, atol=1e-10)


def test_noise_has_the_covariance_of_the_information(link):
    table = rows(votes=400)
    shared = evaluate(link, table, SCORES, ETA, order="expected")
    noise = shared["noise"]
    assert noise.shape == (N + K, DRAWS)
    whole = np.block(
        [
            [shared["items"], shared["coupling"]],
            [shared["coupling"].T, block_diagonal(shared["workers_curvature"])],
        ]
    )
    scale = np.sqrt(np.outer(whole.diagonal(), whole.diagonal()))
    assert np.abs((noise @ noise.T / DRAWS - whole) / scale).max() < 0.4  # Monte Carlo: 4 / sqrt(128)


def test_shards_change_nothing(link):
    table = rows(votes=300)
    one, many = (evaluate(link, table, SCORES, ETA, shard_rows=size) for size in (10**9, 7))
    for name in one:
        np.testing.assert_allclose(many[name], one[name], rtol=1e-12, atol=1e-12)


def test_quality_table_is_the_likelihood_on_the_grid(link):
    table = rows()
    grid = np.array([[0.1, 0.5, 0.9], [0.2, 0.6, 0.7], [0.3, 0.4, 1.0]])
    session = LocalEngine(1).open(QualitySums(link), plan(table, 9))
    shared = session.evaluate({"scores": SCORES, "grid": grid}).shared
    for place in range(3):
        expected = evaluate(link, table, SCORES, grid[:, place])["value"]
        assert shared["table"][:, place].sum() == pytest.approx(expected, rel=1e-12)
    win = link.values(SCORES[table.i] - SCORES[table.j]).win
    weight = table.wins + table.losses
    assert shared["agree"] == pytest.approx(weight @ np.maximum(win, 1 - win))
    assert shared["votes"] == pytest.approx(weight.sum())


def test_workers_beyond_the_grid_do_not_count(link):
    table = rows()
    session = LocalEngine(1).open(QualitySums(link), plan(table, 9))
    shared = session.evaluate({"scores": SCORES, "grid": np.full((K - 1, 2), 0.5)}).shared
    assert shared["votes"] == pytest.approx((table.wins + table.losses)[table.worker < K - 1].sum())
    assert shared["table"].shape == (K - 1, 2)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (4.0, 1.5)])
def test_penalties_match_finite_differences(link, prior):
    penalty = _Penalty(link, 0.7, BetaPrior(*prior))
    point, h = Point(SCORES, ETA[:, None]), 1e-5

    def value(scores, eta):
        return penalty(Point(scores, eta)).value

    here = penalty(point)
    for place in range(N):
        step = np.eye(N)[place] * h
        up, down = value(SCORES + step, point.workers), value(SCORES - step, point.workers)
        assert here.scores[place] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-8)
        assert here.scores_curvature[place] == pytest.approx(-(up - 2 * here.value + down) / h**2, rel=1e-3)
    for place in range(K):
        step = np.eye(K)[place][:, None] * h
        up, down = value(SCORES, point.workers + step), value(SCORES, point.workers - step)
        assert here.workers[place, 0] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-8)
        curvature = -(up - 2 * here.value + down) / h**2
        assert here.workers_curvature[place, 0] == pytest.approx(curvature, rel=1e-3, abs=1e-3)


def test_virtual_node_is_two_votes_an_item(link):
    """lambda wins and losses of each item against an item of score 0 (section 3.2)."""
    strength, scores = 0.5, np.array([1.0, -2.0])
    values = link.values(scores)
    expected = strength * (np.log(values.win) + np.log(values.lose)).sum()
    assert VirtualNode(link, strength)(Point(scores, np.zeros((0, 1)))).value == pytest.approx(expected)
