"""Mathematics shared by several models."""

from crowdrank.kernels.links import LOGISTIC, PROBIT, Link, LinkValues
from crowdrank.kernels.ties import TIES, Chance, chances, flip_outcomes

__all__ = ["LOGISTIC", "PROBIT", "TIES", "Chance", "Link", "LinkValues", "chances", "flip_outcomes"]
