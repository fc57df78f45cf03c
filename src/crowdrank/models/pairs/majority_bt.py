"""Majority-vote BT: the majority's verdict on each pair, then Bradley-Terry (Crowd-BT section 5.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdrank.kernels import LOGISTIC
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.climb_notes import convergence_notes, prior_notes
from crowdrank.models.pairs.climb import PairedClimb
from crowdrank.models.pairs.design import PLAIN
from crowdrank.models.pairs.estimator import require_finite
from crowdrank.models.pairs.predict import Judged
from crowdrank.models.parameters import virtual_votes
from crowdrank.prepared.graph import graph
from crowdrank.prepared.votes import Votes


class MajorityBT(VotesModel):
    """Bradley-Terry on one vote per pair, that of the majority. An even split is half a win for each item.

        w_ij = [n_ij > n_ji] + [n_ij = n_ji] / 2
        max_s  sum_ij w_ij ln F(s_i - s_j) + lambda sum_i ln F(s_i) F(-s_i)

    A pair that twenty people judged counts no more than a pair that one person judged. The estimate of lambda and
    the intervals are based on these verdicts, not on the votes. Chen et al. 2013, section 5.2.

    ``regularization``: lambda, the virtual wins and losses of every item. A number, ``"estimated"`` or None for
    none of it; the default is ``"estimated"``.

    >>> import crowdrank as cr
    >>> posterior = cr.MajorityBT().fit([("a", "b")] * 20 + [("b", "c")]).posterior_
    >>> round(posterior.difference("a", "b").mean, 2)  # twenty votes
    0.84
    >>> round(posterior.difference("b", "c").mean, 2)  # one vote
    0.84
    """

    name = "majority-bt"

    def __init__(self, *, regularization: float | str | None = "estimated", seed: int = 0) -> None:
        self.regularization = regularization
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        pairs = votes.comparisons
        ahead = pairs.wins - pairs.losses
        even = np.abs(ahead) <= 1e-9 * pairs.weight  # up to rounding
        verdict = np.where(even, 0.5, ahead > 0)
        games = replace(pairs, wins=verdict, losses=1.0 - verdict)
        strength = virtual_votes(self.regularization)
        if strength == 0:
            require_finite(votes, graph(games))
        climb = PairedClimb(LOGISTIC, PLAIN, votes, run, strength=strength, games=games)
        top = climb.fit()
        covariance, notes, details = climb.uncertainty(top)
        scores = votes.spread_scores(top.point.scores, covariance)
        return Outcome(
            spread=scores,
            workers=votes.agreement(scores.score),
            converged=top.converged,
            iterations=climb.iterations,
            log_likelihood=top.log_likelihood,
            notes=(
                *votes.notes(regularized=not climb.gauge),
                *convergence_notes(top),
                *prior_notes(climb),
                *notes,
            ),
            details={**details, "priors": climb.priors.details(())},
            predictor=Judged.of_scores(LOGISTIC, scores.score, votes.tie_share),
            posterior=climb.posterior(top, covariance),
        )
