"""Thurstone case V: P(i beats j) = Phi((s_i - s_j) / sqrt 2) (Crowd-BT eq. 7)."""

from __future__ import annotations

from crowdrank.kernels import PROBIT
from crowdrank.models.pairs.estimator import PairedModel


class Thurstone(PairedModel):
    """Thurstone case V with virtual-node regularization: Bradley-Terry with F(d) = Phi(d / sqrt 2).

    Each item is perceived with a normal error of variance 1, so a difference has variance 2.
    Thurstone 1927; Chen et al. 2013, eq. 7.

    ``regularization``: lambda, the virtual wins and losses of every item. A number, ``"estimated"``, ``"gold"``
    (the one of several that orders most gold pairs correctly) or None for none; the default is ``"estimated"``.
    ``ties``: ``"rao-kupper"`` or ``"davidson"``, either also with ``-by-worker``, or ``"half"`` (half a win for
    each item). The default ``"auto"`` is Rao-Kupper if there are ties, with a threshold for each worker if the
    model has worker parameters.
    ``position``: a bias towards the left item, ``"none"``, ``"shared"`` or ``"by-worker"``. The default ``"auto"``
    is ``"none"``.
    ``anchor_weight``: how many votes each gold pair counts as.
    ``intervals``: ``"information"``, or from refits ``"bootstrap"`` (votes are resampled) or
    ``"bootstrap-workers"`` (workers are resampled with all their votes).
    ``resamples``: how many refits a bootstrap takes.

    >>> import crowdrank as cr
    >>> model = cr.Thurstone(regularization=None).fit([("a", "b")] * 3 + [("b", "a")])
    >>> round(model.posterior_.difference("a", "b").mean, 3)  # sqrt(2) times the normal quantile of 3/4
    0.954
    """

    name = "thurstone"
    link = PROBIT
