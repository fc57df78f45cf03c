"""What the pairwise likelihood models share: their parameters, and how a fit becomes results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from crowdrank.data.arrays import Floats
from crowdrank.errors import FitError, Note, parameter
from crowdrank.kernels import Link
from crowdrank.kernels.links import TINY
from crowdrank.models.average_judge import rescale_to_average_judge
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.climb_notes import (
    bound_notes,
    convergence_notes,
    count_at_bounds,
    prior_notes,
    require_finite_scores,
)
from crowdrank.models.pairs.bootstrap import bootstrap_scores, check_intervals
from crowdrank.models.pairs.climb import PairedClimb
from crowdrank.models.pairs.design import Design, side_notes
from crowdrank.models.pairs.gold_strength import GOLD, fit_by_gold
from crowdrank.models.pairs.predict import Judged
from crowdrank.models.pairs.quality import FittedWorkers, position_bias
from crowdrank.models.parameters import AUTO, virtual_votes
from crowdrank.models.priors import ColumnPrior, NormalPrior
from crowdrank.models.widening import BY_LINK, reach_outward, widen
from crowdrank.models.worker_parameters import WorkerParameter
from crowdrank.prepared.graph import Graph
from crowdrank.prepared.votes import Votes
from crowdrank.results import Workers
from crowdrank.solve import Covariance, Maximum, Spread


class PairedModel(VotesModel):
    """Scores by penalized maximum likelihood.

    A subclass names the link and the columns of worker parameters, if any.

    ``regularization``: lambda, the virtual wins and losses of every item. A number, ``"estimated"``, ``"gold"``
    (the one of several that orders most gold pairs correctly) or None for none; the default is ``"estimated"``.
    ``ties``: ``"rao-kupper"`` or ``"davidson"``, either also with ``-by-worker``, or ``"half"`` (half a win for
    each item). The default ``"auto"`` is Rao-Kupper if there are ties, with a threshold for each worker if the
    model has worker parameters.
    ``position``: a bias towards the left item, ``"none"``, ``"shared"`` or ``"by-worker"``. The default ``"auto"``
    is ``usual_position`` of the model.
    ``anchor_weight``: how many votes each gold pair counts as.
    ``intervals``: ``"information"``, or from refits ``"bootstrap"`` (votes are resampled) or
    ``"bootstrap-workers"`` (workers are resampled with all their votes).
    ``resamples``: how many refits a bootstrap takes.
    """

    link: ClassVar[Link]
    usual_position: ClassVar[str] = "none"
    anchors: ClassVar[frozenset[str]] = frozenset({"pairs"})

    def __init__(
        self,
        *,
        regularization: float | str | None = "estimated",
        ties: str = "auto",
        position: str = "auto",
        anchor_weight: float = 1.0,
        intervals: str = "information",
        resamples: int = 1000,
        seed: int = 0,
    ) -> None:
        self.regularization = regularization
        self.ties = ties
        self.position = position
        self.anchor_weight = anchor_weight
        self.intervals = intervals
        self.resamples = resamples
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        return fit_by_gold(self, votes, run) if self.regularization == GOLD else self._fit_votes(votes, run)

    def _fit_votes(self, votes: Votes, run: Run) -> Outcome:
        strength = self._strength(votes)
        climb = PairedClimb(self.link, self._design(votes), votes, run, strength=strength, columns=self._priors())
        top = climb.fit()
        found, notes, details = climb.uncertainty(top)
        fitted, (top, rescaled, scale) = top, rescale_to_average_judge(climb, top, found)
        covariance = widen(climb, climb.design.varying, rescaled, top.point.scores, votes.gold_total)
        scores, more, details = self._score_intervals(climb, fitted, covariance, details, scale)
        fitted_workers = FittedWorkers(climb, top, covariance, scores.score)
        details, notes = {**details, **fitted_workers.details()}, [*notes, *more, *fitted_workers.notes()]
        outcome = self._outcome(
            climb, top, scores, fitted_workers.workers(), covariance, notes, details, fitted.point.scores
        )
        return replace(outcome, predictor=_predictor(climb, top, scores.score, fitted_workers.roots()))

    def _score_intervals(
        self,
        climb: PairedClimb,
        top: Maximum,
        covariance: Covariance | None,
        details: dict[str, Any],
        scale: float = 1.0,
    ) -> tuple[Spread, list[Note], dict[str, Any]]:
        """Scores, times ``scale``, with their uncertainty, by the information or by resamples."""
        if self.intervals == "information":
            scores = climb.votes.spread_scores(scale * top.point.scores, covariance)
            return reach_outward(climb, climb.design.varying, top, scores, BY_LINK[self.link.name]), [], details
        scores, notes, done = bootstrap_scores(climb, top, self.intervals, self.resamples)
        return scores.times(scale), notes, {**details, "intervals": done}

    @property
    def columns(self) -> tuple[WorkerParameter, ...]:
        """The columns of worker parameters of the model itself."""
        return ()

    def _priors(self) -> dict[WorkerParameter, ColumnPrior]:
        """The priors on columns that are given rather than estimated."""
        return {}

    def _design(self, votes: Votes) -> Design:
        position = self.usual_position if self.position == AUTO else self.position
        design = Design.of(self.columns, self.ties, position, votes, self.link)
        check_intervals(self.intervals, self.resamples, votes, design)
        return design

    def _strength(self, votes: Votes) -> float | None:
        """lambda as given; None if it is estimated."""
        strength = virtual_votes(self.regularization)
        if strength == 0:
            require_finite(votes, votes.graph)
        return strength

    def _outcome(
        self,
        climb: PairedClimb,
        top: Maximum,
        scores: Spread,
        workers: Workers | None,
        covariance: Covariance | None,
        notes: Sequence[Note],
        details: dict[str, Any],
        fitted: Floats | None = None,
    ) -> Outcome:
        """``fitted``: the scores before they are rescaled, if they are."""
        votes = climb.votes
        at = top.point.scores if fitted is None else fitted
        require_finite_scores(climb, top)
        bias, said = position_bias(climb, top, covariance)
        return Outcome(
            spread=scores,
            workers=workers,
            converged=top.converged and not climb.priors_unfinished,
            iterations=climb.iterations,
            log_likelihood=top.log_likelihood - gold_log_likelihood(votes, self.link, at),
            notes=(
                *votes.notes(regularized=not climb.gauge),
                *side_notes(self.position, votes),
                *convergence_notes(top),
                *prior_notes(climb),
                *bound_notes(climb, top),
                *said,
                *notes,
            ),
            details={
                **details,
                "ties": climb.design.ties,
                **bias,
                "at_bounds": count_at_bounds(climb, top),
                "priors": climb.priors.details(climb.design.columns),
            },
            predictor=_predictor(climb, top, scores.score, None),
            posterior=climb.posterior(top, covariance),
        )


def _predictor(climb: PairedClimb, top: Maximum, scores: Floats, roots: Floats | None) -> Judged:
    width = len(climb.design.columns)
    values = climb.bounds.values(top.point)[: climb.members].reshape(-1, width) if width else np.zeros((0, 0))
    typical = np.zeros(width)
    for place, name in enumerate(climb.design.columns):
        if name in climb.design.common:
            typical[place] = top.point.common[climb.design.common.index(name)]
        else:
            typical[place] = values[:, place].mean() if len(values) else 0.0
    if climb.design.by != "worker" or roots is None:
        return Judged(climb.link, climb.design, scores, values, typical, climb.votes.tie_share)
    spread = np.diag([_width(climb, place) for place in range(width)])
    return Judged(climb.link, climb.design, scores, values, typical, climb.votes.tie_share, roots, spread)


def _width(climb: PairedClimb, place: int) -> float:
    """How much a column varies between workers, by its prior."""
    column, prior = climb.design.columns[place], climb.priors.columns[place]
    if column not in climb.design.varying or not isinstance(prior, NormalPrior) or not np.isfinite(prior.sd):
        return 0.0
    return prior.sd


def gold_log_likelihood(votes: Votes, link: Link, scores: Floats) -> float:
    """What the gold pairs add to the log likelihood. It is subtracted because gold pairs are not judgments."""
    if not votes.has_gold:
        return 0.0
    win = link.values(scores[votes.gold[:, 0]] - scores[votes.gold[:, 1]]).win
    return votes.gold_weight * float(np.log(np.maximum(win, TINY)).sum())


def require_finite(votes: Votes, graph: Graph) -> None:
    """Raise an error unless each part is strongly connected; otherwise the maximum is infinite (Ford 1957)."""
    in_strong, in_part = np.bincount(graph.strong)[graph.strong], np.bincount(graph.part)[graph.part]
    apart = np.flatnonzero(in_strong < in_part)
    if not len(apart):
        return
    raise FitError(
        "Without regularization the scores have no finite maximum: some items only won or only lost against "
        f"the rest of their group: {votes.item_names(apart)}.",
        hint=("Use regularization > 0, for example ", parameter("regularization", 0.5)),
    )
