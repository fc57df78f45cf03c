"""Probabilities of labels: tempered by held-out labels, calibrated by known ones; each against brute force."""

import math

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models.labels import calibration, consensus, dawid_skene, known_scale
from crowdrank.models.registry import make
from crowdrank.results import Z
from helpers import crowd_that_errs_together, random_labels
from labelled import labels_of, nothing_known, rows_of, run_of, slope_of
from shards import small_shards

CLASSES = (cr.DawidSkene, cr.GLAD)
MODELS = (*CLASSES, cr.OrdinalLabels)


def said_and_right(model, gold):
    table = model.labels_.polars().join(gold, on="item")
    return table["probability"].mean(), (table["label"] == table["gold"]).mean()


class TestTempering:
    def test_is_the_power_normalized_and_keeps_the_order_of_the_labels(self):
        np.testing.assert_allclose(calibration.temper(np.array([[0.8, 0.2]]), 2.0), [[2 / 3, 1 / 3]])
        given = np.random.default_rng(0).dirichlet(np.ones(4), 50)
        for temperature in (0.3, 1.0, 7.0):
            found = calibration.temper(given, temperature)
            np.testing.assert_allclose(found.sum(axis=1), 1)
            np.testing.assert_array_equal(found.argsort(axis=1), given.argsort(axis=1))

    def test_held_out_labels_by_brute_force(self):
        """Each label from the others of its item; the confusion of every worker is estimated without the item."""
        frame = random_labels(seed=3, items=6, workers=4, labels=30, classes=3)
        labels, extra = labels_of(frame), 2.0
        em = dawid_skene._ConfusionEM(labels, nothing_known(labels), extra, run_of())
        found = em.run()[0]
        rows, values = rows_of(labels), []

        def confusion(worker, without):
            counts = extra * em.center
            for node, who, said, weight in rows:
                if who == worker and node != without:
                    counts[:, said] += weight * found.posterior[node]
            return counts / counts.sum(axis=1, keepdims=True)

        for row in rows:
            node, worker, said, weight = row
            others = [own for own in rows if own[0] == node and own is not row]
            if not others:
                continue
            chance = found.shares.copy()
            for _, who, label, own in others:
                chance *= confusion(who, node)[:, label] ** own
            softer = chance ** (1 / 1.7) / (chance ** (1 / 1.7)).sum()
            values.append(weight * math.log(softer @ confusion(worker, node)[:, said]))
        (part,) = labels.pieces()
        chances = dawid_skene._chance_without_item(part, found, extra * em.center)
        held = calibration.HeldOut.of(part, chances, found.shares)
        assert held.value(math.log(1.7)) == pytest.approx(sum(values), abs=1e-8)

    def test_the_slopes_are_those_of_the_values(self):
        rng = np.random.default_rng(0)
        held = calibration.HeldOut(
            np.log(rng.dirichlet(np.ones(3), 20)), rng.dirichlet(np.ones(3), 20), rng.random(20), np.empty((0, 3))
        )
        normal = calibration.NormalHeldOut(*rng.random((4, 20)))
        known = calibration.KnownLabels.of(rng.dirichlet(np.ones(3), 20), rng.integers(0, 3, 20), 1.5)
        for value, slope in ((held.value, held.slope), (normal.value, normal.slope), (known._value, known._slope)):
            for at in (-0.4, 0.0, 0.9):
                direct = slope_of(lambda own, value=value: value(own[0]), np.array([at]), 0)
                assert slope(at) == pytest.approx(direct, abs=1e-6)

    def test_a_normal_posterior_that_is_too_narrow(self):
        """Squares of 4, of which the noise explains 1 and the posterior 1: T = 3."""
        ones = np.ones(5)
        assert calibration.held_out_temperature(
            [calibration.NormalHeldOut(4 * ones, ones, ones, ones)]
        ) == pytest.approx(3)
        assert calibration.held_out_temperature([calibration.NormalHeldOut(ones, ones, ones, ones)]) == 1

    def test_workers_with_few_labels_are_too_certain_and_held_out_labels_show_it(self):
        rng = np.random.default_rng(1)
        truth = rng.integers(0, 4, 300)
        rows = [
            (f"i{i:03d}", f"w{rng.integers(250)}", int(truth[i] if rng.random() < 0.55 else rng.integers(4)))
            for i in range(300)
            for _ in range(5)
        ]
        frame = pl.DataFrame(rows, schema=["item", "worker", "label"], orient="row")
        gold = pl.DataFrame({"item": [f"i{i:03d}" for i in range(300)], "gold": truth})
        plain, tempered = (cr.DawidSkene(shrinkage=0.5, calibrate=on).fit(frame) for on in (False, True))
        before, right = said_and_right(plain, gold)
        after, same = said_and_right(tempered, gold)
        assert right == same
        assert before - right > 0.1
        assert abs(after - right) < 0.65 * (before - right)
        assert tempered.fit_.details["calibration"]["temperature"] > 1.3


class TestKnownLabels:
    def test_the_best_temperature_and_mixture_by_brute_force(self):
        rng = np.random.default_rng(2)
        probability = rng.dirichlet(0.3 * np.ones(3), 60)
        known = np.where(rng.random(60) < 0.6, probability.argmax(axis=1), rng.integers(0, 3, 60))
        own = calibration.KnownLabels.of(probability, known, 1.2)

        def objective(temperature, mixture):
            said = (1 - mixture) * calibration.temper(probability, temperature).max(axis=1) + mixture / 3
            fit = np.log(np.where(own.right > 0, said, 1 - said)).sum()
            return fit + math.log(1 - mixture) - math.log(temperature / 1.2) ** 2 / (2 * 0.25**2)

        best = objective(*own.solve())
        tries = [objective(t, e) for t in np.geomspace(0.6, 5, 60) for e in np.linspace(0.001, 0.9, 60)]
        assert max(tries) <= best
        assert max(tries) == pytest.approx(best, abs=0.05)

    def test_every_known_item_is_predicted_once_by_a_fit_that_does_not_know_it(self):
        rng = np.random.default_rng(0)
        known = np.where(rng.random(40) < 0.6, rng.integers(0, 3, 40), -1)
        logs, asked = rng.normal(size=(40, 3)), []

        def refit(rest):
            asked.append(np.flatnonzero((known >= 0) & (rest < 0)))
            assert ((rest == known) | (rest == -1)).all()
            return calibration.Refit(np.tile(np.arange(40.0)[:, None] + 100 * len(asked), (1, 3)), len(asked) != 2)

        found, converged = calibration.predict_known(known, logs, refit)
        assert not converged
        places = np.flatnonzero(known >= 0)
        assert sorted(np.concatenate(asked)) == places.tolist()
        by_hand = {node: node + 100 * (fold + 1) for fold, nodes in enumerate(asked) for node in nodes}
        np.testing.assert_array_equal(found[:, 0], [by_hand[node] for node in places])
        few = np.where(np.cumsum(known >= 0) <= 2, known, -1)
        assert calibration.predict_known(few, logs, refit).posterior.shape == (2, 3)  # fewer items than folds

    @pytest.mark.parametrize("model", CLASSES, ids=lambda model: model.name)
    def test_a_refit_is_the_fit_without_these_known_labels(self, model, monkeypatch):
        labels, gold = crowd_that_errs_together(seed=4, items=80, fooled=0.1, classes=3)
        seen = []

        def predict(known, logs, refit):
            seen.append((known, refit))
            return calibration.Refit(np.full((30, 3), 1 / 3), True)

        monkeypatch.setattr(f"{model.__module__}.predict_known", predict)
        model().fit(labels, anchors=gold.head(30))
        ((known, refit),) = seen
        rest = np.where(np.arange(80) < 6, -1, known)
        direct = model(calibrate=False).fit(labels, anchors=gold[6:30]).labels_.probability
        np.testing.assert_allclose(refit(rest).posterior, direct, atol=1e-6)

    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
    def test_errors_that_workers_share_show_in_known_labels_alone(self, model):
        labels, gold = crowd_that_errs_together()
        free = model().fit(labels)
        said, right = said_and_right(free, gold)
        assert said - right > 0.12
        known, rest = gold.head(120), gold.tail(480)
        said, right = said_and_right(model().fit(labels, anchors=known), rest)
        assert abs(said - right) < 0.05
        assert right > 0.6

    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
    def test_calibration_changes_no_label_and_no_order(self, model):
        labels, gold = crowd_that_errs_together(seed=1, items=200, classes=4)
        for anchors in (None, gold.head(60)):
            if anchors is not None and model is cr.OrdinalLabels:
                anchors = anchors.with_columns(pl.col("gold") + 0.5)  # no such label: only the scale uses it
            plain, found = (model(calibrate=on).fit(labels, anchors=anchors) for on in (False, True))
            np.testing.assert_array_equal(found.labels_.label, plain.labels_.label)
            assert (np.diff(plain.ranking_.score[found.ranking_.rank.argsort()]) <= 0).all()

    @pytest.mark.parametrize("model", CLASSES, ids=lambda model: model.name)
    def test_standard_errors_are_those_of_the_calibrated_probabilities(self, model):
        labels, gold = crowd_that_errs_together()
        plain, found = (model(calibrate=on).fit(labels, anchors=gold.head(120)) for on in (False, True))
        ranking, told = found.ranking_, found.labels_
        square = (told.probability * (told.values - ranking.score[:, None]) ** 2).sum(axis=1)
        np.testing.assert_allclose(ranking.stderr, np.sqrt(square), atol=1e-6)
        free = np.arange(len(square)) >= 120
        assert plain.ranking_.stderr[free].min() < 0.05
        assert ranking.stderr[free].min() > 0.3  # about a quarter of the labels is wrong by 1
        np.testing.assert_array_equal(ranking.score, plain.ranking_.score)

    def test_intervals_hold_labels_of_the_probability_that_they_should(self):
        values = np.array([1.0, 2.0, 4.0])
        given = np.array(
            [[0.05, 0.9, 0.05], [0.3, 0.65, 0.05], [0.05, 0.65, 0.3], [0.4, 0.2, 0.4], [0.06, 0.88, 0.06]]
        )
        low, high = consensus.probable_labels(given, values)
        np.testing.assert_array_equal(low, [2, 1, 2, 1, 1])
        np.testing.assert_array_equal(high, [2, 2, 4, 4, 2])
        labels, gold = crowd_that_errs_together()
        table = (
            cr.DawidSkene().fit(labels, anchors=gold.head(120)).ranking_.polars().join(gold.tail(480), on="item")
        )
        assert ((table["low"] <= table["gold"]) & (table["gold"] <= table["high"])).mean() >= 0.88

    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
    def test_the_same_answer_under_other_names_and_rows(self, model):
        labels, gold = crowd_that_errs_together(seed=2, items=60, classes=3)
        names = {
            name: f"x{place}" for place, name in enumerate(np.random.default_rng(0).permutation(gold["item"]))
        }
        first = model().fit(labels, anchors=gold.head(20))
        other = model().fit(
            labels.with_columns(pl.col("item").replace(names)).sample(fraction=1, shuffle=True, seed=3),
            anchors=gold.head(20).with_columns(pl.col("item").replace(names)),
        )
        one = first.labels_.polars().with_columns(pl.col("item").replace(names)).sort("item")
        two = other.labels_.polars().sort("item")
        columns = pl.exclude("query", "item")
        np.testing.assert_allclose(one.select(columns).to_numpy(), two.select(columns).to_numpy(), atol=1e-9)
        np.testing.assert_allclose(
            first.reliability_.polars().to_numpy(), other.reliability_.polars().to_numpy(), atol=1e-9
        )

    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
    def test_the_same_answer_on_other_threads_to_the_bit(self, model):
        labels, gold = crowd_that_errs_together(seed=2, items=60, classes=3)
        with small_shards(50):
            one, three = (
                model().fit(labels, anchors=gold.head(20), engine=cr.LocalEngine(threads)) for threads in (1, 3)
            )
        np.testing.assert_array_equal(one.labels_.probability, three.labels_.probability)
        np.testing.assert_array_equal(one.ranking_.stderr, three.ranking_.stderr)

    def test_the_reliability_curve_counts_every_known_item(self):
        labels, gold = crowd_that_errs_together()
        model = cr.DawidSkene().fit(labels, anchors=gold.head(120))
        curve, details = model.reliability_.polars(), model.fit_.details["calibration"]
        assert curve["items"].sum() == details["known"] == 120
        assert details["said"] > details["right"] + 0.1
        assert abs(details["calibrated"] - details["right"]) < 0.03
        assert curve.filter((pl.col("low") > pl.col("right")) | (pl.col("right") > pl.col("high"))).is_empty()
        assert cr.DawidSkene().fit(labels).reliability_ is None


class TestNotes:
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
    def test_say_what_the_probability_is_and_how_many_known_labels_calibrate_it(self, model):
        labels, gold = crowd_that_errs_together(items=150)

        def told(known):
            fitted = model().fit(labels, anchors=gold.head(known) if known else None)
            notes = [note.message for note in fitted.fit_.warnings if note.code == "uncalibrated"]
            return notes, fitted.fit_.details["calibration"]["known_wanted"]

        (free,), wanted = told(0)
        assert "how well workers agree" in free
        assert f"about {wanted} known labels" in free
        (few,), _ = told(5)
        assert "only 5 known labels" in few
        assert told(120)[0] == []

    def test_the_number_of_known_labels(self):
        """p (1 - p) / .05^2, with p at most .9."""
        assert calibration.labels_wanted(0.5) == 100
        assert calibration.labels_wanted(0.8) == 64
        assert calibration.labels_wanted(0.999) == 36


class TestScale:
    def test_residuals_are_those_from_the_line_without_the_label(self):
        rng = np.random.default_rng(0)
        score = rng.normal(3, 1, 40)
        nodes, stderr = np.arange(12), np.full(40, 0.3)
        known = 1.5 * score[nodes] - 2 + 0.4 * rng.normal(size=12)
        scale, notes = known_scale.fit_known_scale(score, stderr, nodes, known)
        ends = score.mean() + score.std() * np.array([-1, 1])
        x, y = np.concatenate([score[nodes], ends]), np.concatenate([known, ends])
        slope, shift = np.polyfit(x, y, 1)
        assert (scale.slope, scale.shift) == (pytest.approx(slope), pytest.approx(shift))
        ratios = []
        for out in nodes:
            line = np.polyfit(np.delete(x, out), np.delete(y, out), 1)
            ratios.append(abs(y[out] - np.polyval(line, x[out])) / (slope * 0.3))
        assert scale.width * Z == pytest.approx(sorted(ratios)[math.ceil(0.9 * 13) - 1])
        assert notes == []

    def test_known_labels_that_fall_leave_the_scale_and_are_said(self):
        score = np.linspace(1, 5, 30)
        scale, (note,) = known_scale.fit_known_scale(score, np.ones(30), np.arange(30), 6 - 2 * score)
        assert (scale.shift, scale.slope, note.code) == (0.0, 1.0, "mirror")

    def test_intervals_of_labels_that_workers_pull_toward_the_middle(self):
        """Four of ten labels are the middle of the scale: its ends are farther out than an average worker says."""
        rng = np.random.default_rng(0)
        truth = rng.integers(1, 6, 500)
        rows = [
            (f"i{i:03d}", f"w{w}", int(np.clip(truth[i] + rng.integers(-1, 2), 1, 5) if rng.random() < 0.6 else 3))
            for i in range(500)
            for w in rng.choice(30, 6, replace=False)
        ]
        labels = pl.DataFrame(rows, schema=["item", "worker", "label"], orient="row")
        gold = pl.DataFrame({"item": [f"i{i:03d}" for i in range(500)], "gold": truth.astype(float)})

        def held(model, rest):
            table = model.ranking_.polars().join(rest, on="item")
            return ((table["low"] <= table["gold"]) & (table["gold"] <= table["high"])).mean()

        assert held(cr.OrdinalLabels(calibrate=False).fit(labels), gold) < 0.5
        assert held(cr.OrdinalLabels().fit(labels), gold) > 0.7
        assert 0.83 < held(cr.OrdinalLabels().fit(labels, anchors=gold.head(100)), gold.tail(400)) < 0.96


class TestRealLabels:
    """Half of the gold as known labels, and what is said about the other half."""

    def given(self, real, name):
        gold = pl.read_csv(real / name / "gold.csv", schema_overrides={"item": pl.String, "gold": pl.Float64})
        mixed = gold.sample(fraction=1, shuffle=True, seed=7)
        return real / name / "labels.csv", mixed.head(len(gold) // 2), mixed.tail(len(gold) - len(gold) // 2)

    @pytest.mark.parametrize("name", ["websearch5", "trec2010"])
    def test_what_is_said_is_right(self, real, name):
        labels, known, rest = self.given(real, name)
        said, right = said_and_right(cr.DawidSkene().fit(labels, anchors=known), rest)
        assert abs(said - right) < 0.05

    def test_intervals_of_ordinal_hold_the_gold(self, real):
        labels, known, rest = self.given(real, "websearch5")
        for anchors, low, high in ((None, 0.85, 0.95), (known, 0.87, 0.93)):
            table = cr.OrdinalLabels().fit(labels, anchors=anchors).ranking_.polars().join(rest, on="item")
            assert low < ((table["low"] <= table["gold"]) & (table["gold"] <= table["high"])).mean() < high


def test_a_known_label_off_the_scale_is_an_error():
    frame = random_labels()
    item = frame["item"][0]
    with pytest.raises(
        cr.InputError, match=f"The known label 55 of item {item} is far outside of the labels given"
    ):
        make("ordinal", {}).fit(frame, anchors=pl.DataFrame({"item": [item], "label": [55]}))
    near = make("ordinal", {}).fit(
        frame, anchors=pl.DataFrame({"item": [item], "label": [frame["label"].max() + 1]})
    )
    assert any("outside of the labels given" in note.message for note in near.fit_.warnings)


def test_no_more_known_labels_are_wanted_than_there_are_items():
    frame = random_labels()
    items = frame["item"].unique(maintain_order=True)
    every = pl.DataFrame({"item": items, "label": [int(frame["label"].min())] * len(items)})
    assert "uncalibrated" not in {note.code for note in cr.DawidSkene().fit(frame, anchors=every).fit_.warnings}


def test_what_is_said_about_a_known_item_comes_from_a_fresh_fit():
    """A fit from the one that knew the label would stay where the label led it."""
    said = """
    w2 i00 3,w0 i00 3,w1 i00 2,w2 i01 3,w0 i01 1,w3 i01 3,w3 i02 2,w1 i02 1,w0 i02 1,w3 i03 1,w2 i03 2,w1 i03 1,
    w1 i04 1,w3 i04 2,w2 i04 2,w1 i05 2,w2 i05 1,w0 i05 2,w1 i06 2,w0 i06 3,w3 i06 2,w1 i07 1,w2 i07 1,w3 i07 1,
    w3 i08 3,w0 i08 1,w2 i08 3,w0 i09 2,w3 i09 1,w1 i09 1"""
    rows = [row.split() for row in said.split(",")]
    frame = pl.DataFrame(rows, schema=["worker", "item", "label"], orient="row")
    known = pl.DataFrame({"item": ["i00", "i01"], "label": [1, 1]})
    alone = cr.DawidSkene(calibrate=False).fit(frame, anchors=known[:1]).labels_.polars().filter(item="i01")
    assert alone["label"].item() == 3
    assert cr.DawidSkene().fit(frame, anchors=known).fit_.details["calibration"]["right"] == 0


@pytest.mark.parametrize("name", ["dawid-skene", "glad"])
def test_how_labels_are_numbered_does_not_matter(name):
    frame = random_labels()
    top = int(frame["label"].max() + frame["label"].min())
    known = frame.group_by("item", maintain_order=True).first().head(8).select("item", "label")
    one = make(name, {}).fit(frame, anchors=known)
    turned = [table.with_columns(label=top - pl.col("label")) for table in (frame, known)]
    other = make(name, {}).fit(turned[0], anchors=turned[1])
    ours, theirs = (model.fit_.details["calibration"] for model in (one, other))
    assert ours["temperature"] == pytest.approx(theirs["temperature"], rel=1e-6)
    assert ours["mixture"] == pytest.approx(theirs["mixture"], abs=1e-6)
