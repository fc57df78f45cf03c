"""Thurstone case V: P(i beats j) = Phi((s_i - s_j) / sqrt 2) (Crowd-BT eq. 7)."""

from __future__ import annotations

from crowdrank.kernels import PROBIT
from crowdrank.models.pairs.estimator import PairedModel


class Thurstone(PairedModel):
    """Thurstone case V with virtual-node regularisation: Bradley-Terry with F(d) = Phi(d / sqrt 2).

    Each item is perceived with a normal error of variance 1, so a difference has variance 2.
    Parameters as BradleyTerry's. Thurstone 1927; Chen et al. 2013, eq. 7.
    """

    name = "thurstone"
    link = PROBIT
