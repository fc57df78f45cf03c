"""Samples of the pairs of long lists: against all pairs, under other names and other orders of the rows."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import count_pairs, pair_sample
from crowdrank.data.pair_sample import _circle, _distances, _exchange
from crowdrank.models.registry import make


def labels(items=60, workers=4, seed=0, classes=5, share=0.8):
    """Labels of a scale by workers who each skip some items."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1, items)
    said = np.clip(np.rint(classes / 2 + truth + rng.normal(0, 0.7, (workers, items))), 1, classes)
    worker, item = np.nonzero(rng.random((workers, items)) < share)
    return pl.DataFrame(
        {
            "worker": [f"w{code}" for code in worker],
            "item": [f"i{code:03d}" for code in item],
            "label": said[worker, item],
        }
    )


class TestCircle:
    @pytest.mark.parametrize("rows", [12, 13, 60, 201, 1000])
    @pytest.mark.parametrize("opponents", [2, 10, 50])
    def test_weights_sum_to_all_pairs_and_all_rows_are_treated_alike(self, rows, opponents):
        one, other, weight = _circle(rows, opponents)
        assert weight.sum() == pytest.approx(rows * (rows - 1) / 2)
        met = np.bincount(one, minlength=rows) + np.bincount(other, minlength=rows)
        assert (met == met[0]).all()
        assert met[0] <= max(opponents, 2 * np.log2(rows))
        assert len(np.unique(np.sort([one, other], axis=0), axis=1).T) == len(one)  # no pair twice
        assert (one != other).all()

    def test_the_rows_are_connected_and_neighbors_meet(self):
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        for rows in (201, 400, 625, 1024):
            one, other, _ = _circle(rows, 50)
            edges = coo_array((np.ones(len(one)), (one, other)), shape=(rows, rows))
            assert connected_components(edges, directed=False)[0] == 1
            assert _distances(rows, 50)[0][0] == 1

    def test_rows_that_are_alike_exchange_their_pairs(self):
        # rows 1 and 2 are alike; 0-1 has weight 1, 1-2 weight 2, 2-3 weight 4
        one, other, weight = _exchange(
            np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([1.0, 2.0, 4.0]), np.array([0, 1, 1, 2])
        )
        found = dict(zip(zip(one.tolist(), other.tolist(), strict=True), weight.tolist(), strict=True))
        assert found == {(0, 1): 0.5, (0, 2): 0.5, (1, 2): 2.0, (1, 3): 2.0, (2, 3): 2.0}


class TestConversion:
    def test_enough_opponents_are_all_pairs(self):
        table = cr.read(labels())
        every, some = (cr.to_pairs(table, pairs=pairs) for pairs in ("all", 60))
        assert some.weight is None
        assert (every.left == some.left).all()

    def test_short_lists_are_whole_and_the_weights_stand_for_all(self):
        frame = labels(share=1.0)
        short = pl.DataFrame({"worker": ["x"] * 3, "item": ["i000", "i001", "i002"], "label": [1.0, 2.0, 3.0]})
        table = cr.read(pl.concat([frame, short]), pairs=10)
        found = cr.to_pairs(table)
        own = found.worker == table.index.workers.to_list().index("x")
        assert found.weight[own].tolist() == [1.0] * 3
        assert found.weight.sum() == pytest.approx(4 * 60 * 59 / 2 + 3)
        assert count_pairs(table) <= found.rows <= pair_sample.SPREAD * count_pairs(table)
        assert found.notes[-1].code == "pairs-sampled"
        assert f"{4 * 60 * 59 // 2 + 3} pairs in total" in found.notes[-1].message

    def test_auto_samples_long_lists_only(self, monkeypatch):
        table = cr.read(labels())
        assert cr.to_pairs(table).weight is None
        monkeypatch.setattr("crowdrank.data.expand.LONG", 30)
        monkeypatch.setattr("crowdrank.data.expand.OPPONENTS", 10)
        assert cr.to_pairs(table).rows < cr.to_pairs(table, pairs="all").rows / 2
        model = make("condorcet", {}).fit(table)  # it needs every pair
        assert [note.code for note in model.fit_.warnings if note.code == "pairs-sampled"] == []
        assert [note.code for note in make("bt", {}).fit(table).fit_.warnings].count("pairs-sampled") == 1

    def test_two_items_below_form_no_pair(self):
        rank = [*range(1, 16), *[None] * 25]
        rows = {
            "worker": ["x"] * 40 + ["y"],
            "item": [f"i{code}" for code in range(40)] + ["i0"],
            "rank": [*rank, 1],
        }
        found = cr.to_pairs(cr.read(pl.DataFrame(rows), pairs=6))
        places = np.array([int(name[1:]) for name in found.index.items])
        assert (np.minimum(places[found.left], places[found.right]) < 15).all()

    def test_weights_of_rows_are_carried_along(self):
        frame = labels().with_columns(weight=pl.lit(4.0))
        found = cr.to_pairs(cr.read(frame, pairs=8))
        assert found.weight.sum() == pytest.approx(4 * cr.to_pairs(cr.read(labels(), pairs=8)).weight.sum())


class TestSameAnswer:
    @pytest.mark.parametrize("seed", [0, 1])
    def test_under_other_names_and_orders(self, seed):
        """Some items are alike: the same workers gave them the same labels."""
        frame = labels(seed=seed, items=80, workers=3)
        twins = frame.filter(pl.col("item") == "i007").with_columns(item=pl.lit("j"))
        frame = pl.concat([frame, twins])
        rng = np.random.default_rng(seed)
        names = rng.permutation(frame["item"].unique().sort().to_list())
        others = dict(zip(frame["item"].unique().sort().to_list(), names, strict=True))
        people = {"w0": "z", "w1": "w0", "w2": "a"}
        changed = frame.sample(fraction=1.0, shuffle=True, seed=seed).with_columns(
            pl.col("item").replace_strict(others), pl.col("worker").replace_strict(people)
        )
        first, second = (make("bt", {}).fit(cr.read(given, pairs=12)) for given in (frame, changed))
        scores = dict(zip(second.ranking_.item, second.ranking_.score, strict=True))
        errors = dict(zip(second.ranking_.item, second.ranking_.stderr, strict=True))
        own = [others[item] for item in first.ranking_.item]
        np.testing.assert_allclose(first.ranking_.score, [scores[item] for item in own], atol=1e-9)
        np.testing.assert_allclose(first.ranking_.stderr, [errors[item] for item in own], atol=1e-9)

    def test_a_note_says_if_too_many_items_are_alike(self):
        frame = labels(items=300, workers=1, classes=2, share=1.0)
        found = cr.to_pairs(cr.read(frame, pairs=10))
        assert "depends on the order of the rows" in found.notes[-1].message
        assert found.weight.sum() == pytest.approx(300 * 299 / 2)


def test_a_sample_says_what_all_pairs_say():
    """The scores of all pairs and of a sixth of them."""
    table = cr.read(labels(items=150, workers=6, seed=3))
    every, some = (make("bt", {}).fit(cr.read(table, pairs=pairs)) for pairs in ("all", 20))
    assert cr.to_pairs(table, pairs=20).rows < cr.to_pairs(table, pairs="all").rows / 4
    assert np.corrcoef(every.ranking_.score, some.ranking_.score)[0, 1] > 0.99
    difference = every.ranking_.score - some.ranking_.score
    assert np.abs(difference).mean() < 0.1 * every.ranking_.score.std()
