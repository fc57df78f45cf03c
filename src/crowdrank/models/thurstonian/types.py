"""What kinds of workers there are: a grid of signed expertises, and how common each is.

    G(tau) = H(|tau|) rho          for tau > 0, a worker who tells the truth,
             H(|tau|) (1 - rho)    for tau < 0, one who turns it round,
             H(0)                  for one who guesses

H and rho are learned from all workers and domains, so a worker with few votes in a domain is taken for one of
the crowd. One rho for every size keeps the direction of a domain a matter of heads: half the grid flipped
costs (1 - rho) / rho for each worker, whatever the worker's size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdrank.data import Floats

SIZES = np.geomspace(1 / 64, 1.0, 11)
"""Expertises |tau|, where the scores of a query have variance 1."""
GRID = np.concatenate([-SIZES[::-1], [0.0], SIZES])
TRUE = GRID > 0
HONEST = (2.0, 1.0)
"""Votes for and against honesty before any worker is seen."""
SPREAD = 1.0
"""Workers of each size before any worker is seen, all sizes together."""
BLUR = 0.15
"""The share of each size that its two neighbours have, for a smooth H."""


def logsumexp(values: Floats) -> Floats:
    """ln sum exp over the last axis."""
    top = values.max(axis=-1)
    return np.asarray(top + np.log(np.exp(values - top[..., None]).sum(axis=-1)))


def normalised(logs: Floats) -> Floats:
    """exp of the logs, summing to one over the last axis."""
    values = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


def mirrored(values: Floats) -> Floats:
    """The same for tau turned round: the last axis reversed."""
    return values[..., ::-1]


@dataclass(frozen=True)
class Types:
    """How common each expertise is: ``log`` G over the grid."""

    log: Floats

    @classmethod
    def start(cls) -> Types:
        """Every size alike, four of five honest."""
        return cls.of(np.full(len(SIZES) + 1, 1.0), 0.8)

    @classmethod
    def of(cls, sizes: Floats, honest: float) -> Types:
        """From the frequency of 0 and of every size, and the share of the honest."""
        share = sizes / sizes.sum()
        return cls(np.log(np.concatenate([share[:0:-1] * (1 - honest), share[:1], share[1:] * honest])))

    @classmethod
    def learned(cls, counts: Floats) -> Types:
        """From how many workers (and domains) have each expertise."""
        half = len(SIZES)
        both = counts[half:] + np.concatenate([[0.0], counts[:half][::-1]])
        both = both + SPREAD / len(both)
        smooth = both * (1 - BLUR)
        smooth[1:] += BLUR / 2 * both[:-1]
        smooth[:-1] += BLUR / 2 * both[1:]
        smooth[[0, -1]] += BLUR / 2 * both[[0, -1]]
        true, false = counts[TRUE].sum() + HONEST[0], counts[GRID < 0].sum() + HONEST[1]
        return cls.of(smooth, float(true / (true + false)))

    def evidence(self, like: Floats) -> Floats:
        """ln sum_tau G(tau) exp(like(tau)), summed over the workers: (..., K, T) to (...)."""
        return np.asarray(logsumexp(like + self.log).sum(axis=-1))
