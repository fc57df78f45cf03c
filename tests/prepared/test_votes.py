"""Votes as pairwise models take them: what is said about pairs that were judged in both orders."""

from collections import defaultdict

import numpy as np

from crowdrank.data.tables import RIGHT, TIE
from crowdrank.prepared.comparisons import CodedVotes
from crowdrank.prepared.votes import judged_in_both_orders


def test_pairs_judged_once_in_each_order_are_those_of_a_direct_count():
    rng = np.random.default_rng(0)
    for _ in range(50):
        nodes, workers, count = (int(rng.integers(low, high)) for low, high in ((2, 8), (1, 6), (0, 200)))
        left = rng.integers(0, nodes, count)
        right = (left + rng.integers(1, nodes, count)) % nodes
        outcome, worker = (
            rng.integers(0, 3, count).astype(np.int8),
            rng.integers(0, workers, count).astype(np.int32),
        )
        shown = defaultdict(list)
        for one, other, said, who in zip(left, right, outcome, worker, strict=True):
            if said != TIE:
                shown[who, min(one, other), max(one, other)].append((one > other, said == RIGHT))
        twice = [seen for seen in shown.values() if len(seen) == 2 and seen[0][0] != seen[1][0]]
        same = sum(first[1] == second[1] for first, second in twice)
        assert judged_in_both_orders(CodedVotes(left, right, outcome, worker), nodes, workers) == (
            len(twice),
            same,
        )


def test_keys_that_would_overflow_are_counted_right():
    left, right = np.array([0, 1]), np.array([1, 0])
    votes = CodedVotes(left, right, np.zeros(2, np.int8), np.zeros(2, np.int32))
    assert judged_in_both_orders(votes, 2**31, 1000) == judged_in_both_orders(votes, 2, 1)
