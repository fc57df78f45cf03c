"""One round of the fast inference over a shard of whole queries.

A pair's marginal probability under TPP (Wang et al., eq. 1-4, perceived scores integrated out) is

    P(i over j by worker k) = Phi(x),    x = a (s_i - s_j),    a = tau / sqrt(2 (1 + tau^2 delta_l^2)),

tau = tau_{k, m} being the worker's signed expertise in the query's domain m. L_c(tau) is the sum of ln Phi over
the votes of a cell c = (query, worker), on the grid of tau (a composite likelihood: a worker's votes on one
query share perceived scores). Each round, from the sums L_{m,k}(tau) = sum over queries of P(m_l = m) L_c(tau),

    q(tau)        ~ G(tau) exp(L_{m,k}(tau) - P(m_l = m) L_c(tau))        what the other queries say of the worker
    P(m_l = m)    ~ theta_m prod_k sum_tau q(tau) exp(L_c(tau))           the domain, by all workers of the query
    w_c(tau)      = sum_m P(m_l = m) q(tau) exp(L_c(tau)) / sum_tau       the worker's expertise, for this query

and scores and difficulty take a Newton step up sum_c sum_tau w_c(tau) L_c(tau) + ln prior. Before there are
domains every query stands alone, and q = G.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.engine import Stats
from crowdrank.engine.base import Params
from crowdrank.kernels.probit import tails
from crowdrank.models.thurstonian.panels import Integers, Panel
from crowdrank.models.thurstonian.types import SIZES, logsumexp, mirrored, normalised

HALF = len(SIZES)
REACH = 1.0
"""How far a score, or the logarithm of a difficulty, moves in one round at most."""
HARD = 0.0
"""ln delta^2 at the start."""
EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class Local:
    """What belongs to a shard's queries: scores (n), the variance of each row's difference of scores, ln delta^2
    (q), and the probability of each domain (q, M)."""

    score: Floats
    variance: Floats
    hard: Floats
    domain: Floats
    spread: Floats  # |s|^2 + tr V of each query


class Terms(NamedTuple):
    """The votes of a shard at its scores, for every size of tau (rows, H): see the module."""

    slope: Floats  # a
    share: Floats  # d ln a / d ln delta^2, negated
    x: Floats
    log_win: Floats
    log_lose: Floats
    pull: Floats
    push: Floats


def terms(panel: Panel, local: Local) -> Terms:
    """Everything at once that the likelihood and its derivatives need."""
    ratio = SIZES**2 * np.exp(local.hard)[:, None]
    query = panel.query[panel.i]
    slope = (SIZES / np.sqrt(2.0 * (1.0 + ratio)))[query]
    x = slope * (local.score[panel.i] - local.score[panel.j])[:, None]
    return Terms(slope, (ratio / (2.0 * (1.0 + ratio)))[query], x, *tails(x))


def likelihood(panel: Panel, at: Terms, variance: Floats) -> Floats:
    """L_c(tau): ln of the probability of each cell's votes, over the grid (C, T).

    Its mean over the scores, which are known to a ``variance`` of their differences: ln Phi + variance a^2
    (ln Phi)'' / 2. Without the second term steep slopes would win that fit the votes' own noise.
    """
    unsure = 0.5 * variance[:, None] * at.slope**2
    win = at.log_win - unsure * at.pull * (at.pull + at.x)
    lose = at.log_lose - unsure * at.push * (at.push - at.x)
    starts = np.flatnonzero(np.diff(panel.cell, prepend=-1))
    wins, losses = panel.wins[:, None], panel.losses[:, None]
    true = np.add.reduceat(wins * win + losses * lose, starts)
    false = np.add.reduceat(wins * lose + losses * win, starts)
    guess = np.log(0.5) * panel.cells.weight[:, None]
    return np.concatenate([mirrored(false), guess, true], axis=1)


class Found(NamedTuple):
    """What a round makes of a shard's cells."""

    domain: Floats  # (q, M)
    weight: Floats  # w_c(tau), (C, T)
    evidence: Floats  # ln P of each query's votes (q)


def alone(panel: Panel, like: Floats, log_types: Floats) -> Found:
    """Every query for itself."""
    own = like + log_types
    return Found(np.ones((panel.queries, 1)), normalised(own), _by_query(panel, logsumexp(own)))


def together(panel: Panel, like: Floats, local: Local, params: Params) -> Found:
    """By the domains, given what the other queries say of each worker."""
    known, theta, query = params["like"], params["theta"], panel.cells.query
    own = local.domain[query][:, :, None] * like[:, None, :]
    others = params["types"] + known[:, _worker(panel, params)].transpose(1, 0, 2) - own
    others -= logsumexp(others)[..., None]
    both = others + like[:, None, :]
    predicted = logsumexp(both)
    logs = np.log(theta) + _by_query(panel, predicted)
    domain = normalised(logs)
    if "known" in params:
        own_domain = params["known"][panel.first_query : panel.first_query + panel.queries, None]
        domain = np.where(own_domain >= 0, np.arange(len(theta)) == own_domain, domain)
    weight = (domain[query][:, :, None] * np.exp(both - predicted[..., None])).sum(axis=1)
    return Found(domain, weight, logsumexp(logs))


def _worker(panel: Panel, params: Params) -> Integers:
    """The worker of each cell; 0 where all share one expertise."""
    return panel.cells.worker if params["like"].shape[1] > 1 else np.zeros(len(panel.cells.worker), np.int64)


def _by_query(panel: Panel, values: Floats) -> Floats:
    """Sums over the cells of each query."""
    if values.ndim == 1:
        return summed(panel.cells.query, values, panel.queries)
    return np.stack([summed(panel.cells.query, column, panel.queries) for column in values.T], axis=1)


class Slopes(NamedTuple):
    """The climb's derivatives: by row for scores, by cell for ln delta^2."""

    gradient: Floats
    curvature: Floats
    share: Floats
    bend: Floats


def slopes(panel: Panel, at: Terms, weight: Floats) -> Slopes:
    """Of sum_tau w_c(tau) L_c(tau): for s_i - s_j of each row, and for ln delta^2 in each cell."""
    rows = weight[panel.cell]
    true, false = rows[:, HALF + 1 :], mirrored(rows[:, :HALF])
    wins, losses = panel.wins[:, None], panel.losses[:, None]
    towards, away = true * wins + false * losses, true * losses + false * wins
    gradient = towards * at.pull - away * at.push
    curvature = towards * at.pull * (at.pull + at.x) + away * at.push * (at.push - at.x)
    return Slopes(
        (at.slope * gradient).sum(axis=1),
        (at.slope**2 * curvature).sum(axis=1),
        summed(panel.cell, (at.share * at.x**2 * curvature).sum(axis=1), len(weight)),
        summed(panel.cell, (at.x**2 * curvature).sum(axis=1), len(weight)),
    )


def climbed(panel: Panel, local: Local, slope: Slopes, params: Params) -> Local:
    """A Newton step of the scores and of the difficulties where each query has its own."""
    size, precision = len(local.score), params["precision"]
    gradient = (
        summed(panel.i, slope.gradient, size) - summed(panel.j, slope.gradient, size) - precision * local.score
    )
    step, variance, own = np.zeros(size), np.zeros(len(panel)), np.zeros(size)
    for block in panel.blocks:
        inverse = np.linalg.inv(block.laplacian(slope.curvature) + precision * np.eye(block.nodes.shape[1]))
        step[block.nodes] = (inverse @ gradient[block.nodes][..., None])[..., 0]
        variance[block.rows] = block.differences(inverse)
        own[block.nodes] = np.einsum("cdd->cd", inverse) - inverse.mean(axis=2)  # of the centred scores
    score = local.score + np.clip(step, -REACH / np.sqrt(precision), REACH / np.sqrt(precision))
    spread = summed(panel.query, score**2 + own, panel.queries)
    local = replace(local, score=score, variance=variance, spread=spread)
    return harder(panel, local, slope, precision) if params["by query"] else local


def harder(panel: Panel, local: Local, slope: Slopes, precision: float) -> Local:
    """Difficulties by how far the scores of a query spread, the votes being as probable as before.

    Where delta^2 grows by the factor e^g, slopes fall by e^(-k g), k = tau^2 delta^2 / (2 + 2 tau^2 delta^2), and
    scores that grow by e^(k g) leave every vote as it was. What decides is the prior, N(0, 1 / precision) of
    the scores and N(0, 1) of ln delta^2:  k (D - 1) - k precision (|s|^2 + tr V) e^(2 k g) = ln delta^2 + g.
    """
    bend = _by_query(panel, slope.bend)
    share = _by_query(panel, slope.share) / np.where(bend > 0, bend, 1.0)
    free = summed(panel.query, None, panel.queries) - 1.0
    grown = np.zeros(panel.queries)
    for _ in range(5):
        held = precision * local.spread * np.exp(2 * share * grown)
        up = share * (free - held) - local.hard - grown
        grown += np.clip(up / (1.0 + 2 * share**2 * held), -REACH, REACH)
    factor = np.exp(share * grown)
    query = panel.query[panel.i]
    return replace(
        local,
        score=local.score * factor[panel.query],
        variance=local.variance * factor[query] ** 2,
        spread=local.spread * factor**2,
        hard=local.hard + grown,
    )


def placed(panel: Panel, params: Params, local: Local) -> Local:
    """The state with what was decided for all queries: directions and domains, or one difficulty."""
    if not params["by query"]:
        local = replace(local, hard=np.full(panel.queries, params["hard"][0]))
    unit = params["unit"]
    local = replace(
        local, score=local.score * unit, variance=local.variance * unit**2, hard=local.hard + 2 * np.log(unit)
    )
    if "flip" in params:
        flip = params["flip"][local.domain.argmax(axis=1)]
        return replace(local, score=np.where(flip[panel.query], -local.score, local.score))
    if "domain" not in params:
        return local
    own = slice(panel.first_query, panel.first_query + panel.queries)
    return replace(local, score=local.score * params["sign"][own][panel.query], domain=params["domain"][own])


def _by_worker(panel: Panel, domain: Floats, like: Floats, workers: int) -> Floats:
    """L_{m,k}(tau): sums over the cells of each worker, by the probability of the domains (M, K, T)."""
    from scipy.sparse import csr_array

    cells = len(like)
    worker = panel.cells.worker if workers > 1 else np.zeros(cells, np.int64)
    shares = domain[panel.cells.query]
    return np.stack(
        [csr_array((share, (worker, np.arange(cells))), shape=(workers, cells)) @ like for share in shares.T]
    )


class Rounds:
    """The sums of a round, by ``mode``:

    ``alone``   every query for itself: the weight of the types
    ``profile`` the same, and the queries' own likelihoods L_c(tau), one by one
    ``domains`` by domains: L_{m,k}(tau), the weight of types and domains
    """

    stateful = True

    def start(self, shard: Panel, seed: int) -> Local:
        """All items alike."""
        return Local(
            np.zeros(len(shard.query)),
            np.zeros(len(shard)),
            np.full(shard.queries, HARD),
            np.ones((shard.queries, 1)),
            np.zeros(shard.queries),
        )

    def statistics(self, shard: Panel, params: Params, state: Local) -> tuple[Stats, Local]:
        """The sums at the state, and the state after a Newton step."""
        local = placed(shard, params, state)
        at = terms(shard, local)
        like = likelihood(shard, at, local.variance)
        found = self._found(shard, like, local, params)
        if params["turn"]:
            other = self._found(shard, mirrored(like), local, params)
            turn = other.evidence > found.evidence + EQUAL
            if turn.any():
                found, like, local = turned(shard, turn, found, other, like, local)
                at = terms(shard, local)
        local = replace(local, domain=found.domain)
        slope = slopes(shard, at, found.weight)
        after = climbed(shard, local, slope, params)
        judged = _by_query(shard, shard.cells.weight) > 0
        shared = {
            "types": found.weight.sum(axis=0),
            "domains": found.domain[judged].sum(axis=0),
            "square": after.spread.sum(),
            "moved": np.square(after.score - local.score).sum(),
        }
        own: dict[str, Any] = {}
        if params["mode"] == "alone":
            own["evidence"] = found.evidence - np.log(0.5) * _by_query(shard, shard.cells.weight)
        elif params["mode"] == "profile":
            return Stats(local={"profile": profile(shard, params, like)}), local
        else:
            shared["like"] = _by_worker(shard, found.domain, like, params["workers"])
        return Stats(shared, own), after

    def _found(self, shard: Panel, like: Floats, local: Local, params: Params) -> Found:
        if params["mode"] == "domains":
            return together(shard, like, local, params)
        return alone(shard, like, params["types"])

    def collect(self, shard: Panel, params: Params, state: Local) -> Mapping[str, Any]:
        """Scores, difficulties and domains as they stand."""
        return vars(state)


def turned(
    panel: Panel, turn: NDArray[np.bool_], found: Found, other: Found, like: Floats, local: Local
) -> tuple[Found, Floats, Local]:
    """The same with the scores of some queries upside down."""
    cells = turn[panel.cells.query][:, None]
    mixed = Found(
        np.where(turn[:, None], other.domain, found.domain),
        np.where(cells, other.weight, found.weight),
        np.where(turn, other.evidence, found.evidence),
    )
    score = np.where(turn[panel.query], -local.score, local.score)
    return mixed, np.where(cells, mirrored(like), like), replace(local, score=score)


def profile(panel: Panel, params: Params, like: Floats) -> Floats:
    """L_c(tau) of the chosen queries, workers in order (chosen, K, T)."""
    chosen = params["chosen"][panel.first_query : panel.first_query + panel.queries]
    place = np.cumsum(chosen) - 1
    found = np.zeros((int(chosen.sum()), params["workers"], like.shape[1]))
    cells = np.flatnonzero(chosen[panel.cells.query])
    worker = panel.cells.worker[cells] if params["workers"] > 1 else 0
    np.add.at(found, (place[panel.cells.query[cells]], worker), like[cells])
    return found
