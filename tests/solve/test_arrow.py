"""The arrow matrix against the whole matrix written out, by every way of solving it."""

from dataclasses import replace

import numpy as np
import pytest

from crowdrank.solve import Arrow, NotPositiveError, Rescaled, matrices
from crowdrank.solve.arrow import Border

PART = np.array([0, 0, 0, 1, 1, 2], np.int32)


def random_arrow(workers=4, size=1, sparse=False, part=PART, seed=0):
    """A positive definite arrow matrix whose items are block-diagonal over the parts."""
    rng = np.random.default_rng(seed)
    n = len(part)
    items = rng.normal(size=(n, n))
    items = (items @ items.T + 9 * np.eye(n)) * (part[:, None] == part[None, :])
    blocks = rng.normal(size=(workers, size, size))
    blocks = blocks @ blocks.transpose(0, 2, 1) + 9 * np.eye(size)
    coupling = rng.normal(size=(n, workers * size)) * (rng.random((n, workers * size)) < 0.6)
    if sparse:
        from scipy.sparse import csc_array, csr_array

        items, coupling = csr_array(items), (csc_array if sparse == "csc" else csr_array)(coupling)
    return Arrow(items, coupling, blocks, part)


def whole(arrow):
    items = arrow.items if isinstance(arrow.items, np.ndarray) else arrow.items.toarray()
    coupling = arrow.coupling if isinstance(arrow.coupling, np.ndarray) else arrow.coupling.toarray()
    return np.block([[items, coupling], [coupling.T, matrices.block_diagonal(arrow.workers)]])


@pytest.fixture(params=["workers", "parts", "iterative"])
def method(request, monkeypatch):
    monkeypatch.setattr(Arrow, "method", request.param)
    return request.param


@pytest.mark.parametrize("sparse", [False, "csr", "csc"])
@pytest.mark.parametrize("size", [1, 2, 3])
class TestEveryMethod:
    def test_solve(self, method, size, sparse):
        arrow = random_arrow(size=size, sparse=sparse)
        rng = np.random.default_rng(1)
        scores, workers = rng.normal(size=6), rng.normal(size=(4, size))
        found = np.concatenate([part.ravel() for part in arrow.solve(scores, workers)])
        expected = np.linalg.solve(whole(arrow), np.concatenate([scores, workers.ravel()]))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)

    def test_covariance(self, method, size, sparse):
        arrow = random_arrow(size=size, sparse=sparse)
        inverse = np.linalg.inv(whole(arrow))
        covariance = arrow.covariance()
        for part in range(3):
            nodes = np.flatnonzero(part == PART)[::-1].copy()
            np.testing.assert_allclose(covariance.block(nodes), inverse[np.ix_(nodes, nodes)], rtol=1e-7)
            block = inverse[np.ix_(nodes, nodes)]
            centre = np.eye(len(nodes)) - 1 / len(nodes)
            expected = (centre @ block @ centre).diagonal()
            np.testing.assert_allclose(covariance.variance(nodes), expected, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(covariance.score_variance(), inverse.diagonal()[:6], rtol=1e-7)
        if method == "iterative":
            return  # the variances of workers come from draws
        np.testing.assert_allclose(covariance.worker_variance().ravel(), inverse.diagonal()[6:], rtol=1e-9)

    def test_a_combination_of_worker_parameters(self, method, size, sparse):
        arrow = random_arrow(size=size, sparse=sparse)
        inverse, weights = np.linalg.inv(whole(arrow)), np.random.default_rng(4).normal(size=(4, size))
        across, own = arrow.covariance().with_combination(weights)
        np.testing.assert_allclose(across, inverse[:6, 6:] @ weights.ravel(), rtol=1e-6, atol=1e-9)
        assert own == pytest.approx(weights.ravel() @ inverse[6:, 6:] @ weights.ravel(), rel=1e-6)

    def test_held_parameters_do_not_move(self, method, size, sparse):
        arrow = random_arrow(size=size, sparse=sparse)
        fixed = np.zeros((4, size), bool)
        fixed[1, 0] = fixed[3] = True
        gradient = np.where(fixed, 0.0, np.random.default_rng(2).normal(size=(4, size)))
        scores, workers, _ = arrow.hold(fixed).solve(np.ones(6), gradient)
        assert np.abs(workers[fixed]).max() < 1e-12
        keep = np.append(np.ones(6, bool), ~fixed.ravel())
        expected = np.linalg.solve(whole(arrow)[np.ix_(keep, keep)], np.append(np.ones(6), gradient[~fixed]))
        np.testing.assert_allclose(np.append(scores, workers[~fixed]), expected, rtol=1e-7, atol=1e-9)

    def test_damping_adds_to_the_diagonal(self, method, size, sparse):
        arrow = random_arrow(size=size, sparse=sparse)
        expected = whole(arrow) + 0.3 * np.diag(np.abs(whole(arrow).diagonal()))
        np.testing.assert_allclose(whole(arrow.damp(0.3)), expected)


def bordered(size=2, seed=3):
    """The arrow of workers whose first column, and last where there are two, has a common parameter."""
    arrow = random_arrow(size=size)
    columns = [0, size - 1] if size > 1 else [0]
    carried = np.zeros((4, size, len(columns)))
    for place, column in enumerate(columns):
        carried[:3, column, place] = 1.0  # the last worker is no member
    flat = carried.reshape(-1, len(columns))
    blocks = matrices.block_diagonal(arrow.workers - 4 * np.eye(size))  # the rest is the deviations' prior
    border = Border(arrow.coupling @ flat, (blocks @ flat).reshape(carried.shape), flat.T @ blocks @ flat, carried)
    across = np.vstack([border.scores, border.workers.reshape(-1, len(columns))])
    return replace(arrow, border=border), np.block([[whole(arrow), across], [across.T, border.own]])


@pytest.mark.parametrize("size", [1, 2, 3])
class TestBorder:
    def test_solve(self, size, method):
        arrow, full = bordered(size)
        right = np.random.default_rng(5).normal(size=len(full))
        ends = 6, 6 + 4 * size
        scores, workers, common = np.split(right, ends)
        found = arrow.solve(scores, workers.reshape(4, size), common)
        np.testing.assert_allclose(
            np.concatenate([part.ravel() for part in found]), np.linalg.solve(full, right), rtol=1e-7, atol=1e-9
        )

    @pytest.mark.parametrize("method", ["workers", "parts"])
    def test_covariance(self, size, method, monkeypatch):
        monkeypatch.setattr(Arrow, "method", method)
        arrow, full = bordered(size)
        inverse, count = np.linalg.inv(full), arrow.border.own.shape[0]
        covariance = arrow.covariance()
        np.testing.assert_allclose(covariance.common_covariance(), inverse[-count:, -count:], rtol=1e-9)
        np.testing.assert_allclose(covariance.score_variance(), inverse.diagonal()[:6], rtol=1e-9)
        own = slice(6, 6 + 4 * size)
        np.testing.assert_allclose(covariance.deviation_variance().ravel(), inverse.diagonal()[own], rtol=1e-9)
        # a worker's value is the deviation plus the common parameter
        onto = np.hstack([np.eye(4 * size), arrow.border.carried.reshape(4 * size, count)])
        values = onto @ inverse[6:, 6:] @ onto.T
        np.testing.assert_allclose(covariance.worker_variance().ravel(), values.diagonal(), rtol=1e-9)
        nodes = np.flatnonzero(PART == 0)
        np.testing.assert_allclose(covariance.block(nodes), inverse[np.ix_(nodes, nodes)], rtol=1e-7)

    def test_a_combination_of_worker_parameters(self, size, method):
        arrow, full = bordered(size)
        inverse, count = np.linalg.inv(full), arrow.border.own.shape[0]
        weights = np.random.default_rng(7).normal(size=(4, size))
        # a worker's value is the deviation plus the common parameter
        onto = np.hstack([np.eye(4 * size), arrow.border.carried.reshape(4 * size, count)]).T @ weights.ravel()
        across, own = arrow.covariance().with_combination(weights)
        np.testing.assert_allclose(across, inverse[:6, 6:] @ onto, rtol=1e-6, atol=1e-9)
        assert own == pytest.approx(onto @ inverse[6:, 6:] @ onto, rel=1e-6)

    def test_deviations_that_are_held_leave_the_common_parameter(self, size, method):
        arrow, full = bordered(size)
        fixed = np.zeros((4, size), bool)
        fixed[:, 0] = True
        keep = np.concatenate([np.ones(6, bool), ~fixed.ravel(), np.ones(arrow.border.own.shape[0], bool)])
        right = np.random.default_rng(6).normal(size=len(full)) * keep
        scores, workers, common = np.split(right, (6, 6 + 4 * size))
        found = arrow.hold(fixed).solve(scores, workers.reshape(4, size), common)
        expected = np.linalg.solve(full[np.ix_(keep, keep)], right[keep])
        flat = np.concatenate([part.ravel() for part in found])
        np.testing.assert_allclose(flat[keep], expected, rtol=1e-7, atol=1e-9)


def test_scores_in_another_unit_that_is_uncertain_too():
    """d(c s) = c ds + s dc, against the whole covariance of (s, c)."""
    inner = random_arrow().covariance()
    weights = np.full((4, 1), 0.25)
    scores, scale = np.arange(6.0), 2.0
    jacobian = np.hstack([scale * np.eye(6), scores[:, None]])
    block = np.linalg.inv(whole(random_arrow()))
    onto = np.vstack([np.eye(10)[:6], np.append(np.zeros(6), weights)])
    expected = jacobian @ onto @ block @ onto.T @ jacobian.T
    found = Rescaled(inner, scores, scale, weights, np.ones(1))
    nodes = np.flatnonzero(PART == 0)
    np.testing.assert_allclose(found.block(nodes), expected[np.ix_(nodes, nodes)], rtol=1e-9)
    centre = np.eye(3) - 1 / 3
    by_hand = (centre @ expected[np.ix_(nodes, nodes)] @ centre).diagonal()
    np.testing.assert_allclose(found.variance(nodes), by_hand, rtol=1e-9)


def test_without_workers_the_parts_are_solved_alone():
    arrow = random_arrow(workers=0)
    step, workers, _ = arrow.solve(np.ones(6), np.zeros((0, 1)))
    np.testing.assert_allclose(arrow.items @ step, np.ones(6), atol=1e-12)
    assert workers.shape == (0, 1)


def test_many_equal_parts_are_solved_together():
    part = np.repeat(np.arange(5), 2).astype(np.int32)
    arrow = random_arrow(workers=3, part=part)
    assert arrow.method == "parts"
    step, *_ = arrow.solve(np.ones(10), np.ones((3, 1)))
    np.testing.assert_allclose(step, np.linalg.solve(whole(arrow), np.ones(13))[:10], atol=1e-12)


@pytest.mark.parametrize("method", ["workers", "parts", "iterative"])
def test_an_indefinite_matrix_is_refused(method, monkeypatch):
    monkeypatch.setattr(Arrow, "method", method)
    arrow = random_arrow()
    bad = Arrow(arrow.items - 100 * np.eye(6), arrow.coupling, arrow.workers, PART)
    with pytest.raises(NotPositiveError):
        bad.solve(np.ones(6), np.ones((4, 1)))


@pytest.mark.parametrize("method", ["workers", "parts"])
def test_the_gauge_holds_the_level_of_each_part(method, monkeypatch):
    monkeypatch.setattr(Arrow, "method", method)
    laplacian = np.array([[2.0, -1, -1], [-1, 1, 0], [-1, 0, 1]])
    arrow = Arrow(laplacian, np.zeros((3, 1)), np.ones((1, 1, 1)), np.zeros(3, np.int32), gauge=True)
    gradient = np.array([1.0, -2.0, 1.0])
    step, *_ = arrow.solve(gradient, np.zeros((1, 1)))
    np.testing.assert_allclose(laplacian @ step, gradient, atol=1e-12)
    assert step.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("height", [4, 1000])
def test_accumulate_dense_sparse_and_in_a_strip_agree(height, monkeypatch):
    rows, columns, values = np.array([2, 3, 3, 2]), np.array([2, 0, 0, 2]), np.array([1.0, 2.0, 3.0, 4.0])
    rows = rows if height == 4 else np.append(rows, 999)  # far apart: no strip
    columns, values = np.resize(columns, len(rows)), np.resize(values, len(rows))
    dense = matrices.accumulate(rows, columns, values, (height, 3))
    monkeypatch.setattr(matrices, "DENSE_CELLS", 0)
    sparse = matrices.accumulate(rows, columns, values, (height, 3))
    assert dense[2:4].tolist() == [[0, 0, 1 + 4], [2 + 3, 0, 0]]
    assert sparse.toarray().tolist() == dense.tolist()
