"""How simulated annotators order documents: Mallows lists, lists of equation 56, top-k and partial lists.

An annotator with expertise theta gives a list with P(list) = e^(-theta d(list, truth)) / Z, d Kendall's distance:
theta = 0 orders at random, and a negative theta prefers the reverse. An order here is a row of true places, best
first: 0 is the document that is truly best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import UsageError
from crowdrank.kernels import mallows

LONGEST = 150
"""Lists of equation 56 have at most this many documents; longer ones have more orders than floats count."""

Draw = Callable[[Floats, int, np.random.Generator], Integers]


@dataclass(frozen=True, eq=False)
class ListRows:
    """Rows of lists, list by list and best first: the number of the list, the true place of a document, its rank.

    ``place`` counts from 0 and ``rank`` from 1.
    """

    list: Integers
    place: Integers
    rank: Integers


def draw_lists(
    size: Integers,
    theta: Floats,
    rng: np.random.Generator,
    *,
    draw: Draw = mallows.sample,
    share: float = 1.0,
    top: int = 0,
) -> ListRows:
    """A list of ``size`` documents for each theta.

    With a ``share`` below 1, an annotator sees only this share of the documents, at least 2, drawn at random, and
    orders these as if there were no others. ``top``: only the first so many of a list are kept; 0: all.
    """
    parts = [np.empty((3, 0), np.int64)]
    for documents in np.unique(size):
        own = np.flatnonzero(size == documents)
        seen = min(max(2, round(share * documents)), int(documents))
        order = draw(theta[own], seen, rng)
        if seen < documents:
            chosen = rng.random((len(own), documents)).argsort(axis=1)[:, :seen]
            order = np.take_along_axis(np.sort(chosen, axis=1), order, axis=1)
        kept = order[:, : top or seen]
        rank = np.broadcast_to(np.arange(1, kept.shape[1] + 1), kept.shape)
        parts.append(np.stack([np.repeat(own, kept.shape[1]), kept.ravel(), rank.ravel()]))
    rows = np.concatenate(parts, axis=1)
    return ListRows(*rows[:, np.lexsort((rows[2], rows[0]))])


def find_draw(distances: str, documents: int) -> Draw:
    """How lists are drawn: by Mallows' model, or as the paper draws their distances (equation 56)."""
    if distances not in ("mallows", "paper"):
        raise UsageError(f"distances must be 'mallows' or 'paper'. Got {distances!r}.")
    if distances == "mallows":
        return mallows.sample
    if documents > LONGEST:
        raise UsageError(f"Lists of equation 56 have at most {LONGEST} documents. Got documents={documents}.")
    return sample_by_distance


def sample_by_distance(theta: Floats, n: int, rng: np.random.Generator) -> Integers:
    """Orders (len(theta), n) by equation 56 of Wu et al. 2016: the distance is drawn first, and then the order.

    p(v) is proportional to e^(-theta v) for v = 1 .. n(n-1)/2. This is not Mallows' model, as it forgets how many
    orders lie at each distance: the true order never occurs, and theta = 0 is not chance. The paper exchanges
    random elements of the true order until the distance is v. Here all orders at distance v are equally likely.
    """
    v = np.arange(1, n * (n - 1) // 2 + 1)
    power = -theta[:, None] * v
    chance = np.cumsum(np.exp(power - power.max(axis=1, keepdims=True)), axis=1)
    drawn = rng.random(len(theta)) * chance[:, -1]
    return sample_at_distance(v[(drawn[:, None] >= chance[:, :-1]).sum(axis=1)], n, rng)


def sample_at_distance(distance: Integers, n: int, rng: np.random.Generator) -> Integers:
    """Orders (len(distance), n), drawn uniformly from all orders at exactly these distances from the true one.

    Document j goes above v_j <= j of the documents before it, and the distance is the sum of all v_j. They are
    drawn from the last document down, each v_j with the number of ways in which the documents before it make up
    the rest of the distance.
    """
    ways = _count_orders(n, int(distance.max(initial=0)))
    above, rest = np.zeros((len(distance), n), np.int64), distance.astype(np.int64)
    for j in range(n - 1, 0, -1):
        left = rest[:, None] - np.arange(j + 1)
        chance = np.cumsum(np.where(left >= 0, ways[j - 1][np.maximum(left, 0)], 0.0), axis=1)
        drawn = rng.random(len(rest)) * chance[:, -1]
        above[:, j] = (drawn[:, None] >= chance[:, :-1]).sum(axis=1)
        rest = rest - above[:, j]
    return _insert(above)


def _count_orders(n: int, most: int) -> list[Floats]:
    """For each j, how many orders of the documents 0 to j lie at the distances 0 to ``most``."""
    ways = [np.eye(1, most + 1)[0]]
    for j in range(1, n):
        ways.append(np.convolve(ways[-1], np.ones(j + 1))[: most + 1])
    return ways


def _insert(above: Integers) -> Integers:
    """The orders in which document j was put above so many of the documents before it."""
    place = np.zeros_like(above)
    for j in range(above.shape[1]):
        own = j - above[:, j]
        place[:, :j] += place[:, :j] >= own[:, None]
        place[:, j] = own
    return np.argsort(place, axis=1)
