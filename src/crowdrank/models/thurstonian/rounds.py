"""One round of the grid inference over a shard of whole queries.

A pair's marginal probability under TPP (Wang et al., eq. 1-4, perceived scores integrated out) is

    P(i over j by worker k) = Phi(x),    x = a (s_i - s_j),    a = tau / sqrt(2 (1 + tau^2 delta_l^2)),

where tau = tau_{k, m} is the worker's signed expertise in the query's domain m. L_c(tau) is the sum of ln Phi over
the votes of a cell c = (query, worker), on the grid of tau (a composite likelihood: a worker's votes on one
query share perceived scores). Each round, from the sums L_{m,k}(tau) = sum over queries of P(m_l = m) L_c(tau),

    q(tau)        ~ G(tau) exp(L_{m,k}(tau) - P(m_l = m) L_c(tau))        the worker by the other queries
    P(m_l = m)    ~ theta_m prod_k sum_tau q(tau) exp(L_c(tau))           the domain by all workers of the query
    w_c(tau)      = sum_m P(m_l = m) q(tau) exp(L_c(tau)) / sum_tau       the worker's expertise for this query

Then scores and difficulty take a Newton step up sum_c sum_tau w_c(tau) L_c(tau) + ln prior. Before there are
domains, each query is fitted alone with q = G.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, summed
from crowdrank.kernels.probit import tails
from crowdrank.models.thurstonian.types import HALF, SIZES, halves, logsumexp, mirror, softmax
from crowdrank.prepared.panels import Panel
from crowdrank.results import Z

REACH = 1.0
"""The farthest that a score (in standard deviations of the prior) or a ln delta^2 moves in one round."""

WIDEST = 1.0
"""The largest variance of ln delta^2: that of a uniform delta^2."""

PART = 0.7
"""The part of its step that a difficulty takes in one round, because the scores it depends on move too."""

LARGE = 200
"""Matrices of at least this size are inverted one by one, by their Cholesky factors."""


@dataclass(frozen=True, eq=False)
class ShardState:
    """The state of the queries of a shard."""

    score: Floats
    """s, per node."""
    variance: Floats
    """The variance of s_i - s_j, per pair."""
    spread: Floats
    """|s|^2 + tr V, per query."""
    hard: Floats
    """ln delta^2, per query."""
    domain: Floats
    """P(m_l = m) (q, M)."""
    like: Floats
    """L_c(tau) at this state (C, T)."""

    @classmethod
    def at(cls, panel: Panel, score: Floats, hard: Floats, domain: Floats) -> ShardState:
        """The state with these scores, taken as certain."""
        variance, spread = np.zeros(len(panel.couples.i)), np.zeros(panel.queries)
        return cls(score, variance, spread, hard, domain, np.empty(0)).with_likelihood(panel)

    def with_likelihood(self, panel: Panel) -> ShardState:
        """The state with L_c(tau) at its current scores."""
        return replace(self, like=likelihood(panel, couple_terms(panel, self), self.variance))


class CoupleTerms(NamedTuple):
    """The pairs of a shard at its scores, for every size of tau (P, H); see the module. x and its tails are for an
    honest worker, and a win is a vote for i."""

    slope: Floats  # a
    share: Floats  # d ln a / d ln delta^2, negated
    x: Floats
    log_win: Floats
    log_lose: Floats
    pull: Floats
    push: Floats


def couple_terms(panel: Panel, state: ShardState) -> CoupleTerms:
    """The terms that the likelihood and its derivatives share."""
    ratio = SIZES**2 * np.exp(state.hard)[:, None]
    pairs = panel.couples
    slope = (SIZES / np.sqrt(2.0 * (1.0 + ratio)))[pairs.query]
    share = (ratio / (2.0 * (1.0 + ratio)))[pairs.query]
    x = slope * (state.score[pairs.i] - state.score[pairs.j])[:, None]
    return CoupleTerms(slope, share, x, *tails(x))


def likelihood(panel: Panel, at: CoupleTerms, variance: Floats) -> Floats:
    """L_c(tau): log-probability of each cell's votes, over the grid (C, T).

    It is averaged over the scores, whose differences have this ``variance``: ln Phi + variance a^2 (ln Phi)'' / 2.
    Without the second term, steep slopes that fit the noise of the votes would win.
    """
    unsure = 0.5 * variance[:, None] * at.slope**2
    win = at.log_win - unsure * at.pull * (at.pull + at.x)
    lose = at.log_lose - unsure * at.push * (at.push - at.x)
    votes = panel.votes @ np.block([[win, lose], [lose, win]])
    guess = np.log(0.5) * panel.cells.weight[:, None]
    return np.concatenate([mirror(votes[:, HALF:]), guess, votes[:, :HALF]], axis=1)


class CellFits(NamedTuple):
    """The fits of the cells and queries of a shard in one round."""

    domain: Floats  # P(m_l = m), (q, M)
    weight: Floats  # w_c(tau), (C, T)
    evidence: Floats  # ln P of the votes of each query (q)


def fit_alone(panel: Panel, like: Floats, prior: Floats) -> CellFits:
    """Fit each query alone; ``prior`` (C, T) is ln G of each cell's worker."""
    both = like + prior
    return CellFits(np.ones((panel.queries, 1)), softmax(both), sum_by_query(panel, logsumexp(both)))


def fit_by_domains(
    panel: Panel,
    like: Floats,
    prior: Floats,
    others: Floats,
    state: ShardState,
    theta: Floats,
    known: Integers | None,
) -> CellFits:
    """Fit by domains. ``others`` (C, M, T) is L_{m,k}(tau) of each cell's worker; the part of the cell's own query
    is subtracted here. ``like`` is L_c(tau), perhaps reversed; ``known`` (Q): see TPPSetting."""
    query = panel.cells.query
    others = prior[:, None, :] + others - state.domain[query][:, :, None] * state.like[:, None, :]
    others -= logsumexp(others)[..., None]
    both = others + like[:, None, :]
    top = both.max(axis=2, keepdims=True)
    types = np.exp(both - top)
    mass = types.sum(axis=2)
    logs = np.log(theta) + sum_by_query(panel, top[..., 0] + np.log(mass))
    if known is not None:
        given = known[panel.first_query : panel.first_query + panel.queries, None]
        logs = np.where((given < 0) | (np.arange(logs.shape[1]) == given), logs, -np.inf)
    domain = softmax(logs)
    weight = np.einsum("cm,cmt->ct", domain[query] / mass, types)
    return CellFits(domain, weight, logsumexp(logs))


def sum_by_query(panel: Panel, values: Floats) -> Floats:
    """Sums over the cells of each query."""
    return np.asarray(panel.of_queries @ values)


def sum_by_worker(panel: Panel, domain: Floats, values: Floats, workers: int) -> Floats:
    """Sums over the cells (C, T) of each worker, weighted by the probability of the domains (M, K, T)."""
    found = np.zeros((domain.shape[1], workers, values.shape[1]))
    for own, share in zip(found, domain[panel.cells.query].T, strict=True):
        own[: panel.of_workers.shape[0]] = panel.of_workers @ (share[:, None] * values)
    return found


class Slopes(NamedTuple):
    """Derivatives of sum_c sum_tau w_c(tau) L_c(tau) by s_i - s_j of each pair, and the share of each query."""

    gradient: Floats
    curvature: Floats
    share: Floats
    """How fast the slopes of a query fall with ln delta^2: the k of ``adjust_difficulty``, per query."""


def slopes(panel: Panel, at: CoupleTerms, weight: Floats) -> Slopes:
    """The derivatives at these terms and weights."""
    towards, away = votes_for_each_side(panel, weight)
    gradient = towards * at.pull - away * at.push
    curvature = towards * at.pull * (at.pull + at.x) + away * at.push * (at.push - at.x)
    bend = at.x**2 * curvature
    part, whole = (summed(panel.couples.query, of.sum(axis=1), panel.queries) for of in (at.share * bend, bend))
    share = np.divide(part, whole, out=np.zeros(panel.queries), where=whole > 0)
    return Slopes((at.slope * gradient).sum(axis=1), (at.slope**2 * curvature).sum(axis=1), share)


def votes_for_each_side(panel: Panel, weight: Floats) -> tuple[Floats, Floats]:
    """For each pair and size of tau, the weight of the votes that support i, and of those that support j."""
    sides = panel.votes.T @ np.concatenate(halves(weight), axis=1)
    won, lost = sides.reshape(2, -1, 2 * HALF)
    return won[:, :HALF] + lost[:, HALF:], won[:, HALF:] + lost[:, :HALF]


def climb_scores(panel: Panel, state: ShardState, slope: Slopes, precision: float) -> ShardState:
    """A Newton step of the scores, whose prior is N(0, 1 / precision)."""
    size = len(state.score)
    pairs = panel.couples
    pull, push = (summed(side, slope.gradient, size) for side in (pairs.i, pairs.j))
    gradient = pull - push - precision * state.score
    step, variance, own = np.zeros(size), np.zeros(len(pairs.i)), np.zeros(size)
    for block in panel.blocks:
        matrix = block.laplacian(slope.curvature) + precision * np.eye(block.nodes.shape[1])
        inverse = invert(matrix)
        step[block.nodes] = (inverse @ gradient[block.nodes][..., None])[..., 0]
        variance[block.pairs] = block.differences(inverse)
        own[block.nodes] = np.einsum("cdd->cd", inverse) - inverse.mean(axis=2)  # of the centered scores
    reach = REACH / np.sqrt(precision)
    score = state.score + np.clip(step, -reach, reach)
    spread = summed(panel.query, score**2 + own, panel.queries)
    return replace(state, score=score, variance=variance, spread=spread)


def invert(matrices: Floats) -> Floats:
    """The inverses of positive definite matrices (c, D, D). A Cholesky factor takes less than half of the time."""
    if matrices.shape[1] < LARGE:
        return np.linalg.inv(matrices).astype(np.float64, copy=False)
    from scipy.linalg.lapack import dpotrf, dpotri

    found = np.empty_like(matrices)
    for inverse, matrix in zip(found, matrices, strict=True):
        factor, failed = dpotrf(matrix.T, lower=1, clean=0)
        half = np.triu(dpotri(factor, lower=1, overwrite_c=1)[0].T)
        inverse[:] = np.linalg.inv(matrix) if failed else half + half.T
        if not failed:
            inverse[np.diag_indices(len(inverse))] *= 0.5  # the diagonal was added twice
    return found


def adjust_difficulty(
    panel: Panel, state: ShardState, share: Floats, precision: float, width: float
) -> ShardState:
    """Adjust difficulties to the spread of each query's scores, leaving the votes as probable as before.

    If delta^2 grows by the factor e^g, the slopes of workers with a given tau fall, and scores that grow by

        c = sqrt((1 + r e^g) / (1 + r)),      r = tau^2 delta^2,      d ln c / dg = k = r e^g / (2 (1 + r e^g)),

    leave the probability of every vote unchanged. So the prior decides, N(0, 1 / precision) for the scores and
    N(0, width) for ln delta^2: width k (D - 1 - precision (|s|^2 + tr V) c^2) = ln delta^2 + g. ``share`` is k at
    g = 0, which gives r. With width 0 all queries are equally hard.
    """
    free = summed(panel.query, None, panel.queries) - 1.0
    ratio = 2 * share / (1.0 - 2 * share)
    grown = np.zeros(panel.queries)
    for _ in range(8):
        up = ratio * np.exp(grown)
        k = up / (2.0 * (1.0 + up))
        held = precision * state.spread * (1.0 + up) / (1.0 + ratio)
        wish = width * k * (free - held) - state.hard - grown
        bend = 1.0 + width * (2 * k**2 * held + np.maximum(k * (1.0 - 2 * k) * (held - free), 0.0))
        grown = np.clip(grown + wish / bend, -REACH, REACH)
    grown *= PART
    factor = np.sqrt((1.0 + ratio * np.exp(grown)) / (1.0 + ratio))
    return replace(
        state,
        score=state.score * factor[panel.query],
        variance=state.variance * factor[panel.couples.query] ** 2,
        spread=state.spread * factor**2,
        hard=state.hard + grown,
    )


def spread_terms(panel: Panel, state: ShardState, share: Floats, precision: float) -> Floats:
    """The sums over queries by which ``widths`` tells real differences of difficulty from chance.

    Scores of D items that are all N(0, 1 / precision) spread by chance, with a variance of 2 (D - 1) in units of
    the prior. So a query shows y = ln delta^2 + k (D - 1 - precision (|s|^2 + tr V)) / I, with the information
    I = 2 k^2 (D - 1), and the variance 1 / I. The sums are those of 1, I y^2, I y, I and I^2.
    """
    free = summed(panel.query, None, panel.queries) - 1.0
    some = share * free > 0.0
    k, free, hard, spread = (values[some] for values in (share, free, state.hard, state.spread))
    information = 2.0 * k**2 * free
    found = information * hard + k * (free - precision * spread)
    parts = (np.ones(len(k)), found**2 / information, found, information, information**2)
    return np.array([part.sum() for part in parts])


def widths(terms: Floats) -> tuple[float, float]:
    """The variance of ln delta^2 over the queries, and the largest one within the error of it.

    ``terms`` are the sums of ``spread_terms``. With ybar the mean of y weighted by I (DerSimonian & Laird 1986),

        width = (sum of I (y - ybar)^2 - (Q - 1)) / (1 + sum of I - sum of I^2 / sum of I),

    between 0 and ``WIDEST``. The 1 is a query that shows no difference: it decides if the votes say nothing.
    """
    count, square, found, information, squared = terms
    if information <= 0.0:
        return 0.0, WIDEST
    excess = max(square - found**2 / information - (count - 1.0), 0.0)
    known = max(information - squared / information, 0.0)
    width = min(excess / (1.0 + known), WIDEST)
    most = excess + Z * np.sqrt(2.0 * (count - 1.0))
    return float(width), float(max(width, most / known if most < WIDEST * known else WIDEST))


def reverse_queries(panel: Panel, reverse: NDArray[np.bool_], state: ShardState) -> ShardState:
    """The state with some queries reversed."""
    score = np.where(reverse[panel.query], -state.score, state.score)
    cells = reverse[panel.cells.query][:, None]
    return replace(state, score=score, like=np.where(cells, mirror(state.like), state.like))


def merge_fits(panel: Panel, reverse: NDArray[np.bool_], found: CellFits, other: CellFits) -> CellFits:
    """The fits ``found``, with ``other`` for the reversed queries."""
    cells = reverse[panel.cells.query][:, None]
    return CellFits(
        np.where(reverse[:, None], other.domain, found.domain),
        np.where(cells, other.weight, found.weight),
        np.where(reverse, other.evidence, found.evidence),
    )
