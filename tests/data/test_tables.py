"""Coded tables: the same votes under another index."""

import numpy as np

import crowdrank as cr
from helpers import random_votes


def ids(pairs):
    index = pairs.index
    return [
        index.items.gather(pairs.left).to_list(),
        index.items.gather(pairs.right).to_list(),
        index.workers.gather(pairs.worker).to_list(),
        index.queries.gather(pairs.query).to_list(),
    ]


def test_a_compact_table_names_what_it_holds_and_nothing_else():
    some = cr.read(random_votes(queries=3)).take(np.arange(4))
    small = some.compact()
    assert ids(small) == ids(some)
    assert len(some.index.items) == 12
    assert set(small.index.items) == {*ids(some)[0], *ids(some)[1]}
    assert set(small.index.workers) == set(ids(some)[2])
    assert set(small.index.queries) == set(ids(some)[3])


def test_without_workers_and_queries():
    small = cr.read(random_votes().drop("worker")).take(np.arange(2)).compact()
    assert small.index.workers is None
    assert small.index.queries is None
    assert small.rows == 2
