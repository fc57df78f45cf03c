import numpy as np
import pytest

from crowdrank.engine import LocalEngine, Stats, add_in_order, running
from crowdrank.engine.base import Pieces, total_of
from crowdrank.errors import UsageError
from sums import SHARDS, CountingSums, Shard


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
    with pytest.raises(UsageError, match="no engine 'moon'"), running("moon"):
        pass


def test_sums_do_not_depend_on_threads_to_the_bit():
    rng = np.random.default_rng(0)
    shards = [Shard(rng.normal(size=1000)) for _ in range(37)]
    found = {
        LocalEngine(threads).open(CountingSums(), shards).evaluate({"scale": 1.0}).shared["sum"]
        for threads in (1, 2, 4)
    }
    assert len(found) == 1


@pytest.mark.parametrize("count", range(1, 20))
def test_the_tree_does_not_depend_on_who_adds_which_part(count):
    """Sums that round differently in every order: blocks of any sizes give the tree of the whole."""
    rng = np.random.default_rng(count)
    parts = [Stats({"sum": value}) for value in rng.normal(size=count) * 10.0 ** rng.integers(-8, 8, count)]
    whole = add_in_order(parts).shared["sum"]
    for first in range(count + 1):
        for second in range(first, count + 1):
            cuts = [(0, first), (first, second), (second, count)]
            branches = [piece for start, end in cuts for piece in Pieces(start).added(parts[start:end])]
            assert total_of(branches).shared["sum"] == whole
