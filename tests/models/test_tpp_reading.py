"""The reading of a TPP answer against a simulation, finite differences and loops."""

import itertools
import math

import numpy as np
from scipy.special import ndtr

from crowd_by_hand import CELLS, PANEL, PLAIN, QUERY, ROWS, dense, likelihood_by_loops, panel_of
from crowdrank.models.thurstonian.reading import Reading, TypesAt, agreement, quantiles
from crowdrank.models.thurstonian.rounds import ShardState, couple_terms, slopes
from crowdrank.models.thurstonian.types import GRID, SIZES


def test_the_covariance_is_that_of_simulated_votes():
    """One worker, four items, all pairs, one of them twice: the covariance of the score gradient in the model."""
    tau, delta, items = 1.0, 0.5, 4
    pairs = list(itertools.combinations(range(items), 2))
    score, again = np.array([0.6, 0.2, -0.1, -0.7]), np.array([2.0, *np.ones(5)])
    rows = [(0, i, j, wins, 0.0) for (i, j), wins in zip(pairs, again, strict=True)]
    panel, precision = panel_of(rows, np.zeros(items, int)), 0.3
    types = np.zeros((1, 1, len(GRID)))
    types[..., tau == GRID] = 1.0
    hard = np.array([2 * math.log(delta)])
    at = TypesAt(score, hard, np.ones((1, 1)), types, precision, 1.0)
    (covariance,) = Reading(np.zeros(1, int)).read(panel, at)["covariance"]
    state = ShardState.at(panel, score, hard, np.ones((1, 1)))
    curvature = slopes(panel, couple_terms(panel, state), types[0]).curvature
    bread = dense(panel, curvature) + precision * np.eye(items)
    found = bread @ covariance @ bread - precision * np.eye(items)

    rng, draws = np.random.default_rng(0), 200_000
    i, j = (np.array(side) for side in zip(*[*pairs, pairs[0]], strict=True))
    seen = score + delta * rng.standard_normal((draws, items))
    won = rng.random((draws, len(i))) < ndtr(tau * (seen[:, i] - seen[:, j]) / math.sqrt(2))
    slope = tau / math.sqrt(2 * (1 + tau**2 * delta**2))
    x = slope * (score[i] - score[j])
    bell = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    votes = slope * np.where(won, bell / ndtr(x), -bell / ndtr(-x))
    gradient = votes @ (np.eye(items)[i] - np.eye(items)[j])
    want = np.cov(gradient.T)
    np.testing.assert_allclose(found, want, atol=0.02 * want.max())
    independent = dense(panel, again * slope**2 * (bell**2 / ndtr(x) / ndtr(-x))[:6])
    assert np.abs(independent - want).max() > 0.1 * want.max()  # assuming independent votes would not fit


def test_the_covariances_of_several_queries_and_workers_by_loops():
    rng, precision, size = np.random.default_rng(11), 0.4, len(QUERY)
    types = rng.dirichlet(np.full(len(GRID), 0.1), (2, 3))
    at = TypesAt(PLAIN.score, PLAIN.hard, PLAIN.domain, types, precision, 1.0)
    found = Reading(np.arange(3)).read(PANEL, at)["covariance"]

    noise, bread = precision * np.eye(size), precision * np.eye(size)
    for cell, (query, worker) in enumerate(CELLS):
        weight = PLAIN.domain[query] @ types[:, worker]
        own, squared = np.zeros((2, size, size))
        for row in np.flatnonzero(PANEL.cell == cell):
            i, j = PANEL.i[row], PANEL.j[row]
            apart = np.eye(size)[i] - np.eye(size)[j]
            slope = GRID / np.sqrt(2 * (1 + GRID**2 * math.exp(PLAIN.hard[query])))
            x, votes = slope * (PLAIN.score[i] - PLAIN.score[j]), PANEL.wins[row] + PANEL.losses[row]
            bell = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
            for sign, count in ((1, PANEL.wins[row]), (-1, PANEL.losses[row])):
                ratio = bell / ndtr(sign * x)
                bread += count * (weight @ (slope**2 * ratio * (ratio + sign * x))) * np.outer(apart, apart)
            information = votes * (weight @ (slope**2 * bell**2 / ndtr(x) / ndtr(-x)))
            own += information * np.outer(apart, apart)
            squared += information**2 / votes * np.outer(apart, apart)
        noise += own + math.exp(PLAIN.hard[query]) * (own @ own - 2 * squared)
    want = np.linalg.inv(bread) @ noise @ np.linalg.inv(bread)
    for query, matrix in zip([0, 1, 3, 4], found, strict=True):
        own = np.flatnonzero(query == QUERY)
        np.testing.assert_allclose(matrix, want[np.ix_(own, own)], rtol=1e-9, atol=1e-12)


def test_sums_at_an_answer():
    """L_{m,k}, how often each tau agrees, and votes, by loops."""
    rng = np.random.default_rng(9)
    types = rng.dirichlet(np.ones(len(GRID)), (2, 3))
    reading, at = Reading(np.arange(3)), TypesAt(PLAIN.score, PLAIN.hard, PLAIN.domain, types, 0.5, 1.0)
    like = likelihood_by_loops(PANEL, PLAIN)
    want = np.zeros((2, 3, len(GRID)))
    for cell, (query, worker) in enumerate(CELLS):
        want[:, worker] += PLAIN.domain[query][:, None] * like[cell]
    np.testing.assert_allclose(reading.likes(PANEL, at).like, want)

    found = reading.read(PANEL, at)
    agreed, votes, judged = np.zeros((2, len(SIZES))), np.zeros(2), np.zeros((2, 3))
    for worker, i, j, wins, losses in ROWS:
        query = QUERY[i]
        slope = SIZES / np.sqrt(2 * (1 + SIZES**2 * math.exp(PLAIN.hard[query])))
        share = PLAIN.domain[query] * (wins + losses)
        agreed += share[:, None] * ndtr(slope * abs(PLAIN.score[i] - PLAIN.score[j]))
        votes += share
        judged[:, worker] += share
    np.testing.assert_allclose(found["agreed"], agreed)
    np.testing.assert_allclose(found["votes"], votes)
    np.testing.assert_allclose(found["judged"], judged)
    assert len(found["covariance"]) == 4  # query 2 has no items
    assert [len(matrix) for matrix in found["covariance"]] == [3, 1, 4, 3]


def test_quantiles_lie_where_the_mass_is():
    edges = np.concatenate([GRID[:1], (GRID[1:] + GRID[:-1]) / 2, GRID[-1:]])
    rng = np.random.default_rng(10)
    types = rng.dirichlet(np.ones(len(GRID)), (2, 3))
    below = np.concatenate([np.zeros((2, 3, 1)), np.cumsum(types, axis=2)], axis=2)
    levels = tuple(np.append(below[1, 2, 1:-1], 0.5 * (below[1, 2, 4] + below[1, 2, 5])))
    found = quantiles(types, levels)
    assert found.shape == (2, 3, len(levels))
    np.testing.assert_allclose(found[1, 2], [*edges[1:-1], (edges[4] + edges[5]) / 2])
    sure = quantiles(np.eye(len(GRID)), (0.05, 0.5, 0.95))
    assert (edges[:-1, None] <= sure).all()
    assert (sure <= edges[1:, None]).all()
    assert (np.diff(sure, axis=1) > 0).all()


def test_agreement_follows_the_curve():
    curve = np.stack([np.linspace(0.52, 0.9, len(SIZES)), np.linspace(0.51, 0.7, len(SIZES))])
    found = agreement(curve, np.tile(GRID, (2, 1)))
    for line, own in zip(curve, found, strict=True):
        np.testing.assert_allclose(own, [*(1 - line[::-1]), 0.5, *line])
    middle = (SIZES[3] + SIZES[4]) / 2
    between = agreement(curve, np.array([[-middle], [SIZES[0] / 2]]))
    np.testing.assert_allclose(between, [[1 - (curve[0, 3] + curve[0, 4]) / 2], [(0.5 + curve[1, 0]) / 2]])
