"""The Thurstonian ranking model: a list is the order of perceived scores (Wang et al., section II).

    s_i^(k) ~ N(s_{l,i}, delta_l^2)          the list of worker k for query l: items in the order of s^(k)

Lists may be partial: for tied or unranked items, only the levels count. P(list) is an integral with one dimension
per item, and yet it is computed exactly: see kernels.ordered_normals.

Scale. Multiplying the scores and delta_l of a query by one factor changes no P, and nothing ties the scores of two
queries. Equations 16 and 17 fix one scale for all queries together, but each query needs its own. So reported
scores are in units of the noise, u = s / delta_l. Difficulty follows by convention: the scores s of every query
have variance 1, so delta_l^2 = 1 / Var(u), the noise relative to the spread of the items.

Inference. ``quadrature`` maximizes the likelihood with exact gradients. ``gibbs`` is EM as in the paper: perceived
scores are drawn between their neighbors (eq. 27), and scores are their means (eq. 18).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdrank.data import Floats, summed
from crowdrank.errors import InputError, Remedy, UsageError
from crowdrank.kernels import PROBIT
from crowdrank.kernels.ordered_normals import derivatives
from crowdrank.models.ascent import Ascent
from crowdrank.models.base import ListsModel, Outcome, Run
from crowdrank.models.climb_notes import convergence_notes, prior_notes, require_finite_scores
from crowdrank.models.list_sums import ListSums
from crowdrank.models.parameters import virtual_votes, whole
from crowdrank.models.predictors import ScorePredictor, values_at
from crowdrank.models.priors import STRENGTH, Priors, VirtualNode
from crowdrank.models.thurstonian.perceived import draw_scores
from crowdrank.prepared.held_out import HeldOut
from crowdrank.prepared.list_shards import note_extremes, require_finite, shards, tie_share
from crowdrank.prepared.lists import Lists
from crowdrank.results import LEVEL, Queries, Z
from crowdrank.solve import NO_WORKERS, Bounds, Point, spread
from crowdrank.solve.intervals import SOLVED, largest_up_to_one

INFERENCES = ("quadrature", "gibbs")
LEAST = 1e-6
"""The smallest variance of scores."""
MOST_WEIGHT = 1e5
"""The largest weight of a list."""
PSEUDO = 0.5
"""A query's variance of scores is shrunk toward the typical one, with the weight of this many items."""


class TRM(ListsModel):
    """The Thurstonian ranking model of ranked lists: full, partial and top-k, with ties.

        max_u  sum over lists ln P(list | u) + lambda sum_i [ln F(u_i) + ln F(-u_i)],     u = s / delta_l

    P(list) is the probability that normals N(u_i, 1) come in the order of the list, and F(d) = Phi(d / sqrt 2) is
    that of a pair. Every item has ``regularization`` (lambda) virtual wins and losses against an item of score 0;
    ``"estimated"`` learns lambda from the lists. ``inference``: ``"quadrature"`` is exact; ``"gibbs"`` is the
    paper's sampler, EM with ``rounds`` rounds. It averages the second half of them, and ``"estimated"`` then means
    lambda = 0.5.

    Difficulties are in ``queries_``: delta_l^2 if the scores of each query have variance 1.
    Thurstone 1927; Wang et al. 2016.

    >>> import crowdrank as cr
    >>> lists = {"list": [1, 1, 1, 2, 2, 2, 3, 3, 3], "item": [*"abcabcbac"], "rank": [1, 2, 3] * 3}
    >>> ranking = cr.TRM().fit(lists).ranking_
    >>> dict(zip(ranking.item, ranking.score.round(2).tolist()))
    {'a': 0.92, 'b': 0.48, 'c': -1.39}
    """

    name = "trm"

    def __init__(
        self,
        *,
        regularization: float | str | None = "estimated",
        inference: str = "quadrature",
        rounds: int = 200,
        seed: int = 0,
    ) -> None:
        self.regularization = regularization
        self.inference = inference
        self.rounds = rounds
        self.seed = seed

    def _fit(self, lists: Lists, run: Run) -> Outcome:
        _refuse_heavy(lists)
        if self.inference not in INFERENCES:
            wanted = " or ".join(INFERENCES)
            raise UsageError(f"The parameter 'inference' must be {wanted}. Got {self.inference!r}.")
        rounds = whole("rounds", self.rounds, low=2)
        climb = self._ascent(lists, run)
        drawn = self.inference == "gibbs"
        if drawn:
            found = draw_scores(lists, run, climb.priors.node, rounds)
            top = climb.maximize(Point(found, NO_WORKERS), steps=0)
        else:
            top = climb.fit()
        require_finite_scores(climb, top)
        covariance, notes, _ = climb.uncertainty(top)
        close = SOLVED * largest_up_to_one(lists.judgments_of_nodes)
        scores = spread(top.point.scores, covariance, lists.nodes.query, lists.parts(), level=LEVEL, close=close)
        return Outcome(
            spread=scores,
            workers=lists.agreement(scores.score),
            converged=drawn or top.converged,
            iterations=rounds if drawn else climb.iterations,
            log_likelihood=top.log_likelihood,
            notes=(
                *lists.notes(),
                *note_extremes(lists, regularized=not climb.gauge),
                *([] if drawn else convergence_notes(top)),
                *prior_notes(climb),
                *notes,
            ),
            details={
                "intervals": "none" if covariance is None else "information, correlations multiplied along a list",
                "priors": climb.priors.details(()),
                "scale": "scores are in units of the perceived noise; difficulty is for scores of variance 1",
            },
            predictor=ScorePredictor(PROBIT, scores.score, np.empty(0), tie_share(lists)),
            list_predictor=OrderedNormals(scores.score),
            posterior=climb.posterior(top, covariance),
            tables={"queries": _queries(lists, scores.score, scores.stderr)},
        )

    def _ascent(self, lists: Lists, run: Run) -> Ascent:
        strength = virtual_votes(self.regularization)
        if strength == 0:
            require_finite(lists)
        estimated = strength is None and self.inference == "quadrature"
        return Ascent(
            run.engine.open(shards(lists)),
            ListSums(derivatives=derivatives),
            run,
            Priors(VirtualNode(PROBIT, STRENGTH if strength is None else strength), estimates_strength=estimated),
            columns=(),
            bounds=Bounds.none(),
            start=NO_WORKERS,
            part=lists.part,
            judged=lists.judgments_of_nodes > 0,
            total=float(lists.weight @ (lists.size - 1)),
            gauge=strength == 0,
            varied=False,
        )


@dataclass(frozen=True, eq=False)
class OrderedNormals:
    """ln P of lists by the scores of their items. An unseen item has score 0."""

    scores: Floats

    def __call__(self, given: HeldOut) -> Floats:
        """ln P of each list, computed by shard so that memory stays bounded."""
        found = np.zeros(len(given.lists))
        for shard in given.lists.pieces():
            rows = given.lists.start[shard.first] + np.arange(len(shard.node))
            own = slice(shard.first, shard.first + len(shard.weight))
            found[own] = derivatives(values_at(self.scores, given.node[rows], 0.0), shard.orders).value
        return found


def _refuse_heavy(lists: Lists) -> None:
    """Raise an error if a list weighs so much that the scores run away before the integrals can follow them."""
    heaviest = float(lists.weight.max(initial=0.0))
    if heaviest > MOST_WEIGHT:
        raise InputError(
            f"trm takes lists of a weight up to {MOST_WEIGHT:g}: beside a heavier one its prior vanishes. "
            f"The largest weight is {heaviest:g}.",
            hint=("Divide all weights by one factor, or use ", Remedy("model", "plackett-luce")),
        )


def _queries(lists: Lists, scores: Floats, stderr: Floats) -> Queries:
    """delta_l^2 = 1 / Var(u) for each query. The variance is that of the posterior, E sum u^2 over the degrees of
    freedom, shrunk toward the geometric mean over all queries. Its interval uses the scores' standard errors."""
    query, names = lists.nodes.query, lists.index.queries
    count = 1 if names is None else len(names)
    known = np.isfinite(stderr)
    square, own = scores**2, np.where(known, stderr, 0.0) ** 2
    sums = summed(query, square + own, count)
    freedom = np.maximum(summed(query, known.astype(float), count) - 1.0, 0.0)
    each = np.log(np.maximum(sums, LEAST) / np.maximum(freedom, 1.0))
    usual = np.exp(each[freedom > 0].mean()) if (freedom > 0).any() else 1.0  # nothing is known of any query
    total = sums + PSEUDO * usual
    unsure = np.sqrt(summed(query, 4.0 * square * own + 2.0 * own**2, count)) / total
    difficulty = (freedom + PSEUDO) / total
    return Queries(
        query=pl.Series("query", [None], dtype=pl.String) if names is None else names.rename("query"),
        judgments=summed(lists.query, lists.weight, count),
        difficulty=difficulty,
        low=difficulty * np.exp(-Z * unsure),
        high=difficulty * np.exp(Z * unsure),
        domain=np.ones((count, 1)),
        backend=lists.backend,
    )
