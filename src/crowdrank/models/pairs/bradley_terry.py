"""Bradley-Terry: P(i beats j) = 1 / (1 + e^-(s_i - s_j)) (Crowd-BT eq. 1, 3)."""

from __future__ import annotations

from crowdrank.kernels import LOGISTIC
from crowdrank.models.pairs.estimator import PairedModel


class BradleyTerry(PairedModel):
    """Bradley-Terry with virtual-node regularization.

        max_s  sum over votes ln F(s_winner - s_loser) + lambda sum_i [ln F(s_i) + ln F(-s_i)]

    F is the logistic function. The virtual wins and losses are against an item of score 0 (Crowd-BT section 3.2).
    Without them this is the plain maximum likelihood, which exists only if a chain of wins leads from each item to
    every other. For the tie models see kernels.ties. Bradley & Terry 1952; Chen et al. 2013, eq. 3.

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
    >>> model = cr.BradleyTerry().fit([("a", "b")] * 3 + [("b", "a")] + [("b", "c")] * 2 + [("c", "b")])
    >>> model.ranking_
    Ranking: 3 items
    rank  ranks   item   score     low   high
       1  1 to 3  a      0.644  -0.476  1.955
       2  1 to 3  b     -0.128  -0.934  0.678
       3  1 to 3  c     -0.516  -1.856  0.653
    >>> model.predict_proba("a", "c").round(2)  # left wins, tie, right wins; they never met
    array([0.71, 0.06, 0.22])
    """

    name = "bt"
    link = LOGISTIC
