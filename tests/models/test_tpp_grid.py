"""The rounds of TPP's grid inference against plain loops and finite differences."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_ndtr

from crowd_by_hand import (
    CELLS,
    PANEL,
    PLAIN,
    QUERY,
    STATE,
    TINY,
    dense,
    differences,
    likelihood_by_loops,
    panel_of,
    state_of,
    weights_of,
)
from crowdrank.models.thurstonian import rounds
from crowdrank.models.thurstonian.grid_sums import AloneRound, ChosenQueries, DomainRound, GridSums, Placement
from crowdrank.models.thurstonian.rounds import ShardState, couple_terms, invert, likelihood, slopes
from crowdrank.models.thurstonian.types import GRID, HALF, SIZES, Types, mirror
from crowdrank.prepared.panels import Panel


def total(panel, state, weight):
    """sum_c sum_tau w_c(tau) L_c(tau)."""
    return float((weight * likelihood(panel, couple_terms(panel, state), np.zeros(len(panel.couples.i)))).sum())


def test_cells_are_workers_within_queries():
    assert CELLS == [(0, 0), (0, 1), (0, 2), (3, 0), (3, 2), (4, 1)]


def test_likelihood_is_a_loop_over_votes():
    found = likelihood(PANEL, couple_terms(PANEL, STATE), STATE.variance)
    np.testing.assert_allclose(found, likelihood_by_loops(PANEL, STATE), rtol=1e-6, atol=1e-8)
    plain = likelihood(PANEL, couple_terms(PANEL, PLAIN), PLAIN.variance)
    np.testing.assert_allclose(plain, likelihood_by_loops(PANEL, PLAIN), rtol=1e-12)
    assert (found[:, GRID != 0] < plain[:, GRID != 0]).all()


def test_likelihood_of_unsure_scores_is_a_mean_over_them():
    """A quadrature over a normal difference against the second-order term, for a small variance."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(15)
    panel = panel_of([(0, 0, 1, 2.0, 1.0)], np.array([0, 0]))
    state = replace(state_of(panel), variance=np.array([0.05]))
    mean = 0.0
    for node, share in zip(nodes, mass / mass.sum(), strict=True):
        moved = replace(state, score=state.score + np.array([math.sqrt(0.05) * node, 0.0]))
        mean = mean + share * likelihood(panel, couple_terms(panel, moved), np.zeros(1))
    np.testing.assert_allclose(likelihood(panel, couple_terms(panel, state), state.variance), mean, atol=1e-4)


def test_likelihood_mirrors_with_the_scores():
    there = likelihood(PANEL, couple_terms(PANEL, STATE), STATE.variance)
    reversed_state = replace(STATE, score=-STATE.score)
    back = likelihood(PANEL, couple_terms(PANEL, reversed_state), STATE.variance)
    np.testing.assert_allclose(back, mirror(there), rtol=1e-13)
    np.testing.assert_allclose(there[:, HALF], PANEL.cells.weight * math.log(0.5))


def test_fit_alone_is_a_sum_over_tau():
    like, prior = likelihood_by_loops(PANEL, PLAIN), np.log(weights_of(PANEL, 2))
    found = rounds.fit_alone(PANEL, like, prior)
    both = np.exp(like + prior)
    np.testing.assert_allclose(found.weight, both / both.sum(axis=1, keepdims=True))
    want = np.zeros(5)
    for (query, _), mass in zip(CELLS, both.sum(axis=1), strict=True):
        want[query] += math.log(mass)
    np.testing.assert_allclose(found.evidence, want)
    np.testing.assert_array_equal(found.domain, np.ones((5, 1)))


@pytest.mark.parametrize("domains_given", [None, [-1, 0, -1, 1, -1]])
def test_fit_by_domains_is_a_sum_over_domains_and_tau(domains_given):
    like, rng = likelihood_by_loops(PANEL, PLAIN), np.random.default_rng(3)
    prior, theta = np.log(weights_of(PANEL, 2)), np.array([0.3, 0.7])
    known = rng.normal(-3, 1, (len(CELLS), 2, len(GRID)))
    given = None if domains_given is None else np.array(domains_given)
    found = rounds.fit_by_domains(PANEL, like, prior, known, STATE, theta, given)

    predicted, own = np.zeros((len(CELLS), 2)), np.zeros((len(CELLS), 2, len(GRID)))
    for cell, (query, _) in enumerate(CELLS):
        for m in range(2):
            others = np.exp(prior[cell] + known[cell, m] - STATE.domain[query, m] * STATE.like[cell])
            joint = others / others.sum() * np.exp(like[cell])
            predicted[cell, m], own[cell, m] = joint.sum(), joint / joint.sum()
    for query in range(5):
        cells = [cell for cell, (of, _) in enumerate(CELLS) if of == query]
        joint = theta * np.prod(predicted[cells], axis=0)
        if domains_given is not None and domains_given[query] >= 0:
            joint = joint * np.eye(2)[domains_given[query]]
        domain = joint / joint.sum()
        np.testing.assert_allclose(found.domain[query], domain)
        assert found.evidence[query] == pytest.approx(math.log(joint.sum()), abs=1e-12)
        for cell in cells:
            np.testing.assert_allclose(found.weight[cell], domain @ own[cell])


def test_sums_by_query_and_by_worker():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(len(CELLS), 3))
    by_query, by_worker = np.zeros((5, 3)), np.zeros((2, 4, 3))
    for cell, (query, worker) in enumerate(CELLS):
        by_query[query] += values[cell]
        by_worker[:, worker] += STATE.domain[query][:, None] * values[cell]
    np.testing.assert_allclose(rounds.sum_by_query(PANEL, values), by_query)
    np.testing.assert_allclose(rounds.sum_by_query(PANEL, values[:, 0]), by_query[:, 0])
    np.testing.assert_allclose(rounds.sum_by_worker(PANEL, STATE.domain, values, 4), by_worker)


def gradient_of(panel, state, weight):
    slope = slopes(panel, couple_terms(panel, state), weight)
    pull, push = (np.bincount(side, slope.gradient, len(panel.query)) for side in panel.couples[:2])
    return pull - push


def test_slopes_are_finite_differences():
    weight = weights_of(PANEL)
    found = gradient_of(PANEL, PLAIN, weight)
    want = differences(lambda score: total(PANEL, replace(PLAIN, score=score), weight), PLAIN.score)
    np.testing.assert_allclose(found, want, atol=1e-8)

    hessian = differences(lambda score: gradient_of(PANEL, replace(PLAIN, score=score), weight), PLAIN.score)
    curvature = slopes(PANEL, couple_terms(PANEL, PLAIN), weight).curvature
    np.testing.assert_allclose(-hessian, dense(PANEL, curvature), atol=1e-8)


def test_shares_are_finite_differences():
    """d ln slope / d ln delta^2, weighted by the information of each vote and size: x^2 times its curvature."""
    weight, at = weights_of(PANEL), couple_terms(PANEL, PLAIN)
    up, down = (couple_terms(PANEL, replace(PLAIN, hard=PLAIN.hard + step)) for step in (TINY, -TINY))
    np.testing.assert_allclose(at.share, -(np.log(up.slope) - np.log(down.slope)) / (2 * TINY), atol=1e-10)

    part, whole = np.zeros(5), np.zeros(5)
    for row, cell in enumerate(PANEL.cell):
        for place, size in enumerate(SIZES):
            for sign, mass in ((1, weight[cell, HALF + 1 + place]), (-1, weight[cell, HALF - 1 - place])):
                for side, votes in ((1, PANEL.wins[row]), (-1, PANEL.losses[row])):
                    x, query = sign * side * at.x[PANEL.couples.row[row], place], PANEL.query[PANEL.i[row]]
                    hazard = math.exp(-x * x / 2 - 0.5 * math.log(2 * math.pi) - log_ndtr(x))
                    information = mass * votes * x * x * hazard * (hazard + x)
                    ratio = size**2 * math.exp(PLAIN.hard[query])
                    part[query] += information * ratio / (2 + 2 * ratio)
                    whole[query] += information
    want = np.divide(part, whole, out=np.zeros(5), where=whole > 0)
    np.testing.assert_allclose(slopes(PANEL, at, weight).share, want, rtol=1e-10)
    assert (want[[1, 2]] == 0).all()
    assert (want[[0, 3, 4]] > 0).all()


def test_a_climb_ends_at_the_maximum():
    weight, precision = weights_of(PANEL), 0.7
    state = replace(PLAIN, score=np.zeros(len(QUERY)))
    for _ in range(60):
        slope = slopes(PANEL, couple_terms(PANEL, state), weight)
        state = rounds.climb_scores(PANEL, state, slope, precision)

    def loss(score):
        return precision * score @ score / 2 - total(PANEL, replace(PLAIN, score=score), weight)

    np.testing.assert_allclose(differences(loss, state.score), 0.0, atol=1e-8)
    np.testing.assert_allclose(state.score, minimize(loss, np.zeros(len(QUERY)), tol=1e-10).x, atol=1e-5)
    assert state.score[3] == 0

    inverse = np.linalg.inv(dense(PANEL, slope.curvature) + precision * np.eye(len(QUERY)))
    want = [inverse[i, i] + inverse[j, j] - 2 * inverse[i, j] for i, j in zip(*PANEL.couples[:2], strict=True)]
    np.testing.assert_allclose(state.variance, want)
    for query in range(5):
        own = np.flatnonzero(query == QUERY)
        center = np.eye(len(own)) - 1 / max(len(own), 1)
        around = np.trace(center @ inverse[np.ix_(own, own)] @ center)
        np.testing.assert_allclose(state.spread[query], state.score[own] @ state.score[own] + around, atol=1e-12)


def test_a_climb_moves_by_its_reach_at_most():
    weight = weights_of(PANEL)
    slope = slopes(PANEL, couple_terms(PANEL, PLAIN), weight)
    far = rounds.Slopes(1e6 * slope.gradient, slope.curvature, slope.share)
    moved = rounds.climb_scores(PANEL, PLAIN, far, 4.0).score - PLAIN.score
    assert np.abs(moved).max() == pytest.approx(rounds.REACH / 2)


@pytest.mark.parametrize("width", [0.0, 0.3, 1.0])
def test_difficulty_ends_where_its_equation_holds(width):
    """width k (D - 1 - precision spread) = ln delta^2, where k is taken at the final difficulty."""
    first, precision = np.array([0.3, 0.0, 0.0, 0.1, 0.45]), 0.7
    ratio = 2 * first / (1 - 2 * first)
    found, share = STATE, first
    for _ in range(40):
        found = rounds.adjust_difficulty(PANEL, found, share, precision, width)
        up = ratio * np.exp(found.hard - STATE.hard)
        share = up / (2 * (1 + up))
    items = np.bincount(QUERY, minlength=5)
    want = width * share * (items - 1 - precision * found.spread)
    np.testing.assert_allclose(found.hard, want, rtol=1e-7, atol=1e-9)
    factor = np.sqrt((1 + up) / (1 + ratio))
    np.testing.assert_allclose(found.score, STATE.score * factor[QUERY])
    np.testing.assert_allclose(found.spread, STATE.spread * factor**2)
    np.testing.assert_allclose(found.variance, STATE.variance * factor[PANEL.couples.query] ** 2)


def test_the_width_of_difficulties_is_that_of_a_loop():
    """A query of one item says nothing."""
    share, precision = np.array([0.3, 0.2, 0.2, 0.1, 0.45]), 0.7
    wide = replace(STATE, spread=np.array([6.0, 1.0, 1.0, 0.1, 8.0]))
    terms = rounds.spread_terms(PANEL, wide, share, precision)
    y, information = [], []
    for k, hard, spread, items in zip(share, wide.hard, wide.spread, np.bincount(QUERY, minlength=5), strict=True):
        if items > 1:
            information.append(2 * k**2 * (items - 1))
            y.append(hard + k * (items - 1 - precision * spread) / information[-1])
    y, information = np.array(y), np.array(information)
    center = information @ y / information.sum()
    excess = information @ (y - center) ** 2 - (len(y) - 1)
    known = information.sum() - (information**2).sum() / information.sum()
    assert 0 < excess / (1 + known) < 1
    width, most = rounds.widths(terms)
    assert width == pytest.approx(excess / (1 + known))
    assert most == pytest.approx(min((excess + rounds.Z * math.sqrt(2 * (len(y) - 1))) / known, 1.0))


def test_the_width_is_zero_if_scores_spread_as_chance_has_it():
    """And it is found if they spread more than that: 2,000 queries of 8 items."""
    rng, count, k = np.random.default_rng(0), 2000, np.full(2000, 0.2)
    query, nothing = np.repeat(np.arange(count), 8), np.empty(0, np.int64)
    panel = Panel(0, 0, count, query, nothing, nothing, nothing.astype(np.int32), np.empty(0), np.empty(0))
    even, far = rng.normal(size=(count, 8)), np.exp(rng.normal(0, 0.3, count))[:, None]
    found = []
    for score in (even, even * 0.9, even * far):
        spread = np.square(score - score.mean(axis=1, keepdims=True)).sum(axis=1)
        state = replace(STATE, spread=spread, hard=np.zeros(count))
        found.append(rounds.widths(rounds.spread_terms(panel, state, k, 1.0)))
    assert found[0][0] < 0.05
    assert found[1][0] == 0.0
    assert found[2][0] > 0.3
    assert all(most > width for width, most in found[:2])
    assert rounds.widths(np.zeros(5)) == (0.0, 1.0)


def test_a_difficulty_moves_by_its_reach_at_most():
    """This holds however many items pull it higher."""
    wide = replace(STATE, spread=np.full(5, 1e-3), hard=np.full(5, -9.0))
    grown = rounds.adjust_difficulty(PANEL, wide, np.full(5, 0.4), 1.0, 1.0).hard - wide.hard
    np.testing.assert_allclose(grown, rounds.PART * rounds.REACH)


def test_difficulty_leaves_the_votes_as_probable_if_workers_are_alike():
    one = 5
    place = HALF + 1 + one
    weight = np.zeros((len(CELLS), len(GRID)))
    weight[:, place], weight[::2, place], weight[::2, len(GRID) - 1 - place] = 1.0, 0.4, 0.6
    before = couple_terms(PANEL, PLAIN)
    slope = slopes(PANEL, before, weight)
    some = [0, 3, 4]
    first = np.searchsorted(PANEL.couples.query, some)
    np.testing.assert_allclose(slope.share[some], before.share[first, one])
    after = rounds.adjust_difficulty(PANEL, PLAIN, slope.share, 1.0, 1.0)
    assert np.abs(after.hard - PLAIN.hard)[some].max() > 0.1
    np.testing.assert_allclose(couple_terms(PANEL, after).x[:, one], before.x[:, one])


def test_blocks_are_parts_of_the_dense_matrix():
    rng = np.random.default_rng(5)
    couples = PANEL.couples
    weight = rng.random(len(couples.i))
    matrix, noise = dense(PANEL, weight), rng.normal(size=(len(QUERY), len(QUERY)))
    noise = noise @ noise.T
    pairs, nodes = [], []
    for block in PANEL.blocks:
        found, cuts = block.laplacian(weight), np.stack([noise[np.ix_(own, own)] for own in block.nodes])
        for own, part in zip(block.nodes, found, strict=True):
            np.testing.assert_allclose(part, matrix[np.ix_(own, own)], atol=1e-14)
        i, j = couples.i[block.pairs], couples.j[block.pairs]
        np.testing.assert_allclose(block.differences(cuts), noise[i, i] + noise[j, j] - 2 * noise[i, j])
        pairs += block.pairs.tolist()
        nodes += block.nodes.ravel().tolist()
    assert sorted(pairs) == list(range(len(couples.i)))
    assert sorted(nodes) == list(range(len(QUERY)))
    assert [block.nodes.shape for block in PANEL.blocks] == [(1, 1), (2, 3), (1, 4)]


def test_a_shard_may_have_no_vote():
    nothing = np.empty(0)
    empty = Panel(
        0, 0, 2, np.array([0, 1]), *[nothing.astype(int)] * 2, nothing.astype(np.int32), nothing, nothing
    )
    steps = GridSums(3, by_query=True)
    prior = Types.start().prior(3, False)
    sums, after = steps.fit_alone(empty, AloneRound(prior, 1.0, 1.0, True, 3), steps.start(empty, 0))
    assert not after.score.any()
    assert not sums.types.any()
    assert sums.information.tolist() == [0.0, 0.0]
    at = DomainRound(prior, 1.0, 1.0, True, np.zeros((2, 3, len(GRID))), np.array([0.4, 0.6]))
    found, after = steps.fit_by_domains(empty, at, replace(after, domain=np.full((2, 2), 0.5)))
    np.testing.assert_allclose(after.domain, [[0.4, 0.6]] * 2)
    assert not found.domains.any()


ROUNDS = {
    "fit_alone": AloneRound(Types.start().prior(3, False), 1.0, 1.0, True, 3),
    "fit_by_domains": DomainRound(
        Types.start().prior(3, False), 1.0, 1.0, True, np.zeros((1, 3, len(GRID))), np.ones(1)
    ),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round_reverses_a_query_of_wrong_direction(name):
    """Three honest workers agree on a > b; the scores say b > a."""
    panel = panel_of([(k, 0, 1, 1.0, 0.0) for k in range(3)], np.array([0, 0]))
    step, at = getattr(GridSums(3, by_query=False), name), ROUNDS[name]
    reversed_state = ShardState.at(panel, np.array([-2.0, 2.0]), np.zeros(1), np.zeros((1, 1)))
    _, after = step(panel, at, reversed_state)
    _, stays = step(panel, replace(at, may_reverse=False), reversed_state)
    assert after.score[0] > 0 > after.score[1]
    assert stays.score[0] < 0 < stays.score[1]


def test_domains_are_reversed_before_a_round():
    at = replace(ROUNDS["fit_by_domains"], may_reverse=False)
    panel = panel_of([(k, 0, 1, 1.0, 0.0) for k in range(3)], np.array([0, 0]))
    sums, upright = (
        GridSums(3, by_query=False),
        ShardState.at(panel, np.array([2.0, -2.0]), np.zeros(1), np.ones((1, 1))),
    )
    reversed_state = rounds.reverse_queries(panel, np.array([True]), upright)
    _, want = sums.fit_by_domains(panel, at, upright)
    _, found = sums.fit_by_domains(panel, replace(at, reverse=np.array([True])), reversed_state)
    np.testing.assert_array_equal(found.score, want.score)


def test_profiles_are_the_likelihoods_of_the_chosen_queries():
    chosen = np.array([False, True, False, True, False])
    found = GridSums(3, by_query=True).profiles(PANEL, ChosenQueries(chosen), STATE).profile
    want = np.zeros((2, 3, len(GRID)))
    for cell, (query, worker) in enumerate(CELLS):
        if chosen[query]:
            want[[1, 3].index(query), worker] = STATE.like[cell]
    np.testing.assert_array_equal(found, want)


def test_queries_get_their_domains_and_directions():
    """A shard that begins with query 2 gets new domains and directions, and the sums are taken there."""
    later, steps = replace(PANEL, first_query=2), GridSums(3, by_query=True)
    domain, sign = np.eye(3)[[0, 0, 1, 0, 2, 1, 2]], np.array([1, 1, -1, 1, 1, -1, 1])
    sums, found = steps.place_queries(later, Placement(domain, sign), STATE)
    np.testing.assert_array_equal(found.domain, domain[2:])
    np.testing.assert_array_equal(found.score, STATE.score * sign[2:][QUERY])
    want = np.zeros((3, 3, len(GRID)))
    for cell, (query, worker) in enumerate(CELLS):
        like = STATE.like[cell][:: sign[2:][query]]
        want[:, worker] += found.domain[query][:, None] * like
    np.testing.assert_allclose(sums.like, want)


def test_queries_are_reversed_with_their_likelihoods():
    reverse = np.array([True, False, False, True, False])
    found = rounds.reverse_queries(PANEL, reverse, STATE)
    np.testing.assert_array_equal(found.score, STATE.score * np.where(reverse, -1, 1)[QUERY])
    for cell, (query, _) in enumerate(CELLS):
        np.testing.assert_array_equal(found.like[cell], STATE.like[cell][:: -1 if reverse[query] else 1])


@pytest.mark.parametrize("size", [3, 250])
def test_small_and_large_matrices_are_inverted_alike(size):
    factors = np.random.default_rng(size).normal(size=(2, size, size))
    matrices = factors @ factors.transpose(0, 2, 1) + np.eye(size)
    found = invert(matrices)
    np.testing.assert_allclose(found @ matrices, np.broadcast_to(np.eye(size), found.shape), atol=1e-9)
    np.testing.assert_allclose(found, np.linalg.inv(matrices), atol=1e-10)
    assert (found == found.transpose(0, 2, 1)).all() or size < 200
