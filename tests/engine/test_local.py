import pickle

import numpy as np
import pytest

from crowdrank.engine import LocalEngine, open_engine, sum_in_order
from crowdrank.engine.base import Branches, sum_branches
from crowdrank.errors import UsageError
from sums import COUNTING, PLAIN, SHARDS, Counted, Scale, Shard, Total


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_fields_add_and_local_parts_join_in_order(threads):
    session = LocalEngine(threads).open(SHARDS, start=COUNTING.start, seed=7)
    found = session.evaluate(COUNTING.counted, Scale(2.0))
    assert found.total == 2 * (1 + 2 + 3 + 4 + 5 + 6)
    assert found.values.tolist() == [1, 2, 3, 4, 5, 6]
    assert session.collect(COUNTING.first, None) == [1, 3, 4]


@pytest.mark.parametrize("threads", [1, 3])
def test_without_states_functions_take_none(threads):
    session = LocalEngine(threads).open(SHARDS)
    assert session.evaluate(PLAIN.total, Scale(2.0)).total == 42
    assert session.collect(PLAIN.first, None) == [1, 3, 4]


def test_evaluate_keeps_states_and_advance_replaces_them():
    session = LocalEngine(2).open(SHARDS, start=COUNTING.start, seed=7)
    assert session.evaluate(COUNTING.counted, Scale(1.0)).state == 3 * 7
    assert session.advance(COUNTING.advance, Scale(1.0)).state == 3 * 7
    assert session.evaluate(COUNTING.counted, Scale(1.0)).state == 3 * 8


@pytest.mark.parametrize("count", range(1, 20))
def test_the_tree_of_sums_keeps_the_order(count):
    parts = [Counted(1 << place, 0, np.array([place])) for place in range(count)]
    found = sum_in_order(iter(parts))
    assert found.total == (1 << count) - 1
    assert found.values.tolist() == list(range(count))


def test_a_sum_has_the_type_of_its_parts():
    found = Counted(1.0, 2, np.array([3.0])).join(Counted(4.0, 5, np.array([6.0])))
    assert isinstance(found, Counted)
    assert (found.total, found.state, found.values.tolist()) == (5.0, 7, [3.0, 6.0])


def test_what_is_summed_can_be_sent():
    assert pickle.loads(pickle.dumps(PLAIN.total))(SHARDS[0], Scale(1.0)).total == 3


def test_an_unknown_engine_is_named():
    with pytest.raises(UsageError, match="no engine 'moon'"), open_engine("moon"):
        pass


def test_sums_do_not_depend_on_threads_to_the_bit():
    rng = np.random.default_rng(0)
    shards = [Shard(rng.normal(size=1000)) for _ in range(37)]
    found = {LocalEngine(threads).open(shards).evaluate(PLAIN.total, Scale(1.0)).total for threads in (1, 2, 4)}
    assert len(found) == 1


@pytest.mark.parametrize("count", range(1, 20))
def test_the_tree_does_not_depend_on_who_adds_which_part(count):
    """Sums that round differently in every order: blocks of any sizes give the tree of the whole."""
    rng = np.random.default_rng(count)
    parts = [Total(value) for value in rng.normal(size=count) * 10.0 ** rng.integers(-8, 8, count)]
    whole = sum_in_order(parts).total
    for first in range(count + 1):
        for second in range(first, count + 1):
            cuts = [(0, first), (first, second), (second, count)]
            branches = [branch for start, end in cuts for branch in Branches(start).extend(parts[start:end])]
            assert sum_branches(branches).total == whole
