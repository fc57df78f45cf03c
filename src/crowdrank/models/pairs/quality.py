"""Worker quality: from fitted parameters and posteriors to quality, interval and verdict."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.errors import Note
from crowdrank.kernels.points import normal_points
from crowdrank.models.agreement import GOLD_PAIRS, TELLABLE, Agreement, quality_notes
from crowdrank.models.ascent import fixed_parameters
from crowdrank.models.pairs.climb import PairedClimb
from crowdrank.models.worker_parameters import POSITION, SLOPE
from crowdrank.results import LEVEL, Workers, Z, verdicts
from crowdrank.solve import Covariance, Maximum

DRAWS = 256
NAMED = 3
"""How many workers a note names."""
NEARLY_HALF = 0.35
"""If reversed workers gave this share of the votes, the others may be the reversed ones."""


class FittedWorkers:
    """The workers of a fit: values and standard deviations of their columns, and their quality."""

    climb: PairedClimb
    top: Maximum
    scores: Floats
    values: Floats
    deviation: NDArray[Any]

    def __init__(self, climb: PairedClimb, top: Maximum, covariance: Covariance | None, scores: Floats) -> None:
        self.climb, self.top, self.scores = climb, top, scores
        self.values = climb.bounds.values(top.point)[: climb.members]
        self.deviation = np.full_like(self.values, np.inf)
        if covariance is not None and len(self.values):
            # a fixed parameter has curvature 1
            variance = covariance.worker_variance() - fixed_parameters(top)
            self.deviation = np.sqrt(np.maximum(variance, 0.0))[: climb.members]

    @cached_property
    def curve(self) -> Agreement | None:
        """How a worker's slope leads to agreement; None if the model does not distinguish workers."""
        design = self.climb.design
        if design.by != "worker" or not any(column.affects_quality for column in design.columns):
            return None
        rows = self.climb.votes.without_gold().comparisons  # gold pairs are not judgments
        d = np.abs(self.scores[rows.i] - self.scores[rows.j])
        return Agreement(self.climb.link, d, rows.weight)

    @cached_property
    def best(self) -> float:
        """The quality of a worker with slope 1 and no lapses, or of the best worker if it is larger."""
        assert self.curve is not None
        own = self.curve.quality(self.climb.design.columns, self.values)
        return max(self.curve.perfect, float(own.max(initial=0.0)))

    def notes(self) -> list[Note]:
        """Notes if the votes say little about the quality of workers, or about the direction of the ranking."""
        if self.curve is None:
            return []
        return [*quality_notes(self.climb.votes, self.best), *self._direction_notes()]

    def _direction_notes(self) -> list[Note]:
        """A note if the mean of slopes that may be negative is within two of its standard errors of 0.

        The scores are in units of that mean. Near 0, scores are small and slopes large. The direction is in doubt
        only if reversed workers gave nearly half of the votes.
        """
        names = [column.name for column in self.climb.design.columns]
        if SLOPE.name not in names or self.climb.votes.has_gold or len(self.values) < 2:
            return []
        slope = self.values[:, names.index(SLOPE.name)]
        mean, spread = float(slope.mean()), float(slope.std(ddof=1))
        if (slope >= 0).all() or mean >= 2.0 * spread / np.sqrt(len(slope)):
            return []
        who = self.climb.votes.worker_names(np.flatnonzero(slope < 0))
        shown = ", ".join(who[:NAMED]) + (f" and {len(who) - NAMED:,} more" if len(who) > NAMED else "")
        verb = "answers" if len(who) == 1 else "answer"
        message = f"{len(who):,} of {len(slope):,} workers {verb} in reverse: {shown}."
        share = float(np.average(slope < 0, weights=self.climb.votes.judgments_of_workers))
        if share >= NEARLY_HALF:
            message += f" They gave {share:.0%} of the votes, so the ranking may be reversed."
            return [Note("mirror", message, GOLD_PAIRS, who)]
        message += " Their answers count the other way round."
        unit = "The average worker is the unit of the scores, so the scores are small."
        return [Note("reversed-workers", f"{message} {unit}", workers=who)]

    def details(self) -> dict[str, float]:
        """How often the best worker would agree with the fitted order."""
        return {} if self.curve is None else {"perfect_quality": self.best}

    def workers(self) -> Workers | None:
        """The table of workers; by agreement with the ranking if the model does not distinguish workers."""
        curve, columns = self.curve, self.climb.design.columns
        if curve is None:
            plain = self.climb.votes.agreement(self.scores)
            return plain and replace(plain, further=self.further())
        pairs = self.climb.votes.pairs
        assert pairs.index.workers is not None
        quality, (low, high) = curve.quality(columns, self.values[:, None])[:, 0], self._interval(curve)
        low, high = np.minimum(low, quality), np.maximum(high, quality)
        return Workers(
            worker=pairs.index.workers,
            judgments=self.climb.votes.judgments_of_workers,
            quality=quality,
            low=low,
            high=high,
            verdict=verdicts(low, high, tellable=self.best > TELLABLE),
            further=self.further(),
            backend=pairs.backend,
        )

    def further(self) -> dict[str, Floats]:
        """The columns that vary between workers, each with its interval."""
        found: dict[str, Floats] = {}
        if self.climb.design.by != "worker":
            return found
        for place, column in enumerate(self.climb.design.columns):
            name, natural = column.shown, column.natural
            if column not in self.climb.design.varying or name is None or natural is None:
                continue
            own, half = self.values[:, place], Z * self.deviation[:, place]
            with np.errstate(over="ignore"):
                found |= {
                    name: natural(own),
                    f"{name}_low": natural(own - half),
                    f"{name}_high": natural(own + half),
                }
        return found

    def roots(self) -> Floats | None:
        """A root of each worker's covariance (workers, columns, columns); None if it is not known.

        The correlations are those given the scores; the variances count the uncertainty of the scores too.
        """
        if not len(self.values) or not np.isfinite(self.deviation).all():
            return None
        blocks = self.top.curvature.hold(fixed_parameters(self.top)).workers[: len(self.values)]
        try:
            inverse = np.linalg.inv(blocks)
            own = np.sqrt(np.einsum("kbb->kb", inverse))
            factors = np.linalg.cholesky(inverse / (own[:, :, None] * own[:, None, :]))
        except np.linalg.LinAlgError:
            factors = np.broadcast_to(np.eye(self.values.shape[1]), blocks.shape)
        return np.asarray(factors * self.deviation[:, :, None])

    def _interval(self, curve: Agreement) -> tuple[Floats, Floats]:
        """Quantiles of the quality under the normal posterior of each worker's columns."""
        roots = self.roots()
        if roots is None:
            return np.zeros(len(self.values)), np.ones(len(self.values))
        drawn = np.einsum("kbc,mc->kmb", roots, normal_points(DRAWS, self.values.shape[1]))
        quality = curve.quality(self.climb.design.columns, self.values[:, None] + drawn)
        low, high = np.quantile(quality, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
        return self._open_bounds(low, high)

    def _open_bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The intervals; those of workers at a bound, which have no width, by their share of agreeing votes."""
        members = len(self.values)
        stuck = (self.top.held & ~self.climb.bounds.fixed)[:members].any(axis=1)
        plain = self.climb.votes.agreement(self.scores) if stuck.any() else None
        if plain is None:
            return low, high
        return np.where(stuck, np.minimum(low, plain.low), low), np.where(
            stuck, np.maximum(high, plain.high), high
        )


def position_bias(
    climb: PairedClimb, top: Maximum, covariance: Covariance | None
) -> tuple[dict[str, Any], list[Note]]:
    """The bias towards the left for fit.json, and a note if it is beyond doubt."""
    design = climb.design
    if POSITION not in design.columns:
        return {}, []
    if POSITION in design.common:
        place = design.common.index(POSITION)
        bias, variance = top.point.common[place], np.inf
        if covariance is not None and len(covariance.common_covariance()):
            variance = covariance.common_covariance()[place, place]
    else:
        place = design.columns.index(POSITION)
        bias = climb.bounds.values(top.point)[0, place]
        variance = np.inf if covariance is None else covariance.worker_variance()[0, place]
    half = Z * np.sqrt(variance)
    low, high = bias - half, bias + half
    left, left_low, left_high = (
        float(climb.link.values(np.array([value])).win[0])
        for value in np.nan_to_num([bias, low, high], posinf=700, neginf=-700)
    )
    details = {
        "position": {
            "bias": float(bias), "low": float(low), "high": float(high),
            "left": left, "left_low": left_low, "left_high": left_high,
        }
    }  # fmt: skip
    if low <= 0 <= high:
        return details, []
    side, share, least, most = (
        ("left", left, left_low, left_high) if bias > 0 else ("right", 1 - left, 1 - left_high, 1 - left_low)
    )
    message = (
        f"The {side} side is favored: of two equal items, the {side} one is chosen in {share:.1%} of the "
        f"decisive votes ({least:.1%} to {most:.1%}). The scores are corrected for it."
    )
    return details, [Note("position", message)]
