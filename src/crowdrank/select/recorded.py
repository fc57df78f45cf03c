"""Votes that were recorded, by codes of items and judges."""

from __future__ import annotations

from typing import NamedTuple

from crowdrank.data.arrays import Integers


class Recorded(NamedTuple):
    """Recorded votes by codes: ``said`` is 1 if left won, -1 if right won, 0 for a tie."""

    left: Integers
    right: Integers
    said: Integers
    judge: Integers
    items: int
    judges: int
