"""Lists as scores of their documents, and the squared error of a ranker from these scores.

A list of m documents gives the place p (0 = best) the score

    y = 1/2 - (p + 1/2) / m

so lists of any length have one scale, from -1/2 to 1/2, and the mean 0. Tied documents have the mean score of
their places, and so have the documents that a list leaves out but says to be below. A pair is a list of two. With
the scores s of the ranker, the weight w_t of list t and the precision lambda_t of its annotator, the objective is

    -1/2 sum_t w_t lambda_t sum over i in t of (y_ti - s_i + mean of s over t)^2

(Raykar et al. 2010, regression). The mean of s is added because a list says nothing about the level of its
documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers, Resident, summed
from crowdrank.kernels.segments import segment_of, totals
from crowdrank.prepared.statements import Statements
from crowdrank.rankers.objectives.base import Derivatives, Objective, Targets
from crowdrank.rankers.objectives.regression import SquaredError


@dataclass(frozen=True, eq=False)
class ListScores(Resident):
    """The scores that lists give to the documents of a shard.

    List t, of the voice ``voice[t]``, has the rows start[t] to start[t+1]: a document, as its ``row`` of the
    shard, and its ``score``. Lists that rank all documents of a query are one ``group``: only the mean of their
    scores matters. Every other list is a group of its own. Group g has the documents ``group_row`` from
    group_start[g] to group_start[g+1], and ``place`` is where each score belongs among them.
    """

    voice: Integers
    weight: Floats
    start: Integers
    row: Integers
    score: Floats
    group: Integers
    place: Integers
    group_row: Integers
    group_start: Integers

    def errors(self, scores: Floats) -> Floats:
        """The sum of squared errors of each list: (y - s + mean of s over the list)^2."""
        away = self.score - scores[self.row]
        level = totals(away, self.start) / np.diff(self.start)
        return totals((away - level[segment_of(self.start)]) ** 2, self.start)

    def targets(self, precision: Floats) -> Targets:
        """The mean score of each document in each group, weighted by the precision of the annotators."""
        weight = self.weight * precision[self.voice]
        total = np.repeat(summed(self.group, weight, len(self.group_start) - 1), np.diff(self.group_start))
        mean = summed(self.place, weight[segment_of(self.start)] * self.score, len(total)) / total
        return Targets(self.group_start, mean, total)


@dataclass(frozen=True, eq=False)
class WeightedScores(Objective[ListScores]):
    """The squared error from the scores of lists, up to a constant; ``precision`` of each voice and the truth."""

    precision: Floats

    def derivatives(self, scores: Floats, plan: ListScores, reference: Floats) -> Derivatives:
        """Those of the squared error within the groups, added up for each document. The values are by group."""
        own = scores[plan.group_row]
        found = SquaredError().derivatives(own, plan.targets(self.precision), own)
        gradient, curvature = (
            summed(plan.group_row, part, len(scores)) for part in (found.gradient, found.curvature)
        )
        return Derivatives(found.value, gradient, curvature)

    def curvature_times(self, scores: Floats, plan: ListScores, reference: Floats, columns: Floats) -> Floats:
        """w lambda times the columns, less their mean in each group, added up for each document."""
        own = scores[plan.group_row]
        found = SquaredError().curvature_times(own, plan.targets(self.precision), own, columns[plan.group_row])
        return np.stack([summed(plan.group_row, part, len(columns)) for part in found.T], axis=1)


def score_lists(said: Statements, lists: tuple[int, int], start: Integers) -> ListScores:
    """What was said about the lists from ``lists[0]`` up to ``lists[1]``, as scores.

    The rows of the lists begin at ``start``. What the observer says is left out, and so is what has the weight 0.
    """
    own = np.arange(*np.searchsorted(said.list, lists))
    own = own[(said.voice[own] <= said.voices) & (said.weight[own] > 0)]
    pairs = np.arange(*np.searchsorted(said.pair_list, lists))
    pairs = pairs[(said.pair_voice[pairs] <= said.voices) & (said.pair_weight[pairs] > 0)]
    of = np.concatenate([said.list[own], said.pair_list[pairs]])
    held, document, score = _score_rankings(said, own, np.diff(start))
    held = np.concatenate([held, np.full(len(pairs), 2)])
    document = np.concatenate([document, np.stack([said.better[pairs], said.worse[pairs]], axis=1).ravel()])
    score = np.concatenate([score, np.tile([0.25, -0.25], len(pairs))])
    begins = np.append(0, np.cumsum(held))
    row = np.repeat(start[of] - start[lists[0]], held) + document
    group, place, group_start = _group_lists(held == np.diff(start)[of], of, held, document)
    group_row = np.empty(group_start[-1], np.int64)
    group_row[place] = row
    return ListScores(
        voice=np.concatenate([said.voice[own], said.pair_voice[pairs]]),
        weight=np.concatenate([said.weight[own], said.pair_weight[pairs]]),
        start=begins,
        row=row,
        score=score,
        group=group,
        place=place,
        group_row=group_row,
        group_start=group_start,
    )


def _score_rankings(said: Statements, own: Integers, sizes: Integers) -> tuple[Integers, Integers, Floats]:
    """The rankings ``own``: how many documents each one has, and for each of these its place and its score.

    Documents of one level, g of them with b documents above, have the mean score 1/2 - (b + g/2) / m.
    """
    named, below = said.start[own + 1] - said.start[own], said.below[own]
    held = np.where(below, sizes[said.list[own]], named)
    of, inside = _count_within(named)
    rows = said.start[own][of] + inside
    begins = np.flatnonzero((np.diff(of, prepend=-1) != 0) | (np.diff(said.level[rows], prepend=-1) != 0))
    tied = np.diff(begins, append=len(rows))
    ranked = np.repeat(0.5 - (inside[begins] + tied / 2) / held[of[begins]], tied)
    score = np.repeat(0.5 - (named + held) / 2 / np.maximum(held, 1), held)
    document = _count_within(held)[1]
    place = (np.cumsum(held) - held)[of] + np.where(below[of], said.document[rows], inside)
    score[place], document[place] = ranked, said.document[rows]
    return held, document, score


def _group_lists(
    whole: NDArray[np.bool_], of: Integers, held: Integers, document: Integers
) -> tuple[Integers, Integers, Integers]:
    """The group of each list, the place of each score in the groups, and where these begin (see ListScores)."""
    key = np.where(whole, of, of.max(initial=0) + 1 + np.arange(len(of)))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    start = np.append(0, np.cumsum(held[first]))
    list_of, inside = _count_within(held)
    return group, start[group][list_of] + np.where(whole[list_of], document, inside), start


def _count_within(sizes: Integers) -> tuple[Integers, Integers]:
    """For runs of these sizes, the run of each element and its number within the run."""
    of = np.repeat(np.arange(len(sizes)), sizes)
    return of, np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
