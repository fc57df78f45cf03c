import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdrank as cr
from crowdrank.data import LEFT, RIGHT, TIE
from crowdrank.models.pairs.crowd_bt import agreed_pairs
from crowdrank.prepared import comparisons
from crowdrank.prepared.comparisons import CodedVotes, Tally, add_tallies, coded_votes, nodes_of, plan, tally
from crowdrank.prepared.graph import graph
from helpers import random_votes
from shards import cut_small


def counted(votes, workers=None, weights=None, nodes=4):
    left, right, outcome = (np.array(column, np.int64) for column in zip(*votes, strict=True))
    worker = None if workers is None else np.array(workers, np.int32)
    weight = None if weights is None else np.array(weights, float)
    batch = CodedVotes(left, right, outcome.astype(np.int8), worker, weight)
    return tally(nodes, batch, 0 if workers is None else max(workers) + 1)


def as_dict(table):
    worker = [None] * len(table) if table.worker is None else table.worker.tolist()
    return {
        (k, int(i), int(j)): (w, x)
        for k, i, j, w, x in zip(worker, table.i, table.j, table.wins, table.losses, strict=True)
    }


def test_votes_are_counted_for_the_lower_node():
    table = counted([(0, 1, LEFT), (1, 0, LEFT), (1, 0, RIGHT), (2, 1, TIE)])
    assert as_dict(table) == {(None, 0, 1): (2, 1), (None, 1, 2): (0.5, 0.5)}


def test_workers_are_told_apart_and_weights_add():
    table = counted([(0, 1, LEFT), (0, 1, LEFT), (1, 0, LEFT)], workers=[1, 0, 1], weights=[2, 1, 0.5])
    assert as_dict(table) == {(0, 0, 1): (1, 0), (1, 0, 1): (2, 0.5)}


votes = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1)


@given(votes, st.booleans(), st.booleans())
def test_equals_a_direct_count(rows, weighted, huge):
    """Dense counting, sorting, and the coding for huge numbers of pairs all give the same."""
    rows = [(i, j, o, k) for i, j, o, k in rows if i != j]
    if not rows:
        return
    scale = 2**29 if huge else 1  # nodes so far apart that their product overflows
    expected = {}
    for place, (i, j, o, k) in enumerate(rows):
        weight = 1.0 + place if weighted else 1.0
        low_wins = {LEFT: i < j, RIGHT: j < i}.get(o)
        add = (weight / 2, weight / 2) if o == TIE else (weight, 0) if low_wins else (0, weight)
        key = (k, min(i, j) * scale, max(i, j) * scale)
        old = expected.get(key, (0, 0))
        expected[key] = (old[0] + add[0], old[1] + add[1])
    table = counted(
        [(i * scale, j * scale, o) for i, j, o, _ in rows],
        workers=[k for *_, k in rows],
        weights=[1.0 + place for place in range(len(rows))] if weighted else None,
        nodes=3 * scale + 1,
    )
    assert as_dict(table) == expected
    assert list(as_dict(table)) == sorted(as_dict(table))


@pytest.mark.parametrize("workers", [0, 4])
def test_tallies_of_batches_add_up_to_that_of_all_votes(workers, monkeypatch):
    """Merged a few rows at a time, with ranges in which some batches have no rows."""
    monkeypatch.setattr(comparisons, "MERGE_ROWS", 7)
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 6, (2, 90))
    worker = np.sort(rng.integers(0, 4, 90)).astype(np.int32)
    kept = left != right
    votes = CodedVotes(left[kept], right[kept], rng.integers(0, 3, kept.sum()).astype(np.int8), worker[kept])
    cuts = [slice(0, 20), slice(20, 21), slice(21, 60), slice(60, None)]
    batches = [CodedVotes(*(column[cut] for column in votes[:4])) for cut in cuts]
    found = add_tallies([tally(6, batch, workers, ties=True) for batch in batches])
    wanted = tally(6, votes, workers, ties=True)
    for name in ("i", "j", "wins", "losses", "ties", *(["worker"] if workers else [])):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


def test_a_node_is_an_item_within_a_query():
    pairs = cr.read(random_votes(queries=2, votes=50, items=4))
    nodes = nodes_of(pairs.batches(), pairs.index)
    left, right, *_ = coded_votes(nodes, pairs)
    assert len(nodes) == 8
    assert nodes.query.tolist() == [0] * 4 + [1] * 4
    assert (nodes.item[left] == pairs.left).all()
    assert (nodes.query[right] == pairs.query).all()


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_shards_join_to_the_whole(rows):
    table = counted([(0, 1, LEFT), (1, 2, LEFT), (2, 3, LEFT), (0, 3, LEFT), (0, 2, LEFT)])
    shards = [ref.load() for ref in cut_small(plan, rows, table)]
    assert np.concatenate([shard.i for shard in shards]).tolist() == table.i.tolist()
    assert sum(len(shard) for shard in shards) == 5


class TestGraph:
    def test_parts(self):
        found = graph(counted([(0, 1, LEFT), (2, 3, LEFT)]))
        assert found.parts == 2
        assert [members.tolist() for members in found.members()] == [[0, 1], [2, 3]]

    def test_strong_parts_need_a_way_back(self):
        chain = graph(counted([(0, 1, LEFT), (1, 2, LEFT)], nodes=3))
        cycle = graph(counted([(0, 1, LEFT), (1, 2, LEFT), (2, 0, LEFT)], nodes=3))
        assert len(set(chain.strong)) == 3
        assert len(set(cycle.strong)) == 1

    def test_wins_and_losses(self):
        found = graph(counted([(0, 1, LEFT), (0, 1, TIE)], nodes=2))
        assert found.wins.tolist() == [1.5, 0.5]
        assert found.losses.tolist() == [0.5, 1.5]


def test_agreed_pairs_need_many_workers_and_nine_tenths():
    """Footnote 4: more than ten workers, at least nine tenths of them of one mind."""
    votes = [(0, 1, LEFT)] * 10 + [(0, 1, RIGHT)] + [(1, 2, LEFT)] * 10 + [(2, 3, RIGHT)] * 9 + [(2, 3, LEFT)] * 2
    workers = [*range(11), *range(10), *range(11)]
    rows = counted(votes, workers)
    by_worker = Tally(cut_small(plan, 5, rows), rows.nodes, rows.workers)
    assert agreed_pairs(counted(votes), by_worker).tolist() == [[0, 1]]
