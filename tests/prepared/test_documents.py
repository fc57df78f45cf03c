"""Documents in an order that depends on their content alone."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from crowdrank.prepared.documents import Documents, list_starts, sort_by_content
from shards import small_shards


def random_rows(seed=0, rows=30):
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 1.0, 2.5, np.nan], size=(rows, 3)).astype(np.float32)
    return values, rng.integers(0, 5, rows), rng.integers(0, 3, rows).astype(float), rng.uniform(1, 2, rows)


def content(order, values, query, label, weight):
    """What a trainer would see: the rows, and where the lists begin."""
    return values[order], label[order], weight[order], list_starts(query[order])


def test_names_and_order_of_queries_and_rows_do_not_matter():
    values, query, label, weight = random_rows()
    one = content(sort_by_content(values, query, label, weight), values, query, label, weight)
    shuffled = np.random.default_rng(1).permutation(30)
    renamed = np.array([3, 0, 4, 1, 2])[query]
    given = [own[shuffled] for own in (values, renamed, label, weight)]
    two = content(sort_by_content(*given), *given)
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)


def test_rows_of_a_list_stay_together():
    values, query, label, weight = random_rows()
    order = sort_by_content(values, query, label, weight)
    assert sorted(order) == list(range(30))
    assert len(list_starts(query[order])) == len(np.unique(query)) + 1


def test_sparse_rows_stand_in_the_order_of_dense_ones():
    values, query, label, weight = random_rows()
    values = np.nan_to_num(values)
    stored = csr_array(values)
    np.testing.assert_array_equal(
        sort_by_content(values, query, label, weight), sort_by_content(stored, query, label, weight)
    )


def test_negative_zero_is_zero():
    values, query, label, weight = random_rows()
    values[values == 0] = -0.0
    np.testing.assert_array_equal(
        sort_by_content(values, query, label, weight), sort_by_content(values + 0.0, query, label, weight)
    )


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_shards_hold_whole_lists(rows):
    values, query, label, weight = random_rows()
    order = sort_by_content(values, query, label, weight)
    start = list_starts(query[order])
    documents = Documents(values[order], start, label[order], weight[order], order)
    with small_shards(rows):
        shards = documents.shards(lambda own, label, weight: (own, label))
    assert sum(shard.rows for shard in shards) == 30
    for shard in shards:
        own, label_of_shard = shard.plan
        assert own[0] == 0
        assert own[-1] == shard.rows == len(label_of_shard) == len(shard.values)
        assert shard.first in start
