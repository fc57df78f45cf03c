"""The shared likelihood: gradients and Hessians against finite differences, values against direct sums."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from crowdrank.engine import LocalEngine
from crowdrank.kernels import LOGISTIC, PROBIT
from crowdrank.kernels.compiled import can_compile
from crowdrank.models.eta import OnGrid
from crowdrank.models.pairs.compiled_sums import BLOCK
from crowdrank.models.pairs.likelihood import PairedSums, QualitySums
from crowdrank.models.priors import BetaPrior, NormalPrior, Priors, VirtualNode
from crowdrank.models.worker_parameters import ETA, LAPSE, LOG_SLOPE, POSITION, SLOPE, THRESHOLD
from crowdrank.prepared.comparisons import CodedVotes, plan, tally
from crowdrank.solve import At, Draw, Point
from crowdrank.solve.assembly import assembled
from crowdrank.solve.draws import DRAWS
from crowdrank.solve.matrices import block_diagonal, dense
from shards import cut_small

N, K = 5, 3
SCORES = np.array([0.3, -1.0, 0.8, 0.1, -0.4])
QUALITIES = np.array([0.9, 0.55, 0.2])
VALUES = {
    ETA: QUALITIES,
    LAPSE: np.array([-3.0, 0.5, -1.0]),
    SLOPE: np.array([1.3, 0.2, -0.6]),
    LOG_SLOPE: np.array([0.4, -1.0, 0.1]),
    POSITION: np.array([0.2, -0.7, 0.0]),
    THRESHOLD: np.array([-1.0, -0.3, 0.4]),
}
SHAPES = [
    (LOGISTIC, "half", ()),
    (PROBIT, "half", ()),
    (LOGISTIC, "half", (ETA,)),
    (PROBIT, "half", (ETA, POSITION)),
    (LOGISTIC, "half", (SLOPE,)),
    (LOGISTIC, "rao-kupper", (THRESHOLD,)),
    (PROBIT, "rao-kupper", (ETA, THRESHOLD)),
    (LOGISTIC, "davidson", (LOG_SLOPE, THRESHOLD)),
    (LOGISTIC, "davidson", (ETA, POSITION, THRESHOLD)),
    (LOGISTIC, "rao-kupper", (SLOPE, LAPSE, POSITION, THRESHOLD)),
]


@pytest.fixture(params=SHAPES, ids=lambda shape: "-".join([shape[0].name, shape[1], *map(str, shape[2])]))
def shape(request):
    return request.param


@pytest.fixture(params=[LOGISTIC, PROBIT], ids=lambda link: link.name)
def link(request):
    return request.param


def rows(shape, seed=0, votes=60):
    _, ties, columns = shape
    rng = np.random.default_rng(seed)
    left = rng.integers(0, N, votes)
    right = (left + rng.integers(1, N, votes)) % N
    outcome = rng.integers(0, 3, votes).astype(np.int8)
    worker = rng.integers(0, K, votes).astype(np.int32)
    weight = rng.uniform(0.5, 2.0, votes)
    given = CodedVotes(left, right, outcome, worker, weight)
    return tally(N, given, K if columns else 0, sided=POSITION in columns, ties=ties != "half")


def values(columns):
    return np.stack([VALUES[name] for name in columns], axis=1) if columns else np.zeros((0, 1))


def evaluate(shape, table, scores, workers, order="curvature", shard_rows=10**9, compiled=False):
    session, sums = LocalEngine(2).open(cut_small(plan, shard_rows, table)), PairedSums(*shape, compiled=compiled)
    at = Draw(scores, workers, 1) if order == "information" else At(scores, workers)
    return session.evaluate(getattr(sums, order), at)


def chances(shape, d, k):
    """Win, loss and tie of worker k at the difference d, by the definitions."""
    link, ties, columns = shape
    own = {name: VALUES[name][k] for name in columns}

    def F(x):  # noqa: N802 - as in the equations
        return float(link.values(np.array([x])).win[0])

    slope = np.exp(own[LOG_SLOPE]) if LOG_SLOPE in own else own.get(SLOPE, 1.0)
    x, t = slope * d + own.get(POSITION, 0.0), np.exp(own.get(THRESHOLD, 0.0))
    if ties == "half":
        win, loss, tie = F(x), F(-x), None
    elif ties == "rao-kupper":
        win, loss = F(x - t), F(-x - t)
        tie = 1 - win - loss
    else:
        total = np.exp(x / 2) + np.exp(-x / 2) + t
        win, loss, tie = np.exp(x / 2) / total, np.exp(-x / 2) / total, t / total
    eta = own.get(ETA, 1 - 0.5 * expit(own[LAPSE]) if LAPSE in own else 1.0)
    return eta * win + (1 - eta) * loss, eta * loss + (1 - eta) * win, tie


def dense_parts(sums):
    """Name and value of every sum, matrices as arrays."""
    return {
        name: dense(assembled(value)) if name in ("items", "coupling") else value
        for name, value in vars(sums).items()
    }


def whole(sums):
    items, coupling = dense(assembled(sums.items)), dense(assembled(sums.coupling))
    return np.block([[items, coupling], [coupling.T, block_diagonal(sums.workers_curvature)]])


def test_value_is_the_sum_over_votes(shape):
    table = rows(shape)
    expected = 0.0
    for row in range(len(table)):
        k = 0 if table.worker is None else table.worker[row]
        win, loss, tie = chances(shape, SCORES[table.i[row]] - SCORES[table.j[row]], k)
        expected += table.wins[row] * np.log(win) + table.losses[row] * np.log(loss)
        if tie is not None:
            expected += table.ties[row] * np.log(tie)
    assert evaluate(shape, table, SCORES, values(shape[2])).value == pytest.approx(expected, rel=1e-12)


def test_gradient_and_curvature_match_finite_differences(shape):
    table, start = rows(shape), values(shape[2])
    x = np.concatenate([SCORES, start.ravel()])

    def at(x):
        return evaluate(shape, table, x[:N], x[N:].reshape(start.shape))

    def gradient(x):
        sums = at(x)
        return np.concatenate([sums.scores, sums.workers.ravel()])

    here, h = at(x), 1e-6
    steps = np.eye(len(x)) * h
    by_value = np.array([(at(x + s).value - at(x - s).value) / (2 * h) for s in steps])
    np.testing.assert_allclose(gradient(x), by_value, rtol=1e-6, atol=1e-7)
    by_gradient = -np.array([(gradient(x + s) - gradient(x - s)) / (2 * h) for s in steps])
    np.testing.assert_allclose(whole(here), by_gradient, rtol=1e-5, atol=1e-6)


def test_outer_products_are_those_of_the_gradients_of_single_votes(shape):
    table, start = rows(shape), values(shape[2])
    found = evaluate(shape, table, SCORES, start, order="outer_products")
    total, nothing = 0.0, np.zeros(1)
    for row in range(len(table)):
        one = table.take(slice(row, row + 1))
        for outcome in ("wins", "losses", "ties"):
            count = getattr(one, outcome)
            if count is None or not count.any():
                continue
            only = dict.fromkeys(("wins", "losses"), nothing) | ({} if one.ties is None else {"ties": nothing})
            single = replace(one, **{**only, outcome: np.ones(1)})
            sums = evaluate(shape, single, SCORES, start, order="gradient")
            gradient = np.concatenate([sums.scores, sums.workers.ravel()])
            total = total + count[0] * np.outer(gradient, gradient)
    np.testing.assert_allclose(whole(found), total, atol=1e-12)


def test_blocks_of_rows_change_nothing(shape, monkeypatch):
    table = rows(shape, votes=300)
    at = At(SCORES, values(shape[2]), spread=np.full_like(values(shape[2]), 0.05))
    whole_shard = dense_parts(PairedSums(*shape).curvature(table, at))
    monkeypatch.setattr("crowdrank.models.pairs.row_terms.BLOCK", 7)
    for name, value in dense_parts(PairedSums(*shape).curvature(table, at)).items():
        np.testing.assert_allclose(value, whole_shard[name], rtol=1e-12, atol=1e-12)


def test_the_spread_is_the_mean_of_two_points(shape):
    table, start = rows(shape), values(shape[2])
    spread = np.linspace(0.01, 0.1, start.size).reshape(start.shape)
    found = PairedSums(*shape).curvature(table, At(SCORES, start, spread=spread))
    ends = [
        dense_parts(PairedSums(*shape).curvature(table, At(SCORES, start + sign * spread))) for sign in (-1, 1)
    ]
    for name, value in dense_parts(found).items():
        np.testing.assert_allclose(value, 0.5 * (ends[0][name] + ends[1][name]), atol=1e-12)


def test_expected_information_is_the_mean_of_the_observed(shape):
    """Averaged over the outcomes of each row, the observed curvature is the Fisher information."""
    table, start = rows(shape), values(shape[2])
    expected = evaluate(shape, table, SCORES, start, order="information")
    total = 0.0
    for row in range(len(table)):
        one = table.take(slice(row, row + 1))
        k = 0 if one.worker is None else one.worker[0]
        win, loss, tie = chances(shape, (SCORES[one.i] - SCORES[one.j])[0], k)
        ties = None if tie is None else one.weight * tie
        mean = replace(one, wins=one.weight * win, losses=one.weight * loss, ties=ties)
        total = total + whole(evaluate(shape, mean, SCORES, start))
    np.testing.assert_allclose(whole(expected), total, atol=1e-10)


def test_noise_has_the_covariance_of_the_information(shape):
    table = rows(shape, votes=400)
    sums = evaluate(shape, table, SCORES, values(shape[2]), order="information")
    noise, matrix = sums.noise, whole(sums)
    assert noise.shape == (len(matrix), DRAWS)
    scale = np.sqrt(np.outer(matrix.diagonal(), matrix.diagonal()))
    assert np.abs((noise @ noise.T / DRAWS - matrix) / scale).max() < 0.55  # Monte Carlo: 6 / sqrt(128)


def test_shards_change_nothing(shape):
    table = rows(shape, votes=300)
    one, many = (evaluate(shape, table, SCORES, values(shape[2]), shard_rows=size) for size in (10**9, 7))
    for name, value in dense_parts(one).items():
        np.testing.assert_allclose(dense_parts(many)[name], value, rtol=1e-12, atol=1e-12)


def test_a_tie_keeps_its_digits_far_from_equality():
    """F(x + t) - F(x - t) for a large x, where both are 1 to rounding."""
    from crowdrank.kernels import chances as kernel

    x, theta = np.array([40.0, -40.0]), np.log(np.array([0.5, 0.5]))
    tie = kernel(LOGISTIC, "rao-kupper", x, theta)[2].p
    np.testing.assert_allclose(tie, np.exp(-40.0) * (np.exp(0.5) - np.exp(-0.5)), rtol=1e-12)


CROWD_BT = ("half", (ETA,))


def test_quality_table_is_the_likelihood_on_the_grid(link):
    shape = (link, *CROWD_BT)
    table = rows(shape)
    grid = np.array([[0.1, 0.5, 0.9], [0.2, 0.6, 0.7], [0.3, 0.4, 1.0]])
    session = LocalEngine(1).open(cut_small(plan, 9, table))
    found = session.evaluate(QualitySums(link).table, OnGrid(SCORES, QUALITIES[:, None], grid))
    for place in range(3):
        expected = evaluate(shape, table, SCORES, grid[:, [place]]).value
        assert found.table[:, place].sum() == pytest.approx(expected, rel=1e-12)
    win = link.values(SCORES[table.i] - SCORES[table.j]).win
    assert found.agree == pytest.approx(table.weight @ np.maximum(win, 1 - win))
    assert found.votes == pytest.approx(table.weight.sum())


def test_workers_beyond_the_grid_do_not_count(link):
    table = rows((link, *CROWD_BT))
    session = LocalEngine(1).open(cut_small(plan, 9, table))
    found = session.evaluate(QualitySums(link).table, OnGrid(SCORES, QUALITIES[:, None], np.full((K - 1, 2), 0.5)))
    assert found.votes == pytest.approx(table.weight[table.worker < K - 1].sum())
    assert found.table.shape == (K - 1, 2)


PRIORS = [BetaPrior(1.0, 1.0), BetaPrior(4.0, 1.5), BetaPrior(4.0, 1.5, estimated=True), NormalPrior(1.0, 0.4)]


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_penalties_match_finite_differences(link, prior):
    penalty = Priors(VirtualNode(link, 0.7), (prior,), (NormalPrior(-1.0, 2.0),))
    start, h = Point(SCORES, QUALITIES[:, None], np.array([0.3])), 1e-5

    def moved(name, place, step):
        value = getattr(start, name).copy()
        value.flat[place] += step
        return penalty(replace(start, **{name: value})).value

    here = penalty(start)
    for name in ("scores", "workers", "common"):
        for place in range(getattr(start, name).size):
            up, down = moved(name, place, h), moved(name, place, -h)
            assert getattr(here, name).flat[place] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-8)
            curvature = -(up - 2 * here.value + down) / h**2
            found = getattr(here, f"{name}_curvature").flat[place]
            assert found == pytest.approx(curvature, rel=1e-3, abs=1e-3)


def test_virtual_node_is_two_votes_an_item(link):
    """lambda wins and losses of each item against an item of score 0 (section 3.2)."""
    strength, scores = 0.5, np.array([1.0, -2.0])
    found = link.values(scores)
    expected = strength * (np.log(found.win) + np.log(found.lose)).sum()
    assert VirtualNode(link, strength).terms(scores)[0] == pytest.approx(expected)


needs_compiler = pytest.mark.skipif(not can_compile(), reason="Numba is not installed")
COMPILED = [(LOGISTIC, "half", columns) for columns in ((ETA,), (SLOPE,), (LOG_SLOPE, LAPSE, POSITION))]


@needs_compiler
@pytest.mark.parametrize("shape", COMPILED, ids=lambda shape: "-".join(map(str, shape[2])))
@pytest.mark.parametrize("spread", [None, 0.05])
def test_compiled_loops_give_the_same_sums(shape, spread):
    table, workers = rows(shape, votes=200), values(shape[2])
    at = At(SCORES, workers, spread=None if spread is None else np.full_like(workers, spread))
    by_arrays, by_loops = PairedSums(*shape), PairedSums(*shape, compiled=True)
    for order in ("gradient", "curvature", "outer_products"):
        expected, found = getattr(by_arrays, order)(table, at), getattr(by_loops, order)(table, at)
        for name, value in dense_parts(expected).items():
            np.testing.assert_allclose(dense_parts(found)[name], value, rtol=1e-12, atol=1e-12)


@needs_compiler
@pytest.mark.parametrize("far", [False, True])
def test_compiled_loops_take_more_rows_than_a_block(far):
    """And keep their digits where the exponential function leaves the range of numbers."""
    rng = np.random.default_rng(0)
    left = rng.integers(0, 40, 2000)
    right, worker = (left + rng.integers(1, 40, 2000)) % 40, rng.integers(0, 10, 2000).astype(np.int32)
    table = tally(40, CodedVotes(left, right, rng.integers(0, 2, 2000).astype(np.int8), worker), 10, sided=True)
    assert len(table) > 2 * BLOCK
    workers = np.stack([rng.uniform(0.1, 0.9, 10), rng.normal(size=10)], axis=1)
    at = At(rng.normal(size=40) * (300 if far else 1), workers)
    shape = (LOGISTIC, "half", (ETA, POSITION))
    expected, found = (PairedSums(*shape, compiled=own).curvature(table, at) for own in (False, True))
    for name, value in dense_parts(expected).items():
        np.testing.assert_allclose(dense_parts(found)[name], value, rtol=1e-9, atol=1e-9 * np.abs(value).max())


@needs_compiler
def test_compiled_loops_take_the_logarithm_of_products_that_are_tiny():
    """With a spread there are two probabilities, and their product can be smaller than either may be."""
    shape, workers = (LOGISTIC, "half", (SLOPE,)), np.array([[1.0], [2.0], [0.5]])
    at = At(np.linspace(-60, 60, N), workers, spread=np.full_like(workers, 0.1))
    table = rows(shape, votes=200)
    for order in ("gradient", "curvature"):
        expected, found = (getattr(PairedSums(*shape, compiled=own), order)(table, at) for own in (False, True))
        assert found.value == pytest.approx(expected.value, rel=1e-12)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_compiler)])
@pytest.mark.parametrize("columns", [(ETA,), (ETA, POSITION), (LOG_SLOPE, LAPSE, POSITION)])
@pytest.mark.parametrize("shard_rows", [10**9, 7])
def test_sparse_sums_are_the_dense_ones(columns, compiled, shard_rows, monkeypatch):
    """Also over shards that share a worker."""
    shape = (LOGISTIC, "half", columns)
    table = rows(shape, votes=200)
    expected = dense_parts(evaluate(shape, table, SCORES, values(columns)))
    monkeypatch.setattr("crowdrank.solve.matrices.DENSE_CELLS", 0)
    found = evaluate(shape, table, SCORES, values(columns), shard_rows=shard_rows, compiled=compiled)
    assert not isinstance(assembled(found.items), np.ndarray)
    assert not isinstance(assembled(found.coupling), np.ndarray)
    for name, value in dense_parts(found).items():
        np.testing.assert_allclose(value, expected[name], atol=1e-12)


@needs_compiler
@pytest.mark.parametrize("weight", [1.0, 0.7])
def test_compiled_qualities_are_the_same_even_where_products_would_underflow(weight):
    far = np.linspace(-400, 400, N)
    votes = CodedVotes(
        left=np.arange(300) % N,
        right=(np.arange(300) + 1) % N,
        outcome=(np.arange(300) % 2).astype(np.int8),
        worker=(np.arange(300) // 80).astype(np.int32),
        weight=np.full(300, weight),
    )
    table, grid = tally(N, votes, K, sided=True), np.linspace([0.0] * (K - 1), [1.0] * (K - 1), 5).T
    shape = (LOGISTIC, "half", (ETA, POSITION))
    for scores in (SCORES, far):
        at = OnGrid(scores, values(shape[2]), grid)
        expected, found = (QualitySums(*shape, compiled=own).table(table, at) for own in (False, True))
        for name, value in vars(expected).items():
            np.testing.assert_allclose(getattr(found, name), value, rtol=1e-11)
