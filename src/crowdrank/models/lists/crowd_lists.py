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

until the weights converge. A few items prove nothing. So e uses the lower bound of the correlation by Fisher's
transform, at a level of 0.05 divided by the number of workers, and q is shrunk toward the mean of all workers, as
by 10 items.

Nor does the word of one other worker prove much: if one leaves and q_w falls, q_w was that worker's opinion. With
q_w(-v) the agreement without worker v, the others as they are, and d_w the items that w judged, minus one for each
query, the variance of q_w before the shrinkage by items is taken as

    s_w^2 = 2 sum over v of (q_w - q_w(-v))^2 + (1 - q_w^2)^2 / d_w

The first term is the jackknife over workers, twice, because the others also change if one leaves. The true
qualities have the mean mu and the variance tau^2 that the q_w show beyond s_w^2 (Paule and Mandel 1982), and the
final weight is

    omega_w = [mu + tau^2 / (tau^2 + s_w^2) (q_w - mu)] / c_w

Nor do weights prove anything that help to predict only the lists of those who gain weight. Let g_w be the
correlation of x_w with the others' mean, weighted by their qualities without w, minus that with their unweighted
mean (copies once). With g the mean of g_w and s its standard error, the factor of q_w - mu above is multiplied by
max(0, 1 - s^2 / g^2), or by 0 if g is not positive.

So all workers count the same, and copies once, if the q_w differ by no more than chance or predict nothing.
score_i is the mean of x_i over the lists, weighted by omega.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers, summed
from crowdrank.errors import Note, UsageError, count_noun
from crowdrank.models.agreement import variance_between
from crowdrank.models.base import ListsModel, Outcome, Run
from crowdrank.models.counting.places import mean_over_lists
from crowdrank.models.lists.order_of_others import agreement_with_others
from crowdrank.models.parameters import number
from crowdrank.prepared.list_parts import ListShard
from crowdrank.prepared.lists import Lists
from crowdrank.progress import Progress

MOST_WORKERS = 5_000
"""With more workers there is no search for look-alikes, which takes a square of the workers."""
STEPS, TOLERANCE = 300, 1e-12
SHRINK = 10.0
"""Quality is shrunk toward the mean as if by this many items."""
ALONE = 1e-9
"""What is left of the others' sum after the only other worker left: nothing but rounding."""
NEAR = 0.999
"""The largest correlation that is distinguished from 1."""
CHANGES = 2.0
"""How many times the jackknife counts. It leaves the weights of the others as they are; when all of them were
fitted again, q varied about twice as much."""
TWINS = 1.5
"""A note names the workers with at least this many copies."""


class CrowdLists(ListsModel):
    """score_i = weighted mean of Savage's scores x_wi, by each worker's agreement with dissimilar workers.

        score_i = sum_w omega_w x_wi / sum_w omega_w,    omega_w = q_w / c_w

    q_w is the agreement of worker w with the others, without the errors that they share, and shrunk toward the
    mean of all workers. c_w is the number of copies of w. There is no paper; the module has all equations.

    If agreement differs by no more than chance, or only one other worker supports it, the weights fall back to
    equality.

    ``copies``: how alike the errors of two workers must be to count as one: e^copies, 8 by default.
    ``quality``: "estimated", or "equal" for the unweighted mean.

    Made for lists of (nearly) the same items. If each list holds a different part of many items, use
    plackett-luce, which takes the strength of the other items into account.

    >>> import crowdrank as cr
    >>> orders = ["abcdefgh", "bacdfegh", "abdcefhg", "acbdegfh", "abcedfgh"] + ["hgfedcba"] * 6
    >>> lists = {"worker": [n // 8 for n in range(88)], "item": [*"".join(orders)], "rank": [*range(1, 9)] * 11}
    >>> for quality in ("estimated", "equal"):  # six copies of one list count as one
    ...     print(*cr.CrowdLists(quality=quality).fit(lists).ranking_.frame()["item"])
    b c a d e f g h
    e d f c g b h a
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

        def own_value(piece: ListShard) -> Floats:
            first = int(ready.start[piece.first])
            return value[first : first + len(piece.node)]

        if self.quality == "equal":
            return mean_over_lists(ready, own_value)
        found = weigh_workers(ready, copies, run.progress)
        outcome = mean_over_lists(ready, own_value, found.weight)
        workers = agreement_with_others(ready, value, found.weight)
        assert workers is not None
        further = {"agreement": found.quality, "copies": found.copies, "weight": found.weight}
        return replace(
            outcome,
            workers=replace(workers, further=further),
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

    def others(self, part: Floats) -> Floats:
        """For each worker w, the sum over v != w of part_wv x_v on the items that w judged; ``part`` (workers,
        workers) with 0 on the diagonal, or (workers,) if it is the same for all w."""
        who = self.workers
        if part.ndim == 1:
            own = self.scores * part[who]
            sums = own.sum(axis=1, keepdims=True) - own
        else:
            sums = self.scores @ part[np.ix_(who, who)].T
        return np.where(self.there, sums, 0.0)


@dataclass(frozen=True, eq=False)
class _WorkerScores:
    """How the workers' scores relate: a block for each query, and matrices of worker pairs."""

    blocks: list[_QueryScores]
    items: Floats  # how many items each worker judged
    degrees: Floats  # the same, minus one for each query
    product: Floats  # the sum of x_w x_v
    square: Floats  # the sum of x_w^2 over the items that v judged
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
        items = summed(worker, None, count)
        degrees = items.copy()
        for block in blocks:
            degrees[block.workers] -= 1.0
        for block in blocks if few else []:
            own, there = np.ix_(block.workers, block.workers), block.there.astype(float)
            product[own] += block.scores.T @ block.scores
            square[own] += (block.scores**2).T @ there
            common = there.T @ there
            shared[own] += common - (common > 0)
        return cls(blocks, items, degrees, product, square, shared)

    @cached_property
    def correlation(self) -> Floats:
        """C_wv."""
        return np.asarray(self.product / np.sqrt(np.maximum(self.square * self.square.T, 1e-300)))

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

    def agreement(self, part: Floats) -> Floats:
        """The correlation of each worker's scores with the others' sum by ``part``; NaN if nobody else judged the
        same items."""
        product, own, others = np.zeros((3, len(self.items)))
        for block in self.blocks:
            who, sums = block.workers, block.others(part)
            product[who] += (block.scores * sums).sum(axis=0)
            own[who] += (block.scores**2).sum(axis=0)
            others[who] += (sums**2).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(product / np.sqrt(own * others))

    def without_each(self, part: Floats) -> Floats:
        """q_w(-v): the agreement of each worker w without worker v (workers, workers); 0 if nobody is left."""
        cross = np.zeros_like(self.product)  # of the others' sum for w with x_v, over the items of w
        for block in self.blocks:
            cross[np.ix_(block.workers, block.workers)] += block.others(part).T @ block.scores
        others = (part * cross).sum(axis=1)[:, None]
        product = (part * self.product).sum(axis=1)[:, None] - part * self.product
        left = others - 2.0 * part * cross + part**2 * self.square.T
        scale = np.sqrt(np.maximum(np.diag(self.product)[:, None] * left, 1e-300))
        return np.where(left > ALONE * others, np.maximum(product / scale, 0.0), 0.0)


@dataclass(frozen=True, eq=False)
class WorkerWeights:
    """Quality, copies and weight of each worker.

    ``trust``: the mean factor of q_w - mu, that is the share of the differences in quality that the weights keep.
    ``shared``: the mean over the workers of the sum of e_wv^2 over the others, about how many others make the same
    errors.
    """

    quality: Floats
    copies: Floats
    weight: Floats
    converged: bool
    iterations: int
    trust: float = 1.0
    shared: float = 0.0


def weigh_workers(lists: Lists, copies: float = 8.0, progress: Progress | None = None) -> WorkerWeights:
    """How much each worker counts, by agreement with workers who make other errors."""
    crowd = _WorkerScores.of(lists, savage_scores(lists))
    found = _weigh(crowd, copies, progress)
    alike = crowd.shared_errors(found.quality)
    if found.quality.any():
        found = _trust(crowd, found, alike, copies)
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
        found = crowd.agreement(weight if alike is None else weight * (1.0 - alike))
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
        return WorkerWeights(np.zeros(count), copies, np.ones(count), converged=True, iterations=step)
    return WorkerWeights(quality, copies, weight, change <= TOLERANCE, step)


def _trust(crowd: _WorkerScores, found: WorkerWeights, alike: Floats | None, power: float) -> WorkerWeights:
    """The weights with each quality shrunk toward the mean, as far as it is uncertain or helps nobody."""
    part = found.weight if alike is None else found.weight * (1.0 - alike)
    agreement = crowd.agreement(part)
    known = np.isfinite(agreement)
    quality = np.maximum(np.where(known, agreement, 0.0), 0.0)
    if not quality.any():
        return found
    variance = (1.0 - quality**2) ** 2 / np.maximum(crowd.degrees, 1.0) + TOLERANCE
    without = None if alike is None else crowd.without_each(part)
    if without is not None:
        changes = np.where(part > 0.0, without - quality[:, None], 0.0)
        variance = variance + CHANGES * (changes**2).sum(axis=1)
    between, middle = variance_between(quality[known], variance[known])
    trust = np.where(known, between / (between + variance), 0.0)
    if alike is not None and without is not None and between > 0.0:
        trust = trust * prediction_gain(crowd, middle + trust[:, None] * (without - middle), alike**power)
    weight = (middle + trust * (quality - middle)) / found.copies
    return replace(found, weight=weight, trust=float(trust.mean()))


def prediction_gain(crowd: _WorkerScores, quality: Floats, copies: Floats) -> float:
    """max(0, 1 - (error of g / g)^2), or 0 if g is not positive. g is the mean gain over equal weights when these
    qualities predict the list of a worker who had no part in them.

    ``quality[v, w]``: the quality of v without w. ``copies[v, w]``: how far the two are copies, 1 for v = w.
    Copies do not predict each other, and count once in the mean and in its error.
    """
    once = copies.sum(axis=1)
    others = (1.0 - copies) / once
    gains = crowd.agreement(quality.T * others) - crowd.agreement(others)
    known = np.isfinite(gains)
    share = np.where(known, 1.0 / once, 0.0)
    share = share / max(float(share.sum()), ALONE)
    gain = float(share @ np.where(known, gains, 0.0))
    apart = share * np.where(known, gains - gain, 0.0)
    error = float(apart @ copies @ apart) / max(1.0 - float(share @ copies @ share), ALONE)
    return max(0.0, 1.0 - error / gain**2) if gain > 0.0 else 0.0


def _notes(lists: Lists, found: WorkerWeights) -> list[Note]:
    notes, names = [], lists.index.workers
    assert names is not None
    if not found.converged:
        notes.append(Note("not-converged", f"The weights of the workers did not converge in {STEPS} steps."))
    if not found.quality.any():
        message = "No worker agrees with any other more than by chance; all count the same."
        notes.append(Note("no-agreement", message))
    elif found.trust == 0.0 and lists.n_workers > 1:
        message = (
            "The workers' agreement with each other differs by no more than chance, or weights by it do not "
            "predict the lists of other workers better; all count the same, and copies once."
        )
        notes.append(Note("equal-weights", message))
    if lists.n_workers > MOST_WORKERS:
        message = f"There was no search for look-alikes: there are more than {MOST_WORKERS} workers."
        notes.append(Note("look-alikes", message))
    twins = np.flatnonzero(found.copies >= TWINS)
    if len(twins):
        first = ", ".join(names[int(code)] for code in twins[:5])
        more = f" and {len(twins) - 5} more" if len(twins) > 5 else ""
        who = count_noun(len(twins), "worker makes", "workers make")
        so = "and counts" if len(twins) == 1 else "so they count"
        message = f"{who} nearly the same errors as others, {so} less: {first}{more}."
        notes.append(Note("look-alikes", message))
    return notes
