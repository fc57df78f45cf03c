"""One sweep of the TPP sampler, and the totals of a round of sweeps (Wang et al., section IV and appendix A).

The hidden variables are the domain m of each query, the scores x that each worker perceives, and the noisy
difference d of each vote. A sweep draws one block after another:

    m ~ theta_m  prod over votes of i over j  Phi(tau_km (x_i - x_j) / sqrt 2)                             (eq. 6)
     or theta_m  prod over votes of i over j  N(d; sgn(tau_km) (x_i - x_j), 2 / tau_km^2)                  (eq. 8)
    d ~ N(sgn(tau) (x_i - x_j), 2 / tau^2) above 0, for each vote of i over j                             (eq. 13)
    x_i ~ N(a1 / a2, 1 / a2),    a2 = 1 / delta^2 + (tau^2 / 2) (votes on i),                         (eq. 10, 11)
        a1 = s_i / delta^2 + (tau^2 / 2) [sum over wins (x_j + sgn(tau) d) + sum over losses (x_j - sgn(tau) d)]

Eq. 8, the printed form, draws m given d and so moves slowly, because d was drawn in the last domain. With d
integrated out (eq. 6), m and d are one block. Eq. 11 as printed has the perceived score in its first term; the
true score belongs there.

A vote of weight w is w votes, each with its own difference. A sweep includes a fraction f of a vote with
probability f. Of a tie, each sweep includes one side or the other (the paper's footnote 2).

The sampler treats a panel as slots that hold perceived scores, sides of rows, and draws of single votes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from crowdrank.data import Floats, Integers, summed
from crowdrank.kernels.probit import hazard
from crowdrank.kernels.truncated import draw_truncated
from crowdrank.prepared.panels import Panel

MANY = 64
"""If more equal votes than this occur, their noisy differences are drawn as one normal sum."""


class SlotGroup(NamedTuple):
    """The slots at one position within their cells, and all their comparisons. One group is drawn at a time."""

    slots: Integers
    own: Integers  # the place in ``slots`` of each comparison
    other: Integers  # the slot on its other end
    row: Integers


@dataclass(frozen=True, eq=False)
class SlotLayout:
    """The slots, sides and draws of a panel, each in the order of its queries.

    A slot is an item within a cell. A side is one outcome of a row, the slot ``winner`` over the slot ``loser``. A
    draw is one vote of a side, or all ``size`` of them if they are many. It takes part in a sweep if the row's
    coin, a uniform number, is within [``begin``, ``end``).
    """

    cell: Integers  # of each slot
    node: Integers
    slot_groups: list[SlotGroup]
    row: Integers  # of each side
    winner: Integers
    loser: Integers
    weight: Floats
    side: Integers  # of each draw
    size: Floats
    begin: Floats
    end: Floats
    counts: Integers
    """The slots, draws and rows of each query (queries, 3)."""

    @cached_property
    def whole(self) -> bool:
        """Whether every draw takes part in every sweep."""
        return bool((self.end - self.begin == 1.0).all())

    @cached_property
    def side_cell(self) -> Integers:
        """The cell of each side."""
        return self.cell[self.winner]


def layout(shard: Panel, most: float = MANY) -> SlotLayout:
    """The layout of a panel. More than ``most`` equal votes are one draw."""
    count = len(shard.query)
    keys = np.concatenate([shard.cell * count + shard.i, shard.cell * count + shard.j])
    key, place = np.unique(keys, return_inverse=True)
    i, j = np.split(place, 2)
    cell, node = np.divmod(key, count)
    row, lost = np.nonzero(np.stack([shard.wins, shard.losses], axis=1))
    weight = np.where(lost, shard.losses[row], shard.wins[row])
    times = np.where(weight > most, 1, np.ceil(weight)).astype(np.int64)
    side = np.repeat(np.arange(len(row)), times)
    size = np.where(weight > most, weight, 1.0)[side]
    left_over = np.where(weight > most, 1.0, weight - np.ceil(weight) + 1.0)
    part = np.where(np.diff(side, append=-1) != 0, left_over[side], 1.0)
    query = shard.query[shard.i]
    owners = (shard.query[node], query[row[side]], query)
    return SlotLayout(
        cell=cell,
        node=node,
        slot_groups=_slot_groups(cell, i, j),
        row=row,
        winner=np.where(lost, j[row], i[row]),
        loser=np.where(lost, i[row], j[row]),
        weight=weight,
        side=side,
        size=size,
        begin=np.where(lost[side], 1.0 - part, 0.0),
        end=np.where(lost[side], 1.0, part),
        counts=np.stack([np.bincount(owner, minlength=shard.queries) for owner in owners], axis=1),
    )


def _slot_groups(cell: Integers, i: Integers, j: Integers) -> list[SlotGroup]:
    position = np.arange(len(cell)) - np.flatnonzero(np.diff(cell, prepend=-1))[cell]
    own, other, row = np.concatenate([i, j]), np.concatenate([j, i]), np.tile(np.arange(len(i)), 2)
    return [
        SlotGroup(slots, np.searchsorted(slots, own[edges]), other[edges], row[edges])
        for slots, edges in zip(_places_by_code(position), _places_by_code(position[own]), strict=True)
    ]


def _places_by_code(codes: Integers) -> list[Integers]:
    """The places of each code."""
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])


DAMPING, MOMENTUM = 0.05, 0.8
LEAST = 1e-4
"""The smallest delta^2. With a smaller one, perceived scores could no longer move."""
TINY = 1e-100
"""Numbers smaller than this would be divisions by 0."""
ROOT = math.sqrt(0.5)


class Chances(NamedTuple):
    """The random numbers of some sweeps: uniform, normal, uniform and uniform."""

    domain: Floats
    perceived: Floats
    difference: Floats
    coin: Floats

    def of_sweep(self, sweep: int) -> Chances:
        """The random numbers of one sweep."""
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

    def agreeing_weight(self) -> Floats:
        """The weight of each cell's votes that agree with the scores. Votes on equal scores count half."""
        own = self.own
        ahead = np.sign(self.score[own.node[own.winner]] - self.score[own.node[own.loser]])
        return summed(own.side_cell, 0.5 * own.weight * (1.0 + ahead), len(self.shard.cells.worker))

    def odds(self, x: Floats) -> Floats:
        """The probability of each domain for each query, given the perceived scores (eq. 6)."""
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

    def odds_given_differences(self, x: Floats, difference: Floats, chances: Chances) -> Floats:
        """The probability of each domain for each query, given also the noisy difference of each draw (eq. 8)."""
        from scipy.special import softmax

        own, cells, count = self.own, self.shard.cells, self.tau.shape[1]
        part, cell = self._taking_part(chances), own.side_cell[own.side]
        ahead, slope = (x[own.winner] - x[own.loser])[own.side], ROOT * self.tau[cells.worker]
        logs = np.empty((self.shard.queries, count))
        for domain in range(count):
            a = slope[cell, domain]
            steep = np.maximum(np.abs(a), TINY)
            terms = part * (np.log(steep) - 0.5 * (steep * difference - a * ahead) ** 2)
            logs[:, domain] = summed(cells.query[cell], terms, self.shard.queries)
        with np.errstate(divide="ignore"):
            return softmax(logs + np.log(self.theta), axis=1)

    def steepness(self, domain: Integers) -> Floats:
        """|tau| / sqrt 2 of each draw: differences times this are in units of their standard deviation."""
        own = self.own
        return np.maximum(np.abs(self.slopes(domain)), TINY)[own.side_cell[own.side]]

    def draw_differences(self, x: Floats, domain: Integers, uniform: Floats) -> Floats:
        """The noisy difference of each draw (eq. 13) in units of its standard deviation sqrt 2 / |tau|."""
        own = self.own
        mean = self.slopes(domain)[own.side_cell] * (x[own.winner] - x[own.loser])
        drawn = draw_truncated(uniform, 0.0, np.inf, mean[own.side])
        many = np.flatnonzero(own.size > 1.0)
        drawn[many] = _sum_of_many(own.size[many], mean[own.side[many]], uniform[many])
        return drawn

    def draw_perceived(self, x: Floats, domain: Integers, drawn: Floats, chances: Chances) -> Floats:
        """Draw the perceived scores given the differences, one per cell at a time (eq. 10, 11)."""
        own, slope = self.own, self.slopes(domain)
        push, votes = self._sum_draws(drawn, chances)
        firm = 1.0 / self.difficulty[self.shard.cells.query]
        fixed = firm[own.cell] * self.score[own.node] + slope[own.cell] * push
        x = x.copy()
        for slots, place, other, row in own.slot_groups:
            cell, weight = own.cell[slots], votes[row]
            a1 = fixed[slots] + slope[cell] ** 2 * summed(place, weight * x[other], len(slots))
            a2 = firm[cell] + slope[cell] ** 2 * summed(place, weight, len(slots))
            x[slots] = a1 / a2 + chances.perceived[slots] / np.sqrt(a2)
        return x

    def _taking_part(self, chances: Chances) -> Floats:
        """1 for each draw that takes part in the sweep, 0 for the others."""
        own = self.own
        if own.whole:
            return np.ones(len(own.side))
        coin = chances.coin[own.row[own.side]]
        return ((own.begin <= coin) & (coin < own.end)).astype(float)

    def _sum_draws(self, drawn: Floats, chances: Chances) -> tuple[Floats, Floats]:
        """The differences added for winners and subtracted for losers (per slot), and the votes that took part
        (per row)."""
        own, slots, part = self.own, len(self.own.cell), self._taking_part(chances)
        total = summed(own.side, drawn * part, len(own.row))
        push = summed(own.winner, total, slots) - summed(own.loser, total, slots)
        return push, summed(own.row[own.side], own.size * part, len(self.shard))

    def derivatives(self, x: Floats, domain: Integers) -> tuple[Floats, Floats]:
        """The first (eq. 21) and second (eq. 22) derivative of each cell's log-likelihood by tau."""
        own, count = self.own, len(self.shard.cells.worker)
        ahead = ROOT * (x[own.winner] - x[own.loser])
        z = (self.slopes(domain) / ROOT)[own.side_cell] * ahead
        f = hazard(-z)
        slope = summed(own.side_cell, own.weight * ahead * f, count)
        return slope, -summed(own.side_cell, own.weight * ahead**2 * f * (f + z), count)


class SweepTotals:
    """Totals over the sweeps of a round that count."""

    sweep: Sweep
    slope: Floats
    bend: Floats
    count: int
    off: Floats
    square: Floats
    odds: Floats

    def __init__(self, sweep: Sweep) -> None:
        nodes, (queries, domains) = len(sweep.score), (sweep.shard.queries, sweep.tau.shape[1])
        self.sweep, self.count = sweep, 0
        self.off, self.square = np.zeros(nodes), np.zeros(nodes)
        self.odds = np.zeros((queries, domains))
        self.slope, self.bend = np.zeros((2, len(sweep.shard.cells.worker), domains))

    def add(self, x: Floats, odds: Floats, domain: Integers) -> None:
        """Add a sweep."""
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

    def scores(self, least: float = LEAST) -> tuple[Floats, Floats]:
        """The next scores (eq. 18) and difficulties (eq. 19), which are at least ``least``. Without votes they
        keep their values."""
        sweep, query, queries = self.sweep, self.sweep.shard.query, self.sweep.shard.queries
        slots = summed(sweep.own.node, None, len(self.off))
        off = self.off / self.count / np.maximum(slots, 1.0)
        square = self.square / self.count - slots * off**2
        judged = summed(query, slots, queries)
        spread = summed(query, square, queries) / np.maximum(judged, 1.0)
        return sweep.score + off, np.where(judged > 0, np.maximum(spread, least), sweep.difficulty)


def moves(own: SlotLayout, count: int, slope: Floats, ahead: Floats, steps: int) -> Floats:
    """The moves c of the nodes that raise sum over sides of w ln Phi(slope (ahead + c_i - c_j)).

    The number of steps (damped diagonal Newton with momentum) is fixed, so queries do not affect each other.
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


def _sum_of_many(size: Floats, mean: Floats, uniform: Floats) -> Floats:
    """The sum of ``size`` differences, drawn as a normal with their mean and variance."""
    from scipy.special import ndtri

    f = hazard(-mean)
    deviation = np.sqrt(size * np.maximum(1.0 - f * (f + mean), 0.0))
    return size * (mean + f) + deviation * ndtri(np.maximum(uniform, 2.0**-54))
