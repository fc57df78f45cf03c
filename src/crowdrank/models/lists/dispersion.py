"""The dispersions of a Mallows fit: each worker's theta, from the distance of the worker's lists to the consensus.

A list that leaves orders open has ln P = -theta d - ln Z_n + sum over its tied groups ln Z_m (kernels.mallows).
Summed over the lists of worker k, with D_k their total distance and c_km how often ln Z_m enters,

    L_k(theta) = -theta D_k - sum_m c_km ln Z_m(theta)

which is concave. The prior adds ``shrinkage`` lists like the average list of the crowd. The crowd itself gets one
extra pair that is half wrong, which keeps its theta finite. theta is at least 0: a worker farther from the
consensus than chance adds no information. The expected distance is a convex falling function of theta, so Newton's
steps from 0 never overshoot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.data import Floats, Integers, summed
from crowdrank.kernels.mallows import chance_above, log_normalizers, normalizer_slopes
from crowdrank.kernels.plackett_luce import Orders
from crowdrank.prepared.lists import Lists
from crowdrank.solve import newton_within


@dataclass(frozen=True, eq=False)
class Shapes:
    """How often ln Z_m enters for each worker (K, n + 1), and the weight of all lists."""

    counts: Floats
    total: float

    @classmethod
    def of(cls, lists: Lists, worker: Integers, workers: int) -> Shapes:
        """The shapes of lists, given the worker of each list."""
        width = int(lists.size.max()) + 1
        orders = Orders(lists.start, lists.level)
        group = np.diff(orders.begins)
        of = lists.list[orders.begins[:-1]]
        cell, weight = worker * width + lists.size, lists.weight
        counts = summed(cell, weight, workers * width) - summed(
            worker[of] * width + group, weight[of], workers * width
        )
        counts = counts.reshape(workers, width)
        counts[:, :2] = 0.0  # Z = 1 for no item and for one item
        return cls(counts, float(weight.sum()))

    def log_likelihood(self, theta: Floats, distance: Floats) -> float:
        """The log likelihood of all lists."""
        return float(-theta @ distance - (self.counts * self._normalisers(theta)[0]).sum())

    def crowd(self, distance: Floats) -> float:
        """One theta for all workers together."""
        counts, far = self._pool(distance)
        return float(_maximize(counts[None], np.array([far]))[0][0])

    def fit(self, distance: Floats, shrinkage: float) -> tuple[Floats, Floats]:
        """theta of each worker, and its standard error; ``distance`` (K): the total over the worker's lists."""
        counts, far = (shrinkage / self.total * part for part in self._pool(distance))
        return _maximize(self.counts + counts, distance + far)

    def _pool(self, distance: Floats) -> tuple[Floats, float]:
        counts = self.counts.sum(axis=0)
        counts[2] += 1.0
        return counts, float(distance.sum()) + 0.5

    def _normalisers(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        return log_normalizers(theta, self.counts.shape[1] - 1)


def _maximize(counts: Floats, distance: Floats) -> tuple[Floats, Floats]:
    """The theta >= 0 at which each L_k is largest, and 1 / sqrt of the curvature there."""

    def look(theta: Floats, chosen: Integers) -> tuple[Floats, Floats]:
        own = counts[chosen]
        slope, curve = ((own * part).sum(axis=1) for part in normalizer_slopes(theta, counts.shape[1] - 1))
        return -distance[chosen] - slope, curve

    zero, most = np.zeros(len(distance)), np.full(len(distance), np.inf)
    theta, curve = newton_within(look, zero, zero, most)
    return theta, 1.0 / np.sqrt(np.maximum(curve, 1e-300))


def agreement(theta: Floats, gaps: Floats) -> Floats:
    """How often a worker with each theta agrees with the consensus on an average pair; ``gaps``: the weight of the
    pairs that are 1, 2, ... places apart."""
    places = np.arange(1, len(gaps) + 1)
    return np.array([float(gaps @ chance_above(places, own)) for own in theta]) / max(float(gaps.sum()), 1e-300)
