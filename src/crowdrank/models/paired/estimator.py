"""What the pairwise likelihood models share: the penalty, the climb, the uncertainty."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Graph, plan
from crowdrank.data.arrays import Floats
from crowdrank.engine import Session
from crowdrank.errors import FitError, Note
from crowdrank.kernels import Link
from crowdrank.models.base import Model, Outcome, Run, number
from crowdrank.models.paired.likelihood import TINY, PairedSums
from crowdrank.models.predictors import LinkedScores
from crowdrank.models.votes import Votes
from crowdrank.results import LEVEL
from crowdrank.solve import (
    NO_WORKERS,
    Bounds,
    Covariance,
    Maximum,
    NotPositiveError,
    Point,
    Spread,
    Terms,
    information,
    maximise,
    spread,
)
from crowdrank.solve.draws import draw


@dataclass(frozen=True)
class VirtualNode:
    """lambda sum_i [ln F(s_i) + ln F(-s_i)]: a virtual item of score 0 that each item beat and lost to
    lambda times (Crowd-BT section 3.2, eq. 8)."""

    link: Link
    strength: float

    def __call__(self, point: Point) -> Terms:
        """The penalty at a point."""
        win, lose, density, bend = self.link.values(point.scores)
        up, down = density / np.maximum(win, TINY), density / np.maximum(lose, TINY)
        logs = np.log(np.maximum(win, TINY)) + np.log(np.maximum(lose, TINY))
        nothing = np.zeros_like(point.workers)
        return Terms(
            value=self.strength * float(logs.sum()),
            scores=self.strength * (up - down),
            scores_curvature=self.strength * (up * (up - bend) + down * (down + bend)),
            workers=nothing,
            workers_curvature=nothing,
        )


class PairedModel(Model):
    """Scores by penalised maximum likelihood, workers not told apart."""

    link: ClassVar[Link]
    anchors = frozenset({"pairs"})

    def __init__(self, *, regularization: float = 0.5, anchor_weight: float = 1.0, seed: int = 0) -> None:
        self.regularization = regularization
        self.anchor_weight = anchor_weight
        self.seed = seed

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        strength = number("regularization", self.regularization, low=0)
        if strength == 0:
            require_finite(votes, votes.graph)
        rows = votes.comparisons
        session = run.engine.open(PairedSums(self.link), plan(rows))
        top = maximise(
            session,
            Point(np.zeros(rows.nodes), NO_WORKERS),
            VirtualNode(self.link, strength),
            Bounds.none(),
            part=votes.graph.part,
            total_weight=float(rows.wins.sum() + rows.losses.sum()),
            gauge=strength == 0,
            progress=run.progress,
        )
        covariance, notes, details = uncertainty(session, top, VirtualNode(self.link, strength), run.seed)
        result = placed(votes, top.point.scores, covariance)
        return Outcome(
            spread=result,
            workers=votes.agreement(result.score),
            converged=top.converged,
            iterations=top.iterations,
            log_likelihood=top.log_likelihood - gold_log_likelihood(votes, self.link, top.point.scores),
            notes=(*votes.notes(regularised=strength > 0), *convergence(top), *notes),
            details=details,
            predictor=LinkedScores(self.link, result.score, votes.tie_share),
        )


def gold_log_likelihood(votes: Votes, link: Link, scores: Floats) -> float:
    """What the gold pairs add to the log likelihood: they are no judgments."""
    if not len(votes.gold) or not votes.gold_weight:
        return 0.0
    win = link.values(scores[votes.gold[:, 0]] - scores[votes.gold[:, 1]]).win
    return votes.gold_weight * float(np.log(np.maximum(win, TINY)).sum())


def require_finite(votes: Votes, graph: Graph) -> None:
    """Without regularisation the maximum is finite only within strongly connected parts (Ford 1957)."""
    in_strong, in_part = np.bincount(graph.strong)[graph.strong], np.bincount(graph.part)[graph.part]
    apart = np.flatnonzero(in_strong < in_part)
    if not len(apart):
        return
    raise FitError(
        "Without regularisation the scores have no finite maximum: some items only won or only lost against "
        f"the rest of their group: {votes.item_names(apart)}.",
        hint="Use regularization > 0, for example --set regularization=0.5",
    )


def convergence(top: Maximum) -> list[Note]:
    """A note where the climb stopped short of a maximum."""
    if top.converged:
        return []
    return [
        Note(
            "not-converged",
            f"The fit did not converge in {top.iterations} iterations; the steepest slope left is "
            f"{top.slope:.2g}. Scores and intervals are provisional.",
        )
    ]


def uncertainty(
    session: Session, top: Maximum, penalty: Any, seed: int, worker_variance: Floats | None = None
) -> tuple[Covariance | None, list[Note], dict[str, Any]]:
    """The inverse information at the maximum, exact or by draws; None where there is no maximum.

    A worker parameter at its bound is no known constant: where ``worker_variance`` (K, b) is given,
    its posterior variance stands in for the curvature that it does not have there.
    """
    if top.curvature.method == "iterative":
        return _drawn(session, top, penalty, seed, worker_variance)
    exact = {"intervals": "exact information"}
    if worker_variance is not None:
        soft = _soft(top, worker_variance)
        with suppress(NotPositiveError):
            softened = top.curvature.fixed(_unmoved(top) & ~soft).with_variance(soft, worker_variance)
            return softened.covariance(), [], exact
    try:
        return top.curvature.fixed(_unmoved(top)).covariance(), [], exact
    except NotPositiveError:
        return _NO_MAXIMUM


_ROUGH = Note("rough-intervals", "The posterior draws were cut short; intervals may be too narrow.")
_NO_MAXIMUM = (
    None,
    [Note("no-intervals", "The fit did not end at a proper maximum, so there are no intervals.")],
    {"intervals": "none"},
)


def _drawn(
    session: Session, top: Maximum, penalty: Any, seed: int, worker_variance: Floats | None
) -> tuple[Covariance | None, list[Note], dict[str, Any]]:
    """Draws with the expected information, whose rows are squares of gradients and so can be drawn."""
    point, terms = top.point, penalty(top.point)
    params = {"scores": point.scores, "workers": point.workers, "order": "expected", "seed": seed}
    shared = session.evaluate(params).shared
    held = _unmoved(top)
    if worker_variance is not None:
        soft = _soft(top, worker_variance)
        own = np.einsum("kbb->kb", shared["workers_curvature"])
        lacking = np.maximum(1.0 / np.where(soft, worker_variance, 1.0) - own, 0.0)
        terms = replace(terms, workers_curvature=np.where(soft, lacking, terms.workers_curvature))
        held = held & ~soft
    matrix = information(shared, terms, top.curvature.part, top.curvature.gauge)
    prior = np.concatenate([terms.scores_curvature, terms.workers_curvature.ravel()])
    try:
        draws = draw(matrix, shared["noise"], prior, seed, held)
    except NotPositiveError:
        return _NO_MAXIMUM
    details = {"intervals": "posterior draws by conjugate gradients"}
    return draws, [] if draws.solved else [_ROUGH], details


def _soft(top: Maximum, worker_variance: Floats) -> NDArray[np.bool_]:
    """Parameters at a bound that are uncertain all the same."""
    return top.held & (worker_variance > 0)


def _unmoved(top: Maximum) -> NDArray[np.bool_]:
    """Worker parameters that carry no information: at a bound, or with no curvature at all."""
    return top.held | (np.einsum("kbb->kb", top.curvature.workers) <= 0)


def placed(votes: Votes, scores: Floats, covariance: Covariance | None) -> Spread:
    """Scores with their uncertainty and places; without a covariance, scores and ranks alone."""
    parts = votes.graph.members()
    return spread(scores, covariance, votes.nodes.query, parts, level=LEVEL, tie_break=votes.graph.wins)
