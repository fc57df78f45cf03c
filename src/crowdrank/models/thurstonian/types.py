"""What kinds of workers there are: a grid of signed expertises, and how common each is.

    G(tau) = H(|tau|) rho          for tau > 0, a worker who tells the truth,
             H(|tau|) (1 - rho)    for tau < 0, one who turns it round,
             H(0)                  for one who guesses

H and rho are learned from all workers and domains, so a worker with few votes in a domain is taken for one of
the crowd. One rho for all sizes makes the direction of a domain a matter of heads: to turn it round costs
ln(rho / (1 - rho)) for every honest worker, the sharp and the blunt alike.

Votes tell products of tau and scores. The unit of tau is the sharpest of the grid.
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
"""Workers who are honest and who are not, before any is seen."""
SPREAD = 1.0
"""Workers before any is seen, spread over all sizes."""
BLUR = 0.15
"""The share of each size that its neighbours have, which keeps H smooth."""


def logsumexp(values: Floats) -> Floats:
    """ln sum exp over the last axis."""
    top = values.max(axis=-1)
    return np.asarray(top + np.log(np.exp(values - top[..., None]).sum(axis=-1)))


def softmax(logs: Floats) -> Floats:
    """exp of the logs, brought to a sum of one over the last axis."""
    values = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


def mirror(values: Floats) -> Floats:
    """The same with every tau turned round: the last axis reversed."""
    return values[..., ::-1]


def halves(values: Floats) -> tuple[Floats, Floats]:
    """Those of the honest and those of the false, each by size; who guesses is in neither."""
    return values[..., HALF + 1 :], mirror(values[..., :HALF])


def evidence(like: Floats, prior: Floats) -> Floats:
    """sum_k ln sum_tau prior_k(tau) exp(like_k(tau)): (..., K, T) to (...); ``prior`` (K, T) by its logarithm."""
    return np.asarray(logsumexp(like + prior).sum(axis=-1))


def favors_reversal(like: Floats, prior: Floats) -> NDArray[np.bool_]:
    """Where the evidence is larger with every tau turned round, by more than rounding."""
    return np.asarray(evidence(mirror(like), prior) > evidence(like, prior) + 1e-9)


@dataclass(frozen=True)
class Types:
    """How common each expertise is: ln G over the grid."""

    log: Floats

    @classmethod
    def start(cls) -> Types:
        """Every size alike, four of five honest."""
        return cls._from_sizes(np.ones(HALF + 1), 0.8)

    @classmethod
    def from_counts(cls, counts: Floats) -> Types:
        """From how many workers have each expertise. Most are honest: that is how up is told from down."""
        sizes = counts[HALF:] + np.concatenate([[0.0], counts[:HALF][::-1]]) + SPREAD / (HALF + 1)
        ends = np.concatenate([sizes[:1], sizes, sizes[-1:]])
        smooth = (1 - BLUR) * sizes + BLUR / 2 * (ends[:-2] + ends[2:])
        true, false = counts[HALF + 1 :].sum() + HONEST[0], counts[:HALF].sum() + HONEST[1]
        return cls._from_sizes(smooth, max(float(true / (true + false)), 0.5))

    def relearn(self, like: Floats) -> Types:
        """Learned anew from L_{m,k}(tau) (M, K, T): workers in the domains where they voted."""
        voted = like[..., HALF] != 0
        return Types.from_counts(softmax(self.log + like)[voted].sum(axis=0))

    @classmethod
    def _from_sizes(cls, sizes: Floats, honest: float) -> Types:
        share = sizes / sizes.sum()
        return cls(np.log(np.concatenate([share[:0:-1] * (1 - honest), share[:1], share[1:] * honest])))

    @property
    def honest(self) -> float:
        """The share of the honest among those who do not guess."""
        share = np.exp(self.log)
        return float(share[HALF + 1 :].sum() / (1.0 - share[HALF]))

    def prior(self, workers: int, gold: bool) -> Floats:
        """ln of the prior of each worker (K, T); ``gold``: one more, who is the sharpest and honest."""
        rows = np.tile(self.log, (workers + gold, 1))
        if gold:
            rows[-1] = np.where(SIZES[-1] == GRID, 0.0, -np.inf)
        return rows
