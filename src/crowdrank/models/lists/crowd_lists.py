"""Lists with worker quality from agreement with dissimilar workers.

A likelihood of lists with worker parameters gives most weight to the workers that the consensus explains best, and
the consensus is what the workers with most weight say. So a few near-duplicates explain each other and take over.
Here a worker's agreement with others who make the same errors does not count, and copies count once.

The scores of a list are the gradient of Plackett-Luce at equal strengths (Savage's scores). With m items in the
list, and the first k ranked,

    x_i = 1[i ranked] - sum over the places s = 1 .. min(place of i, k) of 1 / (m - s + 1),

and tied items share the mean. The scores of a list sum to 0, and a step at the top counts for more.

With C_wv the correlation of two workers' scores over the items that both judged, q_w the quality of a worker
and omega_w the worker's weight, iterate

    e_wv = max(0, (C_wv - q_w q_v) / (1 - q_w q_v))       shared errors: what they share beyond what both know
    c_w = 1 + sum over v != w of e_wv^copies               the number of copies of w; an exact copy counts 1
    q_w = max(0, correlation of x_w with sum over v of (1 - e_wv) omega_v x_v)
    omega_w = q_w / c_w

until the weights converge. score_i is the mean of x_i over the lists, weighted by omega.

A few items prove nothing. So e uses the lower bound of the correlation by Fisher's transform, at a level of 0.05
divided by the number of workers, and q is shrunk toward the mean of all workers, as by 10 items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, summed
from crowdrank.errors import Note, UsageError
from crowdrank.models.base import ListsModel, Outcome, Progress, Run
from crowdrank.models.counting.places import mean_over_lists
from crowdrank.models.parameters import number
from crowdrank.prepared.lists import Lists

MOST_WORKERS = 5_000
"""With more workers there is no search for look-alikes, which takes a square of the workers."""
STEPS, TOLERANCE = 300, 1e-12
SHRINK = 10.0
"""Quality is shrunk toward the mean as if by this many items."""
NEAR = 0.999
"""The largest correlation that is distinguished from 1."""
TWINS = 1.5
"""A note names the workers with at least this many copies."""


class CrowdLists(ListsModel):
    """score_i = weighted mean of Savage's scores x_wi, by each worker's agreement with dissimilar workers.

    ``copies``: how alike the errors of two workers must be to count as one: e^copies, 8 by default.
    ``quality``: "estimated", or "equal" for the unweighted mean.

    Made for lists of (nearly) the same items. If each list holds a different part of many items, use
    plackett-luce, which takes the strength of the other items into account.
    """

    name = "crowd-lists"
    needs_workers = True

    def __init__(self, *, copies: float = 8.0, quality: str = "estimated", seed: int = 0) -> None:
        self.copies = copies
        self.quality = quality
        self.seed = seed

    def _fit(self, ready: Lists, run: Run) -> Outcome:
        copies = number("copies", self.copies, low=0.1)
        if self.quality not in ("estimated", "equal"):
            raise UsageError(f"The parameter 'quality' must be 'estimated' or 'equal'. Got {self.quality!r}.")
        value = savage_scores(ready)
        if self.quality == "equal":
            return mean_over_lists(ready, value)
        found = weigh_workers(ready, copies, run.progress)
        outcome = mean_over_lists(ready, value, found.weight)
        assert outcome.workers is not None
        further = {"agreement": found.quality, "copies": found.copies, "weight": found.weight}
        return replace(
            outcome,
            workers=replace(outcome.workers, further=further),
            converged=found.converged,
            iterations=found.iterations,
            notes=(*outcome.notes, *_notes(ready, found)),
        )


def savage_scores(lists: Lists) -> Floats:
    """x_i of each row: the gradient of the likelihood of its list at equal strengths."""
    first = lists.start[lists.list]
    place = np.arange(len(lists.node)) - first  # from 0
    hazard = np.where(lists.bottom, 0.0, 1.0 / (lists.size[lists.list] - place))
    total = np.cumsum(hazard)
    own = ~lists.bottom - (total - (total - hazard)[first])
    group = lists.group
    return np.asarray((summed(group, own, int(group[-1]) + 1) / np.bincount(group))[group])


@dataclass(frozen=True, eq=False)
class _QueryScores:
    """The scores of one query (items, workers); 0 if ``there`` is False."""

    workers: Integers
    scores: Floats
    there: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _WorkerScores:
    """How the workers' scores relate: a block for each query, and matrices of worker pairs."""

    blocks: list[_QueryScores]
    items: Floats  # how many items each worker judged
    correlation: Floats
    shared: Floats  # how many items two workers both judged, minus one for each query

    @classmethod
    def of(cls, lists: Lists, value: Floats) -> _WorkerScores:
        assert lists.worker is not None
        count = lists.n_workers
        key = lists.node * count + lists.worker[lists.list]
        cells, place = np.unique(key, return_inverse=True)
        weight = lists.weight[lists.list]
        mean = summed(place, weight * value, len(cells)) / summed(place, weight, len(cells))
        node, worker = cells // count, cells % count
        blocks = []
        for rows in np.split(np.arange(len(cells)), np.flatnonzero(np.diff(lists.nodes.query[node])) + 1):
            workers, column = np.unique(worker[rows], return_inverse=True)
            items, row = np.unique(node[rows], return_inverse=True)
            scores = np.zeros((len(items), len(workers)))
            there = np.zeros(scores.shape, bool)
            scores[row, column], there[row, column] = mean[rows], True
            blocks.append(_QueryScores(workers, scores, there))
        few = count <= MOST_WORKERS
        product, square, shared = np.zeros((3, count, count) if few else (3, 0, 0))
        for block in blocks if few else []:
            own, there = np.ix_(block.workers, block.workers), block.there.astype(float)
            product[own] += block.scores.T @ block.scores
            square[own] += (block.scores**2).T @ there
            common = there.T @ there
            shared[own] += common - (common > 0)
        correlation = product / np.sqrt(np.maximum(square * square.T, 1e-300))
        return cls(blocks, summed(worker, None, count), correlation, shared)

    def shared_errors(self, quality: Floats) -> Floats | None:
        """e_wv, 1 on the diagonal; None if there are too many workers."""
        count = len(self.items)
        if count > MOST_WORKERS:
            return None
        z = NormalDist().inv_cdf(1.0 - 0.05 / max(count, 2))
        error = z / np.sqrt(np.maximum(self.shared - 2.0, 1e-9))
        least = np.tanh(np.arctanh(np.clip(self.correlation, -NEAR, NEAR)) - error)
        known = np.minimum(np.outer(quality, quality), NEAR)
        alike = np.clip((least - known) / (NEAR - known + 1e-9), 0.0, 1.0)
        np.fill_diagonal(alike, 1.0)
        return np.asarray(alike)

    def agreement(self, weight: Floats, alike: Floats | None) -> Floats:
        """The correlation of each worker's scores with the weighted sum of the others' scores, each by how unlike
        its errors are; NaN if nobody else judged the same items."""
        product, own, others = np.zeros((3, len(self.items)))
        for block in self.blocks:
            who = block.workers
            if alike is None:
                own_part = block.scores * weight[who]
                sums = own_part.sum(axis=1, keepdims=True) - own_part
            else:
                sums = block.scores @ (weight[who] * (1.0 - alike[np.ix_(who, who)])).T
            sums = np.where(block.there, sums, 0.0)
            product[who] += (block.scores * sums).sum(axis=0)
            own[who] += (block.scores**2).sum(axis=0)
            others[who] += (sums**2).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(product / np.sqrt(own * others))


@dataclass(frozen=True, eq=False)
class WorkerWeights:
    """The fixed point: quality, copies and weight of each worker.

    ``shared``: the mean over the workers of the sum of e_wv^2 over the others, about how many others make the same
    errors.
    """

    quality: Floats
    copies: Floats
    weight: Floats
    converged: bool
    iterations: int
    shared: float = 0.0


def weigh_workers(lists: Lists, copies: float = 8.0, progress: Progress | None = None) -> WorkerWeights:
    """How much each worker counts, by agreement with workers who make other errors."""
    crowd = _WorkerScores.of(lists, savage_scores(lists))
    found = _weigh(crowd, copies, progress)
    alike = crowd.shared_errors(found.quality)
    if alike is None:
        return found
    return replace(found, shared=float((alike**2).sum(axis=1).mean() - 1.0))


def _weigh(crowd: _WorkerScores, power: float, progress: Progress | None) -> WorkerWeights:
    """The fixed point of quality, copies and weight."""
    count = len(crowd.items)
    weight, copies, quality = np.ones(count), np.ones(count), np.zeros(count)
    for step in range(1, STEPS + 1):
        alike = crowd.shared_errors(quality) if step > 1 else None
        if alike is not None:
            copies = (alike**power).sum(axis=1)
        found = crowd.agreement(weight, alike)
        known = np.isfinite(found)
        middle = float(found[known].mean()) if known.any() else 1.0
        shrunk = (crowd.items * np.where(known, found, middle) + SHRINK * middle) / (crowd.items + SHRINK)
        quality = np.maximum(shrunk, 0.0)
        new = quality / copies
        change = float(np.abs(new - weight).max())
        weight = (weight + new) / 2.0 if step > 1 else new
        if progress is not None:
            progress(step, float(quality.mean()), change)
        if change <= TOLERANCE or not weight.any():
            break
    weight = np.where(weight > TOLERANCE, weight, 0.0)
    if not weight.any():
        return WorkerWeights(quality, copies, np.ones(count), converged=True, iterations=step)
    return WorkerWeights(quality, copies, weight, change <= TOLERANCE, step)


def _notes(lists: Lists, found: WorkerWeights) -> list[Note]:
    notes, names = [], lists.index.workers
    assert names is not None
    if not found.converged:
        notes.append(Note("not-converged", f"The weights of the workers did not converge in {STEPS} steps."))
    if not found.quality.any():
        message = "No worker agrees with any other more than by chance; all count the same."
        notes.append(Note("no-agreement", message))
    if lists.n_workers == 1:
        notes.append(Note("one-worker", "All lists come from one worker."))
    if lists.n_workers > MOST_WORKERS:
        message = f"There was no search for look-alikes: there are more than {MOST_WORKERS} workers."
        notes.append(Note("look-alikes", message))
    twins = np.flatnonzero(found.copies >= TWINS)
    if len(twins):
        first = ", ".join(names[int(code)] for code in twins[:5])
        more = f" and {len(twins) - 5} more" if len(twins) > 5 else ""
        message = f"{len(twins)} workers make nearly the same errors as others, so they count less: {first}{more}."
        notes.append(Note("look-alikes", message))
    return notes
