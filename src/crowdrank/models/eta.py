"""What the models with a quality eta share: its EM step, its posterior, and the direction of the ranking.

A worker repeats what the scores say with probability eta and reverses it otherwise (Crowd-BT, eq. 4). So the votes
look the same if all scores change their sign and every eta becomes 1 - eta, the *mirror*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.engine import Stats
from crowdrank.errors import Note, count_noun
from crowdrank.models.agreement import TELLABLE, quality_notes
from crowdrank.models.ascent import Ascent
from crowdrank.models.priors import BetaPrior
from crowdrank.prepared.subjects import Subjects
from crowdrank.results import LEVEL, Workers, verdicts
from crowdrank.solve import At, Bounds, Covariance, Maximum, Point, highest_density

if TYPE_CHECKING:
    from crowdrank.solve.intervals import Density

EM_ROUNDS = 3
"""How many rounds of EM bring the qualities near before scores and qualities climb together."""
POINTS = 49
DROP = 18.0
"""If the log density is this far below its maximum, the posterior is negligible."""


def update_qualities(climb: Ascent, prior: BetaPrior, votes: Floats, at: At) -> tuple[At, float]:
    """eta = (expected faithful votes + a) / (votes + a + b), a and b the prior's exponents; scores fixed.

    The expected number of faithful votes is n eta + eta (1 - eta) dL/d eta, so the gradient is enough. ``votes``:
    n of each worker. Also returns the largest change.
    """
    eta, gradient = at.workers[:, 0], climb.session.evaluate(climb.sums.gradient, at).workers[:, 0]
    faithful = votes * eta + eta * (1.0 - eta) * gradient
    a, b = prior.exponents
    new = (faithful + a) / np.maximum(votes + a + b, 1e-300)
    new = np.where(climb.bounds.fixed[:, 0], eta, np.clip(new, 1e-3, 1 - 1e-3))
    workers = at.workers.copy()
    workers[:, 0] = new
    return replace(at, workers=workers), float(np.abs(new - eta).max(initial=0.0))


# ------------------------------------------------------------------------------------------- mirror


def linked_groups(
    part: NDArray[np.int32], workers: int, edges: tuple[NDArray[Any], NDArray[Any]]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Groups of connected parts that share workers: the group number of each node and of each worker.

    ``part``: the connected part of each node; ``edges``: a part and a worker who judged in it.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = int(part.max(initial=-1)) + 1
    size = count + workers
    links = coo_array((np.ones(len(edges[0]), np.int8), (edges[0], count + edges[1])), shape=(size, size))
    group = connected_components(links, directed=False)[1]
    return group[:count][part], group[count:]


def below_half(eta: Floats, weight: Floats, group: NDArray[np.int32], groups: int) -> NDArray[np.bool_]:
    """Which groups have workers whose mean quality is below 1/2."""
    total = summed(group, weight, groups)
    mean = summed(group, weight * eta, groups) / np.maximum(total, 1e-300)
    return (total > 0) & (mean < 0.5)


def mirrored(top: Maximum, bounds: Bounds, nodes: NDArray[np.bool_], workers: NDArray[np.bool_]) -> Point:
    """The mirror of the maximum: scores of these ``nodes`` and qualities of these ``workers`` reversed."""
    values = top.point.workers.copy()
    reverse = workers & ~bounds.fixed[:, 0]
    values[:, 0] = np.where(reverse, 1.0 - values[:, 0], values[:, 0])
    return replace(top.point, scores=np.where(nodes, -1.0, 1.0) * top.point.scores, workers=values)


def mirror_note(flips: NDArray[np.bool_], reason: str) -> Note:
    """What was reversed, and why."""
    subject = (
        "The direction of the ranking"
        if len(flips) == 1
        else f"The direction of {count_noun(int(flips.sum()), 'group')}"
    )
    return Note("mirror", f"{subject} was decided by {reason}; the votes alone do not show it.")


# ---------------------------------------------------------------------------------------- posterior


@dataclass(frozen=True, eq=False)
class OnGrid(At):
    """A point with values of eta for each worker, ``grid`` (workers, points)."""

    grid: Floats


@dataclass(frozen=True, eq=False)
class QualityTable(Stats):
    """The log likelihood of each worker's votes at the grid points, ``table`` (workers, points). A perfect worker
    would agree with the fitted order in ``agree`` of ``votes``."""

    agree: float
    votes: float
    table: Floats


class EtaPosteriors:
    """Each worker's posterior of eta on a grid, with all else at its fitted value.

    ``subjects``: the judgments. ``table``: the sum over a shard that gives the likelihood of each eta.
    """

    subjects: Subjects
    top: Maximum
    own: slice
    perfect: float
    known: NDArray[np.bool_]
    density: Density

    def __init__(
        self,
        climb: Ascent,
        subjects: Subjects,
        table: Callable[..., QualityTable],
        top: Maximum,
        log_prior: Callable[[Floats], Floats],
    ) -> None:
        self.subjects, self.top = subjects, top
        self.own = slice(0, subjects.n_workers)
        low, high = self._windows()
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, POINTS)
        at = OnGrid(top.point.scores, climb.bounds.values(top.point), grid)
        found = climb.session.evaluate(table, at)
        self.perfect = found.agree / found.votes  # how often eta = 1 agrees with the fitted order
        self.known = climb.bounds.fixed[self.own, 0]
        self.density = highest_density(found.table + log_prior(grid), low, high, LEVEL)

    def _windows(self) -> tuple[Floats, Floats]:
        """The range in which each eta's density is not negligible, by slope and curvature at the estimate.

        The log density falls by about |slope| x + curvature x^2 / 2 at a distance x.
        """
        eta = self.top.point.workers[self.own, 0]
        slope = np.abs(self.top.gradient[self.own, 0])
        curvature = np.maximum(self.top.curvature.workers[self.own, 0, 0], 1e-12)
        reach = 1.5 * 2.0 * DROP / (slope + np.sqrt(slope**2 + 2.0 * DROP * curvature))
        return np.clip(eta - reach, 0.0, 1.0), np.clip(eta + reach, 0.0, 1.0)

    def variance(self) -> Floats:
        """Posterior variances of eta in the shape of the worker parameters; 0 for known workers."""
        variance = np.zeros_like(self.top.point.workers)
        variance[self.own, 0] = np.where(self.known, 0.0, self.density.variance)
        return variance

    def notes(self) -> list[Note]:
        """Notes if the votes say little about the quality of the workers."""
        return quality_notes(self.subjects, self.perfect)

    def workers(
        self, covariance: Covariance | None, judgments: Floats, further: Mapping[str, Floats] | None = None
    ) -> Workers:
        """Qualities and intervals; the uncertainty of the scores widens the intervals.

        ``judgments``: how much each worker judged. ``further``: more columns.
        """
        known = self.top.curvature.workers[self.own, 0, 0] > 0  # otherwise the votes say nothing about the worker
        eta = np.where(known | self.known, self.top.point.workers[self.own, 0], self.density.mean)
        low, high = np.minimum(self.density.low, eta), np.maximum(self.density.high, eta)
        if covariance is not None:
            low, high = _widen(eta, low, high, _inflation(self.top, covariance, self.density.variance))
        low, high = np.where(self.known, eta, low), np.where(self.known, eta, high)
        scale = 2.0 * self.perfect - 1.0
        quality, quality_low, quality_high = (0.5 + (value - 0.5) * scale for value in (eta, low, high))
        assert self.subjects.index.workers is not None
        return Workers(
            worker=self.subjects.index.workers,
            judgments=judgments,
            quality=quality,
            low=quality_low,
            high=quality_high,
            verdict=verdicts(quality_low, quality_high, tellable=self.perfect > TELLABLE),
            further={"eta": eta, "eta_low": low, "eta_high": high, **(further or {})},
            backend=self.subjects.backend,
        )


def _inflation(top: Maximum, covariance: Covariance, own_variance: Floats) -> Floats:
    """How much the uncertainty of the scores widens each eta's interval: sd over conditional sd.

    The conditional variance is the inverse of the curvature, or ``own_variance`` if eta is at a bound.
    """
    curvature = top.curvature.workers[: len(own_variance), 0, 0]
    free = ~top.held[: len(own_variance), 0] & (curvature > 0)
    conditional = np.where(free, 1.0 / np.where(free, curvature, 1.0), own_variance)
    total = covariance.worker_variance()[: len(own_variance), 0]
    return np.sqrt(np.maximum(total / np.maximum(conditional, 1e-300), 1.0))


def _widen(eta: Floats, low: Floats, high: Floats, factor: Floats) -> tuple[Floats, Floats]:
    """Stretch an interval around the estimate, within [0, 1]."""
    return np.clip(eta - factor * (eta - low), 0.0, 1.0), np.clip(eta + factor * (high - eta), 0.0, 1.0)
