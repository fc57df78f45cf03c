"""The strength of regularization by gold pairs (Crowd-BT section 3.3).

Each strength is tried on the votes alone: gold pairs set the start and the direction, but count as no votes. The
strength whose scores order most gold pairs correctly wins; among equals, the one with the smallest log loss on
them, the mean of -ln F(s_better - s_worse).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdrank.data import Floats
from crowdrank.errors import InputError, Note, Remedy, parameter
from crowdrank.kernels.links import TINY
from crowdrank.models.base import Outcome, Run
from crowdrank.prepared.votes import Votes

if TYPE_CHECKING:
    from crowdrank.models.pairs.estimator import PairedModel

GOLD = "gold"
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True)
class Attempt:
    """A strength with its accuracy and log loss on the gold pairs."""

    strength: float
    accuracy: float
    log_loss: float


def fit_by_gold(model: PairedModel, votes: Votes, run: Run) -> Outcome:
    """Fit with the strength that gold pairs prefer. A note says if it is the smallest or the largest one tried."""
    if not len(votes.gold):
        raise InputError(
            "regularization=gold needs gold pairs of judged items, and there are none.",
            hint=(
                "Give such pairs by ",
                Remedy("anchors", "FILE"),
                " or use ",
                parameter("regularization", "estimated"),
            ),
        )
    held = votes.with_gold(votes.gold, 0.0)
    tried = [_attempt(model, strength, held, run) for strength in STRENGTHS]
    best = max(tried, key=lambda attempt: (attempt.accuracy, -attempt.log_loss))
    found = _with_strength(model, best.strength)._fit(votes, run)
    details = {**found.details, "regularization_by_gold": [vars(attempt) for attempt in tried]}
    return replace(found, notes=(*found.notes, *_end_notes(best.strength)), details=details)


def _attempt(model: PairedModel, strength: float, votes: Votes, run: Run) -> Attempt:
    plain = _with_strength(model, strength, intervals="information")
    score: Floats = plain._fit(votes, run).spread.score
    ahead = score[votes.gold[:, 0]] - score[votes.gold[:, 1]]
    loss = -np.log(np.maximum(model.link.values(ahead).win, TINY))
    return Attempt(strength, float((1 + np.sign(ahead)).mean() / 2), float(loss.mean()))


def _with_strength(model: PairedModel, strength: float, **others: Any) -> PairedModel:
    return type(model)(**{**model.get_params(), "regularization": strength, **others})


def _end_notes(strength: float) -> list[Note]:
    if STRENGTHS[0] < strength < STRENGTHS[-1]:
        return []
    which = "smallest" if strength == STRENGTHS[0] else "largest"
    message = f"Gold pairs prefer the {which} regularization that was tried, {strength:g}."
    return [
        Note("bound", message, ("With few gold pairs, ", parameter("regularization", "estimated"), " is safer."))
    ]
