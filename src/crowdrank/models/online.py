"""Models that learn from one vote at a time: start, update, posterior. A fit folds over the votes.

Votes come in the order of their timestamps. Equal timestamps keep the order of the rows, and votes without one
come last. If there are no timestamps, the order is that of the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from crowdrank.data import Floats
from crowdrank.data.index import GrowingIndex
from crowdrank.errors import Note, UsageError
from crowdrank.models.base import Outcome, Run, VotesModel
from crowdrank.models.parameters import number, whole
from crowdrank.prepared.comparisons import coded_votes
from crowdrank.prepared.votes import Votes
from crowdrank.random import generator
from crowdrank.results import NormalPosterior, Posterior
from crowdrank.solve import Independent

CHUNK = 1 << 16
SIGNS = np.array([1, -1, 0], np.int8)  # of LEFT, RIGHT and TIE
TIES = 0.1
"""The share of ties that a model expects if nothing is known about it."""
FILTERED = "normal, independent, filtered vote by vote"


class Vote(NamedTuple):
    """A vote between two nodes: ``said`` is 1 if left won, -1 if right won, 0 for a tie.

    ``worker`` is the code of the worker who judged, or -1 if unknown.
    """

    left: int
    right: int
    said: int
    weight: float = 1.0
    worker: int = -1


VoteTuple = tuple[int, int, int, float, int]
"""A Vote, or the same numbers as a plain tuple, which is faster in a loop."""


class OnlineState(ABC):
    """What an online model knows between two votes; ``index`` holds the ids behind the codes."""

    index: GrowingIndex

    def __init__(self) -> None:
        self.index = GrowingIndex()

    @abstractmethod
    def grow(self, nodes: int, workers: int) -> None:
        """Make room for this many nodes and workers; new ones start at the prior."""

    def vote(
        self,
        left: str,
        right: str,
        winner: str | None,
        *,
        worker: str | None = None,
        query: str | None = None,
        weight: float = 1.0,
    ) -> Vote:
        """A vote by ids; new ids are added. ``winner`` is one of the two, or None for a tie."""
        left, right = str(left), str(right)
        winner, worker, query = (None if name is None else str(name) for name in (winner, worker, query))
        number("weight", weight, low=0.0)
        if winner not in (left, right, None) or left == right:
            raise UsageError(
                f"The winner of {left!r} and {right!r} must be one of the two, or None. Got {winner!r}."
            )
        index = self.index
        nodes = index.node(left, query), index.node(right, query)
        code = -1 if worker is None else index.worker(worker)
        self.grow(*index.sizes)
        said = 0 if winner is None else 1 if winner == left else -1
        return Vote(*nodes, said, weight, code)


class Estimate(NamedTuple):
    """What a state says: the score of each node, its variance, and further arrays of the model by name."""

    score: Floats
    variance: Floats
    further: dict[str, Floats]


S = TypeVar("S", bound=OnlineState)


class OnlineModel(VotesModel, Generic[S]):
    """A model that learns from one vote at a time, in constant time.

        state = model.start()
        model.update(state, state.vote("a", "b", winner="a", worker="w"))
        model.posterior(state).difference("a", "b")

    ``orders``: 1 takes the votes of a fit in their order; N > 1 takes the mean over N random orders.
    """

    needs_every_pair = True  # it moves by each vote; one with the weight of many would carry it too far
    orders: int

    @property
    def level(self) -> float:
        """The mean score of a connected part."""
        return 0.0

    @abstractmethod
    def start(self, *, ties: float = TIES) -> S:
        """What is known before the first vote; ``ties``: the share of ties to expect."""

    @abstractmethod
    def fold(self, state: S, votes: Iterable[VoteTuple]) -> S:
        """Learn from votes, one after the other. Changes the state in place and returns it."""

    def update(self, state: S, vote: VoteTuple) -> S:
        """Learn from one vote."""
        return self.fold(state, (vote,))

    def fold_batch(self, state: S, batch: Batch) -> S:
        """Learn from a batch of votes, one after the other."""
        return self.fold(state, batch.votes())

    @abstractmethod
    def estimate(self, state: S) -> Estimate:
        """What this state says of each node."""

    def posterior(self, state: S) -> Posterior:
        """What the state knows, by ids. The items of a query count as one connected part."""
        score, variance, _ = self.estimate(state)
        query, item, worker = state.index.columns()
        part = state.index.query_codes()
        score = score - (np.bincount(part, score) / np.maximum(np.bincount(part), 1))[part] + self.level
        normal = NormalPosterior(Independent(variance), FILTERED)
        return Posterior(query, item, worker if len(worker) else None, part, score, normal)

    def _fit(self, votes: Votes, run: Run) -> Outcome:
        return self._outcome(votes, run, self._passes(votes, run))

    def _outcome(self, votes: Votes, run: Run, found: Passes) -> Outcome:
        """The result of the passes."""
        covariance = Independent(self._variance(votes, found))
        spread = votes.spread_scores(found.score, covariance)
        return Outcome(
            spread,
            votes.agreement(spread.score),
            iterations=found.orders,
            notes=(*votes.notes(regularized=False), *order_notes(votes, found.orders)),
            details=found.details(),
            posterior=NormalPosterior(covariance, FILTERED),
        )

    def _passes(self, votes: Votes, run: Run) -> Passes:
        """One pass over the votes in their order, or one pass for each of several random orders."""
        sequence, orders = VoteSequence(votes), whole("orders", self.orders, low=1)
        if orders == 1:
            score, within, further = self.estimate(self._pass(votes, run, sequence.in_order()))
            return Passes(score, np.zeros_like(score), within, 1, further)
        mean, square, within = np.zeros((3, len(votes.nodes)))
        means: dict[str, Floats] = {}
        for count, batch in enumerate(sequence.in_random_orders(run.seed, orders), start=1):
            score, variance, further = self.estimate(self._pass(votes, run, [batch]))
            away = score - mean
            mean += away / count
            square += away * (score - mean)
            within += variance / orders
            means = {name: means.get(name, 0.0) + value / orders for name, value in further.items()}
        return Passes(mean, square / (orders - 1), within, orders, means)

    def _pass(self, votes: Votes, run: Run, batches: Iterable[Batch]) -> S:
        state = self._begin(votes, run)
        for batch in batches:
            self.fold_batch(state, batch)
        return state

    def _begin(self, votes: Votes, run: Run) -> S:
        """What is known before the first of these votes."""
        state = self.start(ties=votes.tie_share)
        state.grow(len(votes.nodes), votes.n_workers)
        return state

    def _variance(self, votes: Votes, found: Passes) -> Floats:
        """The variance of the mean over the passes: the variance within a pass, plus that between orders."""
        return found.within + found.between / found.orders


@dataclass(frozen=True, eq=False)
class Passes:
    """The result of passes over the votes, for each node: the mean score over the orders, its variance ``between``
    them (0 for one order), and the mean of the model's own variance ``within`` a pass. ``further``: the means of
    the
    further arrays of the estimates."""

    score: Floats
    between: Floats
    within: Floats
    orders: int
    further: dict[str, Floats]

    def details(self) -> dict[str, Any]:
        """What fit.json says about the orders."""
        if self.orders == 1:
            return {"orders": 1}
        deviation = np.sqrt(self.between)
        between = {"mean": float(deviation.mean()), "largest": float(deviation.max())}
        return {"orders": self.orders, "deviation_between_orders": between}


class Batch(NamedTuple):
    """Votes in their order, as columns; ``worker`` and ``weight`` are None if the votes have none."""

    left: Any
    right: Any
    said: Any
    weight: Any
    worker: Any

    def votes(self) -> Iterator[VoteTuple]:
        """The votes one by one, as plain numbers, which a loop reads faster than arrays."""
        for start in range(0, len(self.left), CHUNK):
            rows = slice(start, start + CHUNK)
            left, right, said = (column[rows].tolist() for column in self[:3])
            weight = repeat(1.0) if self.weight is None else self.weight[rows].tolist()
            worker = repeat(-1) if self.worker is None else self.worker[rows].tolist()
            yield from zip(left, right, said, weight, worker, strict=False)

    def take(self, rows: Any) -> Batch:
        """The votes at these row numbers."""
        return Batch(*(None if column is None else column[rows] for column in self))


class VoteSequence:
    """The votes in order, or in random orders."""

    def __init__(self, votes: Votes) -> None:
        self._votes = votes

    def in_order(self) -> Iterator[Batch]:
        """The votes in order. Votes in files without timestamps come one batch at a time."""
        timed = False
        held = []
        for pairs in self._votes.pairs.batches():
            coded = coded_votes(self._votes.nodes, pairs)
            batch = Batch(coded.left, coded.right, SIGNS[coded.outcome], coded.weight, coded.worker)
            timed = timed or pairs.timestamp is not None
            if not timed:
                yield batch
            else:
                held.append((batch, pairs.timestamp))
        if held:
            batch = _join(batch for batch, _ in held)
            yield batch.take(np.argsort(np.concatenate([time for _, time in held]), kind="stable"))

    def in_random_orders(self, seed: int, orders: int) -> Iterator[Batch]:
        """The votes in this many random orders."""
        batch = _join(self.in_order())
        for order in range(orders):
            yield batch.take(generator(seed, order).permutation(len(batch.left)))


def _join(parts: Iterable[Batch]) -> Batch:
    columns = zip(*parts, strict=True)
    return Batch(*(None if column[0] is None else np.concatenate(column) for column in columns))


def order_notes(votes: Votes, orders: int) -> list[Note]:
    """A note if only the order of the rows says which vote came first."""
    first = next(iter(votes.pairs.batches()))
    if orders > 1 or first.timestamp is not None:
        return []
    message = "There are no timestamps, so votes count in the order of the rows. Another order gives other scores."
    return [Note("row-order", message)]
