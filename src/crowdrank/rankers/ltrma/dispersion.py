"""Whose expertise it is: each worker's own, or one for all because the workers share their errors.

The model takes the errors of workers to be independent. Near-duplicates, such as variants of one retrieval system,
explain each other, and free expertises give all weight to them. crowd-lists measures how far the errors of two
workers agree beyond what both know (models.lists.crowd_lists). We measure the same on lists of workers of about
the same expertise whose errors are drawn independently. If the real workers share much more, all of them get one
expertise, and are weighted as crowd-lists does: by their agreement with workers who make other errors, with copies
counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from crowdrank.data import Floats, Judgments, Rankings, Ratings, summed, to_lists, translate_ids
from crowdrank.errors import CrowdrankError, Note, UsageError, parameter
from crowdrank.kernels.kendall import distances
from crowdrank.kernels.mallows import sample
from crowdrank.models.lists.crowd_lists import savage_scores, weigh_workers
from crowdrank.models.lists.dispersion import Shapes
from crowdrank.prepared.lists import Lists
from crowdrank.random import generator
from crowdrank.rankers.crowd_training import CrowdRun
from crowdrank.rankers.judged import LISTS, Voices
from crowdrank.rankers.ltrma.expertise import solve_expertise

DEPENDENT = 0.5
"""Workers share their errors if the sum of squares of the errors that a worker shares with others is, on average,
larger by this than with independent errors. The 25 systems of MQ2008-agg have .7."""
LEAST_WORKERS = 10
"""With fewer workers nothing is weighted by itself: a few who always agree may be experts as well as copies."""
PRIOR_SD = 10.0
"""The standard deviation of theta a priori when errors are redrawn."""
DRAW = 3
"""The key of the random numbers of independent errors."""


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
    found = _look_alikes(run.tables, run.judged.voices, run.seed)
    few = len(run.judged.voices.workers) < LEAST_WORKERS
    if found is None or (wanted == "auto" and (few or found[1] < DEPENDENT)):
        return Dispersion("by-worker" if wanted == "auto" else "shared", equal)
    return Dispersion("weighted", found[0], () if wanted == "weighted" else (_dependent_note(),))


def _look_alikes(tables: Sequence[Judgments], voices: Voices, seed: int) -> tuple[Floats, float] | None:
    """The weight of each voice, 1 on average, and how much more errors workers share than by chance.

    None if there are too few workers or lists to say. Of several tables the largest decides.
    """
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
    chance = weigh_workers(redraw_independently(ready, found.weight, seed))
    assert table.index.workers is not None
    codes = translate_ids(voices.workers.gather(voices.worker), table.index.workers)
    known = (codes >= 0) & (np.array(voices.kind) == LISTS)
    weights = np.ones(len(voices))
    weights[known] = found.weight[codes[known]] / max(float(found.weight.mean()), 1e-300)
    return weights, found.shared - chance.shared


def redraw_independently(lists: Lists, weight: Floats, seed: int) -> Lists:
    """Lists of the same shape by workers of about the same expertise, whose errors are independent.

    The truth is the order of the mean scores of the lists, by the ``weight`` of their workers, and each worker's
    theta, of either sign, is that of Mallows' model around it.
    """
    nodes = len(lists.nodes)
    worker = np.zeros(len(lists), np.int64) if lists.worker is None else lists.worker.astype(np.int64)
    by_row = (lists.weight * weight[worker])[lists.list]
    total = summed(lists.node, by_row * savage_scores(lists), nodes)
    mean = total / np.maximum(summed(lists.node, by_row, nodes), 1e-300)
    place = np.empty(nodes, np.int64)
    place[np.argsort(-mean, kind="stable")] = np.arange(nodes)
    far = distances(lists.level, place[lists.node], lists.start, penalty=0.0)
    counts = Shapes.of(lists, worker, lists.n_workers).counts
    theta = solve_expertise(counts, summed(worker, lists.weight * far, lists.n_workers), None, PRIOR_SD).theta
    drawn, rng = copy(lists), generator(seed, key=DRAW)
    drawn.node = lists.node.copy()
    for size in np.unique(lists.size):
        own = np.flatnonzero(lists.size == size)
        rows = lists.start[own][:, None] + np.arange(size)
        true = np.take_along_axis(lists.node[rows], np.argsort(place[lists.node[rows]], axis=1), axis=1)
        drawn.node[rows] = np.take_along_axis(true, sample(theta[worker[own]], int(size), rng), axis=1)
    return drawn


def _dependent_note() -> Note:
    message = (
        "The errors of the workers are not independent: some make nearly the same errors as others. So they have "
        "one expertise, and count by their agreement with workers who make other errors (dispersion=weighted)."
    )
    return Note(
        "look-alikes", message, ("To learn each worker's own: ", parameter("dispersion", "by-worker"), ".")
    )
