"""The ridge ranker of weighted samples, and how it moves with the weights and values of the samples.

A sample i is one label of one worker: the features x_i of its document, a weight w_i = a_i sigma(y_i alpha) and a
value l_i = sigma(y_i beta), with its label features y_i (Ustinovskiy et al. 2016, eq. 3) and the weight a_i of its
row. The ranker is F(x) = x b, with an intercept c_q for each query (eq. 2 has none):

    min over b, c of  sum_i w_i (x_i b + c_q - l_i)^2 + mu |b|^2

So features and values are centered within each query, by the weights:

    b = Z^-1 X~' W l,     Z = X~' W X~ + mu I,     x~_i = x_i - sum_q w x / sum_q w                      (eq. 6)

Let g = dM/ds be the derivatives of a measure M by the scores s = X_T b of the target. The adjoint v = Z^-1 X_T' g
gives all derivatives at once (eq. 5, 8 and 9 need a solution for each parameter):

    dM/dalpha = Y' [a sigma'(Y alpha) (l - X b - c) (X~ v)],      dM/dbeta = Y' [w sigma'(Y beta) (X~ v)]

The means of a query depend on alpha too, but sum_q w (l - X b - c) = 0, so that nothing is left of it.

Samples of one document share x. So Z needs one row for each document, with the sum of its weights.

A slope is a sum y t over the samples, with label features y and pulls t. Label features that say nothing have
slopes too. If they were dealt anew among the n_c samples with the same label c, a slope would have

    mean  sum_c y_c sum_c t,     variance  sum_c var_c(y) [sum_c t^2 - (sum_c t)^2 / n_c] n_c / (n_c - 1)

with y_c and var_c(y) the mean and variance of y over these samples (Hoeffding 1951). ``Slopes.beyond_chance``
keeps what exceeds that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from crowdrank.data import Floats, Integers, Resident, summed
from crowdrank.engine import Stats
from crowdrank.kernels.segments import totals


@dataclass(frozen=True, eq=False)
class SampleShard(Resident):
    """The samples of some queries. ``values`` (D, N): prepared features of the documents, query by query.

    ``start``: where the documents of each query begin. ``document``, ``weight``, ``label``: of each sample; the
    labels are numbered, and there are ``labels`` of them. ``by_weight`` and ``by_value``: the label features of
    the samples for weights and for values.
    """

    values: Floats
    start: Integers
    document: Integers
    weight: Floats
    by_weight: Floats
    by_value: Floats
    label: Integers
    labels: int


@dataclass(frozen=True, eq=False)
class Point:
    """The parameters of P, and whether the Gram matrix is wanted: it stays the same if alpha does."""

    alpha: Floats
    beta: Floats
    gram: bool = True


@dataclass(frozen=True, eq=False)
class Adjoint:
    """The parameters of P, the ranker b, and v."""

    alpha: Floats
    beta: Floats
    ranker: Floats
    back: Floats


@dataclass(frozen=True, eq=False)
class System(Stats):
    """X~' W X~ (N, N; empty if it is not wanted) and X~' W l (N,)."""

    gram: Floats
    right: Floats


@dataclass(frozen=True, eq=False)
class Slopes(Stats):
    """dM/dalpha and dM/dbeta, and the sums and sums of squares of the pulls t of each label (2, K)."""

    alpha: Floats
    beta: Floats
    by_alpha: Floats
    by_beta: Floats

    def beyond_chance(self, features: tuple[Spread, Spread], errors: float) -> tuple[Floats, Floats]:
        """The slopes less what label features without meaning might have, up to so many standard ``errors``.

        A slope g that lies z standard errors from its mean m becomes m + (g - m) max(0, 1 - (errors / z)^2).
        """
        alpha = features[0].shrink(self.alpha, self.by_alpha, errors)
        return alpha, features[1].shrink(self.beta, self.by_beta, errors)


@dataclass(frozen=True, eq=False)
class Spread(Stats):
    """The number of samples of each label (K,), and sums and sums of squares of their label features (K, M)."""

    count: Floats
    total: Floats
    square: Floats

    def shrink(self, slope: Floats, pulls: Floats, errors: float) -> Floats:
        """A slope less what is within chance."""
        count = np.maximum(self.count, 1e-300)[:, None]
        mean = self.total / count
        variance = np.maximum(self.square / count - mean**2, 0.0)
        spread = (
            np.maximum(pulls[1] - pulls[0] ** 2 / count[:, 0], 0.0) * self.count / np.maximum(self.count - 1, 1)
        )
        middle, chance = pulls[0] @ mean, spread @ variance
        away = slope - middle
        kept = 1.0 - errors**2 * chance / np.maximum(away**2, 1e-300)
        return np.asarray(middle + away * np.maximum(kept, 0.0))


class RidgeSums:
    """The sums over samples."""

    def system(self, shard: SampleShard, at: Point) -> System:
        """The Gram matrix and the right side."""
        own = _Sampled(shard, at.alpha, at.beta)
        gram, means = np.zeros((0, 0)), own.mean(own.features)
        if at.gram:
            rows = own.features * np.sqrt(own.mass)[:, None]
            middle = means * np.sqrt(own.mass_of_query)[:, None]
            gram = rows.T @ rows - middle.T @ middle
        valued = own.by_document(own.weight * own.value)
        return System(gram, own.features.T @ valued - means.T @ totals(valued, shard.start))

    def slopes(self, shard: SampleShard, at: Adjoint) -> Slopes:
        """The derivatives of the measure by alpha and beta."""
        own = _Sampled(shard, at.alpha, at.beta)
        score, back = own.features @ at.ranker, own.features @ at.back
        back -= own.spread(own.mean(back))
        valued = totals(own.by_document(own.weight * own.value), shard.start)
        intercept = np.divide(
            valued - totals(own.mass * score, shard.start), own.mass_of_query, out=np.zeros(len(valued)),
            where=own.mass_of_query > 0,
        )  # fmt: skip
        fitted = score + own.spread(intercept)
        pull = back[shard.document]
        error = own.value - fitted[shard.document]
        by_weight = own.share * (1.0 - own.share) * error * pull
        by_value = own.share * own.value * (1.0 - own.value) * pull
        return Slopes(
            shard.by_weight.T @ (shard.weight * by_weight),
            shard.by_value.T @ (shard.weight * by_value),
            own.by_label(by_weight),
            own.by_label(by_value),
        )

    def spread_of_weights(self, shard: SampleShard, at: None) -> Spread:
        """The spread of the label features of weights."""
        return _spread(shard, shard.by_weight)

    def spread_of_values(self, shard: SampleShard, at: None) -> Spread:
        """The spread of the label features of values."""
        return _spread(shard, shard.by_value)


def _spread(shard: SampleShard, features: Floats) -> Spread:
    which = (shard.label == np.arange(shard.labels)[:, None]).astype(float)
    return Spread(which.sum(axis=1), which @ features, which @ features**2)


class _Sampled:
    """The weights and values of the samples of a shard, and the weights of its documents and queries."""

    def __init__(self, shard: SampleShard, alpha: Floats, beta: Floats) -> None:
        self.shard, self.features = shard, np.asarray(shard.values, np.float64)
        self.share, self.value = expit(shard.by_weight @ alpha), expit(shard.by_value @ beta)
        self.weight = shard.weight * self.share
        self.mass = self.by_document(self.weight)
        self.mass_of_query = totals(self.mass, shard.start)

    def by_document(self, values: Floats) -> Floats:
        """The sum over the samples of each document."""
        return summed(self.shard.document, values, len(self.shard.values))

    def by_label(self, pull: Floats) -> Floats:
        """The sum and the sum of squares of the pulls of each label."""
        own = self.shard.weight * pull
        return np.stack([summed(self.shard.label, each, self.shard.labels) for each in (own, own**2)])

    def mean(self, values: Floats) -> Floats:
        """The weighted mean over the documents of each query; 0 if they have no weight."""
        mass = self.mass if values.ndim == 1 else self.mass[:, None]
        total = np.add.reduceat(mass * values, self.shard.start[:-1], axis=0)
        whole = self.mass_of_query if values.ndim == 1 else self.mass_of_query[:, None]
        return np.divide(total, whole, out=np.zeros_like(total), where=whole > 0)

    def spread(self, values: Floats) -> Floats:
        """The value of each document's query."""
        return np.repeat(values, np.diff(self.shard.start))
