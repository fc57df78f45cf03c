"""Shards and sums for the tests of the engines, in a file of their own so that other processes can load them."""

import numpy as np

from crowdrank.engine import Stats


class Shard:
    def __init__(self, values):
        self.values = np.asarray(values, float)

    def load(self):
        return self


class CountingSums:
    """Sums the values; the state counts how often a shard was advanced."""

    stateful = True

    def start(self, shard, seed):
        return seed

    def statistics(self, shard, params, state):
        shared = {"sum": params["scale"] * shard.values.sum(), "state": state}
        return Stats(shared, {"values": shard.values}), state + 1

    def collect(self, shard, params, state):
        return {"first": shard.values[0], "state": state}


class StatelessSums(CountingSums):
    stateful = False

    def statistics(self, shard, params, state):
        return Stats({"sum": params["scale"] * shard.values.sum()}), None


SHARDS = [Shard([1, 2]), Shard([3]), Shard([4, 5, 6])]
