"""The curvature of long lists, which is not stored, against the one that is."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.kernels.plackett_luce import derivatives
from crowdrank.models import list_sums
from crowdrank.models.list_sums import ListSums
from crowdrank.prepared import plan
from crowdrank.prepared.list_shards import shards
from crowdrank.prepared.lists import Lists
from crowdrank.solve import Arrow, At, Draw, arrow
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


class TestNoise:
    """Posterior draws need noise with the covariance of the information of each list."""

    def test_one_sign_per_place_has_the_curvature_of_the_lists(self):
        """The noise is linear in the signs, so unit vectors in their place give its covariance exactly."""
        shard, rng = some_lists(ties=False), np.random.default_rng(1)
        x = 3 * rng.normal(size=len(shard.node))
        found = derivatives(x, shard.orders)
        root = found.noise(lambda rows, number: np.eye(len(x))[rows])
        exact = np.diag(found.curvature)
        for one, other, value in found.cross(np.ones(len(x)), np.ones(len(x))):
            exact[one, other] += value
            exact[other, one] += value
        np.testing.assert_allclose(root @ root.T, exact, atol=1e-12)

    @pytest.mark.parametrize(("by_worker", "ties"), [(False, False), (False, True), (True, False)])
    def test_standard_errors_of_few_long_lists_are_those_of_the_information(self, monkeypatch, by_worker, ties):
        frame = long_lists(ties)
        model = cr.PlackettLuce(regularization=0.5, slope="by-worker" if by_worker else "none", slope_sd=0.3)
        exact = model.fit(frame).ranking_.stderr
        for module in (arrow, list_sums):
            monkeypatch.setattr(module, "EXACT_LIMIT", 10)
        fitted = model.clone().fit(frame)
        assert fitted.fit_.details["intervals"] == "posterior draws by conjugate gradients"
        ratio = np.quantile(fitted.ranking_.stderr / exact, [0.02, 0.5, 0.98])
        assert ratio == pytest.approx([1.0, 1.0, 1.0], abs=0.22)  # .4 to 2.2 with one sign per list

    def test_noise_does_not_depend_on_the_shards(self, monkeypatch):
        lists = Lists(cr.read(long_lists(ties=True)))
        draw = Draw(np.random.default_rng(3).normal(size=len(lists.nodes)), np.zeros((0, 1)), 5)
        whole = sum(ListSums().information(shard.load(), draw).noise for shard in shards(lists))
        monkeypatch.setattr(plan, "SHARD_ROWS", 100)
        parts = [ListSums().information(shard.load(), draw).noise for shard in shards(lists)]
        assert len(parts) > 1
        np.testing.assert_allclose(sum(parts), whole, atol=1e-12)


def long_lists(ties):
    """Five workers rank 80 of 120 items each."""
    rng, rows = np.random.default_rng(11), []
    score = rng.normal(size=120)
    for number in range(5):
        items = rng.choice(120, 80, replace=False)
        order = items[np.argsort(-(score[items] + rng.gumbel(size=80)))]
        rows += [(f"w{number}", f"i{item:03d}", 1 + place // (1 + ties)) for place, item in enumerate(order)]
    return pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row")
