"""Bootstrap intervals: the model is fitted again to resampled votes.

A resample (vote_sampler.py) changes only the counts of the votes and of the prior's virtual votes. The strengths
of the priors, the parts and the start stay the same. Each is fitted by Newton's method from the fitted point

    s*_b = argmax_s  sum_ro c*_bro ln P_o(s) + sum_i [a*_bi ln F(s_i) + b*_bi ln F(-s_i)],   b = 1, ..., B

together with the worker parameters. The scores s*_b, centered in each connected part, show how certain the ranking
is (solve.spread_resamples): the standard deviation, the quantiles of scores and of ranks, and how often one
item is ahead of another.

A resample is left out if it has no finite maximum (without regularization, if an item won or lost every vote
drawn) or if its climb does not converge. A note says how many were left out.

The information shows how the scores would vary if the model were true; the resamples vary as the votes do. If
votes of one worker resemble each other, draw the workers (``bootstrap-workers``). If there are few workers, adding
or removing one matters more than any number of votes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from crowdrank.data import Floats, SpooledPairs
from crowdrank.engine import LocalEngine, thread_pool
from crowdrank.errors import InputError, Note, Remedy, UsageError, count_noun, parameter
from crowdrank.models.ascent import FAR
from crowdrank.models.pairs.batch_refit import MAX_PARAMETERS, BatchRefit
from crowdrank.models.pairs.climb import PairedClimb
from crowdrank.models.pairs.design import Design
from crowdrank.models.pairs.vote_sampler import Resample, VoteSampler
from crowdrank.models.parameters import whole
from crowdrank.models.priors import DrawnNode
from crowdrank.prepared.comparisons import plan
from crowdrank.prepared.graph import graph
from crowdrank.prepared.votes import Votes
from crowdrank.progress import announce
from crowdrank.results import LEVEL
from crowdrank.solve import ArrowProblem, Maximum, Spread, maximize, spread_resamples

INTERVALS = ("information", "bootstrap", "bootstrap-workers")
MIN_RESAMPLES = 20
"""With fewer resamples than this, there are no intervals."""
FEW_WORKERS = 10


def check_intervals(intervals: Any, resamples: Any, votes: Votes, design: Design) -> None:
    """Raise an error if these votes do not allow the parameters ``intervals`` and ``resamples``."""
    if intervals not in INTERVALS:
        raise UsageError(f"The parameter 'intervals' must be one of {', '.join(INTERVALS)}. Got {intervals!r}.")
    whole("resamples", resamples, low=MIN_RESAMPLES)
    if intervals == "bootstrap-workers" and votes.n_workers < 2:
        known = "one worker cast all votes" if votes.n_workers else "these judgments do not say who judged"
        raise InputError(
            f"intervals=bootstrap-workers resamples workers, but {known}.",
            hint=("Use ", parameter("intervals", "bootstrap")),
        )
    by_worker = intervals == "bootstrap-workers" or (intervals == "bootstrap" and design.by == "worker")
    if by_worker and isinstance(votes.pairs, SpooledPairs):
        raise UsageError(
            "A bootstrap that distinguishes workers needs the votes in memory, but they are on disk.",
            hint=("Allow more ", Remedy("memory", "16GB"), ", or use ", parameter("intervals", "information")),
        )


class Bootstrap:
    """The resamples of one fit."""

    none: Floats
    climb: PairedClimb
    top: Maximum
    sampler: VoteSampler

    def __init__(self, climb: PairedClimb, top: Maximum, *, by_worker: bool = False) -> None:
        self.none = np.zeros((0, len(top.point.scores)))
        self.climb, self.top = climb, top
        self.sampler = VoteSampler.of(climb, by_worker)

    def scores(self, resamples: int) -> Floats:
        """The scores (resamples, nodes) of the resamples that have a maximum, in order."""
        batch: int = 1
        refit: Callable[[range], Floats] = self._refit_each
        if self.climb.design.by != "worker" and len(self.top.point.scores) <= MAX_PARAMETERS:
            batches = BatchRefit.of(self.climb, self.top, self.sampler)
            batch, refit = batches.batch, self._refit_batches(batches)
        cuts = [range(start, min(start + batch, resamples)) for start in range(0, resamples, batch)]
        engine = self.climb.run.engine
        threads = engine.threads if isinstance(engine, LocalEngine) else LocalEngine().threads
        with thread_pool(threads) as pool:
            return np.concatenate(list(self._report(pool.map(refit, cuts), cuts)))

    def _report(self, parts: Iterator[Floats], cuts: list[range]) -> Iterator[Floats]:
        for cut, part in zip(cuts, parts, strict=True):
            if self.climb.run.progress:
                self.climb.run.progress(cut.stop, self.top.value, 0.0)
            announce(f"resample {cut.stop} of {cuts[-1].stop}", cut.stop, cuts[-1].stop)
            yield part

    def _refit_batches(self, batches: BatchRefit) -> Callable[[range], Floats]:
        """Refit many at once, then those that did not converge one by one."""

        def refit(numbers: range) -> Floats:
            drawn = [own for own in map(self.sampler.draw, numbers) if self._finite(own)]
            if not drawn:
                return self.none
            z, found = batches.refit(drawn)
            scores = z[:, : self.sampler.rows.nodes]
            return np.concatenate(
                [
                    scores[place : place + 1] if found[place] else self._refit_one(own)
                    for place, own in enumerate(drawn)
                ]
            )

        return refit

    def _refit_each(self, numbers: range) -> Floats:
        drawn = (own for own in map(self.sampler.draw, numbers) if self._finite(own))
        return np.concatenate([self.none, *(self._refit_one(own) for own in drawn)])

    def _finite(self, drawn: Resample) -> bool:
        """Whether the scores have a finite maximum (Ford 1957). If workers may lie, it cannot be checked: True."""
        if not self.climb.gauge or self.climb.design.by == "worker":
            return True
        part, strong = self.climb.votes.graph.part, graph(self.sampler.rows_with_votes(drawn, "half")).strong
        return bool((np.bincount(strong)[strong] == np.bincount(part)[part]).all())

    def _refit_one(self, drawn: Resample) -> Floats:
        """Climb from the fitted point: the scores as one row, or no row if that fails."""
        climb = self.climb
        rows = self.sampler.rows_with_votes(drawn, climb.design.ties)
        priors = climb.priors
        if not climb.gauge:
            node = DrawnNode(priors.node.link, priors.node.strength, (drawn.virtual[0], drawn.virtual[1]))
            priors = replace(priors, node=node)
        session = LocalEngine(1).open(plan(rows))
        problem = ArrowProblem(
            lambda at: session.evaluate(climb.sums.curvature, replace(at, spread=climb.curvature.spread)),
            priors,
            climb.bounds_with_barriers(),
            climb.votes.graph.part,
            climb.gauge,
        )
        top = maximize(problem, self.top.point, total_weight=climb.total, limit=100)
        far = np.abs(top.point.scores - self.top.point.scores).max(initial=0.0) > FAR
        ended = top.converged and not (climb.gauge and far)
        return top.point.scores[None] if ended else self.none


def bootstrap_scores(
    climb: PairedClimb, top: Maximum, intervals: str, resamples: int
) -> tuple[Spread, list[Note], str]:
    """Scores and ranks with intervals from the resamples; notes; and a description of what was done."""
    by_worker = intervals == "bootstrap-workers"
    votes = climb.votes
    found = Bootstrap(climb, top, by_worker=by_worker).scores(resamples)
    notes, kept = [], len(found)
    if kept < resamples:
        of = f"of {count_noun(resamples, 'resample')} "
        message = (
            f"{count_noun(resamples - kept, of + 'has', of + 'have')} no finite maximum and do not count, "
            f"so the intervals are too narrow. Use regularization > 0."
        )
        notes.append(Note("rough-intervals", message))
    if by_worker and votes.n_workers < FEW_WORKERS:
        message = (
            f"The intervals come from resampling only {count_noun(votes.n_workers, 'worker')}, so they are rough."
        )
        notes.append(Note("rough-intervals", message))
    enough = found if kept >= MIN_RESAMPLES else None
    if enough is None:
        notes.append(Note("no-intervals", "Too few resamples have a finite maximum, so there are no intervals."))
    placed = spread_resamples(
        top.point.scores,
        enough,
        votes.nodes.query,
        votes.graph.members(),
        level=LEVEL,
        tie_break=votes.graph.wins,
    )
    return placed, notes, f"bootstrap of the {'workers' if by_worker else 'votes'}, {kept} resamples"
