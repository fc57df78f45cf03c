"""Mathematics shared by several models."""

from crowdrank.kernels.links import LOGISTIC, PROBIT, Link, LinkValues
from crowdrank.kernels.ties import (
    TIES,
    Chance,
    chances,
    decided_chances,
    flip,
    flip_outcomes,
    reported_win,
    tie_chance,
)

__all__ = [
    "LOGISTIC",
    "PROBIT",
    "TIES",
    "Chance",
    "Link",
    "LinkValues",
    "chances",
    "decided_chances",
    "flip",
    "flip_outcomes",
    "reported_win",
    "tie_chance",
]
