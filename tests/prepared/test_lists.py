"""Ranked lists as models take them."""

import numpy as np
import polars as pl
import pytest
from tests.helpers import frame_of, random_lists

import crowdrank as cr
from crowdrank.prepared.lists import Lists


@pytest.mark.parametrize("seed", range(4))
def test_opponents_are_the_other_nodes_of_all_lists_of_a_node(seed):
    alike = frame_of([["x", "y", "z"], ["z", "y", "x"]], ["v", "v2"])  # three nodes of the same lists
    frame = random_lists(seed=seed, items=9, workers=6, most=4)
    if seed % 2:
        frame = pl.concat([frame, alike.select(frame.columns)], how="vertical_relaxed")
    lists = Lists(cr.read(frame))
    met = [set() for _ in range(len(lists.nodes))]
    for begin, end in zip(lists.start[:-1], lists.start[1:], strict=True):
        for node in lists.node[begin:end]:
            met[node] |= set(lists.node[begin:end].tolist()) - {node}
    found = lists.evidence(np.arange(1, len(lists.nodes) + 1)).opponents
    assert found.tolist() == [len(others) for others in met]


def test_an_item_that_no_list_orders_has_no_opponent():
    rows = {"worker": ["v", "v", "w"], "item": ["a", "b", "c"], "rank": [1, 2, 1]}
    lists = Lists(cr.read(pl.DataFrame(rows)))
    assert lists.evidence(np.arange(1, 4)).opponents.tolist() == [1, 1, 0]
