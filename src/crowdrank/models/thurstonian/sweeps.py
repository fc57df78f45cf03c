"""One sweep of the sampler of TPP, and what a round of sweeps saw (Wang et al., section IV and appendix A).

Hidden are the domain m of each query, the scores x that each worker perceives, and the noisy difference d of each
vote. A sweep draws one block after the other:

    m ~ theta_m  prod over votes of i over j  Phi(tau_km (x_i - x_j) / sqrt 2)                             (eq. 6)
    d ~ N(sgn(tau) (x_i - x_j), 2 / tau^2) above 0, for each vote of i over j                             (eq. 13)
    x_i ~ N(a1 / a2, 1 / a2),    a2 = 1 / delta^2 + (tau^2 / 2) (votes on i),                         (eq. 10, 11)
        a1 = s_i / delta^2 + (tau^2 / 2) [sum over wins (x_j + sgn(tau) d) + sum over losses (x_j - sgn(tau) d)]

Eq. 8 draws m given d and so stays where it is, because d was drawn in the last domain; with d integrated out
(eq. 6), m and d are one block. Eq. 11 prints the perceived score in its first term, where the true one belongs.

A vote of weight w is w votes, each with a difference of its own. A fraction f of a vote is seen by a sweep with
the probability f, and of a tie each sweep sees one side or the other (the paper's footnote 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crowdrank.data import Floats, Integers, summed
from crowdrank.kernels.probit import hazard
from crowdrank.kernels.truncated import draw_truncated
from crowdrank.models.thurstonian.slots import SlotLayout
from crowdrank.prepared.panels import Panel

DAMPING, MOMENTUM = 0.05, 0.8
LEAST = 1e-4
"""No delta^2 is smaller: nothing that is perceived could move any more."""
ROOT = math.sqrt(0.5)


class Chances(NamedTuple):
    """The random numbers of some sweeps: uniform, normal, uniform and uniform ones."""

    domain: Floats
    perceived: Floats
    difference: Floats
    coin: Floats

    def of(self, sweep: int) -> Chances:
        """Those of one sweep."""
        return Chances(*(part[sweep] for part in self))


@dataclass(frozen=True, eq=False)
class Sweep:
    """The draws of a sweep over a shard at given parameters."""

    shard: Panel
    own: SlotLayout
    score: Floats
    difficulty: Floats
    tau: Floats
    theta: Floats

    @property
    def slot_query(self) -> Integers:
        """The query of each slot."""
        return self.shard.query[self.own.node]

    def slopes(self, domain: Integers) -> Floats:
        """tau / sqrt 2 of each cell's worker in the domain of its query."""
        return ROOT * self.tau[self.shard.cells.worker, domain[self.shard.cells.query]]

    def agreed(self) -> Floats:
        """The weight of each cell's votes that agree with the scores; of equal scores, half."""
        own = self.own
        ahead = np.sign(self.score[own.node[own.winner]] - self.score[own.node[own.loser]])
        return summed(own.side_cell, 0.5 * own.weight * (1.0 + ahead), len(self.shard.cells.worker))

    def odds(self, x: Floats) -> Floats:
        """The probability of each domain for each query, given what is perceived (eq. 6)."""
        from scipy.special import log_ndtr, softmax

        own, cells, count = self.own, self.shard.cells, self.tau.shape[1]
        if count == 1:
            return np.ones((self.shard.queries, 1))
        ahead, slope = x[own.winner] - x[own.loser], ROOT * self.tau[cells.worker]
        logs = np.empty((self.shard.queries, count))
        for domain in range(count):
            terms = own.weight * log_ndtr(slope[own.side_cell, domain] * ahead)
            logs[:, domain] = summed(cells.query[own.side_cell], terms, self.shard.queries)
        with np.errstate(divide="ignore"):
            return softmax(logs + np.log(self.theta), axis=1)

    def perceived(self, x: Floats, domain: Integers, chances: Chances) -> Floats:
        """The noisy differences, and then the scores perceived, one of each cell at a time (eq. 10, 11)."""
        own, slope = self.own, self.slopes(domain)
        push, votes = self._differences(slope[own.side_cell] * (x[own.winner] - x[own.loser]), chances)
        firm = 1.0 / self.difficulty[self.shard.cells.query]
        fixed = firm[own.cell] * self.score[own.node] + slope[own.cell] * push
        x = x.copy()
        for slots, place, other, row in own.turns:
            cell, weight = own.cell[slots], votes[row]
            a1 = fixed[slots] + slope[cell] ** 2 * summed(place, weight * x[other], len(slots))
            a2 = firm[cell] + slope[cell] ** 2 * summed(place, weight, len(slots))
            x[slots] = a1 / a2 + chances.perceived[slots] / np.sqrt(a2)
        return x

    def _differences(self, mean: Floats, chances: Chances) -> tuple[Floats, Floats]:
        """The differences (eq. 13) in units of their deviation sqrt 2 / |tau|, added up for winners and subtracted
        for losers (one a slot); and the votes that took part (one a row)."""
        own, slots = self.own, len(self.own.cell)
        drawn = draw_truncated(chances.difference, 0.0, np.inf, mean[own.side])
        many = np.flatnonzero(own.size > 1.0)
        drawn[many] = _many(own.size[many], mean[own.side[many]], chances.difference[many])
        size = own.size
        if not own.whole:
            coin = chances.coin[own.row[own.side]]
            here = (own.begin <= coin) & (coin < own.end)
            drawn, size = drawn * here, size * here
        total = summed(own.side, drawn, len(own.row))
        push = summed(own.winner, total, slots) - summed(own.loser, total, slots)
        return push, summed(own.row[own.side], size, len(self.shard))

    def derivatives(self, x: Floats, domain: Integers) -> tuple[Floats, Floats]:
        """Those of each cell's log-likelihood by tau: the first (eq. 21) and the second (eq. 22)."""
        own, count = self.own, len(self.shard.cells.worker)
        ahead = ROOT * (x[own.winner] - x[own.loser])
        z = (self.slopes(domain) / ROOT)[own.side_cell] * ahead
        f = hazard(-z)
        slope = summed(own.side_cell, own.weight * ahead * f, count)
        return slope, -summed(own.side_cell, own.weight * ahead**2 * f * (f + z), count)


class Seen:
    """Sums over the sweeps of a round that count."""

    def __init__(self, sweep: Sweep) -> None:
        nodes, (queries, domains) = len(sweep.score), (sweep.shard.queries, sweep.tau.shape[1])
        self.sweep, self.count = sweep, 0
        self.off, self.square = np.zeros(nodes), np.zeros(nodes)
        self.odds = np.zeros((queries, domains))
        self.slope, self.bend = np.zeros((2, len(sweep.shard.cells.worker), domains))

    def add(self, x: Floats, odds: Floats, domain: Integers) -> None:
        """One more sweep."""
        node, cells, nodes = self.sweep.own.node, self.sweep.shard.cells, len(self.off)
        off = x - self.sweep.score[node]
        self.count += 1
        self.off += summed(node, off, nodes)
        self.square += summed(node, off**2, nodes)
        self.odds += odds
        slope, bend = self.sweep.derivatives(x, domain)
        chosen = np.arange(len(cells.worker)), domain[cells.query]
        self.slope[chosen] += slope
        self.bend[chosen] += bend

    def scores(self) -> tuple[Floats, Floats]:
        """The next scores (eq. 18) and difficulties (eq. 19); where nobody judged, those there are."""
        sweep, query, queries = self.sweep, self.sweep.shard.query, self.sweep.shard.queries
        slots = summed(sweep.own.node, None, len(self.off))
        off = self.off / self.count / np.maximum(slots, 1.0)
        square = self.square / self.count - slots * off**2
        judged = summed(query, slots, queries)
        spread = summed(query, square, queries) / np.maximum(judged, 1.0)
        return sweep.score + off, np.where(judged > 0, np.maximum(spread, LEAST), sweep.difficulty)


def moves(own: SlotLayout, count: int, slope: Floats, ahead: Floats, steps: int) -> Floats:
    """The moves c of the nodes that raise sum over sides of w ln Phi(slope (ahead + c_i - c_j)).

    Fixed steps of damped diagonal Newton with momentum, so that no query's answer depends on another's.
    """
    i, j = own.node[own.winner], own.node[own.loser]
    move, speed = np.zeros(count), np.zeros(count)
    for _ in range(steps):
        z = slope * (ahead + move[i] - move[j])
        f = hazard(-z)
        pull, bend = own.weight * slope * f, own.weight * slope**2 * f * (f + z)
        gradient = summed(i, pull, count) - summed(j, pull, count) - DAMPING * move
        speed = MOMENTUM * speed + gradient / (summed(i, bend, count) + summed(j, bend, count) + DAMPING)
        move = move + speed
    return move


def _many(size: Floats, mean: Floats, uniform: Floats) -> Floats:
    """The sum of so many differences, which is normal with their mean and variance."""
    from scipy.special import ndtri

    f = hazard(-mean)
    deviation = np.sqrt(size * np.maximum(1.0 - f * (f + mean), 0.0))
    return size * (mean + f) + deviation * ndtri(np.maximum(uniform, 2.0**-54))
