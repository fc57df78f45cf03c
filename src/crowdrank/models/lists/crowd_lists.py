"""Lists with a quality for each worker, judged by those who are unlike her.

A worker-aware likelihood of lists gives its weight to whoever is best explained by the consensus, and the
consensus is what the heaviest workers say: a few near-duplicates explain each other and take it over. Here
nobody vouches for somebody who makes the same errors, and copies count once.

Scores of a list. The gradient of Plackett-Luce at equal strengths (Savage's scores): with m items in the list,
of which the first k are ranked,

    x_i = 1[i ranked] - sum over the places s = 1 .. min(place of i, k) of 1 / (m - s + 1),

tied items sharing the mean. They sum to 0 over a list, and a step at the top counts for more.

With C_wv the correlation of two workers' scores over the items that both judged, q_w the quality of a worker
and omega_w her weight, iterate

    e_wv = max(0, (C_wv - q_w q_v) / (1 - q_w q_v))       what they share beyond what both know: their errors
    c_w = 1 + sum over v != w of e_wv^copies               how often she is there; an exact copy counts 1
    q_w = max(0, correlation of x_w with sum over v of (1 - e_wv) omega_v x_v)
    omega_w = q_w / c_w

until the weights stand still. score_i is the mean of x_i over the lists, weighted by omega.

Few items prove nothing: in e the correlation is its lower bound by Fisher's transform, at a level of 0.05
divided by the number of workers, and q is shrunk towards the mean of all workers' by 10 items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, summed
from crowdrank.errors import Note, UsageError
from crowdrank.models.base import ListsModel, Outcome, Progress, Run, number
from crowdrank.models.counting.places import mean_over_lists
from crowdrank.prepared.lists import Lists

MOST_WORKERS = 5_000
"""With more, look-alikes are not looked for: that takes a square of the workers."""
STEPS, TOLERANCE = 300, 1e-12
SHRINK = 10.0
"""Quality is shrunk towards the mean as by so many items."""
NEAR = 0.999
"""The largest correlation that is told from 1."""
TWINS = 1.5
"""A worker of whom there are at least so many is told of."""


class CrowdLists(ListsModel):
    """score_i = weighted mean of Savage's scores x_wi; a worker's weight is her agreement with those unlike her.

    ``copies``: how alike the errors of two workers must be to count as one: e^copies, 8 unless said otherwise.
    ``quality``: "estimated", or "equal" for the unweighted mean.

    Made for lists of (nearly) the same items; where each list holds another part of many items, plackett-luce
    takes the strength of the others into account.
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
        found = _weigh(_WorkerScores.of(ready, value), copies, run.progress)
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
    """The scores of one query (items, workers), 0 where ``there`` is False."""

    workers: Integers
    scores: Floats
    there: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _WorkerScores:
    """What the workers' scores say of each other: a block for each query, and squares of the workers."""

    blocks: list[_QueryScores]
    items: Floats  # how many items each worker judged
    correlation: Floats
    shared: Floats  # how many items two workers both judged, less one for each query

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
        """e_wv, 1 on the diagonal; None where there are too many workers to look."""
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
        """The correlation of each worker's scores with the weighted sum of those of the others, so far as these
        are unlike hers; NaN where nobody else judged the same items."""
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
class _WorkerWeights:
    quality: Floats
    copies: Floats
    weight: Floats
    converged: bool
    iterations: int


def _weigh(crowd: _WorkerScores, power: float, progress: Progress | None) -> _WorkerWeights:
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
        return _WorkerWeights(quality, copies, np.ones(count), converged=True, iterations=step)
    return _WorkerWeights(quality, copies, weight, change <= TOLERANCE, step)


def _notes(lists: Lists, found: _WorkerWeights) -> list[Note]:
    notes, names = [], lists.index.workers
    assert names is not None
    if not found.converged:
        notes.append(Note("not-converged", f"The weights of the workers still moved after {STEPS} steps."))
    if not found.quality.any():
        message = "No worker agrees with any other more than chance would; all count the same."
        notes.append(Note("no-agreement", message))
    if lists.n_workers == 1:
        notes.append(Note("one-worker", "All lists are one worker's."))
    if lists.n_workers > MOST_WORKERS:
        message = f"Look-alikes were not looked for: there are more than {MOST_WORKERS} workers."
        notes.append(Note("look-alikes", message))
    twins = np.flatnonzero(found.copies >= TWINS)
    if len(twins):
        first = ", ".join(names[int(code)] for code in twins[:5])
        more = f" and {len(twins) - 5} more" if len(twins) > 5 else ""
        message = (
            f"{len(twins)} workers make nearly the same errors as others and count less for it: {first}{more}."
        )
        notes.append(Note("look-alikes", message))
    return notes
