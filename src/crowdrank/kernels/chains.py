"""Orders drawn from the product of Plackett-Luce and pair weights, for many lists at once.

The documents of a list have the rates e^s_x. A_xy = -A_yx says how much the judgments speak for x above y. The
probability of an order y of the list is

    P(y) ~ prod over places t of e^s_{y_t} / D_t  x  prod over pairs x above y of e^(A_xy / 2),
    D_t = sum of e^s over the places t, t + 1, ...

A neighbor exchange changes one denominator. Let x and y be the documents at places t and t + 1, and R the sum of
e^s over the places below. Given everything else,

    P(x above y) : P(y above x)  =  e^A_xy (e^s_x + R) : (e^s_y + R)

so a step draws from its exact conditional distribution, without rejections. Pairs at the places (0, 1), (2, 3)
and so on do not depend on each other, nor do those at (1, 2), (3, 4) and so on. So a sweep takes all pairs of the
first kind at once, then all of the second kind.

An insertion takes one document x out and puts it back. Let o_0, o_1, ... be the others in their order, and R_p the
sum of e^s over those after o_p. Then, from one place to the next,

    P(x just above o_p) : P(x just below o_p)  =  e^A_{x, o_p} (e^s_x + R_p) : (e^s_{o_p} + R_p)

so all places of x have their exact probabilities by one cumulative sum. A neighbor exchange is cheap, but to cross
a list of n documents takes some n^2 / 10 sweeps. Insertions of all documents forget where they started after a
sweep or two.

Lists of unequal length stand in one array, padded at the end by documents of rate 0, which never move. Documents
that nobody judged share one slot of A, so that its size depends on the judged documents only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.random import Hashes, stream_uniforms

STRIDE = 1 << 24
"""How many random numbers a sweep has at its disposal; so the numbers do not depend on the padding."""
TAKEN = 16
"""The most documents of a list that a sweep puts back."""
EXCHANGES = 4
"""How many sweeps of neighbor exchanges a sweep of insertions has besides, for longer lists."""
TINY = 1e-300
"""The least rate of a document."""
MOST_LOG_ODDS = 700.0
"""Larger log odds are certain in double precision."""

Orders = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OrderModel:
    """The distribution of the orders of L lists of at most n documents, with at most m - 1 judged ones.

    ``rate`` (L, n): e^s, relative to the largest of the list; 0 for padding. ``log_odds`` (L, m, m): A.
    ``judged`` (L,): documents from this number on share the slot of this number.
    """

    rate: Floats
    log_odds: Floats
    judged: Integers

    def tempered(self, power: float) -> OrderModel:
        """The model with the judgments raised to a power: 0 is Plackett-Luce alone."""
        return OrderModel(self.rate, power * self.log_odds, self.judged)

    def slots(self, documents: Orders) -> Orders:
        """The slot of each document, one row per list."""
        return np.minimum(documents, self.judged[:, None])


def draw_by_neighbors(
    model: OrderModel,
    order: Orders,
    streams: Hashes,
    sweeps: int,
    every: int,
    *,
    first: int = 1,
    within: Integers | None = None,
) -> tuple[Orders, Orders]:
    """Sweep ``sweeps`` times; the last order (L, n), and that after each ``every`` sweeps (L, K, n).

    ``streams``: the start of each list's random numbers. ``first``: the number of the first sweep, for these
    numbers. ``within`` (L,): exchange only documents among so many first places of a list.
    """
    order, (lists, n), kept = order.copy(), order.shape, []
    chances = np.exp(np.clip(model.log_odds, -MOST_LOG_ODDS, MOST_LOG_ODDS)).ravel()
    side = model.log_odds.shape[1]
    corner = (np.arange(lists) * side * side)[:, None]
    rate = np.take_along_axis(model.rate, order, axis=1)

    def exchange(first_place: int, rest: Floats, draws: Floats) -> None:
        """Draw the order of each pair at the places first_place + 0 and 1, + 2 and 3, ..."""
        end = first_place + 2 * draws.shape[1]
        upper, lower = slice(first_place, end, 2), slice(first_place + 1, end, 2)
        x, y, rate_x, rate_y = order[:, upper], order[:, lower], rate[:, upper], rate[:, lower]
        keep = chances[corner + model.slots(x) * side + model.slots(y)] * (rate_x + rest)
        swap = draws * (keep + (rate_y + rest)) > keep
        if within is not None:
            swap &= np.arange(first_place + 1, end, 2) < within[:, None]
        order[:, upper], order[:, lower] = np.where(swap, y, x), np.where(swap, x, y)
        rate[:, upper], rate[:, lower] = np.where(swap, rate_y, rate_x), np.where(swap, rate_x, rate_y)

    even, odd = n // 2, (n - 1) // 2
    below = np.zeros((lists, n // 2 + 2))  # sums of the rates from the places 0, 2, 4, ... to the end
    for sweep in range(first, first + sweeps):
        draws = stream_uniforms(streams, sweep * STRIDE, max(n - 1, 0))
        pairs = rate[:, 0::2].copy()
        pairs[:, :even] += rate[:, 1::2]
        below[:, : pairs.shape[1]] = np.cumsum(pairs[:, ::-1], axis=1)[:, ::-1]
        exchange(0, below[:, 1 : even + 1], draws[:, 0::2])
        if odd:
            rest = below[:, 2 : odd + 2].copy()
            inside = rate[:, 3::2]
            rest[:, : inside.shape[1]] += inside
            exchange(1, rest, draws[:, 1::2])
        if (sweep - first + 1) % every == 0:
            kept.append(order.copy())
    return order, np.stack(kept, axis=1)


def draw_by_insertion(
    model: OrderModel,
    order: Orders,
    sizes: Integers,
    streams: Hashes,
    sweeps: int,
    every: int,
    *,
    done: int = 0,
    turns: int = 1,
) -> tuple[Orders, Orders]:
    """Put back every document of a list once per sweep; the last order (L, n), and those kept (L, K, n).

    A turn puts back ``TAKEN`` documents. A list that needs more than ``turns`` turns gets only so many in a sweep,
    the next documents in turn after ``done`` sweeps, and exchanges of neighbors besides. An order is kept after
    each ``every`` sweeps.
    """
    kept, own = [], np.minimum(-(-sizes // TAKEN), turns)
    insertions = _Insertions(model, sizes)
    long = sizes > TAKEN * own
    for sweep in range(1, sweeps + 1):
        for turn in range(int(own.max())):
            draws = stream_uniforms(streams, sweep * STRIDE + TAKEN * turn, TAKEN)
            first = TAKEN * ((done + sweep - 1) * own * long + turn)
            for number in range(min(TAKEN, int(sizes.max()))):
                document = first + number
                if long.any():
                    document = np.where(long, document % sizes, document)
                document = np.where(turn < own, document, sizes)
                order = insertions.put_back(order, document, draws[:, number : number + 1])
        if long.any():
            begin, within = (sweeps + sweep) * EXCHANGES, np.where(long, sizes, 0)
            order, _ = draw_by_neighbors(model, order, streams, EXCHANGES, EXCHANGES, first=begin, within=within)
        if sweep % every == 0:
            kept.append(order.copy())
    return order, np.stack(kept, axis=1)


class _Insertions:
    """Insertions into the orders of some lists, with what does not change from one to the next.

    Most blocks of lists are small, so that the calls of NumPy count more than the numbers: hence the flat indices.
    """

    def __init__(self, model: OrderModel, sizes: Integers) -> None:
        lists, n = model.rate.shape
        self.side = model.log_odds.shape[1]
        self.rate, self.odds = model.rate.ravel(), model.log_odds.ravel()
        self.sizes, self.judged = sizes, model.judged
        self.slots = None if (sizes <= model.judged).all() else model.judged[:, None]
        self.list, self.place = np.arange(lists), np.arange(n)
        self.first, self.outside = self.list * n, self.place >= sizes[:, None]
        self.padded = bool(self.outside.any())
        self.fall, self.remain = np.zeros((lists, n)), np.zeros((lists, n))

    def put_back(self, order: Orders, document: Integers, draws: Floats) -> Orders:
        """Take a document out of each list that has it, and put it back at a place drawn by its probability."""
        lists, n = order.shape
        there = document < self.sizes
        everywhere = bool(there.all())
        taken = document if everywhere else np.where(there, document, 0)
        others = order[order != taken[:, None]].reshape(lists, n - 1)
        own = self.rate[self.first + taken][:, None]
        remain, fall = self.remain, self.fall  # R_p + e^s_{o_p} for p = 0, 1, ..., and 0 at the end
        np.add.accumulate(self.rate[self.first[:, None] + others][:, ::-1], axis=1, out=remain[:, -2::-1])
        corner = (self.list * self.side + np.minimum(taken, self.judged)) * self.side
        slots = others if self.slots is None else np.minimum(others, self.slots)
        drop = np.log(np.maximum(remain[:, :-1], TINY) / (own + remain[:, 1:]))
        drop -= self.odds[corner[:, None] + slots]
        # ln P of the places above o_0, above o_1, ..., and at the end
        np.add.accumulate(drop, axis=1, out=fall[:, 1:])
        weight = fall
        if self.padded:
            weight = np.where(self.outside, -np.inf, fall)
        chance = np.add.accumulate(np.exp(weight - np.maximum.reduce(weight, axis=1, keepdims=True)), axis=1)
        put = self.place == np.add.reduce(draws * chance[:, -1:] >= chance, axis=1, keepdims=True)
        new = np.empty_like(order)
        new[put], new[~put] = taken, others.ravel()
        return new if everywhere else np.where(there[:, None], new, order)


def draw_by_metropolis(
    model: OrderModel, order: Orders, sizes: Integers, streams: Hashes, steps: int, every: int
) -> tuple[Orders, Orders]:
    """Exchange two random places ``steps`` times by Metropolis' rule (algorithm 1 of Wu et al. 2016).

    Let x at place p and y at place q > p change places. The judgments change by A_xy and by A_xc + A_cy for each
    document c between, and the denominators D_t change for the places p < t <= q.
    """
    order, kept = order.copy(), []
    lists = np.arange(len(order))
    for step in range(1, steps + 1):
        draws = stream_uniforms(streams, step * STRIDE, 3)
        one, other = ((draws[:, place] * own).astype(np.int64) for place, own in ((0, sizes), (1, sizes - 1)))
        other += other >= one
        p, q = np.minimum(one, other), np.maximum(one, other)
        new = order.copy()
        new[lists, p], new[lists, q] = order[lists, q], order[lists, p]
        rise = order_log_weight(model, new, p, q) - order_log_weight(model, order, p, q)
        taken = np.log(np.maximum(draws[:, 2], 1e-300)) < rise
        order[taken] = new[taken]
        if step % every == 0:
            kept.append(order.copy())
    return order, np.stack(kept, axis=1)


def order_log_weight(
    model: OrderModel, order: Orders, first: Integers | None = None, last: Integers | None = None
) -> Floats:
    """ln P(order) of each list, up to a constant: all of it, or only what depends on two places.

    That is, the pairs of the documents at the places ``first`` and ``last`` with those from first to last, and
    the denominators after ``first`` up to ``last``.
    """
    lists, n = np.arange(len(order)), order.shape[1]
    rate = np.take_along_axis(model.rate, order, axis=1)
    remain = np.cumsum(rate[:, ::-1], axis=1)[:, ::-1]
    slot = model.slots(order)
    if first is None or last is None:
        odds = model.log_odds[lists[:, None, None], slot[:, :, None], slot[:, None, :]]
        known = rate > 0
        terms = np.log(np.where(known, rate, 1.0)) - np.log(np.where(known, remain, 1.0))
        return np.asarray(terms.sum(axis=1) + 0.5 * np.triu(odds, 1).sum(axis=(1, 2)))
    place = np.arange(n)
    inside = (place > first[:, None]) & (place <= last[:, None])
    top, bottom = slot[lists, first], slot[lists, last]
    above = model.log_odds[lists[:, None], top[:, None], slot]
    below = model.log_odds[lists[:, None], slot, bottom[:, None]]
    between = inside & (place < last[:, None])
    pairs = np.where(inside, above, 0.0) + np.where(between, below, 0.0)
    stages = np.where(inside & (remain > 0), np.log(np.where(remain > 0, remain, 1.0)), 0.0)
    return np.asarray(0.5 * pairs.sum(axis=1) - stages.sum(axis=1))


def places_of(orders: Orders) -> Orders:
    """The place of each document, from the document at each place (..., n)."""
    places = np.empty_like(orders)
    np.put_along_axis(places, orders, np.broadcast_to(np.arange(orders.shape[-1]), orders.shape), axis=-1)
    return places


def count_above(places: Orders, judged: Integers, sizes: Integers, side: int) -> Floats:
    """How many documents of slot x are above those of slot y (L, side, side), on average over draws (L, K, n).

    For judged documents it is the probability that x is above y.
    """
    lists, draws, n = places.shape
    width = min(side, n)
    found = np.zeros((lists, side, side))
    count, total = np.zeros((lists, width, width), np.int32), np.zeros((lists, width))
    for draw in range(draws):
        own = places[:, draw, :width]
        count += own[:, :, None] < own[:, None, :]
        total += own
    inside = np.arange(width) < judged[:, None]
    count *= inside[:, :, None] & inside[:, None, :]
    found[:, :width, :width] = count / draws
    others = sizes - judged
    if others.any():
        above = np.where(inside, total / draws - found[:, :width, :width].sum(axis=1), 0.0)
        lists_of = np.arange(lists)
        found[lists_of, judged, :width] += above
        found[lists_of, :width, judged] += np.where(inside, others[:, None] - above, 0.0)
    return found
