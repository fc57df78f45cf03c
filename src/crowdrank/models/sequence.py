"""Votes one after the other, for models whose answer depends on their order.

The order is that of the timestamps where there are some, equal ones and votes without one (at the
end) as they stand in the file; else that of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from crowdrank.data import Floats, coded_votes
from crowdrank.errors import Note
from crowdrank.models.votes import Votes

CHUNK = 1 << 16
SIGNS = np.array([1, -1, 0], np.int8)  # of LEFT, RIGHT and TIE


class Games(NamedTuple):
    """Votes in their order: the nodes left and right, 1 where left won, -1 right, 0 a tie, the weight."""

    left: Any
    right: Any
    said: Any
    weight: Any

    def lists(self) -> Iterator[tuple[int, int, int, float]]:
        """Vote by vote as plain numbers, which a loop reads faster than arrays."""
        for start in range(0, len(self.left), CHUNK):
            rows = slice(start, start + CHUNK)
            left, right, said = (column[rows].tolist() for column in self[:3])
            weight = repeat(1.0) if self.weight is None else self.weight[rows].tolist()
            yield from zip(left, right, said, weight, strict=False)

    def taken(self, rows: Any) -> Games:
        """The votes of these row numbers."""
        return Games(*(None if column is None else column[rows] for column in self))


class Sequence:
    """The votes in order, or in random ones."""

    def __init__(self, votes: Votes) -> None:
        self._votes = votes

    def in_order(self) -> Iterator[Games]:
        """The votes in order, a batch at a time where they are in files and have no timestamps."""
        timed = False
        batches = []
        for pairs in self._votes.pairs.batches():
            coded = coded_votes(self._votes.nodes, pairs)
            games = Games(coded.left, coded.right, SIGNS[coded.outcome], coded.weight)
            timed = timed or pairs.timestamp is not None
            if not timed:
                yield games
            else:
                batches.append((games, pairs.timestamp))
        if batches:
            games = _joined(games for games, _ in batches)
            yield games.taken(np.argsort(np.concatenate([time for _, time in batches]), kind="stable"))

    def shuffled(self, seed: int, orders: int) -> Iterator[Games]:
        """The votes in as many random orders."""
        games = _joined(self.in_order())
        for number in range(orders):
            yield games.taken(np.random.default_rng([seed, number]).permutation(len(games.left)))


def _joined(parts: Iterable[Games]) -> Games:
    columns = zip(*parts, strict=True)
    return Games(*(None if column[0] is None else np.concatenate(column) for column in columns))


@dataclass(frozen=True, eq=False)
class Rated:
    """What one or several passes over the votes found, one entry a node: the mean over the orders, its
    variance between them (0 where there is one), and the model's own variance (0 where it has none)."""

    score: Floats
    between: Floats
    within: Floats

    def details(self, orders: int, unit: float = 1.0) -> dict[str, Any]:
        """What is said of the orders in the fit; a score of 1 is shown as ``unit``."""
        if orders == 1:
            return {"orders": 1}
        deviation = unit * np.sqrt(self.between)
        return {
            "orders": orders,
            "deviation_between_orders": {"mean": float(deviation.mean()), "largest": float(deviation.max())},
        }


Play = Callable[[Iterable[tuple[int, int, int, float]]], tuple[Floats, Floats]]
"""From votes in order to the score of each node and its variance."""


def rated(votes: Votes, play: Play, *, orders: int, seed: int) -> Rated:
    """Play the votes in their order, or where ``orders`` > 1 in that many random ones, and take the mean."""
    sequence = Sequence(votes)
    if orders == 1:
        score, within = play(game for games in sequence.in_order() for game in games.lists())
        return Rated(score, np.zeros_like(score), within)
    mean, within, square = (np.zeros(len(votes.nodes)) for _ in range(3))
    for number, games in enumerate(sequence.shuffled(seed, orders), start=1):
        score, variance = play(games.lists())
        away = score - mean
        mean += away / number
        square += away * (score - mean)
        within += variance / orders
    return Rated(mean, square / (orders - 1), within)


def order_notes(votes: Votes, orders: int) -> list[Note]:
    """A note where nothing but the order of the rows says which vote came first."""
    first = next(iter(votes.pairs.batches()))
    if orders > 1 or first.timestamp is not None:
        return []
    message = "There are no timestamps: the votes count in the order of the rows, and another order gives others."
    return [Note("row-order", message)]
