"""How good the workers are: posteriors of eta, and from them quality, interval and verdict."""

from __future__ import annotations

import numpy as np

from crowdrank.data import Floats
from crowdrank.engine import Session
from crowdrank.errors import Note
from crowdrank.models.paired.likelihood import QUALITY_GRID
from crowdrank.models.votes import Votes
from crowdrank.results import LEVEL, Workers, verdicts
from crowdrank.solve import Bounds, Covariance, Maximum, highest_density


class People:
    """The workers of a fit: each one's own posterior of eta, on a grid, at the fitted scores."""

    def __init__(
        self, votes: Votes, top: Maximum, session: Session, log_prior: Floats, bounds: Bounds
    ) -> None:
        shared = session.evaluate({"scores": top.point.scores}).shared
        self.votes, self.top = votes, top
        self.own = slice(0, votes.n_workers)
        self.perfect = shared["agree"] / shared["votes"]  # how often eta = 1 agrees with the fitted order
        self.known = bounds.fixed[self.own, 0]
        self.density = highest_density(shared["table"][self.own] + log_prior, QUALITY_GRID, LEVEL)

    def variance(self, shape: tuple[int, ...]) -> Floats:
        """Posterior variances of the worker parameters; 0 for those that are known."""
        variance = np.zeros(shape)
        variance[self.own, 0] = np.where(self.known, 0.0, self.density.variance)
        return variance

    def notes(self) -> list[Note]:
        """Notes where the votes say little about how good the workers are."""
        notes = []
        if self.votes.n_workers == 1:
            message = "All judgments are one worker's: how good they are cannot be told from them alone."
            notes.append(Note("one-worker", message))
        if self.perfect <= 0.6:
            message = (
                f"The items are close: even a perfect worker would agree with the fitted order in only "
                f"{self.perfect:.0%} of an average pair, so workers can hardly be told apart."
            )
            notes.append(Note("close-items", message))
        return notes

    def workers(self, covariance: Covariance | None) -> Workers:
        """Qualities and intervals; these are wider where the scores are uncertain too."""
        eta = self.top.point.workers[self.own, 0]
        low, high = self.density.low, self.density.high
        if covariance is not None:
            low, high = _widened(eta, low, high, _inflation(self.top, covariance, self.density.variance))
        low, high = np.where(self.known, eta, low), np.where(self.known, eta, high)
        scale = 2.0 * self.perfect - 1.0
        quality, quality_low, quality_high = (0.5 + (value - 0.5) * scale for value in (eta, low, high))
        pairs = self.votes.pairs
        assert pairs.index.workers is not None
        return Workers(
            worker=pairs.index.workers,
            judgments=self.votes.judgments(),
            quality=quality,
            low=quality_low,
            high=quality_high,
            verdict=verdicts(quality_low, quality_high, tellable=self.perfect > 0.6),
            further={"eta": eta, "eta_low": low, "eta_high": high},
            backend=pairs.backend,
        )


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
