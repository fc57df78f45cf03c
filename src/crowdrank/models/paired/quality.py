"""How good the workers are: posteriors of eta, and from them quality, interval and verdict."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdrank.data import Floats
from crowdrank.engine import Session
from crowdrank.errors import Note
from crowdrank.models.votes import Votes
from crowdrank.results import LEVEL, Workers, verdicts
from crowdrank.solve import Bounds, Covariance, Maximum, highest_density

POINTS = 49
DROP = 18.0
"""Where the log density is this far below its top, nothing of the posterior is left."""

TELLABLE = 0.6
"""Where even a perfect worker agrees no more often than this, nobody is called a spammer."""


class People:
    """The workers of a fit: each one's own posterior of eta, on a grid, at the fitted scores."""

    def __init__(
        self,
        votes: Votes,
        top: Maximum,
        session: Session,
        log_prior: Callable[[Floats], Floats],
        bounds: Bounds,
    ) -> None:
        self.votes, self.top = votes, top
        self.own = slice(0, votes.n_workers)
        low, high = self._windows()
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, POINTS)
        shared = session.evaluate({"scores": top.point.scores, "grid": grid}).shared
        self.perfect = shared["agree"] / shared["votes"]  # how often eta = 1 agrees with the fitted order
        self.known = bounds.fixed[self.own, 0]
        self.density = highest_density(shared["table"] + log_prior(grid), low, high, LEVEL)

    def _windows(self) -> tuple[Floats, Floats]:
        """Where each eta can be: as far from the estimate as its slope and curvature let the density be seen.

        The log density falls by about |slope| x + curvature x^2 / 2 at a distance x.
        """
        eta = self.top.point.workers[self.own, 0]
        slope = np.abs(self.top.gradient[self.own, 0])
        curvature = np.maximum(self.top.curvature.workers[self.own, 0, 0], 1e-12)
        reach = 1.5 * 2.0 * DROP / (slope + np.sqrt(slope**2 + 2.0 * DROP * curvature))
        return np.clip(eta - reach, 0.0, 1.0), np.clip(eta + reach, 0.0, 1.0)

    def variance(self, shape: tuple[int, ...]) -> Floats:
        """Posterior variances of the worker parameters; 0 for those that are known."""
        variance = np.zeros(shape)
        variance[self.own, 0] = np.where(self.known, 0.0, self.density.variance)
        return variance

    def notes(self) -> list[Note]:
        """Notes where the votes say little about how good the workers are."""
        return quality_notes(self.votes, self.perfect)

    def workers(self, covariance: Covariance | None) -> Workers:
        """Qualities and intervals; these are wider where the scores are uncertain too."""
        told = self.top.curvature.workers[self.own, 0, 0] > 0  # else the votes say nothing of the worker
        eta = np.where(told | self.known, self.top.point.workers[self.own, 0], self.density.mean)
        low, high = np.minimum(self.density.low, eta), np.maximum(self.density.high, eta)
        if covariance is not None:
            low, high = _widened(eta, low, high, _inflation(self.top, covariance, self.density.variance))
        low, high = np.where(self.known, eta, low), np.where(self.known, eta, high)
        scale = 2.0 * self.perfect - 1.0
        quality, quality_low, quality_high = (0.5 + (value - 0.5) * scale for value in (eta, low, high))
        pairs = self.votes.pairs
        assert pairs.index.workers is not None
        return Workers(
            worker=pairs.index.workers,
            judgments=self.votes.judgments,
            quality=quality,
            low=quality_low,
            high=quality_high,
            verdict=verdicts(quality_low, quality_high, tellable=self.perfect > TELLABLE),
            further={"eta": eta, "eta_low": low, "eta_high": high},
            backend=pairs.backend,
        )


def quality_notes(votes: Votes, perfect: float) -> list[Note]:
    """Notes where the votes say little about how good the workers are; ``perfect``: how often the best
    possible worker would agree with the fitted order."""
    notes = []
    if votes.n_workers == 1:
        message = "All judgments are one worker's: how good they are cannot be told from them alone."
        notes.append(Note("one-worker", message))
    if perfect <= TELLABLE:
        message = (
            f"The items are close: even a perfect worker would agree with the fitted order in only "
            f"{perfect:.0%} of an average pair, so workers can hardly be told apart."
        )
        notes.append(Note("close-items", message))
    return notes


def _inflation(top: Maximum, covariance: Covariance, own_variance: Floats) -> Floats:
    """How much wider each eta's interval is when the scores are uncertain too: sd over conditional sd.

    The conditional variance is the inverse of the curvature, or ``own_variance`` where eta is at a bound.
    """
    curvature = top.curvature.workers[: len(own_variance), 0, 0]
    free = ~top.held[: len(own_variance), 0] & (curvature > 0)
    conditional = np.where(free, 1.0 / np.where(free, curvature, 1.0), own_variance)
    total = covariance.worker_variance()[: len(own_variance), 0]
    return np.sqrt(np.maximum(total / np.maximum(conditional, 1e-300), 1.0))


def _widened(eta: Floats, low: Floats, high: Floats, factor: Floats) -> tuple[Floats, Floats]:
    """Stretch an interval about the estimate, within [0, 1]."""
    return np.clip(eta - factor * (eta - low), 0.0, 1.0), np.clip(eta + factor * (high - eta), 0.0, 1.0)
