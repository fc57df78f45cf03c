"""Judge-BT: Bradley-Terry with four parameters per judge: sharpness, lapses, side bias and tie threshold.

Judge k is shown i on the left and j on the right. With the advantage

    x = a_k (s_i - s_j) + b_k                      a: sharpness, b: bias towards the left

the chances of win, loss and tie are those of Rao and Kupper with the judge's own threshold t_k. With probability
2 epsilon_k, a decisive vote is a guess (a lapse):

    P(left) = (1 - epsilon_k) F(x - t_k) + epsilon_k F(-x - t_k)
    P(tie)  = F(x + t_k) - F(x - t_k)

a, b, ln t and logit 2 epsilon are normally distributed across judges. a has mean 1; the votes of a judge with a
negative a count reversed. The means of b, ln t and logit 2 epsilon, the spread of the judges and the spread of the
items (lambda) are estimated from the votes by empirical Bayes (EM with a Laplace approximation). So a judge with
few votes counts as an average judge. If all judges are equal, the model is Bradley-Terry.
"""

from __future__ import annotations

from crowdrank.kernels import LOGISTIC
from crowdrank.models.pairs.estimator import PairedModel
from crowdrank.models.worker_parameters import LAPSE, SLOPE, WorkerParameter


class JudgeBT(PairedModel):
    """Bradley-Terry with sharpness, lapses, side and tie threshold of each judge, all shrunk.

        P(left) = (1 - epsilon_k) F(x - t_k) + epsilon_k F(-x - t_k),    x = a_k (s_i - s_j) + b_k
        P(tie)  = F(x + t_k) - F(x - t_k)

    It combines the flip of Crowd-BT (Chen et al. 2013, eq. 5), the scale of variance-BT (Volkovs & Zemel 2012),
    the ties of Rao & Kupper 1967, and a bias towards one side if sides are known. The strengths of the priors on
    the judges are estimated.

    ``regularization``: lambda, the virtual wins and losses of every item. A number, ``"estimated"``, ``"gold"``
    (the one of several that orders most gold pairs correctly) or None for none; the default is ``"estimated"``.
    ``ties``: ``"rao-kupper"`` or ``"davidson"``, either also with ``-by-worker``, or ``"half"`` (half a win for
    each item). The default ``"auto"`` is Rao-Kupper if there are ties, with a threshold for each worker if the
    model has worker parameters.
    ``position``: a bias towards the left item, ``"none"``, ``"shared"`` or ``"by-worker"``. The default ``"auto"``
    is ``"by-worker"``.
    ``anchor_weight``: how many votes each gold pair counts as.
    ``intervals``: ``"information"``, or from refits ``"bootstrap"`` (votes are resampled) or
    ``"bootstrap-workers"`` (workers are resampled with all their votes).
    ``resamples``: how many refits a bootstrap takes.

    >>> import crowdrank as cr
    >>> pairs = ["ab", "ba", "bc", "cb", "ac", "ca"] * 2
    >>> votes = [(w, i, j, min(i, j)) for w in ("ann", "bob") for i, j in pairs]
    >>> model = cr.JudgeBT().fit(votes + [("leo", i, j, i) for i, j in pairs])  # leo takes the left one
    >>> model.predict(["a", "c"], ["c", "a"], worker="ann").tolist()
    ['a', 'a']
    >>> model.predict(["a", "c"], ["c", "a"], worker="leo").tolist()
    ['a', 'c']
    """

    name = "judge-bt"
    needs_workers = True
    link = LOGISTIC
    usual_position = "by-worker"

    @property
    def columns(self) -> tuple[WorkerParameter, ...]:
        """Sharpness and lapses."""
        return (SLOPE, LAPSE)
