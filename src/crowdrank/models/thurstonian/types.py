"""Types of workers: a grid of signed expertise, and how common each value is.

    G(tau) = H(|tau|) rho          for tau > 0, a worker who tells the truth,
             H(|tau|) (1 - rho)    for tau < 0, one who reverses it,
             H(0)                  for one who guesses

H and rho are learned from all workers and domains, so a worker with few votes in a domain is treated like the
crowd. With one rho for all sizes, the direction of a domain is a head count: reversing it costs
ln(rho / (1 - rho)) for every honest worker, sharp or blunt.

Votes determine only products of tau and scores. So the unit of tau is the largest of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats

SIZES = np.geomspace(1 / 64, 1.0, 7)
GRID = np.concatenate([-SIZES[::-1], [0.0], SIZES])
HALF = len(SIZES)
HONEST = (2.0, 1.0)
"""Prior counts of honest and dishonest workers."""
SPREAD = 1.0
"""Prior count of workers, spread over all sizes."""
BLUR = 0.15
"""The weight of the neighbors in each size, which keeps H smooth."""


def logsumexp(values: Floats) -> Floats:
    """ln sum exp over the last axis."""
    top = values.max(axis=-1)
    return np.asarray(top + np.log(np.exp(values - top[..., None]).sum(axis=-1)))


def softmax(logs: Floats) -> Floats:
    """exp of the logs, normalized to sum to 1 over the last axis."""
    values = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


def mirror(values: Floats) -> Floats:
    """The values with every tau negated: the last axis reversed."""
    return values[..., ::-1]


def halves(values: Floats) -> tuple[Floats, Floats]:
    """The values of honest and of dishonest workers, each by size. Guessing (tau = 0) is in neither."""
    return values[..., HALF + 1 :], mirror(values[..., :HALF])


def evidence(like: Floats, prior: Floats) -> Floats:
    """sum_k ln sum_tau prior_k(tau) exp(like_k(tau)): (..., K, T) to (...); ``prior`` (K, T) is a log."""
    return np.asarray(logsumexp(like + prior).sum(axis=-1))


def favors_reversal(like: Floats, prior: Floats) -> NDArray[np.bool_]:
    """Whether the evidence is larger with every tau negated, by more than rounding."""
    return np.asarray(evidence(mirror(like), prior) > evidence(like, prior) + 1e-9)


@dataclass(frozen=True)
class Types:
    """How common each expertise is: ln G over the grid."""

    log: Floats

    @classmethod
    def start(cls) -> Types:
        """Every size is equally common, and four of five workers are honest."""
        return cls._from_sizes(np.ones(HALF + 1), 0.8)

    @classmethod
    def from_counts(cls, counts: Floats) -> Types:
        """Types from the number of workers per expertise. At least half are honest: this fixes the direction."""
        sizes = counts[HALF:] + np.concatenate([[0.0], counts[:HALF][::-1]]) + SPREAD / (HALF + 1)
        ends = np.concatenate([sizes[:1], sizes, sizes[-1:]])
        smooth = (1 - BLUR) * sizes + BLUR / 2 * (ends[:-2] + ends[2:])
        true, false = counts[HALF + 1 :].sum() + HONEST[0], counts[:HALF].sum() + HONEST[1]
        return cls._from_sizes(smooth, max(float(true / (true + false)), 0.5))

    def relearn(self, like: Floats) -> Types:
        """Types learned from L_{m,k}(tau) (M, K, T) of workers in the domains in which they voted."""
        voted = like[..., HALF] != 0
        return Types.from_counts(softmax(self.log + like)[voted].sum(axis=0))

    @classmethod
    def _from_sizes(cls, sizes: Floats, honest: float) -> Types:
        share = sizes / sizes.sum()
        return cls(np.log(np.concatenate([share[:0:-1] * (1 - honest), share[:1], share[1:] * honest])))

    @property
    def honest(self) -> float:
        """The share of honest workers among those who do not guess."""
        share = np.exp(self.log)
        return float(share[HALF + 1 :].sum() / (1.0 - share[HALF]))

    def prior(self, workers: int, gold: bool) -> Floats:
        """ln of the prior of each worker (K, T); ``gold`` adds one worker, the sharpest and honest."""
        rows = np.tile(self.log, (workers + gold, 1))
        if gold:
            rows[-1] = np.where(SIZES[-1] == GRID, 0.0, -np.inf)
        return rows
