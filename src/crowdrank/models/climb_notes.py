"""What is said about a climb: that it did not converge, reached a bound, or has no maximum."""

from __future__ import annotations

import numpy as np

from crowdrank.errors import FitError, Note, parameter
from crowdrank.models.ascent import FAR, ROUNDS, Ascent
from crowdrank.solve import Maximum


def require_finite_scores(climb: Ascent, top: Maximum) -> None:
    """Raise an error if a score is on its way to infinity, which needs a fit without regularization."""
    if climb.gauge and np.abs(top.point.scores).max(initial=0.0) > FAR:
        raise FitError(
            f"Without regularization the scores have no finite maximum: one of them has reached "
            f"{np.abs(top.point.scores).max():.0f} and would go on.",
            hint=("Use regularization > 0, for example ", parameter("regularization", 0.5)),
        )


def prior_notes(climb: Ascent) -> list[Note]:
    """A note if the strengths of the priors were still changing at the end, or reached the ends of their range."""
    notes = [
        Note("bound", f"The estimated {reached}, is at the end of its range.")
        for reached in climb.priors.at_bounds()
    ]
    if climb.priors_unfinished:
        message = f"The strengths of the priors did not converge in {ROUNDS} rounds."
        notes.append(Note("not-converged", f"{message} Scores and intervals are provisional."))
    return notes


def count_at_bounds(climb: Ascent, top: Maximum) -> dict[str, tuple[int, int]]:
    """How many workers are at the lower and at the upper bound of each column that has any."""
    held, down = (top.held & ~climb.bounds.fixed)[: climb.members], top.gradient[: climb.members] < 0
    lower, upper = (held & down).sum(axis=0).tolist(), (held & ~down).sum(axis=0).tolist()
    found = {column.name: (lower[place], upper[place]) for place, column in enumerate(climb.columns)}
    return {name: counts for name, counts in found.items() if any(counts)}


def bound_notes(climb: Ascent, top: Maximum) -> list[Note]:
    """A note for each bound that worker parameters reached."""
    found, reached = [], count_at_bounds(climb, top)
    for column in climb.columns:
        ends = (("lower", column.low), ("upper", column.high))
        for (side, end), count in zip(ends, reached.get(column.name, (0, 0)), strict=True):
            if count:
                whose = f"of {count} of {climb.members} workers" if climb.varied else "of the crowd"
                message = f"The {column.shown_name} {whose} is at its {side} bound of {column.shown_value(end):g}."
                found.append(Note("bound", message))
    return found


def convergence_notes(top: Maximum) -> list[Note]:
    """A note if the climb stopped short of a maximum."""
    if top.converged:
        return []
    return [
        Note(
            "not-converged",
            f"The fit did not converge in {top.iterations} iterations; the steepest remaining slope is "
            f"{top.slope:.2g}. Scores and intervals are provisional.",
        )
    ]
