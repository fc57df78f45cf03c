"""Scores on the scale of known labels, with intervals that hold as many of them as they should.

Scores x_i with standard errors s_i become a + b x_i, so that the order stays the same. a and b are those of the
least squares line through the known labels y_i and two points more: the mean score plus and minus the standard
deviation of all scores, on which the scale is left as it is. The residual r_i of a known label is that from the
line without it. With n known labels,

    half the interval of i = f b s_i,      f the k-th smallest of |r_j| / (b s_j),      k = ceil(.9 (n + 1))

which holds a new label with probability .9 or more (split conformal prediction, Lei et al. 2018). With fewer than
9 known labels there is no such k: f is the largest ratio then, and no smaller than that of the normal interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.errors import Note
from crowdrank.results import LEVEL, Z


@dataclass(frozen=True)
class KnownScale:
    """``shift`` a, ``slope`` b, and ``width``, the factor of the standard errors: f / z."""

    shift: float
    slope: float
    width: float

    def scores(self, score: Floats) -> Floats:
        """a + b x."""
        return self.shift + self.slope * score

    def stderr(self, stderr: Floats) -> Floats:
        """b s f / z."""
        return self.slope * self.width * stderr


def fit_known_scale(
    score: Floats, stderr: Floats, nodes: NDArray[np.int64], known: Floats
) -> tuple[KnownScale, list[Note]]:
    """The scale of the labels ``known`` of these nodes. If they fall as the scores rise, only the intervals
    change, and a note says so."""
    center, spread = float(score.mean()), float(score.std())
    ends = center + spread * np.array([-1.0, 1.0])
    x = np.concatenate([score[nodes], ends]) - center
    y = np.concatenate([known, ends]) - center
    middle, square = x.mean(), float(((x - x.mean()) ** 2).sum())
    slope = float(((x - middle) * y).sum()) / square if square > 0 else 1.0
    if slope <= 0:
        note = Note("mirror", "Known labels fall as the scores rise: the whole ranking may be reversed.")
        return KnownScale(0.0, 1.0, _width(known - score[nodes], stderr[nodes])), [note]
    leverage = 1.0 / len(x) + ((x - middle) ** 2 / square if square > 0 else 0.0)
    off = (y - y.mean() - slope * (x - middle)) / (1.0 - leverage)
    shift = center + float(y.mean()) - slope * (center + middle)
    return KnownScale(shift, slope, _width(off[:-2], slope * stderr[nodes])), []


def _width(off: Floats, stderr: Floats) -> float:
    """f / z."""
    ratios = np.sort(np.abs(off) / stderr)
    place = math.ceil(LEVEL * (len(ratios) + 1))
    if place > len(ratios):
        return max(float(ratios[-1]) / Z, 1.0)
    return float(ratios[place - 1]) / Z
