"""A bank of filters: the same votes learned under several priors at once, each weighted by its evidence.

A filter f has the prior N(0, v_f) on scores and Beta(a_f, b_f) on qualities. It predicts every vote before it
learns from it; the product of these probabilities is its evidence, and its weight is proportional to its prior
weight times its evidence. So the votes choose the prior, and coin tosses choose the one that says that all items
are alike.

Rows of arrays are items or workers, columns are filters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.data import Floats, Integers
from crowdrank.errors import InputError, Remedy
from crowdrank.kernels import PROBIT, Link
from crowdrank.kernels.beta import update_beta
from crowdrank.kernels.compiled import compile_together
from crowdrank.kernels.filtering import as_printed, assumed_density, expected_win, learn_vote, move
from crowdrank.kernels.pair_keys import KEY
from crowdrank.models.online import OnlineState, VoteTuple

VARIANCES = (0.02, 0.1, 0.4, 1.0, 2.5, 6.0, 15.0, 50.0)
"""The prior variances of scores in the bank. They go no further: a wide prior mistakes noise for knowledge."""
QUALITIES = ((4.0, 1.5), (10.0, 1.0), (200.0, 1.0), (40.0, 10.0))
"""The priors of qualities in the bank."""
MOST_UNITS = 1e7
"""Votes, counted by their weights, that are learned one after the other at most: minutes, if compiled."""
SCEPTIC = 3.0
"""The prior weight of the smallest variance: without evidence, items count as alike."""
SIDE = 0.25
"""The prior variance of a position bias."""
SURE, UNSURE = 1e9, 1e-3
"""alpha and beta of the perfect worker who is the source of gold pairs."""
UNKNOWN, PERFECT = -1, -2
"""Workers without a row: someone unknown, of the prior's mean quality, and the source of gold pairs."""


@dataclass(frozen=True, eq=False)
class Bank:
    """The priors of the filters, and the logarithm of the prior weight of each."""

    variance: Floats
    alpha: Floats
    beta: Floats
    log_weight: Floats

    @classmethod
    def of(cls, variance: float | None, quality: tuple[float, float] | None) -> Bank:
        """Every combination of the bank's priors; None stands for all of them, a value for itself alone."""
        scores = VARIANCES if variance is None else (variance,)
        qualities = QUALITIES if quality is None else (quality,)
        rows = np.array([(v, *own) for v in scores for own in qualities])
        doubt = (rows[:, 0] == VARIANCES[0]) & (variance is None)
        weight = np.where(doubt, SCEPTIC, 1.0)
        return cls(rows[:, 0], rows[:, 1], rows[:, 2], np.log(weight / weight.sum()))

    def __len__(self) -> int:
        return len(self.variance)


class FilterState(OnlineState):
    """What every filter of the bank knows.

    ``scores`` (N, 2, F): mean and variance of each score. ``qualities`` (K, 2, F): alpha and beta of each
    quality. ``sides`` (0, 1 or K, 2, F): mean and variance of the position biases: none, a shared one, or one
    per worker. ``evidence`` (F): ln of the probability of the votes so far. ``gold``: pairs of known order,
    (lower code, higher code) to 1 if the lower one is the better, otherwise -1.
    """

    bank: Bank
    link: Link
    printed: bool
    position: str
    threshold: float
    evidence: Floats
    unbiased: Floats

    def __init__(self, bank: Bank, link: Link, *, printed: bool, position: str, threshold: float) -> None:
        super().__init__()
        self.bank, self.link, self.printed, self.position, self.threshold = (
            bank, link, printed, position, threshold,
        )  # fmt: skip
        width = len(bank)
        self._scores, self._qualities, self._sides = (np.zeros((0, 2, width)) for _ in range(3))
        self._sizes = [-1, -1, 0]  # a shared bias is there before the first item
        self.evidence = np.zeros(width)
        self.unbiased = np.zeros((2, width))
        self.gold: dict[tuple[int, int], int] = {}
        self.grow(0, 0)

    def grow(self, nodes: int, workers: int) -> None:
        """New items and workers start at each filter's prior."""
        if self._sizes[0] >= nodes and self._sizes[1] >= workers:
            return
        bank, (have_nodes, have_workers, have_sides) = self.bank, self._sizes
        sides = {"none": 0, "shared": 1, "by-worker": workers}[self.position]
        self._scores = _grown(self._scores, nodes, (np.zeros(len(bank)), bank.variance))
        self._qualities = _grown(self._qualities, workers, (bank.alpha, bank.beta))
        self._sides = _grown(self._sides, sides, (np.zeros(len(bank)), np.full(len(bank), SIDE)))
        self._sizes = [max(have_nodes, nodes), max(have_workers, workers), max(have_sides, sides)]

    @property
    def scores(self) -> Floats:
        """Mean and variance of each score under each filter (N, 2, F)."""
        return self._scores[: self._sizes[0]]

    @property
    def qualities(self) -> Floats:
        """alpha and beta of each quality under each filter (K, 2, F)."""
        return self._qualities[: self._sizes[1]]

    @property
    def sides(self) -> Floats:
        """Mean and variance of each position bias under each filter."""
        return self._sides[: self._sizes[2]]

    @cached_property
    def nobody(self) -> tuple[Floats, Floats]:
        """alpha and beta (2, F) of someone unknown, and of the source of gold pairs."""
        return np.stack([self.bank.alpha, self.bank.beta]), np.tile([[SURE], [UNSURE]], len(self.bank))

    @property
    def weight(self) -> Floats:
        """The weight of each filter: its prior weight times its evidence, summing to 1."""
        log = self.bank.log_weight + self.evidence
        weight = np.exp(log - log.max())
        return weight / weight.sum()

    @property
    def leader(self) -> int:
        """The filter with the largest weight."""
        return int(np.argmax(self.bank.log_weight + self.evidence))

    @property
    def log_evidence(self) -> float:
        """ln of the probability of all votes so far, each predicted before it was learned."""
        log = self.bank.log_weight + self.evidence
        return float(log.max() + np.log(np.exp(log - log.max()).sum()))

    def set_quality(self, worker: str, alpha: float, beta: float) -> None:
        """Give a worker a prior Beta(alpha, beta) of its own, in every filter."""
        code = self.index.worker(worker)
        self.grow(*self.index.sizes)
        self.qualities[code] = np.array([[alpha], [beta]])

    def add_gold(self, gold: Integers, weight: float | None) -> None:
        """Pairs of known order (better, worse). They move the scores by this weight; None if they have already."""
        if weight is not None:
            evidence = self.evidence.copy()  # gold pairs are not judgments
            fold_votes(self, [(better, worse, 1, weight, PERFECT) for better, worse in gold.tolist()])
            self.evidence[:] = evidence
        for better, worse in gold.tolist():
            self.gold[min(better, worse), max(better, worse)] = 1 if better < worse else -1

    def learn_gold(self, left: int, right: int, said: int, weight: float, worker: int) -> bool:
        """Whether the order of the two is known. If so, the vote counts only for the worker's quality."""
        if not self.gold or said == 0 or worker < 0:
            return False
        known = self.gold.get((left, right) if left < right else (right, left))
        if known is None:
            return False
        agrees = known * (1 if left < right else -1) == said
        self.qualities[worker, 0 if agrees else 1] += weight
        return True


def _grown(rows: Floats, count: int, start: tuple[Floats, Floats]) -> Floats:
    """Room for ``count`` rows; new ones start at ``start``. Room doubles, so that growing costs little."""
    have = len(rows)
    if count <= have:
        return rows
    more = np.broadcast_to(np.stack(start), (max(count, 2 * have) - have, *rows.shape[1:]))
    return np.concatenate([rows, more])


# ------------------------------------------------------------------------------------- one by one


def fold_votes(state: FilterState, votes: Iterable[VoteTuple]) -> None:
    """Learn from votes, one after the other: NumPy over the filters, plain numbers if there is only one."""
    rules = (state.threshold, state.link is PROBIT, state.printed)
    scores, qualities, sides = state.scores, state.qualities, state.sides
    one, nobody, unbiased = len(state.evidence) == 1, state.nobody, state.unbiased
    shared = state.position == "shared"
    for left, right, said, weight, worker in votes:
        if state.learn_gold(left, right, said, weight, worker):
            continue
        place = -1 if not len(sides) or worker == PERFECT else 0 if shared else worker
        quality = qualities[worker] if worker >= 0 else nobody[worker == PERFECT]
        side = sides[place] if place >= 0 else unbiased
        for own, part in unit_votes(said, weight, state.printed):
            rows = (scores[left], scores[right], quality, side)
            (m, v), (n, u), (a, b), (s, z) = (row[:, 0].tolist() if one else row for row in rows)
            m, n, v, u, a, b, s, z, log_chance = learn_vote(m, n, v, u, a, b, s, z, own, part, place >= 0, *rules)
            scores[left, 0], scores[left, 1] = m, v
            scores[right, 0], scores[right, 1] = n, u
            if worker >= 0 and own:
                quality[0], quality[1] = a, b
            if place >= 0:
                side[0], side[1] = s, z
            state.evidence += log_chance


def refuse_many(votes: float) -> None:
    """Raise an error if so many votes, counted by their weights, cannot be learned one after the other."""
    if votes > MOST_UNITS:
        raise InputError(
            "online-crowd-bt learns from a vote of weight w as from w votes, one after the other. "
            f"The weights sum to {votes:g}, and it takes at most {MOST_UNITS:g}.",
            hint=("Divide all weights by one factor, or use ", Remedy("model", "crowd-bt")),
        )


def unit_votes(said: int, weight: float, printed: bool) -> list[tuple[int, float]]:
    """A vote as it is learned. One of weight 2.5 is two votes and half of one.

    The printed rule knows no ties, so a tie is half a vote for each side.
    """
    refuse_many(weight)
    parts = [1.0] * int(weight)
    if weight > len(parts):
        parts.append(weight - len(parts))
    if said or not printed:
        return [(said, part) for part in parts]
    return [(own, part / 2) for part in parts for own in (1, -1)]


# --------------------------------------------------------------------------------------- compiled


def filter_votes(
    scores: Floats, qualities: Floats, sides: Floats, evidence: Floats, priors: Floats, left: Any, right: Any,
    said: Any, weight: Any, worker: Any, gold: Any, better: Any, shared: bool, threshold: float, probit: bool,
    printed: bool,
) -> None:  # fmt: skip
    """The same loop on numbers, to be compiled. ``gold``: sorted keys of gold pairs; ``better``: their signs."""
    for row in range(len(left)):
        i, j, k = left[row], right[row], worker[row]
        if len(gold) > 0 and k >= 0 and said[row] != 0:
            key = min(i, j) * KEY + max(i, j)
            known = min(np.searchsorted(gold, key), len(gold) - 1)
            if gold[known] == key:
                agrees = better[known] * (1 if i < j else -1) == said[row]
                qualities[k, 0 if agrees else 1] += weight[row]
                continue
        place = -1 if len(sides) == 0 or k == PERFECT else 0 if shared else k
        halves = 2 if printed and said[row] == 0 else 1
        units = int(np.ceil(weight[row]))
        for step in range(halves * units):
            own = said[row] if halves == 1 else 1 - 2 * (step % 2)
            part = min(1.0, weight[row] - step // halves) / halves
            for f in range(len(evidence)):
                a, b = priors[0, f], priors[1, f]
                if k >= 0:
                    a, b = qualities[k, 0, f], qualities[k, 1, f]
                elif k == PERFECT:
                    a, b = SURE, UNSURE
                s, z = 0.0, 0.0
                if place >= 0:
                    s, z = sides[place, 0, f], sides[place, 1, f]
                m, n, v, u, a, b, s, z, log_chance = learn_vote(
                    scores[i, 0, f], scores[j, 0, f], scores[i, 1, f], scores[j, 1, f], a, b, s, z, own, part,
                    place >= 0, threshold, probit, printed,
                )  # fmt: skip
                scores[i, 0, f], scores[j, 0, f], scores[i, 1, f], scores[j, 1, f] = m, n, v, u
                if k >= 0 and own != 0:
                    qualities[k, 0, f], qualities[k, 1, f] = a, b
                if place >= 0:
                    sides[place, 0, f], sides[place, 1, f] = s, z
                evidence[f] += log_chance


@cache
def _compiled() -> Any:
    own = (update_beta, expected_win, assumed_density, as_printed, move, learn_vote, filter_votes)
    return compile_together(*own, erfc=math.erfc)["filter_votes"]


def fold_compiled(
    state: FilterState, left: NDArray[Any], right: NDArray[Any], said: NDArray[Any], weight: Any, worker: Any
) -> None:
    """Learn from votes in arrays, compiled. ``weight`` and ``worker`` may be None."""
    weight = np.ones(len(left)) if weight is None else weight
    worker = np.full(len(left), UNKNOWN, np.int64) if worker is None else worker.astype(np.int64)
    columns = (left.astype(np.int64), right.astype(np.int64), said.astype(np.int64), weight, worker)
    priors = np.stack([state.bank.alpha, state.bank.beta])
    known = sorted((low * KEY + high, sign) for (low, high), sign in state.gold.items())
    gold = np.array(known, np.int64).reshape(-1, 2).T.copy()
    rules = (state.position == "shared", state.threshold, state.link is PROBIT, state.printed)
    _compiled()(state.scores, state.qualities, state.sides, state.evidence, priors, *columns, *gold, *rules)
