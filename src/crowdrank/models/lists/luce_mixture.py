"""The likelihood of lists that a worker repeats or reverses, summed over shards.

P is the probability of a list under Plackett-Luce, Q that of the reversed list, and eta its worker's quality:

    M = eta P + (1 - eta) Q          p = P / M, q = Q / M, r = eta p: the probability that the list is as drawn

g and H are the gradient and minus the second derivatives of ln P or ln Q by the scores, and d = g_P - g_Q:

    by s: r g_P + (1 - r) g_Q          by s, s: r H_P + (1 - r) H_Q - r (1 - r) d d'
    by eta: p - q                      by eta twice: (p - q)^2          by s, eta: -p q d
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.data import Floats, Integers, summed
from crowdrank.kernels import LOGISTIC
from crowdrank.kernels.plackett_luce import Orders, PlackettLuceDerivatives, derivatives
from crowdrank.kernels.segments import pairs
from crowdrank.models.eta import OnGrid, QualityTable
from crowdrank.models.list_sums import NodePairs
from crowdrank.prepared.list_shards import ListShard
from crowdrank.random import signs
from crowdrank.solve import At, Curvature, Draw, Gradient, Information, accumulate, average
from crowdrank.solve.draws import DRAWS
from crowdrank.solve.matrices import Matrix

FAR = 300.0
"""The largest ln p and ln q, so that squares stay finite. It matters only if eta is 0 or 1."""


@dataclass(frozen=True, eq=False)
class BothWays:
    """Lists and their reversals at the x of each row: ln P and ln Q of each list, g_P and g_Q of each row.

    ``rows``: the row of each row of the reversed lists.
    """

    forward: PlackettLuceDerivatives
    backward: PlackettLuceDerivatives
    rows: Integers

    @classmethod
    def at(cls, x: Floats, orders: Orders) -> BothWays:
        """At the scores ``x`` of the rows."""
        turned, rows = orders.backwards
        return cls(derivatives(x, orders), derivatives(x[rows], turned), rows)

    def mix(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """ln M, p and q of each list."""
        forward, backward = self.forward.value, self.backward.value
        with np.errstate(divide="ignore"):
            value = np.logaddexp(np.log(eta) + forward, np.log1p(-eta) + backward)
        return value, np.exp(np.minimum(forward - value, FAR)), np.exp(np.minimum(backward - value, FAR))


@dataclass(frozen=True, eq=False)
class _MixtureTerms:
    """A shard at given parameters. Per list: ln M, p, q and eta. Per row: d, and the gradient."""

    both: BothWays
    value: Floats
    p: Floats
    q: Floats
    eta: Floats
    d: Floats
    gradient: Floats


class MixtureSums:
    """The sums of lists that are repeated with probability eta (K, 1) and reversed otherwise."""

    def gradient(self, shard: ListShard, at: At) -> Gradient:
        """Value and gradient."""
        return average([Gradient(*_gradient(shard, _terms(shard, node))) for node in at.nodes()])

    def curvature(self, shard: ListShard, at: At) -> Curvature:
        """Value, gradient and observed curvature."""
        return average([_curvature_at(shard, _terms(shard, node)) for node in at.nodes()])

    def information(self, shard: ListShard, draw: Draw) -> Information:
        """Gradient and observed curvature, with signed noise that has the covariance of the gradients."""
        terms = _terms(shard, draw)
        return Information(*_gradient(shard, terms), *_curvature(shard, terms), _noise(shard, terms, draw.seed))

    def table(self, shard: ListShard, at: OnGrid) -> QualityTable:
        """The likelihood of each worker's eta with the scores fixed, and how often a perfect worker would agree
        with the order of the scores on a pair that a list orders."""
        assert shard.worker is not None
        x = at.scores[shard.node]
        both = BothWays.at(x, shard.orders)
        table = np.empty(at.grid.shape)
        for place in range(at.grid.shape[1]):
            value = both.mix(at.grid[shard.worker, place])[0]
            table[:, place] = summed(shard.worker, shard.weight * value, len(at.grid))
        agree = total = 0.0
        for one, other in pairs(shard.orders.start):
            weight = shard.weight[shard.list[one]] * (shard.orders.level[one] < shard.orders.level[other])
            agree += float(weight @ LOGISTIC.values(np.abs(x[one] - x[other])).win)
            total += float(weight.sum())
        return QualityTable(agree, total, table)


def _terms(shard: ListShard, at: At) -> _MixtureTerms:
    assert shard.worker is not None
    both, eta = BothWays.at(at.scores[shard.node], shard.orders), at.workers[shard.worker, 0]
    value, p, q = both.mix(eta)
    backward = both.backward.gradient[both.rows]  # reversing twice gives the list
    d, share = both.forward.gradient - backward, (eta * p)[shard.list]
    return _MixtureTerms(both, value, p, q, eta, d, shard.weight[shard.list] * (backward + share * d))


def _gradient(shard: ListShard, terms: _MixtureTerms) -> tuple[float, Floats, Floats]:
    """Value, and gradient by scores and workers."""
    assert shard.worker is not None
    scores = summed(shard.node, terms.gradient, len(shard.part))
    workers = summed(shard.worker, shard.weight * (terms.p - terms.q), shard.workers)
    return float(shard.weight @ terms.value), scores, workers[:, None]


def _curvature_at(shard: ListShard, terms: _MixtureTerms) -> Curvature:
    return Curvature(*_gradient(shard, terms), *_curvature(shard, terms))


def _curvature(shard: ListShard, terms: _MixtureTerms) -> tuple[Matrix, Matrix, Floats]:
    """Minus the second derivatives: by scores, by scores and workers, by workers."""
    assert shard.worker is not None
    both, rows, own = terms.both, terms.both.rows, shard.list
    weight, ones = shard.weight, np.ones(len(own))
    faithful, turned = weight * terms.eta * terms.p, weight * (1.0 - terms.eta) * terms.q
    mixed = turned * terms.eta * terms.p
    cells = NodePairs(shard)
    for one, other, value in both.forward.cross(ones, faithful[own]):
        cells.add(one, other, value)
    for one, other, value in both.backward.cross(ones, turned[own]):  # rows of a list are rows of its reversal
        cells.add(rows[one], rows[other], value)
    for one, other in pairs(shard.orders.start):
        cells.add(one, other, -mixed[own[one]] * terms.d[one] * terms.d[other])
    diagonal = faithful[own] * both.forward.curvature + turned[own] * both.backward.curvature[rows]
    items = cells.matrix(diagonal - mixed[own] * terms.d**2)
    across = -(weight * terms.p * terms.q)[own] * terms.d
    worker = shard.worker[own].astype(np.int64)
    coupling = accumulate(worker, shard.node, across, (shard.workers, len(shard.part))).T
    by_worker = summed(shard.worker, weight * (terms.p - terms.q) ** 2, shard.workers)
    return items, coupling, by_worker[:, None, None]


def _noise(shard: ListShard, terms: _MixtureTerms, seed: int) -> Floats:
    """A random sign times the gradient, for each list and draw; it has the covariance of the gradients."""
    assert shard.worker is not None
    root, n = np.sqrt(shard.weight), len(shard.part)
    drawn = signs((shard.first + np.arange(len(root)),), DRAWS, seed)
    noise = np.zeros((n + shard.workers, DRAWS))
    for draw in range(DRAWS):
        sign = drawn[:, draw]
        noise[:n, draw] = summed(shard.node, (sign / root)[shard.list] * terms.gradient, n)
        noise[n:, draw] = summed(shard.worker, sign * root * (terms.p - terms.q), shard.workers)
    return noise
