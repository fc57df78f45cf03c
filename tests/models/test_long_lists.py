"""The curvature of long lists, which is not stored, against the one that is."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models import list_sums
from crowdrank.models.list_sums import ListSums
from crowdrank.prepared.lists import Lists
from crowdrank.solve import Arrow, At
from crowdrank.solve.factor import Iterative
from crowdrank.solve.matrices import add_diagonal


def some_lists(ties):
    rng, rows = np.random.default_rng(0), []
    for number in range(6):
        rank = np.sort(rng.integers(1, 7, 9)) if ties else np.arange(1, 10)
        items = rng.choice(12, 9, replace=False)
        rows += [(f"l{number}", f"w{number % 3}", f"i{i:02d}", int(r)) for i, r in zip(items, rank, strict=True)]
    frame = pl.DataFrame(rows, schema=["list", "worker", "item", "rank"], orient="row")
    return Lists(cr.read(frame)).shards()[0].load()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("by_worker", [False, True])
def test_products_are_those_of_the_stored_matrix(monkeypatch, by_worker, ties):
    shard, rng = some_lists(ties), np.random.default_rng(1)
    at = At(rng.normal(size=12), 0.3 * rng.normal(size=(3, 1)))
    sums = ListSums(by_worker=by_worker)
    stored = sums.curvature(shard, at)
    monkeypatch.setattr(list_sums, "EXACT_LIMIT", 1)
    monkeypatch.setattr(list_sums, "LONG", 1)
    found = sums.curvature(shard, at)
    assert not isinstance(found.items, np.ndarray)
    columns = rng.normal(size=(12, 3))
    np.testing.assert_allclose(found.items @ columns, stored.items @ columns, atol=1e-13)
    np.testing.assert_allclose(found.items.diagonal(), stored.items.diagonal(), atol=1e-13)
    np.testing.assert_allclose((found.items + found.items) @ columns, 2 * (stored.items @ columns), atol=1e-13)
    np.testing.assert_allclose((stored.items + found.items) @ columns, 2 * (stored.items @ columns), atol=1e-13)
    np.testing.assert_allclose(found.coupling, stored.coupling, atol=1e-13)
    np.testing.assert_allclose(found.workers_curvature, stored.workers_curvature, atol=1e-13)
    items, right = (add_diagonal(own.items, np.ones(12)) for own in (found, stored)), columns[:, 0]
    no_workers = (np.zeros((12, 0)), np.zeros((0, 1, 1)), shard.part)
    one, other = (Iterative(Arrow(own, *no_workers)).solve(right, np.zeros((0, 1)))[0] for own in items)
    np.testing.assert_allclose(one, other, atol=1e-9)
