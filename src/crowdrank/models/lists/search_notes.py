"""What CrowdAgg says about its search for qualities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats
from crowdrank.errors import Note


def cycle_note(cycles: int, units: int, longest: int) -> Iterator[Note]:
    """A note if rankings and qualities repeat in cycles."""
    if cycles:
        subject = f"In {cycles} of {units} queries rankings" if units > 1 else "Rankings"
        message = (
            f"{subject} and qualities repeat in cycles of up to {longest} rounds instead of converging. "
            "The ranking is the one with the largest objective."
        )
        yield Note("cycle", message)


def calm_note(calm: int, units: int, band: float, rounds: int) -> Iterator[Note]:
    """A note if qualities stayed within a narrow band but did not come to rest."""
    if calm:
        subject = f"In {calm} of {units} queries the qualities" if units > 1 else "The qualities"
        message = (
            f"{subject} stayed within {band:g} for {rounds} rounds but did not come to rest. "
            "The ranking is the one of these rounds with the largest objective."
        )
        yield Note("small-changes", message)


def unfinished_note(units: int, rounds: int) -> Iterator[Note]:
    """A note if the search was cut short."""
    if units:
        yield Note("not-converged", f"The rankings did not converge in {rounds} rounds.")


def alike_note(eta: Floats, workers: int) -> Iterator[Note]:
    """A note if all qualities are the same."""
    if workers > 1 and np.ptp(eta) < 1e-12:
        message = "The workers' agreement with each other differs by no more than chance; all count the same."
        yield Note("equal-weights", message)


def overturned_note(overturned: NDArray[np.bool_], *, pool: bool) -> Iterator[Note]:
    """A note if workers count the same because their qualities would overturn the ranking."""
    if overturned.any():
        some = f" in {overturned.sum()} of {len(overturned)} queries" if not pool and len(overturned) > 1 else ""
        message = (
            f"Worker qualities would overturn the ranking of equal workers{some}: groups of workers contradict "
            "each other, and the votes do not show which is right. All workers count the same"
            f"{' there' if some else ''}."
        )
        yield Note("equal-weights", message)
