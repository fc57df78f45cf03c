"""Dawid-Skene: each step against direct products and counts, the slope against finite differences."""

import itertools

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models.labels import dawid_skene
from crowdrank.prepared import label_rows
from helpers import random_labels
from labelled import labels_of, nothing_known, rows_of, run_of, slope_of, steps_up
from shards import cut_small


class TestDawidSkene:
    def em(self, labels, smoothing=2.0, known=None):
        return dawid_skene._ConfusionEM(
            labels, nothing_known(labels) if known is None else known, smoothing, run_of()
        )

    def random(self, labels, seed=0):
        rng = np.random.default_rng(seed)
        size = len(labels.values)
        return rng.dirichlet(np.ones(size), (labels.people, size)), rng.dirichlet(np.ones(size))

    def joint(self, labels, confusion, shares):
        """pi_c times the product of the chances of an item's labels, one by one."""
        found = np.tile(shares, (len(labels.nodes), 1))
        for node, worker, label, weight in rows_of(labels):
            found[node] *= confusion[worker, :, label] ** weight
        return found

    @pytest.mark.parametrize("size", [5, 1000])
    def test_e_step_and_counts_are_the_direct_ones(self, graded, size):
        confusion, shares = self.random(graded)
        joint = self.joint(graded, confusion, shares)
        posterior = joint / joint.sum(axis=1, keepdims=True)
        counts = np.zeros_like(confusion)
        for node, worker, label, weight in rows_of(graded):
            counts[worker, :, label] += weight * posterior[node]
        session, sums = (
            cr.LocalEngine(1).open(cut_small(label_rows.plan_labels, size, graded)),
            dawid_skene.ConfusionSums(),
        )
        at = dawid_skene.ConfusionAt(confusion, shares)
        found = session.evaluate(sums.counts, at)
        assert found.value == pytest.approx(np.log(joint.sum(axis=1)).sum())
        np.testing.assert_allclose(found.counts, counts)
        np.testing.assert_allclose(found.shares, posterior.sum(axis=0))
        np.testing.assert_allclose(np.concatenate(session.collect(sums.posterior, at)), posterior)

    @pytest.mark.parametrize("smoothing", [0.0, 2.0])
    def test_m_step_is_the_counts_with_labels_of_the_crowd(self, graded, smoothing):
        em = self.em(graded, smoothing)
        confusion, shares = self.random(graded)
        joint = self.joint(graded, confusion, shares)
        posterior = joint / joint.sum(axis=1, keepdims=True)
        point, _, _ = em._step(np.concatenate([confusion.ravel(), shares]))
        new, new_shares = em._parts(point)
        for worker, true in itertools.product(range(graded.people), range(3)):
            said = smoothing * em.center[true]
            for node, own, label, weight in rows_of(graded):
                said[label] += weight * posterior[node, true] * (own == worker)
            np.testing.assert_allclose(new[worker, true], said / said.sum())
        items = posterior.sum(axis=0) + smoothing * label_rows.normalize_counts(graded.counts).mean(axis=0)
        np.testing.assert_allclose(new_shares, items / items.sum())

    @pytest.mark.parametrize("smoothing", [0.0, 2.0])
    def test_no_step_lowers_the_objective(self, graded, smoothing):
        em = self.em(graded, smoothing)
        _, values = steps_up(em._step, em._point(em.counts, em.votes.sum(axis=0)))
        assert (np.diff(values) > -1e-10).all()
        assert values[-1] > values[0]

    def test_the_slope_is_that_of_the_softmax(self, graded):
        em = self.em(graded)
        rng = np.random.default_rng(1)
        logits = rng.normal(size=graded.people * 9 + 3)

        def point(logits):
            own = np.exp(logits)
            return np.concatenate(
                [
                    label_rows.normalize_counts(own[:-3].reshape(-1, 3)).ravel(),
                    label_rows.normalize_counts(own[-3:]),
                ]
            )

        slopes = [slope_of(lambda own: em._step(point(own))[1], logits, place) for place in range(len(logits))]
        assert em._step(point(logits))[2] == pytest.approx(np.abs(slopes).max(), rel=1e-6)

    def test_the_fit_has_the_likelihood_of_the_direct_product(self):
        frame = random_labels(seed=3, items=6, workers=4, labels=40, classes=3)
        found, _, _ = self.em(labels_of(frame)).run()
        direct = self.joint(labels_of(frame), found.confusion, found.shares)
        model = cr.DawidSkene(calibrate=False).fit(frame)
        assert model.fit_.log_likelihood == pytest.approx(np.log(direct.sum(axis=1)).sum(), abs=1e-9)
        expected = direct / direct.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.labels_.probability, expected, atol=1e-9)
        np.testing.assert_allclose(model.ranking_.score, expected @ [1, 2, 3], atol=1e-9)

    def test_known_labels_are_kept_and_said(self):
        frame = random_labels(seed=7, items=20, labels=120)
        free = cr.DawidSkene().fit(frame)
        wrong = free.labels_.polars().select("item", label=pl.col("label") % 4 + 1).head(5)
        model = cr.DawidSkene().fit(frame, anchors=wrong)
        joined = model.labels_.polars().join(wrong, on="item", suffix="_known")
        assert (joined["label"] == joined["label_known"]).all()
        assert (joined["probability"] == 1).all()
        assert model.fit_.details["known"] == 5
        other = pl.DataFrame({"item": ["i00", "nobody", "i01"], "gold": [1, 2, 17]})
        notes = [note.message for note in cr.DawidSkene().fit(frame, anchors=other).fit_.warnings]
        assert any("2 of 3 known labels" in message for message in notes)
        notes = cr.Average().fit(frame, anchors=wrong).fit_.warnings
        assert any("does not use known labels" in note.message for note in notes)

    def test_known_labels_turn_a_crowd_of_liars_round(self):
        """Seven of ten workers are mostly wrong: the votes alone lead to the mirror image."""
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 2, 200)
        right = np.where(np.arange(10) < 7, 0.15, 0.9)
        said = np.where(rng.random((200, 10)) < right, truth[:, None], 1 - truth[:, None])
        frame = pl.DataFrame(
            [(f"i{i:03d}", f"w{w}", int(said[i, w])) for i in range(200) for w in range(10)],
            schema=["item", "worker", "label"],
            orient="row",
        )
        known = pl.DataFrame({"item": [f"i{i:03d}" for i in range(60)], "label": truth[:60]})
        alone, helped = cr.DawidSkene().fit(frame), cr.DawidSkene().fit(frame, anchors=known)
        assert (alone.labels_.label[60:] == truth[60:]).mean() < 0.1
        assert (helped.labels_.label[60:] == truth[60:]).mean() > 0.95
        assert "mirror" in {note.code for note in helped.fit_.warnings}
        people = helped.workers_.polars()
        assert people["verdict"].to_list() == ["malicious"] * 7 + ["reliable"] * 3

    def test_a_mirror_image_is_left(self, graded, monkeypatch):
        """From a start with the classes reversed, the better solution is found all the same."""
        frame = random_labels(seed=2, items=40, workers=6, labels=400, classes=2)
        upright = cr.DawidSkene().fit(frame)
        assert upright.fit_.details["mirror"]["turned"] is False
        plain = dawid_skene._ConfusionEM.__init__

        def reversed_start(self, *given):
            plain(self, *given)
            self.counts, self.votes = self.counts[:, ::-1], self.votes[:, ::-1]

        monkeypatch.setattr(dawid_skene._ConfusionEM, "__init__", reversed_start)
        for smoothing in (0.0, 2.0):
            turned = cr.DawidSkene(shrinkage=smoothing).fit(frame)
            assert turned.fit_.details["mirror"]["turned"] is True
            assert any(note.code == "mirror" for note in turned.fit_.warnings)
        np.testing.assert_allclose(turned.labels_.probability, upright.labels_.probability, atol=1e-8)

    def test_the_confusion_table_is_what_workers_said_of_the_probable_labels(self):
        """Without extra labels T_w[c, l] is the share of l among w's labels, each counted by its item's P(c)."""
        frame = random_labels(seed=7, items=40, workers=12, labels=600, queries=2).sample(
            fraction=1, shuffle=True, seed=0
        )
        model = cr.DawidSkene(shrinkage=0, calibrate=False).fit(frame)
        probable = model.labels_.polars().unpivot(
            [f"p_{value:g}" for value in range(1, 5)], index=["query", "item"], variable_name="true"
        )
        keys = ["worker", "true", "said"]
        counts = (
            frame.rename({"label": "said"})
            .join(probable.with_columns(pl.col("true").str.slice(2).cast(float)), on=["query", "item"])
            .group_by(keys)
            .agg(pl.col("value").sum())
            .with_columns(share=pl.col("value") / pl.col("value").sum().over("worker", "true"))
        )
        table = model.confusion_.polars()
        assert table.columns == [*keys, "probability"]
        assert table.select(keys).rows() == list(
            itertools.product(sorted(frame["worker"].unique()), range(1, 5), range(1, 5))
        )
        assert len(model.confusion_) == len(table) == 12 * 4 * 4
        joined = table.join(counts.with_columns(pl.col("said").cast(float)), on=keys, how="left")
        np.testing.assert_allclose(joined["probability"], joined["share"].fill_null(0.0), atol=1e-7)

    def test_too_many_labels_are_no_classes(self):
        frame = pl.DataFrame({"worker": ["w"] * 21, "item": [f"i{k}" for k in range(21)], "label": range(21)})
        for model in (cr.DawidSkene, cr.GLAD):
            with pytest.raises(cr.InputError, match="at most 20 distinct labels") as caught:
                model().fit(frame)
            assert "ordinal" in str(caught.value)
