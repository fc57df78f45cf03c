"""What the models of labels share: shards, workers by agreement, counts, predictions."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models.labels import consensus, dawid_skene
from crowdrank.prepared import label_rows
from helpers import random_labels
from labelled import labels_of, rows_of, run_of, slope_of
from shards import cut_small

MODELS = (cr.MajorityVote, cr.Average, cr.DawidSkene, cr.GLAD, cr.OrdinalLabels)
LEARNERS = MODELS[2:]


class TestShards:
    def test_cut_between_items_and_hold_every_row(self, graded):
        for size in (1, 4, 7, 1000):
            shards = cut_small(label_rows.plan_labels, size, graded)
            assert sum(len(shard.node) for shard in shards) == len(graded)
            assert sum(len(shard.known) for shard in shards) == len(graded.nodes)
            again = [
                (node + shard.first, worker, label)
                for shard in shards
                for node, worker, label in zip(shard.node, shard.worker, shard.label, strict=True)
            ]
            assert again == [row[:3] for row in rows_of(graded)]


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
        found = fitted.predict_proba(asked)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert (found[:2, 0] > 0.5).all()
        turned = asked.rename({"left": "right", "right": "left"})
        np.testing.assert_allclose(fitted.predict_proba(turned)[:, ::-1], found, atol=1e-12)

    def test_dawid_skene_sums_over_true_and_given_labels(self):
        frame = random_labels(seed=3, items=6, workers=4, labels=40, classes=3)
        model = cr.DawidSkene().fit(frame)
        em = dawid_skene._ConfusionEM(labels_of(frame), np.full(6, -1), 2.0, run_of())
        confusion = em.run()[0].confusion[1]
        one, two = model.labels_.probability[[0, 1]]
        win = tie = 0.0
        for c, d, x, y in itertools.product(range(3), repeat=4):
            chance = one[c] * two[d] * confusion[c, x] * confusion[d, y]
            win, tie = win + chance * (x > y), tie + chance * (x == y)
        asked = pl.DataFrame({"worker": ["w1"], "left": ["i00"], "right": ["i01"], "label": ["i00"]})
        np.testing.assert_allclose(model.predict_proba(asked)[0], [win, tie, 1 - win - tie], atol=1e-9)


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
    for model in (cr.MajorityVote(), cr.DawidSkene(), cr.DawidSkene(shrinkage=0), cr.GLAD(), cr.OrdinalLabels()):
        model.fit(folder / "labels.csv")
        joined = model.ranking_.polars().join(gold, on="item")
        pairs = pairwise_accuracy(joined["score"].to_numpy(), joined["gold"].to_numpy())
        found[repr(model)] = accuracy(model, gold), pairs
        assert model.fit_.converged
    _, smooth, classic, abilities, fine = found.values()
    assert min(smooth[0], classic[0], abilities[0]) >= 0.82
    assert smooth[1] >= 0.97
    assert fine[1] >= 0.965
