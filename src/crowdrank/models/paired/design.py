"""What a pairwise model fits to these votes: how ties and sides enter, and which parameters workers have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdrank.data import Floats
from crowdrank.errors import InputError, Note, UsageError
from crowdrank.kernels import LOGISTIC, PROBIT, TIES, Link
from crowdrank.models.priors import Normal
from crowdrank.models.votes import Votes
from crowdrank.solve import Bounds

BY_WORKER = "-by-worker"
TIE_CHOICES = (*TIES, *(name + BY_WORKER for name in TIES if name != "half"))
POSITIONS = ("none", "shared", "by-worker")

PERFECT = {"slope": 1.0, "log-slope": 0.0, "position": 0.0, "threshold": -20.0, "eta": 1.0, "lapse": -40.0}
"""The parameters of the perfect worker who casts the votes of gold pairs."""
_REACH = {
    "slope": (-50.0, 50.0),
    "log-slope": (-6.0, 4.0),
    "position": (-20.0, 20.0),
    "threshold": (-20.0, 6.0),
    "eta": (0.0, 1.0),
    "lapse": (-40.0, 10.0),
}
SPREADS = {"slope": 0.5, "log-slope": 0.5, "position": 0.3, "threshold": 0.5, "lapse": 1.0}
"""Where the estimation of each column's prior width starts."""
DEVIATING = ("position", "threshold", "lapse")
"""Columns that are a deviation from a common mean; the others have a mean by convention."""


@dataclass(frozen=True)
class Design:
    """``columns`` of worker parameters, those ``varying`` from worker to worker, and whose votes a row is.

    ``by``: ``"worker"``, ``"crowd"`` (one worker stands for all) or ``"pair"`` (there are no columns).
    """

    ties: str
    columns: tuple[str, ...]
    varying: frozenset[str]
    by: str
    link: Link = LOGISTIC

    @classmethod
    def of(cls, own: tuple[str, ...], ties: Any, position: Any, votes: Votes, link: Link) -> Design:
        """For a model whose workers have ``own`` columns, by its parameters ``ties`` and ``position``."""
        kind, ties_vary = _ties(ties, votes, link, worker_aware=bool(own))
        sides, sides_vary = _position(position, votes)
        columns = (*own, *(["position"] if sides else []), *(["threshold"] if kind != "half" else []))
        varying = {*own, *(["position"] if sides_vary else []), *(["threshold"] if ties_vary else [])}
        by = "worker" if varying else "crowd" if columns else "pair"
        return cls(kind, columns, frozenset(varying), by, link)

    @property
    def common(self) -> tuple[str, ...]:
        """The columns with a common mean. One worker for all needs none: his value is the mean."""
        if self.by != "worker":
            return ()
        return tuple(name for name in self.columns if name in DEVIATING)

    def bounds(self, votes: Votes, workers: int) -> tuple[Bounds, Floats]:
        """Where the columns may go, and where they start."""
        width, members = len(self.columns), 1 if self.by == "crowd" else votes.n_workers
        start = np.tile([self.mean(name, votes) for name in self.columns], (workers, 1)).reshape(workers, width)
        low, high = (np.tile([_REACH[name][end] for name in self.columns], (workers, 1)) for end in (0, 1))
        fixed = np.zeros((workers, width), bool)
        start[members:] = [PERFECT[name] for name in self.columns]
        fixed[members:] = True
        if self.by == "worker":
            for place, name in enumerate(self.columns):
                fixed[:, place] |= name not in self.varying
        places = tuple(self.columns.index(name) for name in self.common)
        bounds = Bounds(low.reshape(start.shape), high.reshape(start.shape), fixed, common=places, members=members)
        return bounds, start

    def mean(self, name: str, votes: Votes) -> float:
        """Where a column starts; a deviation starts at 0."""
        return 0.0 if name in self.common else self.typical(name, votes)

    def typical(self, name: str, votes: Votes) -> float:
        """A middling value of a column before the fit."""
        if name != "threshold":
            return {**PERFECT, "lapse": -4.0}[name]
        share = min(votes.tie_share, 0.95)  # the threshold that brings this share between equal items
        if self.ties == "davidson":
            return float(np.log(2 * share / (1 - share)))
        return float(np.log(self.link.quantile((1 + share) / 2)))

    def prior(self, name: str, votes: Votes) -> Normal:
        """The prior of a column, its width to be estimated; none on what one worker for all has."""
        if self.by == "crowd" or name not in self.varying:
            return Normal(self.mean(name, votes), 5.0)
        mean = self.mean(name, votes)
        if name == "lapse":  # how far lapses differ is hardly ever in the data
            return Normal(mean, SPREADS[name])
        return Normal(mean, SPREADS[name], estimated=True, expected=SPREADS[name], by_convention="slope" in name)

    def common_prior(self, name: str, votes: Votes) -> Normal:
        """The weak prior of a common mean."""
        return Normal(self.typical(name, votes), {"lapse": 1.5}.get(name, 3.0))


PLAIN = Design("half", (), frozenset(), "pair")
"""Scores and nothing else."""


def _ties(given: Any, votes: Votes, link: Link, *, worker_aware: bool) -> tuple[str, bool]:
    """The tie model and whether each worker has a threshold. None: Rao-Kupper where there are ties."""
    if given is None:
        if not votes.ties:
            return "half", False
        return "rao-kupper", worker_aware
    if given not in TIE_CHOICES:
        raise UsageError(f"The parameter 'ties' must be one of {', '.join(TIE_CHOICES)}. Got {given!r}.")
    kind, each = given.removesuffix(BY_WORKER), given.endswith(BY_WORKER)
    if kind == "davidson" and link.name == PROBIT.name:
        raise UsageError(
            "Davidson's ties belong to the logistic link, not to Thurstone's.", hint="Use --set ties=rao-kupper"
        )
    if each and not votes.n_workers:
        raise InputError(
            f"ties={given} needs to know who judged, and these judgments do not say.",
            hint=f"Use --set ties={kind}",
        )
    return kind, each


def _position(given: Any, votes: Votes) -> tuple[bool, bool]:
    """Whether the side matters, and whether for each worker differently."""
    if given not in POSITIONS:
        raise UsageError(f"The parameter 'position' must be one of {', '.join(POSITIONS)}. Got {given!r}.")
    if given == "none" or not votes.pairs.sided:
        return False, False
    if given == "by-worker" and not votes.n_workers:
        raise InputError(
            "position=by-worker needs to know who judged, and these judgments do not say.",
            hint="Use --set position=shared",
        )
    return True, given == "by-worker"


def unsided(given: Any, votes: Votes) -> list[Note]:
    """A note where a position bias was asked for and nobody says who stood where."""
    if given in (None, "none") or votes.pairs.sided:
        return []
    return [
        Note("unsided", "The judgments do not say which item was shown on the left: no position bias is fitted.")
    ]
