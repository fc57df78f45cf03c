"""Consensus of labels: each step against direct products and counts, each slope against finite differences."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import multivariate_normal

import crowdrank as cr
from answers import same
from crowdrank.data import Anchors
from crowdrank.models.base import Run
from crowdrank.models.labelled import Labels
from crowdrank.models.labels import consensus, dawid_skene, glad, ordinal, rows
from helpers import random_labels

MODELS = (cr.MajorityVote, cr.Average, cr.DawidSkene, cr.GLAD, cr.OrdinalLabels)
LEARNERS = MODELS[2:]


def labels_of(frame):
    return Labels(cr.read(frame))


def run_of(anchors=None):
    return Run(anchors or Anchors(), cr.LocalEngine(1), 0, None)


@pytest.fixture
def small():
    return labels_of(random_labels(seed=3, items=6, workers=4, labels=40, classes=3))


def rows_of(labels):
    return list(zip(labels.node, labels.worker, labels.label, labels.weight, strict=True))


def nothing_known(labels):
    return np.full(len(labels.nodes), -1)


def steps_up(step, point, rounds=30):
    """The objective along plain steps."""
    values = []
    for _ in range(rounds):
        point, value, _ = step(point)
        values.append(value)
    return point, values


def slope_of(objective, point, place, width=1e-5):
    """The derivative by one entry, by finite differences."""
    shift = np.zeros_like(point)
    shift[place] = width
    return (objective(point + shift) - objective(point - shift)) / (2 * width)


class TestShards:
    def test_cut_between_items_and_hold_every_row(self, small):
        for size in (1, 4, 7, 1000):
            shards = rows.plan_labels(small, None, size)
            assert sum(len(shard.node) for shard in shards) == len(small)
            assert sum(len(shard.known) for shard in shards) == len(small.nodes)
            again = [
                (node + shard.first, worker, label)
                for shard in shards
                for node, worker, label in zip(shard.node, shard.worker, shard.label, strict=True)
            ]
            assert again == [row[:3] for row in rows_of(small)]

    @pytest.mark.parametrize("model", LEARNERS, ids=lambda model: model.name)
    def test_change_nothing(self, model, monkeypatch):
        frame = random_labels(seed=5, queries=2)
        whole = model().fit(frame)
        for size in (7, 100):
            monkeypatch.setattr(rows.plan_labels, "__defaults__", (None, size))
            same(whole, model().fit(frame))

    @pytest.mark.parametrize("model", LEARNERS, ids=lambda model: model.name)
    def test_on_other_threads_to_the_bit(self, model, monkeypatch):
        monkeypatch.setattr(rows.plan_labels, "__defaults__", (None, 30))
        frame = random_labels(seed=5)
        same(*(model().fit(frame, engine=cr.LocalEngine(threads)) for threads in (1, 3)), tolerance=0)


class TestDawidSkene:
    def em(self, labels, smoothing=2.0, known=None):
        return dawid_skene._EM(labels, nothing_known(labels) if known is None else known, smoothing, run_of())

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
    def test_e_step_and_counts_are_the_direct_ones(self, small, size):
        confusion, shares = self.random(small)
        joint = self.joint(small, confusion, shares)
        posterior = joint / joint.sum(axis=1, keepdims=True)
        counts = np.zeros_like(confusion)
        for node, worker, label, weight in rows_of(small):
            counts[worker, :, label] += weight * posterior[node]
        session = cr.LocalEngine(1).open(dawid_skene.ConfusionSums(), rows.plan_labels(small, None, size))
        params = {"confusion": confusion, "shares": shares}
        sums = session.evaluate(params).shared
        assert sums["value"] == pytest.approx(np.log(joint.sum(axis=1)).sum())
        np.testing.assert_allclose(sums["counts"], counts)
        np.testing.assert_allclose(sums["shares"], posterior.sum(axis=0))
        found = np.concatenate([part["posterior"] for part in session.collect(params)])
        np.testing.assert_allclose(found, posterior)

    @pytest.mark.parametrize("smoothing", [0.0, 2.0])
    def test_m_step_is_the_counts_with_labels_of_the_crowd(self, small, smoothing):
        em = self.em(small, smoothing)
        confusion, shares = self.random(small)
        joint = self.joint(small, confusion, shares)
        posterior = joint / joint.sum(axis=1, keepdims=True)
        point, _, _ = em._step(np.concatenate([confusion.ravel(), shares]))
        new, new_shares = em._parts(point)
        for worker, true in itertools.product(range(small.people), range(3)):
            said = smoothing * em.centre[true]
            for node, own, label, weight in rows_of(small):
                said[label] += weight * posterior[node, true] * (own == worker)
            np.testing.assert_allclose(new[worker, true], said / said.sum())
        items = posterior.sum(axis=0) + smoothing * rows.normalised(small.counts).mean(axis=0)
        np.testing.assert_allclose(new_shares, items / items.sum())

    @pytest.mark.parametrize("smoothing", [0.0, 2.0])
    def test_no_step_lowers_the_objective(self, small, smoothing):
        em = self.em(small, smoothing)
        _, values = steps_up(em._step, em._point(em.counts, em.votes.sum(axis=0)))
        assert (np.diff(values) > -1e-10).all()
        assert values[-1] > values[0]

    def test_the_slope_is_that_of_the_softmax(self, small):
        em = self.em(small)
        rng = np.random.default_rng(1)
        logits = rng.normal(size=small.people * 9 + 3)

        def point(logits):
            own = np.exp(logits)
            return np.concatenate([rows.normalised(own[:-3].reshape(-1, 3)).ravel(), rows.normalised(own[-3:])])

        slopes = [slope_of(lambda own: em._step(point(own))[1], logits, place) for place in range(len(logits))]
        assert em._step(point(logits))[2] == pytest.approx(np.abs(slopes).max(), rel=1e-6)

    def test_the_fit_has_the_likelihood_of_the_direct_product(self):
        frame = random_labels(seed=3, items=6, workers=4, labels=40, classes=3)
        found, _, _ = self.em(labels_of(frame)).run()
        direct = self.joint(labels_of(frame), found.confusion, found.shares)
        model = cr.DawidSkene().fit(frame)
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
        notes = cr.OrdinalLabels().fit(frame, anchors=wrong).fit_.warnings
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

    def test_a_mirror_image_is_left(self, small, monkeypatch):
        """From a start with the classes reversed, the better solution is found all the same."""
        frame = random_labels(seed=2, items=40, workers=6, labels=400, classes=2)
        upright = cr.DawidSkene().fit(frame)
        assert upright.fit_.details["mirror"]["turned"] is False
        plain = dawid_skene._EM.__init__

        def reversed_start(self, *given):
            plain(self, *given)
            self.counts, self.votes = self.counts[:, ::-1], self.votes[:, ::-1]

        monkeypatch.setattr(dawid_skene._EM, "__init__", reversed_start)
        for smoothing in (0.0, 2.0):
            turned = cr.DawidSkene(smoothing=smoothing).fit(frame)
            assert turned.fit_.details["mirror"]["turned"] is True
            assert any(note.code == "mirror" for note in turned.fit_.warnings)
        np.testing.assert_allclose(turned.labels_.probability, upright.labels_.probability, atol=1e-8)

    def test_too_many_labels_are_no_classes(self):
        frame = pl.DataFrame({"worker": ["w"] * 21, "item": [f"i{k}" for k in range(21)], "label": range(21)})
        for model in (cr.DawidSkene, cr.GLAD):
            with pytest.raises(cr.InputError, match="at most 20 distinct labels") as caught:
                model().fit(frame)
            assert "ordinal" in caught.value.hint


class TestGLAD:
    def em(self, labels, fitted=False):
        return glad._EM(labels, nothing_known(labels), fitted, run_of())

    def objective(self, labels, point):
        """The log of the sum over the true label of each item, and the priors, one by one."""
        people, size = labels.people, len(labels.values)
        alpha, b, shares = np.split(point, [people, people + len(labels.nodes)])
        joint = np.tile(shares, (len(labels.nodes), 1))
        for node, worker, label, weight in rows_of(labels):
            right = 1 / (1 + math.exp(-alpha[worker] * math.exp(b[node])))
            for true in range(size):
                joint[node, true] *= (right if true == label else (1 - right) / (size - 1)) ** weight
        prior = -0.5 * ((alpha - 1) ** 2).sum() - 0.5 * ((b - 1) ** 2).sum()
        return np.log(joint.sum(axis=1)).sum() + prior, joint / joint.sum(axis=1, keepdims=True)

    def point(self, labels, seed=0):
        rng = np.random.default_rng(seed)
        start = rng.normal(0.7, 0.6, labels.people + len(labels.nodes))
        return np.concatenate([start, rng.dirichlet(np.ones(len(labels.values)))])

    def test_the_objective_and_the_posterior_are_the_direct_ones(self, small):
        em, point = self.em(small), self.point(small)
        value, posterior = self.objective(small, point)
        assert em._step(point)[1] == pytest.approx(value)
        found = np.concatenate([part["posterior"] for part in em.session.collect(em._params(point))])
        np.testing.assert_allclose(found, posterior)

    def test_the_slopes_are_those_of_the_objective(self, small):
        """At the end of the fit no slope of the direct objective is left; b's slope is right everywhere."""
        em, point = self.em(small), self.point(small)
        local = em.session.evaluate(em._params(point)).local["slope"]
        for node, slope in enumerate(local):
            direct = slope_of(lambda own: self.objective(small, own)[0], point, small.people + node)
            assert slope == pytest.approx(direct, abs=1e-6)
        end, _, steep = em._climb(self.point(small))
        assert steep < 1e-9
        for place in range(small.people + len(small.nodes)):
            assert slope_of(lambda own: self.objective(small, own)[0], end, place) == pytest.approx(0, abs=1e-6)

    @pytest.mark.parametrize("fitted", [False, True])
    def test_no_step_lowers_the_objective(self, small, fitted):
        em = self.em(small, fitted)
        start = np.concatenate([np.ones(small.people + len(small.nodes)), np.full(3, 1 / 3)])
        _, values = steps_up(em._step, start)
        assert (np.diff(values) > -1e-9).all()

    def test_rescaling_leaves_the_products_and_raises_the_prior(self):
        rng = np.random.default_rng(0)
        alpha, b = rng.normal(2, 1, 5), rng.normal(0, 1, 30)
        new, easier = glad._rescaled(alpha, b)
        np.testing.assert_allclose(np.outer(new, np.exp(easier)), np.outer(alpha, np.exp(b)))
        before, after = (-((x - 1) ** 2).sum() - ((y - 1) ** 2).sum() for x, y in ((alpha, b), (new, easier)))
        assert after > before

    def test_abilities_and_known_labels(self):
        frame = random_labels(seed=7, items=60, workers=6, labels=700)
        model = cr.GLAD().fit(frame)
        people = model.workers_.polars()
        assert {"ability", "accuracy"} <= set(people.columns)
        known = pl.DataFrame({"item": ["i00"], "grade": [model.labels_.label[0] % 4 + 1]})
        kept = cr.GLAD().fit(frame, anchors=known).labels_
        assert kept.label[0] == known["grade"][0]
        assert kept.probability[0].max() == 1

    def test_shares_are_checked(self):
        with pytest.raises(cr.UsageError, match="'uniform' or 'fitted'"):
            cr.GLAD(shares="even").fit(random_labels())


class TestOrdinal:
    def em(self, labels, shrinkage=4.0):
        return ordinal._EM(labels, shrinkage, run_of())

    def objective(self, labels, em, point):
        """Each item's labels are normal together: covariance a a' + diag(1 / tau)."""
        slope, bias, logs = np.split(point, 3)
        total, means, variances = 0.0, [], []
        for node in range(len(labels.nodes)):
            own = [
                (w, em.values[k]) for n, w, k, n_same in rows_of(labels) if n == node for _ in range(int(n_same))
            ]
            who = [w for w, _ in own]
            z = np.array([value for _, value in own])
            a, noise = slope[who], np.diag(np.exp(-logs[who]))
            cover = np.outer(a, a) + noise
            total += multivariate_normal(bias[who], cover).logpdf(z)
            gain = np.linalg.solve(cover, a)
            means.append(gain @ (z - bias[who]))
            variances.append(1 - gain @ a)
        tau, rho = np.exp(logs), em.reliability
        prior = 2.0 * (np.log(tau) - tau * (1 - 2 * slope * rho + slope**2 + bias**2)).sum()
        return total + prior, np.array(means), np.array(variances)

    def point(self, labels):
        rng = np.random.default_rng(0)
        return rng.normal(0.5, 0.4, 3 * labels.people)

    def test_the_objective_and_the_scores_are_the_direct_ones(self, small):
        em, point = self.em(small), self.point(small)
        value, means, variances = self.objective(small, em, point)
        assert em._step(point)[1] == pytest.approx(value)
        (part,) = em.session.collect(em._params(point))
        np.testing.assert_allclose(part["mean"], means)
        np.testing.assert_allclose(part["variance"], variances)

    def test_the_slope_is_that_of_the_objective(self, small):
        em, point = self.em(small), self.point(small)
        direct = [slope_of(lambda own: self.objective(small, em, own)[0], point, k) for k in range(len(point))]
        assert em._step(point)[2] == pytest.approx(np.abs(direct).max(), rel=1e-6)

    def test_no_step_lowers_the_objective(self, small):
        em = self.em(small)
        _, values = steps_up(em._step, self.point(small))
        assert (np.diff(values) > -1e-10).all()

    def test_finds_bias_slope_and_precision_on_a_fine_scale(self):
        rng = np.random.default_rng(1)
        truth = rng.normal(50, 15, 300)
        bias, slope, noise = np.array([-10, 0, 10, 0, 0]), np.array([1, 1, 1, 1.5, -1]), np.array([4, 4, 4, 4, 12])
        seen = 50 + bias + slope * (truth[:, None] - 50) + noise * rng.normal(size=(300, 5))
        frame = pl.DataFrame(
            [(f"i{i:03d}", f"w{w}", round(seen[i, w])) for i in range(300) for w in range(5)],
            schema=["item", "worker", "label"],
            orient="row",
        )
        model = cr.OrdinalLabels(shrinkage=1).fit(frame)
        people = model.workers_.polars()
        np.testing.assert_allclose(np.diff(people["bias"])[:2], [10, 10], atol=2)
        assert people["slope"][3] / people["slope"][0] == pytest.approx(1.5, abs=0.1)
        np.testing.assert_allclose(people["precision"] ** -0.5, noise, rtol=0.25)
        assert people["verdict"].to_list() == ["reliable"] * 4 + ["malicious"]
        ranking = model.ranking_
        assert np.corrcoef(ranking.score, truth)[0, 1] > 0.985
        assert np.corrcoef(cr.Average().fit(frame).ranking_.score, truth)[0, 1] < 0.985
        line = np.polynomial.Polynomial.fit(ranking.score, truth, 1).convert().coef  # to the scale of the truth
        off = np.abs(truth - line[0] - line[1] * ranking.score) / (line[1] * ranking.stderr)
        assert 0.85 < (off < consensus.Z).mean() < 0.95


class TestWorkers:
    def test_agreement_is_the_sum_over_pairs_of_labels(self):
        rng = np.random.default_rng(0)
        confusion, shares = rng.dirichlet(np.ones(3), (2, 3)), rng.dirichlet(np.ones(3))
        for worker in range(2):
            total = agreed = 0.0
            for c, d in itertools.product(range(3), repeat=2):
                if c <= d:
                    continue
                for one, two in itertools.product(range(3), repeat=2):
                    chance = shares[c] * shares[d] * confusion[worker, c, one] * confusion[worker, d, two]
                    total += chance
                    agreed += chance * (1.0 if one > two else 0.5 if one == two else 0.0)
            assert consensus.agreement(confusion, shares)[0][worker] == pytest.approx(agreed / total)

    def test_slopes_of_the_agreement(self):
        rng = np.random.default_rng(0)
        confusion, shares = rng.dirichlet(np.ones(3), (1, 3)), rng.dirichlet(np.ones(3))
        slope = consensus.agreement(confusion, shares)[1]
        for place in itertools.product([0], range(3), range(3)):
            direct = slope_of(lambda own: consensus.agreement(own, shares)[0][0], confusion, place)
            # 1 - wins stands for the wins of the other, rows of the confusion adding up to 1
            other = (0, place[1], (place[2] + 1) % 3)
            second = slope_of(lambda own: consensus.agreement(own, shares)[0][0], confusion, other)
            assert slope[place] - slope[other] == pytest.approx(direct - second, abs=1e-8)

    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
    def test_spammers_and_single_labels_are_not_called_reliable(self, model):
        rng = np.random.default_rng(0)
        truth = rng.integers(1, 4, 150)
        table = [(f"i{i}", f"good{w}", int(truth[i])) for i in range(150) for w in range(3) if rng.random() < 0.8]
        table += [(f"i{i}", "always", 3) for i in range(150)]
        table += [(f"i{i}", "random", int(rng.integers(1, 4))) for i in range(150)]
        table += [(f"alone{i}", "alone", int(rng.integers(1, 4))) for i in range(50)]
        frame = pl.DataFrame(table, schema=["item", "worker", "label"], orient="row")
        verdict = dict(model().fit(frame).workers_.polars().select("worker", "verdict").iter_rows())
        assert verdict["good0"] == verdict["good1"] == verdict["good2"] == "reliable"
        assert verdict["always"] != "reliable"
        assert verdict["random"] != "reliable"
        assert verdict["alone"] == "unsure"

    def test_correlation_becomes_agreement(self):
        """1/2 + arcsin(r) / pi: two normal draws, the worker's with the correlation r."""
        rng = np.random.default_rng(0)
        truth, noise = rng.normal(size=(2, 2, 200_000))
        said = 0.6 * truth + 0.8 * noise
        share = ((truth[0] > truth[1]) == (said[0] > said[1])).mean()
        assert share == pytest.approx(0.5 + math.asin(0.6) / math.pi, abs=0.004)


class TestCounting:
    FRAME = pl.DataFrame(
        {
            "item": list("aaabbc"),
            "worker": list("xyzxyx"),
            "label": [1, 1, 3, 3, 3, 2],
            "weight": [1, 1, 1, 1, 2, 1],
        }
    )

    def test_majority_is_the_smoothed_shares(self):
        model = cr.MajorityVote(smoothing=1).fit(self.FRAME)
        votes = np.array([[2, 0, 1], [0, 0, 3], [0, 1, 0]])
        expected = (votes + 1 / 3) / (votes.sum(axis=1, keepdims=True) + 1)
        np.testing.assert_allclose(model.labels_.probability, expected)
        np.testing.assert_allclose(model.ranking_.score, expected @ [1, 2, 3])
        plain = cr.MajorityVote(smoothing=0).fit(self.FRAME)
        np.testing.assert_allclose(plain.labels_.probability[0], [2 / 3, 0, 1 / 3])

    def test_average_is_the_mean_with_the_variance_within_items(self):
        model = cr.Average().fit(self.FRAME)
        np.testing.assert_allclose(model.ranking_.score, [5 / 3, 3, 2])
        within = (2 * (2 / 3) ** 2 + (4 / 3) ** 2) / (7 - 3)
        np.testing.assert_allclose(model.ranking_.stderr, np.sqrt(within / np.array([3, 3, 1])))
        single = cr.Average().fit(pl.DataFrame({"item": list("ab"), "worker": list("xy"), "label": [1, 2]}))
        np.testing.assert_allclose(single.ranking_.stderr, [0.5, 0.5])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_an_item_without_labels_is_said_and_is_anything(model):
    frame = random_labels(seed=7, items=10, labels=150)
    empty = pl.DataFrame({"worker": ["w0"], "item": ["none"], "label": [1], "weight": [0.0]})
    given = pl.concat([frame.with_columns(weight=1.0), empty])
    fitted = model().fit(given)
    assert any(note.code == "unjudged" and "none" in note.message for note in fitted.fit_.warnings)
    table = fitted.ranking_.polars()
    assert table.filter(item="none")["stderr"][0] == table["stderr"].max()
    assert table.select(pl.col("score", "stderr").is_finite().all()).row(0) == (True, True)


class TestPredictions:
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
    def test_are_probabilities_and_favour_the_better_item(self, model):
        frame = random_labels(seed=7, items=20, labels=400)
        fitted = model().fit(frame)
        order = fitted.ranking_.polars()["item"].to_list()
        asked = pl.DataFrame(
            {"worker": ["w0", "stranger", "w1"], "left": [order[0], order[0], "new"],
             "right": [order[-1], order[-1], order[0]], "label": [order[0], order[0], "new"]}
        )  # fmt: skip
        found = fitted.probabilities(asked)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert (found[:2, 0] > 0.5).all()
        turned = asked.rename({"left": "right", "right": "left"})
        np.testing.assert_allclose(fitted.probabilities(turned)[:, ::-1], found, atol=1e-12)

    def test_dawid_skene_sums_over_true_and_given_labels(self):
        frame = random_labels(seed=3, items=6, workers=4, labels=40, classes=3)
        model = cr.DawidSkene().fit(frame)
        em = dawid_skene._EM(labels_of(frame), np.full(6, -1), 2.0, run_of())
        confusion = em.run()[0].confusion[1]
        one, two = model.labels_.probability[[0, 1]]
        win = tie = 0.0
        for c, d, x, y in itertools.product(range(3), repeat=4):
            chance = one[c] * two[d] * confusion[c, x] * confusion[d, y]
            win, tie = win + chance * (x > y), tie + chance * (x == y)
        asked = pl.DataFrame({"worker": ["w1"], "left": ["i00"], "right": ["i01"], "label": ["i00"]})
        np.testing.assert_allclose(model.probabilities(asked)[0], [win, tie, 1 - win - tie], atol=1e-9)


def gold_of(path):
    return pl.read_csv(path, schema_overrides={"item": pl.String})


def accuracy(model, gold):
    table = model.labels_.polars().join(gold, on="item")
    return (table["label"] == table["gold"]).mean()


def test_graded_relevance_of_web_pages(real):
    from crowdrank.measures import pairwise_accuracy

    folder = real / "websearch5"
    gold = gold_of(folder / "gold.csv")
    found = {}
    for model in (cr.MajorityVote(), cr.DawidSkene(), cr.DawidSkene(smoothing=0), cr.GLAD(), cr.OrdinalLabels()):
        model.fit(folder / "labels.csv")
        joined = model.ranking_.polars().join(gold, on="item")
        pairs = pairwise_accuracy(joined["score"].to_numpy(), joined["gold"].to_numpy())
        found[repr(model)] = accuracy(model, gold), pairs
        assert model.fit_.converged
    _, smooth, classic, abilities, fine = found.values()
    assert min(smooth[0], classic[0], abilities[0]) >= 0.82
    assert smooth[1] >= 0.97
    assert fine[1] >= 0.965
