"""Whose expertise it is: each worker's own, or one for all because the workers share their errors.

The model takes the errors of workers to be independent. Near-duplicates, such as variants of one retrieval system,
explain each other, and free expertises give all weight to them. crowd-lists measures how far the errors of two
workers agree beyond what both know (models.lists.crowd_lists). If that is much, all workers get one expertise, and
are weighted as crowd-lists does: by their agreement with workers who make other errors, copies counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdrank.data import Floats, Judgments, Rankings, Ratings, to_lists, translate_ids
from crowdrank.errors import CrowdrankError, Note, UsageError, parameter
from crowdrank.models.lists.crowd_lists import weigh_workers
from crowdrank.prepared.lists import Lists
from crowdrank.rankers.crowd_training import CrowdRun
from crowdrank.rankers.judged import LISTS, Voices

DEPENDENT = 0.4
"""Workers share their errors if the sum of squares of shared errors with others is this much on average."""


@dataclass(frozen=True, eq=False)
class Dispersion:
    """Whose expertise it is ("by-worker", "shared" or "weighted"), the weight of each voice, and notes."""

    kind: str
    weights: Floats
    notes: tuple[Note, ...] = ()


def choose_dispersion(wanted: str, run: CrowdRun) -> Dispersion:
    """The dispersion that is wanted, or for "auto" the one that the lists call for."""
    equal = np.ones(len(run.judged.voices))
    if run.side_info is not None:
        if wanted not in ("auto", "by-worker"):
            raise UsageError(
                f"Side information is about each worker's expertise, but dispersion={wanted!r} has one for all.",
                hint=("Use ", parameter("dispersion", "by-worker")),
            )
        return Dispersion("by-worker", equal)
    if wanted in ("by-worker", "shared"):
        return Dispersion(wanted, equal)
    found = _look_alikes(run.tables, run.judged.voices)
    if found is None or (wanted == "auto" and found[1] < DEPENDENT):
        return Dispersion("by-worker" if wanted == "auto" else "shared", equal)
    return Dispersion("weighted", found[0], () if wanted == "weighted" else (_dependent_note(),))


def _look_alikes(tables: Sequence[Judgments], voices: Voices) -> tuple[Floats, float] | None:
    """The weight of each voice, 1 on average over lists, and how far workers share errors; None if unknown."""
    lists = [to_lists(own) for own in tables if isinstance(own, Rankings | Ratings)]
    named = [own for own in lists if own.index.workers is not None]
    if not named or LISTS not in voices.kind or len(voices) < 2:
        return None
    table = max(named, key=lambda own: own.rows)
    try:
        ready = Lists(table)
    except CrowdrankError:
        return None
    found = weigh_workers(ready)
    assert table.index.workers is not None
    codes = translate_ids(voices.workers.gather(voices.worker), table.index.workers)
    known = (codes >= 0) & (np.array(voices.kind) == LISTS)
    weights = np.ones(len(voices))
    weights[known] = found.weight[codes[known]] / max(float(found.weight.mean()), 1e-300)
    return weights, found.shared


def _dependent_note() -> Note:
    message = (
        "The errors of the workers are not independent: some make nearly the same errors as others. So they have "
        "one expertise, and count by their agreement with workers who make other errors (dispersion=weighted)."
    )
    return Note(
        "look-alikes", message, ("To learn each worker's own: ", parameter("dispersion", "by-worker"), ".")
    )
