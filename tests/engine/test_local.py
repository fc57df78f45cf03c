import numpy as np
import pytest

from crowdrank.engine import LocalEngine, Stats, add_in_order, open_session
from crowdrank.errors import UsageError


class Shard:
    def __init__(self, values):
        self.values = np.asarray(values, float)

    def load(self):
        return self


class CountingSums:
    """Sums the values; the state counts how often a shard was advanced."""

    def start(self, shard, seed):
        return seed

    def statistics(self, shard, params, state):
        shared = {"sum": params["scale"] * shard.values.sum(), "state": state}
        return Stats(shared, {"values": shard.values}), state + 1

    def collect(self, shard, params, state):
        return {"first": shard.values[0]}


SHARDS = [Shard([1, 2]), Shard([3]), Shard([4, 5, 6])]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_shared_parts_add_and_local_parts_join_in_order(threads):
    session = LocalEngine(threads).open(CountingSums(), SHARDS, seed=7)
    stats = session.evaluate({"scale": 2.0})
    assert stats.shared["sum"] == 2 * (1 + 2 + 3 + 4 + 5 + 6)
    assert stats.local["values"].tolist() == [1, 2, 3, 4, 5, 6]
    assert [part["first"] for part in session.collect({})] == [1, 3, 4]


def test_evaluate_keeps_states_and_advance_replaces_them():
    session = LocalEngine(2).open(CountingSums(), SHARDS, seed=7)
    assert session.evaluate({"scale": 1.0}).shared["state"] == 3 * 7
    assert session.advance({"scale": 1.0}).shared["state"] == 3 * 7
    assert session.evaluate({"scale": 1.0}).shared["state"] == 3 * 8


@pytest.mark.parametrize("count", range(1, 20))
def test_the_tree_of_sums_keeps_the_order(count):
    parts = [Stats({"sum": 1 << place}, {"place": np.array([place])}) for place in range(count)]
    total = add_in_order(iter(parts))
    assert total.shared["sum"] == (1 << count) - 1
    assert total.local["place"].tolist() == list(range(count))


def test_an_unknown_engine_is_named():
    with pytest.raises(UsageError, match="no engine 'moon'"):
        open_session("moon", CountingSums(), SHARDS)


def test_sums_do_not_depend_on_threads_to_the_bit():
    rng = np.random.default_rng(0)
    shards = [Shard(rng.normal(size=1000)) for _ in range(37)]
    found = {
        LocalEngine(threads).open(CountingSums(), shards).evaluate({"scale": 1.0}).shared["sum"]
        for threads in (1, 2, 4)
    }
    assert len(found) == 1
