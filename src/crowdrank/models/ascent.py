"""A climb to the maximum of a penalized likelihood: the start, the strength of the priors, the uncertainty."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.engine import Session
from crowdrank.errors import Note
from crowdrank.models.base import Run
from crowdrank.models.priors import BetaPrior, ColumnPrior, Priors
from crowdrank.models.remembered import RememberedCurvature
from crowdrank.models.worker_parameters import WorkerParameter
from crowdrank.results import NormalPosterior
from crowdrank.solve import (
    ArrowProblem,
    At,
    Bounds,
    Covariance,
    Draw,
    LikelihoodSums,
    Maximum,
    Mixing,
    NotPositiveError,
    Point,
    Tempered,
    freeze_workers,
    information,
    maximize,
)
from crowdrank.solve.draws import draw

if TYPE_CHECKING:
    from crowdrank.data.arrays import Ints

ROUNDS = 60
STRENGTH_TOLERANCE = 3e-3
"""The strengths of the priors have converged when none changes by more than this share."""
MIXED_TOLERANCE = 1e-3
"""The same for strengths that are mixed, which come close to their fixed point in few rounds."""
FIRST_STEPS = 4
"""How many steps are taken before the priors are estimated for the first time."""
ROUGH_TOLERANCE = 0.1
"""As long as the strengths change by more than this share, the curvature may be rough, and so may spreads."""
SHORT = 0.5
"""A step that moves no parameter by more than this is taken without a test while the priors are estimated."""
AHEAD_TOLERANCE = 1e-4
"""How exactly such a step of a large fit is solved for. The next one follows under other priors in any case."""
FAR = 20.0
"""Without regularization, a score this far from the middle is on its way to infinity."""
INSIDE = 1e-8
"""How far inside its bounds a quality starts if a prior puts them out of reach."""
COSTLY_SCORES = 600
"""In larger connected parts, exact variances are computed only at the top."""
MOST_SCORES = 4000
"""In still larger ones, the priors' strengths are estimated from conditional variances."""


class Ascent:
    """Scores, worker parameters and priors of one model on one set of judgments.

    ``session`` and ``sums``: the judgments, and what is summed over them. ``columns``: the worker parameters;
    they stay within ``bounds`` and begin at ``start``. ``part``: the connected part of each score. ``judged``:
    which scores have judgments. ``total``: the weight of the judgments. ``varied``: whether parameters differ
    between workers; if so, the climb begins with the scores alone.
    """

    session: Session
    sums: LikelihoodSums
    run: Run
    curvature: RememberedCurvature
    columns: tuple[WorkerParameter, ...]
    bounds: Bounds
    start: Floats
    part: Ints
    judged: NDArray[np.bool_]
    total: float
    gauge: bool
    varied: bool
    iterations: int
    priors_unfinished: bool
    priors: Priors

    def __init__(
        self,
        session: Session,
        sums: LikelihoodSums,
        run: Run,
        priors: Priors,
        *,
        columns: tuple[WorkerParameter, ...],
        bounds: Bounds,
        start: Floats,
        part: NDArray[np.int32],
        judged: NDArray[np.bool_],
        total: float,
        gauge: bool,
        varied: bool,
    ) -> None:
        self.session, self.sums, self.run, self.priors = session, sums, run, priors
        self.curvature = RememberedCurvature(session, sums)
        self.columns, self.bounds, self.start = columns, bounds, start
        self.part, self.judged, self.total = part, judged, total
        self.gauge, self.varied = gauge, varied
        self.iterations = 0
        self.priors_unfinished = False
        self.tempered = Tempered()
        self.beyond: tuple[Floats | float, Floats | float] = (1.0, 1.0)
        """How many times the conditional variances of scores and workers the marginal ones were."""

    @property
    def members(self) -> int:
        """How many workers have parameters of their own."""
        return self.bounds.members

    def fit(self, start: Point | None = None) -> Maximum:
        """The maximum; strengths of priors that the user does not give are estimated from the data."""
        start = start or self.first_point()
        self.curvature.set_rough(self.priors.estimates and self.curvature.can_be_rough)
        return self.fit_priors(start)

    def first_point(self) -> Point:
        """Scores with every worker parameter at its start."""
        point = Point(np.zeros(len(self.part)), self.start, self._common())
        if not self.varied:
            return point
        top = self.maximize(point, freeze_workers(self.bounds), steps=8)
        return top.point

    def _common(self) -> Floats:
        return np.array([prior.mean for prior in self.priors.common])

    def maximize(self, start: Point, bounds: Bounds | None = None, **how: Any) -> Maximum:
        """Climb from a point under the current priors. ``how``: see ``newton``."""
        problem = ArrowProblem(
            self.curvature, self.priors, self.bounds_with_barriers(bounds), self.part, self.gauge
        )
        top = maximize(problem, start, total_weight=self.total, progress=self.run.progress, **how)
        self.iterations += top.iterations
        return top

    def bounds_with_barriers(self, bounds: Bounds | None = None) -> Bounds:
        """The bounds; a bound on quality at which its prior vanishes is out of reach."""
        bounds = bounds or self.bounds
        for prior in self.priors.columns:
            if isinstance(prior, BetaPrior):
                up, down = prior.exponents
                return replace(bounds, barriers=(up > 0, down > 0))
        return bounds

    # ------------------------------------------------------------------------------------ priors

    def fit_priors(self, point: Point) -> Maximum:
        """Climb and estimate the priors in turn until the priors converge, then climb to the top.

        With a Beta prior, the first steps are taken under the priors at their start, because strengths that are
        estimated far from the maximum hold the climb back. If exact variances are costly, the rounds scale
        conditional ones, and exact ones at the top confirm the strengths or lead on.
        """
        if not self.priors.estimates:
            return self.maximize(point)
        damping, left, self.priors_unfinished = 0.0, ROUNDS, True
        if self._mixes_strengths:
            first = self.maximize(point, steps=FIRST_STEPS)
            point, damping = first.point, first.damping
        while True:
            point, left = self._estimate_in_rounds(point, left, damping)
            self.curvature.set_rough(False)
            top = self.maximize(point)
            if self.priors_unfinished or not self._is_costly(top) or self._confirm_priors(top):
                return self._with_own_likelihood(top)
            point, damping = top.point, 0.0

    def _estimate_in_rounds(self, point: Point, left: int, damping: float) -> tuple[Point, int]:
        """One step and one estimate in turn, at most ``left`` times. Also returns how many rounds are left.

        With a Beta prior, the strengths are mixed with those of earlier rounds, because EM alone is slow, and
        most steps take no test.
        """
        mixing, promised, self.priors_unfinished = Mixing(reach=1.0), np.inf, True
        while left and self.priors_unfinished:
            steps = 0 if np.isfinite(promised) else 1
            top, left = self.maximize(point, steps=steps, damping=damping), left - 1
            priors = self.estimate_priors(top, exact=not self._is_costly(top))
            point, damping = self._move_inside(top.point), top.damping
            if priors is None:  # not yet near a maximum
                promised = np.inf
                continue
            before, found = self.priors.strengths(), priors.strengths()
            far = self.curvature.rough or damping > 0
            mixed = self._mixes_strengths and not far
            following = mixing(before, found) if mixed else found
            self.priors = priors.with_strengths(following)
            self._integrate(top)
            point, promised = self._step_ahead(point, promised) if mixed else (point, np.inf)
            change = np.abs(following - before).max(initial=0.0)
            unknown = self._mixes_strengths and not mixing.sees_rate
            tolerance = MIXED_TOLERANCE if mixed else STRENGTH_TOLERANCE
            self.priors_unfinished = bool(far or unknown or change >= tolerance)
            self.curvature.set_rough(self.curvature.rough and change > ROUGH_TOLERANCE)
        return point, left

    def _step_ahead(self, point: Point, promised: float) -> tuple[Point, float]:
        """The step that the last sums suggest under the new priors, and the gain that it promises.

        It takes no pass over the judgments, and is not tested. So it is taken only if it is short and promises
        less than the one before. If not, the gain is infinite, and the next step is a tested one.
        """
        assert self.curvature.last is not None
        sums = self.curvature.last[1]
        problem = ArrowProblem(lambda _: sums, self.priors, self.bounds_with_barriers(), self.part, self.gauge)
        try:
            step = problem.look(point).step(0.0, AHEAD_TOLERANCE)
        except NotPositiveError:
            return point, np.inf
        if step.gain >= promised or step.size > SHORT:
            return point, np.inf
        if self.curvature.spread is not None:
            self.curvature.spread = np.minimum(self.curvature.spread, self._room(step.point))
        return step.point, step.gain

    @property
    def _mixes_strengths(self) -> bool:
        """Whether a Beta prior is estimated. The widths of normal priors would go back and forth by mixing."""
        return any(isinstance(prior, BetaPrior) and prior.estimated for prior in self.priors.columns)

    def refit_from(self, point: Point, top: Maximum) -> Maximum:
        """Climb again from the mirror of ``top``, where variances are the same, under priors that fit there."""
        if self.priors.estimates:
            self.priors = self.estimate_priors(replace(top, point=point)) or self.priors
        return self.fit_priors(point)

    def _confirm_priors(self, top: Maximum) -> bool:
        """Whether exact variances at the top lead to the same strengths. If not, they are the new ones."""
        priors, before = self.estimate_priors(top, exact=True), self.priors.strengths()
        if priors is None or np.abs(priors.strengths() - before).max(initial=0.0) < STRENGTH_TOLERANCE:
            return True
        self.priors = priors
        return False

    def _with_own_likelihood(self, top: Maximum) -> Maximum:
        """The same with the log likelihood at the point itself, not averaged around it."""
        if self.curvature.spread is None:
            return top
        at = At(top.point.scores, self.bounds.values(top.point))
        return replace(top, log_likelihood=self.session.evaluate(self.sums.gradient, at).value)

    def _integrate(self, top: Maximum) -> None:
        """Average the likelihood over the posteriors of worker parameters from here on.

        Scores and worker parameters that are fitted together overfit: a worker with few votes is taken to be as
        sharp or as blunt as these votes look. So the likelihood is averaged over a normal posterior of each
        parameter, whose variance is the inverse of its curvature (a Gaussian variational approximation, Opper &
        Archambeau 2009). Near a bound the spread is at most half of the way to it. The spreads of workers whom two
        sets of parameters describe nearly as well would go back and forth, so they are tempered
        unless the strengths are mixed.
        """
        chosen = [
            column.integrated and prior.estimated
            for column, prior in zip(self.columns, self.priors.columns, strict=True)
        ]
        if not any(chosen):
            return
        free = ~fixed_parameters(top) & np.array(chosen)
        variance = top.curvature.hold(~free).conditional_variance()[1]
        spread = np.where(free, np.minimum(np.sqrt(np.maximum(variance, 0.0)), self._room(top.point)), 0.0)
        known = self.curvature.spread
        if known is not None and not self.curvature.rough and not self._mixes_strengths:
            spread = self.tempered(known, spread)
        if known is None or not self.curvature.rough or (np.abs(spread - known) > ROUGH_TOLERANCE * known).any():
            self.curvature.spread = spread

    def _room(self, point: Point) -> Floats:
        """Half of the way from each worker parameter to its nearest bound."""
        return np.asarray(0.5 * np.minimum(point.workers - self.bounds.low, self.bounds.high - point.workers))

    def _move_inside(self, point: Point) -> Point:
        """The point, moved off the bounds that a new prior has put out of reach."""
        workers = point.workers.copy()
        for place, prior in enumerate(self.priors.columns):
            if isinstance(prior, BetaPrior) and prior.estimated:
                inside = np.clip(workers[:, place], INSIDE, 1 - INSIDE)
                workers[:, place] = np.where(self.bounds.fixed[:, place], workers[:, place], inside)
        return replace(point, workers=workers)

    def estimate_priors(self, top: Maximum, exact: bool = True) -> Priors | None:
        """The M step; None if the curvature is not that of a maximum. ``exact``: use exact variances."""
        try:
            scores, deviations = self._variances(top, exact)
        except NotPositiveError:
            return None
        node = self.priors.node
        if self.priors.estimates_strength:
            node = node.estimate(top.point.scores[self.judged], scores[self.judged])
        columns: list[ColumnPrior] = []
        for place, prior in enumerate(self.priors.columns):
            free = np.flatnonzero(~self.bounds.fixed[: self.members, place])
            if prior.estimated and len(free):
                prior = prior.estimate(top.point.workers[free, place], deviations[free, place])
            columns.append(prior)
        return replace(self.priors, node=node, columns=tuple(columns))

    def _variances(self, top: Maximum, exact: bool) -> tuple[Floats, Floats]:
        """Variances of scores and of worker deviations: marginal if that is affordable, otherwise conditional.

        Conditional ones are scaled by what the last marginal ones were beyond the conditional ones then.
        """
        held = fixed_parameters(top)
        arrow = top.curvature.hold(held)
        scores, workers = arrow.conditional_variance()
        if not exact or arrow.method == "iterative" or arrow.largest_part > MOST_SCORES:
            beyond_scores, beyond_workers = self.beyond
            return scores * beyond_scores, workers * beyond_workers - held
        covariance = arrow.covariance()
        marginal = covariance.score_variance(), covariance.deviation_variance()
        self.beyond = marginal[0] / scores, marginal[1] / workers
        return marginal[0], marginal[1] - held

    @staticmethod
    def _is_costly(top: Maximum) -> bool:
        """Whether exact variances take longer than a pass over the judgments."""
        return top.curvature.method != "iterative" and COSTLY_SCORES < top.curvature.largest_part <= MOST_SCORES

    # ------------------------------------------------------------------------------- uncertainty

    def uncertainty(
        self, top: Maximum, worker_variance: Floats | None = None
    ) -> tuple[Covariance | None, list[Note], dict[str, Any]]:
        """The inverse information at the maximum, exact or by draws; None if there is no maximum.

        A worker parameter at its bound is not a known constant. If ``worker_variance`` (K, b) is given, this
        posterior variance replaces the curvature that the parameter lacks there.
        """
        if top.curvature.method == "iterative":
            return self._draw(top, worker_variance)
        exact = {"intervals": "exact information"}
        if worker_variance is not None:
            soft = top.held & (worker_variance > 0)
            with suppress(NotPositiveError):
                softened = top.curvature.hold(fixed_parameters(top) & ~soft).with_variance(soft, worker_variance)
                return softened.covariance(), [], exact
        try:
            return top.curvature.hold(fixed_parameters(top)).covariance(), [], exact
        except NotPositiveError:
            return _NO_MAXIMUM

    def _draw(
        self, top: Maximum, worker_variance: Floats | None
    ) -> tuple[Covariance | None, list[Note], dict[str, Any]]:
        """Draws with the expected information: each row adds a square of gradients, so noise can be drawn."""
        point, terms, seed = top.point, self.priors(top.point), self.run.seed
        at = Draw(point.scores, self.bounds.values(point), seed)
        sums = self.session.evaluate(self.sums.information, at)
        held = fixed_parameters(top)
        if worker_variance is not None:
            soft = top.held & (worker_variance > 0)
            own = np.einsum("kbb->kb", sums.workers_curvature)
            lacking = np.maximum(1.0 / np.where(soft, worker_variance, 1.0) - own, 0.0)
            terms = replace(terms, workers_curvature=np.where(soft, lacking, terms.workers_curvature))
            held = held & ~soft
        matrix = information(sums, terms, self.bounds, top.curvature.part, top.curvature.gauge)
        prior = np.concatenate([terms.scores_curvature, terms.workers_curvature.ravel()])
        try:
            draws = draw(matrix, sums.noise, prior, seed, held)
        except NotPositiveError:
            return _NO_MAXIMUM
        details = {"intervals": "posterior draws by conjugate gradients"}
        return draws, [] if draws.solved else [_ROUGH], details

    def posterior(self, top: Maximum, covariance: Covariance | None) -> NormalPosterior | None:
        """The posterior around the maximum."""
        if covariance is None:
            return None
        kind = "normal, posterior draws" if top.curvature.method == "iterative" else "normal, exact information"
        if not self.varied:  # what all workers share is no parameter of a worker
            return NormalPosterior(covariance, kind)
        columns = tuple(column.name for column in self.columns)
        return NormalPosterior(covariance, kind, columns, self.bounds.values(top.point)[: self.members])


_ROUGH = Note("rough-intervals", "The posterior draws were cut short; intervals may be too narrow.")
_NO_MAXIMUM = (
    None,
    [Note("no-intervals", "The fit did not end at a proper maximum, so there are no intervals.")],
    {"intervals": "none"},
)


def fixed_parameters(top: Maximum) -> NDArray[np.bool_]:
    """Worker parameters that carry no information: at a bound, or with no curvature at all."""
    return top.held | (np.einsum("kbb->kb", top.curvature.workers) <= 0)
