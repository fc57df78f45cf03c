"""MPM: the Multinomial Preference Model (Volkovs & Zemel 2012), with an adherence for each worker.

A vote is not the answer to a question but one draw among all ordered pairs of the query's items. Worker k says "i
over j" with probability

    P(i over j) = exp(theta_k (v_i - v_j)) / Z_q(theta_k)
    Z_q(theta)  = sum over l != m of exp(theta (v_l - v_m))
                = (sum_l e^(theta v_l)) (sum_m e^(-theta v_m)) - n                              n items

so clear pairs are named more often than close ones, and the choice of judged pairs also carries information about
the scores. theta_k, the adherence, says how closely worker k follows the common order. If it is negative, the
votes count reversed. The votes enter only through each worker's net wins of each item and number of votes in each
query. A tie is half a vote for each item, so it does not change the net wins.

    max  sum_k,q [theta_k sum_i w_ki v_i - n_kq ln Z_q(theta_k)]
            - lambda/2 sum_i v_i^2 - sum_k (theta_k - 1)^2 / (2 sigma^2)      with mean theta = 1

Given the pair, P(i over j | i, j asked) = F(2 theta_k (v_i - v_j)): scores are half of Bradley-Terry's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.errors import Note
from crowdrank.kernels import LOGISTIC
from crowdrank.models.agreement import TELLABLE, Agreement, quality_notes
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.pairs.multinomial import MultinomialPoint, NetSums, Strengths, split_by_query
from crowdrank.models.pairs.multinomial_problem import HeldInverse, MultinomialLook, MultinomialProblem
from crowdrank.models.parameters import estimable
from crowdrank.models.predictors import values_at, with_ties
from crowdrank.models.priors import NormalPrior
from crowdrank.models.worker_parameters import SLOPE
from crowdrank.prepared.votes import Votes
from crowdrank.results import Covariance, NormalPosterior, Workers, Z, verdicts
from crowdrank.solve import NotPositiveError, newton, slope_goal

ROUNDS = 60
PRIOR_TOLERANCE = 1e-3
"""The priors have converged when no width changes by more than this share."""
START_PRECISION = 1e9
"""The precision of nearly equal adherences, with which the climb starts."""
MAX_REVERSED = 0.3
"""A note is given if workers with a negative adherence cast more than this share of the votes."""


class MPM(VotesModel):
    """The Multinomial Preference Model: votes as draws among all ordered pairs, an adherence for each worker.

        P(i over j, said by k) = exp(theta_k (v_i - v_j)) / sum over l != m of exp(theta_k (v_l - v_m))

    The mean adherence is fixed at 1, because the data determine only the products of adherences and scores. No
    prior means a nearly flat one. Volkovs & Zemel 2012.

    ``precision``: lambda, the precision of the normal prior on the scores with mean 0.
    A number, ``"estimated"`` or None for no prior; the default is ``"estimated"``.
    ``adherence_sd``: sigma, the standard deviation of the normal prior on the adherences with mean 1.
    A number, ``"estimated"`` or None for no prior; the default is ``"estimated"``.

    >>> import crowdrank as cr
    >>> votes = [(w, i, j) for w in ("ann", "bob") for i, j in ("ab", "ac", "bc")]
    >>> votes += [("joe", "a", "b"), ("joe", "b", "a"), ("joe", "c", "a")]
    >>> cr.MPM().fit(votes).workers_.frame()["adherence"].round(2).to_list()  # ann, bob, joe
    [1.06, 1.06, 0.88]
    """

    name = "mpm"
    needs_workers = True

    def __init__(
        self,
        *,
        precision: float | str | None = "estimated",
        adherence_sd: float | str | None = "estimated",
        seed: int = 0,
    ) -> None:
        self.precision = precision
        self.adherence_sd = adherence_sd
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        search = _Search(votes, run, *self._priors())
        here = search.run()
        covariance, notes = search.uncertainty(here)
        scores = votes.spread_scores(here.scores, covariance)
        rows = votes.comparisons
        apart = 2.0 * np.abs(scores.score[rows.i] - scores.score[rows.j])  # on the scale of Bradley-Terry
        curve = Agreement(LOGISTIC, apart, rows.weight)
        return Outcome(
            spread=scores,
            workers=_workers(votes, here.theta, covariance, curve),
            converged=search.converged(here),
            iterations=search.iterations,
            log_likelihood=here.log_likelihood,
            notes=(
                *votes.notes(),
                *search.convergence(here),
                *notes,
                *_direction_notes(votes, here.theta),
                *_lone_worker_notes(here.theta),
                *quality_notes(votes, curve.perfect),
            ),
            details={
                "intervals": "none" if covariance is None else "exact information",
                "ties": "half",
                "priors": {"precision": search.scores.sd**-2.0, "adherence_sd": search.workers.sd},
            },
            predictor=Adhering(scores.score, here.theta, votes.tie_share),
            posterior=_posterior(here.theta, covariance),
        )

    def _priors(self) -> tuple[NormalPrior, NormalPrior]:
        """The priors on the scores and on the adherences."""
        scores, workers = NormalPrior(0.0, 1.0, True, expected=0.5), NormalPrior(1.0, 0.5, True, expected=0.5)
        precision = estimable("precision", self.precision, low=1e-6, none=1e-6)
        if precision is not None:
            scores = NormalPrior(0.0, precision**-0.5)
        width = estimable("adherence_sd", self.adherence_sd, low=1e-6, none=1e6)
        if width is not None:
            workers = NormalPrior(1.0, width)
        return scores, workers


class _Search:
    """The climb, and the widths of the priors."""

    def __init__(self, votes: Votes, run: Run, scores: NormalPrior, workers: NormalPrior) -> None:
        self.votes, self.run_, self.scores, self.workers = votes, run, scores, workers
        rows, query = votes.count_votes("worker"), votes.nodes.query
        sums = NetSums(query, int(query.max()) + 1)
        found = run.engine.open(rows.shards).evaluate(sums.wins, None)
        self.judged = votes.graph.wins + votes.graph.losses > 0
        self.ballots = split_by_query(found.net, found.count, query, self.judged)
        self.total, self.iterations = float(rows.weights.sum()), 0

    @property
    def strengths(self) -> Strengths:
        """The current precisions of the priors."""
        return Strengths(self.scores.sd**-2.0, self.workers.sd**-2.0)

    def run(self) -> MultinomialLook:
        """Climb from equal scores and adherences to the maximum; estimate the priors after every step."""
        point = MultinomialPoint(self.ballots, np.zeros(len(self.votes.nodes)), np.ones(self.votes.n_workers))
        here = self._climb(point, Strengths(self.strengths.scores, START_PRECISION), steps=6)
        for _ in range(ROUNDS if self.scores.estimated or self.workers.estimated else 0):
            here = self._climb(here.point, self.strengths, steps=1)
            if self._estimate(here) < PRIOR_TOLERANCE:
                break
        return self._climb(here.point, self.strengths)

    def _climb(self, start: MultinomialPoint, strengths: Strengths, steps: int | None = None) -> MultinomialLook:
        top = newton(MultinomialProblem(strengths), start, total_weight=self.total, steps=steps)
        self.iterations += top.iterations
        if self.run_.progress is not None:
            self.run_.progress(self.iterations, top.look.value, top.look.slope / max(self.total, 1.0))
        return top.look

    def _estimate(self, here: MultinomialLook) -> float:
        """Set the widths that fit these scores and adherences; return the largest change of a logarithm."""
        try:
            inverse = HeldInverse.of(here)
        except NotPositiveError:  # not yet near a maximum
            return np.inf
        before = np.log([self.scores.sd, self.workers.sd])
        if self.scores.estimated:
            variance = inverse.score_variance()
            own = variance[self.judged] if len(variance) == len(self.judged) else variance
            self.scores = self.scores.estimate(here.scores[self.judged], own)
        if self.workers.estimated:
            self.workers = self.workers.estimate(here.theta, inverse.worker_variance()[:, 0])
        return float(np.abs(np.log([self.scores.sd, self.workers.sd]) - before).max())

    def uncertainty(self, here: MultinomialLook) -> tuple[HeldInverse | None, list[Note]]:
        """The inverse information at the maximum; None if there is no maximum."""
        try:
            return HeldInverse.of(here), []
        except NotPositiveError:
            message = (
                "The fit did not end at a proper maximum, so there are no intervals: those of the adherences are "
                "from minus to plus infinity."
            )
            return None, [Note("no-intervals", message)]

    def converged(self, here: MultinomialLook) -> bool:
        """Whether the slope is small enough."""
        return here.slope <= slope_goal(self.total, here.value)

    def convergence(self, here: MultinomialLook) -> list[Note]:
        """A note if the climb stopped before a maximum."""
        if self.converged(here):
            return []
        message = (
            f"The fit did not converge in {self.iterations} iterations; the steepest slope left is "
            f"{here.slope:.2g}. Scores and intervals are provisional."
        )
        return [Note("not-converged", message)]


def _posterior(theta: Floats, covariance: Covariance | None) -> NormalPosterior | None:
    """The posterior of scores and adherences; the mean adherence is fixed."""
    if covariance is None:
        return None
    own = theta[:, None]
    return NormalPosterior(covariance, "normal, exact information", ("adherence",), own)


def _direction_notes(votes: Votes, theta: Floats) -> list[Note]:
    """A note if so many votes count reversed that the direction is uncertain."""
    share = float(votes.judgments_of_workers[theta < 0].sum() / votes.judgments_of_workers.sum())
    if share <= MAX_REVERSED:
        return []
    message = f"{share:.0%} of the votes count reversed: the ranking may be reversed."
    return [Note("mirror", message)]


def _lone_worker_notes(theta: Floats) -> list[Note]:
    """A note on the infinite interval of a single worker."""
    if len(theta) > 1:
        return []
    message = (
        "The adherence of a single worker is 1 by definition. Its interval is from minus to plus infinity: the "
        "votes say nothing about it."
    )
    return [Note("one-worker", message)]


def _workers(votes: Votes, theta: Floats, covariance: HeldInverse | None, curve: Agreement) -> Workers:
    """Qualities and adherences with intervals. If there is only one worker, the adherence is unknown."""
    deviation = np.full(len(theta), np.inf)
    if covariance is not None and len(theta) > 1:
        deviation = np.sqrt(np.maximum(covariance.worker_variance()[:, 0], 0.0))
    half = Z * deviation
    quality, low, high = (curve.quality((SLOPE,), end[:, None]) for end in (theta, theta - half, theta + half))
    pairs = votes.pairs
    assert pairs.index.workers is not None
    return Workers(
        worker=pairs.index.workers,
        judgments=votes.judgments_of_workers,
        quality=quality,
        low=low,
        high=high,
        verdict=verdicts(low, high, tellable=curve.perfect > TELLABLE),
        further={"adherence": theta, "adherence_low": theta - half, "adherence_high": theta + half},
        backend=pairs.backend,
    )


@dataclass(frozen=True, eq=False)
class Adhering:
    """P(left | the pair is asked) = F(2 theta (v_left - v_right)); an unseen worker has adherence 1."""

    scores: Floats
    theta: Floats
    tie: float

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        from scipy.special import expit

        theta = np.ones(len(left)) if worker is None else values_at(self.theta, worker, 1.0)
        return with_ties(
            expit(2.0 * theta * (values_at(self.scores, left, 0.0) - values_at(self.scores, right, 0.0))), self.tie
        )
