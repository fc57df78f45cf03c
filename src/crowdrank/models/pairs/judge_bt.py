"""Judge-BT: Bradley-Terry with a whole judge: how sharp, how careless, which side, how ready to call a tie.

Judge k is shown i on the left and j on the right. With the advantage

    x = a_k (s_i - s_j) + b_k                      a: sharpness, b: bias towards the left

the chances of win, loss and tie are those of Rao and Kupper with the judge's own threshold t_k, and with
probability 2 epsilon_k a vote that decides is a guess (a lapse):

    P(left) = (1 - epsilon_k) F(x - t_k) + epsilon_k F(-x - t_k)
    P(tie)  = F(x + t_k) - F(x - t_k)

Every one of the four differs from judge to judge around a mean, normally: a around 1 (negative is a
judge whose votes count reversed), b, ln t and logit 2 epsilon around means that are estimated. How far
judges differ, how far items differ (lambda) and those means are estimated from the votes by empirical Bayes
(EM with a Laplace approximation), so a judge with few votes is taken as an average one, and a crowd of
equals as one: then it is Bradley-Terry.
"""

from __future__ import annotations

from crowdrank.kernels import LOGISTIC
from crowdrank.models.pairs.estimator import PairedModel
from crowdrank.models.worker_parameters import LAPSE, SLOPE, WorkerParameter


class JudgeBT(PairedModel):
    """Bradley-Terry with sharpness, lapses, side and tie threshold of each judge, all shrunk.

    It joins the flip of Crowd-BT (Chen et al. 2013, eq. 5) with the scale of variance-BT (Volkovs &
    Zemel 2012), ties after Rao & Kupper 1967, and a bias towards one side where sides are known. The
    strengths of all priors are estimated; ``regularization`` fixes that of the scores. ``ties`` and
    ``position`` as BradleyTerry's, by default both by worker.
    """

    name = "judge-bt"
    needs_workers = True
    link = LOGISTIC
    usual_position = "by-worker"

    @property
    def columns(self) -> tuple[WorkerParameter, ...]:
        """Sharpness and lapses."""
        return (SLOPE, LAPSE)
