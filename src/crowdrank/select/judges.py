"""What is known about the judges, and how much each could teach at best."""

from __future__ import annotations

import numpy as np

from crowdrank.data.arrays import Floats, Integers
from crowdrank.kernels.filtering import KAPPA_LOGISTIC
from crowdrank.results import Beliefs
from crowdrank.select.boxes import CUTS, Judge
from crowdrank.select.gains import GAIN, INFORMATION, is_learnable, judge_gain, score_gain

STEPS = np.linspace(0.0, 1.0, CUTS + 1)
"""The t at which the gains of judges are tabulated."""


class Judges:
    """``slope``, ``alpha`` and ``beta`` (K) of the judges, and ``new``, one who was never seen."""

    slope: Floats
    alpha: Floats
    beta: Floats
    new: Judge

    def __init__(self, beliefs: Beliefs) -> None:
        self.replace(beliefs)

    def replace(self, beliefs: Beliefs) -> None:
        """Everything is known anew."""
        self.slope, self.alpha, self.beta = (own.copy() for own in (beliefs.slope, beliefs.alpha, beliefs.beta))
        self.new = Judge(1.0, *beliefs.new_quality)
        self._gains = np.full((len(self.alpha), CUTS + 1), np.nan)

    def learn(self, judge: int, alpha: float, beta: float, slope: float = 1.0) -> None:
        """What is known about a judge has changed."""
        self.alpha[judge], self.beta[judge], self.slope[judge] = alpha, beta, slope
        self._gains[judge] = np.nan

    def __getitem__(self, judge: int | None) -> Judge:
        """One judge; a new one if none is named."""
        if judge is None or judge >= len(self.alpha):
            return self.new
        return Judge(float(self.slope[judge]), float(self.alpha[judge]), float(self.beta[judge]))

    def bounds(self, judges: Integers, kind: int, gamma: float, variance: float, weight: float) -> Floats:
        """A bound on the gain of the best pair of each judge.

        ``variance`` and ``weight``: the largest of all items. The gain of the scores is bounded at the start of
        each step of t, that of the judge at its end.
        """
        most = self.slope[judges] ** 2 * variance
        both = 2.0 * most / (1.0 + 2.0 * KAPPA_LOGISTIC * most)
        x = np.minimum(most / (1.0 + KAPPA_LOGISTIC * most), both) if kind == GAIN else 0.5 * both
        q = np.abs(self.alpha[judges] - self.beta[judges]) / (self.alpha[judges] + self.beta[judges])
        start = np.zeros(1) if kind == INFORMATION or gamma == 0.0 else STEPS[:-1]
        columns = [own[:, None] for own in (most, x, both - x, q)]
        zero = np.zeros((len(judges), len(start)))
        found = weight * score_gain(kind, zero, columns[0], columns[0], start + zero, *columns[1:])
        if gamma > 0:
            gains = self._tabulated(judges)
            found = found + gamma * (gains[:, -1:] if kind == INFORMATION else gains[:, 1:])
        return np.asarray(found.max(axis=1))

    def _tabulated(self, judges: Integers) -> Floats:
        """The judges' own gains at ``STEPS``; 0 for known ones."""
        stale = judges[np.isnan(self._gains[judges, 0])]
        if len(stale):
            alpha, beta = self.alpha[stale, None], self.beta[stale, None]
            self._gains[stale] = judge_gain(STEPS, alpha, beta) * is_learnable(alpha, beta)
        return self._gains[judges]
