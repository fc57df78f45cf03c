"""GLAD: the objective against direct products, its slopes against finite differences."""

import math

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models.labels import glad
from helpers import random_labels
from labelled import nothing_known, rows_of, run_of, slope_of, steps_up


class TestGLAD:
    def em(self, labels, fitted=False):
        return glad._AbilityEM(labels, nothing_known(labels), fitted, run_of())

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

    def test_the_objective_and_the_posterior_are_the_direct_ones(self, graded):
        em, point = self.em(graded), self.point(graded)
        value, posterior = self.objective(graded, point)
        assert em._step(point)[1] == pytest.approx(value)
        found = np.concatenate([part.posterior for part in em.session.collect(em.sums.posteriors, em._at(point))])
        np.testing.assert_allclose(found, posterior)

    def test_the_slopes_are_those_of_the_objective(self, graded):
        """At the end of the fit no slope of the direct objective is left; b's slope is right everywhere."""
        em, point = self.em(graded), self.point(graded)
        local = em.session.evaluate(em.sums.slopes, em._at(point)).slope
        for node, slope in enumerate(local):
            direct = slope_of(lambda own: self.objective(graded, own)[0], point, graded.people + node)
            assert slope == pytest.approx(direct, abs=1e-6)
        end, _, steep = em._climb(self.point(graded))
        assert steep < 1e-9
        for place in range(graded.people + len(graded.nodes)):
            assert slope_of(lambda own: self.objective(graded, own)[0], end, place) == pytest.approx(0, abs=1e-6)

    @pytest.mark.parametrize("fitted", [False, True])
    def test_no_step_lowers_the_objective(self, graded, fitted):
        em = self.em(graded, fitted)
        start = np.concatenate([np.ones(graded.people + len(graded.nodes)), np.full(3, 1 / 3)])
        _, values = steps_up(em._step, start)
        assert (np.diff(values) > -1e-9).all()

    def test_rescaling_leaves_the_products_and_raises_the_prior(self):
        rng = np.random.default_rng(0)
        alpha, b = rng.normal(2, 1, 5), rng.normal(0, 1, 30)
        new, easier = glad._rescale(alpha, b)
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

    def test_abilities_and_easiness_are_the_parameters_of_the_fit(self):
        """At the end of the fit, sum n (p - sigma(x)) x + 1 - b is 0 for each item, with x = ability times e^b."""
        frame = random_labels(seed=7, items=20, workers=6, labels=300, queries=2)
        model = cr.GLAD().fit(frame)
        table = model.easiness_.polars()
        assert table.columns == ["query", "item", "easiness"]
        assert len(model.easiness_) == len(table) == len(model.ranking_)
        sure = model.labels_.polars()
        joined = frame.join(table, on=["query", "item"]).join(sure, on=["query", "item"], suffix="_likely")
        joined = joined.join(model.workers_.polars(), on="worker")
        x = joined["ability"].to_numpy() * joined["easiness"].to_numpy()
        p = np.array([row[f"p_{row['label']}"] for row in joined.rows(named=True)])
        pull = joined.select("query", "item", pull=pl.Series((p - 1 / (1 + np.exp(-x))) * x))
        slopes = table.join(pull.group_by("query", "item").agg(pl.col("pull").sum()), on=["query", "item"])
        assert slopes.select((pl.col("pull") + 1 - pl.col("easiness").log()).abs().max()).item() < 1e-6
        assert model.confusion_ is None

    def test_an_item_on_which_all_agree_is_easy(self):
        said = {
            "agreed": [2] * 8,
            "split": [2, 1] * 4,
            **{f"i{k}": [1 + k % 2] * 7 + [1 + k // 5] for k in range(10)},
        }
        rows = [(f"w{who}", item, label) for item, labels in said.items() for who, label in enumerate(labels)]
        model = cr.GLAD().fit(pl.DataFrame(rows, schema=["worker", "item", "label"], orient="row"))
        easy = dict(model.easiness_.polars().select("item", "easiness").rows())
        assert easy["agreed"] > 1 > easy["split"]

    def test_shares_are_checked(self):
        with pytest.raises(cr.UsageError, match="'uniform' or 'fitted'"):
            cr.GLAD(shares="even").fit(random_labels())
