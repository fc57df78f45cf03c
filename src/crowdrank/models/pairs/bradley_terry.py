"""Bradley-Terry: P(i beats j) = 1 / (1 + e^-(s_i - s_j)) (Crowd-BT eq. 1, 3)."""

from __future__ import annotations

from crowdrank.kernels import LOGISTIC
from crowdrank.models.pairs.estimator import PairedModel


class BradleyTerry(PairedModel):
    """Bradley-Terry with virtual-node regularisation.

        max_s  sum over votes ln F(s_winner - s_loser) + lambda sum_i [ln F(s_i) + ln F(-s_i)]

    F is the logistic function; every item has ``regularization`` (lambda) virtual wins and losses
    against an item of score 0 (Crowd-BT section 3.2). With ``regularization=0`` it is the plain
    maximum likelihood, which exists only where a chain of wins leads from each item to every other.
    Where it is not given, lambda is estimated from the votes. ``ties``: ``"rao-kupper"`` (where there are
    ties), ``"davidson"``, either with ``-by-worker``, or ``"half"`` a win for either; see kernels.ties.
    ``position``: a bias towards the left item, ``"none"``, ``"shared"`` or ``"by-worker"``.
    ``anchor_weight``: how many votes each gold pair counts. ``intervals``: ``"information"``, or with
    ``resamples`` refits ``"bootstrap"`` or ``"bootstrap-workers"``. Bradley & Terry 1952; Chen et al.
    2013, eq. 3.
    """

    name = "bt"
    link = LOGISTIC
