"""What a pairwise model fits to the votes: how ties and sides enter, and which parameters workers have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data import Floats
from crowdrank.errors import InputError, Note, UsageError, parameter
from crowdrank.kernels import LOGISTIC, PROBIT, TIES, Link
from crowdrank.models.parameters import AUTO
from crowdrank.models.priors import NormalPrior
from crowdrank.models.worker_parameters import POSITION, THRESHOLD, WorkerParameter
from crowdrank.prepared.votes import Votes
from crowdrank.solve import Bounds

BY_WORKER = "-by-worker"
TIE_CHOICES = (*TIES, *(name + BY_WORKER for name in TIES if name != "half"))
POSITIONS = ("none", "shared", "by-worker")


@dataclass(frozen=True)
class Design:
    """The ``columns`` of worker parameters, which of them vary between workers, and whose votes a row counts.

    ``by``: ``"worker"``, ``"crowd"`` (all workers count as one) or ``"pair"`` (there are no columns).
    """

    ties: str
    columns: tuple[WorkerParameter, ...]
    varying: frozenset[WorkerParameter]
    by: str
    link: Link = LOGISTIC

    @classmethod
    def of(cls, own: tuple[WorkerParameter, ...], ties: Any, position: Any, votes: Votes, link: Link) -> Design:
        """For a model whose workers have ``own`` columns, by its parameters ``ties`` and ``position``."""
        kind, ties_vary = _ties(ties, votes, link, worker_aware=bool(own))
        sides, sides_vary = _position(position, votes)
        columns = (*own, *([POSITION] if sides else []), *([THRESHOLD] if kind != "half" else []))
        varying = {*own, *([POSITION] if sides_vary else []), *([THRESHOLD] if ties_vary else [])}
        by = "worker" if varying else "crowd" if columns else "pair"
        return cls(kind, columns, frozenset(varying), by, link)

    @property
    def common(self) -> tuple[WorkerParameter, ...]:
        """The columns with a common mean. A crowd that counts as one worker needs none: its value is the mean."""
        if self.by != "worker":
            return ()
        return tuple(column for column in self.columns if column.deviates)

    def bounds(self, votes: Votes, workers: int) -> tuple[Bounds, Floats]:
        """The bounds of the columns, and their start."""
        width, members = len(self.columns), 1 if self.by == "crowd" else votes.n_workers
        means = [self.mean(column, votes) for column in self.columns]
        start = np.tile(means, (workers, 1)).reshape(workers, width)
        low = np.tile([column.low for column in self.columns], (workers, 1)).reshape(workers, width)
        high = np.tile([column.high for column in self.columns], (workers, 1)).reshape(workers, width)
        fixed = np.zeros((workers, width), bool)
        start[members:] = [column.perfect for column in self.columns]
        fixed[members:] = True
        if self.by == "worker":
            for place, column in enumerate(self.columns):
                fixed[:, place] |= column not in self.varying
        places = tuple(self.columns.index(column) for column in self.common)
        bounds = Bounds(low, high, fixed, common=places, members=members)
        return bounds, start

    def mean(self, column: WorkerParameter, votes: Votes) -> float:
        """The start of a column; a deviation starts at 0."""
        return 0.0 if column in self.common else self.typical(column, votes)

    def typical(self, column: WorkerParameter, votes: Votes) -> float:
        """A typical value of a column before the fit."""
        if column.typical is not None:
            return column.typical
        share = min(votes.tie_share, 0.95)  # the threshold that gives this share between equal items
        if self.ties == "davidson":
            return float(np.log(2 * share / (1 - share)))
        return float(np.log(self.link.quantile((1 + share) / 2)))

    def prior(self, column: WorkerParameter, votes: Votes) -> NormalPrior:
        """The prior of a column. If it varies between workers, its width is estimated; otherwise it is weak."""
        mean = self.mean(column, votes)
        if self.by == "crowd" or column not in self.varying:
            return NormalPrior(mean, 5.0)
        width = column.width
        assert width is not None, f"a model whose workers have {column} must give its prior"
        slope = column if column.is_slope else None
        return NormalPrior(mean, width, column.estimates_width, expected=width, slope=slope)

    def common_prior(self, column: WorkerParameter, votes: Votes) -> NormalPrior:
        """The weak prior of a common mean."""
        return NormalPrior(self.typical(column, votes), column.common_width)


PLAIN = Design("half", (), frozenset(), "pair")
"""Scores only."""


def _ties(given: Any, votes: Votes, link: Link, *, worker_aware: bool) -> tuple[str, bool]:
    """The tie model, and whether each worker has a threshold. "auto" is Rao-Kupper if there are ties."""
    if given == AUTO:
        if not votes.ties:
            return "half", False
        return "rao-kupper", worker_aware
    if given not in TIE_CHOICES:
        raise UsageError(f"The parameter 'ties' must be {AUTO} or one of {', '.join(TIE_CHOICES)}. Got {given!r}.")
    kind, each = given.removesuffix(BY_WORKER), given.endswith(BY_WORKER)
    if kind == "davidson" and link.name == PROBIT.name:
        raise UsageError(
            "Davidson's tie model needs the logistic link; this model has Thurstone's.",
            hint=("Use ", parameter("ties", "rao-kupper")),
        )
    if each and not votes.n_workers:
        raise InputError(
            f"ties={given} needs to know who judged, and these judgments do not say.",
            hint=("Use ", parameter("ties", kind)),
        )
    return kind, each


def _position(given: Any, votes: Votes) -> tuple[bool, bool]:
    """Whether the side matters, and whether it matters differently for each worker."""
    if given not in POSITIONS:
        raise UsageError(
            f"The parameter 'position' must be {AUTO} or one of {', '.join(POSITIONS)}. Got {given!r}."
        )
    if given == "none" or not votes.pairs.sided:
        return False, False
    if given == "by-worker" and not votes.n_workers:
        raise InputError(
            "position=by-worker needs to know who judged, and these judgments do not say.",
            hint=("Use ", parameter("position", "shared")),
        )
    return True, given == "by-worker"


def side_notes(given: Any, votes: Votes) -> list[Note]:
    """A note if a position bias was requested but the judgments do not give the sides."""
    if given in (AUTO, "none") or votes.pairs.sided:
        return []
    return [Note("unsided", "The judgments do not say which item was on the left, so no position bias is fitted.")]
