"""One fit of a pairwise likelihood: how its climb is set up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crowdrank.data import Floats
from crowdrank.kernels import LOGISTIC, Link
from crowdrank.kernels.compiled import can_compile
from crowdrank.models.ascent import Ascent
from crowdrank.models.base import Run
from crowdrank.models.pairs.compiled_sums import FROM_ROWS
from crowdrank.models.pairs.design import Design
from crowdrank.models.pairs.likelihood import PairedSums
from crowdrank.models.priors import STRENGTH, ColumnPrior, Priors, VirtualNode
from crowdrank.models.worker_parameters import POSITION, WorkerParameter
from crowdrank.prepared.comparisons import Comparisons, Tally, plan
from crowdrank.prepared.votes import Votes
from crowdrank.solve import NO_WORKERS, ArrowProblem, Bounds, Point, maximize


class PairedClimb(Ascent):
    """The climb of a pairwise model on one set of votes.

    ``strength``: lambda; None if it is estimated. ``games``: counts of pairs that replace the votes (for a design
    without workers). ``columns``: given priors of worker parameters; the others are estimated.
    """

    iterations: int
    link: Link
    design: Design
    votes: Votes
    rows: Tally
    compiled: bool

    def __init__(
        self,
        link: Link,
        design: Design,
        votes: Votes,
        run: Run,
        *,
        strength: float | None,
        games: Comparisons | None = None,
        columns: Mapping[WorkerParameter, ColumnPrior] | None = None,
    ) -> None:
        self.link, self.design, self.votes = link, design, votes
        if games is None:
            self.rows = votes.count_votes(design.by, sided=POSITION in design.columns, ties=design.ties != "half")
        else:
            self.rows = Tally(plan(games), games.nodes, 0)
        bounds, start = self._bounds()
        self.compiled = self._compiles()
        super().__init__(
            run.engine.open(self.rows.shards),
            PairedSums(link, design.ties, design.columns, self.compiled),
            run,
            Priors(
                VirtualNode(link, STRENGTH if strength is None else strength),
                tuple((columns or {}).get(column) or design.prior(column, votes) for column in design.columns),
                tuple(design.common_prior(column, votes) for column in design.common),
                estimates_strength=strength is None,
            ),
            columns=design.columns,
            bounds=bounds,
            start=start,
            part=votes.graph.part,
            judged=votes.graph.wins + votes.graph.losses > 0,
            total=float((votes.comparisons if games is None else games).weight.sum()),
            gauge=strength == 0,
            varied=design.by == "worker",
        )

    def _compiles(self) -> bool:
        """Whether compiled loops are worth loading, and know this likelihood."""
        known = self.link is LOGISTIC and self.design.ties == "half" and self.design.by == "worker"
        return known and len(self.rows) >= FROM_ROWS and can_compile()

    def _bounds(self) -> tuple[Bounds, Floats]:
        if self.design.by == "pair":
            return Bounds.none(), NO_WORKERS
        return self.design.bounds(self.votes, self.rows.workers)

    def first_point(self) -> Point:
        """Scores as if all workers were equal, from counts of pairs, with every worker parameter at its start."""
        if not self.varied:
            return super().first_point()
        return Point(self.equal_worker_scores(), self.start, self._common())

    def equal_worker_scores(self) -> Floats:
        """The scores of Bradley-Terry, or of Thurstone by the link. A tie is half a win for each item."""
        session, sums = self.run.engine.open(plan(self.votes.comparisons)), PairedSums(self.link)
        problem = ArrowProblem(
            lambda at: session.evaluate(sums.curvature, at),
            Priors(self.priors.node),
            Bounds.none(),
            self.votes.graph.part,
            self.gauge,
        )
        start = Point(np.zeros(self.rows.nodes), NO_WORKERS)
        top = maximize(problem, start, total_weight=self.total, progress=self.run.progress)
        self.iterations += top.iterations
        return top.point.scores
