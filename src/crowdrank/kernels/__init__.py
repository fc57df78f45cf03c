"""Mathematics that several models share."""

from crowdrank.kernels.links import LOGISTIC, PROBIT, Link, LinkValues

__all__ = ["LOGISTIC", "PROBIT", "Link", "LinkValues"]
