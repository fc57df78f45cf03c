"""What all models of labels share: the ranking, the workers, and what workers would say about a pair.

The score of an item is a label: the posterior mean of its label's value. Its standard error comes from the
calibrated probabilities (``calibration``). The quality of a worker is the probability of agreeing with the order
of the true labels, on a pair of items whose true labels differ. Two equal labels count as half an agreement:

    q_w = sum_{c > d} pi_c pi_d [P_w(label of c > label of d) + P_w(equal) / 2] / sum_{c > d} pi_c pi_d

It is 1/2 for a worker who does not look at the items, however often the most frequent label is right. If a
worker's labels have the correlation r with the truth, and both are normal, q = 1/2 + arcsin(r) / pi.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Ints, add_by_code, summed
from crowdrank.models.predictors import values_at
from crowdrank.prepared.label_shards import LabelRows
from crowdrank.prepared.labels import Labels
from crowdrank.results import LEVEL, Workers, Z, verdicts
from crowdrank.solve import Independent, Spread, spread

PRIOR = 10.0
"""How many extra labels, of an average worker, each worker gets."""
DIGITS = 12
"""Scores that differ only after this many decimals count as equal."""
EVEN = 1e-9
"""Probabilities that differ by less than this are equal."""
LEAST = 1e-12
"""No vote is less probable than this."""


def moments(posterior: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of the label of each node."""
    mean = posterior @ values
    return mean, np.einsum("nk,nk->n", posterior, (values - mean[:, None]) ** 2)


def label_spread(
    labels: Labels,
    score: Floats,
    variance: Floats,
    *,
    rank_variance: Floats | None = None,
    stderr: Floats | None = None,
    bounded: bool = True,
) -> Spread:
    """Scores that are labels. If ``bounded``, the intervals stay within the range of the labels.

    Among equal scores the larger mean label comes first, then the smaller variance. ``rank_variance`` decides
    which items can be told apart, and ``stderr`` makes the intervals. Without them the variance does both.
    """
    unit = float(np.ptp(labels.values)) or 1.0
    score = np.round(score / unit, DIGITS) * unit
    mean = labels.counts @ labels.values / np.maximum(labels.judgments_of_nodes, LEAST)
    keys = np.round(np.stack([mean / unit, -variance / unit**2], axis=1), DIGITS)
    second = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(float)
    apart = Independent(variance if rank_variance is None else rank_variance)
    made = spread(score, apart, labels.nodes.query, labels.members(), level=LEVEL, tie_break=second)
    stderr = np.sqrt(variance) if stderr is None else stderr
    low, high = score - Z * stderr, score + Z * stderr
    if bounded:
        low = np.minimum(np.maximum(low, labels.values[0]), score)
        high = np.maximum(np.minimum(high, labels.values[-1]), score)
    return made.with_scores(score, stderr, low, high)


def expected_labels(labels: Labels, posterior: Floats, probability: Floats) -> Spread:
    """Scores that are expected labels by the ``posterior``, with the errors of the calibrated ``probability``.

    So calibration does not change the order. The standard error is the root mean square distance of the label from
    the score; ranks and tiers follow from the variance of the label. The interval is normal, and wide enough to
    hold labels whose probabilities add up to ``LEVEL``.
    """
    if labels.nominal:
        return label_certainty(labels, probability)
    score, variance = moments(posterior, labels.values)
    distance = np.einsum("nk,nk->n", probability, (labels.values - score[:, None]) ** 2)
    own = moments(probability, labels.values)[1]
    made = label_spread(labels, score, variance, rank_variance=own, stderr=np.sqrt(distance))
    low, high = probable_labels(probability, labels.values)
    return made.with_scores(made.score, made.stderr, np.minimum(made.low, low), np.maximum(made.high, high))


def label_certainty(labels: Labels, probability: Floats) -> Spread:
    """Scores of labels without an order: the probability of the most probable one, with the error of a share."""
    score = np.round(probability.max(axis=1), DIGITS)
    variance = score * (1.0 - score) / (labels.judgments_of_nodes + 1.0)
    apart, rank = Independent(variance), (labels.nodes.query, labels.members())
    made = spread(score, apart, *rank, level=LEVEL, tie_break=labels.judgments_of_nodes)
    half = Z * np.sqrt(variance)
    return made.with_scores(score, np.sqrt(variance), np.maximum(score - half, 0.0), np.minimum(score + half, 1.0))


def probable_labels(probability: Floats, values: Floats) -> tuple[Floats, Floats]:
    """The ends of the shortest run of labels whose probabilities (N, K) add up to ``LEVEL``; of equally short
    runs the most probable one, and then the one with the smaller labels."""
    size = len(values)
    first, last = np.triu_indices(size)
    below = np.concatenate([np.zeros((len(probability), 1)), np.cumsum(probability, axis=1)], axis=1)
    mass = np.round(below[:, last + 1] - below[:, first], 9)  # so that rounding does not decide
    length = (values[last] - values[first]) / (float(np.ptp(values)) or 1.0)
    best = np.argmin(np.where(mass >= LEVEL - EVEN, length - EVEN * mass, np.inf), axis=1)
    return values[first[best]], values[last[best]]


# ------------------------------------------------------------------------------------------- workers


def informative_share(labels: Labels, known: NDArray[np.int64] | None = None) -> Floats:
    """For each worker, the share of the labels that are informative about the worker, from 0 to 1.

    A label contributes to the estimate of its own item's label, and that share of it is not informative: all of
    it on an item that nobody else labeled, none of it if the true label is ``known``.
    """
    heard = np.zeros(labels.people)
    for part in labels.pieces():
        own = part.weight / part.by_node(labels.judgments_of_nodes)
        if known is not None:
            own = np.where(known[part.nodes][part.node] >= 0, 0.0, own)
        add_by_code(heard, part.worker, part.weight * (1.0 - own))
    return heard / np.maximum(labels.judgments_of_workers, LEAST)


def agreement(confusion: Floats, shares: Floats, *, nominal: bool = False) -> tuple[Floats, Floats]:
    """The quality q_w of each confusion matrix (W, true, said), and its derivatives by the confusion.

    If the labels are ``nominal``, it is the mean over all orders that they could have.
    """
    size = len(shares)
    pairs = np.outer(shares, shares)
    if nominal:
        return _nominal_agreement(confusion, pairs - np.diag(np.diag(pairs)))
    above, below = np.tril(pairs, -1), np.triu(pairs, 1)
    total = max(float(above.sum()), LEAST)
    ahead = np.tril(np.ones((size, size)), -1) + 0.5 * np.eye(size)
    wins = confusion @ ahead.T  # (W, true, l): the chance that l is ahead of the label given to that class
    slope = (np.einsum("cd,wdl->wcl", above, wins) + np.einsum("cd,wdl->wcl", below, 1.0 - wins)) / total
    return 0.5 * np.einsum("wcl,wcl->w", slope, confusion), slope


def _nominal_agreement(confusion: Floats, pairs: Floats) -> tuple[Floats, Floats]:
    """The mean of q_w over all orders of the labels; ``pairs`` (true, true) are the shares of pairs, 0 if equal.

    Let C be the confusion, and x and y what the worker says of two items whose labels are c and d. Over all
    orders, x and y agree with c and d with the probability

        1/2 + (C_cc - C_dc - C_cd + C_dd) / 6 + (C_cc C_dd - C_cd C_dc) / 6
    """
    total = max(float(pairs.sum()), LEAST)
    right = np.einsum("wcc->wc", confusion)
    wrong = confusion + np.swapaxes(confusion, 1, 2)
    sums = right[:, :, None] + right[:, None, :] - wrong
    products = right[:, :, None] * right[:, None, :] - confusion * np.swapaxes(confusion, 1, 2)
    quality = 0.5 + np.einsum("cd,wcd->w", pairs, sums + products) / (6.0 * total)
    slope = -2.0 * pairs * (1.0 + np.swapaxes(confusion, 1, 2))
    own = 2.0 * np.einsum("cd,wd->wc", pairs, 1.0 + right)
    places = np.arange(len(pairs))
    slope[:, places, places] = own
    return quality, slope / (6.0 * total)


def workers_by_confusion(
    labels: Labels, confusion: Floats, counts: Floats, shares: Floats, heard: Floats, further: Mapping[str, Floats]
) -> Workers:
    """The table of workers, by their confusion matrices.

    ``counts`` (W, true, said) are the expected labels behind them. The interval of the quality comes from
    Dirichlet posteriors, with a prior of 1/K for each label and the share ``heard`` of the labels. The interval of
    the accuracy comes from a Beta posterior.
    """
    from scipy.special import betaincinv

    size = confusion.shape[1]
    alpha = heard[:, None, None] * counts + 1.0 / size
    total = alpha.sum(axis=2)
    likely = alpha / total[:, :, None]
    center, slope = agreement(likely, shares, nominal=labels.nominal)
    first = np.einsum("wcl,wcl->wc", slope, likely)
    second = np.einsum("wcl,wcl->wc", slope**2, likely)
    half = Z * np.sqrt(np.maximum((second - first**2) / (total + 1.0), 0.0).sum(axis=1))
    quality = agreement(confusion, shares, nominal=labels.nominal)[0]
    right = heard * np.einsum("wcc->w", counts)
    wrong = np.maximum(heard * counts.sum(axis=(1, 2)) - right, 0.0)
    accuracy = np.einsum("c,wcc->w", shares, confusion)
    low, high = (betaincinv(right + 0.5, wrong + 0.5, tail) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    own = {
        "accuracy": accuracy,
        "accuracy_low": np.minimum(low, accuracy),
        "accuracy_high": np.maximum(high, accuracy),
    }
    return worker_table(labels, quality, center - half, center + half, {**own, **further})


def workers_by_correlation(labels: Labels, r: Floats, effective: Floats, further: Mapping[str, Floats]) -> Workers:
    """The table of workers, by the correlation of their labels with the truth.

    The interval is Fisher's, from ``effective`` labels.
    """
    r = np.clip(r, -1.0 + LEAST, 1.0 - LEAST)
    ends = np.arctanh(
        r * effective / (effective + 1.0)
    )  # one extra label without correlation, because a few labels prove nothing
    half = Z / np.sqrt(effective + 0.01)
    low, high = (0.5 + np.arcsin(np.tanh(ends + shift)) / np.pi for shift in (-half, half))
    return worker_table(labels, 0.5 + np.arcsin(r) / np.pi, low, high, further)


def worker_table(
    labels: Labels, quality: Floats, low: Floats, high: Floats, further: Mapping[str, Floats]
) -> Workers:
    """The table of workers. Intervals stay within 0 and 1 and contain the quality."""
    assert labels.index.workers is not None
    low, high = np.clip(np.minimum(low, quality), 0.0, 1.0), np.clip(np.maximum(high, quality), 0.0, 1.0)
    return Workers(
        worker=labels.index.workers,
        judgments=labels.judgments_of_workers,
        quality=np.clip(quality, 0.0, 1.0),
        low=low,
        high=high,
        verdict=verdicts(low, high),
        further=further,
        backend=labels.backend,
    )


def correlation_with_others(labels: Labels) -> tuple[Floats, Floats]:
    """For each worker, the correlation of the labels with the mean label from others, and the mean difference.

    As in ``ordinal``, each worker gets ``PRIOR`` extra labels with the crowd's own correlation.
    """
    shared = labels.map_pieces(partial(_shared_labels, labels))
    low, high = np.inf, -np.inf
    weights, means = 0.0, np.zeros(2)
    for own in shared:
        weights += float(own.weight.sum())
        means += [float((own.weight * own.others).sum()), float((own.weight * own.value).sum())]
        low, high = min(low, own.value.min(initial=np.inf)), max(high, own.value.max(initial=-np.inf))
    if low >= high:
        return np.zeros(labels.people), np.zeros(labels.people)
    sums, apart = np.zeros((6, labels.people)), np.zeros(labels.people)
    for own in shared:
        x, y = own.others - means[0] / weights, own.value - means[1] / weights
        products = (np.ones_like(x), x, y, x * x, y * y, x * y)
        for total, product in zip(sums, products, strict=True):
            add_by_code(total, own.worker, own.weight * product)
        add_by_code(apart, own.worker, own.weight * (own.value - own.others))
    heard = sums[0].copy()
    sums += PRIOR * sums.sum(axis=1, keepdims=True) / sums[0].sum()
    n, x1, y1, xx, yy, xy = sums
    scale = np.sqrt(np.maximum(xx - x1 * x1 / n, 0.0) * np.maximum(yy - y1 * y1 / n, 0.0))
    bias = apart / np.maximum(heard, LEAST)
    return np.where(scale > 0, (xy - x1 * y1 / n) / np.maximum(scale, LEAST), 0.0), bias


class _SharedLabels(NamedTuple):
    """Labels of items that others labeled too: the worker, the weight, the mean from the others, and the label."""

    worker: Ints
    weight: Floats
    others: Floats
    value: Floats


def _shared_labels(labels: Labels, part: LabelRows) -> _SharedLabels:
    value = labels.values[part.label]
    judgments = part.by_node(labels.judgments_of_nodes)
    total = summed(part.node, part.weight * value, len(part.known))[part.node]
    rest = judgments - part.weight
    kept = rest > LEAST * judgments
    others = (total - part.weight * value)[kept] / rest[kept]
    return _SharedLabels(part.worker[kept], part.weight[kept], others, value[kept])


# ------------------------------------------------------------------------------------------ predictions


def compare_labels(left: Floats, right: Floats) -> Floats:
    """Probabilities of left, tie and right from the distributions (rows, K) of two independent labels."""
    below = np.cumsum(right, axis=1) - right
    ahead = np.einsum("rk,rk->r", left, below)
    tie = np.einsum("rk,rk->r", left, right)
    found = np.maximum(np.stack([ahead, tie, 1.0 - ahead - tie], axis=1), LEAST)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ConfusionPredictor:
    """The labels that a worker would give two items: their posteriors through the worker's confusion.

    ``confusion`` (W, true, said). An unseen worker has the ``typical`` confusion; an unseen item has the overall
    ``shares`` of the labels.
    """

    posterior: Floats
    shares: Floats
    confusion: Floats
    typical: Floats

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        truths = (values_at(self.posterior, side, self.shares) for side in (left, right))
        if worker is None:
            return compare_labels(*(truth @ self.typical for truth in truths))
        confusion = values_at(self.confusion, worker, self.typical)
        return compare_labels(*(np.einsum("rc,rcl->rl", truth, confusion) for truth in truths))


@dataclass(frozen=True, eq=False)
class SharePredictor:
    """The labels that anyone would give two items: drawn from the shares of each item's votes."""

    posterior: Floats
    shares: Floats

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        return compare_labels(*(values_at(self.posterior, side, self.shares) for side in (left, right)))
