"""Crowd-Thurstone: Crowd-BT with the Thurstone link (Crowd-BT section 3.1)."""

from __future__ import annotations

from crowdrank.kernels import PROBIT
from crowdrank.models.pairs.crowd_bt import CrowdBT


class CrowdThurstone(CrowdBT):
    """Crowd-BT with F(d) = Phi(d / sqrt 2) in place of the logistic function.

        P(i beats j, said by k) = eta_k F(s_i - s_j) + (1 - eta_k) F(s_j - s_i)

    Chen et al. 2013, section 3.1.

    ``prior``: (a, b) of a Beta prior on each quality, both at least 1, ``"estimated"`` or None for a flat prior;
    the default is ``"estimated"``.
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
    ``start``: where the qualities start, ``"one"`` (all workers are perfect) or ``"agreed"`` (by pairs that more
    than ten workers judged and nine tenths agree on, footnote 4). Gold pairs given as anchors take precedence over
    both. Each counts as ``anchor_weight`` votes of a perfect worker. Workers of known quality keep it.

    >>> import crowdrank as cr
    >>> pairs = ["ab", "ac", "ad", "bc", "bd", "cd"]
    >>> votes = [(w, i, j) for w in ("ann", "bob") for i, j in pairs] + [("eve", j, i) for i, j in pairs]
    >>> model = cr.CrowdThurstone().fit(votes)
    >>> model.predict_proba("a", "d", worker=["ann", "eve"]).round(2)
    array([[0.89, 0.03, 0.08],
           [0.14, 0.03, 0.83]])
    """

    name = "crowd-thurstone"
    link = PROBIT
