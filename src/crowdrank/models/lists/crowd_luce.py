"""Crowd-Luce: Plackett-Luce with a quality for each worker, for lists and for choices from a set.

Crowd-BT has the best of a set, Pr(X > {Y, Z}) = e^sX / (e^sX + e^sY + e^sZ), which is the first place of
Plackett-Luce (Chen et al. 2013, eq. 2), and a quality eta for the workers of pairs (eq. 4 to 6). Here are both
together. Worker k repeats a list that Plackett-Luce draws with probability eta_k, and reverses it otherwise:

    P_k(list) = eta_k P(list) + (1 - eta_k) P(reversed list)

On lists of two this is eq. 5. For the best of a set it is eta e^sX / sum e^s + (1 - eta) P(X comes last). Ties and
unranked items leave orders open, and the sum over these orders is exact. Scores and qualities together maximize

    sum over lists ln P_k + lambda sum_i [ln F(s_i) + ln F(-s_i)] + sum_k [(a-1) ln eta_k + (b-1) ln(1-eta_k)]

by Newton's method on both; see ``luce_mixture`` for the derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, summed
from crowdrank.errors import Note
from crowdrank.kernels import LOGISTIC
from crowdrank.kernels.links import TINY
from crowdrank.kernels.plackett_luce import Orders
from crowdrank.models.base import ListsModel, Outcome, Run
from crowdrank.models.climb_notes import (
    bound_notes,
    convergence_notes,
    count_at_bounds,
    prior_notes,
    require_finite_scores,
)
from crowdrank.models.eta import (
    EM_ROUNDS,
    EtaPosteriors,
    below_half,
    linked_groups,
    mirror_note,
    mirrored,
    update_qualities,
)
from crowdrank.models.list_sums import ListSums
from crowdrank.models.lists.luce_mixture import BothWays, MixtureSums
from crowdrank.models.lists.plackett_luce import LuceAscent
from crowdrank.models.parameters import virtual_votes
from crowdrank.models.predictors import values_at, with_ties
from crowdrank.models.priors import STRENGTH, BetaPrior
from crowdrank.models.widening import widen
from crowdrank.models.worker_parameters import ETA
from crowdrank.prepared.held_out import HeldOut
from crowdrank.prepared.list_shards import note_extremes, require_finite, reverse_lists, tie_share
from crowdrank.prepared.lists import Lists
from crowdrank.results import LEVEL
from crowdrank.solve import At, Maximum, Point, freeze_workers, spread, until

TRIAL = 12
"""Newton steps from each start before one of them is chosen."""
NEAR = 1e-3
"""Starts whose log likelihoods are this close lead to the same maximum."""
POWER_ROUNDS = 30
DOUBT = 0.6
"""Below this mean quality, a note says that the ranking may be reversed."""


class CrowdLuce(ListsModel):
    """Crowd-Luce: lists, or choices from a set, with scores of items and qualities of workers together.

        P_k(list) = eta_k P(list) + (1 - eta_k) P(reversed list),  P by Plackett-Luce

    On lists of two it is Crowd-BT. Chen et al. 2013, eq. 2 and 4 to 8; Plackett 1975.

    ``prior``: (a, b) of a Beta prior on each quality, both at least 1, ``"estimated"`` or None for a flat prior;
    the default is ``"estimated"``, and (1, 1) is Crowd-BT's.
    ``regularization``: lambda, the virtual wins and losses of every item against an item of score 0. A number,
    ``"estimated"`` or None for none; the default is ``"estimated"``, and 0.5 is Crowd-BT's.

    >>> import crowdrank as cr
    >>> lists = {"worker": [*"uuuuvvvvwwww"], "item": [*"abcdabcddcba"], "rank": [1, 2, 3, 4] * 3}
    >>> model = cr.CrowdLuce(prior=(1, 1)).fit(lists)  # w ranks in reverse
    >>> model.ranking_.frame()["item"].to_list()
    ['a', 'b', 'c', 'd']
    >>> model.workers_.frame()["eta"].round(2).to_list()
    [1.0, 1.0, 0.0]
    """

    name = "crowd-luce"
    needs_workers = True

    def __init__(
        self,
        *,
        prior: tuple[float, float] | str | None = "estimated",
        regularization: float | str | None = "estimated",
        seed: int = 0,
    ) -> None:
        self.prior = prior
        self.regularization = regularization
        self.seed = seed

    def _fit(self, lists: Lists, run: Run) -> Outcome:
        prior = BetaPrior.parse(self.prior, estimable=True)
        climb = _Qualities(lists, run, virtual_votes(self.regularization), prior)
        top, mirror, notes = climb.choose_direction(climb.fit())
        climb.require_finite(top)
        people = EtaPosteriors(climb, lists, climb.sums.table, top, climb.prior.log_density)
        found, more, details = climb.uncertainty(top, people.variance())
        covariance = widen(climb, (ETA,), found, top.point.scores)
        scores = spread(top.point.scores, covariance, lists.nodes.query, lists.parts(), level=LEVEL)
        eta = top.point.workers[:, 0]
        return Outcome(
            spread=scores,
            workers=people.workers(covariance, climb.judgments),
            converged=top.converged,
            iterations=climb.iterations,
            log_likelihood=top.log_likelihood,
            notes=(
                *lists.notes(),
                *note_extremes(lists, regularized=not climb.gauge),
                *convergence_notes(top),
                *prior_notes(climb),
                *bound_notes(climb, top),
                *notes,
                *more,
                *people.notes(),
            ),
            details={
                **details,
                "mirror": mirror,
                "perfect_quality": people.perfect,
                "at_bounds": count_at_bounds(climb, top),
                "priors": climb.priors.details((ETA,)),
            },
            predictor=EtaPredictor(scores.score, eta, tie_share(lists)),
            list_predictor=MixtureListPredictor(scores.score, eta),
            posterior=climb.posterior(top, covariance),
        )


@dataclass(frozen=True, eq=False)
class EtaPredictor:
    """P(i above j) = eta F(s_i - s_j) + (1 - eta) F(s_j - s_i). What was not seen counts as average."""

    scores: Floats
    eta: Floats
    tie: float

    def __call__(
        self, left: NDArray[Any], right: NDArray[Any], worker: NDArray[Any] | None, *, sided: bool
    ) -> Floats:
        """The probabilities of left, tie and right."""
        d = values_at(self.scores, left, 0.0) - values_at(self.scores, right, 0.0)
        win, mean = LOGISTIC.values(d).win, float(self.eta.mean())
        eta = mean if worker is None else values_at(self.eta, worker, mean)
        return with_ties(1.0 - eta + (2.0 * eta - 1.0) * win, self.tie)


@dataclass(frozen=True, eq=False)
class MixtureListPredictor:
    """ln P_k of lists. Items and workers that were not seen count as average ones."""

    scores: Floats
    eta: Floats

    def __call__(self, given: HeldOut) -> Floats:
        """ln P_k of each list."""
        both = BothWays.at(values_at(self.scores, given.node, 0.0), Orders(given.lists.start, given.lists.level))
        mean = float(self.eta.mean())
        unseen = np.full(len(given.lists), mean)
        return both.mix(unseen if given.worker is None else values_at(self.eta, given.worker, mean))[0]


def principal_scores(
    lists: Lists, node_group: NDArray[np.int32], worker_group: NDArray[np.int32]
) -> tuple[Floats, Floats]:
    """Scores s, and how far each worker agrees with them, from -1 to 1.

    With m_ki the net wins of item i in the lists of worker k, each divided by the length of the list, the mean of
    m_ki is about (2 eta_k - 1) s_i times the number of lists. So s is the principal right singular vector of m, by
    power iteration from equal workers. Spammers and liars do not distort it, because no place weighs very much.
    """
    from scipy.sparse import coo_array

    assert lists.worker is not None
    where = (lists.worker[lists.list], lists.node)
    wins = coo_array((_net_wins(lists), where), shape=(lists.n_workers, len(lists.nodes))).tocsr()
    agreement = np.ones(lists.n_workers)
    for _ in range(POWER_ROUNDS):
        scores = _normalized(np.asarray(wins.T @ agreement), node_group)
        agreement = _normalized(np.asarray(wins @ scores), worker_group)
    share = agreement / np.maximum(summed(lists.worker, lists.weight, lists.n_workers), TINY)
    return scores, share / max(float(np.abs(share).max()), TINY)


def _net_wins(lists: Lists) -> Floats:
    """For each row the number of items below it minus those above, divided by the length of its list."""
    orders = Orders(lists.start, lists.level)
    first, last = orders.begins[orders.group], orders.begins[orders.group + 1]
    net = (lists.start[1:] + lists.start[:-1])[lists.list] - first - last
    return np.asarray((lists.weight / lists.size)[lists.list] * net)


def _normalized(values: Floats, group: NDArray[np.int32]) -> Floats:
    """The values divided by the root of their mean square in each group."""
    count = np.maximum(np.bincount(group), 1)
    squares = summed(group, values**2, len(count)) / count
    return values / np.sqrt(np.maximum(squares, TINY))[group]


class _Qualities(LuceAscent):
    """One fit of Crowd-Luce: the start, the prior on qualities, the mirror."""

    sums: MixtureSums

    def __init__(self, lists: Lists, run: Run, strength: float | None, prior: BetaPrior) -> None:
        super().__init__(lists, run, MixtureSums(), strength, ETA, prior)
        self.lists = lists
        assert lists.worker is not None
        self.worker = lists.worker
        self.given = summed(self.worker, lists.weight, lists.n_workers)
        self.judgments = summed(self.worker, lists.weight * (lists.size - 1), lists.n_workers)

    @property
    def prior(self) -> BetaPrior:
        """The current prior on qualities."""
        found = self.priors.columns[0]
        assert isinstance(found, BetaPrior)
        return found

    def first_point(self) -> Point:
        """The start from which a few steps lead highest, among those that end in the direction of the crowd.

        Lists of more than two items have several maxima, so there are several starts, the last one the mirror of
        what the one before it leads to. Of starts that lead equally high, the first one counts.
        """
        starts = [self._equal_workers(), *self._agreeing_workers()]
        tops = [self.maximize(start, steps=TRIAL) for start in starts]
        if len(starts) > 1:
            every = np.ones(len(self.part), bool), np.ones(len(self.start), bool)
            starts.append(mirrored(tops[-1], self.bounds, *every))
            tops.append(self.maximize(starts[-1], steps=TRIAL))
        best, reached = starts[0], (False, -np.inf)
        for start, top in zip(starts, tops, strict=True):
            straight = self._is_straight(top)
            if (straight, top.value - NEAR) > reached:
                best, reached = start, (straight, top.value)
        return best

    def _is_straight(self, top: Maximum) -> bool:
        """Whether most workers are better than chance, and most pairs in the lists agree with the scores.

        The likelihood alone would decide by how the first places differ from the last ones, which is not what the
        direction of a ranking should rest on.
        """
        wins = summed(self.lists.node, _net_wins(self.lists), len(self.part))
        return self._mean(top) >= 0.5 and float(wins @ top.point.scores) >= 0.0

    def _mean(self, top: Maximum) -> float:
        return float(np.average(top.point.workers[:, 0], weights=self.given))

    def _equal_workers(self) -> Point:
        """The scores of equal workers, then their qualities."""
        plain = LuceAscent(self.lists, self.run, ListSums(), self.priors.node.strength or STRENGTH)
        scores = plain.maximize(plain.first_point()).point.scores
        self.iterations += plain.iterations
        return self._with_qualities(scores, np.full_like(self.start, 0.95))

    def _agreeing_workers(self) -> list[Point]:
        """The scores that agree most with some workers and least with others, and their mirror.

        On lists of two, equal workers are start enough: a vote of a liar weighs no more than another.
        """
        if (self.lists.size == 2).all():
            return []
        scores, agreement = principal_scores(self.lists, *self._groups)
        starts = []
        for sign in (1.0, -1.0):
            point = Point(sign * scores, 0.5 + sign * 0.45 * agreement[:, None])
            top = self.maximize(point, freeze_workers(self.bounds), steps=8)
            starts.append(self._with_qualities(top.point.scores, top.point.workers))
        return starts

    def _with_qualities(self, scores: Floats, workers: Floats) -> Point:
        """The point with better qualities, by a few rounds of EM."""
        step = partial(update_qualities, self, self.prior, self.given)
        at, rounds, _ = until(step, At(scores, workers), tol=0.01, limit=EM_ROUNDS)
        self.iterations += rounds
        return Point(at.scores, at.workers)

    def choose_direction(self, top: Maximum) -> tuple[Maximum, dict[str, Any], list[Note]]:
        """Reverse every group of lists whose workers have a mean quality below 1/2, and climb again from there.

        Lists that share workers form a group. Nothing relates the signs of different groups.
        """
        nodes, workers = self._groups
        flips = below_half(top.point.workers[:, 0], self.given, workers, int(max(nodes.max(), workers.max())) + 1)
        report: dict[str, Any] = {"by": "mean quality", "turned": int(flips.sum())}
        notes = []
        if flips.any():
            top = self.refit_from(mirrored(top, self.bounds, flips[nodes], flips[workers]), top)
            notes.append(mirror_note(flips, "the mean quality of the workers"))
        mean = self._mean(top)
        if mean < DOUBT:
            message = f"The mean quality of the workers is {mean:.2f}: the ranking may be reversed."
            notes.append(Note("mirror", message))
        return top, report, notes

    @cached_property
    def _groups(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The group of each node and of each worker."""
        lists = self.lists
        return linked_groups(lists.part, lists.n_workers, (lists.part[lists.node[lists.start[:-1]]], self.worker))

    def require_finite(self, top: Maximum) -> None:
        """Raise an error if there is no finite maximum once the lists of liars are reversed."""
        if self.gauge:
            require_finite(reverse_lists(self.lists, top.point.workers[self.worker, 0] < 0.5)[0])
            require_finite_scores(self, top)
