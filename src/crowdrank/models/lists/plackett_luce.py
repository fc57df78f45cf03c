"""Plackett-Luce: each place of a list goes to one of the remaining items (Plackett 1975; Luce 1959).

    P(list) = product over places of e^(a s_i) / sum of e^(a s_j) over the remaining items j

a = 1, or the slope of the list's worker. If a list is filled from the bottom, the same holds for the reversed
list and -s. The probability of a pair is F(a (s_i - s_j)) either way. Ties and unranked items leave orders open,
and the sum over these orders is exact; see kernels.plackett_luce. The scores maximize the penalized likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data import Floats, add_by_code, summed
from crowdrank.errors import InputError, UsageError, parameter
from crowdrank.kernels import LOGISTIC
from crowdrank.kernels.plackett_luce import Orders, derivatives
from crowdrank.kernels.segments import pairs
from crowdrank.models.agreement import TELLABLE, Agreement, quality_notes
from crowdrank.models.ascent import Ascent, fixed_parameters
from crowdrank.models.average_judge import rescale_to_average_judge
from crowdrank.models.base import ListsModel, Outcome, Run
from crowdrank.models.climb_notes import bound_notes, convergence_notes, prior_notes, require_finite_scores
from crowdrank.models.list_sums import ListSums
from crowdrank.models.parameters import estimable, virtual_votes
from crowdrank.models.predictors import ScorePredictor, values_at
from crowdrank.models.priors import STRENGTH, ColumnPrior, NormalPrior, Priors, VirtualNode
from crowdrank.models.widening import BY_LINK, reach_outward
from crowdrank.models.worker_parameters import LOG_SLOPE, SLOPE_LIMIT, WorkerParameter, limit_slope
from crowdrank.prepared.held_out import HeldOut
from crowdrank.prepared.list_shards import note_extremes, require_finite, reverse_lists, shards, tie_share
from crowdrank.prepared.lists import Lists
from crowdrank.results import LEVEL, Workers, Z, verdicts
from crowdrank.solve import NO_WORKERS, At, Bounds, Covariance, LikelihoodSums, Maximum, Point, Scaled, spread
from crowdrank.solve.intervals import SOLVED, largest_up_to_one

DIRECTIONS = ("top", "bottom", "auto")
SLOPES = ("none", "by-worker")
STEPS = 15
"""Minorize-maximize steps before the first Newton step."""
BINS = 4000


class PlackettLuce(ListsModel):
    """Plackett-Luce of ranked lists: full, partial and top-k, with ties.

        max_s  sum over lists ln P(list) + lambda sum_i [ln F(s_i) + ln F(-s_i)]

    F is the logistic function. Every item has ``regularization`` (lambda) virtual wins and losses against an
    item of score 0. If lambda is not given, it is estimated from the lists; 0 is plain maximum likelihood.
    ``direction``: lists are filled from the ``"top"``, or from the ``"bottom"``, with the worst item taken out
    first; ``"auto"`` takes the direction that makes the lists more likely. ``slope``: ``"none"``; or
    ``"by-worker"``: each worker's lists follow the scores times the worker's own slope, with a log-normal prior
    around 1. ``slope_sd``: the standard deviation of the log slopes, a number, ``"estimated"``, or None for no
    prior. ``slope_limit``: slopes stay between 1/slope_limit and slope_limit; a note counts the workers who reach
    either. Plackett 1975; Hunter 2004.

    >>> import crowdrank as cr
    >>> lists = {"list": [1, 1, 1, 2, 2, 2, 3, 3], "item": [*"abcbacab"], "rank": [1, 2, 3, 1, 2, 3, 1, 2]}
    >>> model = cr.PlackettLuce().fit(lists)
    >>> model.ranking_.frame()["item"].to_list()
    ['a', 'b', 'c']
    >>> other = {"list": [1, 1, 1, 2, 2, 2], "item": [*"abccba"], "rank": [1, 2, 3, 1, 2, 3]}
    >>> model.list_log_likelihood(other).round(2)
    array([-0.72, -3.65])
    """

    name = "plackett-luce"

    def __init__(
        self,
        *,
        regularization: float | str | None = "estimated",
        direction: str = "top",
        slope: str = "none",
        slope_sd: float | str | None = "estimated",
        slope_limit: float = SLOPE_LIMIT,
        seed: int = 0,
    ) -> None:
        self.regularization = regularization
        self.direction = direction
        self.slope = slope
        self.slope_sd = slope_sd
        self.slope_limit = slope_limit
        self.seed = seed

    @property
    def _sums_suffice(self) -> bool:
        """Reversed lists, and the search for items that are always above others, need all rows."""
        return self.direction == "top" and self.regularization != 0

    def _fit(self, lists: Lists, run: Run) -> Outcome:
        ascent, top, sign = self._climb_in_direction(lists, run)
        found, notes, details = ascent.uncertainty(top)
        fitted, (top, covariance, scale) = top, rescale_to_average_judge(ascent, top, found)
        require_finite_scores(ascent, top)
        scores = spread(
            sign * scale * fitted.point.scores,
            covariance,
            lists.nodes.query,
            lists.parts(),
            level=LEVEL,
            close=SOLVED * largest_up_to_one(lists.judgments_of_nodes),
        )
        scores = reach_outward(ascent, ascent.columns, fitted, scores, sign * BY_LINK[LOGISTIC.name])
        workers, said = _workers(lists, top, covariance, scores.score)
        slopes = np.exp(top.point.workers[:, 0])
        return Outcome(
            spread=scores,
            workers=workers,
            converged=top.converged,
            iterations=ascent.iterations,
            log_likelihood=top.log_likelihood,
            notes=(
                *lists.notes(),
                *note_extremes(lists, regularized=not ascent.gauge),
                *convergence_notes(top),
                *prior_notes(ascent),
                *bound_notes(ascent, fitted),
                *notes,
                *said,
            ),
            details={
                **details,
                "direction": "top" if sign > 0 else "bottom",
                "priors": ascent.priors.details(("slope",) if len(slopes) else ()),
            },
            predictor=ScorePredictor(LOGISTIC, scores.score, slopes, tie_share(lists)),
            list_predictor=LuceListPredictor(sign * scores.score, slopes, sign),
            posterior=ascent.posterior(top, covariance and Scaled(covariance, sign)),
        )

    def _climb_in_direction(self, lists: Lists, run: Run) -> tuple[Ascent, Maximum, float]:
        """The climb and its top in the requested direction, or in the one with the larger likelihood.

        Also returns the sign of the scores: -1 if lists are filled from the bottom and therefore reversed.
        """
        if self.direction not in DIRECTIONS:
            wanted = ", ".join(DIRECTIONS)
            raise UsageError(f"The parameter 'direction' must be one of {wanted}. Got {self.direction!r}.")
        found = []
        if self.direction != "bottom":
            found.append((*self._climb(lists, run), 1.0))
        if self.direction != "top":
            found.append((*self._climb(reverse_lists(lists)[0], run), -1.0))
        return max(found, key=lambda climbed: climbed[1].log_likelihood)

    def _climb(self, lists: Lists, run: Run) -> tuple[Ascent, Maximum]:
        """The climb and its top.

        Slopes start from the scores of equal workers, and lambda is kept from that fit, because lambda and the
        mean slope both set the scale of the scores.
        """
        if self.slope not in SLOPES:
            wanted = " or ".join(SLOPES)
            raise UsageError(f"The parameter 'slope' must be {wanted}. Got {self.slope!r}.")
        strength, prior = virtual_votes(self.regularization), self._prior()
        if strength == 0:
            require_finite(lists)
        plain = self._ascent(lists, run, strength, None)
        top = plain.fit()
        if self.slope == "none":
            return plain, top
        if not lists.n_workers:
            raise InputError(
                "slope=by-worker needs to know who ranked, but these lists do not say.",
                hint=("Use ", parameter("slope", "none")),
            )
        ascent = self._ascent(lists, run, plain.priors.node.strength, prior)
        ascent.iterations = plain.iterations
        return ascent, ascent.fit(Point(top.point.scores, ascent.start))

    def _ascent(
        self, lists: Lists, run: Run, strength: float | None, slope_prior: NormalPrior | None
    ) -> LuceAscent:
        if slope_prior is None:
            return LuceAscent(lists, run, ListSums(), strength)
        slope = limit_slope(LOG_SLOPE, self.slope_limit)
        return LuceAscent(lists, run, ListSums(by_worker=True), strength, slope, slope_prior)

    def _prior(self) -> NormalPrior:
        mean, width = LOG_SLOPE.perfect, LOG_SLOPE.width
        given = estimable("slope_sd", self.slope_sd, low=1e-6, none=np.inf)
        if given is not None:
            return NormalPrior(mean, given)
        assert width is not None
        return NormalPrior(mean, width, estimated=True, expected=width, slope=LOG_SLOPE)


@dataclass(frozen=True, eq=False)
class LuceListPredictor:
    """ln P of lists; ``sign`` is -1 if they are filled from the bottom; ``scores`` then have that sign too.

    Unseen items and workers count as average ones.
    """

    scores: Floats
    slopes: Floats
    sign: float

    def __call__(self, given: HeldOut) -> Floats:
        """ln P of each list."""
        lists, x = given.lists, values_at(self.scores, given.node, 0.0)
        if self.sign < 0:
            lists, rows = reverse_lists(lists)
            x = x[rows]
        if len(self.slopes) and given.worker is not None:
            x = x * values_at(self.slopes, given.worker, 1.0)[lists.list]
        return derivatives(x, Orders(lists.start, lists.level)).value


class LuceAscent(Ascent):
    """The climb of Plackett-Luce.

    ``strength``: lambda; None if it is estimated. ``column`` and ``prior``: the parameter of each worker, if any.

    Far from the maximum Newton's steps go too far, because some items come first again and again. So it begins
    with some steps of Hunter (2004): each multiplies a rate by the wins over the expected wins.
    """

    wins: Floats

    def __init__(
        self,
        lists: Lists,
        run: Run,
        sums: LikelihoodSums,
        strength: float | None,
        column: WorkerParameter | None = None,
        prior: ColumnPrior | None = None,
    ) -> None:
        start = NO_WORKERS if column is None else np.full((lists.n_workers, 1), column.perfect)
        low, high = (start, start) if column is None else (0 * start + column.low, 0 * start + column.high)
        super().__init__(
            run.engine.open(shards(lists)),
            sums,
            run,
            Priors(
                VirtualNode(LOGISTIC, STRENGTH if strength is None else strength),
                () if prior is None else (prior,),
                estimates_strength=strength is None,
            ),
            columns=() if column is None else (column,),
            bounds=Bounds(low, high, np.zeros(start.shape, bool), members=len(start)),
            start=start,
            part=lists.part,
            judged=lists.judgments_of_nodes > 0,
            total=float(lists.weight @ (lists.size - 1)),
            gauge=strength == 0,
            varied=column is not None,
        )
        self.wins = np.zeros(len(lists.nodes))
        for piece in lists.pieces():
            chosen = piece.weight[piece.list] * (piece.orders.level < piece.last)
            add_by_code(self.wins, piece.node, chosen)

    def first_point(self) -> Point:
        """Scores with every worker parameter at its start."""
        scores, workers = np.zeros(len(self.part)), self.start
        for _ in range(STEPS):
            gradient = self.session.evaluate(self.sums.gradient, At(scores, workers)).scores
            pulled = self.priors(Point(scores, workers)).scores
            won = self.wins + 0.5
            scores = scores + np.log(won / np.maximum(won - gradient - pulled, 0.1 * won))
        return Point(scores, workers, self._common())


def _workers(
    lists: Lists, top: Maximum, covariance: Covariance | None, scores: Floats
) -> tuple[Workers | None, list[Any]]:
    """Workers by their slopes; by agreement with the scores if they have none."""
    values = top.point.workers[:, 0]
    plain = lists.agreement(scores)
    if plain is None or not len(values):
        return plain, []
    curve = Agreement(LOGISTIC, *_differences(lists, scores))
    half = np.full(len(values), np.inf)
    if covariance is not None:
        variance = covariance.worker_variance() - fixed_parameters(top)
        half = Z * np.sqrt(np.maximum(variance[:, 0], 0.0))
    ends = values[:, None] + half[:, None] * np.array([0.0, -1.0, 1.0])
    quality, low, high = curve.quality((LOG_SLOPE,), ends[:, :, None]).T
    with np.errstate(over="ignore"):
        own, least, most = np.exp(ends).T
    workers = Workers(
        worker=plain.worker,
        judgments=plain.judgments,
        quality=quality,
        low=low,
        high=high,
        verdict=verdicts(low, high, tellable=curve.perfect > TELLABLE),
        further={"slope": own, "slope_low": least, "slope_high": most},
        backend=plain.backend,
    )
    return workers, quality_notes(lists, curve.perfect)


def _differences(lists: Lists, scores: Floats) -> tuple[Floats, Floats]:
    """How far apart the ordered items of lists are: middles of narrow bins, and the weight of pairs in each."""
    top = max(float(np.ptp(scores)), 1e-9)
    counts = np.zeros(BINS)
    for piece in lists.pieces():
        own, level = scores[piece.node], piece.orders.level
        for one, other in pairs(piece.orders.start):
            apart = level[one] < level[other]
            d = np.abs(own[one] - own[other])[apart]
            bins = np.minimum((d / top * BINS).astype(np.int64), BINS - 1)
            counts += summed(bins, piece.weight[piece.list[one[apart]]], BINS)
    return (np.arange(BINS) + 0.5) * top / BINS, counts
