"""Top-k lists compared with top-k lists: definition 1 of Wu et al. 2016, after Klementiev et al. 2008.

Let r documents of list a not be in list b (and r of b not in a). With every document of a list above all others,

    d(a, b) = pairs that a and b order differently - r (r - 1) / 2

which is equation 52: moving a document across the end of the list costs one exchange, whichever of the documents
outside takes its place. The lists at distance d for a given r have the generating function (q = e^-theta)

    Z_r = q^(r (r+1) / 2) [k choose r]_q^2 [k-r]_q!  times a constant
    E_r(d) = r (r+1) / 2 + 2 A(k) - 2 A(r) - A(k-r),     A(m) = -d ln [m]_q! / d theta

so in terms of Mallows' normalizers it is -theta r (r+1) / 2 + 2 ln Z_k - 2 ln Z_r - ln Z_{k-r}. Equation 55 of the
paper agrees with it only for r = 0, 1 and k.

A true list is drawn as a list of its first k documents, the order of the others does not count:

    P(list) ~ prod over its places t of e^s_t / D_t  x  e^(-sum of theta_j d(list, list_j))

by neighbor exchanges inside the list, and by exchanges of its last document with one from outside (Metropolis).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers, summed
from crowdrank.kernels.chains import STRIDE, OrderModel, Orders, draw_by_neighbors
from crowdrank.random import Hashes, stream_uniforms

OUTSIDE = 1 << 20
"""Where the random numbers of exchanges with documents outside begin within those of a sweep."""


@dataclass(frozen=True, eq=False)
class TopModel:
    """The distribution of the top lists of L lists: that of whole orders, and what it takes to leave the list.

    ``said`` (L, m, m): the weight of statements that slot x is above slot y. ``members`` (T, m): which slots each
    statement ranks; ``of`` (T,): its list; ``theta`` (T,): its expertise times its weight. ``length`` (L,): k.
    ``size`` (L,): the number of documents.
    """

    whole: OrderModel
    said: Floats
    members: NDArray[np.bool_]
    of: Integers
    theta: Floats
    length: Integers
    size: Integers


def draw_top_lists(
    model: TopModel, order: Orders, streams: Hashes, sweeps: int, every: int
) -> tuple[Orders, Orders]:
    """Sweep ``sweeps`` times; the last order (L, n), and that after each ``every`` sweeps (L, K, n).

    A sweep exchanges neighbors inside each list once, and as many times as the list has places its last document
    with one from outside.
    """
    kept = []
    for sweep in range(1, sweeps + 1):
        order, _ = draw_by_neighbors(model.whole, order, streams, 1, 1, first=sweep, within=model.length)
        for turn in range(int(model.length.max())):
            order = _exchange_with_outside(
                model, order, stream_uniforms(streams, sweep * STRIDE + OUTSIDE + 2 * turn, 2)
            )
        if sweep % every == 0:
            kept.append(order.copy())
    return order, np.stack(kept, axis=1)


def _exchange_with_outside(model: TopModel, order: Orders, draws: Floats) -> Orders:
    """Exchange the last document of each list with a random one from outside, by Metropolis' rule."""
    lists, last = np.arange(len(order)), model.length - 1
    others = model.size - model.length
    other = np.where(others > 0, model.length + (draws[:, 0] * others).astype(np.int64), last)
    x, y = order[lists, last], order[lists, other]
    slots = model.whole.slots(order)
    slot_x, slot_y = slots[lists, last], slots[lists, other]
    place = np.arange(order.shape[1])
    outside = (place >= model.length[:, None]) & (place < model.size[:, None]) & (place != other[:, None])
    by_x, by_y = (model.said[lists[:, None], slots, own[:, None]] for own in (slot_x, slot_y))
    cost = (outside * (by_y - by_x)).sum(axis=1)
    cost += model.said[lists, slot_x, slot_y] - model.said[lists, slot_y, slot_x]
    rise = np.log(model.whole.rate[lists, y]) - np.log(model.whole.rate[lists, x]) - cost
    rise += _rise_of_leavers(model, slots, slot_x, slot_y)
    taken = (others > 0) & (np.log(np.maximum(draws[:, 1], 1e-300)) < rise)
    changed = order.copy()
    changed[lists[taken], last[taken]], changed[lists[taken], other[taken]] = y[taken], x[taken]
    return changed


def _rise_of_leavers(model: TopModel, slots: Orders, slot_x: Integers, slot_y: Integers) -> Floats:
    """The change of sum theta r (r - 1) / 2 if y takes the place of x."""
    rows = np.arange(len(model.of))
    before = count_outside(model, slots)
    change = model.members[rows, slot_x[model.of]].astype(np.int64) - model.members[rows, slot_y[model.of]]
    after = before + change
    return summed(model.of, 0.5 * model.theta * (after * (after - 1) - before * (before - 1)), len(slots))


def count_outside(model: TopModel, slots: Orders) -> Integers:
    """r of each statement: how many documents of the top list it does not rank."""
    inside = np.arange(slots.shape[1]) < model.length[:, None]
    ranked = np.take_along_axis(model.members, slots[model.of], axis=1) & inside[model.of]
    return model.length[model.of] - ranked.sum(axis=1)


def top_distances(discordant: Floats, outside: NDArray[Any]) -> Floats:
    """Equation 52 from the pairs that are ordered differently, and r."""
    return discordant - 0.5 * outside * (outside - 1.0)


def discordant_pairs(places: Orders, level: NDArray[np.float32], model: TopModel) -> Floats:
    """For each statement the pairs that the top list orders the other way (T,); ``places`` (L, n) of one draw.

    The top list puts its documents in order, and above all others; ``level`` (T, m) of slots, NaN if not ranked
    and nobody is below.
    """
    slots = model.whole.slots(np.broadcast_to(np.arange(places.shape[1]), places.shape))
    own = np.where(places < model.length[:, None], places, model.length[:, None])[model.of]
    said = np.take_along_axis(level, slots[model.of], axis=1)
    real = np.arange(places.shape[1]) < model.size[model.of][:, None]
    wrong = (own[:, :, None] < own[:, None, :]) & (said[:, :, None] > said[:, None, :])
    return np.asarray((wrong & real[:, :, None] & real[:, None, :]).sum(axis=(1, 2)), np.float64)
