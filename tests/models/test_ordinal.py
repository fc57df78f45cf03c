"""Ordered labels: the objective against the normal density, its slope against finite differences."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import multivariate_normal

import crowdrank as cr
from crowdrank.models.labels import consensus, ordinal
from labelled import rows_of, run_of, slope_of, steps_up


class TestOrdinal:
    def em(self, labels, shrinkage=4.0):
        return ordinal._FactorEM(labels, shrinkage, run_of())

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

    def test_the_objective_and_the_scores_are_the_direct_ones(self, graded):
        em, point = self.em(graded), self.point(graded)
        value, means, variances = self.objective(graded, em, point)
        assert em._step(point)[1] == pytest.approx(value)
        (part,) = em.session.collect(em.sums.scores, em._at(point))
        np.testing.assert_allclose(part.mean, means)
        np.testing.assert_allclose(part.variance, variances)

    def test_the_slope_is_that_of_the_objective(self, graded):
        em, point = self.em(graded), self.point(graded)
        direct = [slope_of(lambda own: self.objective(graded, em, own)[0], point, k) for k in range(len(point))]
        assert em._step(point)[2] == pytest.approx(np.abs(direct).max(), rel=1e-6)

    def test_no_step_lowers_the_objective(self, graded):
        em = self.em(graded)
        _, values = steps_up(em._step, self.point(graded))
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
