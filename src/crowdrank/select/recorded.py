"""Votes that were recorded, by codes of items and judges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdrank.data.arrays import Integers


class Recorded(NamedTuple):
    """Recorded votes by codes: ``said`` is 1 if left won, -1 if right won, 0 for a tie."""

    left: Integers
    right: Integers
    said: Integers
    judge: Integers
    items: int
    judges: int

    @property
    def ties(self) -> float:
        """The share of ties."""
        return float(np.mean(self.said == 0)) if len(self.said) else 0.0
