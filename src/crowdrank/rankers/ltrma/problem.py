"""The function of the thetas that LTRMA's theta step maximizes, with its derivatives; see expertise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import MOST_EXPERTISE, Constraints, Demands, Floats, Integers, summed
from crowdrank.kernels.mallows import log_normalizers, normalizer_slopes
from crowdrank.solve import accumulate

LEAST_CURVATURE = 1e-12
"""Keeps the matrix regular if the prior is flat and the lists say nothing."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some groups of workers and what is known about them: the function to maximize, and the constraints.

    ``counts`` (G, n + 1) and ``distance`` (G) are sums over the group's workers, ``precision`` (G) the prior's.
    """

    counts: Floats
    distance: Floats
    precision: Floats
    low: Floats
    high: Floats
    orders: Demands
    soft: Demands
    confidence: Floats

    @classmethod
    def of(cls, counts: Floats, distance: Floats, known: Constraints, precision: float) -> Part:
        """All groups, with bounds that are at most MOST_EXPERTISE in size."""
        groups = len(known.low)
        together = np.zeros((groups, counts.shape[1]))
        np.add.at(together, known.group, counts)
        low, high = (np.clip(end, -MOST_EXPERTISE, MOST_EXPERTISE) for end in (known.low, known.high))
        total, size = summed(known.group, distance, groups), summed(known.group, None, groups)
        return cls(together, total, precision * size, low, high, known.orders, known.soft, known.confidence)

    def settle(self, free: NDArray[np.bool_]) -> Part:
        """The same without orders on groups that are not free, which the bounds imply, and with these groups as
        numbers in the soft demands."""
        padded, value = np.append(free, False), np.append(np.where(free, 0.0, self.low), 0.0)
        soft, orders = self.soft, self.orders
        offset = soft.offset - value[soft.above] + value[soft.below]
        above, below = (np.where(padded[code], code, -1) for code in (soft.above, soft.below))
        both = free[orders.above] & free[orders.below]
        return replace(self, orders=orders.take(both), soft=replace(soft, above=above, below=below, offset=offset))

    def tied(self) -> NDArray[np.bool_]:
        """The groups that an order ties to another group."""
        found, both = np.zeros(len(self.low), bool), (self.soft.above >= 0) & (self.soft.below >= 0)
        for codes in (self.orders.above, self.orders.below, self.soft.above[both], self.soft.below[both]):
            found[codes] = True
        return found

    def take(self, chosen: Integers) -> Part:
        """Only these groups. No demand ties them to the others."""
        new = np.full(len(self.low) + 1, -1)
        new[chosen] = np.arange(len(chosen))
        orders, _ = renumber(self.orders, new)
        soft, kept = renumber(self.soft, new)
        names = ("counts", "distance", "precision", "low", "high")
        own: dict[str, Any] = {name: getattr(self, name)[chosen] for name in names}
        return Part(**own, orders=orders, soft=soft, confidence=self.confidence[kept])

    def value(self, theta: Floats) -> float:
        """The function to maximize."""
        from scipy.special import log_expit

        lists = theta @ self.distance + (self.counts * log_normalizers(theta, self.counts.shape[1] - 1)[0]).sum()
        soft = log_expit(self.confidence * self.soft.slack(theta)).sum()
        return float(soft - lists - 0.5 * self.precision @ theta**2)

    def slopes(self, theta: Floats, chosen: Integers) -> tuple[Floats, Floats]:
        """The slope and the curvature of the lists and of the prior, by the chosen groups; ``theta`` (chosen)."""
        own = self.counts[chosen]
        slope, curve = ((own * part).sum(axis=1) for part in normalizer_slopes(theta, own.shape[1] - 1))
        precision = self.precision[chosen]
        return -self.distance[chosen] - slope - precision * theta, np.maximum(curve, 0.0) + precision

    def gradient(self, theta: Floats) -> Floats:
        """The slope by each theta."""
        slope, _ = self.slopes(theta, np.arange(len(theta)))
        return slope + self.soft.sums(soft_forces(self.soft, self.confidence, theta)[0], len(theta))

    def matrix(self, theta: Floats) -> Floats:
        """Minus the second derivatives."""
        _, curve = self.slopes(theta, np.arange(len(theta)))
        return self.soft_matrix(soft_forces(self.soft, self.confidence, theta)[1], curve)

    def soft_matrix(self, weight: Floats, curve: Floats) -> Floats:
        """diag(curve) + sum_t weight_t a_t a_t', a_t the derivatives of soft slack t by the thetas."""
        row, column, value = self.soft.cells(weight)
        size, every = len(curve), np.arange(len(curve))
        cells = np.concatenate([every * (size + 1), row * size + column])
        values = np.concatenate([np.maximum(curve, LEAST_CURVATURE), value])
        return summed(cells, values, size * size).reshape(size, size)


def soft_forces(soft: Demands, confidence: Floats, theta: Floats) -> tuple[Floats, Floats]:
    """The first derivative of ln sigma(eta slack) by each slack, and minus the second (38), (48).

    eta sigma(-eta slack)    and    eta^2 sigma(-eta slack) sigma(eta slack)
    """
    from scipy.special import expit

    scaled = confidence * soft.slack(theta)
    force = confidence * expit(-scaled)
    return force, force * confidence * expit(scaled)


def soft_matrix(soft: Demands, confidence: Floats, theta: Floats) -> Any:
    """Minus the second derivatives of the soft side information (G, G): dense if small, otherwise sparse."""
    row, column, value = soft.cells(soft_forces(soft, confidence, theta)[1])
    return accumulate(row, column, value, (len(theta), len(theta)))


def renumber(demands: Demands, new: Integers) -> tuple[Demands, NDArray[np.bool_]]:
    """The demands on groups that have a new number, and which these are."""
    own = replace(demands, above=new[demands.above], below=new[demands.below])
    kept = (own.above >= 0) | (own.below >= 0)
    return own.take(kept), kept
