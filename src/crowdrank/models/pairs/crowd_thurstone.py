"""Crowd-Thurstone: Crowd-BT with the Thurstone link (Crowd-BT section 3.1)."""

from __future__ import annotations

from crowdrank.kernels import PROBIT
from crowdrank.models.pairs.crowd_bt import CrowdBT


class CrowdThurstone(CrowdBT):
    """Crowd-BT with F(d) = Phi(d / sqrt 2) in the place of the logistic function.

        P(i beats j, said by k) = eta_k F(s_i - s_j) + (1 - eta_k) F(s_j - s_i)

    Parameters as CrowdBT's. Chen et al. 2013, section 3.1.
    """

    name = "crowd-thurstone"
    link = PROBIT
