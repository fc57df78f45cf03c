"""Shards and sums for the tests of the engines, in a file of their own so that other processes can load them."""

from dataclasses import dataclass

import numpy as np

from crowdrank.engine import Stats, local_part


class Shard:
    def __init__(self, values):
        self.values = np.asarray(values, float)

    def load(self):
        return self


@dataclass(frozen=True)
class Scale:
    scale: float
    more: np.ndarray | None = None


@dataclass(frozen=True)
class Total(Stats):
    total: float


@dataclass(frozen=True)
class Counted(Total):
    state: int
    values: np.ndarray = local_part()


class CountingSums:
    """Sums the values; the state counts how often a shard was advanced."""

    def start(self, shard, seed):
        return seed

    def counted(self, shard, at, state):
        return Counted(at.scale * shard.values.sum(), state, shard.values)

    def advance(self, shard, at, state):
        return self.counted(shard, at, state), state + 1

    def first(self, shard, params, state):
        return shard.values[0]

    def state(self, shard, params, state):
        return state


class PlainSums:
    """Sums the values, without a state."""

    def total(self, shard, at):
        return Total(at.scale * shard.values.sum())

    def first(self, shard, params):
        return shard.values[0]


COUNTING, PLAIN = CountingSums(), PlainSums()
SHARDS = [Shard([1, 2]), Shard([3]), Shard([4, 5, 6])]
