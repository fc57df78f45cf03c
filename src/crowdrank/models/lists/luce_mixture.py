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
from crowdrank.solve import At, Curvature, Draw, Gradient, Information, accumulate
from crowdrank.solve.draws import DRAWS
from crowdrank.solve.matrices import Matrix

LEAST = 1e-130
"""The smallest M, relative to the larger one of P and Q. It matters only if eta is 0 or 1; 1/M^2 stays finite."""


@dataclass(frozen=True, eq=False)
class BothWays:
    """Lists, followed by their reversals, at the scores of their rows. ``rows``: the original row of each row."""

    found: PlackettLuceDerivatives
    rows: Integers

    @classmethod
    def at(cls, x: Floats, orders: Orders) -> BothWays:
        """At the scores ``x`` of the rows."""
        both, rows = orders.both_ways
        return cls(derivatives(x[rows], both), rows)

    def mix(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """ln M, p and q of each list; each row of ``eta`` is a quality for every list."""
        logs = self.found.value.reshape(2, -1)
        most = logs.max(axis=0)
        forward, backward = np.exp(logs - most)
        mixed = np.maximum(eta * forward + (1.0 - eta) * backward, LEAST)
        return most + np.log(mixed), forward / mixed, backward / mixed

    def by_row(self, values: Floats) -> tuple[Floats, Floats]:
        """Values of the rows, for lists and for their reversals, both in the order of the original rows."""
        size = len(self.rows) // 2
        return values[:size], values[size:][self.rows[size:]]  # reversing twice gives the list


@dataclass(frozen=True, eq=False)
class _MixtureTerms:
    """A shard at given parameters.

    Per list, times its weight and averaged over the spread of eta: r and 1 - r (2, L), r (1 - r), p q, p - q and
    (p - q)^2. Per row: d, and the gradient.
    """

    both: BothWays
    value: float
    share: Floats
    mixed: Floats
    across: Floats
    slope: Floats
    bend: Floats
    d: Floats
    gradient: Floats

    @classmethod
    def of(cls, shard: ListShard, at: At) -> _MixtureTerms:
        """The terms of a shard."""
        both = BothWays.at(at.scores[shard.node], shard.orders)
        eta = np.stack([node.workers[shard.worker, 0] for node in at.nodes()])
        value, p, q = both.mix(eta)

        def average(values: Floats) -> Floats:
            return np.asarray(shard.weight * values.mean(axis=0))

        share = np.stack([average(eta * p), average((1.0 - eta) * q)])
        forward, backward = both.by_row(both.found.gradient)
        return cls(
            both=both,
            value=float(average(value).sum()),
            share=share,
            mixed=average(eta * (1.0 - eta) * p * q),
            across=average(p * q),
            slope=average(p - q),
            bend=average((p - q) ** 2),
            d=forward - backward,
            gradient=share[0, shard.list] * forward + share[1, shard.list] * backward,
        )


class MixtureSums:
    """The sums of lists that are repeated with probability eta (K, 1) and reversed otherwise."""

    def gradient(self, shard: ListShard, at: At) -> Gradient:
        """Value and gradient."""
        return Gradient(*_gradient(shard, _MixtureTerms.of(shard, at)))

    def curvature(self, shard: ListShard, at: At) -> Curvature:
        """Value, gradient and observed curvature."""
        terms = _MixtureTerms.of(shard, at)
        return Curvature(*_gradient(shard, terms), *_curvature(shard, terms))

    def information(self, shard: ListShard, draw: Draw) -> Information:
        """Gradient and observed curvature, with signed noise that has the covariance of the gradients."""
        terms = _MixtureTerms.of(shard, draw)
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


def _gradient(shard: ListShard, terms: _MixtureTerms) -> tuple[float, Floats, Floats]:
    """Value, and gradient by scores and workers."""
    scores = summed(shard.node, terms.gradient, len(shard.part))
    return terms.value, scores, _by_worker(shard, terms.slope)[:, None]


def _by_worker(shard: ListShard, values: Floats) -> Floats:
    assert shard.worker is not None
    return summed(shard.worker, values, shard.workers)


def _curvature(shard: ListShard, terms: _MixtureTerms) -> tuple[Matrix, Matrix, Floats]:
    """Minus the second derivatives: by scores, by scores and workers, by workers."""
    assert shard.worker is not None
    found, rows, own = terms.both.found, terms.both.rows, shard.list
    share = np.concatenate([terms.share[0, own], terms.share[1, own]])  # a list and its reversal have equal rows
    cells = NodePairs(shard)
    for one, other, value in found.cross(np.ones(len(rows)), share):
        cells.add(rows[one], rows[other], value)
    for one, other in pairs(shard.orders.start):
        cells.add(one, other, -terms.mixed[own[one]] * terms.d[one] * terms.d[other])
    forward, backward = terms.both.by_row(share * found.curvature)
    items = cells.matrix(forward + backward - terms.mixed[own] * terms.d**2)
    worker, across = shard.worker[own].astype(np.int64), -terms.across[own] * terms.d
    coupling = accumulate(worker, shard.node, across, (shard.workers, len(shard.part))).T
    return items, coupling, _by_worker(shard, terms.bend)[:, None, None]


def _noise(shard: ListShard, terms: _MixtureTerms, seed: int) -> Floats:
    """A random sign times the gradient, for each list and draw; it has the covariance of the gradients."""
    root, n = np.sqrt(shard.weight), len(shard.part)
    drawn = signs((shard.first + np.arange(len(root)),), DRAWS, seed)
    noise = np.zeros((n + shard.workers, DRAWS))
    for draw in range(DRAWS):
        sign = drawn[:, draw]
        noise[:n, draw] = summed(shard.node, (sign / root)[shard.list] * terms.gradient, n)
        noise[n:, draw] = _by_worker(shard, sign / root * terms.slope)
    return noise
